"""The study: fits of each method under the paper's protocol, one row a fit.

A fit is a (method, data set, split, depth); its row is on disk as soon as it is done. The study
can be stopped at any moment (Ctrl-C, a kill, a power cut): the same request goes on where it
stopped. The test rows are read once, after the fit.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from horizontree.bench.corpus import (
    CorpusError,
    Dataset,
    checksum,
    list_datasets,
    load_dataset,
    split_rows,
)
from horizontree.bench.machine import machine, versions
from horizontree.bench.methods import METHODS, limit_of
from horizontree.bench.progress import Forecast, ProgressLine
from horizontree.bench.results_file import (
    FAILED,
    FitKey,
    FitResult,
    Plan,
    ResultsWriter,
    Run,
    known_data,
    open_results,
    read_runs,
    record_run,
)

_LONGEST_NOTE = 400


class StudyError(Exception):
    """The study cannot go on; the message says why."""


def planned_fits(plan: Plan) -> list[FitKey]:
    """Return the fits that a plan asks for: those that the methods can do."""
    return [key for key in plan.fits() if METHODS[key.method].applies_to(key.depth)]


def fit_one(shared: Path, key: FitKey, time_limit: float) -> FitResult:
    """Do one fit and measure it. The seed is the number of the split.

    A fit that raises an error becomes a row that says so.
    """
    try:
        data = _dataset(shared, key.dataset)
    except CorpusError as error:
        return _failed(key, error, _size_of(shared, key, time_limit))
    train, test = split_rows(data.name, len(data.y), key.split)
    X_train, y_train = data.X[train], data.y[train]
    method = METHODS[key.method]
    limit = limit_of(key.method, time_limit)
    about: dict[str, Any] = {
        "n_train": len(train),
        "n_features": data.X.shape[1],
        "n_classes": len(data.class_names),
        "time_limit": limit,
        "seed": key.split,
    }
    try:
        _warm_up(key.method)
        model = method.make(key.depth, key.split, None if math.isinf(limit) else limit)
        start = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        about["version"] = method.version
        train_errors = int(np.count_nonzero(model.predict(X_train) != y_train))
        if getattr(model, "n_errors_", train_errors) != train_errors:
            raise StudyError(
                f"n_errors_ is {model.n_errors_}, but the predictions make {train_errors} errors"
            )
        test_errors = int(np.count_nonzero(model.predict(data.X[test]) != data.y[test]))
    except Exception as error:
        return _failed(key, error, about)
    return FitResult(
        *key,
        train_accuracy=round(1 - train_errors / len(train), 8),
        test_accuracy=round(1 - test_errors / len(test), 8),
        train_errors=train_errors,
        n_splits_used=int(model.tree_.n_leaves) - 1,
        seconds=round(seconds, 4),
        status=str(getattr(model, "status_", "completed")),
        note="",
        **about,
    )


def _holds_at(result: FitResult, time_limit: float) -> bool:
    """Tell whether a fit under another time limit would have been the same under this one."""
    if math.isinf(result.time_limit) or result.time_limit == time_limit:
        return True
    return result.status != "time_limit" and result.seconds <= time_limit


def _failed(key: FitKey, error: Exception, about: dict[str, Any]) -> FitResult:
    note = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_NOTE]
    return FitResult(
        *key,
        train_accuracy=math.nan,
        test_accuracy=math.nan,
        train_errors=-1,
        n_splits_used=-1,
        seconds=math.nan,
        status=FAILED,
        note=note,
        **{"version": "", **about},
    )


@lru_cache(maxsize=2)
def _dataset(shared: Path, name: str) -> Dataset:
    return load_dataset(shared, name)


@cache
def _warm_up(name: str) -> None:
    """Load or compile the kernels, so that no fit's seconds count that."""
    generator = np.random.default_rng(0)
    X, y = generator.random((64, 3)), generator.integers(0, 3, 64)
    method = METHODS[name.removesuffix("-long")]
    method.make(min(max(3, method.depths[0]), method.depths[1]), 0, 1.0).fit(X, y).predict(X)


def _start_worker() -> None:
    """Leave Ctrl-C to the parent (an estimator would keep a half-searched tree), die with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def die_with_parent() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=die_with_parent, daemon=True).start()


class Lane:
    """One worker process that does one fit at a time; when it dies, only that fit is lost."""

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def submit(self, *arguments: Any) -> Future[FitResult]:
        """Start a fit."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=context, initializer=_start_worker)
        return self._pool.submit(fit_one, *arguments)

    def end(self) -> None:
        """End the process at once; the next fit gets a new one."""
        if self._pool is not None:
            for process in list((self._pool._processes or {}).values()):
                process.kill()
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


def fits_of(
    keys: Sequence[FitKey], *, shared: Path, time_limit: float, lanes: Sequence[Lane]
) -> Iterator[FitResult]:
    """Yield the results as they come; a fit whose process dies or overstays is a failed one."""
    waiting, free = deque(keys), list(lanes)
    running: dict[Future[FitResult], tuple[FitKey, Lane, float]] = {}
    try:
        while waiting or running:
            while waiting and free:
                key, lane = waiting.popleft(), free.pop()
                last = time.monotonic() + _patience(limit_of(key.method, time_limit))
                running[lane.submit(shared, key, time_limit)] = key, lane, last
            next_end = min(last for _, _, last in running.values()) - time.monotonic()
            pause = None if math.isinf(next_end) else max(next_end, 0.1)
            done, _ = wait(running, timeout=pause, return_when=FIRST_COMPLETED)
            overdue = {f for f, (_, _, last) in running.items() if last < time.monotonic()} - done
            for fit in done | overdue:
                key, lane, _ = running.pop(fit)
                free.append(lane)
                if fit in done and fit.exception() is None:
                    yield fit.result()
                    continue
                lane.end()
                if fit in overdue:
                    reason = StudyError("did not heed its time limit, and was ended")
                elif isinstance(fit.exception(), BrokenProcessPool):
                    reason = StudyError("the process died (out of memory?)")
                else:
                    raise fit.exception() or StudyError(f"{key} has no result")
                yield _failed(key, reason, _size_of(shared, key, time_limit))
    finally:
        for lane in lanes:
            lane.end()


def _patience(limit: float) -> float:
    """Seconds after which a fit that should have ended is ended."""
    return limit if math.isinf(limit) else 10 * limit + 60


def _size_of(shared: Path, key: FitKey, time_limit: float) -> dict[str, Any]:
    """Return what is known of a fit that nobody got to."""
    sizes = {"n_train": 0, "n_features": 0, "n_classes": 0}
    with suppress(CorpusError):
        for info in list_datasets(shared, group=None):
            if info.name == key.dataset:
                sizes = {
                    "n_train": 3 * info.n_samples // 4,
                    "n_features": info.n_features,
                    "n_classes": info.n_classes,
                }
    return {**sizes, "time_limit": limit_of(key.method, time_limit), "seed": key.split}


def run_fits(
    results: Iterable[FitResult],
    keys: Sequence[FitKey],
    *,
    jobs: int,
    writer: ResultsWriter,
    forecast: Forecast,
    progress: ProgressLine,
) -> int:
    """Append the rows of fits as they come, and return how many failed.

    The rows of a data set must be of the same data: another size than before is an error.
    """
    n_failed, left = 0, dict.fromkeys(keys)
    sizes = {row.dataset: row.size for row in writer.done if row.is_done}
    try:
        for result in results:
            del left[result.key]
            if result.is_done and sizes.setdefault(result.dataset, result.size) != result.size:
                raise StudyError(
                    f"{result.dataset} is other data than in the fits that are there: training "
                    f"rows, features and classes are {result.size}, and were "
                    f"{sizes[result.dataset]}; name another file with --results"
                )
            writer.append(result)
            forecast.learn(result)
            if not result.is_done:
                n_failed += 1
                progress.note(f"failed: {' '.join(map(str, result.key))}: {result.note}")
            progress.advance(1, lambda: forecast.seconds_left(left, jobs))
    finally:
        progress.close()
    return n_failed


def checksums(shared: Path, names: Iterable[str]) -> dict[str, int]:
    """Return the checksums of data sets; those that cannot be read have none."""
    found = {name: checksum(shared, name) for name in names}
    return {name: value for name, value in found.items() if value is not None}


def check_data(data: dict[str, int], known: dict[str, int], done: Iterable[FitResult]) -> None:
    """Refuse data sets of which there are fits, if their content is not what it was then.

    Fits of runs without checksums say nothing, nor do those that failed: their data may have been
    mended since.
    """
    for name in dict.fromkeys(row.dataset for row in done if row.is_done):
        if name in data and known.get(name, data[name]) != data[name]:
            raise StudyError(
                f"{name} is other data than in the fits that are there: its file has changed "
                "since; name another file with --results"
            )


def run_study(
    plan: Plan, *, shared: Path, results: Path, time_limit: float, jobs: int, command: str
) -> tuple[int, int]:
    """Do what is missing of the plan, and return how many fits failed, and of how many."""
    n_samples = {info.name: info.n_samples for info in list_datasets(shared, group=None)}

    def work_of(key: FitKey) -> float:
        return n_samples.get(key.dataset, 1000) * key.depth + 500.0 * float(2**key.depth)

    def largest_first(key: FitKey) -> tuple[object, ...]:  # a long fit must not come alone, last
        return key.split, -n_samples[key.dataset], key.dataset, -key.depth

    with open_results(results) as writer:
        data = checksums(shared, plan.datasets)
        check_data(data, known_data(read_runs(results)), writer.done)
        record_run(results, Run(command, machine(), versions(), plan, tuple(data.items())))
        done = {
            result.key: result
            for result in writer.done
            if result.is_done and _holds_at(result, time_limit)
        }
        asked = planned_fits(plan)
        keys = sorted((key for key in asked if key not in done), key=largest_first)
        n_failed = run_fits(
            fits_of(
                keys, shared=shared, time_limit=time_limit, lanes=[Lane() for _ in range(jobs)]
            ),
            keys,
            jobs=jobs,
            writer=writer,
            forecast=Forecast(work_of, done.values()),
            progress=ProgressLine(len(asked) - len(keys), len(asked)),
        )
        return n_failed, len(keys)
