"""What tuning the price of a split gains on test rows: ours, and the paper's way.

    python benchmarks/tuning.py                   both sections
    python benchmarks/tuning.py --only ours       from the rows in docs/results/tuning-splits.csv
    python benchmarks/tuning.py --only paper      makes the fits that docs/results/paper-tuning.csv
                                                  does not have yet: half an hour, resumable

`docs/decisions/0030` says what is asked and why. The second section does what a public draft of the
paper's code does: prices are chosen on a quarter of the rows, the chosen price is fitted again on
training and validation rows together, and of that tree and the one from half of the rows the
better on the *test rows* counts. Both are shown: the tree that was fitted again, and the better.
"""

from __future__ import annotations

import argparse
import math
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree.bench.corpus import Dataset, list_datasets, load_dataset, shared_folder, split_rows
from horizontree.bench.machine import describe_machine
from horizontree.bench.methods import METHODS
from horizontree.bench.results_file import FitResult, open_results, read_results
from horizontree.bench.statistics import Comparison, Fits, compare
from horizontree.tree import Tree
from speed import Table, as_markdown

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
OURS = RESULTS / "tuning-splits.csv"
PAPER = RESULTS / "paper-tuning.csv"
DEPTHS = (2, 3, 4, 8)
MEASURES = {"gain_of_means": "ratio of means", "mean_of_gains": "data sets' gains"}

METHOD = "mh-deoct"
AGAIN, BETTER = f"{METHOD}, fitted again", f"{METHOD}, better on test rows"
SPLITS = range(60000, 60003)
MOST_ROWS = 1000
N_PRICES = 21


def ours() -> Table:
    """Compare tuned with untuned trees on the splits that were fixed beforehand."""
    results = read_results(OURS)
    pairs = (("horizon-tuned", "horizon"), ("horizon-tuned", "cart-tuned"), ("cart-tuned", "cart"))
    rows = [row for tuned, base in pairs for row in gain_rows(results, tuned, base)]
    return (
        "Relative gains in test accuracy, %, as the ratio of means over the data sets and as the "
        "mean of the data sets' gains, with standard errors over splits (jackknife).",
        ["compared", "measure", *(f"depth {depth}" for depth in DEPTHS), "mean", "splits"],
        rows,
    )


def paper() -> Table:
    """Do what a draft of the paper's code does."""
    results = paper_fits()
    pairs = ((AGAIN, METHOD), (BETTER, METHOD))
    rows = [row for tuned, base in pairs for row in gain_rows(results, tuned, base)]
    n_datasets = len({fit.dataset for fit in results})
    return (
        f"The paper's way of tuning MH-DEOCT on the {n_datasets} data sets of at most "
        f"{MOST_ROWS:,} rows: the tree that was fitted again with the chosen price, and the better "
        "on test rows of it and the tree from half of the rows. Relative gains over no price in "
        "test accuracy, %.",
        ["compared", "measure", *(f"depth {depth}" for depth in DEPTHS), "mean", "splits"],
        rows,
    )


def gain_rows(results: list[FitResult], method: str, base: str) -> list[list[str]]:
    """Return a row for each of the two measures."""
    splits = sorted({fit.split for fit in results})
    rows = []
    for measure, name in MEASURES.items():
        row = [f"{method} over {base}", name]
        of_all = gains(results, method, base, measure)
        without = [
            gains([fit for fit in results if fit.split != split], method, base, measure)
            for split in splits
        ]
        for at, figure in enumerate([*of_all, fmean(of_all)]):
            left_out = [[*some, fmean(some)][at] for some in without]
            error = (len(splits) - 1) / math.sqrt(len(splits)) * stdev(left_out)
            row.append(f"{figure:+.2f} ± {error:.2f}")
        rows.append([*row, str(len(splits))])
    return rows


def gains(results: list[FitResult], method: str, base: str, measure: str) -> list[float]:
    """Return the relative gain at each depth."""
    fits = Fits(results)
    found: list[Comparison | None] = [compare(fits, method, base, depth) for depth in DEPTHS]
    return [getattr(comparison, measure) for comparison in found]


def paper_fits() -> list[FitResult]:
    """Return the fits of the paper's way, and make those that are missing."""
    shared = shared_folder()
    names = [info.name for info in list_datasets(shared) if info.n_samples <= MOST_ROWS]
    asked = [(name, split, depth) for split in SPLITS for name in names for depth in DEPTHS]
    with open_results(PAPER) as writer, ProcessPoolExecutor(2) as pool:
        done = {(fit.dataset, fit.split, fit.depth) for fit in writer.done if fit.method == BETTER}
        missing = [key for key in asked if key not in done]
        started = time.perf_counter()
        for number, fits in enumerate(pool.map(partial(tuned_by_the_paper, shared), missing), 1):
            for fit in fits:  # the last of them tells that all are there
                writer.append(fit)
            if number % 16 == 0:
                seconds = time.perf_counter() - started
                print(f"{number}/{len(missing)} tunings, {seconds:.0f} s", flush=True)
    return read_results(PAPER)


def tuned_by_the_paper(shared: Path, key: tuple[str, int, int]) -> list[FitResult]:
    """Fit without a price, and tune as that draft does; one result for each tree."""
    name, split, depth = key
    data = load_dataset(shared, name)
    rows, test = split_rows(name, len(data.y), split)
    half = rows[: len(data.y) // 2]
    validation = rows[len(half) :]
    dearest = 1.0 if len(data.y) < 1000 else 10.0  # in errors
    found: list[tuple[int, float, Tree]] = []
    for price in np.linspace(0, dearest, N_PRICES):
        tree = fitted(data, half, depth, split, price)
        found.append((n_wrong(tree, data, half, validation), price, tree))
    n_least = min(wrong for wrong, _, _ in found)
    _, price, kept = next(each for each in found if each[0] == n_least)  # equal: the lower price
    plain = fitted(data, rows, depth, split, 0.0)
    again = fitted(data, rows, depth, split, price)
    better = min((again, kept), key=lambda tree: n_wrong(tree, data, rows, test))
    trees = {METHOD: plain, AGAIN: again, BETTER: better}
    return [result(method, key, tree, data, rows, test) for method, tree in trees.items()]


def fitted(data: Dataset, rows: NDArray[np.intp], depth: int, seed: int, price: float) -> Tree:
    """Fit to some rows with a price in errors."""
    model: Any = METHODS[METHOD].make(depth, seed, None)
    model.set_params(ccp_alpha=price / len(rows))
    tree: Tree = model.fit(data.X[rows], data.y[rows]).tree_
    return tree


def n_wrong(tree: Tree, data: Dataset, rows: NDArray[np.intp], judged: NDArray[np.intp]) -> int:
    """Count the judged rows that are wrong when each leaf says what most of ``rows`` are."""
    n_classes = len(data.class_names)
    counts = np.zeros((tree.n_nodes, n_classes), dtype=np.int64)
    np.add.at(counts, (tree.apply(data.X[rows]), data.y[rows]), 1)
    return int(
        np.count_nonzero(counts.argmax(axis=1)[tree.apply(data.X[judged])] != data.y[judged])
    )


def result(
    method: str,
    key: tuple[str, int, int],
    tree: Tree,
    data: Dataset,
    rows: NDArray[np.intp],
    test: NDArray[np.intp],
) -> FitResult:
    """Return the row of a tree."""
    train_errors = n_wrong(tree, data, rows, rows)
    return FitResult(
        method,
        *key,
        n_train=len(rows),
        n_features=data.X.shape[1],
        n_classes=len(data.class_names),
        train_accuracy=round(1 - train_errors / len(rows), 8),
        test_accuracy=round(1 - n_wrong(tree, data, rows, test) / len(test), 8),
        train_errors=train_errors,
        n_splits_used=tree.n_splits,
        seconds=0.0,
        time_limit=math.inf,
        status="completed",
        note="",
        seed=key[1],
        version=METHODS[METHOD].version,
    )


SECTIONS = {"ours": ours, "paper": paper}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="some sections")
    arguments = parser.parse_args()
    print(f"{describe_machine()} Seeds: the numbers of the splits.\n", flush=True)
    for name in arguments.only or SECTIONS:
        print(f"## {name.capitalize()}\n\n{as_markdown(SECTIONS[name]())}", flush=True)


if __name__ == "__main__":
    main()
