"""The best tree of depth two over all cuts: from the bins' best tree and bound to the optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from horizontree.backends.base import PairScanner
from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search._pair_kernels import purest_features
from horizontree.search.cart import best_stump
from horizontree.search.closing import close
from horizontree.search.pair_histograms import (
    MOST_BINS,
    all_pairs,
    cut_into_bins,
    most_in_memory,
    n_bins_for,
    solve_bins,
)
from horizontree.search.splits import Split
from horizontree.threads import Map

_COARSE_BINS: tuple[int, ...] = (8, 32)  # of the first passes, where pairs are screened
_MANY_FEATURES = 12  # from here on
_MOST_FEATURES = 4096  # the tables of their pairs take 800 MB


@dataclass(frozen=True)
class DepthTwo:
    """The best tree of depth two.

    Parameters
    ----------
    cost : int
        Its cost.
    bound : int
        No tree is cheaper than that. It is below ``cost`` where the best tree over boundaries of
        bins was good enough, or the search was stopped.
    feature, n_left : int
        Its root, a feature and the number of samples on the left; -1 when it is a leaf.
    is_found : bool
        Whether a tree below the limit was found; otherwise ``cost`` is the limit.
    roots : tuple of (feature, n_left)
        Roots of trees that are as cheap, its own first, where they were asked for and are known.
    """

    cost: int
    bound: int
    feature: int
    n_left: int
    is_found: bool = True
    roots: tuple[tuple[int, int], ...] = ()

    @property
    def is_exact(self) -> bool:
        """Whether no tree is cheaper."""
        return self.bound == self.cost


def solve_depth_two(
    samples: SampleSet,
    objective: Objective,
    *,
    below: int | None = None,
    most_bins: int | None = None,
    closes: bool = True,
    with_ties: bool = False,
    stops: Callable[[], bool] = lambda: False,
    run: Map = map,
    scanner: PairScanner | None = None,
) -> DepthTwo:
    """Find the cheapest tree of depth two, if it is cheaper than ``below``.

    Where ``closes`` is false, the cheapest one over boundaries of bins is good enough; when
    ``stops`` says so, the cheapest one so far. The number of bins decides how fast this is, and
    which of several best trees is taken. ``with_ties`` asks for the roots of the others among
    boundaries of bins, too. Of very many features the purest are looked at, and there is no bound.
    """
    if samples.n_features > _MOST_FEATURES:
        kept = purest_features(
            samples.order, 0, samples.n_samples, samples.labels, samples.n_classes, _MOST_FEATURES
        )
        found = solve_depth_two(
            samples.with_features(kept), objective, below=below, most_bins=most_bins, closes=closes,
            with_ties=with_ties, stops=stops, run=run, scanner=scanner,
        )  # fmt: skip
        feature = int(kept[found.feature]) if found.feature >= 0 else -1
        tied = tuple((int(kept[f]), n_left) for f, n_left in found.roots)
        return replace(found, bound=0, feature=feature, roots=tied)
    if most_bins is None:
        most_bins = n_bins_for(samples.n_samples, MOST_BINS)
    leaf = objective.leaf_cost(samples.class_counts)
    limit = leaf + 1 if below is None else below
    cost = min(leaf, limit)
    best = DepthTwo(cost, cost, -1, 0, is_found=leaf < limit)
    if samples.is_pure or samples.n_features == 0 or best.cost == 0:
        return best
    columns = np.arange(samples.n_features)
    pairs = all_pairs(samples.n_features)
    first, last = samples.class_ranges
    for most in _passes(samples.n_features, most_bins, is_limited=below is not None):
        bins = cut_into_bins(samples, min(most, most_in_memory(samples.n_features)))
        binned = solve_bins(bins, first, last, objective, run, pairs, stops=stops, scanner=scanner)
        if binned.cost < best.cost:
            n_left = int(bins.left_of[binned.feature, binned.boundary])
            root = int(columns[binned.feature]), n_left
            best = DepthTwo(binned.cost, binned.cost, *root)
            if with_ties:
                roots = binned.cheapest_roots(bins, objective)
                best = replace(best, roots=tuple((int(columns[f]), n) for f, n in roots))
        if binned.bound >= best.cost:
            return best
        if stops():
            return replace(best, bound=binned.bound)
        if most < most_bins:
            pairs = pairs[binned.bounds_of(pairs, bins, objective) < best.cost]
            kept, numbers = np.unique(pairs, return_inverse=True)
            pairs = numbers.reshape(pairs.shape)
            samples = samples.with_features(kept)
            columns = columns[kept]
    if not closes:
        return replace(best, bound=binned.bound)
    cost, feature, n_left, is_done = close(
        bins, binned, samples, objective, below=best.cost, stops=stops
    )
    if feature >= 0:
        root = int(columns[feature]), n_left
        best = DepthTwo(cost, cost, *root, roots=(root,) if with_ties else ())
    return best if is_done else replace(best, bound=binned.bound)


def _passes(n_features: int, most_bins: int, *, is_limited: bool) -> list[int]:
    """Return the number of bins of each pass over the pairs of features.

    Pairs that a limit, or the best tree so far, rules out in one pass are not in the next.
    """
    if n_features >= _MANY_FEATURES:
        screens = _COARSE_BINS
    else:
        screens = _COARSE_BINS[-1:] if is_limited else ()
    most = min(most_bins, most_in_memory(n_features))
    return [few for few in screens if 2 * few <= most] + [most_bins]


def grow_depth_two(
    samples: SampleSet,
    objective: Objective,
    *,
    closes: bool = True,
    stops: Callable[[], bool] = lambda: False,
    scanner: PairScanner | None = None,
) -> Split | None:
    """Return the best tree of depth two, None for a leaf; its last splits are exact."""
    found = solve_depth_two(samples, objective, closes=closes, stops=stops, scanner=scanner)
    return tree_of(found, samples, objective)


def tree_of(found: DepthTwo, samples: SampleSet, objective: Objective) -> Split | None:
    """Put the exact best single split on either side of a root; None for a leaf."""
    if found.feature < 0:
        return None
    cut = samples.value_at(found.feature, found.n_left - 1)
    return with_last_splits(Split(int(samples.features[found.feature]), cut), samples, objective)


def with_last_splits(root: Split, samples: SampleSet, objective: Objective) -> Split:
    """Put the exact best single split on either side of a root."""
    sides = samples.divide(root.feature, root.cut)
    left, right = (best_stump(side, objective.min_samples_leaf) for side in sides)
    return replace(root, left=left, right=right)


def grow_by_twos(
    samples: SampleSet,
    depth: int,
    objective: Objective,
    stops: Callable[[], bool] = lambda: False,
) -> Split | None:
    """Grow a tree of ``depth`` levels from best trees of depth two over bins.

    It ends where it is when ``stops`` says so.
    """
    if samples.is_pure or samples.n_features == 0 or stops():
        return None
    if depth == 1:
        return best_stump(samples, objective.min_samples_leaf)
    tree = grow_depth_two(samples, objective, closes=False, stops=stops)
    if depth == 2:
        return tree
    grow = partial(grow_by_twos, depth=depth - 2, objective=objective, stops=stops)
    return _with_leaves(tree, samples, grow)


def _with_leaves(
    tree: Split | None, samples: SampleSet, grow: Callable[[SampleSet], Split | None]
) -> Split | None:
    """Grow something at every leaf of a tree."""
    if tree is None:
        return grow(samples)
    left, right = samples.divide(tree.feature, tree.cut)
    return replace(
        tree,
        left=_with_leaves(tree.left, left, grow),
        right=_with_leaves(tree.right, right, grow),
    )
