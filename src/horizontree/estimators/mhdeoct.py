"""MHDEOCTClassifier: the moving horizon."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from horizontree.backends import Backend, get_backend
from horizontree.estimators.base import Found, Problem
from horizontree.estimators.evolutionary import EvolutionaryClassifier
from horizontree.estimators.parameters import check_integer, check_warm_starts, seed_of
from horizontree.search.moving_horizon import WARM_STARTS, MovingHorizon


class MHDEOCTClassifier(EvolutionaryClassifier):
    """Moving-horizon differential evolution (MH-DEOCT).

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the tree, 1 to 12.
    min_samples_leaf : int, default=1
        Fewest training samples in a leaf.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples.
    horizon : "auto" or int, default="auto"
        Depth of the subtree that is searched at each node. ``"auto"`` is 2 at depth 2 and 3
        for deeper trees.
    mode : {"normal", "long"}, default="normal"
        100 individuals for 600 generations, or 200 for 4000, in every evolution.
    population_size, generations : int or None, default=None
        Override the mode.
    crossover : float, default=0.1
        Probability that a gene of a trial comes from the mutant.
    warm_starts : tuple of str, default=("cart", "deoct", "local-cart")
        What the first generation of each node holds: the subtrees at this place of a CART
        and of a DEOCT tree over all samples, and a CART tree over the samples of the node.
        The result is never worse than any of the first two that is named.
    time_limit : float or None, default=None
        Seconds after which the best tree so far is kept. It is looked at between pieces of
        work: sorting the data, a CART tree and one generation always run. A limit that
        strikes makes the result depend on the machine.
    random_state : int, RandomState instance or None, default=None
        The seed. One seed, one tree, with any number of threads.
    n_jobs : int or None, default=None
        Threads; None is 1, -1 is all processors.
    backend : {"auto", "cpu", "jax", "reference"}, default="auto"
        What counts the samples.
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
        Generations of all evolutions together.
    backend_ : str
        The backend that was used.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from horizontree import MHDEOCTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> MHDEOCTClassifier(max_depth=3, random_state=0).fit(X, y).n_errors_
    3
    """

    _warm_start_names = WARM_STARTS

    def __init__(
        self,
        max_depth: int = 4,
        *,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        horizon: int | str = "auto",
        mode: str = "normal",
        population_size: int | None = None,
        generations: int | None = None,
        crossover: float = 0.1,
        warm_starts: Sequence[str] = WARM_STARTS,
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
        self.mode = mode
        self.population_size = population_size
        self.generations = generations
        self.crossover = crossover
        self.warm_starts = warm_starts
        self.time_limit = time_limit
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.backend = backend
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._horizon()

    def _horizon(self) -> int:
        """Return the depth that is searched at each node."""
        if self.horizon == "auto":
            return min(int(self.max_depth), 3)
        if isinstance(self.horizon, str):
            raise ValueError(f'horizon must be "auto" or an integer, got {self.horizon!r}.')
        return check_integer("horizon", self.horizon, at_least=1, at_most=self.max_depth)

    def _search_with(self, backend: Backend, problem: Problem) -> Found:
        has_one_thread = backend.n_threads == 1
        search = MovingHorizon(
            backend=backend,
            one_thread_backend=backend if has_one_thread else get_backend(backend.name, 1),
            max_depth=int(self.max_depth),
            horizon=self._horizon(),
            objective=problem.objective,
            evolution=self._evolution(),
            seed=seed_of(self.random_state),
            warm_starts=check_warm_starts(self.warm_starts, WARM_STARTS),
            watch=problem.watch,
        )
        warm_starts = search.global_trees(problem.samples)
        trees = [problem.tree_of(root) for root in warm_starts.values()]
        if all(problem.cost_of(tree) > 0 for tree in trees):
            trees.append(problem.tree_of(search.grow(problem.samples, warm_starts, problem.run)))
        is_exact = self.max_depth == 1 and problem.watch.status == "completed"
        return Found(
            trees=trees,
            n_iter=sum(evolved.n_generations for evolved in search.evolutions),
            bound=min(map(problem.cost_of, trees)) if is_exact else 0,
        )
