"""Speed, memory and start-up, as ratios of things run side by side.

    python benchmarks/speed.py                      everything; writes docs/results/speed.md
    python benchmarks/speed.py --only engine cart   some sections, printed only

Data are made by a seeded generator: normal features, classes by an interaction, 10 % noise.
Timings are medians of several runs where a run is short.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

from horizontree import (
    AlphaSearchCV,
    CARTClassifier,
    ConTreeClassifier,
    DEOCTClassifier,
    GOSDTGuessesClassifier,
    HorizonTreeClassifier,
    LSOCTClassifier,
    MHDEOCTClassifier,
    QuantBnBClassifier,
    RSOCTClassifier,
    STreeDClassifier,
)
from horizontree.backends import CPUBackend
from horizontree.backends._traversal_kernels import count_by_traversal
from horizontree.backends.base import EvolutionSettings
from horizontree.bench.machine import describe_machine
from horizontree.encoding import SampleSet, rank_samples
from horizontree.objective import Objective
from horizontree.search.genes import GENE_RANGE, GeneCode, random_genes

SEED = 0
N_INDIVIDUALS, N_GENERATIONS, CROSSOVER = 100, 600, 0.1
REPORT = Path(__file__).resolve().parents[1] / "docs" / "results" / "speed.md"

Table = tuple[str, list[str], list[list[str]]]
"""A sentence, the header, the rows."""


def make_data(n_rows: int, n_features: int = 10) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Make the benchmark's data."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n_rows, n_features))
    is_one = X[:, 0] * X[:, 1] + X[:, 2] * (X[:, 3] > 0) > 0
    return X, (is_one ^ (rng.random(n_rows) < 0.1)).astype(np.intp)


def seconds_of(work: Callable[[], object], *, at_least: float = 1.0, most: int = 7) -> float:
    """Return the median time of enough runs to fill ``at_least`` seconds (``most`` at most)."""
    times: list[float] = []
    while len(times) < most and (not times or sum(times) < at_least):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def race_evolutions(
    samples: SampleSet, depth: int, n_rounds: int = 9
) -> tuple[float, float, tuple[NDArray, NDArray]]:
    """Time normal-mode runs, layout included, on one thread and on two, by turns.

    Returns the two medians and the last trees.
    """
    genes = random_genes(N_INDIVIDUALS, 2 * (2**depth - 1), SEED)
    settings = EvolutionSettings(depth, N_GENERATIONS, round(CROSSOVER * GENE_RANGE), SEED)
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(n_rounds):
        for n_threads, times in seconds.items():
            started = time.perf_counter()
            end = CPUBackend(n_threads).evolve(samples, genes, Objective(), settings, lambda: False)
            times.append(time.perf_counter() - started)
    one, two = (statistics.median(times) for times in seconds.values())
    return one, two, (end.feature, end.n_left)


def traversal_seconds(
    X: NDArray, y: NDArray, samples: SampleSet, trees: tuple[NDArray, NDArray], depth: int
) -> float:
    """Time Algorithm 1, row by row, for all trees of a normal-mode run.

    The first and the last generation are timed, and stand for the others.
    """
    genes = random_genes(N_INDIVIDUALS, 2 * (2**depth - 1), SEED)
    labels = y.astype(np.int64)
    per_tree = []
    for feature, n_left in (GeneCode.of(samples).decode(genes), trees):
        threshold = np.zeros(feature.shape)
        for at in zip(*np.nonzero(feature >= 0), strict=True):
            place = min(int(n_left[at]), samples.n_samples - 1)
            threshold[at] = samples.value_at(int(feature[at]), place)
        Z = np.zeros((len(feature), 2**depth, samples.n_classes), dtype=np.int64)
        count_by_traversal(X[:1], labels[:1], feature, threshold, Z)  # compile
        work = partial(count_by_traversal, X, labels, feature, threshold, Z)
        per_tree.append(seconds_of(work) / len(feature))
    return statistics.mean(per_tree) * N_INDIVIDUALS * (N_GENERATIONS + 1)


def engine() -> Table:
    """Race the bitset engine against the paper's traversal, and two threads against one."""
    rows = []
    for n_rows in (15_000, 200_000, 1_000_000):
        X, y = make_data(n_rows)
        samples = rank_samples(X, y, 2)
        for depth in (2, 3):
            one, two, trees = race_evolutions(samples, depth)
            traversal = traversal_seconds(X, y, samples, trees, depth)
            rows.append(
                [f"{n_rows:,}", str(depth), f"{traversal:.1f}", f"{one:.3f}", f"{two:.3f}"]
                + [f"{traversal / one:.0f}", f"{one / two:.2f}"]
            )
    return (
        "A normal-mode run of differential evolution (100 individuals, 600 generations), "
        "10 features: the paper's Algorithm 1 row by row, compiled (one core), and the bitset "
        "engine, layout included, on one core and two by turns (medians of 9). Seconds and "
        "ratios; the traversal's seconds are those of the trees of the first and the last "
        "generation, scaled to all 601.",
        ["rows", "depth", "traversal", "engine", "2 threads", "speed-up", "2 threads / 1"],
        rows,
    )


def cart() -> Table:
    """Compare CART with scikit-learn's, one core."""
    rows = []
    for n_rows, n_features, depth in (
        *((150, 4, 3), (1_000, 10, 4), (1_000, 100, 4), (10_000, 10, 8)),
        *((100_000, 10, 8), (1_000_000, 10, 4), (1_000_000, 10, 8)),
    ):
        X, y = make_data(n_rows, n_features)
        theirs = DecisionTreeClassifier(max_depth=depth, random_state=SEED)
        ours = CARTClassifier(max_depth=depth).fit(X[:100], y[:100])
        a = seconds_of(partial(theirs.fit, X, y))
        b = seconds_of(partial(ours.fit, X, y))
        rows.append(
            [f"{n_rows:,} x {n_features}", str(depth), f"{a:.4f}", f"{b:.4f}", f"{b / a:.2f}"]
        )
    return (
        "CART with gini, whole fits, one core. Seconds; a ratio below 1 is faster.",
        ["data", "depth", "scikit-learn", "horizontree", "ratio"],
        rows,
    )


def tuning() -> Table:
    """Compare the choice of a price with one fit, one core."""
    tables = {f"{n_rows:,} x 10": make_data(n_rows) for n_rows in (150, 500, 2_000, 10_000)}
    tables |= {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    tables["breast cancer"] = load_breast_cancer(return_X_y=True)
    rows = []
    for name, (X, y) in tables.items():
        for depth in (2, 3, 4, 8):
            fit = HorizonTreeClassifier(depth).fit
            search = AlphaSearchCV(HorizonTreeClassifier(depth), random_state=SEED).fit
            a, b = (seconds_of(partial(work, X, y), most=25) for work in (fit, search))
            rows.append([name, str(depth), f"{a:.3f}", f"{b:.3f}", f"{b / a:.1f}"])
    return (
        "One fit of HorizonTree and the choice of its price by `AlphaSearchCV` (five folds, 21 "
        "prices, the last fit included), one core. Seconds, and their ratio.",
        ["data", "depth", "one fit", "tuned", "ratio"],
        rows,
    )


LIMIT = 5.0  # seconds
LIMITED = [
    *((HorizonTreeClassifier, {"max_depth": depth}) for depth in (2, 3, 4, 8)),
    (HorizonTreeClassifier, {"max_depth": 3, "effort": "thorough"}),
    *((MHDEOCTClassifier, {"max_depth": depth}) for depth in (2, 4, 8)),
    *((kind, {"max_depth": 2}) for kind in (DEOCTClassifier, LSOCTClassifier, RSOCTClassifier)),
    *((QuantBnBClassifier, {"max_depth": depth}) for depth in (2, 3)),
    (ConTreeClassifier, {"max_depth": 3}),
    *(
        (kind, {"max_depth": 3, "binarizer": binarizer})
        for kind in (GOSDTGuessesClassifier, STreeDClassifier)
        for binarizer in ("guesses", "mdlp")
    ),
]


def limits() -> Table:
    """Stop every method after a few seconds, on long and on wide data, one core."""
    tables = [make_data(*size) for size in ((15_000, 10), (1_000_000, 10), (20_000, 500))]
    warm_up = [make_data(n_rows) for n_rows in (200, 40_000)]  # kernels for few rows and for many
    rows = []
    for kind, settings in LIMITED:
        depth, *others = settings.values()
        name = kind.__name__.removesuffix("Classifier")
        row = [" ".join([name, *others]), str(depth)]
        for X, y in warm_up:
            kind(**settings, time_limit=LIMIT).fit(X, y)
        for X, y in tables:
            model = kind(**settings, time_limit=LIMIT).fit(X, y)
            row.append(f"{model.fit_time_:.2f} ({model.status_})")
        rows.append(row)
    return (
        f"A time limit of {LIMIT:.0f} s, one core: the seconds that a fit took, and how it ended.",
        ["", "depth", *(f"{len(X):,} x {X.shape[1]}" for X, _ in tables)],
        rows,
    )


FIT = """
import json, re, sys
import numpy as np
from horizontree import MHDEOCTClassifier
folder, depth, n_jobs = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
new_model = lambda: MHDEOCTClassifier(depth, random_state=0, n_jobs=n_jobs)
peak = lambda: 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
some = np.random.default_rng(0).normal(size=(500, 10))
new_model().fit(some, some[:, 0] * some[:, 1] > 0)
before = peak()
X, y = np.load(folder + "/X.npy"), np.load(folder + "/y.npy")
model = new_model().fit(X, y)
print(json.dumps([model.fit_time_, peak() - before, model.n_errors_, X.nbytes]))
"""


def fit_in_process(n_rows: int, depth: int, n_jobs: int) -> tuple[float, int, int, int]:
    """Fit in a process of its own; return seconds, peak memory, errors and the size of X.

    The peak is above that of the process before it loads X, so X itself is part of it
    (read from /proc, hence on Linux only: rusage would carry over the parent's).
    """
    with tempfile.TemporaryDirectory() as folder:
        X, y = make_data(n_rows)
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        del X, y
        words = [sys.executable, "-c", FIT, folder, str(depth), str(n_jobs)]
        out = subprocess.run(words, capture_output=True, text=True, check=True)
    seconds, n_bytes, n_errors, size = json.loads(out.stdout)
    return seconds, n_bytes, n_errors, size


def scaling() -> Table:
    """Let the rows grow from ten thousand to ten million."""
    sizes = [10_000, 100_000, 1_000_000, 10_000_000]
    rows, times, memory = [], [], []
    for n_rows in sizes:
        repeats = [fit_in_process(n_rows, 2, 2) for _ in range(3 if n_rows < 1_000_000 else 1)]
        seconds = statistics.median(r[0] for r in repeats)
        n_bytes = statistics.median(r[1] for r in repeats)
        limit = 4 * repeats[0][3] + 200e6
        times.append(seconds)
        memory.append(n_bytes)
        rows.append(
            [f"{n_rows:,}", f"{seconds:.3f}", f"{n_bytes / 1e6:,.0f}", f"{limit / 1e6:,.0f}"]
        )
    exponents = [np.polyfit(np.log(sizes), np.log(v), 1)[0] for v in (times, memory)]
    rows.append(["exponent", f"{exponents[0]:.3f}", f"{exponents[1]:.3f}", ""])
    return (
        "MH-DEOCT, normal mode, depth 2, 10 features, two threads: seconds, peak memory in "
        "MB, X included, its limit (X + 3 X + 200 MB), and the exponents in the number of rows.",
        ["rows", "seconds", "memory", "limit"],
        rows,
    )


def large() -> Table:
    """Fit a million rows."""
    rows = []
    for depth in (4, 8):
        seconds, n_bytes, n_errors, size = fit_in_process(1_000_000, depth, 2)
        X, y = make_data(1_000_000)
        greedy = CARTClassifier(depth, n_jobs=2).fit(X, y)
        rows.append(
            [str(depth), f"{seconds:.1f}", f"{n_bytes / 1e6:,.0f}"]
            + [f"{(4 * size + 200e6) / 1e6:,.0f}"]
            + [f"{1 - n_errors / len(y):.2%}", f"{1 - greedy.n_errors_ / len(y):.2%}"]
        )
    return (
        "MH-DEOCT, normal mode, 1,000,000 x 10, two threads: seconds, peak memory in MB, X "
        "included, its limit (X + 3 X + 200 MB), training accuracy and CART's.",
        ["depth", "seconds", "memory", "limit", "accuracy", "CART"],
        rows,
    )


START = """
import time
started = time.perf_counter()
import {module}
imported = time.perf_counter() - started
print(imported)
"""
FIRST_FIT = """
import sys, time
from horizontree import MHDEOCTClassifier
import numpy as np
X = np.random.default_rng(0).normal(size=(200, 4))
y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
started = time.perf_counter()
MHDEOCTClassifier(2, random_state=0, generations=1).fit(X, y).predict(X)
print(time.perf_counter() - started)
"""


def start_up() -> Table:
    """Time imports and first fits in fresh processes."""

    def fresh(code: str, **environment: str) -> float:
        out = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, **environment},
        )
        return float(out.stdout)

    def median(code: str) -> float:
        fresh(code)
        return statistics.median(fresh(code) for _ in range(7))

    imports = {"horizontree": [], "sklearn.tree": []}
    for _ in range(8):  # by turns; the first of each only warms the disk
        for module, times in imports.items():
            times.append(fresh(START.format(module=module)))
    ours, theirs = (statistics.median(times[1:]) for times in imports.values())
    with tempfile.TemporaryDirectory() as folder:
        cold = fresh(FIRST_FIT, NUMBA_CACHE_DIR=folder)
    return (
        "Start-up, fresh processes, medians of 7.",
        ["what", "seconds"],
        [
            ["import sklearn.tree", f"{theirs:.2f}"],
            ["import horizontree", f"{ours:.2f}"],
            ["ratio", f"{ours / theirs:.2f}"],
            ["first fit and predict, warm kernel cache", f"{median(FIRST_FIT):.2f}"],
            ["first fit and predict, everything compiled", f"{cold:.2f}"],
        ],
    )


def counting() -> Table:
    """Race all ways to count trees, one core."""
    script = Path(__file__).with_name("counting.py")
    out = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    ways = {"traversal": "the paper's traversal, compiled", "Numba": "the bitset engine",
            "XLA": 'backend="jax", an XLA CPU device'}  # fmt: skip
    rates = json.loads(out.stdout)
    rows = [
        [name, *(f"{rates[codes][way] / 1e9:.2f}" for codes in rates)] for way, name in ways.items()
    ]
    return (
        "Whole trees counted on one core: 1,000,000 x 20, 100 random trees of depth 2, 2 classes; "
        "10^9 sample-trees a second (medians of 5). Codes have one byte where a feature has at "
        "most 255 values, and three where it has a million.",
        ["", *rates],
        rows,
    )


DEVICE_FIT = """
import json, resource
import numpy as np
from horizontree import DEOCTClassifier, MHDEOCTClassifier

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10

rng = np.random.default_rng(0)
X = np.empty((11_000_000, 28))
for column in X.T:
    column[:] = rng.normal(size=len(X))
y = (X[:, 0] * X[:, 1] > 0) ^ (X[:, 2] > 0.5)
before = peak()
found = []
for make, depth, generations in ((DEOCTClassifier, 2, 10), (MHDEOCTClassifier, 3, 2)):
    model = make(depth, backend="jax", generations=generations, random_state=0, n_jobs=2).fit(X, y)
    found.append([make.__name__, depth, generations, model.fit_time_, peak() - before])
print(json.dumps([before, found]))
"""


def devices() -> Table:
    """Measure the memory of large fits on an XLA CPU device."""
    out = subprocess.run(
        [sys.executable, "-c", DEVICE_FIT], capture_output=True, text=True, check=True
    )
    before, found = json.loads(out.stdout)
    return (
        '11,000,000 x 28 with `backend="jax"` on the XLA CPU device, a few generations of 100 '
        f"trees: seconds, and peak memory above that of the input ({before / 2**30:.1f} GB with "
        "everything imported); the second fit's peak is that of both.",
        ["", "depth", "generations", "seconds", "GB above the input"],
        [
            [name, str(depth), str(generations), f"{seconds:.0f}", f"{n_bytes / 2**30:.1f}"]
            for name, depth, generations, seconds, n_bytes in found
        ],
    )


SECTIONS = {
    "start-up": start_up,
    "cart": cart,
    "tuning": tuning,
    "limits": limits,
    "counting": counting,
    "engine": engine,
    "large": large,
    "scaling": scaling,
    "devices": devices,
}


def as_markdown(table: Table) -> str:
    sentence, header, rows = table
    lines = [sentence, "", f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="some sections; no report")
    arguments = parser.parse_args()
    report = [f"# Speed\n\nMade by `make bench`. {describe_machine()} Seed {SEED}.\n"]
    print(report[0], flush=True)
    for name in arguments.only or SECTIONS:
        text = f"## {name.capitalize()}\n\n{as_markdown(SECTIONS[name]())}"
        print(text, flush=True)
        report.append(text)
    if not arguments.only:
        REPORT.write_text("\n".join(report), encoding="utf-8")


if __name__ == "__main__":
    main()
