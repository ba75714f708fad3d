"""RSOCTClassifier: reduced-space branch and bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from horizontree.estimators.base import Problem
from horizontree.estimators.exact import ExactClassifier
from horizontree.estimators.parameters import check_integer
from horizontree.search import reduced_space
from horizontree.search.exact import OnProgress, Solved


class RSOCTClassifier(ExactClassifier):
    """Exact trees by reduced-space branch and bound (RS-OCT).

    The method of Hua, Ren and Cao (2022): it branches on the tree's own variables only, features,
    ranges of thresholds and classes of leaves, whatever the number of samples. It proves trees of
    depth 2 for some hundred samples; beyond, set a time limit: the bound holds at any time.

    Parameters
    ----------
    max_depth : int, default=2
        Depth of the tree, 1 to 4; deeper than 2 the proof is out of reach but for tiny data.
    min_samples_leaf : int, default=1
        Fewest training samples in a leaf.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples.
    group_size : int, default=24
        Samples of a group that is solved together, for tighter bounds; 0 for none.
    max_boxes : int or None, default=None
        Boxes of trees after which the best tree so far is kept, with the bound so far: a limit
        that does not depend on the machine.
    time_limit : float or None, default=None
        Seconds after which the best tree so far is kept, with the bound so far.
    random_state : int, RandomState instance or None, default=None
        Accepted so that all classifiers can be built alike; nothing here depends on it.
    n_jobs : int or None, default=None
        Threads that sort the data; the search has one.
    verbose : int, default=0
        1 shows progress on standard error: the cost, the bound and the gap.

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
        ``"optimal"``, ``"completed"`` (after ``max_boxes``), ``"time_limit"`` or ``"interrupted"``.
    fit_time_ : float
        Seconds.
    n_iter_ : int
        Boxes of trees that were looked at.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from horizontree import RSOCTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RSOCTClassifier(max_depth=2).fit(X, y)
    >>> model.n_errors_, model.status_
    (6, 'optimal')
    """

    _deepest = 4

    def __init__(
        self,
        max_depth: int = 2,
        *,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        group_size: int = 24,
        max_boxes: int | None = None,
        time_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.group_size = group_size
        self.max_boxes = max_boxes
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("group_size", self.group_size, at_least=0)

    def _solve(self, problem: Problem, stops: Callable[[], bool], report: OnProgress) -> Solved:
        return reduced_space.solve(
            problem.samples,
            int(self.max_depth),
            problem.objective,
            int(self.group_size),
            stops,
            report,
            reduced_space.MANY_BOXES if self.max_boxes is None else int(self.max_boxes),
        )
