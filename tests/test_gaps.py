"""Thresholds inside the gaps of their nodes."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from horizontree import CARTClassifier, HorizonTreeClassifier
from horizontree.encoding import threshold_between
from horizontree.objective import Objective
from horizontree.search import gaps
from horizontree.search.gaps import _purest_neighbours, with_placed_thresholds
from horizontree.search.splits import Split, build_tree
from horizontree.tree import Tree
from problems import make_data, small_data

pytestmark = pytest.mark.nojit


def naive_thresholds(tree: Tree, X, y) -> dict[int, float]:
    """Try every pair of neighbouring values between those that a split has to part."""
    found = {}

    def visit(node: int, rows: list[int], above: list[int]) -> None:
        if tree.left[node] == -1:
            return
        f = tree.feature[node]
        left = [i for i in rows if X[i, f] <= tree.threshold[node]]
        right = [i for i in rows if X[i, f] > tree.threshold[node]]
        low, high = max(X[i, f] for i in left), min(X[i, f] for i in right)
        values = sorted({X[i, f] for i in above if low <= X[i, f] <= high})
        pairs = list(pairwise(values))
        if np.float32(low) < np.float32(high):
            pairs = [pair for pair in pairs if np.float32(pair[0]) < np.float32(pair[1])]
        scores = [purity([i for i in above if X[i, f] <= pair[0]], above) for pair in pairs]
        best = [pair for pair, score in zip(pairs, scores, strict=True) if score == max(scores)]
        found[node] = threshold_between(*best[(len(best) - 1) // 2])
        visit(tree.left[node], left, rows)
        visit(tree.right[node], right, rows)

    def purity(left: list[int], above: list[int]) -> Fraction:
        right = [i for i in above if i not in left]
        return sum(
            Fraction(sum(int(np.count_nonzero(y[side] == c)) ** 2 for c in set(y)), len(side))
            for side in (left, right)
        )

    rows = list(range(len(y)))
    visit(0, rows, rows)
    return found


def is_as_naive(tree: Tree, X, y) -> bool:
    """Compare with the naive twin; return whether any threshold has moved."""
    placed = with_placed_thresholds(tree, X, y)
    expected = naive_thresholds(tree, X, y)
    assert {node: placed.threshold[node] for node in expected} == expected
    np.testing.assert_array_equal(placed.apply(X), tree.apply(X))
    return placed != tree


@given(small_data(max_samples=24, max_features=3), st.integers(1, 4))
def test_any_small_tree_is_as_the_naive_one(data, depth):
    X, y = data
    is_as_naive(CARTClassifier(max_depth=depth).fit(X, y).tree_, X, y)


@pytest.mark.parametrize("n_values", [8, 12, None])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_threshold_is_where_it_divides_the_node_above_best(n_classes, n_values):
    n_moved = 0
    for seed in range(20):
        X, y = make_data(24, 3, n_classes, n_values=n_values, seed=seed)
        n_moved += is_as_naive(CARTClassifier(max_depth=4).fit(X, y).tree_, X, y)
    assert n_moved >= 5


@pytest.mark.parametrize("offset", [2.0**24, 1.7e9, 2.0**60])
def test_values_that_are_one_in_float32_are_not_parted(offset):
    n_moved = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        scale = offset / 2**24
        X, y = offset + scale * rng.integers(0, 30, (40, 2)), rng.integers(0, 2, 40)
        n_moved += is_as_naive(CARTClassifier(max_depth=4).fit(X, y).tree_, X, y)
    assert n_moved >= 5


@pytest.mark.parametrize(
    ("between", "threshold"),
    [
        ([0, 1], 3.5),  # one place is best
        ([1, 0], 1.5),  # two, of which the lower
        ([2, 3], 3.5),  # every class once: all places are the same
        ([2, 3, 4], 3.5),
        ([2, 3, 4, 5], 4.5),
    ],
)
def test_of_equally_pure_places_the_middle_one(between, threshold):
    # the rows of the other side lie at 3, 4, ... between 0 and 100
    rows = [[0, 0], [0, 100], *([1, 3 + i] for i in range(len(between)))]
    X, y = np.array(rows, dtype=float), np.array([0, 1, *between])
    root = Split(0, 0.0, Split(1, 0.0), None)
    tree = build_tree(root, X, y, 6, Objective())
    node = int(tree.left[0])
    expected = naive_thresholds(tree, X, y)[node]
    assert with_placed_thresholds(tree, X, y).threshold[node] == expected == threshold


def test_rounding_does_not_tell_equal_purities_apart():
    labels = np.array([1, 0, 1, 1, 1, 0, 1, 1])
    assert 2 / 2 + 26 / 6 < 20 / 6 + 4 / 2  # after two and after six: both are 16 / 3
    assert _purest_neighbours(0.0, 7.0, np.arange(8.0), labels) == (1.0, 2.0)


def test_the_root_and_splits_without_other_rows_between_stay_midpoints():
    X = np.array([[0.0], [1.0], [3.0], [9.0]])
    tree = CARTClassifier(max_depth=2).fit(X, [0, 1, 1, 0]).tree_
    assert with_placed_thresholds(tree, X, np.array([0, 1, 1, 0])) == tree


def test_rows_of_the_other_side_pull_a_threshold():
    # below the root, x[1] has to part 0 from 10; on the other side class 1 begins at 3
    X = np.array([[0, 0], [0, 0], [0, 10], [0, 10], *([1, v] for v in (0, 1, 2, 3, 4, 5, 9))])
    y = np.array([0, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1])
    tree = build_tree(Split(0, 0.0, Split(1, 0.0), Split(1, 2.0)), X, y, 2, Objective())
    assert tree.threshold[~tree.is_leaf].tolist() == [0.5, 5.0, 2.5]
    placed = with_placed_thresholds(tree, X, y)
    assert placed.threshold[~tree.is_leaf].tolist() == [0.5, 2.5, 2.5]


def test_horizon_trees_have_their_thresholds_there(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 5)), rng.integers(0, 2, 80)
    tree = HorizonTreeClassifier(max_depth=4).fit(X, y).tree_
    with monkeypatch.context() as patched:
        patched.setattr(gaps, "_MOST_ROWS", 0)
        halfway = HorizonTreeClassifier(max_depth=4).fit(X, y).tree_
    assert halfway != tree
    assert with_placed_thresholds(halfway, X, y) == tree


def test_rows_beyond_the_limit_are_not_routed_again(monkeypatch):
    X, y = make_data(60, 3, n_values=30, seed=1)
    tree = CARTClassifier(max_depth=4).fit(X, y).tree_
    assert with_placed_thresholds(tree, X, y) != tree
    monkeypatch.setattr(gaps, "_MOST_ROWS", 60)
    assert with_placed_thresholds(tree, X, y) != tree
    monkeypatch.setattr(gaps, "_MOST_ROWS", 59)
    assert with_placed_thresholds(tree, X, y) is tree
