"""CARTClassifier: the greedy baseline."""

from __future__ import annotations

from typing import Any

from horizontree.estimators.base import BaseTreeClassifier, Found, Problem
from horizontree.estimators.parameters import check_choice, check_integer
from horizontree.search.cart import grow_cart


class CARTClassifier(BaseTreeClassifier):
    """The greedy tree: at each node the best single split.

    Parameters
    ----------
    max_depth : int or None, default=4
        Greatest depth; None grows until the leaves are pure.
    min_samples_leaf : int, default=1
        Fewest training samples in a leaf.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples; the grown tree is pruned to
        the least ``errors / n_samples + ccp_alpha * splits``.
    criterion : {"gini", "misclassification"}, default="gini"
        What a split is scored by. ``"misclassification"`` with ``max_depth=1`` is the exact
        best single split.
    random_state : int, RandomState instance or None, default=None
        Accepted so that all classifiers can be built alike; nothing here is random.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 is all processors.
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
        ``"optimal"`` when the tree is proven best, else ``"completed"``.
    fit_time_ : float
        Seconds.
    n_iter_ : int
        Always 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from horizontree import CARTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> CARTClassifier(max_depth=2).fit(X, y).n_errors_
    6
    """

    def __init__(
        self,
        max_depth: int | None = 4,
        *,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        criterion: str = "gini",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.criterion = criterion
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_depth is not None:
            check_integer("max_depth", self.max_depth, at_least=1)
        check_choice("criterion", self.criterion, ("gini", "misclassification"))

    def _search(self, problem: Problem) -> Found:
        root = grow_cart(
            problem.samples,
            max_depth=self.max_depth,
            min_samples_leaf=problem.objective.min_samples_leaf,
            criterion=self.criterion,  # type: ignore[arg-type]
        )
        tree = problem.tree_of(root)
        is_exact = self.max_depth == 1 and self.criterion == "misclassification"
        return Found([tree], n_iter=1, bound=problem.cost_of(tree) if is_exact else 0)
