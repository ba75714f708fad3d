"""The best tree of depth two: over bins with a bound, and exactly.

samples ──cut_into_bins──► Bins ──solve_bins──► a tree over boundaries of bins, and a bound
──solve_depth_two──► the optimum over all cuts
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from horizontree.backends.base import PairScanner
from horizontree.encoding import SAMPLE, SampleSet
from horizontree.objective import Objective
from horizontree.search._closing_kernels import MOST_PENDING, close
from horizontree.search._pair_kernels import (
    COUNTS,
    LANES,
    NONE,
    ROW,
    best_root,
    bound_pairs,
    count_bins,
    group_by_bins,
    lower_bound,
    make_bins,
    scan_pairs,
    side_costs,
)
from horizontree.search.cart import best_stump
from horizontree.search.splits import Split
from horizontree.threads import Map

MOST_BINS = 128
_SAMPLES_PER_BIN = 16
_COARSE_BINS: tuple[int, ...] = (8, 32)  # of the first passes, where pairs are screened
_MANY_FEATURES = 12  # from here on
_MOST_COUNTS = 1 << 23  # bins times features squared: 128 MB
_PAIRS_PER_TASK = LANES
_COUNTS_BETWEEN_STOPS = 1 << 26  # samples times pairs of features
_CUTS_BETWEEN_STOPS = 1 << 23  # samples times features times pieces of intervals
MOST_ROOTS = 64  # of equally cheap trees


@dataclass(frozen=True, eq=False)
class Bins:
    """Samples with each feature cut into bins.

    Parameters
    ----------
    codes : uint8 array of shape (n_samples, n_features)
        The bin of each sample.
    n_bins : int64 array of shape (n_features,)
        Bins of each feature.
    is_open : bool array of shape (n_features, most)
        Whether a bin holds more than one value.
    left_of : int64 array of shape (n_features, most + 1)
        Samples below each boundary.
    """

    codes: NDArray[np.uint8]
    n_bins: NDArray[np.int64]
    is_open: NDArray[np.bool_]
    left_of: NDArray[np.int64]

    @property
    def most(self) -> int:
        """The most bins that a feature may have."""
        return int(self.is_open.shape[1])


def make_workspace(n_samples: int, n_classes: int) -> NDArray[np.signedinteger]:
    """Make what `scan_pairs` works on, in 16 bits where so many samples can be counted."""
    n_places = int(COUNTS) + 4 * (n_classes + 1) * ROW
    return np.zeros(n_places, dtype=np.int16 if n_samples < 1 << 15 else np.int32)


def n_bins_for(n_samples: int, most: int) -> int:
    """Return how many bins are worth their cells for so many samples."""
    return min(most, max(8, n_samples // _SAMPLES_PER_BIN))


def all_pairs(n_features: int) -> NDArray[np.intp]:
    """List all pairs of features, each feature with itself, too."""
    return np.stack(np.triu_indices(n_features), axis=1)


def cut_into_bins(samples: SampleSet, most: int = MOST_BINS) -> Bins:
    """Cut every feature into at most ``most`` bins."""
    n_features, n_samples = samples.order.shape
    most = int(min(most, samples.n_distinct.max()))
    bins = Bins(
        codes=np.empty((n_samples, n_features), dtype=np.uint8),
        n_bins=np.empty(n_features, dtype=np.int64),
        is_open=np.zeros((n_features, most), dtype=np.bool_),
        left_of=np.zeros((n_features, most + 1), dtype=np.int64),
    )
    make_bins(
        samples.order, np.arange(n_features), 0, n_samples, samples.labels, samples.n_classes,
        np.arange(n_samples), most, bins.codes, bins.n_bins, bins.left_of, bins.is_open,
    )  # fmt: skip
    return bins


@dataclass(frozen=True, eq=False)
class BinnedDepthTwo:
    """What the bins tell of all trees of depth two with a split at the root.

    Parameters
    ----------
    cost : int
        Cost of the best tree whose splits are at boundaries of bins.
    feature, boundary : int
        Its root; -1 when no root is allowed.
    bound : int
        No tree, at boundaries or not, is cheaper.
    members, starts, found, left_of, errors, costs, purity : arrays
        The tables behind it, as the kernels make them.
    """

    cost: int
    feature: int
    boundary: int
    bound: int
    members: NDArray[np.uint32]
    starts: NDArray[np.int64]
    found: NDArray[np.int32]
    left_of: NDArray[np.int64]
    errors: NDArray[np.int64]
    costs: NDArray[np.int64]
    purity: NDArray[np.float64]

    def bounds_of(
        self, pairs: NDArray[np.intp], bins: Bins, objective: Objective
    ) -> NDArray[np.int64]:
        """Return, for pairs that were looked at, what no tree made with them is below."""
        bounds: NDArray[np.int64] = bound_pairs(
            self.found, self.errors, self.costs, self.left_of, bins.n_bins, bins.is_open,
            objective.split_cost, pairs,
        )  # fmt: skip
        return bounds

    def cheapest_roots(self, bins: Bins, objective: Objective) -> list[tuple[int, int]]:
        """Return feature and samples on the left of all roots as cheap as the best, it first.

        The others follow from the purer to the less pure ones, a few at most.
        """
        is_boundary = np.arange(bins.most + 1) < bins.n_bins[:, None]
        least_side = np.minimum(self.left_of, self.members.shape[1] - self.left_of)
        is_allowed = is_boundary & (least_side >= max(1, objective.min_samples_leaf))
        costs = objective.split_cost + self.costs[0].sum(axis=1)
        f, b = np.nonzero(is_allowed & (costs == self.cost))
        first = np.argsort(-self.purity[f, b], kind="stable")[:MOST_ROOTS]
        return [(int(f[i]), int(self.left_of[f[i], b[i]])) for i in first]


def solve_bins(
    bins: Bins,
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    objective: Objective,
    run: Map = map,
    pairs: NDArray[np.intp] | None = None,
    *,
    with_hope: bool = True,
    stops: Callable[[], bool] = lambda: False,
    scanner: PairScanner | None = None,
) -> BinnedDepthTwo:
    """Solve the binned problem of the samples ``first[k]`` to ``last[k]`` of each class.

    Only some ``pairs`` of features are looked at, if they are given. Without hope there are
    no bounds. Once ``stops`` says so, pairs are left out, and there is no bound either; it must not
    change its mind. A ``scanner`` is another way to the same table of pairs, where it takes them.
    """
    n_features, n_classes = len(bins.n_bins), len(first)
    n_samples = int((last - first).sum())
    members = np.empty((n_features, n_samples), dtype=np.uint32)
    starts = np.empty((n_features, n_classes, bins.most + 1), dtype=np.int64)
    group_by_bins(bins.codes, first, last, bins.n_bins, members, starts)
    if pairs is None:
        pairs = all_pairs(n_features)
    least = min(objective.min_samples_leaf, n_samples)
    found = None
    if scanner is not None and n_samples == len(bins.codes):
        found = _scanned(scanner, bins, last - first, least, pairs, with_hope)
    if found is None:
        found = _scan(bins, members, starts, least, pairs, with_hope, stops, run)
    left_of = np.empty((n_features, bins.most + 1), dtype=np.int64)
    errors = np.empty((n_features, 2, bins.most + 1), dtype=np.int64)
    purity = np.empty(left_of.shape)
    count_bins(starts, bins.n_bins, left_of, errors, purity)
    costs = np.empty((2, *errors.shape), dtype=np.int64)
    n_kinds = 2 if with_hope else 1
    side_costs(found, left_of, bins.n_bins, errors, objective.split_cost, n_kinds, costs)
    cost, feature, boundary = best_root(
        costs, left_of, bins.n_bins, purity, objective.split_cost, objective.min_samples_leaf
    )
    bound = 0
    if with_hope and not stops():
        bound = lower_bound(costs, bins.n_bins, bins.is_open, objective.split_cost)
    return BinnedDepthTwo(
        cost, feature, boundary, bound, members, starts, found, left_of, errors, costs, purity
    )


def _scan(
    bins: Bins,
    members: NDArray[np.uint32],
    starts: NDArray[np.int64],
    min_samples_leaf: int,
    pairs: NDArray[np.intp],
    with_hope: bool,
    stops: Callable[[], bool],
    run: Map,
) -> NDArray[np.int32]:
    """Fill the table of pairs, some pairs a task, as long as nothing ``stops`` it."""
    (n_features, n_samples), n_classes = members.shape, starts.shape[1]
    found = np.full((n_features, n_features, 2, 2, bins.most + 1), NONE, dtype=np.int32)

    def scan(chunk: NDArray[np.intp]) -> None:
        if not stops():
            scan_pairs(
                bins.codes, bins.n_bins, bins.is_open, members, starts, min_samples_leaf,
                with_hope, chunk, make_workspace(n_samples, n_classes), found,
            )  # fmt: skip

    size = _PAIRS_PER_TASK
    if run is map:  # as many as take some tenths of a second
        size *= 1 + _COUNTS_BETWEEN_STOPS // max(1, n_samples * _PAIRS_PER_TASK)
    for _ in run(scan, [pairs[i : i + size] for i in range(0, len(pairs), size)]):
        pass
    return found


def _scanned(
    scanner: PairScanner,
    bins: Bins,
    class_counts: NDArray[np.int64],
    min_samples_leaf: int,
    pairs: NDArray[np.intp],
    with_hope: bool,
) -> NDArray[np.int32] | None:
    """Let a scanner fill the table, and leave in it what was asked for."""
    labels = np.repeat(np.arange(len(class_counts), dtype=np.int32), class_counts)
    every = scanner(
        bins.codes, labels, bins.n_bins, bins.is_open, len(class_counts), min_samples_leaf
    )
    if every is None:
        return None
    found = np.full(every.shape, NONE, dtype=np.int32)
    f, g = pairs.T
    n_kinds = 2 if with_hope else 1
    found[f, g, :n_kinds] = every[f, g, :n_kinds]
    found[g, f, :n_kinds] = every[g, f, :n_kinds]
    return found


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
    boundaries of bins, too.
    """
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
    last = np.cumsum(samples.class_counts)
    for most in _passes(samples.n_features, most_bins, is_limited=below is not None):
        bins = cut_into_bins(samples, min(most, most_in_memory(samples.n_features)))
        first = last - samples.class_counts
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
    cost, feature, n_left, is_done = _closed(
        bins, binned, samples, objective, below=best.cost, stops=stops
    )
    if feature >= 0:
        root = int(columns[feature]), n_left
        best = DepthTwo(cost, cost, *root, roots=(root,) if with_ties else ())
    return best if is_done else replace(best, bound=binned.bound)


def _closed(
    bins: Bins,
    binned: BinnedDepthTwo,
    samples: SampleSet,
    objective: Objective,
    *,
    below: int,
    stops: Callable[[], bool],
) -> tuple[int, int, int, bool]:
    """Go from the bins to all cuts: cost and root of the best tree, and whether that is proven.

    The feature is -1 when no tree is cheaper than ``below``, as far as it is known.
    """
    position = np.empty(samples.order.shape, dtype=np.int32)
    for f in range(samples.n_features):
        position[f, samples.order[f] & SAMPLE] = np.arange(samples.n_samples, dtype=np.int32)
    n_pieces = max(1, _CUTS_BETWEEN_STOPS // samples.order.size)
    pending = np.zeros((1 + MOST_PENDING, 2), dtype=np.int64)
    best, root, is_done = below, (-1, 0), False
    while not is_done:
        cost, feature, n_left, is_done = close(
            samples.order, position, samples.labels, bins.codes, bins.n_bins, bins.left_of,
            bins.is_open, binned.members, binned.starts, binned.found, binned.errors,
            binned.costs, objective.split_cost, objective.min_samples_leaf, best,
            pending, n_pieces,
        )  # fmt: skip
        if feature >= 0:
            best, root = cost, (feature, n_left)
        if not is_done and stops():
            break
    return best, *root, is_done


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


def most_in_memory(n_features: int) -> int:
    """Return for how many bins of each feature there is room."""
    return max(2, _MOST_COUNTS // n_features**2)


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
