"""Binarisation: features turned into questions ``x <= threshold``, for methods that need them."""

from __future__ import annotations

import math
from abc import ABCMeta, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from horizontree.encoding import threshold_between
from horizontree.estimators.mdlp_cuts import cut_features
from horizontree.estimators.parameters import (
    check_integer,
    check_real,
    checked_data,
    refuse_categories,
    refuse_huge_integers,
    refuse_missing_labels,
    seed_of,
)
from horizontree.search.watch import Watch

_CELLS_PER_BLOCK = 1 << 20
"""Values that are copied at a time to answer questions; all at once, they would fill the memory."""


class _Binarizer(TransformerMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """A transformer whose columns are questions about single features."""

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose the questions.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers; a pandas or polars frame gives the feature names.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self
            The fitted transformer.
        """
        refuse_categories(X)
        refuse_huge_integers(X)
        refuse_missing_labels(y)
        matrix, target = checked_data(self, X, y, dtype=np.float64)
        check_classification_targets(target)
        _, labels = np.unique(target, return_inverse=True)
        questions = self._questions(matrix, labels)
        self.features_ = np.array([f for f, _ in questions], dtype=np.intp)
        self.thresholds_ = np.array([threshold for _, threshold in questions], dtype=np.float64)
        return self

    @abstractmethod
    def _questions(self, X: NDArray[np.float64], y: NDArray[np.intp]) -> list[tuple[int, float]]:
        """Return features and thresholds."""

    def transform(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Answer the questions: a column each, True where the value is at most the threshold."""
        check_is_fitted(self)
        refuse_categories(X)
        refuse_huge_integers(X)
        matrix = checked_data(self, X, reset=False, dtype=np.float64)
        answers = np.empty((len(matrix), len(self.features_)), dtype=np.bool_)
        n_rows = max(1, _CELLS_PER_BLOCK // max(1, len(self.features_)))
        for first in range(0, len(matrix), n_rows):
            rows = slice(first, first + n_rows)
            np.less_equal(matrix[rows, self.features_], self.thresholds_, out=answers[rows])
        return answers

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the questions as text, such as ``"age <= 42.5"``."""
        check_is_fitted(self)
        known = getattr(self, "feature_names_in_", None)
        names = known if input_features is None else input_features
        if names is None:
            names = [f"x{f}" for f in range(self.n_features_in_)]
        named = np.asarray(names, dtype=object)
        if known is not None and not np.array_equal(named, known):
            raise ValueError(
                f"input_features is not equal to feature_names_in_, {known.tolist()}; leave it out."
            )
        if len(named) != self.n_features_in_:
            raise ValueError(
                "input_features should have length equal to number of features "
                f"({self.n_features_in_}), got {len(named)}."
            )
        pairs = list(zip(self.features_, self.thresholds_.tolist(), strict=True))
        questions = [f"{named[f]} <= {threshold:.12g}" for f, threshold in pairs]
        if len(set(questions)) < len(questions):  # thresholds that differ in later digits
            questions = [f"{named[f]} <= {threshold!r}" for f, threshold in pairs]
        return np.array(questions, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class ThresholdGuessBinarizer(_Binarizer):
    """The thresholds that a gradient-boosted reference model uses (McTavish et al. 2022).

    The reference model is fitted, the questions in its trees are taken; then it is fitted on
    the answers again and again, until it needs all of the questions that are left.

    Parameters
    ----------
    n_estimators : int, default=100
        Rounds of boosting.
    max_depth : int, default=1
        Depth of the boosted trees.
    learning_rate : float, default=0.1
        How much each round counts.
    time_limit : float or None, default=None
        Seconds after which the reference model gets no more rounds; it has one at least each
        time that it is fitted.
    random_state : int, RandomState instance or None, default=None
        The seed of the reference model.

    Attributes
    ----------
    features_ : ndarray of shape (n_questions,)
        The feature of each question.
    thresholds_ : ndarray of shape (n_questions,)
        Its threshold.
    reference_ : GradientBoostingClassifier
        The reference model, fitted on the answers.
    is_complete_ : bool
        Whether the time limit left the reference model all of its rounds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names, when ``X`` had names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from horizontree import ThresholdGuessBinarizer
    >>> X, y = load_iris(return_X_y=True)
    >>> ThresholdGuessBinarizer(n_estimators=10, random_state=0).fit_transform(X, y).shape
    (150, 7)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int = 1,
        learning_rate: float = 0.1,
        time_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.learning_rate = learning_rate
        self.time_limit = time_limit
        self.random_state = random_state

    def _questions(self, X: NDArray[np.float64], y: NDArray[np.intp]) -> list[tuple[int, float]]:
        check_integer("n_estimators", self.n_estimators, at_least=1)
        check_integer("max_depth", self.max_depth, at_least=1)
        check_real("learning_rate", self.learning_rate, above=0.0)
        if self.time_limit is not None:
            check_real("time_limit", self.time_limit, above=0.0)
        if y.max() == 0:
            raise ValueError("y has 1 class; the reference model needs at least 2.")
        seed = seed_of(self.random_state) % 2**32
        watch = Watch(self.time_limit)
        first_half = Watch(None if self.time_limit is None else self.time_limit / 2)
        values = [np.unique(column) for column in X.T]
        ranks = np.stack([np.searchsorted(v, x) for v, x in zip(values, X.T, strict=True)], axis=1)
        used = self._splits_of(self._fitted(ranks, y, seed, first_half))  # it rounds to float32
        cuts = sorted({(f, math.floor(threshold)) for f, threshold in used})
        questions = [(f, threshold_between(*values[f][i : i + 2].tolist())) for f, i in cuts]
        while questions:
            features, thresholds = zip(*questions, strict=True)
            answers = X[:, list(features)] <= np.array(thresholds)
            self.reference_ = self._fitted(answers, y, seed, watch)
            needed = {column for column, _ in self._splits_of(self.reference_)}
            if len(needed) == len(questions) or watch.should_stop():
                break
            questions = [questions[column] for column in sorted(needed)]
        self.is_complete_ = {watch.status, first_half.status} == {"completed"}
        return questions

    def _fitted(self, X: NDArray[Any], y: NDArray[np.intp], seed: int, watch: Watch) -> Any:
        from sklearn.ensemble import GradientBoostingClassifier  # slow to import

        model = GradientBoostingClassifier(
            n_estimators=self.n_estimators,
            max_depth=self.max_depth,
            learning_rate=self.learning_rate,
            random_state=seed,
        )
        return model.fit(X, y, monitor=lambda *_: watch.should_stop())

    @staticmethod
    def _splits_of(model: Any) -> set[tuple[int, float]]:
        """Return the features and thresholds of all trees of a boosted model."""
        trees = [regressor.tree_ for regressor in model.estimators_.ravel()]
        return {
            (int(f), float(threshold))
            for tree in trees
            for f, threshold in zip(tree.feature, tree.threshold, strict=True)
            if f >= 0
        }


class MDLPBinarizer(_Binarizer):
    """Cuts by minimum description length (Fayyad and Irani 1993).

    A feature is cut where that lowers the entropy of the classes most, and either side again,
    as long as a cut saves more bits than it takes to write down. Of cuts that lower the entropy
    equally the one at the lowest value is made.

    Parameters
    ----------
    time_limit : float or None, default=None
        Seconds after which no more cuts are looked for; those found by then are kept. Each
        feature has an even share of the time, and what others did not use of theirs; it is cut
        from the whole to the parts. In too short a time the last ones may have no cut.

    Attributes
    ----------
    features_ : ndarray of shape (n_questions,)
        The feature of each question.
    thresholds_ : ndarray of shape (n_questions,)
        Its threshold.
    is_complete_ : bool
        Whether the time limit left time for all cuts.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names, when ``X`` had names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from horizontree import MDLPBinarizer
    >>> iris = load_iris(as_frame=True)
    >>> MDLPBinarizer().fit(iris.data, iris.target).get_feature_names_out()[-2:].tolist()
    ['petal width (cm) <= 0.8', 'petal width (cm) <= 1.75']
    """

    def __init__(self, *, time_limit: float | None = None) -> None:
        self.time_limit = time_limit

    def _questions(self, X: NDArray[np.float64], y: NDArray[np.intp]) -> list[tuple[int, float]]:
        if self.time_limit is not None:
            check_real("time_limit", self.time_limit, above=0.0)
        questions, self.is_complete_ = cut_features(X, y, Watch(self.time_limit))
        return questions
