"""The samples at a node, sorted by every feature once and filtered ever after.

The way of the data::

    X, y ──sort rows by class──► samples 0..m-1   (class 0 first, then class 1, ...)
         ──sort each feature───► order[f, j]      the j-th smallest sample of feature f,
                                                  flagged when tied with its predecessor

A *candidate* of a feature with ``n_distinct`` values is a number ``k`` in
``0..n_distinct``: the ``k`` lowest distinct values go left. A subset keeps the orders of
its parent with the other samples filtered out, so candidates are always those of the
samples at hand and the work on one level of a tree never exceeds the work at its root.
Weights would be a second array beside ``rows``; a missing value has no place in ``order``
and would travel as a side of each split; neither is accepted yet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding._ranking_kernels import (
    SAMPLE,
    TIED,
    fill_codes,
    filter_order,
    group_starts,
    mark_first,
    number_kept,
    pack_order,
)
from horizontree.threads import Map

_VALUES_PER_SORT = 1 << 20


@dataclass(frozen=True, eq=False)
class SampleSet:
    """Some rows of ``X``, sorted by class, with the sorted order of each feature.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        The matrix that the rows come from; only looked up, never copied.
    rows : int32 array of shape (n_samples,)
        The row of each sample; class 0 first, rows ascending within a class.
    class_counts : int64 array of shape (n_classes,)
        Samples of each class.
    features : int32 array of shape (n_features,)
        The columns that have at least two values here.
    order : uint32 array of shape (n_features, n_samples)
        Samples by ascending value, with tie flags.
    n_distinct : int64 array of shape (n_features,)
        Distinct values of each feature.
    """

    X: NDArray[Any]
    rows: NDArray[np.int32]
    class_counts: NDArray[np.int64]
    features: NDArray[np.int32]
    order: NDArray[np.uint32]
    n_distinct: NDArray[np.int64]

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.rows)

    @property
    def n_features(self) -> int:
        """Number of features that are not constant here."""
        return len(self.features)

    @property
    def class_ranges(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Where the samples of each class start and end."""
        last = np.cumsum(self.class_counts)
        return last - self.class_counts, last

    @property
    def n_classes(self) -> int:
        """Number of classes of the whole problem."""
        return len(self.class_counts)

    @property
    def is_pure(self) -> bool:
        """Whether at most one class is present."""
        return int(np.count_nonzero(self.class_counts)) <= 1

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """The class of each sample."""
        return np.repeat(np.arange(self.n_classes, dtype=np.int32), self.class_counts)

    def starts(self, feature: int) -> NDArray[np.int32]:
        """Return how many samples go left at each candidate ``0..n_distinct``."""
        out = np.empty(self.n_distinct[feature] + 1, dtype=np.int32)
        group_starts(self.order[feature], out)
        return out

    def codes(self) -> NDArray[np.int32]:
        """Return which of its feature's distinct values each sample has: [sample, feature]."""
        codes = np.empty((self.n_samples, self.n_features), dtype=np.int32)
        fill_codes(self.order, codes)
        return codes

    def value_at(self, feature: int, j: int) -> float:
        """Return the ``j``-th smallest value of a feature."""
        sample = self.order[feature, j] & SAMPLE
        return float(self.X[self.rows[sample], self.features[feature]])

    def n_left_of_cut(self, feature: int, cut: float) -> int:
        """Return how many samples have a value of at most ``cut`` (a binary search)."""
        low, high = 0, self.n_samples
        while low < high:
            middle = (low + high) // 2
            if self.value_at(feature, middle) <= cut:
                low = middle + 1
            else:
                high = middle
        return low

    def candidate_of(self, feature: int, n_left: int) -> int:
        """Return how many distinct values the ``n_left`` lowest samples have."""
        return int(np.count_nonzero((self.order[feature, :n_left] & TIED) == 0))

    def split(self, feature: int, n_left: int, run: Map = map) -> tuple[SampleSet, SampleSet]:
        """Divide into the ``n_left`` samples lowest in ``feature`` and the rest."""
        is_left = self._is_left(feature, n_left)
        return self._subset(is_left, run), self._subset(~is_left, run)

    def divide(self, column: int, cut: float) -> tuple[SampleSet, SampleSet]:
        """Divide by a cut of a column of ``X``; either part may be empty."""
        is_left = self.X[self.rows, column] <= cut
        return self._subset(is_left, map), self._subset(~is_left, map)

    def part(self, feature: int, n_left: int, side: int) -> SampleSet:
        """Return one part of a split: the left one (0) or the right one (1)."""
        is_left = self._is_left(feature, n_left)
        return self._subset(is_left if side == 0 else ~is_left, map)

    def thinned(self, most: int) -> SampleSet:
        """Return at most ``most`` of the samples, evenly spread over each class."""
        if self.n_samples <= most:
            return self
        is_kept = np.zeros(self.n_samples, dtype=np.bool_)
        is_kept[np.linspace(0, self.n_samples - 1, most).astype(np.intp)] = True
        return self._subset(is_kept, map)

    def with_features(self, kept: NDArray[np.intp]) -> SampleSet:
        """Return the same samples with some of the features."""
        if len(kept) == self.n_features:
            return self
        return replace(
            self,
            features=self.features[kept],
            order=self.order[kept],
            n_distinct=self.n_distinct[kept],
        )

    def _is_left(self, feature: int, n_left: int) -> NDArray[np.bool_]:
        is_left = np.empty(self.n_samples, dtype=np.bool_)
        mark_first(self.order[feature], n_left, is_left)
        return is_left

    def _subset(self, is_kept: NDArray[np.bool_], run: Map) -> SampleSet:
        n_kept = int(np.count_nonzero(is_kept))
        new_index = np.empty(self.n_samples, dtype=np.int32)
        rows = np.empty(n_kept, dtype=self.rows.dtype)
        class_counts = np.empty_like(self.class_counts)
        number_kept(is_kept, self.rows, self.class_counts, new_index, rows, class_counts)
        order = np.empty((self.n_features, n_kept), dtype=np.uint32)
        n_distinct = np.empty(self.n_features, dtype=np.int64)

        def filter_chunk(chunk: slice) -> None:
            filter_order(self.order[chunk], new_index, order[chunk], n_distinct[chunk])

        for _ in run(filter_chunk, _chunks(self.n_features, self.n_samples)):
            pass
        return SampleSet(
            X=self.X,
            rows=rows,
            class_counts=class_counts,
            features=self.features,
            order=order,
            n_distinct=n_distinct,
        )._without_constant_features()

    def _without_constant_features(self) -> SampleSet:
        varies = self.n_distinct > 1
        return self.with_features(np.flatnonzero(varies))


def rank_samples(
    X: NDArray[Any], y: NDArray[np.integer], n_classes: int, run: Map = map
) -> SampleSet:
    """Sort a matrix by class and by every feature.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
        Finite numbers.
    y : integer array of shape (n_rows,)
        Classes ``0..n_classes-1``.
    n_classes : int
        Number of classes.
    run : callable, default=map
        Runs the features' sorts; the ``map`` of a thread pool sorts them in parallel.

    Returns
    -------
    SampleSet
        All rows of ``X``.
    """
    rows = np.argsort(y, kind="stable").astype(np.int32)
    n_columns = X.shape[1]
    order = np.empty((n_columns, len(rows)), dtype=np.uint32)
    n_distinct = np.empty(n_columns, dtype=np.int64)

    def sort_chunk(chunk: slice) -> None:
        columns = np.ascontiguousarray(X[:, chunk].T, dtype=np.float64)[:, rows]
        by_value = np.argsort(columns, axis=1, kind="stable")  # the same on every processor
        pack_order(columns, by_value, order[chunk], n_distinct[chunk])

    for _ in run(sort_chunk, _chunks(n_columns, len(rows))):
        pass
    return SampleSet(
        X=X,
        rows=rows,
        class_counts=np.bincount(y, minlength=n_classes),
        features=np.arange(n_columns, dtype=np.int32),
        order=order,
        n_distinct=n_distinct,
    )._without_constant_features()


def _chunks(n_features: int, n_samples: int) -> list[slice]:
    """Divide the features so that a piece is worth a task and its copy stays small."""
    size = max(1, _VALUES_PER_SORT // max(1, n_samples))
    return [slice(first, first + size) for first in range(0, n_features, size)]


__all__ = ["SAMPLE", "TIED", "SampleSet", "rank_samples"]
