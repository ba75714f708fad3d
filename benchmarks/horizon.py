"""HorizonTree against ConTree, the proven optima, CART, and large data.

    python benchmarks/horizon.py                       everything
    python benchmarks/horizon.py --only depth-2 large  some sections; no report

Prints each table as soon as it is measured and writes `docs/results/horizon.md` at the end.
Whole fits are timed, kernels already compiled. What is compared runs by turns, on one core
each unless the table says otherwise. ConTree is `pycontree` from PyPI, which `make
bench-horizon` installs.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree import CARTClassifier, HorizonTreeClassifier
from horizontree.bench.corpus import Optimum, load_optima, load_oracle, shared_folder
from horizontree.bench.machine import describe_machine
from horizontree.bench.results_file import FitResult, read_results
from speed import Table, as_markdown

SEED = 0
ROUNDED = 2  # errors that rounding features to float32 may be worth
RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
REPORT = RESULTS / "horizon.md"
STUDY = RESULTS / "study.csv"
NEW_SPLITS = RESULTS / "new-splits.csv"  # docs/decisions/0029


def timed_fit(model: Any, X: NDArray[np.float64], y: NDArray[np.intp]) -> float:
    """Fit and return the seconds."""
    started = time.perf_counter()
    model.fit(X, y)
    return time.perf_counter() - started


def contree_errors(model: Any, X: NDArray[np.float64], y: NDArray[np.intp]) -> int:
    return int(np.count_nonzero(model.predict(X) != y))


def gap_in_accuracy(n_errors: int, optimum: Optimum, n_samples: int) -> float:
    """Return the relative distance to the best accuracy, in per cent."""
    best = n_samples - optimum.optimal_errors
    return 100 * max(0, n_errors - optimum.optimal_errors) / best


def oracles(depth: int) -> list[tuple[Optimum, NDArray[np.float64], NDArray[np.intp]]]:
    """Load the data sets with a proven optimum at a depth."""
    shared = shared_folder()
    known = [optimum for optimum in load_optima(shared) if optimum.depth == depth]
    return [(optimum, *load_oracle(shared, optimum.dataset)) for optimum in known]


def check_bound(model: HorizonTreeClassifier, optimum: Optimum) -> None:
    """Fail when a bound is wrong; the optima are those of features rounded to float32."""
    if model.lower_bound_ > optimum.optimal_errors + ROUNDED:
        raise SystemExit(f"{optimum.dataset}: the bound {model.lower_bound_} is wrong")


def against_contree(depth: int, efforts: tuple[str, ...], n_rounds: int) -> Table:
    """Race ConTree on the oracles of a depth, by turns."""
    from pycontree import ConTree

    rows = []
    total = {"all": [0.0] * (1 + len(efforts)), "5,000 rows and more": [0.0] * (1 + len(efforts))}
    gaps: dict[str, list[float]] = {effort: [] for effort in efforts}
    for optimum, X, y in oracles(depth):
        seconds: list[list[float]] = [[] for _ in range(1 + len(efforts))]
        for _ in range(n_rounds):
            models = [HorizonTreeClassifier(depth, effort=effort) for effort in efforts]
            rival = ConTree(max_depth=depth, time_limit=3600)
            for times, model in zip(seconds, [rival, *models], strict=True):
                times.append(timed_fit(model, X, y))
        theirs, *ours = map(statistics.median, seconds)
        for name, sums in total.items():
            if name == "all" or len(y) >= 5000:
                sums[:] = [a + b for a, b in zip(sums, (theirs, *ours), strict=True)]
        row = [optimum.dataset, f"{len(y):,} x {X.shape[1]}", str(optimum.optimal_errors)]
        row += [str(contree_errors(rival, X, y)), f"{theirs:.3f}"]
        for effort, model, time_taken in zip(efforts, models, ours, strict=True):
            check_bound(model, optimum)
            gaps[effort].append(gap_in_accuracy(model.n_errors_, optimum, len(y)))
            row += [str(model.n_errors_), model.status_, f"{gaps[effort][-1]:.3f}"]
            row += [f"{time_taken:.3f}", f"{theirs / time_taken:.1f}"]
        rows.append(row)
        print(" | ".join(row), file=sys.stderr, flush=True)
    for name, (theirs_total, *ours_total) in total.items():
        row = [f"**{name}**", "", "", "", f"{theirs_total:.2f}"]
        for effort, time_taken in zip(efforts, ours_total, strict=True):
            found = gaps[effort]
            gap = f"mean {statistics.mean(found):.3f}, max {max(found):.3f}"
            row += ["", "", gap if name == "all" else ""]
            row += [f"{time_taken:.2f}", f"{theirs_total / time_taken:.1f}"]
        rows.append(row)
    return (
        f"Depth {depth}, one core each, by turns (medians of {n_rounds}): errors and seconds of "
        f"ConTree; then for {' and '.join(efforts)} effort the errors, the status, the gap to the "
        "best accuracy in per cent, seconds, and how many times faster than ConTree.",
        ["data", "size", "optimum", "ConTree", "seconds"]
        + ["errors", "status", "gap %", "seconds", "times"] * len(efforts),
        rows,
    )


def depth_2() -> Table:
    return against_contree(2, ("normal",), 5)


def depth_3() -> Table:
    return against_contree(3, ("normal", "thorough"), 1)


def noise(
    n_rows: int, n_features: int, *shares: float
) -> tuple[str, NDArray[np.float64], NDArray[np.intp]]:
    """Make data whose classes depend on nothing, with so large a share of each."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n_rows, n_features))
    y = rng.choice(len(shares), size=n_rows, p=shares)
    return f"noise, {len(shares)} classes, {shares[0]:.0%} of one", X, y


def weak(n_rows: int, n_features: int) -> tuple[str, NDArray[np.float64], NDArray[np.intp]]:
    """Make data whose classes depend a little on three features."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n_rows, n_features))
    odds = 0.3 * X[:, 0] + 0.3 * X[:, 1] * X[:, 2] - 1
    return "weak signal", X, (rng.random(n_rows) < 1 / (1 + np.exp(-odds))).astype(np.intp)


def no_signal() -> Table:
    """Race ConTree to the proof where features say little."""
    from pycontree import ConTree

    at_two = [
        noise(9000, 6, 0.9, 0.1),
        noise(9000, 6, 0.5, 0.5),
        noise(5000, 6, 0.4, 0.2, 0.2, 0.2),
    ]
    at_two += [weak(9000, 6), weak(30_000, 10)]
    at_three = [noise(1000, 5, 0.7, 0.3), noise(2000, 5, 0.9, 0.1), weak(2000, 6)]
    problems = [(2, *each) for each in at_two] + [(3, *each) for each in at_three]
    rows = []
    for depth, name, X, y in problems:
        rival = ConTree(max_depth=depth, time_limit=3600)
        theirs = timed_fit(rival, X, y)
        model = HorizonTreeClassifier(depth, effort="thorough")
        ours = statistics.median(timed_fit(model, X, y) for _ in range(3))
        row = [f"{len(y):,} x {X.shape[1]}, {name}", str(depth), str(contree_errors(rival, X, y))]
        row += [f"{theirs:.2f}", str(model.n_errors_), model.status_, f"{ours:.2f}"]
        rows.append([*row, f"{theirs / ours:.1f}"])
        print(" | ".join(rows[-1]), file=sys.stderr, flush=True)
    return (
        "Data whose features say little or nothing, one core each: errors and seconds of ConTree, "
        "then of thorough effort (the median of 3), and how many times faster.",
        ["data", "depth", "ConTree", "seconds", "errors", "status", "seconds", "times"],
        rows,
    )


def depth_4() -> Table:
    """Compare with the published optima of depth four."""
    rows = []
    gaps: dict[str, list[float]] = {"normal": [], "thorough": []}
    for optimum, X, y in oracles(4):
        row = [optimum.dataset, str(optimum.optimal_errors)]
        for effort, found in gaps.items():
            model = HorizonTreeClassifier(4, effort=effort, time_limit=10, n_jobs=2)
            seconds = timed_fit(model, X, y)
            found.append(gap_in_accuracy(model.n_errors_, optimum, len(y)))
            row += [str(model.n_errors_), f"{found[-1]:.3f}", f"{seconds:.2f}"]
        rows.append(row)
    means = [f"{statistics.mean(found):.4f}" for found in gaps.values()]
    rows.append(["**mean**", "", "", means[0], "", "", means[1], ""])
    return (
        "Depth 4, two cores, at most 10 s: normal effort, then thorough.",
        ["data", "optimum", *(2 * ["errors", "gap %", "seconds"])],
        rows,
    )


def corpus() -> Table:
    """Compare with MH-DEOCT on the 64 data sets, from the table of `make study`."""
    fits, new = read_results(STUDY), read_results(NEW_SPLITS)
    rows = []
    long_total = ours_total = 0.0
    for depth in (2, 3, 4, 8):
        of: dict[str, dict[tuple[str, int], FitResult]] = {
            "horizon": {}, "mh-deoct": {}, "mh-deoct-long": {}
        }  # fmt: skip
        for fit in fits:
            if fit.depth == depth and fit.method in of:
                of[fit.method][fit.dataset, fit.split] = fit
        ours, normal, long = (list(of[method].values()) for method in of)
        on_same, same = (
            [of["horizon"][key] for key in of[method] if key in of["horizon"]]
            for method in ("mh-deoct", "mh-deoct-long")
        )
        seconds = [statistics.fmean(fit.seconds for fit in some) for some in (same, long)]
        ours_total += seconds[0]
        long_total += seconds[1]
        row = [str(depth), f"{len(ours)}", str(sum(fit.status == "optimal" for fit in ours))]
        row += [mean_accuracy(some, "train_accuracy") for some in (ours, same, long)]
        row += [mean_accuracy(some, "test_accuracy") for some in (on_same, normal)]
        for splits in (range(10, 100), range(10, 20)):
            row += [lead([fit for fit in on_same if fit.split in splits], of["mh-deoct"])]
        at_depth = [fit for fit in new if fit.depth == depth]
        theirs = {(fit.dataset, fit.split): fit for fit in at_depth if fit.method == "mh-deoct"}
        row += [lead([fit for fit in at_depth if fit.method == "horizon"], theirs)]
        row += [f"{statistics.fmean(fit.seconds for fit in ours):.3f}"]
        rows.append(row + [f"{second:.3f}" for second in seconds])
    rows.append(["**sum**"] + 10 * [""] + ["", f"{ours_total:.2f}", f"{long_total:.2f}"])
    return (
        "The 64 data sets, normal effort, one core a fit, as `make study` "
        "left them in `study.csv`: fits, how many are proven optimal, mean training accuracy "
        "in per cent (all splits; the splits that MH-DEOCT in long mode has; that one's), mean "
        "test accuracy (on the splits that MH-DEOCT has; that one's; the difference in points with "
        "its standard error over splits, and their number: all, the first ten, and the new ones of "
        "`docs/decisions/0029`, run before the last changes), and mean seconds (all; the splits of "
        "long mode; long mode's).",
        ["depth", "fits", "proven", "train", "same splits", "long mode", "test", "MH-DEOCT"]
        + ["ahead", "splits 10 to 19", "new splits", "seconds", "same splits", "long mode"],
        rows,
    )


def lead(ours: list[FitResult], theirs: dict[tuple[str, int], FitResult]) -> str:
    """Say by how many points ours are ahead on test rows, and how sure that is."""
    if not ours:
        return ""
    by_split: dict[int, list[float]] = {}
    for fit in ours:
        difference = fit.test_accuracy - theirs[fit.dataset, fit.split].test_accuracy
        by_split.setdefault(fit.split, []).append(100 * difference)
    means = [statistics.fmean(differences) for differences in by_split.values()]
    error = statistics.stdev(means) / len(means) ** 0.5
    return f"{statistics.fmean(means):+.2f} ± {error:.2f} ({len(means)})"


def mean_accuracy(fits: list[FitResult], name: str) -> str:
    return f"{100 * statistics.fmean(getattr(fit, name) for fit in fits):.2f}"


def made_data(n_rows: int, n_features: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Make data with interactions of two and three features, and 10 % noise."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n_rows, n_features))
    is_one = X[:, 0] * X[:, 1] + X[:, 2] * (X[:, 3] > 0) + X[:, 4] * X[:, 5] * X[:, 6] / 2 > 0
    return X, (is_one ^ (rng.random(n_rows) < 0.1)).astype(np.intp)


FIT_IN_PROCESS = """
import resource, sys, time
sys.path.insert(0, {folder!r})
from horizon import made_data
from horizontree import CARTClassifier, HorizonTreeClassifier
X, y = made_data(200, 7)
HorizonTreeClassifier(5, n_jobs=2).fit(X, y)
X, y = made_data({n_rows}, {n_features})
model = HorizonTreeClassifier({depth}, n_jobs=2, verbose=1)
started = time.perf_counter()
model.fit(X, y)
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
greedy = CARTClassifier({depth}, n_jobs=2).fit(X, y)
print(seconds, peak, model.n_errors_, greedy.n_errors_)
"""


def large(n_rows: int = 1_000_000, n_features: int = 10) -> Table:
    """Fit large data in a fresh process, for the memory."""
    code = FIT_IN_PROCESS.format(
        folder=str(Path(__file__).parent), n_rows=n_rows, n_features=n_features, depth=8
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    seconds, peak, n_errors, n_greedy = map(float, ended.stdout.split())
    ours, greedy = 1 - n_errors / n_rows, 1 - n_greedy / n_rows
    row = [f"{n_rows:,} x {n_features}", f"{seconds:.0f}", f"{peak:,.0f}"]
    row += [f"{ours:.2%}", f"{greedy:.2%}", f"{100 * (ours / greedy - 1):+.1f}"]
    return (
        "Depth 8, normal effort, two cores: seconds, peak memory of the process in MB (X "
        "included), training accuracy, CART's, and the relative gain in per cent.",
        ["data", "seconds", "memory", "accuracy", "CART", "gain %"],
        [row],
    )


def very_large() -> Table:
    return large(10_000_000, 28)


SECTIONS = {
    "depth-2": depth_2,
    "depth-3": depth_3,
    "no-signal": no_signal,
    "depth-4": depth_4,
    "corpus": corpus,
    "large": large,
    "very-large": very_large,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="some sections; no report")
    arguments = parser.parse_args()
    X, y = made_data(300, 7)
    for effort in ("normal", "thorough"):  # load or compile the kernels
        HorizonTreeClassifier(5, effort=effort, min_samples_leaf=2).fit(X, y)
        HorizonTreeClassifier(3, effort=effort).fit(X, y)
    CARTClassifier(3).fit(X, y)
    report = [f"# HorizonTree\n\nMade by `make bench-horizon`. {describe_machine()} Seed {SEED}.\n"]
    print(report[0], flush=True)
    for name in arguments.only or SECTIONS:
        text = f"## {name.capitalize()}\n\n{as_markdown(SECTIONS[name]())}"
        print(text, flush=True)
        report.append(text)
    if not arguments.only:
        REPORT.write_text("\n".join(report), encoding="utf-8")


if __name__ == "__main__":
    main()
