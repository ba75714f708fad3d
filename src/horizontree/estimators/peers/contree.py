"""ConTreeClassifier: an adapter to ``pycontree``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from horizontree.estimators.base import BaseTreeClassifier, Found, Problem
from horizontree.estimators.parameters import check_integer
from horizontree.estimators.peers.common import FOR_EVER, package, quiet, step_between_rows
from horizontree.objective import COST_SCALE
from horizontree.search.splits import Split

_CELLS_PER_SECOND = 1_500_000
"""Numbers that it gets for each second that is left; it reads about three times as many."""


class ConTreeClassifier(BaseTreeClassifier):
    """ConTree, exact trees on continuous features, through the package ``pycontree``.

    The package gets the ranks of the values, which it keeps exactly; so its optimum is ours.

    Parameters
    ----------
    max_depth : int, default=3
        Depth of the tree, 1 to 20; beyond 3 it may take very long.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples.
    time_limit : float or None, default=None
        Seconds; the best tree by then is kept. The package gets no more rows than it can read in a
        part of that, evenly spread.
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
        Training errors plus the price of the splits.
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
        ccp_alpha: float = 0.0,
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.ccp_alpha = ccp_alpha
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
        step = step_between_rows(
            problem.watch, samples.n_samples, samples.n_features, _CELLS_PER_SECOND
        )
        codes = samples.codes()[::step].astype(np.float64)
        classes = np.unique(samples.labels[::step], return_inverse=True)[1]
        left = problem.watch.seconds_left
        price = problem.objective.split_cost / (COST_SCALE * len(problem.y))  # as we count it
        solver = pycontree.ConTree(
            max_depth=int(self.max_depth),
            complexity_cost=min(1.0, price),
            time_limit=FOR_EVER if left is None else max(left, 0.01),
        )
        with quiet():
            solver.fit(codes, classes)
        has_ended = step == 1 and bool(solver._config.is_within_time_limit())

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
