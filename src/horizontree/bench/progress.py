"""How far a study is, on one line, and how long the rest will take."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TextIO

from horizontree.bench.results_file import FitKey, FitResult
from horizontree.terminal import visible

_SECONDS_BETWEEN_LINES = 60.0  # where the line cannot be rewritten in place
_SECONDS_BETWEEN_UPDATES = 0.2


class Forecast:
    """Expected seconds of a fit, learnt from the fits that are done.

    Another split of the same data set, depth and method tells best. Before there is one, the
    method's pace counts: its seconds for each unit of work so far. One that has only failed takes
    no time.
    """

    def __init__(self, work_of: Callable[[FitKey], float], results: Iterable[FitResult] = ()):
        self._work_of = work_of
        self._seconds: dict[tuple[str, str, int], list[float]] = defaultdict(list)
        self._pace: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._failing: set[str] = set()
        for result in results:
            self.learn(result)

    def learn(self, result: FitResult) -> None:
        """Take a finished fit into account, or one that failed."""
        key = result.key
        if not result.is_done:
            self._failing.add(key.method)
            return
        self._seconds[key.method, key.dataset, key.depth].append(result.seconds)
        pace = self._pace[key.method]
        pace[0] += result.seconds
        pace[1] += self._work_of(key)

    def seconds(self, key: FitKey) -> float | None:
        """Return the expected seconds of a fit; None when nothing like it was seen."""
        seen = self._seconds.get((key.method, key.dataset, key.depth))
        if seen:
            return sum(seen) / len(seen)
        if key.method in self._pace:
            seconds, work = self._pace[key.method]
            return seconds / work * self._work_of(key)
        return 0.0 if key.method in self._failing else None  # it will fail again, at once

    def seconds_left(self, keys: Iterable[FitKey], jobs: int) -> float | None:
        """Return the expected time for all of ``keys`` on ``jobs`` workers."""
        total = 0.0
        for key in keys:
            seconds = self.seconds(key)
            if seconds is None:
                return None
            total += seconds
        return total / jobs


class ProgressLine:
    """``done/total, elapsed, left``: rewritten in place on a terminal, else once a minute."""

    def __init__(self, n_done: int, n_total: int, stream: TextIO | None = None):
        self._stream = stream if stream is not None else sys.stderr
        self._in_place = self._stream.isatty()
        self._n_done, self._n_total = n_done, n_total
        self._start = time.monotonic()
        self._next_time = self._start
        self._width = 0

    def advance(self, n_fits: int, seconds_left: Callable[[], float | None]) -> None:
        """Count ``n_fits`` finished fits, and show the line when it is time."""
        self._n_done += n_fits
        now = time.monotonic()
        if now < self._next_time and self._n_done < self._n_total:
            return
        pause = _SECONDS_BETWEEN_UPDATES if self._in_place else _SECONDS_BETWEEN_LINES
        self._next_time = now + pause
        left = seconds_left()
        text = (
            f"{self._n_done}/{self._n_total} fits, elapsed {duration(now - self._start)}, "
            f"left {'?' if left is None else duration(left)}"
        )
        self._show(text)

    def _show(self, text: str) -> None:
        if self._in_place:
            self._stream.write("\r" + text.ljust(self._width))
            self._width = len(text)
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def note(self, text: str) -> None:
        """Print a line of its own."""
        self.close()
        self._stream.write(visible(text) + "\n")
        self._stream.flush()

    def close(self) -> None:
        """Leave the cursor at the start of a fresh line."""
        if self._in_place and self._width:
            self._stream.write("\n")
            self._width = 0


def duration(seconds: float) -> str:
    """Write seconds as ``h:mm:ss``.

    >>> duration(3725.4)
    '1:02:05'
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
