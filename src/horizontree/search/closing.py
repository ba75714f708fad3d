"""From the best tree of depth two over bins to the best one over all cuts.

The bins leave some intervals of roots that may hold a cheaper tree. Roots of them are *tried*: the
best tree with such a root is found exactly, over all cuts of all features that matter. Between two
roots that were tried a tree costs at least what the left side of the lower one and the right side
of the upper one do, because a side only gets more expensive with more samples::

    roots that were tried      a              b              c
    ────────────────────────── | ──────────── | ──────────── | ──────
    between b and c: the left side of b, the right side of c, and some samples more

So only intervals go on whose ends leave room for a cheaper tree. Those of a feature are divided
side by side, 32 roots in one pass over the samples: one new root in each of many intervals, many
in each of few.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search._root_kernels import LANES, open_roots, place_samples, search_roots
from horizontree.search.pair_histograms import BinnedDepthTwo, Bins

_CUTS_BETWEEN_STOPS = 1 << 23  # samples times classes times features


def close(
    bins: Bins,
    binned: BinnedDepthTwo,
    samples: SampleSet,
    objective: Objective,
    *,
    below: int,
    stops: Callable[[], bool],
) -> tuple[int, int, int, bool]:
    """Return cost and root of the best tree, and whether that is proven.

    The feature is -1 when no tree is cheaper than ``below``, as far as it is known.
    """
    best, root = below, (-1, 0)
    n_samples = samples.n_samples
    present = samples.class_counts[samples.class_counts > 0]
    class_of = np.repeat(np.arange(len(present)), present)
    n_splits = max(1, _CUTS_BETWEEN_STOPS // (n_samples * len(present)))
    place = np.empty(n_samples, dtype=np.int64)
    costs = np.empty((2, 2, LANES), dtype=np.int64)
    bounds = binned.root_bounds.min(axis=1)
    for f in map(int, np.argsort(bounds, kind="stable")):
        if bounds[f] >= best:
            break
        candidates = samples.starts(f)
        intervals, splits = open_roots(
            binned.found, binned.costs, binned.root_bounds, bins.left_of, bins.n_bins,
            bins.is_open, candidates, objective.split_cost, best, f,
        )  # fmt: skip
        place_samples(samples.order[f], class_of, place)
        first_split = 0
        while len(intervals):
            if stops():
                return best, *root, False
            best, n_left, intervals, first_split = search_roots(
                samples.order, f, place, len(present), candidates, splits, objective.split_cost,
                objective.min_samples_leaf, best, intervals, costs, first_split, n_splits,
            )  # fmt: skip
            if n_left >= 0:
                root = f, n_left
    return best, *root, True
