"""Candidates for a split: roots of good trees of depth two, completed to the full depth.

samples ──histograms of pairs──► the best root of each feature ──complete──► whole trees
        ──► neighbours of the roots with the cheapest trees ──complete──► whole trees
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from horizontree.backends.base import PairScanner
from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search._pair_kernels import (
    CUT_SAMPLE,
    FEATURE,
    LEFT,
    complete,
    pruned_cost,
    purest_features,
)
from horizontree.search.cart import split_at
from horizontree.search.effort import Effort
from horizontree.search.pair_histograms import (
    BinnedDepthTwo,
    Bins,
    all_pairs,
    cut_into_bins,
    make_workspace,
    most_in_memory,
    n_bins_for,
    solve_bins,
)
from horizontree.search.splits import Split
from horizontree.threads import Map

_FIRST_STEP = 8  # bins from a root to its first neighbours
_MOST_SCREENED_FEATURES = 512  # the purest, of which it is asked which are worth pairing
_SCREENING_BINS = 32  # of a feature there
_MOST_SCREENED = 1 << 28  # samples times pairs of features there: a fraction of a second
_NEVER = np.iinfo(np.int64).max  # dearer than any root

Root = tuple[int, int]
"""A feature of a sample set, and the number of samples on the left."""

Boundary = tuple[int, int]
"""A feature of the bins, and a boundary between two of them."""


@dataclass(frozen=True)
class Trial:
    """A root completed to the full depth."""

    cost: int
    purity: float  # of the two sides of the root: breaks ties
    root: Root
    trees: tuple[Split | None, Split | None]

    @property
    def rank(self) -> tuple[int, float, Root]:
        """Lower is better."""
        return self.cost, -self.purity, self.root


def complete_roots(
    samples: SampleSet,
    depth: int,
    objective: Objective,
    effort: Effort,
    *,
    stops: Callable[[], bool] = lambda: False,
    run: Map = map,
    scanner: PairScanner | None = None,
) -> list[Trial]:
    """Complete promising roots to a tree of ``depth`` levels; return them, the cheapest first.

    When ``stops`` says so, no more of them are tried.
    """
    rows = _purest(samples, effort.most_features)
    n_bins = n_bins_for(samples.n_samples, effort.most_bins)
    bins = cut_into_bins(samples.with_features(rows), n_bins)
    binned = solve_bins(
        bins, *samples.class_ranges, objective, run, with_hope=False, stops=stops, scanner=scanner
    )
    few = samples.thinned(effort.most_rows)
    of_few = objective.for_part(few.n_samples, samples.n_samples)
    least = objective.min_samples_leaf
    tried: dict[Boundary, Trial] = {}

    def is_new(boundary: Boundary) -> bool:
        f, b = boundary
        if boundary in tried or not 0 < b < bins.n_bins[f]:
            return False
        return bool(least <= bins.left_of[boundary] <= samples.n_samples - least)

    def try_one(boundary: Boundary) -> Trial | None:
        if stops():
            return None
        root = int(rows[boundary[0]]), int(bins.left_of[boundary])
        cost, trees = _complete_root(samples, few, root, depth, of_few, effort)
        return Trial(cost, float(binned.purity[boundary]), root, trees)

    def try_all(boundaries: list[Boundary]) -> int:
        new = [boundary for boundary in dict.fromkeys(boundaries) if is_new(boundary)]
        found = zip(new, run(try_one, new), strict=True)
        tried.update((boundary, trial) for boundary, trial in found if trial is not None)
        return len(new)

    try_all(_first_boundaries(bins, binned, effort.n_features_tried, least))
    step = {f: _FIRST_STEP for f, _ in tried}
    n_left = effort.n_neighbours
    while n_left > 0 and step and not stops():  # from the best root of a feature that may move
        f, b = min((at for at in tried if at[0] in step), key=lambda at: tried[at].rank)
        n_left -= try_all([(f, b - step[f]), (f, b + step[f])])
        if (f, b) == min((at for at in tried if at[0] == f), key=lambda at: tried[at].rank):
            step[f] //= 2
            if step[f] == 0:
                del step[f]
    return sorted(tried.values(), key=lambda trial: trial.rank)


def _first_boundaries(
    bins: Bins, binned: BinnedDepthTwo, n_features: int, least: int
) -> list[Boundary]:
    """Return, of each feature, the best root of a tree of depth two, and the purest one.

    Either side of a root has at ``least`` so many samples.
    """
    n_left = bins.left_of[:, 1:-1]  # of the boundaries 1, 2, ...
    n_samples = bins.left_of.max()
    allowed = (n_left >= least) & (n_samples - n_left >= least)
    allowed &= np.arange(1, n_left.shape[1] + 1) < bins.n_bins[:, None]
    features = np.flatnonzero(allowed.any(axis=1))
    cost = np.where(allowed, binned.costs[0, :, :, 1:-1].sum(axis=1), _NEVER)
    purity = np.where(allowed, binned.purity[:, 1:-1], -np.inf)
    least_cost = cost.min(axis=1)
    is_cheapest = allowed & (cost == least_cost[:, None])
    cheapest = np.where(is_cheapest, purity, -np.inf).argmax(axis=1)
    purest = purity.argmax(axis=1)
    by_cost = sorted((least_cost[f], -purity[f, cheapest[f]], f) for f in features)[:n_features]
    by_purity = sorted((-purity[f, purest[f]], f) for f in features)[: max(1, n_features // 3)]
    boundaries = [(int(f), int(cheapest[f]) + 1) for *_, f in by_cost]
    return boundaries + [(int(f), int(purest[f]) + 1) for _, f in by_purity]


def _complete_root(
    samples: SampleSet,
    few: SampleSet,
    root: Root,
    depth: int,
    objective: Objective,
    effort: Effort,
) -> tuple[int, tuple[Split | None, Split | None]]:
    """Complete a root of some samples on few of them; return the cost and both subtrees."""
    feature, n_left = root
    cut = samples.value_at(feature, n_left - 1)
    parts = few.divide(int(samples.features[feature]), cut)
    left, right = (completed(part, depth - 1, objective, effort) for part in parts)
    return objective.split_cost + left[0] + right[0], (left[1], right[1])


def completed(
    samples: SampleSet, depth: int, objective: Objective, effort: Effort
) -> tuple[int, Split | None]:
    """Grow a whole tree cheaply; return its cost and the tree."""
    leaf = objective.leaf_cost(samples.class_counts)
    if leaf == 0 or samples.n_features == 0:
        return leaf, None
    nodes = complete(
        samples.order, samples.labels, samples.n_classes, depth, effort.most_bins,
        effort.most_features, objective.split_cost,
        min(objective.min_samples_leaf, samples.n_samples),
        make_workspace(samples.n_samples, samples.n_classes),
    )  # fmt: skip
    cost = int(pruned_cost(nodes, objective.split_cost))
    return (cost, _as_splits(nodes, samples)) if cost < leaf else (leaf, None)


def _as_splits(nodes: NDArray[np.int64], samples: SampleSet) -> Split | None:
    """Read the tree that the kernel grew."""
    trees: list[Split | None] = [None] * len(nodes)
    for node in reversed(range(len(nodes))):  # children come after their parent
        f, left = nodes[node, FEATURE], nodes[node, LEFT]
        if f >= 0:
            split = split_at(samples, f, nodes[node, CUT_SAMPLE])
            trees[node] = replace(split, left=trees[left], right=trees[left + 1])
    return trees[0]


def _purest(samples: SampleSet, n_features: int) -> NDArray[np.intp]:
    """Return the features that are purest by themselves."""
    rows: NDArray[np.intp] = purest_features(
        samples.order, 0, samples.n_samples, samples.labels, samples.n_classes, n_features
    )
    return rows


def narrowed(samples: SampleSet, effort: Effort) -> SampleSet:
    """Leave out features when there are too many to pair: the purest stay."""
    if samples.n_features <= effort.most_features:
        return samples
    return samples.with_features(_purest(samples, effort.most_features))


def narrowed_with_roots(
    samples: SampleSet,
    objective: Objective,
    effort: Effort,
    *,
    stops: Callable[[], bool] = lambda: False,
    run: Map = map,
) -> SampleSet:
    """Leave out features when there are too many to pair, but none with a very good root.

    Three of five that stay are the purest by themselves, two have the cheapest trees of depth
    two below them: what a feature says together with others need not show in it alone.
    """
    n_purest, n_roots = effort.most_features * 3 // 4, effort.most_features // 2
    if samples.n_features <= n_purest + n_roots:
        return samples
    purest = _purest(samples, n_purest)
    screened = samples
    if samples.n_features > _MOST_SCREENED_FEATURES:
        screened = samples.with_features(_purest(samples, _MOST_SCREENED_FEATURES))
    few = screened.thinned(max(1, _MOST_SCREENED // len(all_pairs(screened.n_features))))
    if few.n_features == 0:  # all of them are constant on these rows
        return narrowed(samples, effort)
    of_few = objective.for_part(few.n_samples, samples.n_samples)
    n_bins = min(n_bins_for(few.n_samples, _SCREENING_BINS), most_in_memory(few.n_features))
    bins = cut_into_bins(few, n_bins)
    binned = solve_bins(bins, *few.class_ranges, of_few, run, with_hope=False, stops=stops)
    by_cost = _first_boundaries(bins, binned, few.n_features, of_few.min_samples_leaf)
    places = np.searchsorted(samples.features, few.features)  # few may lack constant ones
    roots = [int(places[f]) for f, _ in by_cost if places[f] not in purest]
    return samples.with_features(np.union1d(purest, np.array(roots[:n_roots], dtype=np.intp)))
