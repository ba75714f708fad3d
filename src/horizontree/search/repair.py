"""Repair of a finished tree: no step makes it dearer.

Two steps, from the root down, until neither helps:

- an inner node keeps its subtrees and moves its split: only samples that one subtree gets
  right and the other wrong matter, and the best split of these is an exact sweep;
- a subtree of depth two is replaced by the exact best one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search._pair_kernels import best_division
from horizontree.search.cart import grow_cart
from horizontree.search.depth_two import solve_depth_two, with_stumps
from horizontree.search.splits import Split

_MOST_PASSES = 4


def cost_of(tree: Split | None, samples: SampleSet, objective: Objective) -> int:
    """Return the cost of a tree, pruned, over some samples."""

    def visit(split: Split | None, rows: NDArray[np.integer], labels: NDArray[np.integer]) -> int:
        leaf = objective.leaf_cost(np.bincount(labels, minlength=samples.n_classes))
        if split is None or leaf == 0:
            return leaf
        goes_left = samples.X[rows, split.feature] <= split.cut
        n_left = int(np.count_nonzero(goes_left))
        if n_left == 0:
            return visit(split.right, rows, labels)
        if n_left == len(rows):
            return visit(split.left, rows, labels)
        if min(n_left, len(rows) - n_left) < objective.min_samples_leaf:
            return leaf
        below = visit(split.left, rows[goes_left], labels[goes_left])
        below += visit(split.right, rows[~goes_left], labels[~goes_left])
        return min(leaf, objective.split_cost + below)

    return visit(tree, samples.rows, samples.labels)


def _classified(
    tree: Split | None, samples: SampleSet, is_here: NDArray[np.bool_], fallback: int
) -> NDArray[np.intp]:
    """Return the class that a subtree gives to every sample, labelled by those that are here."""
    out = np.empty(samples.n_samples, dtype=np.intp)

    def visit(split: Split | None, at: NDArray[np.intp], label: int) -> None:
        counts = np.bincount(samples.labels[at[is_here[at]]], minlength=samples.n_classes)
        if counts.any():
            label = int(counts.argmax())
        if split is None:
            out[at] = label
            return
        goes_left = samples.X[samples.rows[at], split.feature] <= split.cut
        visit(split.left, at[goes_left], label)
        visit(split.right, at[~goes_left], label)

    visit(tree, np.arange(samples.n_samples), fallback)
    return out


def repair(
    tree: Split | None, samples: SampleSet, depth: int, objective: Objective
) -> tuple[int, Split | None]:
    """Repair a tree of at most ``depth`` levels; return its cost and the tree."""
    leaf = objective.leaf_cost(samples.class_counts)
    if leaf == 0 or samples.n_features == 0 or depth == 0:
        return leaf, None
    if depth == 1:
        stump = grow_cart(
            samples,
            max_depth=1,
            min_samples_leaf=objective.min_samples_leaf,
            criterion="misclassification",
        )
        return cost_of(stump, samples, objective), stump
    if depth == 2:
        found = solve_depth_two(samples, objective)
        if found.feature < 0:
            return found.cost, None
        return found.cost, with_stumps(samples, objective, found.feature, found.n_left)
    if tree is None:
        return leaf, None
    best_cost, best = cost_of(tree, samples, objective), tree
    for _ in range(_MOST_PASSES):
        cost, tree = _one_pass(best, samples, depth, objective)
        if cost >= best_cost or tree is None:
            break
        best_cost, best = cost, tree
    return best_cost, best


def _one_pass(
    tree: Split, samples: SampleSet, depth: int, objective: Objective
) -> tuple[int, Split | None]:
    """Move the split of the root, then repair both sides."""
    goes_left = samples.X[samples.rows, tree.feature] <= tree.cut
    majority = int(samples.class_counts.argmax())
    is_right = [
        _classified(below, samples, is_here, majority) == samples.labels
        for below, is_here in ((tree.left, goes_left), (tree.right, ~goes_left))
    ]
    gain = is_right[0].astype(np.int64) - is_right[1]
    _, feature, n_left = best_division(samples.order, gain, objective.min_samples_leaf)
    if feature < 0:
        return objective.leaf_cost(samples.class_counts), None
    split = Split(int(samples.features[feature]), samples.value_at(feature, n_left - 1))
    parts = samples.split(feature, n_left)
    left, split.left = repair(tree.left, parts[0], depth - 1, objective)
    right, split.right = repair(tree.right, parts[1], depth - 1, objective)
    return objective.split_cost + left + right, split
