"""Adapters to other packages, so that they stand beside our methods: same data, same tree.

Each hands the samples to the package and turns its answer into a tree of ours; so predictions,
reports and saved models are the same code for all. A package that is not there is an error that
says what to install.
"""

from __future__ import annotations

import io
import json
import math
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree.estimators.base import BaseTreeClassifier, Found, Problem
from horizontree.estimators.binarizers import MDLPBinarizer, ThresholdGuessBinarizer
from horizontree.estimators.parameters import check_choice, check_integer, seed_of
from horizontree.search.splits import Split

_FOR_EVER = 10**7  # seconds, for packages that want a number
_BINARIZERS = ("guesses", "mdlp")


_one_at_a_time = threading.Lock()


class MissingPackageError(ImportError):
    """A package that a method needs is not installed."""


def _package(name: str, advice: str) -> Any:
    try:
        return import_module(name)
    except Exception as error:  # a package that is there may lack something of its own
        raise MissingPackageError(
            f"this method needs the package {name.split('.')[0]}: {advice} ({error})"
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep a package from writing to standard output: what it says there goes to stderr.

    Compiled code writes to the file itself, so that for a moment the file is another one; one
    thread at a time, or the wrong one would be put back.
    """
    with _one_at_a_time, redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            saved = os.dup(1)
            os.dup2(2, 1)
        except OSError:  # a host without standard output has nothing to protect
            yield
            return
        try:
            yield
        finally:
            os.dup2(saved, 1)
            os.close(saved)


class _Questions:
    """The samples as answers to questions ``x <= cut``, with the same answer nowhere twice."""

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
        answers = binarizer.fit(X, problem.y).transform(X)
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


class GOSDTGuessesClassifier(BaseTreeClassifier):
    """GOSDT with guesses, through the package ``gosdt`` (McTavish et al. 2022).

    Features are binarised first, and the package finds the sparse tree over the answers that
    costs least; the labels of the reference model bound what is worth looking at.

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the tree, at least 1.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples. Below one training sample it is
        one sample, the least that the package recommends.
    binarizer : {"guesses", "mdlp"}, default="guesses"
        Where the thresholds come from.
    time_limit : float or None, default=None
        Seconds for the package; a tree found by then is kept, otherwise a single leaf.
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
        Iterations of the package.
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
        check_integer("max_depth", self.max_depth, at_least=1)
        check_choice("binarizer", self.binarizer, _BINARIZERS)
        seed_of(self.random_state)

    def _search(self, problem: Problem) -> Found:
        gosdt = _package("gosdt", 'pip install "horizontree[gosdt]"')
        questions = _Questions(problem, self.binarizer, seed_of(self.random_state))
        n_samples = len(problem.y)
        leaf = problem.tree_of(None)
        if questions.answers.shape[1] == 0 or self.ccp_alpha * n_samples >= leaf.n_errors:
            return Found([leaf], n_iter=0)  # at such prices the package crashes
        left = problem.watch.seconds_left
        solver = gosdt.GOSDTClassifier(
            regularization=max(float(self.ccp_alpha), 1 / n_samples),
            depth_budget=int(self.max_depth),
            time_limit=None if left is None else max(1, math.floor(left)),
        )
        guessed = questions.guessed_labels()
        if guessed is not None and len(np.unique(guessed)) < problem.samples.n_classes:
            guessed = None  # the package wants every class among them
        with _quiet():
            solver.fit(questions.answers, problem.y, y_ref=guessed)
        problem.watch.should_stop()
        result = solver.get_result()
        models = json.loads(result["models_string"])

        def read(node: dict[str, Any]) -> Split | None:
            if "prediction" in node:
                return None
            return questions.split(node["feature"], read(node["true"]), read(node["false"]))

        root = read(models[0]) if models else None
        return Found([problem.tree_of(root)], n_iter=int(result["n_iterations"]))


class ConTreeClassifier(BaseTreeClassifier):
    """ConTree, exact trees on continuous features, through the package ``pycontree``.

    The package gets the ranks of the values, which it keeps exactly; so its optimum is ours.

    Parameters
    ----------
    max_depth : int, default=3
        Depth of the tree, 1 to 20; beyond 3 it may take very long.
    time_limit : float or None, default=None
        Seconds for the package; the best tree by then is kept.
    random_state : int, RandomState instance or None, default=None
        Accepted so that all classifiers can be built alike; nothing here is random.
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
        Training errors.
    n_errors_ : int
        Training errors.
    lower_bound_, gap_ : float
        A bound that no tree of this depth can beat, and the relative distance to it.
    status_ : str
        ``"optimal"`` or ``"time_limit"``.
    fit_time_ : float
        Seconds.
    n_iter_ : int
        Always 1.
    """

    max_depth: int

    def __init__(
        self,
        max_depth: int = 3,
        *,
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_depth", self.max_depth, at_least=1, at_most=20)

    def _search(self, problem: Problem) -> Found:
        pycontree = _package("pycontree", 'pip install "horizontree[peers]"')
        samples = problem.samples
        if samples.n_features == 0:
            leaf = problem.tree_of(None)
            return Found([leaf], n_iter=1, bound=problem.cost_of(leaf))
        solver = pycontree.ConTree(
            max_depth=int(self.max_depth), time_limit=float(self.time_limit or _FOR_EVER)
        )
        with _quiet():
            solver.fit(samples.codes().astype(np.float64), samples.labels)
        has_ended = bool(solver._config.is_within_time_limit())

        def read(node: Any) -> Split | None:
            if node.is_leaf_node():
                return None
            f = int(node.get_split_feature())
            n_left = int(samples.starts(f)[math.floor(node.get_split_threshold()) + 1])
            cut = samples.value_at(f, n_left - 1)
            column = int(samples.features[f])
            return Split(column, cut, read(node.get_left()), read(node.get_right()))

        problem.watch.should_stop()
        tree = problem.tree_of(read(solver.get_tree()))
        return Found([tree], n_iter=1, bound=problem.cost_of(tree) if has_ended else 0)


class STreeDClassifier(BaseTreeClassifier):
    """STreeD, exact trees on binarised features, through the package ``pystreed``.

    Parameters
    ----------
    max_depth : int, default=3
        Depth of the tree, 1 to 20; beyond 4 it may take very long.
    min_samples_leaf : int, default=1
        Fewest training samples in a leaf.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples.
    binarizer : {"guesses", "mdlp"}, default="guesses"
        Where the thresholds come from.
    time_limit : float or None, default=None
        Seconds for the package; a tree found by then is kept, otherwise a single leaf.
    random_state : int, RandomState instance or None, default=None
        Seed of the reference model of ``"guesses"``.
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
        Always 1.
    """

    max_depth: int

    def __init__(
        self,
        max_depth: int = 3,
        *,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        binarizer: str = "guesses",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.binarizer = binarizer
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_depth", self.max_depth, at_least=1, at_most=20)
        check_choice("binarizer", self.binarizer, _BINARIZERS)
        seed_of(self.random_state)

    def _search(self, problem: Problem) -> Found:
        pystreed = _package("pystreed", 'pip install "horizontree[peers]"')
        questions = _Questions(problem, self.binarizer, seed_of(self.random_state))
        if questions.answers.shape[1] == 0 or len(problem.y) < 2 * self.min_samples_leaf:
            return Found([problem.tree_of(None)], n_iter=1)
        has_price = self.ccp_alpha > 0
        left = problem.watch.seconds_left
        solver = pystreed.STreeDClassifier(
            "cost-complex-accuracy" if has_price else "accuracy",
            max_depth=int(self.max_depth),
            min_leaf_node_size=int(self.min_samples_leaf),
            cost_complexity=min(1.0, float(self.ccp_alpha)) if has_price else 0.01,
            time_limit=_FOR_EVER if left is None else max(left, 0.01),
        )
        with _quiet():
            solver.fit(questions.answers.astype(np.intc), problem.y.astype(np.intc))

        def read(node: Any) -> Split | None:
            if node.is_leaf_node():
                return None
            yes, no = read(node.right_child), read(node.left_child)
            return questions.split(int(node.feature), yes, no)

        problem.watch.should_stop()
        root = read(solver.get_tree()) if solver.is_fitted() else None
        return Found([problem.tree_of(root)], n_iter=1)


class IAIOCTClassifier(BaseTreeClassifier):
    """Optimal Classification Trees of Interpretable AI, through ``interpretableai``.

    The package is commercial and needs a licence; this adapter follows its documentation and
    **has never been run by us against the real package**.

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the tree, at least 1.
    min_samples_leaf : int, default=1
        Fewest training samples in a leaf.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples; the package's ``cp`` is that
        share of the errors of a single leaf.
    random_state : int, RandomState instance or None, default=None
        The seed.
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
        A bound that no tree of this depth can beat, and the relative distance to it.
    status_ : str
        ``"completed"``, or ``"optimal"`` for a tree without errors.
    fit_time_ : float
        Seconds.
    n_iter_ : int
        Always 1.
    """

    max_depth: int

    def __init__(
        self,
        max_depth: int = 4,
        *,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_depth", self.max_depth, at_least=1)
        seed_of(self.random_state)

    def _search(self, problem: Problem) -> Found:
        advice = (
            'pip install "horizontree[iai]", and a licence from Interpretable AI '
            "(https://www.interpretable.ai) for its Julia modules"
        )
        iai = _package("interpretableai.iai", advice)
        counts = problem.samples.class_counts
        baseline = 1 - counts.max() / counts.sum()
        solver = iai.OptimalTreeClassifier(
            max_depth=int(self.max_depth),
            minbucket=int(self.min_samples_leaf),
            cp=float(self.ccp_alpha) / baseline,
            criterion="misclassification",
            random_seed=seed_of(self.random_state) % 2**31,
        )
        X = np.asarray(problem.samples.X, dtype=np.float64)
        frame = _package("pandas", advice).DataFrame({f"x{f}": X[:, f] for f in range(X.shape[1])})
        solver.fit(frame, problem.y)
        return Found([problem.tree_of(_read_iai(solver, X))], n_iter=1)


def _read_iai(solver: Any, X: NDArray[np.float64], node: int = 1) -> Split | None:
    """Read a tree whose nodes are numbered from 1 and whose lower child has ``x < threshold``."""
    if solver.is_leaf(node):
        return None
    feature = int(str(solver.get_split_feature(node)).removeprefix("x"))
    values = X[:, feature]
    below = values[values < solver.get_split_threshold(node)]
    cut = float(below.max()) if len(below) else float(values.min())
    lower, upper = (
        _read_iai(solver, X, int(child))
        for child in (solver.get_lower_child(node), solver.get_upper_child(node))
    )
    return Split(feature, cut, lower, upper)
