"""The best tree of depth three: a search over root cuts with trees of depth two below.

The cost of the best tree of depth two left of a root cut only grows as the cut moves to the
right, and the other side's only shrinks. So for all roots from ``low`` to ``high``

    cost(root) >= split cost + left(low) + right(high)

and an interval is halved, best bound first, until its bound reaches the best tree known.
The sides are bounded by bins first; where these bounds are what keeps an interval alive, the
side is solved exactly instead.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import TIED, SampleSet
from horizontree.objective import Objective
from horizontree.search._pair_kernels import sort_within_classes
from horizontree.search.depth_two import (
    MOST_BINS,
    Bins,
    cut_into_bins,
    grow_depth_two,
    solve_bins,
    solve_depth_two,
)
from horizontree.search.splits import Split
from horizontree.threads import Map

SIDES = (0, 1)


@dataclass
class _Side:
    """What is known of the best tree of depth two on one side of a root."""

    bound: int
    cost: int

    @property
    def is_exact(self) -> bool:
        return self.bound == self.cost


@dataclass(frozen=True)
class DepthThree:
    """The best tree of depth three that was found.

    Parameters
    ----------
    cost : int
        Cost of the tree, or of what it had to beat.
    bound : int
        No tree of depth three is cheaper.
    root : Split or None
        The tree; None when nothing beat the incumbent.
    n_solved : int
        Trees of depth two that were solved.
    """

    cost: int
    bound: int
    root: Split | None
    n_solved: int


class _RootFeature:
    """One feature as root: where to cut, and the codes sorted for it."""

    def __init__(self, samples: SampleSet, bins: Bins, feature: int) -> None:
        self.samples = samples
        self.bins = bins
        self.feature = feature
        self.sides: dict[tuple[int, int], _Side] = {}
        self._last = np.cumsum(samples.class_counts)
        self._first = self._last - samples.class_counts
        self._sorted: Bins | None = None
        self._position: NDArray[np.int32] | None = None

    def classes_at(self, n_left: int) -> NDArray[np.int64]:
        """Return where each class is divided by a cut, in the sorted codes."""
        if self._position is None:
            self._position = np.empty(self.samples.n_samples, dtype=np.int32)
            codes = np.empty_like(self.bins.codes)
            sort_within_classes(
                self.samples.order[self.feature], self.samples.labels, self._first,
                self.bins.codes, codes, self._position,
            )  # fmt: skip
            self._sorted = Bins(codes, self.bins.n_bins, self.bins.is_open, self.bins.left_of)
        ends = zip(self._first, self._last, strict=True)
        return np.array(
            [f + np.searchsorted(self._position[f:last], n_left) for f, last in ends], dtype=np.int64
        )

    def solve_side(self, n_left: int, side: int, objective: Objective, run: Map) -> _Side:
        """Bound one side of a cut by bins."""
        key = (n_left, side)
        if key not in self.sides:
            middle = self.classes_at(n_left)
            first, last = (self._first, middle) if side == 0 else (middle, self._last)
            counts = last - first
            leaf = objective.leaf_cost(counts)
            if leaf == 0:
                self.sides[key] = _Side(0, 0)
            else:
                binned = solve_bins(self._sorted, first, last, objective, run)
                self.sides[key] = _Side(min(leaf, binned.bound), min(leaf, binned.cost))
        return self.sides[key]

    def middle_cut(self, low: int, high: int) -> int | None:
        """Return a cut between two, in the middle by mass of bins, or None."""
        left_of = self.bins.left_of[self.feature, : self.bins.n_bins[self.feature] + 1]
        first = int(np.searchsorted(left_of, low, side="right"))
        last = int(np.searchsorted(left_of, high, side="left"))
        if first < last:
            return int(left_of[(first + last) // 2])
        middle = (low + high) // 2
        is_cut = (self.samples.order[self.feature, low + 1 : high] & TIED) == 0
        cuts = np.flatnonzero(is_cut) + low + 1
        if len(cuts) == 0:
            return None
        return int(cuts[np.argmin(np.abs(cuts - middle))])


class DepthThreeSearch:
    """Searches for the best tree of depth three.

    Parameters
    ----------
    samples : SampleSet
        The training samples.
    objective : Objective
        What is minimised.
    below : int
        Only trees cheaper than this are wanted.
    most_bins : int
        Bins of each feature.
    run : callable
        ``map``, over threads if there are several.
    """

    def __init__(
        self,
        samples: SampleSet,
        objective: Objective,
        below: int,
        most_bins: int = MOST_BINS,
        run: Map = map,
    ) -> None:
        self.samples = samples
        self.objective = objective
        self.best = below
        self.best_root: tuple[int, int] | None = None
        self.run = run
        self.n_solved = 0
        self.n_exact = 0
        bins = cut_into_bins(samples, most_bins)
        self.features = [_RootFeature(samples, bins, f) for f in range(samples.n_features)]
        self._heap: list[tuple[int, int, int, int]] = []
        for f in range(samples.n_features):
            ends = (0, samples.n_samples)
            for n_left in ends:
                for side in SIDES:
                    if n_left == ends[side]:
                        self.features[f].sides[n_left, side] = _Side(0, 0)
            heapq.heappush(self._heap, (0, f, *ends))

    @property
    def bound(self) -> int:
        """No tree of depth three is cheaper."""
        return min(self.best, self._heap[0][0]) if self._heap else self.best

    def advance(self, n_solves: int | None) -> None:
        """Go on until the optimum is proven or so many more sides were solved."""
        limit = None if n_solves is None else self.n_solved + n_solves
        while self._heap and self._heap[0][0] < self.best:
            if limit is not None and self.n_solved >= limit:
                return
            _, f, low, high = heapq.heappop(self._heap)
            self._look_at(f, low, high)

    def _push(self, f: int, low: int, high: int) -> None:
        bound = self._bound_of(f, low, high)
        if bound < self.best:
            heapq.heappush(self._heap, (bound, f, low, high))

    def _bound_of(self, f: int, low: int, high: int) -> int:
        sides = self.features[f].sides
        return self.objective.split_cost + sides[low, 0].bound + sides[high, 1].bound

    def _look_at(self, f: int, low: int, high: int) -> None:
        """Raise the bound of an interval of roots, or halve it."""
        feature = self.features[f]
        left, right = feature.sides[low, 0], feature.sides[high, 1]
        if self.objective.split_cost + left.cost + right.cost >= self.best:
            worst = max(SIDES, key=lambda side: (left, right)[side].cost - (left, right)[side].bound)
            if not (left, right)[worst].is_exact:
                self._solve_exactly(f, (low, high)[worst], worst, (right, left)[worst].bound)
                self._push(f, low, high)
                return
        if low == high:
            return
        middle = feature.middle_cut(low, high)
        if middle is None:
            return
        for side in SIDES:
            feature.solve_side(middle, side, self.objective, self.run)
            self.n_solved += 1
        self._consider(f, middle)
        self._push(f, middle, middle)
        self._push(f, low, middle)
        self._push(f, middle, high)

    def _solve_exactly(self, f: int, n_left: int, side: int, other: int) -> None:
        """Replace the bound of one side by its exact cost, as far as that matters."""
        known = self.features[f].sides[n_left, side]
        part = self.samples.split(f, n_left)[side]
        below = self.best - self.objective.split_cost - other
        found = solve_depth_two(part, self.objective, below=min(below, known.cost + 1))
        known.bound = max(known.bound, found.cost)
        known.cost = max(known.bound, min(known.cost, found.cost if found.is_found else known.cost))
        self.n_solved += 1
        self.n_exact += 1
        if (n_left, 1 - side) in self.features[f].sides:
            self._consider(f, n_left)

    def _consider(self, f: int, n_left: int) -> None:
        """Keep a root if its tree is the best so far."""
        sides = self.features[f].sides
        smallest = min(n_left, self.samples.n_samples - n_left)
        if smallest < self.objective.min_samples_leaf:
            return
        cost = self.objective.split_cost + sides[n_left, 0].cost + sides[n_left, 1].cost
        if cost < self.best:
            self.best = cost
            self.best_root = (f, n_left)

    def tree(self) -> Split | None:
        """Return the best tree, with exact trees of depth two; None when nothing was found."""
        if self.best_root is None:
            return None
        f, n_left = self.best_root
        parts = self.samples.split(f, n_left)
        below = [grow_depth_two(part, self.objective) for part in parts]
        cut = self.samples.value_at(f, n_left - 1)
        return Split(int(self.samples.features[f]), cut, *below)
