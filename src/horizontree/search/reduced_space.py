"""Reduced-space branch and bound over trees (RS-OCT, Hua, Ren and Cao 2022).

Only the tree's own variables are branched on: the feature of a node, the range of its cut, the
class of a leaf. A box of trees is bounded by what each sample can reach at best on its own, in
closed form (`_reduced_space_kernels`); now and then the most promising box gets a tighter bound
from groups of samples that are solved together as mixed-integer programmes (`group_bound`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.objective import COST_SCALE, Objective
from horizontree.search._reduced_space_kernels import (
    UNDECIDED,
    WORD,
    bound_of,
    explore,
    raise_first,
)
from horizontree.search.exact import OnProgress, Solved, allowed_cuts, good_tree, tell_nobody
from horizontree.search.group_bound import least_errors
from horizontree.search.random_draws import draws
from horizontree.search.splits import Split

N_STARTS = 20
"""Trees that local search improves before the bounds begin."""

_MOST_BOXES_AT_A_TIME = 2000
MANY_BOXES = 1 << 62  # more than can be divided
_CELLS_AT_A_TIME = 4_000_000
"""Samples times features of the boxes that are divided before the clock is looked at."""
_BOXES_BETWEEN_GROUPS = 40_000
_ROOM = 1 << 12


@dataclass(eq=False)
class _Boxes:
    """Rows of boxes; ``heap`` holds the open ones, ``free`` the others."""

    boxes: NDArray[np.int32]
    active: NDArray[np.uint64]
    count: NDArray[np.int32]
    n_wrong: NDArray[np.int64]
    bound: NDArray[np.int64]
    heap: NDArray[np.int64]
    free: NDArray[np.int64]

    def grow(self, n_open: int) -> None:
        """Make room for twice as many boxes."""
        n = len(self.bound)
        free = np.concatenate([self.free[: n - n_open], np.arange(n, 2 * n), self.heap[:n_open]])
        for name in ("boxes", "active", "count", "n_wrong", "bound", "heap"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros_like(array)]))
        self.free = free


def solve(
    samples: SampleSet,
    depth: int,
    objective: Objective,
    group_size: int,
    stops: Callable[[], bool] = lambda: False,
    on_progress: OnProgress = tell_nobody,
    most_boxes: int = MANY_BOXES,
) -> Solved:
    """Find the best tree of a depth; ``group_size`` 0 does without the grouped bounds.

    At most so many boxes are divided.
    """
    first = good_tree(samples, depth, objective, N_STARTS, stops)
    if samples.n_features == 0:
        return Solved(None, first.cost, first.cost, 0)
    search = _Search(samples, depth, objective, first.cost, group_size, stops)
    while search.n_open > 0 and search.n_divided < most_boxes and not stops():
        search.advance(most_boxes - search.n_divided)
        on_progress(search.n_divided, search.cost, search.bound)
    root = first.root if search.cost == first.cost else search.tree()
    return Solved(root, search.cost, search.bound, search.n_divided)


class _Search:
    """The boxes that are still open, and the best tree so far."""

    def __init__(
        self,
        samples: SampleSet,
        depth: int,
        objective: Objective,
        cost: int,
        group_size: int,
        stops: Callable[[], bool],
    ) -> None:
        self._samples = samples
        self._objective = objective
        self._group_size = group_size
        self._stops = stops
        self._code = samples.codes()
        self._first_cut, self._last_cut = allowed_cuts(samples, objective.min_samples_leaf)
        self._n_inner = 2**depth - 1
        self._state = np.array([1, 0, cost], dtype=np.int64)
        cells = samples.n_samples * samples.n_features
        self._at_a_time = min(_MOST_BOXES_AT_A_TIME, max(1, _CELLS_AT_A_TIME // cells))
        self._n_groups = 0
        n_words = -(-samples.n_samples // WORD)
        n_variables = 4 * self._n_inner + 1
        room = max(_ROOM, 4 * (samples.n_features + samples.n_classes))
        self._rows = _Boxes(
            boxes=np.zeros((room, n_variables), dtype=np.int32),
            active=np.zeros((room, n_words), dtype=np.uint64),
            count=np.zeros((room, self._n_inner + 1, samples.n_classes), dtype=np.int32),
            n_wrong=np.zeros(room, dtype=np.int64),
            bound=np.zeros(room, dtype=np.int64),
            heap=np.zeros(room, dtype=np.int64),
            free=np.arange(room)[::-1].copy(),
        )
        everything = self._rows.boxes[0]
        everything[: self._n_inner] = UNDECIDED
        everything[3 * self._n_inner :] = UNDECIDED
        every = np.packbits(np.ones(samples.n_samples, dtype=np.bool_), bitorder="little")
        self._rows.active[0].view(np.uint8)[: len(every)] = every
        self._best = everything.copy()

    @property
    def n_open(self) -> int:
        """Boxes that may hold a better tree."""
        return int(self._state[0])

    @property
    def n_divided(self) -> int:
        """Boxes that were divided."""
        return int(self._state[1])

    @property
    def cost(self) -> int:
        """The cost of the best tree."""
        return int(self._state[2])

    @property
    def bound(self) -> int:
        """A cost that no tree is below."""
        if self.n_open == 0:
            return self.cost
        return min(self.cost, int(self._rows.bound[self._rows.heap[0]]))

    def advance(self, most: int) -> None:
        """Divide some boxes, ``most`` at the most."""
        rows, samples = self._rows, self._samples
        if self._group_size > 0 and self.n_divided // _BOXES_BETWEEN_GROUPS > self._n_groups:
            self._n_groups = self.n_divided // _BOXES_BETWEEN_GROUPS
            self._tighten(int(rows.heap[0]))
        allows_leaves = self._objective.split_cost > 0 or self._objective.min_samples_leaf > 1
        explore(
            self._code, samples.labels, self._first_cut, self._last_cut, rows.boxes, rows.active,
            rows.count, rows.n_wrong, rows.bound, rows.heap, rows.free, self._state, self._best,
            min(self._at_a_time, most), self._objective.split_cost,
            self._objective.min_samples_leaf,
            allows_leaves,
        )  # fmt: skip
        if 2 * self.n_open > len(rows.bound):
            rows.grow(self.n_open)

    def tree(self) -> Split | None:
        """Return the best tree that a box has led to."""
        return self._split(0)

    def _split(self, node: int) -> Split | None:
        if node >= self._n_inner or self._best[node] < 0:
            return None
        f = int(self._best[node])
        low, high = self._best[self._n_inner + node], self._best[2 * self._n_inner + node]
        n_left = int(self._samples.starts(f)[(int(low) + int(high)) // 2])
        return Split(
            feature=int(self._samples.features[f]),
            cut=self._samples.value_at(f, n_left - 1),
            left=self._split(2 * node + 1),
            right=self._split(2 * node + 2),
        )

    def _tighten(self, box: int) -> None:
        """Bound a box, the first on the heap, by groups of its open samples.

        Groups that nobody has time for count nothing, so that the bound holds.
        """
        rows, samples = self._rows, self._samples
        if (rows.boxes[box, : self._n_inner] == UNDECIDED).any():
            return  # with any feature a tree gets almost any group right
        is_active = np.unpackbits(rows.active[box].view(np.uint8), bitorder="little")
        active = np.flatnonzero(is_active)
        active = active[np.argsort(draws(self._n_groups, active))]
        n_errors = 0
        for first in range(0, len(active), self._group_size):
            if self._stops():
                break
            group = active[first : first + self._group_size]
            n_errors += least_errors(
                self._code[group], samples.labels[group], samples.n_classes, rows.boxes[box]
            )
        settled = bound_of(
            rows.boxes[box], self._n_inner, rows.count[box], rows.n_wrong[box],
            self._objective.split_cost,
        )  # fmt: skip
        raise_first(rows.heap, rows.bound, self.n_open, settled + n_errors * COST_SCALE)
