"""What a search asks of a backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.objective import Objective


class DeviceError(RuntimeError):
    """No device works, or its memory is too small; the message says what to do."""


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


@dataclass(frozen=True, eq=False)
class EvolutionTask:
    """One run of differential evolution, ready to start.

    Parameters
    ----------
    samples : SampleSet
        The samples.
    genes : int64 array of shape (n_individuals, n_genes)
        The first generation.
    settings : EvolutionSettings
        Its numbers.
    """

    samples: SampleSet
    genes: NDArray[np.int64]
    settings: EvolutionSettings


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
    node_counts : callable
        Returns the class counts of every node and leaf of one individual.
    n_generations : int
        Generations that were run.
    n_evaluations : int
        Trees that were counted.
    """

    feature: NDArray[np.int64]
    n_left: NDArray[np.int64]
    cost: NDArray[np.int64]
    node_counts: Callable[[int], NDArray[np.int64]]
    n_generations: int
    n_evaluations: int


class Backend(Protocol):
    """Loads samples and counts them.

    A backend may also have a method ``evolve`` with the signature of :class:`FastEvolution`,
    and ``evolve_together`` with that of :class:`LevelEvolution`; their results equal the plain
    evolution's.
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


class LevelEvolution(Protocol):
    """A backend's own way through the evolutions of all nodes of a level at once."""

    def __call__(
        self,
        tasks: Sequence[EvolutionTask],
        objective: Objective,
        should_stop: Callable[[], bool],
        on_progress: OnProgress = tell_nobody,
    ) -> list[EvolvedPopulation]:
        """Evolve all; they have the same depth, generations, crossover and population size."""


class PairScanner(Protocol):
    """A backend's own way to what all trees of depth two over bins get right."""

    def __call__(
        self,
        codes: NDArray[np.uint8],
        labels: NDArray[np.int32],
        n_bins: NDArray[np.int64],
        is_open: NDArray[np.bool_],
        n_classes: int,
        min_samples_leaf: int,
    ) -> NDArray[np.int32] | None:
        """Scan all pairs of features: the bins of each sample are ``codes[sample, feature]``.

        Returns the table of ``search._pair_kernels.scan_pairs``, or None for samples that are
        better left to the processor.
        """
