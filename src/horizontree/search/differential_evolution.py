"""DEOCT: differential evolution over complete trees of a small depth.

This is the whole method in plain NumPy. A backend may bring a faster way through the same
run; it must give the same population (the tests compare them gene for gene).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from horizontree.backends.base import (
    Backend,
    EvolutionSettings,
    EvolutionTask,
    EvolvedPopulation,
    LevelEvolution,
    OnProgress,
    tell_nobody,
)
from horizontree.encoding import SampleSet
from horizontree.objective import LEAF, PASS_LEFT, PASS_RIGHT, Objective
from horizontree.search.genes import (
    GENE_RANGE,
    GeneCode,
    Genes,
    propose,
    random_genes,
)
from horizontree.search.splits import Split


@dataclass(frozen=True)
class Evolution:
    """How long and how large an evolution is.

    Parameters
    ----------
    population_size : int
        N, at least 4.
    generations : int
        G.
    crossover : float
        CR.
    """

    population_size: int
    generations: int
    crossover: float = 0.1


@dataclass(frozen=True)
class EvolvedTree:
    """The best individual of the last generation, pruned.

    Parameters
    ----------
    root : Split or None
        Its splits; None for a single leaf.
    cost : int
        Its cost.
    n_generations, n_evaluations : int
        The work that was done.
    """

    root: Split | None
    cost: int
    n_generations: int
    n_evaluations: int


@dataclass(frozen=True, eq=False)
class Start:
    """Where a search begins.

    Parameters
    ----------
    samples : SampleSet
        The training samples.
    stream : int
        Where the random draws come from.
    warm_starts : sequence of Split or None, default=()
        Members of the first generation; deeper levels than the search's are cut off.
    """

    samples: SampleSet
    stream: int
    warm_starts: Sequence[Split | None] = ()


def evolve_tree(
    samples: SampleSet,
    backend: Backend,
    *,
    depth: int,
    objective: Objective,
    evolution: Evolution,
    stream: int,
    warm_starts: Sequence[Split | None] = (),
    should_stop: Callable[[], bool] = lambda: False,
    on_progress: OnProgress = tell_nobody,
) -> EvolvedTree:
    """Search for the best tree of a depth (DEOCT).

    Parameters
    ----------
    samples, stream, warm_starts
        See :class:`Start`.
    backend : Backend
        Counts the samples.
    depth : int
        Depth of the tree.
    objective : Objective
        What is minimised.
    evolution : Evolution
        Population, generations, crossover.
    should_stop : callable, optional
        Asked now and then; True ends the search with the best tree so far.
    on_progress : callable, optional
        Told now and then of the generations run and the best cost.

    Returns
    -------
    EvolvedTree
        Never worse than any warm start.
    """
    task = _task(Start(samples, stream, warm_starts), depth, evolution)
    fast = getattr(backend, "evolve", None)
    if fast is None:
        fast = partial(evolve_plainly, backend)
    end = fast(task.samples, task.genes, objective, task.settings, should_stop, on_progress)
    return _best_tree(task, end, objective)


def evolve_together(
    starts: Sequence[Start],
    evolve_level: LevelEvolution,
    *,
    depth: int,
    objective: Objective,
    evolution: Evolution,
    should_stop: Callable[[], bool] = lambda: False,
) -> list[EvolvedTree]:
    """Do the same for many samples at once, with a backend that can."""
    if not starts:
        return []
    tasks = [_task(start, depth, evolution) for start in starts]
    ends = evolve_level(tasks, objective, should_stop)
    return [_best_tree(task, end, objective) for task, end in zip(tasks, ends, strict=True)]


def _task(start: Start, depth: int, evolution: Evolution) -> EvolutionTask:
    """Make the first generation."""
    code = GeneCode.of(start.samples)
    genes = random_genes(evolution.population_size, 2 * (2**depth - 1), start.stream)
    for i, root in enumerate(start.warm_starts[: len(genes)]):
        genes[i] = encode_tree(root, start.samples, code, depth)
    settings = EvolutionSettings(
        depth=depth,
        generations=evolution.generations,
        crossover=round(evolution.crossover * GENE_RANGE),
        stream=start.stream,
    )
    return EvolutionTask(start.samples, genes, settings)


def _best_tree(task: EvolutionTask, end: EvolvedPopulation, objective: Objective) -> EvolvedTree:
    """Read the best individual of the last generation."""
    best = int(np.argmin(end.cost))  # equal cost: the first
    counts = end.node_counts(best)
    return EvolvedTree(
        root=read_tree(task.samples, end.feature[best], end.n_left[best], counts, objective),
        cost=int(end.cost[best]),
        n_generations=end.n_generations,
        n_evaluations=end.n_evaluations,
    )


def evolve_plainly(
    backend: Backend,
    samples: SampleSet,
    genes: Genes,
    objective: Objective,
    settings: EvolutionSettings,
    should_stop: Callable[[], bool],
    on_progress: OnProgress = tell_nobody,
) -> EvolvedPopulation:
    """Run differential evolution: propose a whole generation, evaluate it, select."""
    code = GeneCode.of(samples)
    counter = backend.load(samples, settings.depth)
    heap = _heap_children(settings.depth)

    def costs(feature: Genes, n_left: Genes) -> NDArray[np.int64]:
        counts = counter.count(feature, n_left)
        return np.array([objective.prune(c, *heap)[1] for c in counts], dtype=np.int64)

    feature, n_left = code.decode(genes)
    cost = costs(feature, n_left)
    n_evaluations = len(genes)
    generation = 0
    while generation < settings.generations and cost.min() > 0 and not should_stop():
        generation += 1
        trial = propose(
            genes,
            int(np.argmin(cost)),  # equal cost: the first
            generation=generation,
            stream=settings.stream,
            crossover=settings.crossover,
        )
        trial_feature, trial_n_left = code.decode(trial)
        differs = ((trial_feature != feature) | (trial_n_left != n_left)).any(axis=1)
        trial_cost = cost.copy()
        trial_cost[differs] = costs(trial_feature[differs], trial_n_left[differs])
        n_evaluations += int(differs.sum())
        is_kept = trial_cost <= cost  # equal cost: the trial
        genes = np.where(is_kept[:, None], trial, genes)
        feature = np.where(is_kept[:, None], trial_feature, feature)
        n_left = np.where(is_kept[:, None], trial_n_left, n_left)
        cost = np.where(is_kept, trial_cost, cost)
        on_progress(generation, int(cost.min()))
        if not differs.any() and (genes == genes[0]).all():
            break  # no trial can ever differ from its parent again

    def node_counts(i: int) -> NDArray[np.int64]:
        counts: NDArray[np.int64] = counter.count(feature[i : i + 1], n_left[i : i + 1])[0]
        return counts

    return EvolvedPopulation(feature, n_left, cost, node_counts, generation, n_evaluations)


def encode_tree(root: Split | None, samples: SampleSet, code: GeneCode, depth: int) -> Genes:
    """Write a warm start against the candidates of the samples at hand."""
    column_to_feature = {int(column): f for f, column in enumerate(samples.features)}
    genes = np.empty((2**depth - 1, 2), dtype=np.int64)
    nodes: list[Split | None] = [root] + [None] * (2 * len(genes))
    for t in range(len(genes)):
        split = nodes[t]
        genes[t] = code.no_split()
        if split is None:
            continue
        nodes[2 * t + 1], nodes[2 * t + 2] = split.left, split.right
        f = column_to_feature.get(split.feature)
        if f is None:
            # the feature is constant here: all samples go to one side, say so with any other
            genes[t] = _all_to_one_side(split, samples, code)
        else:
            n_left = samples.n_left_of_cut(f, split.cut)
            genes[t] = code.encode(f, samples.candidate_of(f, n_left))
    return genes.reshape(-1)


def _all_to_one_side(split: Split, samples: SampleSet, code: GeneCode) -> tuple[int, int]:
    """Encode a split on a feature that is constant among these samples."""
    goes_left = samples.X[samples.rows[0], split.feature] <= split.cut
    if goes_left and samples.n_features > 0:
        return code.encode(0, int(code.n_distinct[0]))
    return code.no_split()


def read_tree(
    samples: SampleSet,
    feature: NDArray[np.int64],
    n_left: NDArray[np.int64],
    node_counts: NDArray[np.int64],
    objective: Objective,
) -> Split | None:
    """Turn one individual into its best pruning."""
    kind, _ = objective.prune(node_counts, *_heap_children(len(feature).bit_length()))

    def read(t: int) -> Split | None:
        if kind[t] == LEAF:
            return None
        if kind[t] == PASS_LEFT:
            return read(2 * t + 1)
        if kind[t] == PASS_RIGHT:
            return read(2 * t + 2)
        f = int(feature[t])
        cut = samples.value_at(f, int(n_left[t]) - 1)
        return Split(int(samples.features[f]), cut, read(2 * t + 1), read(2 * t + 2))

    return read(0)


def _heap_children(depth: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the children of each node of a heap; leaves have none."""
    n_nodes = 2**depth - 1
    t = np.arange(2 * n_nodes + 1)
    is_inner = t < n_nodes
    return np.where(is_inner, 2 * t + 1, -1), np.where(is_inner, 2 * t + 2, -1)
