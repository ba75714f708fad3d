"""IAIOCTClassifier: an adapter to ``interpretableai``, which needs a licence."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree.estimators.base import BaseTreeClassifier, Found, Problem
from horizontree.estimators.parameters import check_integer, seed_of
from horizontree.estimators.peers.common import package
from horizontree.search.splits import Split


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

    def _search(self, problem: Problem) -> Found:
        advice = (
            'pip install "horizontree[iai]", and a licence from Interpretable AI '
            "(https://www.interpretable.ai) for its Julia modules"
        )
        iai = package("interpretableai.iai", advice)
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
        frame = package("pandas", advice).DataFrame({f"x{f}": X[:, f] for f in range(X.shape[1])})
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
