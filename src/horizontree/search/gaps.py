"""Where a threshold lies between the values of its node: where it divides the node above best.

Between the two values that a split has to part, the samples of a small node leave a wide gap. Other
samples of the node above lie in it, and say where the classes change.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SAMPLE, rank_samples, threshold_between
from horizontree.search._cart_kernels import add_purity_of_cuts
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
    samples = rank_samples(values[:, None], labels, int(labels.max()) + 1)
    purity_of = np.zeros(samples.order.shape)
    add_purity_of_cuts(samples.order, samples.labels, samples.class_counts, purity_of)
    by_value = samples.order[0] & SAMPLE
    purity = purity_of[0, by_value][:-1]
    values = values[samples.rows[by_value]]
    lower, higher = values[:-1], values[1:]
    is_cut = (low <= lower) & (lower < higher) & (higher <= high)
    with np.errstate(over="ignore"):
        if np.float32(low) < np.float32(high):
            is_cut &= lower.astype(np.float32) < higher.astype(np.float32)
    purity[~is_cut] = -np.inf
    purest = np.flatnonzero(purity >= purity.max() * (1 - _ROUNDING))
    cut = purest[(len(purest) - 1) // 2]
    return float(lower[cut]), float(higher[cut])
