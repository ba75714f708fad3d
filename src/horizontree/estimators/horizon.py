"""HorizonTreeClassifier: the flagship."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone

from horizontree.backends import Backend
from horizontree.estimators.base import SHORT_FITS, BaseTreeClassifier, Found, Problem
from horizontree.estimators.on_backend import search_on
from horizontree.estimators.parameters import check_choice, check_integer, seed_of
from horizontree.search.effort import EFFORTS
from horizontree.search.gaps import with_placed_thresholds
from horizontree.search.horizon import DEEPEST_HORIZON, EXACT_DEPTH, HorizonSearch
from horizontree.search.repair import cost_of

DEEPEST = 16
"""Candidates are completed to the full depth: each level doubles the nodes."""


_BACKENDS = ("auto", "cpu", "jax")


class HorizonTreeClassifier(BaseTreeClassifier):
    """The best tree for the time: a moving horizon with exact ends, and proofs.

    Trees of depth 1 and 2 are optimal, and proven so. At depth 3 the search narrows a bound;
    with ``effort="thorough"`` it goes on until the tree is proven optimal. Deeper trees are
    grown level by level: candidate splits are completed to the full depth before one is
    chosen, the last three levels are searched with bounds, and the finished tree is repaired
    where errors are left. The result is never worse than CART's. Below the root a threshold lies,
    between the values that it parts, where it divides the samples of the node above best.

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the tree, 1 to 16.
    min_samples_leaf : int, default=1
        Fewest training samples in a leaf.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples.
    horizon : "auto" or int, default="auto"
        Depth of the subtrees that the tree ends in and that are searched as a whole, 2 or 3.
        ``"auto"`` is 3.
    effort : {"quick", "normal", "thorough"}, default="normal"
        How much work is spent. Effort is counted in work, not in seconds, so that the tree
        is the same on every machine and with any number of threads.
    time_limit : float or None, default=None
        Seconds after which the best tree so far is kept. It is looked at between pieces of
        work; sorting the features and CART's tree come first, however short it is. A limit that
        strikes makes the result depend on the machine.
    random_state : int, RandomState instance or None, default=None
        Seed of what thorough effort does at random, to trees deeper than the horizon; None
        is 0. Nothing else is random.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 is all processors.
    backend : {"auto", "cpu", "jax"}, default="auto"
        What counts the samples of large nodes. The tree is the same with each.
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
        ``"optimal"``, ``"completed"``, ``"time_limit"`` or ``"interrupted"``.
    fit_time_ : float
        Seconds.
    n_iter_ : int
        Nodes decided.
    backend_ : str
        The backend that was used.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from horizontree import HorizonTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HorizonTreeClassifier(max_depth=2).fit(X, y)
    >>> model.n_errors_, model.status_
    (6, 'optimal')
    """

    max_depth: int

    def __init__(
        self,
        max_depth: int = 4,
        *,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        horizon: int | str = "auto",
        effort: str = "normal",
        time_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        backend: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
        self.horizon = horizon
        self.effort = effort
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.backend = backend
        self.verbose = verbose

    def _draft(self) -> tuple[Self, int]:
        draft: Self = clone(self).set_params(effort="quick")
        if self.effort == "quick" or self.max_depth <= EXACT_DEPTH:  # short already, or exact
            return draft, 1
        if self.max_depth == DEEPEST_HORIZON:  # a proof may take as long as the whole search
            draft.set_params(horizon=2)
        return draft, SHORT_FITS

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_depth", self.max_depth, at_least=1, at_most=DEEPEST)
        check_choice("effort", self.effort, EFFORTS)
        check_choice("backend", self.backend, _BACKENDS)
        self._horizon()

    def _horizon(self) -> int:
        """Return the depth of the subtrees that are searched as a whole."""
        if self.horizon == "auto":
            return DEEPEST_HORIZON
        if isinstance(self.horizon, str):
            raise ValueError(f'horizon must be "auto" or an integer, got {self.horizon!r}.')
        return check_integer("horizon", self.horizon, at_least=2, at_most=DEEPEST_HORIZON)

    def _search(self, problem: Problem) -> Found:
        found, self.backend_ = search_on(self.backend, problem, self._search_with)
        return found

    def _search_with(self, backend: Backend, problem: Problem) -> Found:
        samples, objective = problem.samples, problem.objective
        max_depth, horizon = int(self.max_depth), self._horizon()
        efforts = [self.effort]
        if self.effort == "thorough" and max_depth > EXACT_DEPTH:
            efforts = ["normal", "thorough"]  # a good tree soon, and one to start from
        seed = 0 if self.random_state is None else seed_of(self.random_state)
        scanner = getattr(backend, "scan_pairs", None)
        small_first = objective.preferring_small_trees()
        tree, bound, n_decided = None, 0, 0
        for effort in efforts:
            search = HorizonSearch(
                max_depth, horizon, small_first, EFFORTS[effort],
                problem.watch, problem.run, seed, scanner,
            )  # fmt: skip
            tree = search.search(samples, tree, bound)
            bound = search.bound
            n_decided += search.n_decided
            is_proven = cost_of(tree, samples, small_first) == bound  # that it is small, too
            if is_proven or problem.watch.should_stop():
                break
        finished = problem.tree_of(tree)
        if not problem.watch.should_stop():
            finished = with_placed_thresholds(finished, samples.X, problem.y)
        return Found(trees=[finished], n_iter=n_decided, bound=objective.bound_from(bound))
