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

from horizontree.encoding import rank_samples
from horizontree.estimators.base import Problem
from horizontree.estimators.binarizers import MDLPBinarizer, ThresholdGuessBinarizer
from horizontree.search.cart import grow_cart
from horizontree.search.splits import Split
from horizontree.search.watch import Watch
from horizontree.standard_output import diverted

FOR_EVER = 10**7  # seconds, for packages that want a number
_MOST_ROWS = 50_000
"""Rows that questions are chosen on where there is a time limit: more take seconds."""
_GUESSED_CELLS_PER_SECOND = 600_000
"""Values, for each class of several, that the reference model gets for each second: a round of it
cannot be stopped, and takes a tenth of a second for so many."""
_FEWEST_ROWS = 1000
"""Rows that a package gets whatever the time limit: it reads them in a moment."""
_GREEDY_PART = 10
"""One part of so many of the time that is left goes to the greedy tree."""
_GREEDY_CELLS_PER_SECOND = 5_000_000
"""Answers that the greedy tree gets for each of its seconds; it reads more."""
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


def step_between_rows(
    watch: Watch, n_rows: int, n_columns: int, cells_per_second: int, share: float = 1.0
) -> int:
    """Return 1 where a package gets all rows, 2 for every second of them, and so on.

    Packages read their samples without a look at the clock. Where that would take too long for
    the time limit they get some of the rows, and the limit has struck. ``share`` is that of
    the fewest rows which a package reads in a moment.
    """
    step = _step_in(watch.seconds_left, n_rows, n_columns, cells_per_second, share)
    if step > 1:
        watch.strike()
    return step


def _step_in(
    seconds: float | None,
    n_rows: int,
    n_columns: int,
    cells_per_second: int,
    share: float = 1.0,
) -> int:
    """Return the least step between rows that leaves no more than can be read in the time."""
    if seconds is None:
        return 1
    most_rows = max(int(share * _FEWEST_ROWS), int(seconds * cells_per_second / n_columns))
    return math.ceil(n_rows / most_rows)


class Questions:
    """The samples as answers to questions ``x <= cut``, with the same answer nowhere twice.

    With a time limit the questions for many rows are chosen on some of them, evenly spread, in
    half of the time. Where that left out rows, rounds of the reference model or cuts, the limit
    has struck.
    """

    def __init__(self, problem: Problem, kind: str, seed: int) -> None:
        X = np.asarray(problem.samples.X, dtype=np.float64)
        left = problem.watch.seconds_left
        limit = None if left is None else max(left / 2, 0.01)
        binarizer = (
            MDLPBinarizer(time_limit=limit)
            if kind == "mdlp"
            else ThresholdGuessBinarizer(time_limit=limit, random_state=seed)
        )
        n_classes = problem.samples.n_classes
        width = X.shape[1] * (n_classes if n_classes > 2 else 1) if kind == "guesses" else 1
        step = _step_in(left, len(X), width, _GUESSED_CELLS_PER_SECOND)
        step = step if left is None else max(step, -(-len(X) // _MOST_ROWS))
        rows = slice(None, None, step)
        if len(np.unique(problem.y[rows])) < problem.samples.n_classes:
            rows = slice(None)
        answers = binarizer.fit(X[rows], problem.y[rows]).transform(X)
        if rows.step not in (None, 1) or not binarizer.is_complete_:
            problem.watch.strike()
        varies = answers.any(axis=0) & ~answers.all(axis=0)
        self.answers = answers if varies.all() else answers[:, varies]
        self.reference = getattr(binarizer, "reference_", None)
        self._all_answers = answers
        self._X = X
        self._features = binarizer.features_[varies]
        self._thresholds = binarizer.thresholds_[varies]
        self._cuts: dict[int, float] = {}  # of the questions that were asked in a tree

    def guessed_labels(self) -> NDArray[np.intp] | None:
        """Return what the reference model says of each sample."""
        if self.reference is None or self._all_answers.shape[1] == 0:
            return None
        guessed: NDArray[np.intp] = self.reference.predict(self._all_answers)
        return guessed

    def split(self, column: int, yes: Split | None, no: Split | None) -> Split:
        """Ask a question."""
        feature = int(self._features[column])
        if column not in self._cuts:
            values = self._X[:, feature]
            self._cuts[column] = float(values[values <= self._thresholds[column]].max())
        return Split(feature, self._cuts[column], yes, no)

    def greedy_splits(self, problem: Problem, max_depth: int) -> Split | None:
        """Return CART over the questions, grown in a part of the time that is left.

        Where that is too short to read all rows it is grown on some of them, evenly spread. It is
        not pruned yet: ``Problem.tree_of`` does that, on all rows.
        """
        left = problem.watch.seconds_left
        seconds = None if left is None else left / _GREEDY_PART
        n_rows, n_questions = self.answers.shape
        step = _step_in(seconds, n_rows, n_questions, _GREEDY_CELLS_PER_SECOND)
        answers = self.answers[::step].astype(np.float32)
        samples = rank_samples(answers, problem.y[::step], problem.samples.n_classes, problem.run)
        root = grow_cart(
            samples,
            max_depth=max_depth,
            min_samples_leaf=max(1, problem.objective.min_samples_leaf // step),
        )

        waiting = [root]
        while waiting:
            node = waiting.pop()
            if node is not None:  # on its left are the answers 0: no
                asked = self.split(node.feature, yes=node.right, no=node.left)
                node.feature, node.cut = asked.feature, asked.cut
                node.left, node.right = asked.left, asked.right
                waiting += [node.left, node.right]
        return root
