"""From bins to all cuts: roots that are tried side by side against one tree after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive
from horizontree.encoding import SAMPLE, rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search._root_kernels import LANES, place_samples, search_roots
from horizontree.search._root_kernels import try_roots as lower_costs
from horizontree.search.depth_two import solve_depth_two
from problems import small_data

OBJECTIVES = st.builds(
    Objective, st.sampled_from([0, COST_SCALE // 3, 2 * COST_SCALE]), st.integers(1, 4)
)


def places_of(samples, f):
    places = np.empty(samples.n_samples, dtype=np.int64)
    place_samples(samples.order[f], samples.labels, places)
    return places


def try_roots(samples, f, splits, roots, objective):
    costs = np.full((2, 2, LANES), samples.n_samples * COST_SCALE)
    lower_costs(
        samples.order, f, places_of(samples, f), samples.n_classes, np.asarray(splits, np.int64),
        roots, objective.split_cost, objective.min_samples_leaf, costs,
    )  # fmt: skip
    return costs[:, :, : len(roots)]


@pytest.mark.nojit
@given(small_data(max_samples=20, max_features=3), OBJECTIVES, st.data())
@settings(max_examples=100)
def test_the_sides_of_a_root_cost_what_their_best_splits_do(data, objective, draw):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    assume(samples.n_features > 0)
    f = draw.draw(st.integers(0, samples.n_features - 1))
    splits = draw.draw(st.lists(st.sampled_from(range(samples.n_features)), unique=True))
    roots = samples.starts(f)
    costs = try_roots(samples, f, splits, roots, objective)
    columns = samples.features[splits]
    for i, n_left in enumerate(roots):
        is_left = np.zeros(len(y), dtype=bool)
        is_left[samples.rows[samples.order[f, :n_left] & SAMPLE]] = True
        for side, is_in in enumerate((is_left, ~is_left)):
            for rule, least in enumerate((1, objective.min_samples_leaf)):
                allowed = Objective(objective.split_cost, least)
                part = X[np.ix_(is_in, columns)], y[is_in]
                expected = naive.optimal_cost(*part, 1, allowed) if is_in.any() else 0
                assert costs[rule, side, i] == expected


def noise(n_samples, n_features, n_classes, seed=0):
    """Make samples whose classes depend on nothing; a feature has any values, 2, or a few."""
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, n_samples, p=[0.7] + [0.3 / (n_classes - 1)] * (n_classes - 1))
    X = rng.normal(size=(n_samples, n_features))
    X[:, 1::3] = X[:, 1::3] > 0
    X[:, 2::3] = X[:, 2::3].round(1)
    return rank_samples(X, y, n_classes)


def cheapest_root(samples, f, objective):
    """Try all roots of a feature, `LANES` at a time; a leaf costs no more if none is allowed."""
    n = samples.n_samples
    allowed = samples.starts(f)
    allowed = allowed[np.minimum(allowed, n - allowed) >= objective.min_samples_leaf]
    splits = range(samples.n_features)
    parts = [allowed[i : i + LANES] for i in range(0, len(allowed), LANES)]
    costs = [try_roots(samples, f, splits, part, objective)[1].sum(axis=0) for part in parts]
    return min((objective.split_cost + int(cost.min()) for cost in costs), default=n * COST_SCALE)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("objective", [Objective(1), Objective(COST_SCALE // 2, 15)])
@pytest.mark.parametrize("n_splits", [1, 7, 10_000])
def test_dividing_intervals_finds_the_cheapest_of_all_roots(n_classes, objective, n_splits):
    samples = noise(1500, 3, n_classes)
    for f in range(samples.n_features):
        best, n_left = samples.n_samples * COST_SCALE, -1
        candidates = samples.starts(f)
        intervals, first_split = np.array([[0, len(candidates) - 1, 0, 0, 0, 0]]), 0
        costs = np.empty((2, 2, LANES), dtype=np.int64)
        while len(intervals):
            best, better, intervals, first_split = search_roots(
                samples.order, f, places_of(samples, f), n_classes, candidates,
                np.arange(samples.n_features), objective.split_cost, objective.min_samples_leaf,
                best, intervals, costs, first_split, n_splits,
            )  # fmt: skip
            n_left = better if better >= 0 else n_left
        assert best == cheapest_root(samples, f, objective)
        root = try_roots(samples, f, range(3), np.array([n_left], np.int32), objective)
        assert best == objective.split_cost + root[1].sum()


@pytest.mark.parametrize("n_classes", [2, 3, 30])
@pytest.mark.parametrize("n_features", [3, 14])  # from 12 on pairs are screened
def test_without_signal_the_optimum_is_found_from_few_bins_and_from_many(n_classes, n_features):
    samples = noise(700, n_features, n_classes, seed=n_classes)
    for objective in (Objective(), Objective(1), Objective(COST_SCALE, 20)):
        found = {solve_depth_two(samples, objective, most_bins=most).cost for most in (4, 30, 255)}
        roots = [cheapest_root(samples, f, objective) for f in range(n_features)]
        assert found == {min(objective.leaf_cost(samples.class_counts), *roots)}


@pytest.mark.parametrize("seed", range(40))
def test_large_leaves_and_values_with_bins_of_their_own_lose_nothing(seed):
    """A leaf too small at one end of an interval may be large enough further on."""
    n_samples, n_features = (36, 12) if seed % 2 else (250, 3)
    samples = noise(n_samples, n_features, 2 + seed % 3, seed)
    for share in (4, 5, 6):
        for price in (1, COST_SCALE // 3, COST_SCALE):
            objective = Objective(price, n_samples // share)
            roots = [cheapest_root(samples, f, objective) for f in range(samples.n_features)]
            expected = min(objective.leaf_cost(samples.class_counts), *roots)
            for most in (2, 4, 16):
                assert solve_depth_two(samples, objective, most_bins=most).cost == expected


def test_many_classes_are_ruled_out_by_the_larger_sides_of_two_roots():
    rng = np.random.default_rng(0)
    samples = rank_samples(rng.normal(size=(4000, 2)), rng.integers(0, 8, 4000), 8)
    candidates = samples.starts(0)
    whole = np.array([[0, len(candidates) - 1, 0, 0, 0, 0]])
    costs = np.empty((2, 2, LANES), dtype=np.int64)
    optimum = cheapest_root(samples, 0, Objective(1))
    *_, left, _ = search_roots(
        samples.order, 0, places_of(samples, 0), 8, candidates, np.arange(2), 1, 1, optimum,
        whole, costs, 0, 2,
    )  # fmt: skip
    assert len(left) < 3 * LANES // 4  # by the smaller sides alone all stay open
