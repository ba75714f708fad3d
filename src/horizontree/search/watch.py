"""Watching over a search: when to stop, and telling how far it is."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol


class Reporter(Protocol):
    """Shows progress to somebody."""

    def update(self, what: str, done: int, total: int, cost: int | None, bound: int | None) -> None:
        """Show that ``done`` of ``total`` of something are done; the best cost, and a bound."""


class Watch:
    """Knows whether a search is to stop, and why.

    Parameters
    ----------
    time_limit : float or None
        Seconds from now, but for those that are spent.
    reporter : Reporter or None
        Is told of progress.
    spent : float
        Seconds of the limit that are gone already.
    """

    def __init__(
        self,
        time_limit: float | None = None,
        reporter: Reporter | None = None,
        spent: float = 0.0,
    ) -> None:
        self._deadline = None if time_limit is None else time.monotonic() + time_limit - spent
        self._reporter = reporter
        self._is_interrupted = False
        self._was_asked = False
        self._was_heard = False
        self._has_struck = False
        self._last: tuple[str, int, int, int | None, int | None] | None = None

    @property
    def has_limit(self) -> bool:
        """Whether there is a time limit."""
        return self._deadline is not None

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the limit strikes, at least 0; None without a limit."""
        return None if self._deadline is None else max(0.0, self._deadline - time.monotonic())

    @property
    def status(self) -> str:
        """``"interrupted"``, ``"time_limit"`` (a search was told to stop) or ``"completed"``."""
        if self._was_heard:
            return "interrupted"
        return "time_limit" if self._has_struck else "completed"

    def should_stop(self) -> bool:
        """Return whether to end now with the best tree so far; keeps the progress alive."""
        if self._reporter is not None and self._last is not None:
            self._reporter.update(*self._last)
        if self._deadline is not None and time.monotonic() >= self._deadline:
            self._has_struck = True
        self._was_asked = True
        if self._is_interrupted:  # once heard, in any thread, it stays so
            self._was_heard = True
        return self._was_heard or self._has_struck

    def strike(self) -> None:
        """Say that the time was up, by the clock of another package."""
        self._has_struck = True

    def report(
        self,
        what: str,
        done: int,
        total: int,
        cost: int | None = None,
        bound: int | None = None,
    ) -> None:
        """Tell the reporter."""
        self._last = (what, done, total, cost, bound)
        if self._reporter is not None:
            self._reporter.update(*self._last)

    @contextmanager
    def catch_interrupt(self) -> Iterator[None]:
        """Turn the first Ctrl-C into a wish to stop; the second one interrupts as usual.

        Where no search ever asked whether to stop, the signal is handed on to the host in
        the end. Only the main thread receives signals; elsewhere nothing is touched.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        previous = signal.getsignal(signal.SIGINT)

        def stop(signum: int, frame: FrameType | None) -> None:
            self._is_interrupted = True
            signal.signal(signal.SIGINT, previous)

        if previous in (None, signal.SIG_IGN):  # not Python's, or not wanted: leave it alone
            yield
            return
        signal.signal(signal.SIGINT, stop)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, previous)
        if self._is_interrupted and not self._was_asked:
            signal.raise_signal(signal.SIGINT)


class QuietWatch(Watch):
    """Watches over a part of a search: it stops with the whole, and tells nothing.

    Whether a limit has struck, and what it was, only the watch over the whole knows.

    Parameters
    ----------
    whole : Watch
        Watches over the whole search.
    """

    def __init__(self, whole: Watch) -> None:
        super().__init__()
        self._whole = whole

    def should_stop(self) -> bool:
        """Return whether the whole search is to end."""
        return self._whole.should_stop()
