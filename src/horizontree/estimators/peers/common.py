"""What adapters share: finding a package, keeping it quiet, samples as yes-no questions."""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree.estimators.base import Problem
from horizontree.estimators.binarizers import MDLPBinarizer, ThresholdGuessBinarizer
from horizontree.search.splits import Split
from horizontree.search.watch import Watch
from horizontree.standard_output import diverted

FOR_EVER = 10**7  # seconds, for packages that want a number
_MOST_ROWS = 50_000
"""Rows that questions are chosen on where there is a time limit: more take seconds."""
_FEWEST_ROWS = 1000
"""Rows that a package gets whatever the time limit: it reads them in a moment."""
BINARIZERS = ("guesses", "mdlp")


class MissingPackageError(ImportError):
    """A package that a method needs is not installed."""


class FailedPackageError(RuntimeError):
    """A package ended without an answer."""


def package(name: str, advice: str) -> Any:
    """Import a package, or say how to install it."""
    try:
        return import_module(name)
    except Exception as error:  # a package that is there may lack something of its own
        raise _missing(name, advice, str(error)) from error


def require(name: str, advice: str) -> None:
    """Say how to install a package that is not there, without importing one that is."""
    if find_spec(name) is None:
        raise _missing(name, advice, "not found")


def _missing(name: str, advice: str, why: str) -> MissingPackageError:
    return MissingPackageError(
        f"this method needs the package {name.split('.')[0]}: {advice} ({why})"
    )


@contextmanager
def quiet() -> Iterator[None]:
    """Keep a package from writing to standard output: what it says there goes to stderr."""
    with diverted(to=2), redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def step_between_rows(watch: Watch, n_rows: int, n_columns: int, cells_per_second: int) -> int:
    """Return 1 where a package gets all rows, 2 for every second of them, and so on.

    Packages read their samples without a look at the clock. Where that would take too long for
    the time limit they get some of the rows, and the limit has struck.
    """
    left = watch.seconds_left
    if left is None:
        return 1
    most_rows = max(_FEWEST_ROWS, int(left * cells_per_second / n_columns))
    step = math.ceil(n_rows / most_rows)
    if step > 1:
        watch.strike()
    return step


class Questions:
    """The samples as answers to questions ``x <= cut``, with the same answer nowhere twice.

    With a time limit the questions for many rows are chosen on some of them, evenly spread. Where
    that, or fewer rounds of the reference model, were needed, the limit has struck.
    """

    def __init__(self, problem: Problem, kind: str, seed: int) -> None:
        X = np.asarray(problem.samples.X, dtype=np.float64)
        left = problem.watch.seconds_left
        binarizer = (
            MDLPBinarizer()
            if kind == "mdlp"
            else ThresholdGuessBinarizer(
                time_limit=None if left is None else max(left / 2, 0.01), random_state=seed
            )
        )
        step = 1 if left is None else -(-len(X) // _MOST_ROWS)
        rows = slice(None, None, step)
        if len(np.unique(problem.y[rows])) < problem.samples.n_classes:
            rows = slice(None)
        answers = binarizer.fit(X[rows], problem.y[rows]).transform(X)
        if rows.step not in (None, 1) or not getattr(binarizer, "is_complete_", True):
            problem.watch.strike()
        varies = answers.any(axis=0) & ~answers.all(axis=0)
        self.answers = answers[:, varies]
        self.reference = getattr(binarizer, "reference_", None)
        self._all_answers = answers
        self._cuts = [
            (int(f), float(X[X[:, f] <= threshold, f].max()))
            for f, threshold in zip(
                binarizer.features_[varies], binarizer.thresholds_[varies], strict=True
            )
        ]

    def guessed_labels(self) -> NDArray[np.intp] | None:
        """Return what the reference model says of each sample."""
        if self.reference is None or self._all_answers.shape[1] == 0:
            return None
        guessed: NDArray[np.intp] = self.reference.predict(self._all_answers)
        return guessed

    def split(self, column: int, yes: Split | None, no: Split | None) -> Split:
        """Ask a question."""
        feature, cut = self._cuts[column]
        return Split(feature, cut, yes, no)
