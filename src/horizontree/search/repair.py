"""Repair of a finished tree: no step makes it dearer.

Two steps, from the root down, until neither helps:

- an inner node keeps its subtrees and moves its split: only samples that one subtree gets
  right and the other wrong matter, and the best split of these is an exact sweep;
- a subtree of depth two is replaced by the exact best one.
"""

from __future__ import annotations

from collections.abc import Callable

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


def _keep_all(samples: SampleSet) -> SampleSet:
    return samples


def repair(
    tree: Split | None,
    samples: SampleSet,
    depth: int,
    objective: Objective,
    narrowed: Callable[[SampleSet], SampleSet] = _keep_all,
) -> tuple[int, Split | None]:
    """Repair a tree of at most ``depth`` levels; return its cost and the tree.

    ``narrowed`` leaves the features that subtrees of depth two are searched over.
    """
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
    best_cost, best = cost_of(tree, samples, objective), tree
    if depth == 2:
        few = narrowed(samples)
        found = solve_depth_two(few, objective, below=best_cost)
        if found.is_found:
            best_cost = found.cost
            is_leaf = found.feature < 0
            best = None if is_leaf else with_stumps(few, objective, found.feature, found.n_left)
        return best_cost, best
    if best is None:
        return leaf, None
    for _ in range(_MOST_PASSES):
        cost, tree = _one_pass(best, samples, depth, objective, narrowed)
        if cost >= best_cost or tree is None:
            break
        best_cost, best = cost, tree
    return best_cost, best


def _one_pass(
    tree: Split,
    samples: SampleSet,
    depth: int,
    objective: Objective,
    narrowed: Callable[[SampleSet], SampleSet],
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
    left, split.left = repair(tree.left, parts[0], depth - 1, objective, narrowed)
    right, split.right = repair(tree.right, parts[1], depth - 1, objective, narrowed)
    return objective.split_cost + left + right, split
