"""A table of fits on disk that survives being killed at any moment.

One line a fit, flushed as soon as the fit is done. A line without its end is the trace of a
kill: it is discarded, and the fit is done again. Beside the table, ``<name>.runs.json`` keeps
what was asked for and on which machine, so that a report can say what is missing.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from horizontree.atomic_file import replacing

try:
    import fcntl
except ImportError:  # not on Windows: there, two studies on one file are not noticed
    fcntl = None  # type: ignore[assignment]


class ResultsError(Exception):
    """The results file cannot be used; the message says why."""


class FitKey(NamedTuple):
    """What identifies a fit."""

    method: str
    dataset: str
    split: int
    depth: int


@dataclass(frozen=True)
class FitResult:
    """One row of the table."""

    method: str
    dataset: str
    split: int
    depth: int
    n_train: int
    n_features: int
    n_classes: int
    train_accuracy: float
    test_accuracy: float
    train_errors: int
    n_splits_used: int
    seconds: float
    time_limit: float  # infinite without one
    status: str
    note: str
    seed: int
    version: str

    @property
    def key(self) -> FitKey:
        """What identifies the fit."""
        return FitKey(self.method, self.dataset, self.split, self.depth)

    @property
    def size(self) -> tuple[int, int, int]:
        """Rows to train on, features and classes."""
        return self.n_train, self.n_features, self.n_classes

    @property
    def is_done(self) -> bool:
        """Whether there is a tree; a failed fit has only a note that says why."""
        return self.status != FAILED

    def check(self) -> None:
        """Refuse figures that no fit has; one that failed has its split and its depth."""
        if self.split < 0:
            raise ValueError(f"split is {self.split}")
        if self.depth < 1:
            raise ValueError(f"depth is {self.depth}")
        if not self.is_done:
            return
        for name in ("train_accuracy", "test_accuracy"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, not a share")
        if not 0 <= self.seconds < math.inf:
            raise ValueError(f"seconds are {self.seconds}")


FAILED = "failed"
COLUMNS = tuple(field.name for field in fields(FitResult))
_PARSERS: list[type] = [
    {"int": int, "float": float, "str": str}[str(field.type)] for field in fields(FitResult)
]


@dataclass(frozen=True)
class Plan:
    """Which fits a run of the study asks for.

    The splits are ``n_splits`` from ``first_split`` on. ``splits_at[depth]`` overrides
    ``n_splits``; JSON has text keys, hence pairs.
    """

    methods: tuple[str, ...]
    datasets: tuple[str, ...]
    depths: tuple[int, ...]
    n_splits: int
    splits_at: tuple[tuple[int, int], ...] = ()
    first_split: int = 0

    def fits(self) -> Iterator[FitKey]:
        """Yield the fits, split by split: a study cut short has whole splits behind it."""
        n_splits_at = dict.fromkeys(self.depths, self.n_splits) | dict(self.splits_at)
        for number in range(max((n_splits_at[depth] for depth in self.depths), default=0)):
            for dataset in self.datasets:
                for depth in self.depths:
                    if number < n_splits_at[depth]:
                        for method in self.methods:
                            yield FitKey(method, dataset, self.first_split + number, depth)


@dataclass(frozen=True)
class Run:
    """What was asked for, with which versions, and where.

    ``data`` holds the name and the checksum of each data set that could be read. Runs of earlier
    versions have none.
    """

    command: str
    machine: str
    versions: tuple[str, ...]
    plan: Plan
    data: tuple[tuple[str, int], ...] = ()


def read_results(path: Path) -> list[FitResult]:
    """Return the whole lines of the table, the last of each fit; none when there is no file."""
    if not path.is_file():
        return []
    return _parse(_whole_lines(path.read_bytes()), path.name)


def _whole_lines(content: bytes) -> bytes:
    return content[: content.rfind(b"\n") + 1]


def _parse(content: bytes, name: str) -> list[FitResult]:
    text = content.decode("utf-8", errors="replace")
    try:
        lines = list(csv.reader(io.StringIO(text, newline="")))
    except csv.Error:  # not a table at all
        lines = [[]]
    if not lines:
        return []
    if tuple(lines[0]) != COLUMNS:
        raise ResultsError(
            f"{name} is not a results file of this study: its first line is not the list of "
            "columns. Choose another file with --results."
        )
    results: dict[FitKey, FitResult] = {}
    for number, cells in enumerate(lines[1:], start=2):
        try:
            if len(cells) != len(COLUMNS):
                raise ValueError(f"{len(cells)} cells instead of {len(COLUMNS)}")
            parsed = [parse(cell) for parse, cell in zip(_PARSERS, cells, strict=True)]
            result = FitResult(*parsed)
            result.check()
        except ValueError as error:
            raise ResultsError(
                f"{name}, line {number} is damaged ({error}). Delete that line and run again."
            ) from error
        results[result.key] = result
    return list(results.values())


class ResultsWriter:
    """Appends rows to the table, each flushed before `append` returns."""

    def __init__(self, file: BinaryIO, done: list[FitResult]):
        self._file = file
        self.done = done
        """The fits that were there at the start."""

    def append(self, result: FitResult) -> None:
        """Write one row."""
        self._file.write(_csv_line(astuple(result)))
        self._file.flush()


@contextmanager
def open_results(path: Path) -> Iterator[ResultsWriter]:
    """Open the table for appending; a half-written last line is cut off first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+b") as file:
        _lock(file, path.name)
        file.seek(0)
        content = file.read()
        whole = _whole_lines(content)
        done = _parse(whole, path.name)
        if len(whole) < len(content):
            file.truncate(len(whole))
        if not whole:
            file.write(_csv_line(COLUMNS))
            file.flush()
        yield ResultsWriter(file, done)


def _lock(file: BinaryIO, name: str) -> None:
    if fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ResultsError(f"Another study is writing to {name}. Wait, or stop it.") from error


def _csv_line(cells: tuple[object, ...]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue().encode("utf-8")


def read_runs(results: Path) -> list[Run]:
    """Return what was asked for so far; none when it was not recorded."""
    path = results.with_suffix(".runs.json")
    if not path.is_file():
        return []
    try:
        return [
            Run(
                command=run["command"],
                machine=run["machine"],
                versions=tuple(run["versions"]),
                plan=_plan_from(run["plan"]),
                data=tuple((name, checksum) for name, checksum in run.get("data", ())),
            )
            for run in json.loads(path.read_text("utf-8"))
        ]
    except (ValueError, TypeError, KeyError) as error:
        raise ResultsError(
            f"{path.name} is damaged ({error}). It only records what was asked for: delete it."
        ) from error


def _plan_from(plan: dict[str, Any]) -> Plan:
    pairs = plan.pop("splits_at")
    lists = {key: tuple(value) for key, value in plan.items() if isinstance(value, list)}
    return Plan(**{**plan, **lists, "splits_at": tuple((d, n) for d, n in pairs)})


def known_data(runs: Iterable[Run]) -> dict[str, int]:
    """Return the checksum of each data set that was recorded last."""
    return {name: checksum for run in runs for name, checksum in run.data}


def record_run(results: Path, run: Run) -> None:
    """Remember what was asked for; asking again, of the same data, changes nothing."""
    runs = read_runs(results)
    known = known_data(runs)
    is_there = any(replace(other, data=run.data) == run for other in runs)
    if not is_there or known | dict(run.data) != known:
        entries = [asdict(entry) for entry in [*runs, run]]
        write_text(results.with_suffix(".runs.json"), json.dumps(entries, indent=1) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a file in one piece: a kill leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write_text(text, "utf-8")
