"""AlphaSearchCV: the price of a split, chosen by validation over a whole path of prices."""

from __future__ import annotations

import itertools
import time
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import KFold, StratifiedKFold, StratifiedShuffleSplit, check_cv
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from horizontree.estimators.base import BaseTreeClassifier
from horizontree.estimators.horizon import HorizonTreeClassifier
from horizontree.estimators.parameters import (
    check_choice,
    check_integer,
    check_real,
    checked_data,
    refuse_categories,
    refuse_huge_integers,
    refuse_missing_labels,
    seed_of,
)
from horizontree.estimators.pruning import best_trees, pruning_path
from horizontree.objective import Objective
from horizontree.tree import Tree

_FEW_ROWS = 120
"""Below it one fit for each division: all of them take milliseconds, short ones not much less."""

_USUAL_PRICE = 1.5
"""In errors: what does best where nothing is known of the data."""

_ROWS_PER_DOUBLING = 2.0
"""Validation rows that twice or half the price must get right in addition, not to be luck."""


@dataclass(frozen=True, eq=False)
class _Tried:
    """What every price came to in one division of the rows."""

    train_score: NDArray[np.float64]
    n_right: NDArray[np.int64]
    n_test: int
    n_splits: NDArray[np.int64]
    n_fits: int


class AlphaSearchCV(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Choose ``ccp_alpha`` by validation, and fit once more with it on all rows.

    For each division of the rows the estimator is fitted a few times only, and with a short
    search where it has one: without a price, and with ``n_fits - 1`` prices from the path.
    All prunings of these trees together give the best tree for every price, so a whole path of
    them costs little. Of prices with the same score that of the smallest trees is taken.

    Parameters
    ----------
    estimator : classifier or None, default=None
        A classifier of this package; None is ``HorizonTreeClassifier()``.
        Its ``time_limit`` is that of each fit.
    n_alphas : int, default=21
        Prices on the path: none, and the others evenly spread on a logarithmic scale.
    alphas : array-like or None, default=None
        Prices to choose from instead.
    cv : int, "holdout", or splitter, default=5
        A number is that many folds of cross-validation; ``"holdout"`` is one division into
        training and validation rows, as in the paper.
    validation_fraction : float, default=1/3
        Share of the rows that ``"holdout"`` validates with.
    n_fits : "auto" or int, default="auto"
        Fits of the estimator for each division of the rows. ``"auto"`` is 2 short searches
        where the estimator has one, and 1 otherwise, below 120 rows, and for
        ``HorizonTreeClassifier`` up to depth 2.
    selection : {"auto", "best"}, default="auto"
        How prices are compared. ``"best"``: by their score on validation rows. A few rows more
        may be luck, so that ``"auto"``, with folds and a path that was not given, smooths the
        scores over half to double the price, and asks two rows more for every doubling between a
        price and one and a half errors, which does best where nothing is known of the data.
    random_state : int, RandomState instance or None, default=None
        The seed of the divisions.

    Attributes
    ----------
    best_alpha_ : float
        The chosen price.
    best_score_ : float
        Its accuracy on the validation rows of all divisions: with folds of several sizes that is
        not the mean of the folds' accuracies.
    best_estimator_ : classifier
        The estimator, fitted on all rows with the chosen price.
    cv_results_ : dict of arrays
        For each price: ``ccp_alpha``, ``mean_test_score`` (over all validation rows),
        ``std_test_score`` (over folds), ``mean_train_score``, ``mean_n_splits`` and
        ``selection_score``, by which it was chosen.
    n_fits_ : int
        Fits of the estimator, the last one included.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names, when ``X`` had names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from horizontree import AlphaSearchCV, CARTClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = AlphaSearchCV(CARTClassifier(max_depth=8), random_state=0).fit(X, y)
    >>> search.best_estimator_.get_n_leaves() < CARTClassifier(max_depth=8).fit(X, y).get_n_leaves()
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_alphas: int = 21,
        alphas: ArrayLike | None = None,
        cv: Any = 5,
        validation_fraction: float = 1 / 3,
        n_fits: int | str = "auto",
        selection: str = "auto",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_alphas = n_alphas
        self.alphas = alphas
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.n_fits = n_fits
        self.selection = selection
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Choose the price, and fit.

        Ctrl-C while prices are compared ends the search; during the last fit it keeps the best
        tree so far.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers; a pandas or polars frame gives the feature names.
        y : array-like of shape (n_samples,)
            Class labels of any type, at least two different ones.
        groups : array-like of shape (n_samples,), default=None
            Groups of rows, for a ``cv`` that keeps them together.

        Returns
        -------
        self
            The fitted search.
        """
        estimator = self._checked_estimator()
        refuse_categories(X)
        refuse_huge_integers(X)
        refuse_missing_labels(y)
        matrix, target = checked_data(self, X, y, dtype=(np.float64, np.float32))
        check_classification_targets(target)
        if len(np.unique(target)) < 2:
            raise ValueError(
                "y has 1 class; a classifier needs at least 2. Check the target column."
            )
        alphas = self._path(target)
        draft, n_fits = estimator._draft()
        if self.n_fits != "auto":
            n_fits = int(self.n_fits)
        elif len(target) < _FEW_ROWS:
            n_fits = 1
        tried = [
            _tried(draft, n_fits, matrix, target, train, test, alphas)
            for train, test in self._divisions(matrix, target, groups)
        ]
        sizes = np.mean([division.n_splits for division in tried], axis=0)
        n_errors = np.array(alphas) * len(target)
        n_tested = sum(division.n_test for division in tried)
        share = np.sum([division.n_right for division in tried], axis=0) / n_tested
        score = share
        if self.selection == "auto" and self.alphas is None and len(tried) > 1:
            score = _without_luck(share, n_errors, len(target))
        best = _best(score, sizes, n_errors)
        self.cv_results_ = {
            "ccp_alpha": np.array(alphas),
            "mean_test_score": share,
            "std_test_score": np.std([each.n_right / each.n_test for each in tried], axis=0),
            "mean_train_score": np.mean([division.train_score for division in tried], axis=0),
            "mean_n_splits": sizes,
            "selection_score": score.copy(),
        }
        self.best_alpha_ = float(alphas[best])
        self.best_score_ = float(share[best])
        self.best_estimator_ = clone(estimator).set_params(ccp_alpha=self.best_alpha_).fit(X, y)
        self.n_fits_ = 1 + sum(division.n_fits for division in tried)
        self.classes_ = self.best_estimator_.classes_
        return self

    def _checked_estimator(self) -> Any:
        check_integer("n_alphas", self.n_alphas, at_least=2)
        if self.n_fits != "auto":
            check_integer("n_fits", self.n_fits, at_least=1)
        check_choice("selection", self.selection, ("auto", "best"))
        check_real("validation_fraction", self.validation_fraction, above=0.0, at_most=0.9)
        estimator = HorizonTreeClassifier() if self.estimator is None else self.estimator
        if not isinstance(estimator, BaseTreeClassifier):
            raise ValueError(
                f"estimator must be a classifier of this package, got {estimator!r}. For "
                "scikit-learn's greedy tree take CARTClassifier."
            )
        estimator._check_parameters()
        return estimator

    def _path(self, y: NDArray[Any]) -> list[float]:
        """Return the prices, as shares of the rows, from the lowest to the highest."""
        if self.alphas is not None:
            try:
                given = np.unique(np.asarray(self.alphas, dtype=np.float64))
            except (TypeError, ValueError):  # no numbers
                given = np.empty(0)
            if len(given) == 0 or not np.isfinite(given).all() or given[0] < 0:
                raise ValueError(
                    f"alphas must be finite numbers of at least 0, got {self.alphas!r}."
                )
            return [float(alpha) for alpha in given]
        _, counts = np.unique(y, return_counts=True)
        least = 0.5 / len(y)
        most = max(1 - counts.max() / len(y), 2 * least)  # a leaf is as good from here on
        return [0.0, *map(float, np.geomspace(least, most, int(self.n_alphas) - 1))]

    def _divisions(
        self, X: NDArray[Any], y: NDArray[Any], groups: ArrayLike | None
    ) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Divide the rows into training and validation rows, by their numbers."""
        every = np.arange(len(y))
        divisions = [(every[train], every[test]) for train, test in self._split(X, y, groups)]
        if not divisions or min(map(len, itertools.chain(*divisions))) == 0:
            raise ValueError(
                "cv must divide the rows at least once, into training and validation rows; "
                "one of its divisions has none of either, or there is no division."
            )
        return divisions

    def _split(
        self, X: NDArray[Any], y: NDArray[Any], groups: ArrayLike | None
    ) -> list[tuple[Any, Any]]:
        """Divide the rows as ``cv`` says, by numbers or masks."""
        if groups is not None and isinstance(self.cv, Integral | str):
            raise ValueError(
                f"cv={self.cv!r} does not look at groups; choose one that keeps them together, "
                "such as sklearn.model_selection.GroupKFold()."
            )
        seed = seed_of(self.random_state) % 2**32
        if isinstance(self.cv, Integral):
            check_integer("cv", self.cv, at_least=2)
            n_folds = min(int(self.cv), len(y))
            is_frequent = np.unique(y, return_counts=True)[1].min() >= n_folds
            kind = StratifiedKFold if is_frequent else KFold
            return list(kind(n_folds, shuffle=True, random_state=seed).split(X, y))
        if isinstance(self.cv, str):
            check_choice("cv", self.cv, ("holdout",))
            fraction = float(self.validation_fraction)
            _, counts = np.unique(y, return_counts=True)
            n_test = int(np.ceil(fraction * len(y)))
            if counts.min() >= 2 and min(n_test, len(y) - n_test) >= len(counts):
                splitter = StratifiedShuffleSplit(1, test_size=fraction, random_state=seed)
                return list(splitter.split(X, y))
            order = np.random.default_rng(seed).permutation(len(y))
            return [(order[n_test:], order[:n_test])]
        return list(check_cv(self.cv, y, classifier=True).split(X, y, groups))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted class label of each sample."""
        check_is_fitted(self)
        labels: NDArray[Any] = self.best_estimator_.predict(X)
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the share of each class among the training samples of the leaf."""
        check_is_fitted(self)
        shares: NDArray[np.float64] = self.best_estimator_.predict_proba(X)
        return shares


def _tried(
    model: Any,
    n_fits: int,
    X: NDArray[Any],
    y: NDArray[Any],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
    alphas: list[float],
) -> _Tried:
    """Find the best tree for every price on some rows, and look at it on others."""
    classes = np.unique(y[train])
    if len(classes) == 1:  # a leaf at any price
        n_right = np.full(len(alphas), np.count_nonzero(y[test] == classes[0]))
        sizes = np.zeros(len(alphas), dtype=np.int64)
        return _Tried(np.ones(len(alphas)), n_right, len(test), sizes, 0)
    fitted = _trees(model, n_fits, X[train], y[train], alphas)
    n = len(train)
    prices = [Objective.from_ccp_alpha(alpha, model.min_samples_leaf, n) for alpha in alphas]
    best = best_trees(fitted, [price.split_cost for price in prices])
    facts = {}
    for tree in {id(tree): tree for tree in best}.values():
        is_right = classes[tree.predicted_class[tree.apply(X[test])]] == y[test]
        facts[id(tree)] = tree.n_errors, np.count_nonzero(is_right), tree.n_splits
    n_errors, n_right, n_splits = np.array([facts[id(tree)] for tree in best]).T
    return _Tried(1 - n_errors / len(train), n_right, len(test), n_splits, len(fitted))


def _trees(
    model: Any, n_fits: int, X: NDArray[Any], y: NDArray[Any], alphas: list[float]
) -> list[Tree]:
    """Fit without a price, and with a few prices from the path of that tree."""

    def fitted(alpha: float) -> Tree:
        model.ccp_alpha = alpha
        tree: Tree = model._fit_checked(X, y, time.perf_counter()).tree_
        if model.status_ == "interrupted":
            raise KeyboardInterrupt
        return tree

    first = fitted(0.0)
    if n_fits == 1:
        return [first]
    return [first, *map(fitted, _prices_to_fit(first, alphas, len(y), n_fits - 1))]


def _without_luck(
    score: NDArray[np.float64], n_errors: NDArray[np.float64], n_samples: int
) -> NDArray[np.float64]:
    """Smooth the scores of prices over one doubling, and take some off those of unusual prices."""
    doublings = _doublings(n_errors)
    weight = np.maximum(0, 1 - np.abs(doublings[:, None] - doublings))
    smoothed = weight @ score / weight.sum(axis=1)
    steady: NDArray[np.float64] = smoothed - _ROWS_PER_DOUBLING / n_samples * np.abs(doublings)
    return steady


def _doublings(n_errors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how many doublings above the usual price each is; one of no errors is not far."""
    return np.log2((n_errors + 0.5) / (_USUAL_PRICE + 0.5))


def _best(
    score: NDArray[np.float64], sizes: NDArray[np.float64], n_errors: NDArray[np.float64]
) -> int:
    """Choose a price: the highest score, then the smallest trees, then near the usual price.

    Prices with the same trees say nothing about the prices between them. The fit on all rows may
    find another tree at the highest of them; near the usual price it is the most likely to find
    such a tree again.
    """
    distance = np.abs(_doublings(n_errors))
    return int(np.lexsort((distance, np.round(sizes, 9), -np.round(score, 12)))[0])


def _prices_to_fit(tree: Tree, alphas: list[float], n_samples: int, n_prices: int) -> list[float]:
    """Spread prices evenly, on a logarithmic scale, between one error and a last split's price.

    The ends need no fit: the prunings of the tree without a price are as good there.
    """
    dearest = float(pruning_path(tree)[-1].alpha)
    most = min(dearest, max(alphas) * n_samples)
    if most <= 1:
        return []
    spread = np.geomspace(1, most, n_prices + 2)[1:-1]
    return [float(price) / n_samples for price in spread]
