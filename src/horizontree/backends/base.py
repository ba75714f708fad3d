"""What a search asks of a backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.objective import Objective


@dataclass(frozen=True)
class EvolutionSettings:
    """The numbers of one run of differential evolution.

    Parameters
    ----------
    depth : int
        Depth of the trees.
    generations : int
        Generations after the first.
    crossover : int
        Probability that a gene comes from the mutant, times ``2**32``.
    stream : int
        Where the random draws come from.
    """

    depth: int
    generations: int
    crossover: int
    stream: int


OnProgress = Callable[[int, int], None]
"""Is told, now and then, how many generations have been run and the best cost."""


def tell_nobody(n_generations: int, best_cost: int) -> None:
    """Be told of progress and do nothing."""


class Counter(Protocol):
    """The samples of one node, ready to be counted."""

    def count(self, feature: NDArray[np.int64], n_left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Route all samples through trees in heap order (Algorithm 1).

        Returns ``node_counts[tree, node or leaf, class]``; Z is its last ``2**depth`` rows.
        """


@dataclass(frozen=True, eq=False)
class EvolvedPopulation:
    """The population after the last generation.

    Parameters
    ----------
    feature, n_left : int64 arrays of shape (n_individuals, n_nodes)
        The trees, as :class:`GeneCode` decodes them.
    cost : int64 array of shape (n_individuals,)
        Their costs.
    counter : Counter
        The samples, still loaded.
    n_generations : int
        Generations that were run.
    n_evaluations : int
        Trees that were counted.
    """

    feature: NDArray[np.int64]
    n_left: NDArray[np.int64]
    cost: NDArray[np.int64]
    counter: Counter
    n_generations: int
    n_evaluations: int


class Backend(Protocol):
    """Loads samples and counts them.

    A backend may also have a method ``evolve`` with the signature of
    :class:`FastEvolution`; its result equals the plain evolution's.
    """

    name: str
    n_threads: int

    def load(self, samples: SampleSet, depth: int) -> Counter:
        """Make samples ready for trees of a depth."""


class FastEvolution(Protocol):
    """A backend's own way through a whole run of differential evolution."""

    def __call__(
        self,
        samples: SampleSet,
        genes: NDArray[np.int64],
        objective: Objective,
        settings: EvolutionSettings,
        should_stop: Callable[[], bool],
        on_progress: OnProgress = tell_nobody,
    ) -> EvolvedPopulation:
        """Evolve ``genes``; see ``search.differential_evolution``."""
