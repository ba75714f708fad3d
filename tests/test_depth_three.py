"""Trees of depth three: the optimum of trying every tree, and bounds that are never wrong."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search import depth_three, depth_two
from horizontree.search.bounds import unavoidable_cost, unavoidable_errors
from horizontree.search.depth_three import SIDES, DepthThreeSearch
from horizontree.search.depth_two import solve_depth_two, with_last_splits
from horizontree.search.repair import cost_of
from horizontree.search.splits import build_tree
from problems import (
    make_data,
    make_samples,
    planted_tree,
    small_data,
    small_pieces,
    stopping_after,
)

OBJECTIVES = st.builds(
    Objective, st.sampled_from([0, COST_SCALE // 3, 3 * COST_SCALE]), st.integers(1, 4)
)


@given(small_data(max_samples=16, max_features=3), st.sampled_from([3, 96]), OBJECTIVES)
@settings(max_examples=150)
def test_the_search_ends_with_the_optimum_and_its_bound_is_never_above_it(data, most, objective):
    X, y = data
    n_classes = int(y.max()) + 1
    samples = rank_samples(X, y, n_classes)
    leaf = objective.leaf_cost(samples.class_counts)
    optimum = naive.optimal_cost(X, y, 3, objective)
    search = DepthThreeSearch(samples, objective, leaf, most)
    while not search.is_done:
        assert search.bound <= optimum <= search.best
        search.advance()
    assert search.bound == search.best == optimum
    tree = build_tree(search.tree(), X, y, n_classes, objective)
    assert objective.tree_cost(tree.n_errors, tree.n_splits) == optimum


@given(
    small_data(max_samples=14, max_features=3), st.sampled_from([3, 96]), OBJECTIVES, st.booleans()
)
@settings(max_examples=100)
def test_all_roots_of_the_cheapest_trees_are_found_with_ties(data, most, objective, is_known):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    optimum = naive.optimal_cost(X, y, 3, objective)
    below = optimum if is_known else objective.leaf_cost(samples.class_counts)
    search = DepthThreeSearch(samples, objective, below, most, with_ties=True)
    while not search.is_done:
        assert search.bound <= optimum <= search.best
        search.advance()
    assert search.bound == search.best == optimum
    assert len(roots_of(search)) == len(search.roots)
    assert roots_of(search) == naive.cheapest_roots(X, y, 3, objective, optimum)


@pytest.mark.parametrize("n_left", range(5, 40, 5))
@pytest.mark.parametrize("n_questions", range(12))
@small_pieces()
def test_a_root_that_was_not_solved_to_the_end_is_not_lost(monkeypatch, n_left, n_questions):
    monkeypatch.setattr(depth_two, "MOST_BINS", 2)
    samples, objective = make_samples(40, 2, 3, seed=n_questions), Objective()
    costs = [solve_depth_two(samples.part(0, n_left, side), objective).cost for side in SIDES]

    def new_search():
        """Make a search that knows of one root what bins say, and is to stop soon."""
        search = DepthThreeSearch(
            samples, objective, 40 * COST_SCALE, 2, stops=stopping_after(n_questions)
        )
        search._heap, search._is_proving = [], True
        feature = search.features[0]
        for side in SIDES:
            nobody = feature.sides[(0, 40)[side], side]
            assert feature.solve_side(
                n_left, side, nobody, search.best, objective, lambda: False, map
            )
        return search

    for low, high in ((n_left, n_left), (0, 40)):
        search = new_search()
        sides = [search.features[0].sides[n_left, side] for side in SIDES]
        before = [known.cost for known in sides]
        search._tighten_or_halve(0, low, high)
        assert search.bound <= sum(costs)
        assert all(known.cost <= cost for known, cost in zip(sides, before, strict=True))
        if low == high and n_questions > 0:  # it looked at this root
            assert search.best <= sum(known.cost for known in sides)
            search.stops = stopping_after(1)  # while its sides are solved once more
            assert cost_of(search.tree(), samples, objective) <= search.best
    for side in SIDES:
        search = new_search()
        search._raise_bound(0, n_left, side, 0)
        known = search.features[0].sides[n_left, side]
        assert known.bound <= costs[side] <= known.cost
        assert known.is_exact <= (known.bound == costs[side])


@pytest.mark.parametrize("n_questions", range(12))
@small_pieces()
def test_a_side_is_known_in_full_or_not_at_all(n_questions):
    samples, objective = make_samples(60, 3, seed=3), Objective()

    def solved(stops):
        search = DepthThreeSearch(samples, objective, 60 * COST_SCALE, 4)
        feature = search.features[0]
        nobody = feature.sides[0, 0]
        is_solved = feature.solve_side(30, 0, nobody, search.best, objective, stops, map)
        assert is_solved == ((30, 0) in feature.sides)
        return feature.sides.get((30, 0))

    asked = count()
    whole, side = solved(lambda: False), solved(lambda: next(asked) >= n_questions)
    assert (side is None) == (n_questions < next(asked))
    if side is not None:
        assert (side.bound, side.cost) == (whole.bound, whole.cost)
        assert np.array_equal(side.pair_bounds, whole.pair_bounds)


@pytest.mark.parametrize("n_questions", range(0, 240, 8))
@small_pieces()
def test_a_search_that_was_stopped_has_the_best_tree_that_it_knows(n_questions):
    samples, objective = make_samples(60, 3, 3, seed=1), Objective(1)
    asked = count()
    search = DepthThreeSearch(
        samples, objective, 60 * COST_SCALE, 2, stops=lambda: next(asked) >= n_questions
    )
    while not search.is_done and next(asked) < n_questions:
        search.advance()
    assert cost_of(search.tree(), samples, objective) <= search.best
    for feature in search.features:
        inner = {key: side for key, side in feature.sides.items() if 0 < key[0] < 60}
        for (n_left, side), known in inner.items():
            part = samples.part(feature.feature, n_left, side)
            tree = None if known.root is None else with_last_splits(known.root, part, objective)
            assert cost_of(tree, part, objective) <= known.cost
            if (n_left, 1 - side) in inner:
                assert search.best <= 1 + known.cost + inner[n_left, 1 - side].cost


def roots_of(search):
    samples = search.samples
    return {(int(samples.features[f]), samples.value_at(f, n - 1)) for f, n in search.roots}


@pytest.mark.parametrize("seed", range(10))
def test_no_more_ties_are_looked_for_than_are_wanted(monkeypatch, seed):
    X, y = make_data(20, 4, n_values=3, seed=seed)
    objective = Objective(1)
    optimum = naive.optimal_cost(X, y, 3, objective)
    every = naive.cheapest_roots(X, y, 3, objective, optimum)
    monkeypatch.setattr(depth_three, "MOST_ROOTS", 2)
    search = DepthThreeSearch(rank_samples(X, y, 2), objective, 20 * COST_SCALE, with_ties=True)
    while not search.is_done:
        search.advance()
    assert search.bound == search.best == optimum
    assert roots_of(search) <= every
    assert len(search.roots) == min(2, len(every))


@given(small_data(max_samples=14, max_features=2), OBJECTIVES)
@settings(max_examples=60)
def test_a_tree_that_cannot_be_beaten_stays(data, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    optimum = naive.optimal_cost(X, y, 3, objective)
    search = DepthThreeSearch(samples, objective, optimum)
    while not search.is_done:
        search.advance()
    assert search.best_root is None
    assert search.bound == search.best == optimum
    assert search.tree() is None


@pytest.mark.parametrize("seed", range(40))
def test_the_number_of_bins_does_not_change_the_optimum(seed):
    X, y = planted_tree(seed)
    samples = rank_samples(X, y, 2)
    objective = Objective(split_cost=seed % 2, min_samples_leaf=1 + seed % 3)
    costs = set()
    for most in (2, 5, 64):
        search = DepthThreeSearch(samples, objective, len(y) * COST_SCALE, most)
        while not search.is_done:
            search.advance()
        costs.add(search.best)
        assert cost_of(search.tree(), samples, objective) == search.best == search.bound
    assert len(costs) == 1


@pytest.mark.parametrize("seed", range(4))
def test_the_bound_only_rises_and_the_cost_only_falls(seed):
    samples = make_samples(500, 4, 3, seed=seed)
    search = DepthThreeSearch(samples, Objective(), 500 * COST_SCALE, 16)
    seen = [(search.bound, search.best)]
    while not search.is_done:
        search.advance()
        seen.append((search.bound, search.best))
    bounds, costs = zip(*seen, strict=True)
    assert list(costs) == sorted(costs, reverse=True)
    assert list(bounds) == sorted(bounds)
    assert bounds[-1] == costs[-1]


@given(small_data(max_samples=20, max_features=2), OBJECTIVES)
def test_errors_are_unavoidable_where_no_tree_avoids_them(data, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    groups: dict[tuple[float, ...], list[int]] = {}
    for row, label in zip(X, y, strict=True):
        groups.setdefault(tuple(row), []).append(label)
    expected = sum(len(labels) - np.bincount(labels).max() for labels in groups.values())
    assert unavoidable_errors(samples) == expected
    assert unavoidable_cost(samples, objective) <= naive.optimal_cost(X, y, 2, objective)
