"""GOSDTGuessesClassifier: an adapter to ``gosdt``."""

from __future__ import annotations

import io
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from horizontree.estimators.base import BaseTreeClassifier, Found, Problem
from horizontree.estimators.parameters import check_choice, check_integer, seed_of
from horizontree.estimators.peers import gosdt_program
from horizontree.estimators.peers.common import (
    BINARIZERS,
    FailedPackageError,
    Questions,
    package,
    quiet,
    require,
)
from horizontree.objective import Objective
from horizontree.search.splits import Split
from horizontree.search.watch import Watch

_ADVICE = 'pip install "horizontree[gosdt]"'

_DEEPEST = 254
"""The package keeps levels in a byte."""

_GRACE = 0.3
"""Seconds beyond the limit that an answer is waited for."""

_Solver = Callable[[Any, Any, Any, dict[str, Any]], dict[str, Any] | None]


class GOSDTGuessesClassifier(BaseTreeClassifier):
    """GOSDT with guesses, through the package ``gosdt`` (McTavish et al. 2022).

    Features are binarised first, and the package finds the sparse tree over the answers that
    costs least; the labels of the reference model bound what is worth looking at.

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the tree, 1 to 254.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples. Below one training sample it is
        one sample, the least that the package recommends.
    binarizer : {"guesses", "mdlp"}, default="guesses"
        Where the thresholds come from.
    time_limit : float or None, default=None
        Seconds; a tree that the package has found by then is kept. Where it has given none, the
        result is not the package's: it is the greedy tree (CART) over the same questions, of
        the same depth, pruned at the same price (``n_iter_`` is 0, and ``status_``
        ``"time_limit"`` but for a tree without errors).
        The package looks at its clock seldom and takes long to give its tree, so with a limit
        it gets half of what the questions left, and runs as a process of its own, which is
        stopped.
    random_state : int, RandomState instance or None, default=None
        Seed of the reference model.
    verbose : int, default=0
        1 reports the end of the fit on standard error.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names, when ``X`` had names that are all strings.
    objective_ : float
        Training errors plus the price of the splits.
    n_errors_ : int
        Training errors.
    lower_bound_, gap_ : float
        A bound that no tree of this depth can beat, and the relative distance to it. What the
        package proves holds for its binarised features only, so this is 0.
    status_ : str
        ``"completed"``, ``"time_limit"``, or ``"optimal"`` for a tree without errors.
    fit_time_ : float
        Seconds.
    n_iter_ : int
        Iterations of the package; 0 where the tree is not its own, or it was not asked.
    """

    max_depth: int

    def __init__(
        self,
        max_depth: int = 4,
        *,
        ccp_alpha: float = 0.0,
        binarizer: str = "guesses",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.ccp_alpha = ccp_alpha
        self.binarizer = binarizer
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_depth", self.max_depth, at_least=1, at_most=_DEEPEST)
        check_choice("binarizer", self.binarizer, BINARIZERS)

    def _search(self, problem: Problem) -> Found:
        if not problem.watch.has_limit:
            package("gosdt", _ADVICE)
            return self._search_with(problem, _solve_here)
        with _Process(problem.watch) as process:
            return self._search_with(problem, process.solve)

    def _search_with(self, problem: Problem, solve: _Solver) -> Found:
        """Ask the package, and have a greedy tree ready where it may give none in time."""
        questions = Questions(problem, self.binarizer, seed_of(self.random_state))
        n_samples = len(problem.y)
        leaf = problem.tree_of(None)
        if questions.answers.shape[1] == 0 or self.ccp_alpha * n_samples >= leaf.n_errors:
            return Found([leaf], n_iter=0)  # at such prices the package crashes
        price = max(float(self.ccp_alpha), 1 / n_samples)  # less, and the package never ends
        greedy = leaf
        if problem.watch.has_limit:
            priced = replace(problem, objective=Objective.from_ccp_alpha(price, 1, n_samples))
            greedy = priced.tree_of(questions.greedy_splits(problem, int(self.max_depth)))
        left = problem.watch.seconds_left
        settings = {
            "regularization": price,
            "depth_budget": int(self.max_depth),
            "time_limit": None if left is None else max(1, math.floor(left / 2)),
        }
        guessed = questions.guessed_labels()
        if guessed is not None and len(np.unique(guessed)) < problem.samples.n_classes:
            guessed = None  # the package wants every class among them
        result = solve(questions.answers, problem.y, guessed, settings)
        problem.watch.should_stop()  # Ctrl-C is heard
        if result is None or result["was_stopped"] or not result["models"]:
            problem.watch.strike()
        if result is None or not result["models"]:
            n_iter = 0 if problem.watch.has_limit or result is None else result["n_iterations"]
            return Found([greedy], n_iter=n_iter)

        def read(node: dict[str, Any]) -> Split | None:
            if "prediction" in node:
                return None
            return questions.split(node["feature"], read(node["true"]), read(node["false"]))

        tree = problem.tree_of(read(result["models"][0]))
        return Found([tree], n_iter=result["n_iterations"])


def _solve_here(answers: Any, y: Any, guessed: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Solve in this process."""
    with quiet():
        return gosdt_program.solve(answers, y, guessed, settings)


class _Process:
    """The package in a process of its own, which loads it while the samples are made ready.

    Parameters
    ----------
    watch : Watch
        Has the time limit.
    """

    def __init__(self, watch: Watch) -> None:
        require("gosdt", _ADVICE)
        self._watch = watch
        self._process = subprocess.Popen(
            [sys.executable, "-P", gosdt_program.__file__],  # -P: a file beside it is gosdt.py
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def solve(
        self, answers: Any, y: Any, guessed: Any, settings: dict[str, Any]
    ) -> dict[str, Any] | None:
        """Solve within the time that is left, or return None."""
        sent = {"answers": answers, "y": y, "settings": json.dumps(settings)}
        if guessed is not None:
            sent["guessed"] = guessed
        file = io.BytesIO()
        np.savez(file, **sent)
        left = self._watch.seconds_left or 0.0
        try:
            out, said = self._process.communicate(file.getvalue(), timeout=left + _GRACE)
        except subprocess.TimeoutExpired:
            return None
        if self._process.returncode == 0:
            found: dict[str, Any] = json.loads(out)
            return found
        if self._watch.should_stop():  # Ctrl-C ends this process and the other
            return None
        last = said.decode(errors="replace").strip().rpartition("\n")[2]
        raise FailedPackageError(
            f"the package gosdt ended without an answer ({last or 'it crashed'}); choose fewer "
            "levels, or another method"
        )
