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
"""Beyond it routing the rows once more would take a second and more."""

_ROUNDING = 1e-12  # of purities, relative: closer ones are equal


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
        low, high = X[left, feature].max(), X[right, feature].min()
        values = X[above, feature]
        if ((low < values) & (values < high)).any():
            neighbours = _purest_neighbours(low, high, values, y[above])
            threshold[node] = threshold_between(*neighbours)
        stack.append((int(tree.left[node]), left, rows))
        stack.append((int(tree.right[node]), right, rows))
    return replace(tree, threshold=threshold)


def _purest_neighbours(
    low: float, high: float, values: NDArray[Any], labels: NDArray[np.integer]
) -> tuple[float, float]:
    """Return the neighbouring values from ``low`` to ``high`` between which a cut is purest.

    Of several pairs the one in the middle, the lower of two. Values that are the same in float32
    are not parted, unless all of them are: a threshold there would not survive the rounding.
    """
    is_inside = (low <= values) & (values <= high)
    total = np.bincount(labels)
    before = np.bincount(labels[values < low], minlength=len(total))
    by_value = np.flatnonzero(is_inside)[np.argsort(values[is_inside], kind="stable")]
    values, labels = values[by_value], labels[by_value]
    after = total - before - np.bincount(labels, minlength=len(total))
    # sums of squared counts on either side, from one sample to the next: (n + 1)^2 - n^2 = 2 n + 1
    n_same_left = before[labels] + _n_before(labels)
    n_same_right = total[labels] - n_same_left - 1
    left = (before**2).sum() + np.cumsum(2 * n_same_left + 1)[:-1]
    right = (after**2).sum() + np.cumsum((2 * n_same_right + 1)[::-1])[::-1][1:]
    n_left = before.sum() + np.arange(1, len(values))
    purity = left / n_left + right / (total.sum() - n_left)
    lower, higher = values[:-1], values[1:]
    is_cut = lower < higher
    with np.errstate(over="ignore"):
        if np.float32(low) < np.float32(high):
            is_cut &= lower.astype(np.float32) < higher.astype(np.float32)
    purity[~is_cut] = -np.inf
    purest = np.flatnonzero(purity >= purity.max() * (1 - _ROUNDING))
    cut = purest[(len(purest) - 1) // 2]
    return float(lower[cut]), float(higher[cut])


def _n_before(labels: NDArray[np.integer]) -> NDArray[np.intp]:
    """Return how often the label of each place stands before it."""
    by_label = np.argsort(labels, kind="stable")
    counts = np.bincount(labels)
    first = np.cumsum(counts) - counts
    n_before = np.empty(len(labels), dtype=np.intp)
    n_before[by_label] = np.arange(len(labels)) - first[labels[by_label]]
    return n_before
