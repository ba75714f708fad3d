"""CART: the greedy tree, and its one-level case, the exact best single split."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.search._cart_kernels import (
    CUT_SAMPLE,
    FEATURE,
    GINI,
    LEFT,
    MISCLASSIFICATION,
    NO_SPLIT,
    grow,
)
from horizontree.search.splits import Split

Criterion = Literal["gini", "misclassification"]

_CODES = {"gini": GINI, "misclassification": MISCLASSIFICATION}

_NO_PURITY_ABOVE = np.empty((0, 0))


def grow_cart(
    samples: SampleSet,
    *,
    max_depth: int | None,
    min_samples_leaf: int = 1,
    criterion: Criterion = "gini",
    purity_above: NDArray[np.float64] = _NO_PURITY_ABOVE,
) -> Split | None:
    """Grow a tree greedily: at each impure node the best split, until ``max_depth``.

    Parameters
    ----------
    samples : SampleSet
        The training samples.
    max_depth : int or None
        Greatest depth; None for no limit.
    min_samples_leaf : int, default=1
        Fewest samples on either side of a split.
    criterion : {"gini", "misclassification"}, default="gini"
        What a split is scored by. With ``"misclassification"`` and ``max_depth=1`` the
        result is the exact best single split.
    purity_above : float64 array of shape (n_features, n_samples), optional
        Of splits with equal scores that with the higher gini is taken; this is added to it, of the
        last sample on the left.

    Returns
    -------
    Split or None
        The root split; None when nothing can be split.
    """
    grown = grow(
        samples.order,
        samples.labels,
        samples.class_counts,
        min(max_depth, samples.n_samples) if max_depth is not None else samples.n_samples,
        min_samples_leaf,
        _CODES[criterion],
        purity_above,
    )
    nodes: list[Split | None] = [None] * len(grown)
    for node in reversed(range(len(grown))):  # children come after their parent
        f, left = grown[node, FEATURE], grown[node, LEFT]
        if f != NO_SPLIT:
            split = split_at(samples, f, grown[node, CUT_SAMPLE])
            nodes[node] = replace(split, left=nodes[left], right=nodes[left + 1])
    return nodes[0]


def split_at(samples: SampleSet, feature: int, sample: int) -> Split:
    """Return the split after the value that a sample has."""
    column = int(samples.features[feature])
    return Split(column, float(samples.X[samples.rows[sample], column]))


def best_stump(
    samples: SampleSet,
    min_samples_leaf: int = 1,
    purity_above: NDArray[np.float64] = _NO_PURITY_ABOVE,
) -> Split | None:
    """Return the exact best single split; None when nothing can be split."""
    return grow_cart(
        samples,
        max_depth=1,
        min_samples_leaf=min_samples_leaf,
        criterion="misclassification",
        purity_above=purity_above,
    )
