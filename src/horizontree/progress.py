"""The progress line of ``verbose=1``."""

from __future__ import annotations

import sys
import time
from typing import TextIO

_WIDTH = 24


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
        self.is_terminal = self.stream.isatty()
        self.has_line = False

    def update(self, phase: str, done: int, total: int, cost: int | None) -> None:
        """Show the state; a log gets at most one line in ten seconds."""
        now = time.monotonic()
        if now - self.shown < (0.1 if self.is_terminal else 10.0):
            return
        self.shown = now
        filled = _WIDTH * done // max(total, 1)
        bar = "█" * filled + "·" * (_WIDTH - filled)
        text = f"{self.name} {bar} {done}/{total} nodes, {phase}"
        if cost is not None:
            text += f", cost {cost / self.cost_scale:,.6g}"
        self._write(f"{text}, {now - self.started:.1f} s")

    def close(self, summary: str) -> None:
        """End with a summary that stays."""
        self._write(f"{self.name}: {summary}")
        if self.is_terminal:
            self.stream.write("\n")
        self.stream.flush()

    def _write(self, text: str) -> None:
        if self.is_terminal:
            self.stream.write(f"\r\x1b[K{text}")
        else:
            self.stream.write(f"{text}\n")
        self.stream.flush()
