"""Trees of depth two: the tables against counting by hand, the optimum against trying all."""

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
from horizontree.search._pair_kernels import WINDOW, _mass
from horizontree.search.depth_two import (
    all_pairs,
    cut_into_bins,
    grow_depth_two,
    solve_bins,
    solve_depth_two,
    tree_of,
)
from horizontree.search.splits import build_tree
from horizontree.threads import thread_map
from problems import (
    make_data,
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


def class_ranges(samples):
    last = np.cumsum(samples.class_counts)
    return last - samples.class_counts, last


@contextmanager
def coarse_bins(*passes):
    """Screen pairs of features over so many bins, however few features there are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(depth_two, "_MANY_FEATURES", 1)
        patch.setattr(depth_two, "_COARSE_BINS", passes)
        yield


def n_correct(labels):
    return int(np.bincount(labels).max()) if len(labels) else 0


@pytest.mark.nojit
@given(small_data(), MOST_BINS)
def test_bins_keep_the_order_and_the_ties(data, most):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    if samples.n_features == 0:
        return
    bins = cut_into_bins(samples, most)
    for f in range(samples.n_features):
        values = X[samples.rows, samples.features[f]]
        codes = bins.codes[:, f]
        n_bins = int(bins.n_bins[f])
        assert n_bins <= most
        assert sorted(set(codes.tolist())) == list(range(n_bins))
        for b in range(n_bins):
            inside = values[codes == b]
            assert bins.left_of[f, b] == np.count_nonzero(codes < b)
            assert bins.is_open[f, b] == (len(np.unique(inside)) > 1)
            if b:
                assert inside.min() > values[codes == b - 1].max()
        assert bins.left_of[f, n_bins] == len(values)


@pytest.mark.nojit
@given(st.integers(0, 9), st.integers(12, 40), st.integers(5, 20), st.integers(0, 1000))
def test_a_value_of_many_samples_has_a_bin_to_itself(n_below, n_above, most, seed):
    n = 1 + (n_below + n_above) * 4 // (most - 4)  # half of its mass, at least, is by count
    values = np.concatenate([-1.0 - np.arange(n_below), np.zeros(n), 1.0 + np.arange(n_above)])
    labels = np.random.default_rng(seed).integers(0, 2, len(values))
    samples = rank_samples(values[:, None], labels, 2)
    bins = cut_into_bins(samples, most)
    is_zero = values[samples.rows] == 0
    assert not bins.is_open[0, bins.codes[is_zero, 0][0]]


@pytest.mark.nojit
@pytest.mark.parametrize("n_tied", [3, 5, 8, 13])
@pytest.mark.parametrize("most", [5, 10, 20])
def test_bins_do_not_run_out_before_the_values_do(n_tied, most):
    sizes = [1, n_tied] * 25
    values = np.repeat(np.arange(len(sizes), dtype=float), sizes)
    samples = rank_samples(values[:, None], np.arange(len(values)) % 2, 2)
    bins = cut_into_bins(samples, most)
    n_bins = int(bins.n_bins[0])
    mass = np.empty((len(values) + WINDOW - 1) // WINDOW)
    _mass(samples.order[0], 0, len(values), samples.labels, 2, mass)
    of_sample = np.repeat(mass, WINDOW)[: len(values)]
    in_bin = np.add.reduceat(of_sample, bins.left_of[0, :n_bins])
    assert (in_bin[bins.is_open[0, :n_bins]] * most < 3).all()


@pytest.mark.nojit
@given(small_data(max_samples=20, max_features=3), MOST_BINS, OBJECTIVES)
@settings(max_examples=60)
def test_the_tables_hold_what_counting_by_hand_gives(data, most, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    if samples.n_features == 0:
        return
    bins = cut_into_bins(samples, most)
    found = solve_bins(bins, *class_ranges(samples), objective).found
    least = objective.min_samples_leaf
    for f in range(samples.n_features):
        for g in range(samples.n_features):
            values = X[samples.rows, samples.features[g]]
            for b in range(1, bins.n_bins[f]):
                for side in (0, 1):
                    here = (bins.codes[:, f] < b) == (side == 0)
                    at_bins = [-1]
                    for c in range(1, bins.n_bins[g] + (least == 1)):
                        is_low = bins.codes[:, g] < c
                        parts = samples.labels[here & is_low], samples.labels[here & ~is_low]
                        if min(map(len, parts)) >= least or least == 1:
                            at_bins.append(sum(map(n_correct, parts)))
                    assert found[f, g, 0, side, b] == max(at_bins)
                    for cut in np.unique(values)[:-1]:
                        is_low = values <= cut
                        parts = samples.labels[here & is_low], samples.labels[here & ~is_low]
                        assert found[f, g, 1, side, b] >= sum(map(n_correct, parts))


@pytest.mark.parametrize("n_samples", [(1 << 15) - 1, 1 << 15, 40_000])
def test_counts_beyond_16_bits_are_right(n_samples):
    samples = make_samples(n_samples, 2, 2, seed=3)
    bins = cut_into_bins(samples, 8)
    found = solve_bins(bins, *class_ranges(samples), Objective()).found
    for f, g in ((0, 1), (1, 0), (1, 1)):
        for b in range(1, bins.n_bins[f]):
            here = bins.codes[:, f] < b
            splits = [bins.codes[:, g] < c for c in range(1, bins.n_bins[g] + 1)]
            for side, chosen in enumerate((here, ~here)):
                at_bins = [
                    n_correct(samples.labels[chosen & is_low])
                    + n_correct(samples.labels[chosen & ~is_low])
                    for is_low in splits
                ]
                assert found[f, g, 0, side, b] == max(at_bins)


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


def best_with_pair(X, y, root, other, objective):
    """Return the cost of the best tree with one feature at the root and the other below it."""
    best = None
    for cut in np.unique(X[:, root])[:-1]:
        is_left = X[:, root] <= cut
        sides = []
        for here in (is_left, ~is_left):
            n_here = np.count_nonzero(here)
            stumps = {other: n_here, None: n_here}
            for feature in range(X.shape[1]):
                for child in np.unique(X[here, feature])[:-1]:
                    is_low = X[:, feature] <= child
                    correct = n_correct(y[here & is_low]) + n_correct(y[here & ~is_low])
                    for name in (feature, None):
                        stumps[name] = min(stumps.get(name, n_here), n_here - correct)
            leaf = (n_here - n_correct(y[here])) * COST_SCALE
            split = {name: objective.split_cost + n * COST_SCALE for name, n in stumps.items()}
            sides.append((split[other], min(leaf, split[None]), leaf))
        (low, any_low, leaf_low), (high, any_high, leaf_high) = sides
        ways = [low + any_high, any_low + high]
        if root == other:
            ways += [leaf_low + any_high, any_low + leaf_high]
        cost = objective.split_cost + min(ways)
        best = cost if best is None else min(best, cost)
    return best


@given(small_data(max_samples=20, max_features=3), MOST_BINS, st.sampled_from([0, COST_SCALE // 3]))
@settings(max_examples=100)
def test_no_tree_made_with_a_pair_is_below_the_bound_of_the_pair(data, most, split_cost):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    if samples.n_features == 0:
        return
    X, objective = X[:, samples.features], Objective(split_cost)
    bins = cut_into_bins(samples, most)
    binned = solve_bins(bins, *class_ranges(samples), objective)
    pairs = all_pairs(samples.n_features)
    for (f, g), bound in zip(pairs, binned.bounds_of(pairs, bins, objective), strict=True):
        assert bound <= best_with_pair(X, y, f, g, objective)
        assert bound <= best_with_pair(X, y, g, f, objective)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_without_closing_the_best_tree_over_bins_is_found(n_classes):
    samples = make_samples(500, 4, n_classes, seed=n_classes)
    bins = cut_into_bins(samples, 16)
    binned = solve_bins(bins, *class_ranges(samples), Objective())
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


def test_the_bound_of_the_bins_is_a_bound():
    X, y = make_data(2000, 5, 3, seed=7)
    samples = rank_samples(X, y, 3)
    optimum = solve_depth_two(samples, Objective()).cost
    for most in (8, 32, 128):
        binned = solve_bins(cut_into_bins(samples, most), *class_ranges(samples), Objective())
        assert binned.bound <= optimum <= binned.cost


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
    samples = make_samples(3000, 2, seed=5)
    solve = partial(solve_depth_two, samples, Objective(), most_bins=4)
    at_once, asked = solve(), count()
    with small_pieces():
        in_pieces = solve(stops=lambda: next(asked) < 0)
        n_asked = next(asked)
        seen = [solve(stops=stopping_after(n)) for n in range(n_asked)]
    assert in_pieces == at_once
    assert n_asked > 20  # more than there are pairs and intervals: these were halved
    assert not any(found.is_exact for found in seen)
    costs = [found.cost for found in seen]
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] == at_once.cost < costs[0]
    assert max(found.bound for found in seen) < at_once.cost
