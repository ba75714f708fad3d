"""Bins of the features, and the histograms of pairs of them: trees of depth two over boundaries.

samples ──cut_into_bins──► Bins ──solve_bins──► BinnedDepthTwo: the best tree whose splits are at
boundaries of bins, and a bound on all trees
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from horizontree.backends.base import PairScanner
from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search._pair_kernels import (
    COUNTS,
    LANES,
    NONE,
    ROW,
    best_root,
    bound_pairs,
    bound_roots,
    count_bins,
    group_by_bins,
    make_bins,
    scan_pairs,
    side_costs,
)
from horizontree.threads import Map

MOST_BINS = 128
MOST_ROOTS = 64  # of equally cheap trees
_SAMPLES_PER_BIN = 16
_MOST_COUNTS = 1 << 23  # bins times features squared: 128 MB
_PAIRS_PER_TASK = LANES
_COUNTS_BETWEEN_STOPS = 1 << 26  # samples times pairs of features


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


def most_in_memory(n_features: int) -> int:
    """Return for how many bins of each feature there is room."""
    return max(2, _MOST_COUNTS // n_features**2)


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
    members, found, left_of, errors, costs, purity, root_bounds : arrays
        The tables behind it, as the kernels make them.
    """

    cost: int
    feature: int
    boundary: int
    bound: int
    members: NDArray[np.uint32]
    found: NDArray[np.int32]
    left_of: NDArray[np.int64]
    errors: NDArray[np.int64]
    costs: NDArray[np.int64]
    purity: NDArray[np.float64]
    root_bounds: NDArray[np.int64]

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
    root_bounds = np.zeros(bins.is_open.shape, dtype=np.int64)
    if with_hope and not stops():
        bound_roots(costs, left_of, bins.n_bins, bins.is_open, objective.split_cost, root_bounds)
    bound = int(root_bounds.min())
    return BinnedDepthTwo(
        cost, feature, boundary, bound, members, found, left_of, errors, costs, purity, root_bounds
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
