"""LSOCTClassifier: local search from many starts."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone

from horizontree.estimators.base import SHORT_FITS, BaseTreeClassifier, Found, Problem
from horizontree.estimators.parameters import check_integer, seed_of
from horizontree.search.cart import grow_cart
from horizontree.search.local_search import Improved, LocalSearch
from horizontree.search.random_draws import stream_of

DEEPEST = 12
"""A tree is kept in heap order: each level doubles it."""


class LSOCTClassifier(BaseTreeClassifier):
    """Local search over whole trees, from CART's tree and from random ones (LS-OCT).

    The method of Bertsimas and Dunn (2017): node by node, in random order, the best change of
    a split, a child in its parent's place, a leaf or a new split, until nothing improves.

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the tree, 1 to 12.
    min_samples_leaf : int, default=1
        Fewest training samples in a leaf.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples.
    n_starts : int, default=100
        Trees that are searched from: CART's and random ones.
    time_limit : float or None, default=None
        Seconds after which the best tree so far is kept. It is looked at between pieces of
        work: sorting the data and a CART tree always run. A limit that strikes makes the
        result depend on the machine.
    random_state : int, RandomState instance or None, default=None
        The seed. One seed, one tree, with any number of threads.
    n_jobs : int or None, default=None
        Threads, which share the starts; None is 1, -1 is all processors.
    verbose : int, default=0
        1 shows progress on standard error.

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
        ``"optimal"``, ``"completed"``, ``"time_limit"`` or ``"interrupted"``.
    fit_time_ : float
        Seconds.
    n_iter_ : int
        Sweeps over a tree, of all starts.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from horizontree import LSOCTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> LSOCTClassifier(max_depth=2, random_state=0).fit(X, y).n_errors_
    6
    """

    max_depth: int

    def __init__(
        self,
        max_depth: int = 4,
        *,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        n_starts: int = 100,
        time_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.n_starts = n_starts
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _draft(self) -> tuple[Self, int]:
        if self.n_starts < 10:
            return super()._draft()
        return clone(self).set_params(n_starts=self.n_starts // 10), SHORT_FITS

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_depth", self.max_depth, at_least=1, at_most=DEEPEST)
        check_integer("n_starts", self.n_starts, at_least=1)

    def _search(self, problem: Problem) -> Found:
        samples, watch = problem.samples, problem.watch
        # a split that gains nothing goes at once: its leaves would forbid changes above it
        objective = problem.objective.preferring_small_trees()
        seed = seed_of(self.random_state)
        search = LocalSearch(samples, int(self.max_depth), objective, watch.should_stop)
        cart = grow_cart(
            samples, max_depth=self.max_depth, min_samples_leaf=objective.min_samples_leaf
        )
        streams = [stream_of(seed, start) for start in range(self.n_starts)]
        ends: list[Improved] = []
        for improved in search.improve_all([cart], streams, problem.run):
            ends.append(improved)
            watch.report("starts", len(ends), len(streams), min(end.cost for end in ends))
        best = min(ends, key=lambda end: end.cost)  # the first is CART's tree or a better one
        return Found([problem.tree_of(best.root)], n_iter=sum(end.n_sweeps for end in ends))
