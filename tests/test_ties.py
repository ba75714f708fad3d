"""Of equally cheap trees of depth two: which are known, and which one is taken."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from horizontree import HorizonTreeClassifier
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search import horizon
from horizontree.search._cart_kernels import purity_of_cuts
from horizontree.search.depth_two import MOST_BINS, solve_depth_two
from horizontree.search.repair import cost_of
from horizontree.search.splits import Split
from horizontree.search.ties import purest_tree
from problems import make_data, small_data

OBJECTIVES = st.builds(
    Objective, st.sampled_from([1, COST_SCALE // 3, COST_SCALE]), st.integers(1, 3)
)


def naive_purity(X, y, split):
    """How well one split divides all rows; 0 where there is none."""
    if split is None:
        return 0.0
    goes_left = X[:, split.feature] <= split.cut
    squares = [int((np.bincount(y[side]) ** 2).sum()) for side in (goes_left, ~goes_left)]
    return squares[0] / int(goes_left.sum()) + squares[1] / int((~goes_left).sum())


def all_splits(samples):
    """Every split of some samples, with what it leaves on either side."""
    for f in range(samples.n_features):
        for n_left in samples.starts(f)[1:-1]:
            cut = samples.value_at(f, int(n_left) - 1)
            yield Split(int(samples.features[f]), cut), samples.split(f, int(n_left))


def paying_last_splits(samples, objective):
    """The cheapest single splits; None alone where none pays."""
    costs = {}
    for split, sides in all_splits(samples):
        if min(side.n_samples for side in sides) >= objective.min_samples_leaf:
            leaves = sum(objective.leaf_cost(side.class_counts) for side in sides)
            costs.setdefault(objective.split_cost + leaves, []).append(split)
    leaf = objective.leaf_cost(samples.class_counts)
    best = min(costs, default=leaf)
    return (best, costs[best]) if best < leaf else (leaf, [None])


def equal_trees(samples, objective):
    """All of the cheapest trees of depth two that split at their root."""
    trees = {}
    for root, sides in all_splits(samples):
        if min(side.n_samples for side in sides) < objective.min_samples_leaf:
            continue
        found = [paying_last_splits(side, objective) for side in sides]
        cost = objective.split_cost + sum(cost for cost, _ in found)
        for left, right in product(*(splits for _, splits in found)):
            trees.setdefault(cost, []).append(Split(root.feature, root.cut, left, right))
    return trees[min(trees)] if trees else []


@pytest.mark.nojit
@given(small_data(max_samples=14, max_features=3), OBJECTIVES)
def test_of_all_cheapest_trees_the_purest_over_all_rows_is_taken(data, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    found = solve_depth_two(samples, objective, most_bins=MOST_BINS, with_ties=True)
    if found.feature < 0:
        assert found.roots == ()
        return

    def purity(tree):
        below = (naive_purity(X, y, side) for side in (tree.left, tree.right))
        return naive_purity(X, y, tree) + sum(below)

    trees = equal_trees(samples, objective)
    places = [(int(samples.features[f]), samples.value_at(f, n - 1)) for f, n in found.roots]
    assert set(places) == {(tree.feature, tree.cut) for tree in trees}
    assert found.roots[0] == (found.feature, found.n_left)
    taken = purest_tree(found.roots, samples, objective)
    assert cost_of(taken, samples, objective) == found.cost
    assert purity(taken) == max(map(purity, trees))


@pytest.mark.nojit
@given(small_data())
def test_purity_is_that_of_dividing_all_rows_at_each_value(data):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    purity = np.empty(samples.order.shape)
    purity_of_cuts(samples.order, samples.rows, samples.labels, samples.class_counts, purity)
    for f, column in enumerate(samples.features):
        for row, value in enumerate(X[:, column]):
            is_highest = value == X[:, column].max()
            naive = 0.0 if is_highest else naive_purity(X, y, Split(int(column), float(value)))
            assert purity[f, row] == naive


def test_a_last_split_that_divides_all_rows_well_is_preferred():
    # x0 makes the root. Where it is 1, x1 and x2 divide the four rows alike; only x2 tells
    # the classes of the other rows apart, too.
    X = np.array(
        [[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0], [1, 1, 1],
         [1, 1, 1]], dtype=float,
    )  # fmt: skip
    y = np.array([0, 0, 0, 0, 1, 0, 0, 1, 1])
    one_root = [(0, 5)]
    samples = rank_samples(X, y, 2)
    tree = purest_tree(one_root, samples, Objective(1, 1))
    assert tree.right == Split(2, 0.0)


def test_problems_too_large_for_the_table_keep_the_first_of_the_cheapest(monkeypatch):
    X, y = make_data(60, 3, n_values=3, seed=3)
    monkeypatch.setattr(horizon, "MOST_CUTS", 0)
    first = HorizonTreeClassifier(max_depth=2).fit(X, y)
    monkeypatch.undo()
    purest = HorizonTreeClassifier(max_depth=2).fit(X, y)
    assert (first.n_errors_, first.tree_.n_splits) == (purest.n_errors_, purest.tree_.n_splits)
    assert first.status_ == purest.status_ == "optimal"
