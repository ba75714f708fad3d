"""Where a threshold lies between the values of its node: where it divides the node above best.

Between the two values that a split has to part, the samples of a small node leave a wide gap. Other
samples of the node above lie in it, and say where the classes change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import threshold_between
from horizontree.tree import LEAF, Tree

_MOST_ROWS = 1 << 20
"""Beyond it gaps are narrow, and routing the rows once more takes seconds."""


def with_placed_thresholds(tree: Tree, X: NDArray[Any], y: NDArray[np.integer]) -> Tree:
    """Move thresholds within the gaps of their nodes; every training row stays in its leaf."""
    if len(y) > _MOST_ROWS:
        return tree
    threshold = tree.threshold.copy()
    everything = np.arange(len(y))
    stack = [(0, everything, everything)]
    while stack:
        node, rows, above = stack.pop()
        if tree.left[node] == LEAF:
            continue
        feature = tree.feature[node]
        goes_left = X[rows, feature] <= threshold[node]
        left, right = rows[goes_left], rows[~goes_left]
        gap = X[left, feature].max(), X[right, feature].min()
        values = X[above, feature]
        if ((gap[0] < values) & (values < gap[1])).any():
            ends = _purest_gap(gap, values, y[above], tree.n_classes)
            threshold[node] = threshold_between(*ends)
        stack.append((int(tree.left[node]), left, rows))
        stack.append((int(tree.right[node]), right, rows))
    return replace(tree, threshold=threshold)


def _purest_gap(
    gap: tuple[float, float], values: NDArray[Any], labels: NDArray[np.integer], n_classes: int
) -> tuple[float, float]:
    """Return the neighbouring values in a gap, its ends included, between which a cut is purest.

    Of several the ones in the middle, the lower of two.
    """
    low, high = gap
    is_inside = (low <= values) & (values <= high)
    ends, place = np.unique(values[is_inside], return_inverse=True)
    counts = np.zeros((len(ends), n_classes))
    np.add.at(counts, (place, labels[is_inside]), 1)
    below = np.bincount(labels[values < low], minlength=n_classes)
    left = (below + counts.cumsum(axis=0))[:-1]
    right = np.bincount(labels, minlength=n_classes) - left
    purity = (left**2).sum(axis=1) / left.sum(axis=1) + (right**2).sum(axis=1) / right.sum(axis=1)
    purest = np.flatnonzero(purity == purity.max())
    lower = purest[(len(purest) - 1) // 2]
    return float(ends[lower]), float(ends[lower + 1])
