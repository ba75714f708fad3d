"""Trees while they are searched for: nested splits, and the finished tree made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import threshold_between
from horizontree.objective import LEAF, PASS_LEFT, PASS_RIGHT, Objective
from horizontree.tree import Tree


@dataclass
class Split:
    """A test ``x[feature] <= cut`` and what follows on either side; None is a leaf.

    ``cut`` is a value of the data, the highest one on the left where the split was found,
    never a midpoint: so it means the same split among any other samples, whatever
    monotone transform the feature has been through.
    """

    feature: int
    cut: float
    left: Split | None = None
    right: Split | None = None


def build_tree(
    root: Split | None,
    X: NDArray[Any],
    y: NDArray[np.integer],
    n_classes: int,
    objective: Objective,
) -> Tree:
    """Route the training rows through proposed splits, prune, and set the thresholds."""
    nodes: list[Split | None] = []
    counts: list[NDArray[np.int64]] = []
    left: list[int] = []
    right: list[int] = []
    gap: list[tuple[float, float]] = []  # the values on either side of the split
    stack: list[tuple[Split | None, NDArray[np.intp] | slice, int]] = [(root, slice(None), -1)]
    while stack:
        split, rows, parent = stack.pop()
        number = len(nodes)
        if parent >= 0:
            (right if left[parent] >= 0 else left)[parent] = number
        labels = y[rows]
        nodes.append(split)
        counts.append(np.bincount(labels, minlength=n_classes))
        left.append(-1)
        right.append(-1)
        gap.append((np.nan, np.nan))
        if split is None or len(labels) == 0:
            continue
        values = X[rows, split.feature]
        goes_left = values <= split.cut
        n_left = np.count_nonzero(goes_left)
        if 0 < n_left < len(labels):
            gap[number] = (float(values[goes_left].max()), float(values[~goes_left].min()))
        index = np.arange(len(y)) if isinstance(rows, slice) else rows
        stack.append((split.right, index[~goes_left], number))
        stack.append((split.left, index[goes_left], number))
    class_counts = np.array(counts, dtype=np.int64)
    kind, _ = objective.prune(class_counts, np.array(left), np.array(right))
    return _emit(nodes, class_counts, left, right, gap, kind)


def _emit(
    nodes: list[Split | None],
    class_counts: NDArray[np.int64],
    left: list[int],
    right: list[int],
    gap: list[tuple[float, float]],
    kind: NDArray[np.int8],
) -> Tree:
    """Write the surviving nodes as flat arrays, in preorder."""
    feature: list[int] = []
    threshold: list[float] = []
    children: list[list[int]] = []
    kept: list[int] = []
    stack: list[tuple[int, int, int]] = [(0, -1, 0)]
    while stack:
        node, parent, side = stack.pop()
        while kind[node] in (PASS_LEFT, PASS_RIGHT):
            node = left[node] if kind[node] == PASS_LEFT else right[node]
        if parent >= 0:
            children[parent][side] = len(kept)
        children.append([-1, -1])
        kept.append(node)
        split = nodes[node]
        if kind[node] == LEAF or split is None:
            feature.append(-1)
            threshold.append(np.nan)
            continue
        feature.append(split.feature)
        threshold.append(threshold_between(*gap[node]))
        stack.append((right[node], len(kept) - 1, 1))
        stack.append((left[node], len(kept) - 1, 0))
    sides = np.array(children, dtype=np.int32)
    return Tree(
        feature=np.array(feature, dtype=np.int32),
        threshold=np.array(threshold, dtype=np.float64),
        left=sides[:, 0],
        right=sides[:, 1],
        class_counts=class_counts[kept],
    )
