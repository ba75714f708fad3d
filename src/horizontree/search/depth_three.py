"""The best tree of depth three: a search over root cuts with trees of depth two below.

The cost of the best tree of depth two left of a root cut only grows as the cut moves to the
right, and the other side's only shrinks. So for all roots from ``low`` to ``high``

    cost(root) >= split cost + left(low) + right(high)
    cost(root) >= split cost + left(high) + right(low) - samples in between

(a sample more costs a side an error at most), and an interval is halved, best bound first, until
its bound reaches the best tree known (or, where all trees as cheap as that are wanted, is above
it).
The sides are bounded by bins first; where these bounds are what keeps an interval alive, the
side is solved exactly instead.

A smallest leaf breaks the rule: a leaf too small at ``low`` may be large enough further on.
So the bounds of intervals are those of trees whose leaves have any size.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import TIED, SampleSet
from horizontree.objective import COST_SCALE, Objective
from horizontree.search._pair_kernels import sort_within_classes
from horizontree.search.depth_two import DepthTwo, solve_depth_two, tree_of, with_last_splits
from horizontree.search.growing_tree import root_split
from horizontree.search.pair_histograms import (
    MOST_BINS,
    MOST_ROOTS,
    Bins,
    all_pairs,
    cut_into_bins,
    most_in_memory,
    n_bins_for,
    solve_bins,
)
from horizontree.search.splits import Split
from horizontree.threads import Map

SIDES = (0, 1)
N_PER_ROUND = 50  # sides solved by bins in a round of the search, before anything is proven
N_PROMISING = 8  # roots solved exactly at the end of such a round


@dataclass
class _Side:
    """What is known of the best tree of depth two on one side of a root.

    ``bound`` is below every tree, ``bound_here`` below those with leaves of the right size,
    and ``cost`` is that of one of these. ``pair_bounds`` are below the trees made with each
    pair of features. Bounds go no higher than what could still be part of a tree that is wanted:
    a tree with a pair that was ruled out before costs at least as much.
    """

    bound: int
    bound_here: int
    cost: int
    pair_bounds: NDArray[np.int64]
    is_exact: bool = False  # whether ``bound`` is as high as it can be
    root: Split | None = None  # of a tree with that cost, nothing below it; None for a leaf

    def learn(self, found: DepthTwo, part: SampleSet) -> None:
        """Note a tree of these samples, if it is cheaper than the one that is known."""
        if found.is_found and found.cost < self.cost:
            self.cost, is_leaf = found.cost, found.feature < 0
            self.root = None if is_leaf else root_split(part, (found.feature, found.n_left))


class _RootFeature:
    """One feature as root: where to cut, and the codes sorted for it."""

    def __init__(
        self, samples: SampleSet, bins: Bins, pairs: NDArray[np.intp], feature: int
    ) -> None:
        self.samples = samples
        self.bins = bins
        self.feature = feature
        self._pairs = pairs
        self._first, self._last = samples.class_ranges
        nobody = _Side(0, 0, 0, np.zeros(len(self._pairs), dtype=np.int64), is_exact=True)
        self.sides = {(0, 0): nobody, (samples.n_samples, 1): nobody}

    @cached_property
    def _sorted(self) -> tuple[Bins, NDArray[np.int32]]:
        """The codes with each class in the order of this feature, and their positions in it."""
        position = np.empty(self.samples.n_samples, dtype=np.int32)
        codes = np.empty_like(self.bins.codes)
        sort_within_classes(
            self.samples.order[self.feature], self.samples.labels, self._first, self.bins.codes,
            codes, position,
        )  # fmt: skip
        return replace(self.bins, codes=codes), position

    def classes_at(self, n_left: int) -> NDArray[np.int64]:
        """Return where each class is divided by a cut, in the sorted codes."""
        _, position = self._sorted
        ends = zip(self._first, self._last, strict=True)
        below = [first + np.searchsorted(position[first:last], n_left) for first, last in ends]
        return np.array(below, dtype=np.int64)

    def solve_side(
        self,
        n_left: int,
        side: int,
        within: _Side,
        below: int,
        objective: Objective,
        stops: Callable[[], bool],
        run: Map,
    ) -> bool:
        """Bound one side of a cut by bins, as far as trees cheaper than ``below`` go.

        A side that lies ``within`` this one tells which pairs of features cannot do that. Returns
        False if it was told to stop, and knows nothing.
        """
        key = (n_left, side)
        if key in self.sides:
            return True
        middle = self.classes_at(n_left)
        first, last = (self._first, middle) if side == 0 else (middle, self._last)
        leaf = objective.leaf_cost(last - first)
        is_alive = within.pair_bounds < below
        if leaf == 0 or not is_alive.any():
            bound = max(within.bound, min(leaf, below))
            self.sides[key] = _Side(bound, bound, leaf, within.pair_bounds, is_exact=leaf == 0)
            return True
        bins, pairs = self._sorted[0], self._pairs[is_alive]
        binned = solve_bins(bins, first, last, objective, run, pairs, stops=stops)
        if stops():
            return False
        pair_bounds = within.pair_bounds.copy()
        of_alive = np.minimum(binned.bounds_of(pairs, bins, objective), below)
        pair_bounds[is_alive] = np.maximum(pair_bounds[is_alive], of_alive)
        bound = max(within.bound, min(leaf, binned.bound, below))
        known = _Side(bound, bound, leaf, pair_bounds)
        if binned.cost < leaf:
            n_below = int(bins.left_of[binned.feature, binned.boundary])
            known.cost, known.root = (
                binned.cost,
                root_split(self.samples, (binned.feature, n_below)),
            )
        self.sides[key] = known
        return True

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
        Only trees cheaper than this are wanted; with ties, those as cheap, too.
    most_bins : int
        Bins of each feature.
    closes : bool
        Whether trees of depth two are exact; without, those over bins do, and nothing is proven.
    with_ties : bool
        Whether the roots of other trees as cheap as the best are wanted, too, a few at most.
    stops : callable
        Tells whether to end a round early.
    run : callable
        ``map``, over threads if there are several.
    """

    def __init__(
        self,
        samples: SampleSet,
        objective: Objective,
        below: int,
        most_bins: int = MOST_BINS,
        closes: bool = True,
        with_ties: bool = False,
        stops: Callable[[], bool] = lambda: False,
        run: Map = map,
    ) -> None:
        self.samples = samples
        self.objective = objective
        self.best = below
        self.best_root: tuple[int, int] | None = None
        self.roots: list[tuple[int, int]] = []  # as cheap as the best, as far as they are known
        self.closes = closes
        self.with_ties = with_ties
        self.stops = stops
        self.run = run
        self.n_solved = 0
        self.features: list[_RootFeature] = []
        self._heap: list[tuple[int, int, int, int]] = []
        self._parked: list[tuple[int, int, int]] = []
        self._is_proving = False
        if samples.n_features == 0:
            return
        most_bins = min(most_bins, most_in_memory(samples.n_features))
        bins = cut_into_bins(samples, n_bins_for(samples.n_samples, most_bins))
        pairs = all_pairs(samples.n_features)
        for f in range(samples.n_features):
            self.features.append(_RootFeature(samples, bins, pairs, f))
            self._heap.append((0, f, 0, samples.n_samples))

    @property
    def _limit(self) -> int:
        """Trees that cost this, or more, are of no interest."""
        return self.best + (self.with_ties and len(self.roots) < MOST_ROOTS)

    @property
    def bound(self) -> int:
        """No tree of depth three is cheaper."""
        open_ones = [where for _, *where in self._heap] + self._parked
        return min([self.best, *(self._bound_of(*where) for where in open_ones)])

    def advance(self) -> None:
        """Go on for a while.

        First look where the trees found so far leave room for a better one, solving the
        best roots exactly in between; when that brings nothing more, look wherever the
        bounds leave room.
        """
        end_of_round = self.n_solved + N_PER_ROUND
        if self._is_proving:
            self._prove(end_of_round)
            return
        best = self.best
        while self._heap and self.n_solved < end_of_round and not self.stops():
            hope, f, low, high = heapq.heappop(self._heap)
            if hope < self._limit:
                self._halve(f, low, high)
            else:
                self._parked.append((f, low, high))
        self._parked = [where for where in self._parked if self._bound_of(*where) < self._limit]
        roots = [where for where in self._parked if where[1] == where[2] and self.closes]
        # one that costs what its bound says is solved already, and stays for the tie only
        roots = [where for where in roots if self._bound_of(*where) < self._hope_of(*where)]
        roots.sort(key=lambda where: (self._hope_of(*where), where))
        for f, n_left, _ in roots[:N_PROMISING]:
            if not self.stops():
                self._solve_root(f, n_left)
        if not self._heap and self.closes:
            self._is_proving = self.best == best
            parked, self._parked = self._parked, []
            for where in parked:
                self._push(*where)

    def _prove(self, end_of_round: int) -> None:
        """Raise the lowest bound, again and again."""
        while self._heap and self.n_solved < end_of_round and not self.stops():
            bound, f, low, high = heapq.heappop(self._heap)
            if bound >= self._limit:
                self._heap.clear()
            else:
                self._tighten_or_halve(f, low, high)

    def _push(self, f: int, low: int, high: int) -> None:
        """Put an interval into the queue, unless it has no allowed root or its bound says no."""
        bound = self._bound_of(f, low, high)
        least = self.objective.min_samples_leaf
        if bound >= self._limit or high < least or low > self.samples.n_samples - least:
            return
        if self._is_proving:
            heapq.heappush(self._heap, (bound, f, low, high))
        elif low == high:
            self._parked.append((f, low, high))
        else:
            heapq.heappush(self._heap, (self._hope_of(f, low, high), f, low, high))

    def _hope_of(self, f: int, low: int, high: int) -> int:
        """Return what the best root of an interval would cost if all trees were the best."""
        sides = self.features[f].sides
        return self.objective.split_cost + sides[low, 0].cost + sides[high, 1].cost

    def _bound_of(self, f: int, low: int, high: int) -> int:
        """Return what no root of an interval costs less than."""
        sides = self.features[f].sides
        left, right = sides[low, 0], sides[high, 1]
        if low == high:
            return self.objective.split_cost + left.bound_here + right.bound_here
        bound = left.bound + right.bound
        if (high, 0) in sides and (low, 1) in sides:
            with_all = sides[high, 0].bound + sides[low, 1].bound
            bound = max(bound, with_all - (high - low) * COST_SCALE)
        return self.objective.split_cost + bound

    def _tighten_or_halve(self, f: int, low: int, high: int) -> None:
        """Raise the bound of an interval of roots, or halve it."""
        if low == high:
            if not self._solve_root(f, low):
                self._push(f, low, high)
            return
        sides = (self.features[f].sides[low, 0], self.features[f].sides[high, 1])
        if self.objective.split_cost + sides[0].cost + sides[1].cost >= self._limit:
            loose = [side for side in SIDES if not sides[side].is_exact]
            if loose:
                side = max(loose, key=lambda side: sides[side].cost - sides[side].bound)
                self._raise_bound(f, (low, high)[side], side, sides[1 - side].bound)
                self._push(f, low, high)
                return
        self._halve(f, low, high)

    def _halve(self, f: int, low: int, high: int) -> None:
        """Look at a root in the middle, and put the halves into the queue."""
        feature = self.features[f]
        middle = feature.middle_cut(low, high)
        if middle is None:
            return
        outer = (feature.sides[low, 0], feature.sides[high, 1])
        for side in SIDES:
            below = self._limit - self.objective.split_cost - outer[1 - side].bound
            if not feature.solve_side(
                middle, side, outer[side], below, self.objective, self.stops, self.run
            ):
                self._push(f, low, high)
                return
            self.n_solved += 1
        self._consider(f, middle)
        self._push(f, middle, middle)
        self._push(f, low, middle)
        self._push(f, middle, high)

    def _raise_bound(self, f: int, n_left: int, side: int, other: int) -> None:
        """Solve one side exactly, with leaves of any size, as far as that matters."""
        known = self.features[f].sides[n_left, side]
        any_leaf = Objective(self.objective.split_cost)
        below = self._limit - self.objective.split_cost - other
        part = self.samples.part(f, n_left, side)
        found = solve_depth_two(part, any_leaf, below=below, stops=self.stops)
        self.n_solved += 1
        known.bound = max(known.bound, found.bound)
        if not found.is_exact:  # told to stop
            return
        known.is_exact = found.is_found
        known.bound_here = max(known.bound_here, known.bound)
        if found.is_found and self.objective.min_samples_leaf == 1:
            known.learn(found, part)
            if (n_left, 1 - side) in self.features[f].sides:
                self._consider(f, n_left)

    def _solve_root(self, f: int, n_left: int) -> bool:
        """Solve both sides of one root exactly, as far as that matters; False if told to stop."""
        sides = [self.features[f].sides[n_left, side] for side in SIDES]
        for side in SIDES:
            known = sides[side]
            below = self._limit - self.objective.split_cost - sides[1 - side].bound_here
            if known.bound_here >= below:
                return True
            if known.bound_here < known.cost:
                part = self.samples.part(f, n_left, side)
                found = solve_depth_two(part, self.objective, below=below, stops=self.stops)
                self.n_solved += 1
                known.bound_here = max(known.bound_here, found.bound)
                known.learn(found, part)
                if not found.is_exact:
                    self._consider(f, n_left)
                    return False
                if self.objective.min_samples_leaf == 1:
                    known.bound = known.bound_here
                    known.is_exact = found.is_found
        self._consider(f, n_left)
        return True

    def _consider(self, f: int, n_left: int) -> None:
        """Keep a root if its tree is the best so far, or as good (equal cost: the first)."""
        sides = self.features[f].sides
        smallest = min(n_left, self.samples.n_samples - n_left)
        if smallest < self.objective.min_samples_leaf:
            return
        cost = self.objective.split_cost + sides[n_left, 0].cost + sides[n_left, 1].cost
        if cost < self.best:
            self.best = cost
            self.best_root = (f, n_left)
            self.roots = []
        is_wanted = cost == self.best and len(self.roots) < MOST_ROOTS
        if is_wanted and (f, n_left) not in self.roots:
            self.roots.append((f, n_left))

    @property
    def is_done(self) -> bool:
        """Whether the best tree, or that there is none below the limit, is proven.

        Without exact trees of depth two: whether there is nothing left to hope for.
        """
        return not self._heap and not (self._parked and self.closes)

    def tree(self) -> Split | None:
        """Return the best tree that was found; None when none is below the limit.

        Its sides are solved once more, or, if told to stop, are those that were found.
        """
        if self.best_root is None:
            return None
        f, n_left = self.best_root
        below = []
        for side, part in zip(SIDES, self.samples.split(f, n_left), strict=True):
            known = self.features[f].sides[n_left, side]
            found = None
            if not self.stops():
                found = solve_depth_two(part, self.objective, closes=self.closes, stops=self.stops)
            if found is not None and found.cost <= known.cost:
                below.append(tree_of(found, part, self.objective))
            elif known.root is not None:
                below.append(with_last_splits(known.root, part, self.objective))
            else:
                below.append(None)
        cut = self.samples.value_at(f, n_left - 1)
        return Split(int(self.samples.features[f]), cut, *below)
