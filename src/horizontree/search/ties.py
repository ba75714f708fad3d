"""Of equally cheap trees of depth two the one whose splits say most about all samples.

A last split is chosen among the samples of its node, where often several get as many right, some
of them by chance. One that by itself also divides all samples well is less likely to be one of
those.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SAMPLE, SampleSet
from horizontree.objective import Objective
from horizontree.search._cart_kernels import purity_of_cuts
from horizontree.search.cart import best_stump
from horizontree.search.repair import cost_of
from horizontree.search.splits import Split

MOST_CUTS = 1 << 23
"""Samples times features, beyond which ties are rare and their table would be large."""


def purest_tree(
    roots: Sequence[tuple[int, int]], samples: SampleSet, objective: Objective
) -> Split:
    """Return the tree of depth two with the purest splits over all samples.

    Parameters
    ----------
    roots : sequence of (feature, n_left)
        Roots of equally cheap trees.
    samples : SampleSet
        All rows.
    objective : Objective
        What is minimised.

    Returns
    -------
    Split
        The tree whose splits, each by itself, divide all samples best in sum (equal: the first),
        without splits that do not pay.
    """
    purity = np.empty(samples.order.shape)
    purity_of_cuts(samples.order, samples.rows, samples.labels, samples.class_counts, purity)
    last_split = partial(_last_split, everyone=samples, purity=purity, objective=objective)
    trees = []
    for feature, n_left in roots:
        cut = samples.value_at(feature, n_left - 1)
        sides = map(last_split, samples.split(feature, n_left))
        trees.append(Split(int(samples.features[feature]), cut, *sides))
    return max(trees, key=partial(_purity_of, samples=samples, purity=purity))


def _last_split(
    side: SampleSet, everyone: SampleSet, purity: NDArray[np.float64], objective: Objective
) -> Split | None:
    """Return the cheapest single split, of several the purest over all; None if it does not pay."""
    places = np.searchsorted(everyone.features, side.features)
    preference = purity[places[:, None], side.rows]
    stump = best_stump(side, objective.min_samples_leaf, preference)
    pays = cost_of(stump, side, objective) < objective.leaf_cost(side.class_counts)
    return stump if pays else None


def _purity_of(tree: Split | None, samples: SampleSet, purity: NDArray[np.float64]) -> float:
    """Sum up how well the splits of a tree divide all samples."""
    if tree is None:
        return 0.0
    feature = int(np.searchsorted(samples.features, tree.feature))
    last = samples.order[feature, samples.n_left_of_cut(feature, tree.cut) - 1] & SAMPLE
    below = (_purity_of(side, samples, purity) for side in (tree.left, tree.right))
    return float(purity[feature, samples.rows[last]]) + sum(below)
