"""ConTreeClassifier: an adapter to ``pycontree``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from horizontree.estimators.base import BaseTreeClassifier, Found, Problem
from horizontree.estimators.parameters import check_integer
from horizontree.estimators.peers.common import FOR_EVER, package, quiet
from horizontree.search.splits import Split


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
        pycontree = package("pycontree", 'pip install "horizontree[peers]"')
        samples = problem.samples
        if samples.n_features == 0:
            leaf = problem.tree_of(None)
            return Found([leaf], n_iter=1, bound=problem.cost_of(leaf))
        left = problem.watch.seconds_left
        solver = pycontree.ConTree(
            max_depth=int(self.max_depth), time_limit=FOR_EVER if left is None else max(left, 0.01)
        )
        with quiet():
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
