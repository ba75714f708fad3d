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
from horizontree.search._repair_kernels import best_division, mark_correct, tree_cost
from horizontree.search.cart import best_stump
from horizontree.search.depth_two import grow_depth_two
from horizontree.search.splits import Split


def cost_of(tree: Split | None, samples: SampleSet, objective: Objective) -> int:
    """Return the cost of a tree, pruned, over some samples."""
    if tree is None:
        return objective.leaf_cost(samples.class_counts)
    feature, cut, children = flat(tree)
    cost = tree_cost(
        samples.X, samples.rows, samples.labels, samples.n_classes, feature, cut, children,
        objective.split_cost, objective.min_samples_leaf,
    )  # fmt: skip
    return int(cost)


def flat(tree: Split | None) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    """Lay a tree out for the kernels: feature, cut, children."""
    nodes = [tree]
    children = []
    for node in nodes:  # grows on the way
        if node is None:
            children.append((-1, -1))
        else:
            children.append((len(nodes), len(nodes) + 1))
            nodes += (node.left, node.right)
    tests = [(-1, 0.0) if node is None else (node.feature, node.cut) for node in nodes]
    feature, cut = zip(*tests, strict=True)
    return np.array(feature, dtype=np.int64), np.array(cut), np.array(children, dtype=np.int64)


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
    is_correct = np.empty((2, samples.n_samples), dtype=np.bool_)
    for side, below in enumerate((tree.left, tree.right)):
        is_here = goes_left if side == 0 else ~goes_left
        feature, cut, children = flat(below)
        mark_correct(
            samples.X, samples.rows, samples.labels, samples.n_classes, is_here, majority,
            feature, cut, children, is_correct[side],
        )  # fmt: skip
    gain = is_correct[0].astype(np.int64) - is_correct[1]
    _, best, n_left = best_division(samples.order, gain, min_samples_leaf)
    return best, n_left
