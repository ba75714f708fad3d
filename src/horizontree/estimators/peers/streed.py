"""STreeDClassifier: an adapter to ``pystreed``."""

from __future__ import annotations

from typing import Any

import numpy as np

from horizontree.estimators.base import BaseTreeClassifier, Found, Problem
from horizontree.estimators.parameters import check_choice, check_integer, seed_of
from horizontree.estimators.peers.common import (
    BINARIZERS,
    FOR_EVER,
    Questions,
    package,
    quiet,
    step_between_rows,
)
from horizontree.search.splits import Split

_CELLS_PER_SECOND = 5_000_000
"""Answers that it gets for each second that is left; it reads about four times as many."""
_MANY_QUESTIONS = 100
"""Where there are more, pairs of them take its time, before it looks at the clock: with twice as
many questions it gets a quarter of the rows. Measured with 799 questions: 1.8 s for 4,800 rows."""


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
        Seconds; a tree found by then is kept, otherwise a single leaf. The questions are chosen
        in half of that at most, and the package gets no more rows than it can read in a part of
        the rest, evenly spread.
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
        check_choice("binarizer", self.binarizer, BINARIZERS)

    def _search(self, problem: Problem) -> Found:
        pystreed = package("pystreed", 'pip install "horizontree[peers]"')
        questions = Questions(problem, self.binarizer, seed_of(self.random_state))
        if questions.answers.shape[1] == 0 or len(problem.y) < 2 * self.min_samples_leaf:
            return Found([problem.tree_of(None)], n_iter=1)
        n_rows, n_questions = questions.answers.shape
        width = max(n_questions, n_questions**2 // _MANY_QUESTIONS)
        share = max(0.1, n_questions / width)
        step = step_between_rows(problem.watch, n_rows, width, _CELLS_PER_SECOND, share)
        answers = questions.answers[::step].astype(np.intc)
        classes = np.unique(problem.y[::step], return_inverse=True)[1].astype(np.intc)
        has_price = self.ccp_alpha > 0
        left = problem.watch.seconds_left
        solver = pystreed.STreeDClassifier(
            "cost-complex-accuracy" if has_price else "accuracy",
            max_depth=int(self.max_depth),
            min_leaf_node_size=max(1, int(self.min_samples_leaf) // step),
            cost_complexity=min(1.0, float(self.ccp_alpha)) if has_price else 0.01,
            time_limit=FOR_EVER if left is None else max(left, 0.01),
        )
        with quiet():
            solver.fit(answers, classes)

        def read(node: Any) -> Split | None:
            if node.is_leaf_node():
                return None
            yes, no = read(node.right_child), read(node.left_child)
            return questions.split(int(node.feature), yes, no)

        problem.watch.should_stop()
        root = read(solver.get_tree()) if solver.is_fitted() else None
        return Found([problem.tree_of(root)], n_iter=1)
