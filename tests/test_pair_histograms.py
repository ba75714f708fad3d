"""Bins and histograms of pairs: against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search._pair_kernels import WINDOW, _mass
from horizontree.search.depth_two import solve_depth_two
from horizontree.search.pair_histograms import all_pairs, cut_into_bins, solve_bins
from problems import make_data, make_samples, small_data

OBJECTIVES = st.builds(
    Objective,
    st.sampled_from([0, COST_SCALE // 3, COST_SCALE, 3 * COST_SCALE]),
    st.integers(1, 5),
)
MOST_BINS = st.sampled_from([2, 3, 8, 128])


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


def optimistic(bins, labels, here, g):
    """Return the most that a cut of ``g`` may get right, at a boundary or inside an open bin."""
    most = 0
    for c in range(bins.n_bins[g]):
        bin_of = bins.codes[:, g]
        below, inside, above = (
            labels[here & part] for part in (bin_of < c, bin_of == c, bin_of > c)
        )
        with_below, with_above = np.append(below, inside), np.append(inside, above)
        most = max(most, n_correct(with_below) + n_correct(above))
        if bins.is_open[g, c]:
            all_right = n_correct(below) + len(inside) + n_correct(above)
            most = max(most, min(all_right, n_correct(with_below) + n_correct(with_above)))
    return most


@pytest.mark.nojit
@given(small_data(max_samples=20, max_features=3), MOST_BINS, OBJECTIVES)
@settings(max_examples=60)
def test_the_tables_hold_what_counting_by_hand_gives(data, most, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    if samples.n_features == 0:
        return
    bins = cut_into_bins(samples, most)
    found = solve_bins(bins, *samples.class_ranges, objective).found
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
                    assert found[f, g, 1, side, b] == optimistic(bins, samples.labels, here, g)
                    for cut in np.unique(values)[:-1]:
                        is_low = values <= cut
                        parts = samples.labels[here & is_low], samples.labels[here & ~is_low]
                        assert found[f, g, 1, side, b] >= sum(map(n_correct, parts))


@pytest.mark.parametrize("n_samples", [(1 << 15) - 1, 1 << 15, 40_000])
def test_counts_beyond_16_bits_are_right(n_samples):
    samples = make_samples(n_samples, 2, 2, seed=3)
    bins = cut_into_bins(samples, 8)
    found = solve_bins(bins, *samples.class_ranges, Objective()).found
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


@pytest.mark.parametrize("n_samples", [(1 << 14) + 5, (1 << 15) - 1, 1 << 15])
def test_a_bin_on_both_sides_of_a_cut_does_not_overflow(n_samples):
    rng = np.random.default_rng(0)
    X, y = rng.random((n_samples, 2)), (np.arange(n_samples) < 20).astype(int)
    samples = rank_samples(X, y, 2)
    bins = cut_into_bins(samples, 2)
    found = solve_bins(bins, *samples.class_ranges, Objective()).found
    for f, g in ((0, 1), (1, 0), (0, 0)):
        here = bins.codes[:, f] < 1
        for side, chosen in enumerate((here, ~here)):
            expected = optimistic(bins, samples.labels, chosen, g)
            assert found[f, g, 1, side, 1] == expected
        everything = np.ones(n_samples, dtype=bool)
        assert found[f, g, 1, 0, 2] == optimistic(bins, samples.labels, everything, g)


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
    binned = solve_bins(bins, *samples.class_ranges, objective)
    pairs = all_pairs(samples.n_features)
    for (f, g), bound in zip(pairs, binned.bounds_of(pairs, bins, objective), strict=True):
        assert bound <= best_with_pair(X, y, f, g, objective)
        assert bound <= best_with_pair(X, y, g, f, objective)


def test_the_bound_of_the_bins_is_a_bound():
    X, y = make_data(2000, 5, 3, seed=7)
    samples = rank_samples(X, y, 3)
    optimum = solve_depth_two(samples, Objective()).cost
    for most in (8, 32, 128):
        binned = solve_bins(cut_into_bins(samples, most), *samples.class_ranges, Objective())
        assert binned.bound <= optimum <= binned.cost
