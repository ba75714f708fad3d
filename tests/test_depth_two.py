"""Trees of depth two: the optimum against trying all."""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from itertools import count

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search import depth_two
from horizontree.search.depth_two import grow_depth_two, solve_depth_two, tree_of
from horizontree.search.pair_histograms import cut_into_bins, solve_bins
from horizontree.search.splits import build_tree
from horizontree.threads import thread_map
from problems import (
    make_samples,
    planted_tree,
    small_data,
    small_pieces,
    stopping_after,
)

OBJECTIVES = st.builds(
    Objective,
    st.sampled_from([0, COST_SCALE // 3, COST_SCALE, 3 * COST_SCALE]),
    st.integers(1, 5),
)
MOST_BINS = st.sampled_from([2, 3, 8, 128])


@contextmanager
def coarse_bins(*passes):
    """Screen pairs of features over so many bins, however few features there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depth_two, "_MANY_FEATURES", 1)
        patch.setattr(depth_two, "_COARSE_BINS", passes)
        yield


@pytest.mark.nojit
@given(small_data(max_samples=25, max_features=3), MOST_BINS, OBJECTIVES)
@settings(max_examples=400)
def test_the_optimum_is_that_of_trying_every_tree(data, most, objective):
    X, y = data
    n_classes = int(y.max()) + 1
    samples = rank_samples(X, y, n_classes)
    optimum = naive.optimal_cost(X, y, 2, objective)
    assert solve_depth_two(samples, objective, most_bins=most).cost == optimum
    tree = build_tree(grow_depth_two(samples, objective), X, y, n_classes, objective)
    assert objective.tree_cost(tree.n_errors, tree.n_splits) == optimum


@given(
    small_data(max_samples=25, max_features=4),
    st.sampled_from([(2,), (3,), (6,), (2, 4, 8)]),
    OBJECTIVES,
)
@settings(max_examples=200)
def test_screening_by_coarse_bins_loses_nothing(data, passes, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    with coarse_bins(*passes):
        found = solve_depth_two(samples, objective, most_bins=16)
    assert found.cost == naive.optimal_cost(X, y, 2, objective)


@pytest.mark.parametrize("seed", range(60))
def test_screening_keeps_trees_whose_root_is_in_an_outer_bin(seed):
    X, y = planted_tree(seed)
    samples = rank_samples(X, y, 2)
    objective = Objective(seed % 2)
    expected = solve_depth_two(samples, objective, most_bins=128)
    for coarse in (2, 3, 8):
        with coarse_bins(coarse):
            assert solve_depth_two(samples, objective, most_bins=16).cost == expected.cost
            below = expected.cost + 1
            limited = solve_depth_two(samples, objective, below=below, most_bins=16)
            assert limited.cost == expected.cost


@pytest.mark.parametrize("n_classes", [2, 5])
def test_without_closing_the_best_tree_over_bins_is_found(n_classes):
    samples = make_samples(500, 4, n_classes, seed=n_classes)
    bins = cut_into_bins(samples, 16)
    binned = solve_bins(bins, *samples.class_ranges, Objective())
    found = solve_depth_two(samples, Objective(), most_bins=16, closes=False)
    assert found.cost == binned.cost > solve_depth_two(samples, Objective()).cost
    assert found.n_left == bins.left_of[binned.feature, binned.boundary]


@given(small_data(max_samples=25, max_features=3), MOST_BINS, OBJECTIVES, st.integers(-1, 1))
@settings(max_examples=100)
def test_a_limit_is_beaten_or_proven(data, most, objective, above):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    optimum = naive.optimal_cost(X, y, 2, objective)
    limit = max(0, optimum + above)
    for coarse in (2, 32):
        with coarse_bins(coarse):
            found = solve_depth_two(samples, objective, below=limit, most_bins=most)
        assert found.is_found == (optimum < limit)
        assert found.cost == min(optimum, limit)


@pytest.mark.parametrize("n_classes", [2, 3, 30])
@pytest.mark.parametrize("n_values", [None, 6])
def test_bins_or_no_bins_make_no_difference(n_classes, n_values):
    samples = make_samples(900, 4, n_classes, n_values=n_values, seed=n_classes)
    for objective in (Objective(), Objective(COST_SCALE, 20)):
        costs = {
            solve_depth_two(samples, objective, most_bins=most).cost for most in (8, 20, 60, 255)
        }
        assert len(costs) == 1


@pytest.mark.parametrize("with_ties", [False, True])
def test_of_very_many_features_the_purest_are_looked_at(with_ties, monkeypatch):
    X, y = planted_tree(2, n_samples=400, n_features=9)
    samples = rank_samples(X, y, 2)
    whole = solve_depth_two(samples, Objective())
    monkeypatch.setattr(depth_two, "_MOST_FEATURES", 6)
    some = solve_depth_two(samples, Objective(), with_ties=with_ties)
    assert some.bound == 0 < whole.cost <= some.cost
    assert some.roots[:1] == (((some.feature, some.n_left),) if with_ties else ())
    tree = build_tree(tree_of(some, samples, Objective()), X, y, 2, Objective())
    assert tree.n_errors * COST_SCALE == some.cost


def test_threads_find_the_same():
    samples = make_samples(3000, 6, 3, seed=1)
    alone = solve_depth_two(samples, Objective())
    with thread_map(2) as run:
        assert solve_depth_two(samples, Objective(), run=run) == alone


@given(small_data(max_samples=20, max_features=3), MOST_BINS, OBJECTIVES)
@settings(max_examples=60)
def test_a_proof_in_pieces_finds_the_same_tree(data, most, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    at_once = solve_depth_two(samples, objective, most_bins=most, with_ties=True)
    with small_pieces():
        in_pieces = solve_depth_two(samples, objective, most_bins=most, with_ties=True)
    assert in_pieces == at_once


@given(
    small_data(max_samples=20, max_features=3), st.sampled_from([2, 5]), OBJECTIVES,
    st.integers(0, 24),
)  # fmt: skip
@settings(max_examples=100)
def test_a_proof_that_is_stopped_leaves_a_tree_and_a_bound(data, most, objective, n_questions):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    optimum = solve_depth_two(samples, objective, most_bins=most).cost
    stops = stopping_after(n_questions)
    with small_pieces(), coarse_bins(2):
        found = solve_depth_two(samples, objective, most_bins=most, stops=stops)
    assert found.bound <= optimum <= found.cost
    tree = build_tree(tree_of(found, samples, objective), X, y, samples.n_classes, objective)
    assert objective.tree_cost(tree.n_errors, tree.n_splits) <= found.cost


def test_a_proof_can_be_stopped_between_any_two_of_its_pieces():
    rng = np.random.default_rng(5)
    samples = rank_samples(rng.normal(size=(3000, 2)), rng.integers(0, 2, 3000), 2)
    solve = partial(solve_depth_two, samples, Objective(), most_bins=4)
    at_once, asked = solve(), count()
    with small_pieces():
        in_pieces = solve(stops=lambda: next(asked) < 0)
        n_asked = next(asked)
        seen = [solve(stops=stopping_after(n)) for n in range(n_asked)]
    assert in_pieces == at_once
    assert n_asked > 15  # three pairs, two features, and passes over intervals again and again
    assert not any(found.is_exact for found in seen)
    costs = [found.cost for found in seen]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == at_once.cost < costs[0]
    assert max(found.bound for found in seen) < at_once.cost
