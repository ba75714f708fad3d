"""Repair: never dearer, and what it promises of the last levels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import naive
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search._repair_kernels import best_division, mark_correct
from horizontree.search.cart import grow_cart
from horizontree.search.repair import cost_of, flat, repair
from horizontree.search.splits import build_tree
from problems import small_data

OBJECTIVES = st.builds(Objective, st.sampled_from([0, COST_SCALE // 2]), st.integers(1, 4))


@given(small_data(), st.integers(1, 5), OBJECTIVES)
def test_the_cost_of_a_tree_is_that_of_the_finished_tree(data, depth, objective):
    X, y = data
    n_classes = int(y.max()) + 1
    samples = rank_samples(X, y, n_classes)
    root = grow_cart(samples, max_depth=depth)
    tree = build_tree(root, X, y, n_classes, objective)
    assert cost_of(root, samples, objective) == objective.tree_cost(tree.n_errors, tree.n_splits)


@pytest.mark.nojit
@given(small_data(), st.integers(0, 4), OBJECTIVES, st.data())
def test_the_cost_over_other_samples_is_that_of_the_finished_tree(data, depth, objective, more):
    X, y = data
    n_classes = int(y.max()) + 1
    is_here = more.draw(arrays(np.bool_, len(y)))
    root = grow_cart(rank_samples(X[is_here], y[is_here], n_classes), max_depth=depth)
    tree = build_tree(root, X, y, n_classes, objective)
    samples = rank_samples(X, y, n_classes)
    assert cost_of(root, samples, objective) == objective.tree_cost(tree.n_errors, tree.n_splits)


def classify(split, X, y, is_here, label):
    """Return each row's class by a subtree whose leaves are labelled by the rows that are here."""
    counts = np.bincount(y[is_here])
    if counts.any():
        label = counts.argmax()
    out = np.full(len(y), label)
    if split is not None:
        goes_left = X[:, split.feature] <= split.cut
        for side, below in ((goes_left, split.left), (~goes_left, split.right)):
            out[side] = classify(below, X[side], y[side], is_here[side], label)
    return out


@pytest.mark.nojit
@given(small_data(), st.integers(0, 4), st.data())
def test_samples_are_correct_where_the_subtree_gives_them_their_class(data, depth, more):
    X, y = data
    y = np.sort(y)  # as the samples are
    n_classes = int(y.max()) + 1
    known, is_here = (more.draw(arrays(np.bool_, len(y))) for _ in range(2))
    root = grow_cart(rank_samples(X[known], y[known], n_classes), max_depth=depth)
    is_correct = np.empty(len(y), dtype=np.bool_)
    rows = np.arange(len(y), dtype=np.int32)
    mark_correct(X, rows, y, n_classes, is_here, 1, *flat(root), is_correct)
    assert np.array_equal(is_correct, classify(root, X, y, is_here, 1) == y)


@given(small_data(max_samples=20, max_features=3), st.integers(1, 4), OBJECTIVES)
@settings(max_examples=80)
def test_repair_never_makes_a_tree_dearer_and_ends_exact(data, depth, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    before = grow_cart(samples, max_depth=depth)
    cost, after = repair(before, samples, depth, objective)
    assert cost == cost_of(after, samples, objective) <= cost_of(before, samples, objective)
    if depth <= 2:
        assert cost == naive.optimal_cost(X, y, depth, objective)


@given(small_data(max_samples=12, max_features=3), st.integers(1, 4), st.integers(0, 99))
def test_the_best_division_is_that_of_trying_all(data, least, seed):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    gain = np.random.default_rng(seed).integers(-1, 2, samples.n_samples)
    totals = {
        (f, j): int(gain[samples.order[f, :j] & 0x7FFFFFFF].sum())
        for f in range(samples.n_features)
        for j in samples.starts(f)[1:-1].tolist()
        if least <= j <= samples.n_samples - least
    }
    total, feature, n_left = best_division(samples.order, gain, least)
    if not totals:
        assert feature == -1
    else:
        best = max(totals.values())
        assert total == best
        assert (feature, n_left) == min(place for place in totals if totals[place] == best)
