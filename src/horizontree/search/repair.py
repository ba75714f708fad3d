"""Repair of a finished tree: no step makes it dearer.

Two steps, from the root down, until neither helps:

- an inner node keeps its subtrees and moves its split: only samples that one subtree gets
  right and the other wrong matter, and the best split of these is an exact sweep;
- a subtree of depth two is replaced by the exact best one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search._repair_kernels import best_division
from horizontree.search.cart import best_stump
from horizontree.search.depth_two import grow_depth_two
from horizontree.search.splits import Split


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
    tree: Split | None,
    samples: SampleSet,
    depth: int,
    objective: Objective,
    grow_two: Callable[[SampleSet], Split | None] | None = None,
    most_passes: int = 20,
    stops: Callable[[], bool] = lambda: False,
) -> tuple[int, Split | None]:
    """Repair a tree of at most ``depth`` levels; return its cost and the tree.

    Parameters
    ----------
    tree : Split or None
        The tree.
    samples : SampleSet
        The samples at its root.
    depth : int
        The most levels that it may have.
    objective : Objective
        What is minimised.
    grow_two : callable or None
        Grows the best tree of depth two; None for the exact one.
    most_passes : int
        The most times that the whole tree is gone through.
    stops : callable
        Tells whether to leave the rest as it is.

    Returns
    -------
    cost, tree
        Not dearer than before.
    """
    if grow_two is None:
        grow_two = partial(grow_depth_two, objective=objective)
    best_cost = cost_of(tree, samples, objective)
    for _ in range(most_passes):
        cost, repaired = _one_pass(tree, best_cost, samples, depth, objective, grow_two, stops)
        if cost >= best_cost:
            break
        best_cost, tree = cost, repaired
    return best_cost, tree


def _one_pass(
    tree: Split | None,
    tree_cost: int,
    samples: SampleSet,
    depth: int,
    objective: Objective,
    grow_two: Callable[[SampleSet], Split | None],
    stops: Callable[[], bool],
) -> tuple[int, Split | None]:
    """Go through a tree once, from its root down."""
    if tree_cost == 0 or samples.is_pure or samples.n_features == 0 or depth == 0 or stops():
        return tree_cost, tree
    if depth <= 2:
        least = objective.min_samples_leaf
        found = grow_two(samples) if depth == 2 else best_stump(samples, least)
        cost = cost_of(found, samples, objective)
        return (cost, found) if cost < tree_cost else (tree_cost, tree)
    if tree is None:
        return tree_cost, None
    feature, n_left = _moved_split(tree, samples, objective.min_samples_leaf)
    if feature < 0:
        return tree_cost, tree
    cost = objective.split_cost
    sides: list[Split | None] = []
    for below, part in zip((tree.left, tree.right), samples.split(feature, n_left), strict=True):
        side_cost = cost_of(below, part, objective)
        side_cost, side = _one_pass(below, side_cost, part, depth - 1, objective, grow_two, stops)
        cost += side_cost
        sides.append(side)
    split = Split(int(samples.features[feature]), samples.value_at(feature, n_left - 1), *sides)
    return (cost, split) if cost < tree_cost else (tree_cost, tree)


def _moved_split(tree: Split, samples: SampleSet, min_samples_leaf: int) -> tuple[int, int]:
    """Return the best split above the two subtrees of a node: feature, samples on the left."""
    goes_left = samples.X[samples.rows, tree.feature] <= tree.cut
    majority = int(samples.class_counts.argmax())
    is_right = [
        _classified(below, samples, is_here, majority) == samples.labels
        for below, is_here in ((tree.left, goes_left), (tree.right, ~goes_left))
    ]
    gain = is_right[0].astype(np.int64) - is_right[1]
    _, feature, n_left = best_division(samples.order, gain, min_samples_leaf)
    return feature, n_left
