"""A first look: ``python -m horizontree.demo`` trains three trees and compares them.

CART, the greedy method that everybody knows, MH-DEOCT and HorizonTree, all of depth 3, on three
quarters of the bundled banknote data; the last quarter is the test.
"""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass

import numpy as np

from horizontree import CARTClassifier, HorizonTreeClassifier, MHDEOCTClassifier
from horizontree.datasets import BundledDataset, load_banknote
from horizontree.tree import Tree

__all__ = ["main"]

DEPTH = 3
SEED = 0

NEXT_STEPS = f"""\
What to type next, for a table of your own:

  .venv/bin/horizontree fit YOUR.csv --target COLUMN --output model.json

or in Python:

  import polars as pl
  from horizontree import HorizonTreeClassifier

  table = pl.read_csv("YOUR.csv")
  X, y = table.drop("COLUMN"), table["COLUMN"]
  model = HorizonTreeClassifier(max_depth={DEPTH}).fit(X, y)
  print(model.to_text())
"""


@dataclass(frozen=True)
class Trained:
    """A trained tree and its errors on both parts of the data."""

    title: str
    tree: Tree
    train_errors: int
    test_errors: int
    seconds: float


def main() -> int:
    """Train the trees, print them and how they compare; return the exit code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without line-drawing characters
    data = load_banknote()
    order = np.random.default_rng(SEED).permutation(len(data.y))
    n_train = 3 * len(order) // 4
    n_test = len(order) - n_train
    print("HorizonTree: which banknotes are forged?\n")
    print(f"{len(order):,} banknotes, {len(data.feature_names)} measurements of each (UCI data).")
    print(
        f"Trees of depth {DEPTH} learn from {n_train:,} of them; the other {n_test} are the test."
    )
    print("The very first run also compiles for some seconds.\n", flush=True)

    trained = []
    for title, model in (
        ("CART", CARTClassifier(max_depth=DEPTH)),
        ("MH-DEOCT", MHDEOCTClassifier(max_depth=DEPTH, random_state=SEED)),
        ("HorizonTree", HorizonTreeClassifier(max_depth=DEPTH)),
    ):
        trained.append(_train(title, model, data, order[:n_train], order[n_train:]))
        print(f"{title}\n{'-' * len(title)}")
        print(trained[-1].tree.to_text(data.feature_names, data.class_names) + "\n", flush=True)
    print(comparison(trained, n_train, n_test) + "\n")
    print(NEXT_STEPS, end="")
    return 0


def _train(
    title: str,
    model: CARTClassifier | MHDEOCTClassifier | HorizonTreeClassifier,
    data: BundledDataset,
    train: np.ndarray[tuple[int], np.dtype[np.intp]],
    test: np.ndarray[tuple[int], np.dtype[np.intp]],
) -> Trained:
    model.fit(data.X[train[:50]], data.y[train[:50]])  # load the kernels: not part of the time
    model.fit(data.X[train], data.y[train])
    wrong = model.predict(data.X) != data.y
    return Trained(
        title=title,
        tree=model.tree_,
        train_errors=int(wrong[train].sum()),
        test_errors=int(wrong[test].sum()),
        seconds=float(model.fit_time_),
    )


def comparison(trained: list[Trained], n_train: int, n_test: int) -> str:
    """Lay out errors and accuracies side by side.

    Examples
    --------
    >>> from horizontree.demo import Trained, comparison
    >>> from horizontree.tree import Tree
    >>> leaf = Tree([-1], [float("nan")], [-1], [-1], [[3, 1]])
    >>> print(comparison([Trained("CART", leaf, 1, 0, 0.25)], 4, 2))
                     training               test
                errors  accuracy    errors  accuracy    splits  seconds
    CART             1   75.00 %         0  100.00 %         0     0.25
    """
    lines = [
        f"{'':11} {'training':>13} {'test':>18}",
        f"{'':11} {'errors':>6} {'accuracy':>9} {'errors':>9} {'accuracy':>9} "
        f"{'splits':>9} {'seconds':>8}",
    ]
    for one in trained:
        lines.append(
            f"{one.title:11} {one.train_errors:6} {_accuracy(one.train_errors, n_train):>9} "
            f"{one.test_errors:9} {_accuracy(one.test_errors, n_test):>9} "
            f"{one.tree.n_splits:9} {one.seconds:8.2f}"
        )
    return "\n".join(lines)


def _accuracy(n_errors: int, n_rows: int) -> str:
    return f"{100 * (1 - n_errors / n_rows):.2f} %"


if __name__ == "__main__":
    sys.exit(main())
