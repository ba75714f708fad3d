"""What all the classifiers share: validation, fitting around a search, prediction."""

from __future__ import annotations

import os
import time
from abc import ABCMeta, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Bunch
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from horizontree.encoding import SampleSet, rank_samples
from horizontree.estimators.compilation import announce_compilation
from horizontree.estimators.parameters import (
    check_integer,
    check_n_jobs,
    check_random_state,
    check_real,
    check_verbose,
    checked_data,
    refuse_categories,
    refuse_huge_integers,
    refuse_missing_labels,
)
from horizontree.estimators.pruning import pruning_path
from horizontree.estimators.sklearn_tree import importances_of, to_sklearn_classifier
from horizontree.objective import COST_SCALE, Objective
from horizontree.progress import ProgressLine
from horizontree.search.splits import Split, build_tree
from horizontree.search.watch import Watch
from horizontree.threads import Map, thread_map
from horizontree.tree import Tree

_DTYPES = (np.float64, np.float32)

SHORT_FITS = 2
"""Fits of a short search that a price is chosen by, for each division of the rows."""


@dataclass(frozen=True, eq=False)
class Problem:
    """A training problem as the searches see it.

    Parameters
    ----------
    samples : SampleSet
        All training samples.
    y : intp array of shape (n_rows,)
        The class of each row.
    objective : Objective
        What is minimised.
    watch : Watch
        Says when to stop.
    run : callable
        ``map``, over threads if there are several.
    n_threads : int
        How many.
    """

    samples: SampleSet
    y: NDArray[np.intp]
    objective: Objective
    watch: Watch
    run: Map
    n_threads: int

    def tree_of(self, root: Split | None) -> Tree:
        """Finish a tree of splits."""
        return build_tree(root, self.samples.X, self.y, self.samples.n_classes, self.objective)

    def cost_of(self, tree: Tree) -> int:
        """Return the cost of a finished tree."""
        return self.objective.tree_cost(tree.n_errors, tree.n_splits)


@dataclass(frozen=True, eq=False)
class Found:
    """What a search found.

    Parameters
    ----------
    trees : list of Tree
        Candidates; the cheapest is kept (equal cost: the first).
    n_iter : int
        Generations, sweeps or the like.
    bound : int
        A cost that no tree is below.
    """

    trees: list[Tree]
    n_iter: int
    bound: int = 0


class BaseTreeClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):  # type: ignore[misc]
    """A classifier that searches for one tree."""

    max_depth: int | None
    min_samples_leaf: int = 1
    ccp_alpha: float = 0.0
    random_state: Any
    n_jobs: int | None = None
    verbose: int
    time_limit: float | None = None

    def _check_parameters(self) -> None:
        """Check the parameters; a subclass adds its own."""
        check_integer("min_samples_leaf", self.min_samples_leaf, at_least=1)
        check_real("ccp_alpha", self.ccp_alpha)
        check_random_state(self.random_state)
        if self.time_limit is not None:
            check_real("time_limit", self.time_limit, above=0.0)
        check_n_jobs(self.n_jobs)
        check_verbose(self.verbose)

    def _draft(self) -> tuple[Self, int]:
        """Return what tries prices on some of the rows, and how many fits it is quick enough for.

        A search that takes about a tenth of the time, for a few; otherwise the same, for one.
        """
        return clone(self), 1

    @abstractmethod
    def _search(self, problem: Problem) -> Found:
        """Search for trees."""

    def fit(self, X: ArrayLike, y: ArrayLike, **unsupported: Any) -> Self:
        """Train the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers; a pandas or polars frame gives the feature names.
        y : array-like of shape (n_samples,)
            Class labels of any type, at least two different ones.
        **unsupported
            Nothing yet: sample weights get an error.

        Returns
        -------
        self
            The fitted classifier.
        """
        started = time.perf_counter()
        refused = sorted(name for name, value in unsupported.items() if value is not None)
        if refused:
            raise TypeError(
                f"{type(self).__name__}.fit does not support {', '.join(refused)} "
                "yet; every sample counts once. Repeat rows to give them integer weights."
            )
        self._check_parameters()
        refuse_categories(X)
        refuse_huge_integers(X)
        refuse_missing_labels(y)
        matrix, target = checked_data(self, X, y, dtype=_DTYPES)
        check_classification_targets(target)
        return self._fit_checked(matrix, target, started)

    def _fit_checked(self, matrix: NDArray[Any], target: NDArray[Any], started: float) -> Self:
        """Train the tree on rows that have been checked."""
        classes, labels = np.unique(target, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y has 1 class ({classes.tolist()[0]!r}); a classifier needs at least 2. "
                "Check the target column."
            )
        objective = Objective.from_ccp_alpha(self.ccp_alpha, self.min_samples_leaf, len(labels))
        line = ProgressLine(type(self).__name__, COST_SCALE) if self.verbose else None
        watch = Watch(self.time_limit, line, spent=time.perf_counter() - started)
        n_threads = min(effective_n_jobs(self.n_jobs), os.cpu_count() or 1)
        with watch.catch_interrupt(), announce_compilation(), thread_map(n_threads) as run:
            samples = rank_samples(matrix, labels, len(classes), run)
            problem = Problem(samples, labels, objective, watch, run, n_threads)
            found = self._search(problem)
        self.classes_ = classes
        self._keep(found, problem)
        self.fit_time_ = time.perf_counter() - started
        if line is not None:
            has_gap = 0 < self.lower_bound_ < self.objective_
            bound = f", bound {round(self.lower_bound_, 2):,}, gap {self.gap_:.1%}"
            line.close(
                f"{self.n_errors_:,} errors of {len(labels):,}, {self.tree_.n_splits} splits, "
                f"{self.status_}{bound if has_gap else ''}, {self.fit_time_:.2f} s"
            )
        return self

    def _keep(self, found: Found, problem: Problem) -> None:
        """Keep the cheapest tree, and what is known of it."""
        costs = [problem.cost_of(tree) for tree in found.trees]
        cost = min(costs)
        self.tree_ = found.trees[costs.index(cost)]
        self.n_errors_ = self.tree_.n_errors
        self.objective_ = cost / COST_SCALE
        bound = min(found.bound, cost)
        self.lower_bound_ = bound / COST_SCALE
        self.gap_ = (cost - bound) / cost if cost else 0.0
        self.status_ = "optimal" if bound == cost else problem.watch.status
        self.n_iter_ = found.n_iter

    def apply(self, X: ArrayLike) -> NDArray[np.intp]:
        """Return the leaf (its node number in ``tree_``) that each sample reaches."""
        check_is_fitted(self)
        matrix = checked_data(self, X, reset=False, dtype=_DTYPES)
        return self.tree_.apply(matrix)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the predicted class label of each sample."""
        leaf = self.apply(X)
        labels: NDArray[Any] = self.classes_[self.tree_.predicted_class[leaf]]
        return labels

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the share of each class among the training samples of the leaf."""
        leaf = self.apply(X)
        counts = self.tree_.class_counts[leaf]
        share: NDArray[np.float64] = counts / counts.sum(axis=1, keepdims=True)
        return share

    def decision_path(self, X: ArrayLike) -> csr_matrix:
        """Return a sparse 0/1 matrix (n_samples, n_nodes) of the nodes that each sample visits."""
        leaf = self.apply(X)
        parent = np.full(self.tree_.n_nodes, -1, dtype=np.intp)
        inner = np.flatnonzero(~self.tree_.is_leaf)
        parent[self.tree_.left[inner]] = inner
        parent[self.tree_.right[inner]] = inner
        paths: list[list[int]] = []
        for node in range(self.tree_.n_nodes):  # preorder: the parent's path is known
            paths.append([*(paths[parent[node]] if node else []), node])
        lengths = np.array([len(path) for path in paths])
        starts = np.cumsum(lengths) - lengths
        indptr = np.concatenate([[0], np.cumsum(lengths[leaf])])
        step = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths[leaf])
        indices = np.concatenate(paths)[np.repeat(starts[leaf], lengths[leaf]) + step]
        data = np.ones(len(indices), dtype=np.int64)
        return csr_matrix((data, indices, indptr), shape=(len(leaf), self.tree_.n_nodes))

    def get_depth(self) -> int:
        """Return the depth of the tree: the longest way from the root to a leaf."""
        check_is_fitted(self)
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each feature's share of the total decrease in gini impurity."""
        check_is_fitted(self)
        return importances_of(self.tree_, self.n_features_in_)

    def cost_complexity_pruning_path(self, X: ArrayLike, y: ArrayLike) -> Bunch:
        """Fit without a price of a split, and return the path of its best prunings.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As for ``fit``.
        y : array-like of shape (n_samples,)
            As for ``fit``.

        Returns
        -------
        Bunch
            ``ccp_alphas``: the prices from which on each tree of the path is best, ascending;
            ``impurities``: its share of training errors; ``n_splits``: how many splits it has.
        """
        model = clone(self)
        if "ccp_alpha" in model.get_params(deep=False):
            model.set_params(ccp_alpha=0.0)
        tree = model.fit(X, y).tree_
        n_samples = int(tree.class_counts[0].sum())
        path = pruning_path(tree)
        return Bunch(
            ccp_alphas=np.array([float(step.alpha / n_samples) for step in path]),
            impurities=np.array([step.tree.n_errors / n_samples for step in path]),
            n_splits=np.array([step.tree.n_splits for step in path]),
        )

    def to_text(self) -> str:
        """Draw the tree as text, with the names of features and classes."""
        check_is_fitted(self)
        return self.tree_.to_text(getattr(self, "feature_names_in_", None), self.classes_)

    def to_sklearn(self) -> DecisionTreeClassifier:
        """Return a genuine fitted ``DecisionTreeClassifier`` with the same predictions.

        scikit-learn's trees round samples to float32 before they compare, and so are the
        thresholds here. That changes nothing but for values that are the same as a threshold
        in float32 and above it in float64; of the training data, only between values that
        are the same in float32.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return to_sklearn_classifier(self.tree_, self.classes_, self.n_features_in_, names)
