"""DEOCTClassifier: differential evolution over whole trees."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from horizontree.backends import Backend
from horizontree.estimators.base import Found, Problem
from horizontree.estimators.evolutionary import EvolutionaryClassifier
from horizontree.estimators.parameters import check_warm_starts, seed_of
from horizontree.search.cart import grow_cart
from horizontree.search.differential_evolution import evolve_tree
from horizontree.search.moving_horizon import report_whole_tree
from horizontree.search.random_draws import stream_of


class DEOCTClassifier(EvolutionaryClassifier):
    """Differential evolution over complete trees of a fixed depth (DEOCT).

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the tree, 1 to 12.
    min_samples_leaf : int, default=1
        Fewest training samples in a leaf.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples.
    mode : {"normal", "long"}, default="normal"
        100 individuals for 600 generations, or 200 for 4000.
    population_size, generations : int or None, default=None
        Override the mode.
    crossover : float, default=0.1
        Probability that a gene of a trial comes from the mutant.
    warm_starts : tuple of str, default=("cart",)
        Members of the first generation: ``("cart",)`` or ``()``. The result is never worse
        than any of them.
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
        Generations.
    backend_ : str
        The backend that was used.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from horizontree import DEOCTClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> DEOCTClassifier(max_depth=2, random_state=0).fit(X, y).n_errors_
    6
    """

    _warm_start_names = ("cart",)

    def __init__(
        self,
        max_depth: int = 4,
        *,
        min_samples_leaf: int = 1,
        ccp_alpha: float = 0.0,
        mode: str = "normal",
        population_size: int | None = None,
        generations: int | None = None,
        crossover: float = 0.1,
        warm_starts: Sequence[str] = ("cart",),
        time_limit: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        backend: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.ccp_alpha = ccp_alpha
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

    def _search_with(self, backend: Backend, problem: Problem) -> Found:
        samples, objective = problem.samples, problem.objective
        warm_starts = []
        if check_warm_starts(self.warm_starts, self._warm_start_names):
            warm_starts.append(
                grow_cart(
                    samples,
                    max_depth=self.max_depth,
                    min_samples_leaf=objective.min_samples_leaf,
                )
            )
        evolved = evolve_tree(
            samples,
            backend,
            depth=int(self.max_depth),
            objective=objective,
            evolution=self._evolution(),
            stream=stream_of(seed_of(self.random_state), 0),
            warm_starts=warm_starts,
            should_stop=problem.watch.should_stop,
            on_progress=partial(report_whole_tree, problem.watch, int(self.max_depth)),
        )
        return Found([problem.tree_of(evolved.root)], n_iter=evolved.n_generations)
