"""The progress line of ``verbose=1``."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from typing import TextIO

from horizontree.terminal import is_terminal

_WIDTH = 10


class ProgressLine:
    """One line on a terminal, redrawn in place; in a log, a line now and then.

    Parameters
    ----------
    name : str
        What is being fitted.
    cost_scale : int
        Units of cost in one training error.
    stream : text stream, optional
        Where to write; standard error by default.
    """

    def __init__(self, name: str, cost_scale: int, stream: TextIO | None = None) -> None:
        self.name = name
        self.cost_scale = cost_scale
        self.stream = stream if stream is not None else sys.stderr
        self.started = self.shown = time.monotonic()
        self.is_terminal = is_terminal(self.stream)
        self.lock = threading.Lock()

    def update(self, what: str, done: int, total: int, cost: int | None, bound: int | None) -> None:
        """Show the state; a log gets at most one line in ten seconds.

        A total of 0 is one that nobody knows.
        """
        with self.lock:
            now = time.monotonic()
            if now - self.shown < (0.1 if self.is_terminal else 10.0):
                return
            self.shown = now
            text = f"{self.name} {done:,} {what}"
            if total > 0:
                filled = _WIDTH * done // total
                bar = "█" * filled + "·" * (_WIDTH - filled)
                text = f"{self.name} {bar} {done}/{total} {what}"
            if cost is not None:
                text += f", cost {round(cost / self.cost_scale, 2):,}"
            if cost is not None and bound is not None:
                gap = (cost - bound) / cost if cost else 0.0
                text += f", bound {round(bound / self.cost_scale, 2):,}, gap {gap:.1%}"
            self._write(f"{text}, {now - self.started:.1f} s")

    def close(self, summary: str) -> None:
        """End with a summary that stays."""
        with self.lock:
            self._write(f"{self.name}: {summary}", end="\n")

    def _write(self, text: str, end: str = "") -> None:
        if self.stream is None:  # a process without standard error
            return
        if self.is_terminal:
            columns = shutil.get_terminal_size().columns
            self.stream.write(f"\r\x1b[K{text[: columns - 1]}{end}")
        else:
            self.stream.write(f"{text}\n")
        self.stream.flush()
