"""Exact trees of depth two and three by quantile branch and bound (Mazumder, Meng, Wang 2022).

A *box* is a feature of a node with a range of cuts, and for both of its sides the boxes that are
still open there. Samples that fall surely to a side are counted there; those in between cost
nothing, so what the sides cost at least is a bound for all trees of the box. Boxes are divided at
quantiles, the most promising one first, and dropped when they cannot be better than the best
tree; a box with a single cut is solved.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.objective import COST_SCALE, Objective
from horizontree.search._quantile_kernels import bound_stumps, divide_range
from horizontree.search.cart import best_stump
from horizontree.search.exact import OnProgress, Solved, allowed_cuts, good_tree, tell_nobody
from horizontree.search.repair import cost_of
from horizontree.search.splits import Split

N_PARTS = 3
"""Parts that a range is divided into."""

N_STARTS = 10
"""Trees that local search improves before the bounds begin."""


class _StopError(Exception):
    """It is time to stop."""


@dataclass(frozen=True, eq=False)
class _Stumps:
    """Single splits of a node: ranges of cuts, and the least that a tree there may cost."""

    boxes: NDArray[np.int64]  # feature, low, high
    least: int = 0


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Deeper trees of a node."""

    boxes: list[_Box]
    least: int = 0


@dataclass(frozen=True, eq=False)
class _Box:
    """Trees whose root has one feature and a cut in a range."""

    feature: int
    low: int
    high: int
    lower: _Stumps | _Boxes
    upper: _Stumps | _Boxes
    bound: int


def solve(
    samples: SampleSet,
    depth: int,
    objective: Objective,
    stops: Callable[[], bool] = lambda: False,
    on_progress: OnProgress = tell_nobody,
) -> Solved:
    """Find the best tree of a depth of 1, 2 or 3."""
    if depth == 1:
        stump = best_stump(samples, objective.min_samples_leaf)
        cost = cost_of(stump, samples, objective)
        return Solved(stump, cost, cost, 1)
    first = good_tree(samples, depth, objective, N_STARTS, stops)
    search = _Search(samples, depth, objective, first.cost, stops, on_progress)
    with suppress(_StopError):
        search.run()
    root = first.root if search.best is None else search.best
    return Solved(root, search.cost, min(search.bound, search.cost), search.n_boxes)


class _Search:
    """Looks for a tree that costs less than ``cost``."""

    def __init__(
        self,
        samples: SampleSet,
        depth: int,
        objective: Objective,
        cost: int,
        stops: Callable[[], bool],
        on_progress: OnProgress = tell_nobody,
    ) -> None:
        self.samples = samples
        self.depth = depth
        self.objective = objective
        self.cost = cost
        self.best: Split | None = None
        self.bound = 0
        self.n_boxes = 0
        self._stops = stops
        self._on_progress = on_progress
        self._code = samples.codes()
        starts = [samples.starts(f) for f in range(samples.n_features)]
        self._starts = np.concatenate([np.empty(0, np.int32), *starts])
        self._offset = np.cumsum([0, *map(len, starts)])

    def run(self) -> None:
        """Search to the end; the tree is optimal then, or there is none below the cost."""
        self._offer(None)
        everyone = np.arange(self.samples.n_samples, dtype=np.int32)
        number = count()
        root = self._all_trees(self.depth)
        assert isinstance(root, _Boxes)
        queue = [(box.bound, next(number), box) for box in root.boxes]
        while queue:
            self.bound, _, box = heapq.heappop(queue)
            if self.bound >= self.cost:
                break
            if self._stops():
                raise _StopError
            self.n_boxes += 1
            self._on_progress(self.n_boxes, self.cost, self.bound)
            if box.low == box.high or self.depth == 2:
                self._solve_cut(box, (box.low + box.high) // 2)
            if box.low < box.high:
                for part in self._divided(box, everyone, len(everyone), self.cost):
                    heapq.heappush(queue, (part.bound, next(number), part))
        self.bound = self.cost

    def _all_trees(self, depth: int) -> _Stumps | _Boxes:
        """Return the boxes of all trees of a depth."""
        first, last = allowed_cuts(self.samples, self.objective.min_samples_leaf)
        ranges = np.stack([np.arange(len(first)), first, last], axis=1)[first <= last]
        if depth == 1:
            return _Stumps(ranges)
        below = self._all_trees(depth - 1)
        return _Boxes([_Box(f, low, high, below, below, 0) for f, low, high in ranges.tolist()])

    # ------------------------------------------------------------------------------ bounds

    def _narrowed(
        self, trees: _Stumps | _Boxes, members: NDArray[np.int32], n_most: int, limit: int
    ) -> _Stumps | _Boxes:
        """Divide the boxes of a node with some samples, and drop those that cost ``limit``.

        It has ``n_most`` samples at the most: where that is too few for two leaves, no box is left.
        """
        counts = np.bincount(self.samples.labels[members], minlength=self.samples.n_classes)
        as_leaf = self.objective.leaf_cost(counts)
        if as_leaf == 0:  # so far: other samples may follow when the range above gets narrower
            return replace(trees, least=0)
        if n_most < 2 * self.objective.min_samples_leaf:
            return _Stumps(np.empty((0, 3), dtype=np.int64), as_leaf)
        if isinstance(trees, _Stumps):
            return self._narrowed_stumps(trees, members, limit, as_leaf)
        parts = [
            part
            for box in trees.boxes
            if box.bound < limit
            for part in self._divided(box, members, n_most, limit)
        ]
        return _Boxes(parts, min([as_leaf, *(part.bound for part in parts)]))

    def _narrowed_stumps(
        self, stumps: _Stumps, members: NDArray[np.int32], limit: int, as_leaf: int
    ) -> _Stumps:
        found = np.empty((N_PARTS * len(stumps.boxes), 3), dtype=np.int64)
        bound = np.empty(len(found), dtype=np.int64)
        n_classes = self.samples.n_classes
        class_of = np.full(self.samples.n_samples, n_classes, dtype=np.int32)
        class_of[members] = self.samples.labels[members]
        n_found = bound_stumps(
            self.samples.order, class_of, n_classes, self._starts, self._offset, stumps.boxes,
            N_PARTS, found, bound,
        )  # fmt: skip
        cost = bound[:n_found] * COST_SCALE + self.objective.split_cost
        is_open = cost < limit
        return _Stumps(found[:n_found][is_open], min(as_leaf, *cost[is_open].tolist(), limit))

    def _divided(
        self, box: _Box, members: NDArray[np.int32], n_most: int, limit: int
    ) -> list[_Box]:
        """Divide a box of a node with some samples; return the parts that may cost less."""
        if self._stops():  # with many samples a box takes long
            raise _StopError
        f = box.feature
        parts = np.empty((N_PARTS, 2), dtype=np.int64)
        starts = self._starts[self._offset[f] : self._offset[f + 1]]
        n_parts = divide_range(starts, box.low, box.high, N_PARTS, parts)
        code = self._code[members, f]
        kept = []
        for low, high in parts[:n_parts].tolist():
            n_lower = min(n_most, int(starts[high]))
            n_upper = min(n_most, self.samples.n_samples - int(starts[low]))
            if min(n_lower, n_upper) < self.objective.min_samples_leaf:
                continue
            rest = limit - self.objective.split_cost
            lower = self._narrowed(box.lower, members[code < low], n_lower, rest - box.upper.least)
            if lower.least + box.upper.least >= rest:
                continue
            upper = self._narrowed(box.upper, members[code >= high], n_upper, rest - lower.least)
            if lower.least + upper.least < rest:
                bound = max(box.bound, lower.least + upper.least + self.objective.split_cost)
                kept.append(_Box(f, low, high, lower, upper, bound))
        return kept

    # --------------------------------------------------------------------------- solutions

    def _solve_cut(self, box: _Box, cut: int) -> None:
        """Find the best tree with a cut of a box, unless none costs less than the best one."""
        f = box.feature
        n_left = int(self._starts[self._offset[f] + cut])
        least = self.objective.min_samples_leaf
        if min(n_left, self.samples.n_samples - n_left) < least:
            return
        limit = self.cost - self.objective.split_cost
        lower, upper = self.samples.split(f, n_left)
        low_cost, low_tree = self._best_below(lower, limit - box.upper.least)
        if low_cost + box.upper.least >= limit:
            return
        high_cost, high_tree = self._best_below(upper, limit - low_cost)
        if low_cost + high_cost < limit:
            column = int(self.samples.features[f])
            value = self.samples.value_at(f, n_left - 1)
            self._offer(Split(column, value, low_tree, high_tree))

    def _best_below(self, part: SampleSet, limit: int) -> tuple[int, Split | None]:
        """Return the best tree of one level less, if it costs less than ``limit``."""
        if self.depth == 2:
            stump = best_stump(part, self.objective.min_samples_leaf)
            return cost_of(stump, part, self.objective), stump
        search = _Search(part, self.depth - 1, self.objective, limit, self._stops)
        search.run()
        return search.cost, search.best

    def _offer(self, tree: Split | None) -> None:
        """Keep a tree if it costs less than all before."""
        cost = cost_of(tree, self.samples, self.objective)
        if cost < self.cost:
            self.cost, self.best = cost, tree
