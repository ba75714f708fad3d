"""What a command says: results on stdout, progress on stderr, errors as one line."""

from __future__ import annotations

import json
import os
import shlex
import sys
import time
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from horizontree.terminal import visible

_ASCII = str.maketrans({"├": "|", "└": "`", "│": "|", "─": "-"})
_PLURALS = {"class": "classes", "leaf": "leaves"}
_ROWS_WORTH_A_WORD = 1_000_000


class CommandError(Exception):
    """A request that cannot be carried out: shown as one line, exit code 2."""


def say(text: str = "") -> None:
    """Print lines on stdout, in ASCII drawing characters where the encoding has no others.

    The only control characters that pass are the ends of lines.
    """
    lines = "\n".join(map(visible, text.split("\n")))
    print(_encodable(lines, sys.stdout.encoding))


def say_json(value: object) -> None:
    """Print one JSON object on stdout."""
    print(json.dumps(value, indent=2, allow_nan=False))


def note(text: str) -> None:
    """Print one line on stderr."""
    line = visible(" ".join(text.split("\n")))
    print(_encodable(line, sys.stderr.encoding), file=sys.stderr, flush=True)


def _encodable(text: str, encoding: str | None) -> str:
    codec = encoding or "utf-8"
    try:
        text.encode(codec)
    except UnicodeEncodeError:
        return text.translate(_ASCII).encode(codec, "backslashreplace").decode(codec)
    return text


class ReadingProgress:
    """Tell on stderr that a file is read, and how long it took.

    A terminal hears of every file; a log file only of those with a million rows or more.

    Parameters
    ----------
    path : str
        The file.
    is_wanted : bool
        Whether to say anything at all.
    """

    def __init__(self, path: str, *, is_wanted: bool) -> None:
        self.path = path
        self.is_wanted = is_wanted
        self.n_rows = 0

    def __enter__(self) -> ReadingProgress:
        self._start = time.perf_counter()
        self._is_live = self.is_wanted and sys.stderr.isatty()
        if self._is_live:
            print(f"reading {visible(self.path)} ... ", end="", file=sys.stderr, flush=True)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        seconds = time.perf_counter() - self._start
        result = f"{self.n_rows:,} rows in {seconds:.1f} s" if kind is None else "failed"
        if self._is_live:
            print(result, file=sys.stderr, flush=True)
        elif self.is_wanted and self.n_rows >= _ROWS_WORTH_A_WORD and kind is None:
            note(f"reading {self.path} ... {result}")


def table(rows: Sequence[Sequence[object]]) -> str:
    """Lay rows out in columns: the first to the left, the others to the right."""
    cells = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for first, *rest in cells:
        right = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([first.ljust(widths[0]), *right]).rstrip())
    return "\n".join(lines)


def percent(part: int, whole: int) -> str:
    """Write a share for people: ``97.33 %``, or ``-`` of nothing."""
    return f"{100 * part / whole:.2f} %" if whole else "-"


def ratio(part: int, whole: int) -> float | None:
    """Compute a share for programs: null of nothing."""
    return part / whole if whole else None


def plural(count: int, noun: str) -> str:
    """Write ``1 row``, ``2 rows``, ``3 classes``."""
    several = _PLURALS.get(noun, f"{noun}s")
    return f"{count:,} {noun if count == 1 else several}"


def listing(names: Sequence[object], most: int = 5) -> str:
    """Write ``'a', 'b' and 7 more``."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def suggestion(name: str, known: Sequence[str], noun: str = "columns") -> str:
    """Write a half-sentence that names what the user may have meant."""
    same = [other for other in known if other.strip().lower() == name.strip().lower()]
    close = same or get_close_matches(name, known, n=3)
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"the {noun} are {listing(known, most=10)}" if known else f"there are no {noun}"


def command_line(*words: Any) -> str:
    """Write a command as it can be typed."""
    return shlex.join(["horizontree", *map(os.fspath, words)])
