"""Cuts of features by minimum description length (Fayyad and Irani 1993)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import threshold_between
from horizontree.search.watch import Watch

_CELLS_PER_PIECE = 1 << 20
"""Counts that are looked at between two looks at the clock: some hundredths of a second."""


@dataclass(frozen=True, eq=False)
class Runs:
    """The rows of a feature in ascending order, divided at its boundary points.

    A boundary point is between two values whose rows are not all of one and the same class. No
    other cut can be best (Fayyad and Irani, theorem 1): among rows of one class the mean entropy
    is strictly concave.

    ::

        values       1 2 2 | 3 | 3.5 4 | 5      a value is in one run only
        classes      a a a | b |  a  a | b
        below[run]   0       3   4       6   7  rows before it, here of both classes together

    Parameters
    ----------
    below : int64 array of shape (n_runs + 1, n_classes)
        Rows of each class before each run; all rows at the end.
    lowest, highest : float64 arrays of shape (n_runs,)
        Least and greatest value of each run.
    """

    below: NDArray[np.int64]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]

    @classmethod
    def of(cls, column: NDArray[np.float64], labels: NDArray[np.intp], n_classes: int) -> Self:
        """Sort a feature and find its runs.

        Parameters
        ----------
        column : float64 array of shape (n_samples,)
            Its values.
        labels : intp array of shape (n_samples,)
            Classes ``0..n_classes-1``.
        n_classes : int
            Number of classes.

        Returns
        -------
        Runs
            At least one.
        """
        order = np.argsort(column, kind="stable")
        values, classes = column[order], labels[order]
        starts = np.flatnonzero(np.concatenate([[True], values[1:] > values[:-1]]))
        least = np.minimum.reduceat(classes, starts)  # of the rows that have the value
        most = np.maximum.reduceat(classes, starts)
        is_pure = least == most
        is_boundary = ~(is_pure[1:] & is_pure[:-1] & (least[1:] == least[:-1]))
        starts = starts[np.concatenate([[True], is_boundary])]
        lengths = np.diff(starts, append=len(values))
        cells = np.repeat(np.arange(len(starts)), lengths) * n_classes + classes
        below = np.zeros((len(starts) + 1, n_classes), dtype=np.int64)
        counts = np.bincount(cells, minlength=len(starts) * n_classes)
        np.cumsum(counts.reshape(len(starts), n_classes), axis=0, out=below[1:])
        return cls(below, values[starts], values[starts + lengths - 1])

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.lowest)

    def threshold_before(self, run: int) -> float:
        """Return the threshold between a run and the one before it."""
        return threshold_between(float(self.highest[run - 1]), float(self.lowest[run]))


@dataclass(eq=False)
class _CutFeature:
    """A feature in the making; what is left to do is a queue of segments, not a recursion.

    Parameters
    ----------
    column : float64 array of shape (n_samples,)
        Its values.
    thresholds : list of float
        The cuts so far.
    segments : deque of (int, int), or None
        First run, and last run plus one, of what is still to be looked at, the widest cuts
        first; None before the first look.
    """

    column: NDArray[np.float64]
    thresholds: list[float] = field(default_factory=list)
    segments: deque[tuple[int, int]] | None = None

    def advance(self, labels: NDArray[np.intp], n_classes: int, share: Watch, watch: Watch) -> None:
        """Look at one segment at least, and at more until ``share`` or ``watch`` says stop.

        The runs are found anew each time: that is quick, and kept for all features they would
        be large.
        """
        runs = Runs.of(self.column, labels, n_classes)
        if self.segments is None:
            self.segments = deque([(0, runs.n_runs)])
        while self.segments:
            first, last = self.segments[0]
            cut = best_cut(runs, first, last, watch)
            if cut is None:
                return
            self.segments.popleft()
            if cut > first:
                self.thresholds.append(runs.threshold_before(cut))
                self.segments += [(first, cut), (cut, last)]
            if share.should_stop() or watch.should_stop():
                return


def cut_features(
    X: NDArray[np.float64], y: NDArray[np.intp], watch: Watch
) -> tuple[list[tuple[int, float]], bool]:
    """Cut all features, and say whether there was time for all of it.

    Each feature gets an even share of the time that is left, but one look at least, so that a
    short time is over before the last ones; those that need more get what others did not use.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features)
        Finite numbers.
    y : intp array of shape (n_samples,)
        Classes from 0.
    watch : Watch
        Says when to stop.

    Returns
    -------
    questions : list of (int, float)
        Features and thresholds, ascending.
    is_complete : bool
        Whether the watch left time for every cut.
    """
    n_classes = int(y.max()) + 1
    features = [_CutFeature(column) for column in X.T]
    waiting = features
    while waiting and not watch.should_stop():
        for n_done, feature in enumerate(waiting):
            if watch.should_stop():
                break
            left = watch.seconds_left
            share = Watch(None if left is None else left / (len(waiting) - n_done))
            feature.advance(y, n_classes, share, watch)
        waiting = [feature for feature in waiting if feature.segments is None or feature.segments]
    questions = [(f, cut) for f, cut_one in enumerate(features) for cut in cut_one.thresholds]
    return sorted(questions), not waiting


def best_cut(runs: Runs, first: int, last: int, watch: Watch) -> int | None:
    """Find the cut of a segment that lowers the entropy of its classes most.

    Parameters
    ----------
    runs : Runs
        The feature.
    first, last : int
        The segment is the runs from ``first`` until before ``last``.
    watch : Watch
        Is asked between pieces of a long segment.

    Returns
    -------
    int or None
        The first run above the cut; ``first`` when no cut is worth its price, None when the
        watch said stop before all were seen.
    """
    below, before = runs.below, runs.below[first]
    every = below[last] - before
    n_samples = int(every.sum())
    best, best_mean = first, np.inf
    n_runs_per_piece = max(1, _CELLS_PER_PIECE // len(every))
    for start in range(first + 1, last, n_runs_per_piece):
        if start > first + 1 and watch.should_stop():
            return None
        low = below[start : min(start + n_runs_per_piece, last)] - before
        n_low = low.sum(axis=1)
        high_bits = (n_samples - n_low) * entropy_of(every - low)
        mean = (n_low * entropy_of(low) + high_bits) / n_samples
        at = int(np.argmin(mean))
        if mean[at] < best_mean:  # equal entropy: the lowest cut
            best, best_mean = start + at, float(mean[at])
    if best == first or not _is_worth_its_price(every, below[best] - before, best_mean):
        return first
    return best


def _is_worth_its_price(
    every: NDArray[np.int64], low: NDArray[np.int64], mean_entropy: float
) -> bool:
    """Return whether a cut saves more bits than it takes to write down (equal: it does not)."""
    n_samples = int(every.sum())
    parts = np.stack([every, low, every - low])
    n_classes, entropy = np.count_nonzero(parts, axis=1), entropy_of(parts)
    gain = entropy[0] - mean_entropy
    bits = n_classes * entropy
    k = float(n_classes[0])
    ways = k * np.log2(3.0) + np.log2(1 - 2 * 3.0**-k)  # log2(3^k - 2), for any k
    price = ways - (bits[0] - bits[1] - bits[2])
    return bool(gain > (np.log2(n_samples - 1) + price) / n_samples)


def entropy_of(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the entropy of each row of class counts, in bits."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logs = np.log2(share, where=share > 0, out=np.zeros_like(share))
    entropy: NDArray[np.float64] = -(share * logs).sum(axis=1)
    return entropy
