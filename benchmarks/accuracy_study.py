"""The accuracy study: training and test accuracy of each method under the paper's protocol.

    python benchmarks/accuracy_study.py                            the study, normal mode
    python benchmarks/accuracy_study.py --methods mh-deoct-long --splits 3 --splits-at 8=1
    python benchmarks/accuracy_study.py --report                   only write the report again

Each fit is a (data set, split, depth, method); its row is on disk as soon as it is done. The
study can be stopped at any moment (Ctrl-C, a kill, a power cut): the same command goes on
where it stopped. The test set is read once, after the fit.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from accuracy_picture import write_picture
from accuracy_report import write_report
from corpus import CorpusError, Dataset, list_datasets, load_dataset, shared_folder, split_rows
from machine import machine, versions
from progress import Forecast, ProgressLine
from results_file import (
    FitKey,
    FitResult,
    Plan,
    ResultsError,
    ResultsWriter,
    Run,
    open_results,
    read_results,
    read_runs,
    record_run,
)

DEPTHS = (2, 3, 4, 8)
N_SPLITS = 10
FIRST_SPLIT = 10  # 0 to 9 are for development: choices were made with their accuracies in sight
NORMAL_METHODS = ("cart-sklearn", "cart", "mh-deoct", "horizon")
DEFAULT_RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results" / "accuracy.csv"


class StudyError(Exception):
    """The study cannot go on; the message says why."""


@dataclass(frozen=True)
class Method:
    """How to make a method's estimator from a depth and a seed."""

    library: str
    make: Callable[[int, int], Any]

    @property
    def version(self) -> str:
        """Library and version, for the table."""
        if self.library == "horizontree":
            from horizontree._version import __version__

            return f"horizontree {__version__}"
        return f"{self.library} {version(self.library)}"


def _sklearn_cart(depth: int, seed: int) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=depth, random_state=seed)


def _ours(class_name: str, **settings: Any) -> Method:
    def make(depth: int, seed: int) -> Any:
        import horizontree

        if not hasattr(horizontree, class_name):
            raise StudyError(f"horizontree has no {class_name}: leave that method out.")
        random = {} if class_name == "CARTClassifier" else {"random_state": seed, "n_jobs": 1}
        return getattr(horizontree, class_name)(max_depth=depth, **settings, **random)

    return Method("horizontree", make)


METHODS = {
    "cart-sklearn": Method("scikit-learn", _sklearn_cart),
    "cart": _ours("CARTClassifier"),
    "deoct": _ours("DEOCTClassifier"),
    "mh-deoct": _ours("MHDEOCTClassifier"),
    "deoct-long": _ours("DEOCTClassifier", mode="long"),
    "mh-deoct-long": _ours("MHDEOCTClassifier", mode="long"),
    "horizon": _ours("HorizonTreeClassifier"),
    "ls-oct": _ours("LSOCTClassifier"),
    "quant-bnb": _ours("QuantBnBClassifier", time_limit=60.0),
}


def fit_one(shared: Path, key: FitKey) -> FitResult:
    """Do one fit and measure it. The seed is the number of the split."""
    data = _dataset(shared, key.dataset)
    train, test = split_rows(data.name, len(data.y), key.split)
    X_train, y_train = data.X[train], data.y[train]
    _warm_up(key.method)
    model = METHODS[key.method].make(key.depth, key.split)
    start = time.perf_counter()
    model.fit(X_train, y_train)
    seconds = time.perf_counter() - start

    train_errors = int(np.count_nonzero(model.predict(X_train) != y_train))
    if getattr(model, "n_errors_", train_errors) != train_errors:
        raise StudyError(
            f"n_errors_ is {model.n_errors_}, but the predictions make {train_errors} errors"
        )
    test_errors = int(np.count_nonzero(model.predict(data.X[test]) != data.y[test]))
    return FitResult(
        *key,
        n_train=len(train),
        n_features=data.X.shape[1],
        n_classes=len(data.class_names),
        train_accuracy=round(1 - train_errors / len(train), 8),
        test_accuracy=round(1 - test_errors / len(test), 8),
        train_errors=train_errors,
        n_splits_used=int(model.tree_.n_leaves) - 1,
        seconds=round(seconds, 4),
        status=str(getattr(model, "status_", "completed")),
        seed=key.split,
        version=METHODS[key.method].version,
    )


@lru_cache(maxsize=2)
def _dataset(shared: Path, name: str) -> Dataset:
    return load_dataset(shared, name)


@cache
def _warm_up(method: str) -> None:
    """Load or compile the kernels, so that no fit's seconds count that."""
    generator = np.random.default_rng(0)
    X, y = generator.random((64, 3)), generator.integers(0, 3, 64)
    METHODS[method.removesuffix("-long")].make(3, 0).fit(X, y).predict(X)


def _start_worker() -> None:
    """Leave Ctrl-C to the parent (an estimator would keep a half-searched tree), die with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def die_with_parent() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=die_with_parent, daemon=True).start()


@contextmanager
def worker_pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Worker processes that are ended at once when the study is stopped."""
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)
    try:
        yield pool
    except BaseException:
        for worker in multiprocessing.active_children():
            worker.terminate()
        pool.shutdown(cancel_futures=True)
        raise
    pool.shutdown()


def run_fits(
    keys: Sequence[FitKey],
    *,
    shared: Path,
    jobs: int,
    writer: ResultsWriter,
    forecast: Forecast,
    progress: ProgressLine,
) -> int:
    """Do the fits, append their rows, and return how many failed."""
    n_failed, left = 0, dict.fromkeys(keys)
    try:
        with worker_pool(jobs) as pool:
            fits = {pool.submit(fit_one, shared, key): key for key in keys}
            for fit in as_completed(fits):
                key = fits[fit]
                del left[key]
                try:
                    result = fit.result()
                except BrokenProcessPool as error:
                    raise StudyError("A worker died (out of memory?). Run it again.") from error
                except Exception as error:
                    n_failed += 1
                    progress.note(f"failed: {' '.join(map(str, key))}: {error!r}")
                    continue
                writer.append(result)
                forecast.learn(result)
                progress.advance(1, lambda: forecast.seconds_left(left, jobs))
    finally:
        progress.close()
    return n_failed


def run_study(plan: Plan, *, shared: Path, results: Path, jobs: int, command: str) -> int:
    """Do what is missing of the plan, and return how many fits failed."""
    for method in plan.methods:
        METHODS[method].make(2, 0)  # say at once that an estimator is not there
    n_samples = {info.name: info.n_samples for info in list_datasets(shared, group=None)}

    def work_of(key: FitKey) -> float:
        return n_samples.get(key.dataset, 1000) * key.depth + 500.0 * 2**key.depth

    def largest_first(key: FitKey) -> tuple[object, ...]:  # a long fit must not come alone, last
        return key.split, -n_samples[key.dataset], key.dataset, -key.depth

    with open_results(results) as writer:
        record_run(results, Run(command, machine(), versions(), plan))
        done = {result.key for result in writer.done}
        asked = list(plan.fits())
        keys = sorted((key for key in asked if key not in done), key=largest_first)
        return run_fits(
            keys,
            shared=shared,
            jobs=jobs,
            writer=writer,
            forecast=Forecast(work_of, writer.done),
            progress=ProgressLine(len(asked) - len(keys), len(asked)),
        )


def _splits_at(text: str) -> tuple[int, int]:
    depth, _, number = text.partition("=")
    if not (depth.isdecimal() and number.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is not DEPTH=N, for example 8=1")
    return int(depth), int(number)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    summary = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=summary)
    add = parser.add_argument
    add("--data", metavar="FOLDER", help="holds datasets/ and oracles/ (or HORIZONTREE_SHARED)")
    add("--methods", nargs="+", choices=METHODS, default=list(NORMAL_METHODS), metavar="METHOD",
        help=f"some of {', '.join(METHODS)}")  # fmt: skip
    add("--depths", nargs="+", type=int, default=list(DEPTHS), metavar="DEPTH")
    add("--splits", type=int, default=N_SPLITS, metavar="N", help="splits of each data set")
    add("--first-split", type=int, default=FIRST_SPLIT, metavar="S",
        help="splits below 10 are for development; report none of their test figures")  # fmt: skip
    add("--splits-at", nargs="+", type=_splits_at, default=[], metavar="DEPTH=N",
        help="another number of splits at one depth")  # fmt: skip
    add("--datasets", nargs="+", metavar="NAME", help="instead of the 64 of the paper")
    add("--results", type=Path, default=DEFAULT_RESULTS, metavar="FILE", help="the table of fits")
    add("--jobs", type=int, default=2, metavar="N", help="worker processes")
    add("--report", action="store_true", help="only write the report of the fits that are there")
    options = parser.parse_args(arguments)
    if options.jobs < 1 or options.splits < 1 or min(options.depths) < 1:
        parser.error("--jobs, --splits and --depths must be at least 1")
    if options.first_split < 0:
        parser.error("--first-split must be at least 0")
    return options


def _plan(options: argparse.Namespace, shared: Path) -> Plan:
    if options.datasets:
        known = {info.name for info in list_datasets(shared, group=None)}
        if unknown := sorted(set(options.datasets) - known):
            raise CorpusError(f"Not in the manifest: {', '.join(unknown)}.")
        names = tuple(dict.fromkeys(options.datasets))
    else:
        names = tuple(info.name for info in list_datasets(shared))
    depths = tuple(dict.fromkeys(options.depths))
    splits_at = tuple((depth, n) for depth, n in options.splits_at if depth in depths)
    methods = tuple(dict.fromkeys(options.methods))
    return Plan(methods, names, depths, options.splits, splits_at, options.first_split)


def command_line(options: argparse.Namespace) -> str:
    """Write the command without the folders of this machine."""
    words = ["python benchmarks/accuracy_study.py --methods", *options.methods]
    words += ["--depths", *map(str, options.depths), f"--splits {options.splits}"]
    words.append(f"--first-split {options.first_split}")
    if options.splits_at:
        words += ["--splits-at", *(f"{depth}={number}" for depth, number in options.splits_at)]
    if options.datasets:
        words += ["--datasets", *options.datasets]
    return " ".join([*words, f"--jobs {options.jobs}"])


def _report(results: Path) -> None:
    path = results.with_suffix(".md")
    fits = read_results(results)
    write_report(path, fits, read_runs(results))
    if fits:
        write_picture(path.with_suffix(".svg"), {fit.key: fit for fit in fits})
    print(f"Report: {path.name}, beside {results.name}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the study or only its report; return the exit code."""
    options = parse_arguments(arguments)
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)  # a kill like a Ctrl-C
    try:
        n_failed = 0
        if not options.report:
            shared = shared_folder(options.data)
            n_failed = run_study(
                _plan(options, shared),
                shared=shared,
                results=options.results,
                jobs=options.jobs,
                command=command_line(options),
            )
        _report(options.results)
    except KeyboardInterrupt:
        print("Stopped. The finished fits are kept; the same command goes on.", file=sys.stderr)
        return 130
    except (CorpusError, ResultsError, StudyError) as error:
        print(f"accuracy_study: {error}", file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGTERM, previous)
    if n_failed:
        print(f"{n_failed} fits failed; the same command tries them again.", file=sys.stderr)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
