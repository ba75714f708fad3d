"""Thresholds inside the gaps of their nodes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from horizontree import CARTClassifier, HorizonTreeClassifier
from horizontree.encoding import threshold_between
from horizontree.objective import Objective
from horizontree.search import gaps
from horizontree.search.gaps import with_placed_thresholds
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
        ends = sorted({X[i, f] for i in above if low <= X[i, f] <= high})
        pairs = list(pairwise(ends))
        scores = [purity([i for i in above if X[i, f] <= low], above) for low, _ in pairs]
        best = [pair for pair, score in zip(pairs, scores, strict=True) if score == max(scores)]
        found[node] = threshold_between(*best[(len(best) - 1) // 2])
        visit(tree.left[node], left, rows)
        visit(tree.right[node], right, rows)

    def purity(left: list[int], above: list[int]) -> float:
        right = [i for i in above if i not in left]
        of_left, of_right = (
            [np.count_nonzero(y[side] == c) for c in set(y)] for side in (left, right)
        )
        return sum(n * n for n in of_left) / len(left) + sum(n * n for n in of_right) / len(right)

    rows = list(range(len(y)))
    visit(0, rows, rows)
    return found


@given(small_data(max_samples=24, max_features=3), st.integers(1, 4))
def test_a_threshold_is_where_it_divides_the_node_above_best(data, depth):
    X, y = data
    tree = CARTClassifier(max_depth=depth).fit(X, y).tree_
    placed = with_placed_thresholds(tree, X, y)
    expected = naive_thresholds(tree, X, y)
    assert {node: placed.threshold[node] for node in expected} == expected
    np.testing.assert_array_equal(placed.apply(X), tree.apply(X))


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
    monkeypatch.setattr(gaps, "_MOST_ROWS", 59)
    assert with_placed_thresholds(tree, X, y) is tree
