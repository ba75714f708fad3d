"""The CPU backend: plans memory, lays samples out as bitsets, and drives the kernels."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from horizontree.backends import _bitset_kernels as kernels
from horizontree.backends._bitset_kernels import BLOCK_BITS, BLOCK_WORDS, Bench, Blocks
from horizontree.backends.base import (
    EvolutionSettings,
    EvolvedPopulation,
    OnProgress,
    tell_nobody,
)
from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.threads import Map, thread_map

MAX_RESIDENT_DEPTH = 4
"""Deeper trees change too much from parent to trial for resident bitsets to pay."""

_MIN_SHIFT = 3
_USUAL_CHECKPOINTS = 96
_CACHED_BYTES = 1 << 20
"""More checkpoints than the usual number are worth having as long as they stay in cache."""

_SPARE_BYTES = 80 << 20
_SECONDS_BETWEEN_CHECKS = 0.05


@dataclass(frozen=True)
class MemoryPlan:
    """What the engine allocates for one run.

    Parameters
    ----------
    shift : int
        A checkpoint every ``2**shift`` samples.
    is_resident : bool
        Whether the bitsets of the whole population are kept between generations.
    n_bytes : int
        All of it together.
    """

    shift: int
    is_resident: bool
    n_bytes: int


def plan_memory(
    samples: SampleSet, *, depth: int, population_size: int, n_threads: int, budget: int
) -> MemoryPlan:
    """Fit checkpoints and resident bitsets into a budget.

    Resident bitsets come first, then as many checkpoints as there is room for.

    Raises
    ------
    MemoryError
        When even the smallest layout is larger than the budget.
    """
    m, n_features = samples.n_samples, samples.n_features
    n_nodes = 2**depth - 1
    words = int((-(-samples.class_counts // 64)).sum())
    n_blocks = -(-words // BLOCK_WORDS)
    n_starts = int(samples.n_distinct[samples.n_distinct < m].sum())
    n_classes = samples.n_classes
    entries = m * n_features * (4 + 2) + 4 * n_starts + 12 * m + 8 * words
    benches = n_threads * n_nodes * 8 * (2 * min(BLOCK_WORDS, words) + 3 * n_classes + 16)
    population = population_size * n_nodes * 8 * (7 + n_classes)
    resident = (population_size + n_threads) * n_nodes * words * 8

    def checkpoints(shift: int) -> int:
        return n_features * _n_checkpoints(m, shift) * (words * 8 + n_blocks * 4)

    usual_shift = max(_MIN_SHIFT, math.ceil(math.log2(max(1, m / _USUAL_CHECKPOINTS))))
    while usual_shift > _MIN_SHIFT and checkpoints(usual_shift - 1) <= _CACHED_BYTES:
        usual_shift -= 1
    for is_resident in (True, False) if depth <= MAX_RESIDENT_DEPTH else (False,):
        for shift in range(usual_shift, usual_shift + 5):
            n_bytes = entries + benches + population + checkpoints(shift)
            n_bytes += is_resident * resident
            if n_bytes <= budget:
                return MemoryPlan(shift, is_resident, n_bytes)
    raise MemoryError(
        f"The search needs {n_bytes / 2**20:,.0f} MB for {m:,} samples with {n_features:,} "
        f"features at depth {depth}, more than the {budget / 2**20:,.0f} MB planned for it. "
        "Use fewer rows or a smaller depth."
    )


def _n_checkpoints(n_samples: int, shift: int) -> int:
    return ((n_samples + ((1 << shift) >> 1)) >> shift) + 1


def lay_out(samples: SampleSet, shift: int, run: Map = map) -> Blocks:
    """Put samples into the bit layout of the kernels; ``run`` shares out the features."""
    m = samples.n_samples
    words = -(-samples.class_counts // 64)
    word_end = np.cumsum(words)
    word_start = word_end - words
    n_words = int(word_end[-1])
    padding = word_start * 64 - samples.class_ranges[0]
    bit_of = np.arange(m, dtype=np.int32)
    bit_of += np.repeat(padding, samples.class_counts).astype(np.int32)
    n_blocks = -(-n_words // BLOCK_WORDS)
    first_entry = np.searchsorted(bit_of, np.arange(n_blocks + 1) * BLOCK_BITS).astype(np.int64)

    segments = []
    segment_of = [0]
    for first_word in range(0, n_words, BLOCK_WORDS):
        start = np.maximum(word_start, first_word)
        end = np.minimum(word_end, first_word + BLOCK_WORDS)
        for c in np.flatnonzero(start < end):
            segments.append((c, start[c] - first_word, end[c] - first_word))
        segment_of.append(len(segments))

    shape = (samples.n_features, _n_checkpoints(m, shift))
    entry_rank = np.empty((samples.n_features, m), dtype=np.uint32)
    entry_bit = np.empty((samples.n_features, m), dtype=np.uint16)
    checkpoint_bits = np.empty((*shape, n_words), dtype=np.uint64)
    checkpoint_entry = np.empty((*shape, n_blocks), dtype=np.int32)

    def fill(f: int) -> None:
        kernels.fill_blocks(
            samples.order[f],
            bit_of,
            shift,
            first_entry,
            entry_rank[f],
            entry_bit[f],
            checkpoint_bits[f],
            checkpoint_entry[f],
        )

    for _ in run(fill, range(samples.n_features)):
        pass
    tied = np.flatnonzero(samples.n_distinct < m)
    n_starts = samples.n_distinct[tied] + 1
    starts_of = np.full(samples.n_features, -1, dtype=np.int64)
    starts_of[tied] = np.cumsum(n_starts) - n_starts
    starts = np.empty(n_starts.sum(), dtype=np.int32)
    for f in tied:
        starts[starts_of[f] :][: samples.n_distinct[f] + 1] = samples.starts(int(f))
    return Blocks(
        n_samples=m,
        shift=shift,
        class_counts=samples.class_counts,
        n_distinct=samples.n_distinct,
        starts=starts,
        starts_of=starts_of,
        first_entry=first_entry,
        entry_rank=entry_rank,
        entry_bit=entry_bit,
        checkpoint_bits=checkpoint_bits,
        checkpoint_entry=checkpoint_entry,
        segment_of=np.array(segment_of, dtype=np.int64),
        segments=np.array(segments, dtype=np.int64).reshape(-1, 3),
        word_class=np.repeat(np.arange(len(words)), words),
    )


def _new_bench(blocks: Blocks, depth: int, first_spare: int = 0) -> Bench:
    n_nodes = 2**depth - 1
    n_classes = len(blocks.class_counts)
    width = min(BLOCK_WORDS, blocks.checkpoint_bits.shape[2])
    bench = Bench(
        node=np.zeros((kernels.N_NODE_ROWS, n_nodes), dtype=np.int64),
        left_counts=np.zeros((n_nodes, n_classes), dtype=np.int64),
        mask=np.empty((n_nodes, width), dtype=np.uint64),
        bits=np.empty((n_nodes, width), dtype=np.uint64),
        node_counts=np.zeros((2 * n_nodes + 1, n_classes), dtype=np.int64),
        node_cost=np.zeros((2, 2 * n_nodes + 1), dtype=np.int64),
        genes=np.zeros(2 * n_nodes, dtype=np.int64),
    )
    bench.mask[0] = kernels.ONES
    bench.node[kernels.SPARE] = np.arange(first_spare, first_spare + n_nodes)
    return bench


class CPUCounter:
    """The samples of one node in bit layout."""

    def __init__(self, blocks: Blocks, depth: int) -> None:
        self.blocks = blocks
        self.depth = depth

    def count(self, feature: NDArray[np.int64], n_left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the class counts of every node and leaf of every tree."""
        n_classes = len(self.blocks.class_counts)
        out = np.empty((len(feature), 2 ** (self.depth + 1) - 1, n_classes), dtype=np.int64)
        bench = _new_bench(self.blocks, self.depth)
        kernels.count_population(self.blocks, bench, feature, n_left, out)
        return out


class CPUBackend:
    """Bitset kernels compiled by Numba, shared out over threads.

    Parameters
    ----------
    n_threads : int
        Threads of one evolution.
    """

    name = "cpu"

    def __init__(self, n_threads: int = 1) -> None:
        self.n_threads = n_threads

    def load(self, samples: SampleSet, depth: int) -> CPUCounter:
        """Lay samples out; no bitsets are kept between calls of ``count``."""
        plan = plan_memory(
            samples, depth=depth, population_size=0, n_threads=1, budget=_budget(samples)
        )
        return CPUCounter(lay_out(samples, plan.shift), depth)

    def evolve(
        self,
        samples: SampleSet,
        genes: NDArray[np.int64],
        objective: Objective,
        settings: EvolutionSettings,
        should_stop: Callable[[], bool],
        on_progress: OnProgress = tell_nobody,
    ) -> EvolvedPopulation:
        """Run differential evolution in the kernels; see ``search.differential_evolution``."""
        n, n_genes = genes.shape
        n_nodes = n_genes // 2
        plan = plan_memory(
            samples,
            depth=settings.depth,
            population_size=n,
            n_threads=self.n_threads,
            budget=_budget(samples),
        )
        with thread_map(self.n_threads) as run:
            blocks = lay_out(samples, plan.shift, run)
            n_slots = (n + self.n_threads) * n_nodes if plan.is_resident else 0
            population = _new_population(genes, blocks, n_slots, settings.generations)
            benches = [
                _new_bench(blocks, settings.depth, (n + thread) * n_nodes)
                for thread in range(self.n_threads)
            ]
            constants = kernels.Settings(
                stream=np.uint64(settings.stream),
                crossover=settings.crossover,
                split_cost=objective.split_cost,
                min_samples_leaf=objective.min_samples_leaf,
                n_threads=self.n_threads,
            )
            n_run = _run_generations(
                lambda bench, *rest: kernels.evolve(blocks, bench, population, constants, *rest),
                benches,
                settings.generations + 1,
                should_stop,
                lambda n_run: on_progress(n_run - 1, int(population.cost[(n_run - 1) & 1].min())),
                run,
            )
        feature, n_left = population.feature, population.n_left
        counter = CPUCounter(blocks, settings.depth)
        return EvolvedPopulation(
            feature=feature,
            n_left=n_left,
            cost=population.cost[(n_run - 1) & 1],
            node_counts=lambda i: counter.count(feature[i : i + 1], n_left[i : i + 1])[0],
            n_generations=n_run - 1,
            n_evaluations=int(population.evaluated.sum()),
        )


def _new_population(
    genes: NDArray[np.int64], blocks: Blocks, n_slots: int, n_generations: int
) -> kernels.Population:
    """Make the arrays of a run; resident bitsets only with slots for them."""
    n, n_genes = genes.shape
    n_nodes = n_genes // 2
    n_words = blocks.checkpoint_bits.shape[2]
    return kernels.Population(
        genes=np.stack([genes, genes]),
        cost=np.zeros((2, n), dtype=np.int64),
        feature=np.full((n, n_nodes), kernels.UNKNOWN, dtype=np.int64),
        n_left=np.zeros((n, n_nodes), dtype=np.int64),
        left_counts=np.zeros((n, n_nodes, len(blocks.class_counts)), dtype=np.int64),
        slot=np.arange(n * n_nodes, dtype=np.int64).reshape(n, n_nodes),
        resident=np.empty((n_slots, n_words), dtype=np.uint64),
        claimed=np.zeros(n_generations + 1, dtype=np.int64),
        arrived=np.zeros(n_generations + 1, dtype=np.int64),
        evaluated=np.zeros(n_generations + 1, dtype=np.int64),
    )


def _budget(samples: SampleSet) -> int:
    """Return the bytes that the engine may use for these samples.

    A fit promises 3 times the float64 matrix plus 200 MB; the sorted orders of two levels
    of the tree take one matrix of that, and compiled code and the like the rest.
    """
    return 2 * 8 * samples.n_samples * samples.n_features + _SPARE_BYTES


def _run_generations(
    evolve: Callable[[Bench, int, int, bool], tuple[int, int]],
    benches: list[Bench],
    n_generations: int,
    should_stop: Callable[[], bool],
    on_piece: Callable[[int], None],
    run: Map,
) -> int:
    """Run the kernel in pieces short enough to be stopped; return generations run.

    A thread that waits too long for the others leaves the kernel, gives up the processor,
    and goes in again, unless the run has broken off.
    """
    is_broken = False

    def run_share(first: int, end: int, bench: Bench) -> tuple[int, int]:
        nonlocal is_broken
        try:
            generation, status = evolve(bench, first, end, False)
            while status == kernels.WAITING and not is_broken:
                time.sleep(0)
                generation, status = evolve(bench, generation, end, True)
        except BaseException:
            is_broken = True  # or the others would wait for us for ever
            raise
        return generation, status

    n_run, piece, status = 0, 1, kernels.CONTINUE
    try:
        while status == kernels.CONTINUE and n_run < n_generations:
            if n_run > 0 and should_stop():
                break
            started = time.perf_counter()
            end = min(n_run + piece, n_generations)
            shares = list(run(partial(run_share, n_run, end), benches))
            n_run, status = shares[0]  # all threads see the same end
            on_piece(n_run)
            if time.perf_counter() - started < _SECONDS_BETWEEN_CHECKS:
                piece *= 2
    finally:
        is_broken = True
    return n_run
