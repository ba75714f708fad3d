"""Local search over trees from many starts (LS-OCT, Bertsimas and Dunn 2017).

From each start the nodes are gone through in random order; each gets the best of these changes
if it lowers the cost, until a sweep changes nothing:

- the best split there is, the subtrees below being what they are (a leaf gets two leaves);
- one of its children in its place;
- a leaf in its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search._local_search_kernels import grow_at_random, route, visit
from horizontree.search.random_draws import draws, stream_of
from horizontree.search.repair import cost_of
from horizontree.search.splits import Split
from horizontree.threads import Map

_ATTEMPTS = 8
"""Splits that are drawn for a node of a random tree before it is left a leaf."""

_WORK_BETWEEN_CHECKS = 1 << 23


@dataclass(frozen=True, eq=False)
class Improved:
    """Where the search from one start ended."""

    cost: int
    root: Split | None
    n_sweeps: int


class LocalSearch:
    """Searches trees of one problem.

    Parameters
    ----------
    samples : SampleSet
        The training samples.
    depth : int
        The most levels of a tree.
    objective : Objective
        What is minimised.
    stops : callable
        Tells whether to end with the tree as it is.
    """

    def __init__(
        self,
        samples: SampleSet,
        depth: int,
        objective: Objective,
        stops: Callable[[], bool] = lambda: False,
    ) -> None:
        self.samples = samples
        self.depth = depth
        self.objective = objective
        self._stops = stops
        self._code = samples.codes()
        self._starts: dict[int, NDArray[np.int32]] = {}

    def improve_all(
        self, first: Sequence[Split | None], streams: Sequence[int], run: Map = map
    ) -> Iterator[Improved]:
        """Search from given trees, then from a random tree for each of the other streams.

        There are as many starts as streams; ``run`` runs them. Told to stop, all but the first
        are left out.
        """

        def improve(start: int) -> Improved | None:
            if start > 0 and self._stops():
                return None
            if start < len(first):
                return self.improve(first[start], streams[start])
            return self.improve_random(streams[start])

        yield from (found for found in run(improve, range(len(streams))) if found is not None)

    def improve(self, tree: Split | None, stream: int) -> Improved:
        """Search from a tree; the result is not dearer."""
        heap = self._empty_heap()
        self._write(tree, 0, heap)
        everyone = np.arange(self.samples.n_samples, dtype=np.int32)
        route(self._code, everyone, 0, heap.feature, heap.cut, self.depth, heap.place)
        return self._sweep(heap, stream)

    def improve_random(self, stream: int) -> Improved:
        """Search from a random tree."""
        if self.samples.n_features == 0:
            return self.improve(None, stream)
        heap = self._empty_heap()
        n_drawn = (2**self.depth - 1) * _ATTEMPTS
        bits = draws(stream_of(stream, 0), np.arange(n_drawn)).reshape(-1, _ATTEMPTS)
        grow_at_random(
            self._code, self.samples.labels, bits,
            self.objective.min_samples_leaf, self.depth, heap.feature, heap.cut, heap.place,
        )  # fmt: skip
        return self._sweep(heap, stream)

    def _sweep(self, heap: _Heap, stream: int) -> Improved:
        """Go through the nodes again and again, until nothing changes."""
        n_nodes = len(heap.feature)
        is_settled = np.zeros(n_nodes, dtype=np.bool_)
        n_sweeps, n_improved = 0, 1
        while n_improved > 0 and not self._stops():
            n_sweeps += 1
            n_improved, at = 0, 0
            visits = np.argsort(draws(stream_of(stream, n_sweeps), np.arange(n_nodes)))
            while at < n_nodes and not (at > 0 and self._stops()):
                at, n_more = visit(
                    visits, at, _WORK_BETWEEN_CHECKS, self.samples.order, self._code,
                    self.samples.labels, self.samples.n_classes, self.objective.split_cost,
                    self.objective.min_samples_leaf, self.depth, heap.feature, heap.cut,
                    heap.place, is_settled,
                )  # fmt: skip
                n_improved += n_more
        root = self._read(0, heap)
        return Improved(cost_of(root, self.samples, self.objective), root, n_sweeps)

    def _empty_heap(self) -> _Heap:
        n_nodes = 2 ** (self.depth + 1) - 1
        return _Heap(
            feature=np.full(n_nodes, -1, dtype=np.int32),
            cut=np.zeros(n_nodes, dtype=np.int32),
            place=np.empty(self.samples.n_samples, dtype=np.int32),
        )

    def _write(self, tree: Split | None, node: int, heap: _Heap) -> None:
        if tree is None:
            return
        f = int(np.searchsorted(self.samples.features, tree.feature))
        n_left = self.samples.n_left_of_cut(f, tree.cut)
        heap.feature[node] = f
        heap.cut[node] = np.searchsorted(self._starts_of(f), n_left)
        self._write(tree.left, 2 * node + 1, heap)
        self._write(tree.right, 2 * node + 2, heap)

    def _read(self, node: int, heap: _Heap) -> Split | None:
        f = int(heap.feature[node])
        if f < 0:
            return None
        last = int(self._starts_of(f)[heap.cut[node]]) - 1
        return Split(
            feature=int(self.samples.features[f]),
            cut=self.samples.value_at(f, last),
            left=self._read(2 * node + 1, heap),
            right=self._read(2 * node + 2, heap),
        )

    def _starts_of(self, f: int) -> NDArray[np.int32]:
        """Return how many samples go left at each cut of a feature, counted once."""
        if f not in self._starts:
            self._starts[f] = self.samples.starts(f)
        return self._starts[f]


@dataclass(frozen=True, eq=False)
class _Heap:
    """A tree as the kernels have it."""

    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    place: NDArray[np.int32]
