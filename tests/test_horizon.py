"""The horizon search: proofs, promises, and what must not matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_wine

import naive
from horizontree import CARTClassifier, HorizonTreeClassifier
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search import candidates, horizon
from horizontree.search.candidates import (
    _first_boundaries,
    complete_roots,
    completed,
    narrowed,
    narrowed_with_roots,
)
from horizontree.search.cart import grow_cart
from horizontree.search.effort import EFFORTS
from horizontree.search.horizon import HorizonSearch
from horizontree.search.pair_histograms import cut_into_bins, solve_bins
from horizontree.search.perturbation import Perturbation
from horizontree.search.repair import cost_of, repair
from horizontree.search.splits import build_tree
from horizontree.search.watch import Watch
from horizontree.threads import thread_map
from problems import make_data, make_samples, small_data, stopping_after

OBJECTIVES = st.builds(Objective, st.sampled_from([0, COST_SCALE // 2]), st.integers(1, 4))


def search_for(objective=None, *, depth=4, effort="normal", run=map, **changes):
    return HorizonSearch(
        depth,
        horizon=3,
        objective=objective or Objective(),
        effort=replace(EFFORTS[effort], **changes),
        watch=Watch(),
        run=run,
    )


@given(small_data(max_samples=14, max_features=2), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=60)
def test_thorough_effort_proves_the_optimum_up_to_depth_three(data, depth, least):
    X, y = data
    for alpha in (0.0, 0.05):
        options = {"ccp_alpha": alpha, "min_samples_leaf": least}
        model = HorizonTreeClassifier(depth, effort="thorough", **options).fit(X, y)
        optimum = naive.optimal_cost(X, y, depth, Objective.from_ccp_alpha(alpha, least, len(y)))
        assert model.objective_ == model.lower_bound_ == optimum / COST_SCALE
        assert model.status_ == "optimal"


@given(small_data(max_samples=14, max_features=2), st.sampled_from(["quick", "normal"]))
@settings(max_examples=60)
def test_a_bound_is_never_above_the_optimum(data, effort):
    X, y = data
    model = HorizonTreeClassifier(3, effort=effort).fit(X, y)
    optimum = naive.optimal_cost(X, y, 3, Objective()) / COST_SCALE
    assert model.lower_bound_ <= optimum <= model.objective_


@given(small_data(), st.integers(1, 5), OBJECTIVES)
@settings(max_examples=60)
def test_a_completed_tree_costs_what_it_says(data, depth, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    cost, tree = completed(samples, depth, objective, EFFORTS["normal"])
    assert cost == cost_of(tree, samples, objective)
    assert cost <= objective.leaf_cost(samples.class_counts)


@pytest.mark.parametrize("n_values", [2, 5, None])
@pytest.mark.parametrize("least", [1, 20])
def test_the_first_roots_are_the_cheapest_and_the_purest(n_values, least):
    for seed in range(20):
        X, y = make_data(90, 5, 3, n_values=n_values, seed=seed)
        X[:, 4] = X[:, 4] > 0  # one feature with a single boundary
        samples = rank_samples(X, y, 3)
        bins = cut_into_bins(samples, 2 + seed)
        objective = Objective(1, least)
        binned = solve_bins(bins, *samples.class_ranges, objective, with_hope=False)
        for f, n_bins in enumerate(bins.n_bins):  # cells that no kernel fills
            binned.costs[:, f, :, n_bins:] = np.iinfo(np.int64).min // 2
            binned.purity[f, n_bins:] = np.inf
        for n_features in (1, 2, 6):
            expected = naive.first_boundaries(bins, binned, n_features, least)
            assert _first_boundaries(bins, binned, n_features, least) == expected


def test_wide_data_are_screened_in_part(monkeypatch):
    samples = make_samples(200, 40, 2, seed=1)
    purest = narrowed(samples, replace(EFFORTS["normal"], most_features=30)).features
    monkeypatch.setattr(candidates, "_MOST_SCREENED_FEATURES", 30)
    few = narrowed_with_roots(samples, Objective(), EFFORTS["normal"])
    assert len(few.features) == 25
    assert set(few.features.tolist()) <= set(purest.tolist())
    monkeypatch.setattr(candidates, "_MOST_SCREENED", 1)  # one row: all features are constant
    few = narrowed_with_roots(samples, Objective(), EFFORTS["normal"])
    assert np.array_equal(few.features, narrowed(samples, EFFORTS["normal"]).features)


def test_features_that_say_something_only_together_are_paired():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (300, 40)).astype(float)
    together = (X[:, 7] < 2) ^ (X[:, 31] < 2)
    y = (together ^ (rng.random(300) < 0.1)).astype(int)
    is_noise = np.setdiff1d(np.arange(40), [7, 31])
    X[:, is_noise] += 4 * (y[:, None] & (rng.random((300, 38)) < 0.15))  # pure, and worth little
    samples = rank_samples(X, y, 2)
    effort = EFFORTS["normal"]
    assert not {7, 31} <= set(narrowed(samples, effort).features.tolist())
    few = narrowed_with_roots(samples, Objective(), effort)
    assert {7, 31} <= set(few.features.tolist())
    assert len(few.features) == 25
    assert narrowed_with_roots(few, Objective(), effort) is few


@given(small_data(), st.integers(2, 5), OBJECTIVES)
@settings(max_examples=60)
def test_completed_roots_cost_what_they_say_and_come_in_order(data, depth, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    if samples.n_features == 0:
        return
    trials = complete_roots(samples, depth, objective, EFFORTS["normal"])
    assert [trial.cost for trial in trials] == sorted(trial.cost for trial in trials)
    assert len({trial.root for trial in trials}) == len(trials)
    for trial in trials:
        parts = samples.split(*trial.root)
        assert min(part.n_samples for part in parts) >= objective.min_samples_leaf
        below = [
            cost_of(tree, part, objective) for tree, part in zip(trial.trees, parts, strict=True)
        ]
        assert trial.cost == objective.split_cost + sum(below)


@given(small_data(max_samples=14, max_features=2), st.integers(1, 3), st.integers(1, 3))
@settings(max_examples=60)
def test_of_trees_with_the_fewest_errors_the_smallest_is_found(data, depth, least):
    X, y = data
    errors_then_splits = Objective(1, least)
    effort = "normal" if depth < 3 else "thorough"
    model = HorizonTreeClassifier(depth, min_samples_leaf=least, effort=effort).fit(X, y)
    found = errors_then_splits.tree_cost(model.n_errors_, model.tree_.n_splits)
    assert found == naive.optimal_cost(X, y, depth, errors_then_splits)


CHANGES = [
    {},
    {"most_rows": 60},
    {"most_features": 2},
    {"most_rows": 60, "most_exact_rows": 30},
    {"n_perturbations": 10},
]


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("objective", [Objective(), Objective(COST_SCALE, 4)])
def test_the_number_of_threads_does_not_matter(changes, objective, monkeypatch):
    monkeypatch.setattr(horizon, "_MANY_NODES", 2)  # nodes are shared out soon
    X, y = make_data(400, 5, 3, seed=2)
    samples = rank_samples(X, y, 3)
    expected = search_for(objective, depth=5, **changes).search(samples)
    assert cost_of(expected, samples, objective) < objective.leaf_cost(samples.class_counts)
    for n_threads in (2, 3):
        with thread_map(n_threads) as run:
            found = search_for(objective, depth=5, run=run, **changes).search(samples)
        assert found == expected


def test_repair_and_more_effort_only_help():
    X, y = make_data(500, 6, 3, seed=5)
    samples = rank_samples(X, y, 3)
    first = cost_of(search_for(n_repairs=0).search(samples), samples, Objective())
    after = cost_of(search_for(n_repairs=40).search(samples), samples, Objective())
    assert after <= first


@pytest.mark.parametrize("changes", CHANGES, ids=str)
@pytest.mark.parametrize("effort", ["quick", "normal", "thorough"])
def test_a_search_never_leaves_the_tree_it_starts_from_for_a_dearer_one(changes, effort):
    X, y = make_data(300, 4, 3, seed=8)
    samples = rank_samples(X, y, 3)
    start = search_for(depth=5).search(samples)
    found = search_for(depth=5, effort=effort, **changes).search(samples, start)
    assert cost_of(found, samples, Objective()) <= cost_of(start, samples, Objective())


@pytest.mark.parametrize("seed", range(4))
def test_thorough_effort_is_never_worse_than_normal_effort(seed):
    X, y = make_data(200, 4, 3, seed=seed)
    errors = [
        HorizonTreeClassifier(4, effort=effort).fit(X, y).n_errors_
        for effort in ("normal", "thorough")
    ]
    assert errors[1] <= errors[0]


@given(small_data(max_samples=30), st.integers(3, 5), OBJECTIVES, st.integers(0, 20))
@settings(max_examples=30)
def test_a_perturbed_tree_is_never_dearer_and_keeps_the_depth(data, depth, objective, seed):
    X, y = data
    n_classes = int(y.max()) + 1
    samples = rank_samples(X, y, n_classes)
    _, tree = completed(samples, depth, objective, EFFORTS["quick"])

    def repaired(tree, samples, depth):
        return repair(tree, samples, depth, objective)

    perturbation = Perturbation(objective, EFFORTS["quick"], repaired, seed)
    for trial in range(3):
        before = cost_of(tree, samples, objective)
        tree = perturbation.try_once(tree, samples, depth, trial)
        assert cost_of(tree, samples, objective) <= before
        built = build_tree(tree, X, y, n_classes, objective)
        assert built.max_depth <= depth
        assert objective.tree_cost(built.n_errors, built.n_splits) <= before


def test_perturbation_finds_what_the_search_misses():
    X, y = make_data(150, 4, 3, seed=6)
    samples = rank_samples(X, y, 3)
    costs = [
        cost_of(search_for(effort="quick", n_perturbations=n).search(samples), samples, Objective())
        for n in (0, 40)
    ]
    assert costs[1] < costs[0]


def test_a_feature_that_hardly_ever_varies_is_no_trouble_on_thinned_rows():
    X = np.zeros((3000, 2))
    X[4, 0] = X[1500, 1] = 1.0
    y = np.arange(3000) % 3 == 0
    samples = rank_samples(X, y.astype(int), 2)
    trials = complete_roots(samples, 4, Objective(), replace(EFFORTS["normal"], most_rows=100))
    assert {trial.root[0] for trial in trials} == {0, 1}
    assert HorizonTreeClassifier(4).fit(np.repeat(X, 10, axis=0), np.repeat(y, 10)).n_errors_ > 0


def test_a_smallest_leaf_does_not_cost_a_feature_its_candidates():
    x = np.arange(200.0)
    y = np.zeros(200, dtype=int)
    y[:15] = y[60:140:3] = 1
    trials = complete_roots(rank_samples(x[:, None], y, 2), 4, Objective(1, 30), EFFORTS["normal"])
    assert trials
    assert all(30 <= trial.root[1] <= 170 for trial in trials)


def test_prices_and_leaves_are_scaled_to_the_rows_that_stand_for_all():
    assert Objective(0, 1).for_part(10, 1000) == Objective(0, 1)
    assert Objective(1, 1).for_part(10, 1000) == Objective(1, 1)
    assert Objective(500, 300).for_part(10, 1000) == Objective(5, 3)
    assert Objective(500, 300).for_part(1000, 1000) == Objective(500, 300)


def test_five_hundred_features_are_no_trouble():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 500))
    y = (X[:, 17] > 0) ^ (X[:, 401] > 0.3)
    model = HorizonTreeClassifier(2).fit(X, y)
    assert (model.n_errors_, model.status_) == (0, "optimal")
    deeper = HorizonTreeClassifier(4).fit(X, y)
    assert deeper.n_errors_ <= CARTClassifier(4).fit(X, y).n_errors_


@pytest.mark.parametrize("depth", [3, 4])
def test_features_that_tell_nothing_by_themselves_are_found_among_many(depth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 60))
    y = (X[:, 17] > 0) ^ (X[:, 41] > 0) ^ (X[:, 5] > 1)
    model = HorizonTreeClassifier(depth).fit(X, y)
    assert model.n_errors_ == 0


def test_a_time_limit_keeps_the_best_tree_so_far():
    X, y = load_breast_cancer(return_X_y=True)
    model = HorizonTreeClassifier(4, effort="thorough", time_limit=1e-6).fit(X, y)
    assert model.status_ == "time_limit"
    assert model.n_errors_ <= CARTClassifier(4).fit(X, y).n_errors_


def test_more_levels_never_cost_more_on_proven_depths():
    X, y = make_data(120, 3, 3, seed=9)
    costs = [
        HorizonTreeClassifier(depth, effort="thorough").fit(X, y).objective_ for depth in (1, 2, 3)
    ]
    assert costs == sorted(costs, reverse=True)


def test_a_deeper_limit_does_not_make_a_priced_tree_dearer():
    X, y = load_wine(return_X_y=True)
    costs = [
        HorizonTreeClassifier(depth, ccp_alpha=1 / len(y)).fit(X, y).objective_
        for depth in (3, 4, 5, 8)
    ]
    assert costs == [5.0] * 4  # 6.0 where only the whole depth is searched


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("alpha", "least"), [(0.01, 75), (0.05, 1), (0.0, 60)])
def test_a_small_tree_is_not_dearer_than_the_best_of_depth_two(alpha, least, seed):
    """Two of sixty features say something together, and quarters of the rows are just allowed."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 60))
    y = (X[:, 3] > 0) ^ (X[:, 7] > 0) ^ (rng.random(300) < 0.2)
    models = [
        HorizonTreeClassifier(depth, ccp_alpha=alpha, min_samples_leaf=least).fit(X, y)
        for depth in (2, 3, 4)
    ]
    assert models[0].status_ == "optimal"
    assert max(model.objective_ for model in models[1:]) <= models[0].objective_


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_too_few_rows_for_two_leaves_are_a_proven_leaf(depth):
    X, y = load_wine(return_X_y=True)
    model = HorizonTreeClassifier(depth, min_samples_leaf=90).fit(X, y)
    assert (model.status_, model.tree_.n_splits, model.gap_) == ("optimal", 0, 0.0)


def test_fewer_levels_say_nothing_about_the_bound():
    X, y = load_wine(return_X_y=True)
    samples = rank_samples(X, y, 3)
    searches = [
        search_for(Objective(split_cost=COST_SCALE), depth=5, shallow_depths=depths)
        for depths in ((), (3, 4))
    ]
    costs = [cost_of(each.search(samples), samples, each.objective) for each in searches]
    assert costs[1] < costs[0]
    assert searches[0].bound == searches[1].bound


def test_fewer_levels_are_searched_where_the_finished_tree_is_small_and_rows_are_few(monkeypatch):
    X, y = make_data(300, 4, 3, seed=8)
    samples = rank_samples(X, y, 3)
    depths = []
    monkeypatch.setattr(
        HorizonSearch, "_or_shallow", lambda _, tree, samples, depth: depths.append(depth) or tree
    )
    large = search_for(depth=8)
    assert large._n_splits(large.search(samples), samples) >= 2**4
    dear = Objective(split_cost=40 * COST_SCALE)
    search_for(dear, depth=8, most_rows=len(y) - 1).search(samples)
    assert depths == []
    search_for(dear, depth=8).search(samples)
    assert depths == [2, 3, 4]
    monkeypatch.setattr(horizon, "_MOST_EXACT_WORK", 300 * 4**2 - 1)
    search_for(dear, depth=4).search(samples)
    assert depths == [2, 3, 4, 3]


def test_splits_that_are_pruned_do_not_make_a_tree_large():
    X, y = make_data(60, 3)
    samples = rank_samples(X, y, 2)
    tree = CARTClassifier(max_depth=6).fit(X, y).tree_
    dear = Objective(split_cost=60 * COST_SCALE)
    nested = grow_cart(samples, max_depth=6)
    assert search_for()._n_splits(nested, samples) == tree.n_splits > 7
    assert search_for(dear)._n_splits(nested, samples) == 0


def test_no_more_roots_are_completed_when_the_time_is_up():
    X, y = make_data(300, 4, seed=2)
    samples = rank_samples(X, y, 2)
    n_tried = [
        len(
            complete_roots(
                samples, 4, Objective(), EFFORTS["normal"], stops=stopping_after(n_questions)
            )
        )
        for n_questions in range(40)
    ]
    assert n_tried[0] == 0
    assert n_tried == sorted(n_tried)
    assert {1, 2, 3} < set(n_tried)
    assert n_tried[-1] == len(complete_roots(samples, 4, Objective(), EFFORTS["normal"]))


def test_three_levels_find_what_three_of_many_features_say_only_together():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 2, size=(1000, 40)).astype(float)
    model = HorizonTreeClassifier(3).fit(X, X[:, :3].sum(axis=1) % 2)
    assert (model.n_errors_, model.status_) == (0, "optimal")
