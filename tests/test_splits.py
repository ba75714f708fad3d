"""From proposed splits to the finished tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from horizontree.objective import COST_SCALE, Objective
from horizontree.search.splits import Split, build_tree
from problems import small_data

pytestmark = pytest.mark.nojit


@st.composite
def proposals(draw: st.DrawFn, n_features: int, depth: int = 4) -> Split | None:
    """Draw splits of any shape, with cuts on, between and beyond the values."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return None
    feature, cut = draw(st.integers(0, n_features - 1)), draw(st.integers(-1, 8)) / 2
    below = [draw(proposals(n_features, depth - 1)) for _ in range(2)]
    return Split(feature, cut, *below)


def cost_of(root, X, y, objective) -> int:
    """Return the least cost of any pruning, by routing the rows recursively."""
    as_leaf = int(len(y) - np.bincount(y).max()) * COST_SCALE
    if root is None:
        return as_leaf
    goes_left = X[:, root.feature] <= root.cut
    sides = [goes_left, ~goes_left]
    for side, below in zip(sides, (root.left, root.right), strict=True):
        if side.all():
            return cost_of(below, X, y, objective)
    if min(side.sum() for side in sides) < objective.min_samples_leaf:
        return as_leaf
    parts = zip(sides, (root.left, root.right), strict=True)
    below = sum(cost_of(child, X[side], y[side], objective) for side, child in parts)
    return min(as_leaf, objective.split_cost + below)


@given(
    small_data(max_samples=20, max_features=3),
    st.data(),
    st.integers(1, 5),
    st.sampled_from([0, COST_SCALE // 3, COST_SCALE]),
)
def test_any_proposal_becomes_its_best_pruning(data, choices, min_samples_leaf, split_cost):
    X, y = data
    root = choices.draw(proposals(X.shape[1]))
    objective = Objective(split_cost, min_samples_leaf)
    tree = build_tree(root, X, y, int(y.max()) + 1, objective)
    expected = cost_of(root, X, y, objective)
    assert objective.tree_cost(tree.n_errors, tree.n_splits) == expected
    assert_consistent(tree, X, y, min_samples_leaf)


def assert_consistent(tree, X, y, min_samples_leaf) -> None:
    """Check the numbering, the counts and the promises of a finished tree."""
    leaf = tree.apply(X)
    n_classes = tree.n_classes
    for node in np.flatnonzero(tree.is_leaf):
        assert tree.class_counts[node].tolist() == (
            np.bincount(y[leaf == node], minlength=n_classes).tolist()
        )
        assert tree.n_nodes == 1 or tree.class_counts[node].sum() >= min_samples_leaf
        assert np.isnan(tree.threshold[node])
        assert tree.feature[node] == tree.left[node] == tree.right[node] == -1
    visited, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        visited.append(node)
        if tree.left[node] != -1:
            waiting += [int(tree.right[node]), int(tree.left[node])]
            children = tree.class_counts[[tree.left[node], tree.right[node]]]
            assert np.array_equal(children.sum(axis=0), tree.class_counts[node])
            assert np.isfinite(tree.threshold[node])
    assert visited == list(range(tree.n_nodes))  # preorder


def test_a_threshold_is_the_middle_of_the_values_that_reach_the_node():
    X = np.array([[0.0], [1.0], [2.0], [10.0]])
    y = np.array([0, 1, 0, 1])
    root = Split(0, 2.0, left=Split(0, 0.0, right=Split(0, 1.0)))
    tree = build_tree(root, X, y, 2, Objective())
    assert tree.threshold[[0, 1, 3]].tolist() == [6.0, 0.5, 1.5]
    assert tree.n_errors == 0


def test_a_cut_may_lie_anywhere_between_the_values():
    X, y = np.array([[0.0], [4.0]]), np.array([0, 1])
    trees = [build_tree(Split(0, cut), X, y, 2, Objective()) for cut in (0.0, 1.0, 3.9)]
    assert trees[0] == trees[1] == trees[2]
    assert trees[0].threshold[0] == 2.0


def test_a_split_that_divides_nothing_leaves_what_is_below_it():
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    useful = Split(0, 0.0)
    expected = build_tree(useful, X, y, 2, Objective(5, 1))
    for root in (Split(0, 7.0, left=useful), Split(0, -1.0, right=useful)):
        assert build_tree(root, X, y, 2, Objective(5, 1)) == expected


def test_no_proposal_is_a_leaf():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([1, 1, 0])
    tree = build_tree(None, X, y, 3, Objective())
    assert (tree.n_nodes, tree.class_counts.tolist()) == (1, [[1, 2, 0]])


def test_float32_values_are_cut_exactly():
    low = np.float32(0.1)
    X = np.array([[low], [np.nextafter(low, np.float32(1))]])
    tree = build_tree(Split(0, float(low)), X, np.array([0, 1]), 2, Objective())
    assert tree.n_errors == 0
    assert tree.apply(X).tolist() == [1, 2]
