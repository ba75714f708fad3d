"""The accelerator backend: plans shapes, puts samples on the devices, runs the programs.

Nothing global is changed: 64-bit types are switched on around our own calls only.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
import numpy as np

if not (hasattr(jax, "enable_x64") and hasattr(jax, "shard_map")):
    raise ImportError(f"JAX {jax.__version__} is too old: 0.8 or later is needed")

from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import NDArray

from horizontree.backends import _jax_programs as programs
from horizontree.backends._bitset_kernels import fill_node_counts
from horizontree.backends._jax_programs import (
    ROWS_AXIS,
    Binned,
    Coding,
    Plan,
    Samples,
    State,
    Terms,
)
from horizontree.backends.base import (
    DeviceError,
    EvolutionSettings,
    EvolutionTask,
    EvolvedPopulation,
    OnProgress,
    tell_nobody,
)
from horizontree.backends.device_layout import (
    PairShape,
    Shape,
    bytes_of_codes,
    ceil_div,
    lay_out,
    lay_out_bins,
    pair_shape,
    plan_masks,
    rounded_nodes,
    rounded_planes,
    rounded_up,
    rows_of_block,
)
from horizontree.encoding import SampleSet
from horizontree.objective import Objective

NO_FEATURE = -1
_USUAL_MEMORY = 1 << 32  # of a device that does not tell
_SECONDS_BETWEEN_CHECKS = 0.05
_OUT_OF_MEMORY = ("RESOURCE_EXHAUSTED", "out of memory", "Out of memory")

_EVERYWHERE = PartitionSpec()
_SHARED_OUT = PartitionSpec(ROWS_AXIS)
_SAMPLES_SPEC = Samples(
    codes=_SHARED_OUT,
    plane_of=_EVERYWHERE,
    node_of=_SHARED_OUT,
    class_of=_SHARED_OUT,
    n_chunks=_EVERYWHERE,
    class_counts=_EVERYWHERE,
)
_BINNED_SPEC = Binned(_SHARED_OUT, _SHARED_OUT, _EVERYWHERE, _EVERYWHERE, _EVERYWHERE)

_PAIRS_FRACTION = 16
"""Nodes with fewer rows than this fraction of the fit's are left to the processor."""

_ROWS_OF_PRODUCT = {"float32": 1 << 12, "int8": 1 << 15}
"""Rows that one matrix product counts; a float32 sum of ones is exact up to 2^24 of them."""

_MOST_PRODUCTS_OF_PROCESSOR = 10**12
"""Matrix products are what accelerators do best; a processor has a better way to count pairs."""


@partial(jax.jit, static_argnames=("mesh", "plan"), donate_argnums=0)
def _run_evolve(
    state: State,
    samples: Samples,
    coding: Coding,
    terms: Terms,
    end: Any,
    *,
    mesh: Mesh,
    plan: Plan,
) -> State:
    run = jax.shard_map(
        partial(programs.evolve, plan=plan),
        mesh=mesh,
        in_specs=(_EVERYWHERE, _SAMPLES_SPEC, _EVERYWHERE, _EVERYWHERE, _EVERYWHERE),
        out_specs=_EVERYWHERE,
        check_vma=False,
    )
    out: State = run(state, samples, coding, terms, end)
    return out


@partial(jax.jit, static_argnames=("mesh", "plan"))
def _run_count(samples: Samples, feature: Any, cut: Any, *, mesh: Mesh, plan: Plan) -> jax.Array:
    run = jax.shard_map(
        partial(programs.count, plan=plan),
        mesh=mesh,
        in_specs=(_SAMPLES_SPEC, _EVERYWHERE, _EVERYWHERE),
        out_specs=_EVERYWHERE,
        check_vma=False,
    )
    out: jax.Array = run(samples, feature, cut)
    return out


@partial(jax.jit, static_argnames=("mesh", "shape", "dtype"))
def _run_scan(
    binned: Binned, min_samples_leaf: Any, *, mesh: Mesh, shape: PairShape, dtype: Any
) -> jax.Array:
    run = jax.shard_map(
        partial(
            programs.scan_pairs,
            n_classes=shape.n_classes,
            rows=shape.n_rows,
            features=shape.n_roots,
            dtype=dtype,
        ),
        mesh=mesh,
        in_specs=(_BINNED_SPEC, _EVERYWHERE),
        out_specs=_EVERYWHERE,
        check_vma=False,
    )
    out: jax.Array = run(binned, min_samples_leaf)
    return out


class JAXBackend:
    """Device programs compiled by XLA, rows shared out over all devices.

    Parameters
    ----------
    devices : sequence of jax devices or None, default=None
        Where to run; None for all that JAX uses by default.
    """

    name = "jax"
    n_threads = 1

    def __init__(self, devices: Sequence[Any] | None = None) -> None:
        self.devices = _devices() if devices is None else list(devices)
        self.mesh = Mesh(np.array(self.devices), (ROWS_AXIS,))
        self._n_features = 0  # the most so far: levels of one fit share their programs
        self._n_rows = 0
        self._n_planes: dict[int, int] = {}  # by the bytes of the longest code
        self.one_at_a_time = threading.Lock()
        self.in_turn = self.platform == "cpu"
        self.product_type = np.dtype(np.float32 if self.platform == "cpu" else np.int8)

    @property
    def platform(self) -> str:
        """What kind of devices these are: ``"cpu"``, ``"gpu"``, ``"tpu"``."""
        return str(self.devices[0].platform)

    @property
    def n_processes(self) -> int:
        """Processes whose devices these are; each must fit the same data."""
        return int(jax.process_count())

    def load(self, samples: SampleSet, depth: int) -> JAXCounter:
        """Put samples on the devices, ready for trees of a depth."""
        return JAXCounter(self, samples, depth)

    def evolve(
        self,
        samples: SampleSet,
        genes: NDArray[np.int64],
        objective: Objective,
        settings: EvolutionSettings,
        should_stop: Callable[[], bool],
        on_progress: OnProgress = tell_nobody,
    ) -> EvolvedPopulation:
        """Run differential evolution on the devices."""
        task = EvolutionTask(samples, genes, settings)
        return self.evolve_together([task], objective, should_stop, on_progress)[0]

    def evolve_together(
        self,
        tasks: Sequence[EvolutionTask],
        objective: Objective,
        should_stop: Callable[[], bool],
        on_progress: OnProgress = tell_nobody,
    ) -> list[EvolvedPopulation]:
        """Run the evolutions of a level in one program."""
        settings = tasks[0].settings
        level = [task.samples for task in tasks]
        n_individuals = len(tasks[0].genes)
        with self.one_at_a_time, _on_devices():
            shape = self.shape_for(level, n_individuals, settings.depth)
            samples = self.put(level, shape)
            coding = _coding(tasks, shape)
            everywhere = NamedSharding(self.mesh, _EVERYWHERE)
            state = jax.device_put(_first_state(tasks, shape), everywhere)
            terms = Terms(
                np.int64(settings.crossover),
                np.int64(objective.split_cost),
                np.int64(objective.min_samples_leaf),
            )
            run = partial(_run_evolve, mesh=self.mesh, plan=self.plan(shape))
            state = _run_pieces(
                lambda state, end: run(state, samples, coding, terms, end),
                state,
                settings.generations + 1,
                should_stop,
                on_progress,
                is_even=self.n_processes > 1,
            )
            ended = State(*map(np.asarray, state))
        return _populations(tasks, ended)

    def scan_pairs(
        self,
        codes: NDArray[np.uint8],
        labels: NDArray[np.int32],
        n_bins: NDArray[np.int64],
        is_open: NDArray[np.bool_],
        n_classes: int,
        min_samples_leaf: int,
    ) -> NDArray[np.int32] | None:
        """Scan all pairs of features; None for samples that are better left to the processor.

        Returns ``found[f, g, kind, side, b]`` of ``search._pair_kernels.scan_pairs``.
        """
        n_samples, n_features = codes.shape
        most = is_open.shape[1]
        with self.one_at_a_time:
            self._n_features = max(self._n_features, n_features)
            self._n_rows = max(self._n_rows, n_samples)
        is_small = n_samples * _PAIRS_FRACTION < self._n_rows
        products = n_classes * n_samples * (n_features * most) ** 2
        if is_small or (self.platform == "cpu" and products > _MOST_PRODUCTS_OF_PROCESSOR):
            return None
        shape = pair_shape(
            len(self.devices),
            n_classes,
            (n_features, most),
            (self._n_rows, self._n_features),
            most_rows=_ROWS_OF_PRODUCT[self.product_type.name],
            budget=self._budget(),
        )
        if shape is None:
            return None
        layout = lay_out_bins(codes, labels, n_bins, is_open, shape)
        with self.one_at_a_time, _on_devices():
            binned = Binned(
                codes=self._share_out(layout.codes),
                label=self._share_out(layout.label),
                n_blocks=layout.n_blocks,
                n_bins=layout.n_bins,
                is_open=layout.is_open,
            )
            found = _run_scan(
                binned,
                np.int64(min_samples_leaf),
                mesh=self.mesh,
                shape=shape,
                dtype=self.product_type,
            )
            return np.asarray(found)[:n_features, :n_features, :, :, : most + 1]

    def shape_for(self, level: Sequence[SampleSet], n_individuals: int, depth: int) -> Shape:
        """Choose the shapes of the arrays of a level."""
        n_devices = len(self.devices)
        n_nodes = rounded_nodes(len(level))
        n_classes = level[0].n_classes
        self._n_features = max(self._n_features, *(samples.n_features for samples in level), 1)
        self._n_rows = max(self._n_rows, sum(samples.n_samples for samples in level))
        n_groups = min(n_nodes * n_classes, self._n_rows)  # of one class at one node
        n_rows = rows_of_block(self._n_rows, n_groups)
        n_blocks = rounded_up(ceil_div(self._n_rows // n_rows + n_groups, n_devices))
        chunk, trees = 1, 1
        if not self.in_turn:
            most, trees = plan_masks(n_individuals, depth, n_rows, self._budget())
            chunk = ceil_div(n_blocks, ceil_div(n_blocks, most))
        n_bytes, n_planes = self._planes_of(level)
        return Shape(
            n_devices=n_devices,
            n_nodes=n_nodes,
            n_rows=n_rows,
            n_blocks=ceil_div(n_blocks, chunk) * chunk,
            n_features=self._n_features,
            n_classes=n_classes,
            n_bytes=n_bytes,
            n_planes=n_planes,
            chunk=chunk,
            trees=trees,
        )

    def _planes_of(self, level: Sequence[SampleSet]) -> tuple[int, int]:
        """Return the bytes of the longest code of a level, and planes enough for all codes."""
        of_nodes = [bytes_of_codes(samples.n_distinct) for samples in level]
        longest = max(int(n_bytes.max(initial=1)) for n_bytes in of_nodes)
        needed = max(rounded_planes(n_bytes, longest, self._n_features) for n_bytes in of_nodes)
        self._n_planes[longest] = max(needed, self._n_planes.get(longest, 0))
        return longest, self._n_planes[longest]

    def _budget(self) -> int:
        """Return the bytes that counting may take on a device: a sixteenth of its memory.

        Over several processes all must plan alike, whatever their own devices say.
        """
        known = None if self.n_processes > 1 else self.memory()
        return (known or _USUAL_MEMORY) // 16

    def memory(self) -> int | None:
        """Return the bytes that JAX may use on each device of this process, if it tells."""
        mine = [device for device in self.devices if device.process_index == jax.process_index()]
        stats = [device.memory_stats() or {} for device in mine]
        return min(
            (int(stat["bytes_limit"]) for stat in stats if "bytes_limit" in stat), default=None
        )

    def plan(self, shape: Shape) -> Plan:
        """Say how the blocks of a shape are counted."""
        return Plan(shape.chunk, shape.trees, self.in_turn)

    def put(self, level: Sequence[SampleSet], shape: Shape) -> Samples:
        """Lay out the samples of a level on the devices."""
        layout = lay_out(level, shape)
        return Samples(
            codes=self._share_out(layout.codes),
            plane_of=layout.plane_of,
            node_of=self._share_out(layout.node_of),
            class_of=self._share_out(layout.class_of),
            n_chunks=layout.n_chunks,
            class_counts=layout.class_counts,
        )

    def _share_out(self, array: NDArray[Any]) -> jax.Array:
        """Give every device its part; each process its own devices only."""
        sharding = NamedSharding(self.mesh, _SHARED_OUT)
        return jax.make_array_from_callback(array.shape, sharding, lambda index: array[index])


class JAXCounter:
    """The samples of one node on the devices."""

    def __init__(self, backend: JAXBackend, samples: SampleSet, depth: int) -> None:
        self._backend = backend
        self._samples = samples
        self._starts = [samples.starts(f) for f in range(samples.n_features)]
        self._depth = depth
        self._on_devices: tuple[Shape, Samples] | None = None

    def count(self, feature: NDArray[np.int64], n_left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the class counts of every node and leaf of every tree."""
        n_trees = len(feature)
        n_padded = rounded_up(max(8, n_trees))
        cut = np.zeros((1, n_padded, feature.shape[1]), dtype=np.uint32)
        at = np.zeros(cut.shape, dtype=np.int32)
        for f, starts in enumerate(self._starts):
            is_f = feature == f
            cut[0, :n_trees][is_f] = np.searchsorted(starts, n_left[is_f])
            at[0, :n_trees][is_f] = f
        with self._backend.one_at_a_time, _on_devices():
            if self._on_devices is None:
                shape = self._backend.shape_for([self._samples], n_padded, self._depth)
                self._on_devices = shape, self._backend.put([self._samples], shape)
            shape, samples = self._on_devices
            plan = self._backend.plan(shape)
            counts = _run_count(samples, at, cut, mesh=self._backend.mesh, plan=plan)
            return np.asarray(counts)[0, :n_trees].astype(np.int64)


def _devices() -> list[Any]:
    """Return the devices that JAX uses by default."""
    try:
        return list(jax.devices())
    except RuntimeError as error:  # no device, or a driver that is too old
        raise DeviceError(
            f"JAX cannot use any device: {_first_line(error)}. Check the driver with nvidia-smi, "
            'and that JAX is built for it (pip install "horizontree[cuda]"); or use backend="cpu".'
        ) from error


@contextmanager
def _on_devices() -> Iterator[None]:
    """Let our programs have 64-bit integers, and say it plainly when memory runs out."""
    with jax.enable_x64(True):
        try:
            yield
        except jax.errors.JaxRuntimeError as error:
            if any(word in str(error) for word in _OUT_OF_MEMORY):
                raise DeviceError(
                    f"The device has too little memory for this problem: {_first_line(error)}. Use "
                    'backend="cpu", fewer rows, more devices, or a device with more memory '
                    "(docs/gpu.md has the formula)."
                ) from error
            raise DeviceError(
                f"A device program failed: {_first_line(error)}. Run `horizontree doctor` to see "
                'whether the devices work; backend="cpu" does without them.'
            ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")


def _coding(tasks: Sequence[EvolutionTask], shape: Shape) -> Coding:
    """Write down what genes mean at each node."""
    coding = Coding(
        stream=np.zeros(shape.n_nodes, dtype=np.uint64),
        n_features=np.zeros(shape.n_nodes, dtype=np.int64),
        n_distinct=np.zeros((shape.n_nodes, shape.n_features), dtype=np.int64),
    )
    for node, task in enumerate(tasks):
        coding.stream[node] = task.settings.stream
        coding.n_features[node] = task.samples.n_features
        coding.n_distinct[node, : task.samples.n_features] = task.samples.n_distinct
    return coding


def _first_state(tasks: Sequence[EvolutionTask], shape: Shape) -> State:
    """Make the populations before generation 0; nodes that only pad are over already."""
    n, n_genes = tasks[0].genes.shape
    n_nodes, n_heap = shape.n_nodes, n_genes // 2
    genes = np.zeros((n_nodes, n, n_genes), dtype=np.int64)
    for node, task in enumerate(tasks):
        genes[node] = task.genes
    return State(
        generation=np.int64(0),
        genes=genes,
        feature=np.zeros((n_nodes, n, n_heap), dtype=np.int32),
        cut=np.zeros((n_nodes, n, n_heap), dtype=np.uint32),
        cost=np.zeros((n_nodes, n), dtype=np.int64),
        left=np.zeros((n_nodes, shape.n_classes, n, n_heap), dtype=np.int32),
        n_evaluations=np.zeros(n_nodes, dtype=np.int64),
        n_generations=np.zeros(n_nodes, dtype=np.int64),
        is_over=np.arange(n_nodes) >= len(tasks),
    )


def _run_pieces(
    run: Callable[[State, Any], State],
    state: State,
    n_generations: int,
    should_stop: Callable[[], bool],
    on_progress: OnProgress,
    *,
    is_even: bool,
) -> State:
    """Run generations in pieces short enough to be stopped.

    ``is_even`` pieces depend on no clock: processes that run together must agree on them.
    """
    n_run, piece = 0, 1
    while n_run < n_generations and not np.asarray(state.is_over).all():
        if n_run > 0 and should_stop():
            break
        started = time.perf_counter()
        n_run = min(n_run + piece, n_generations)
        state = run(state, np.int64(n_run))
        on_progress(int(np.asarray(state.n_generations)[0]), int(np.asarray(state.cost)[0].min()))
        if is_even or time.perf_counter() - started < _SECONDS_BETWEEN_CHECKS:
            piece *= 2
    return state


def _populations(tasks: Sequence[EvolutionTask], state: State) -> list[EvolvedPopulation]:
    """Read what the devices ended with."""
    found = []
    for node, task in enumerate(tasks):
        cut = state.cut[node].astype(np.int64)
        feature = np.where(cut == 0, NO_FEATURE, state.feature[node]).astype(np.int64)
        n_left = np.zeros_like(cut)
        for f in np.unique(feature[feature >= 0]):
            is_f = feature == f
            n_left[is_f] = task.samples.starts(int(f))[cut[is_f]]
        found.append(
            EvolvedPopulation(
                feature=feature,
                n_left=n_left,
                cost=state.cost[node],
                node_counts=partial(_node_counts, state.left[node], task.samples.class_counts),
                n_generations=int(state.n_generations[node]),
                n_evaluations=int(state.n_evaluations[node]),
            )
        )
    return found


def _node_counts(
    left: NDArray[np.int32], class_counts: NDArray[np.int64], individual: int
) -> NDArray[np.int64]:
    """Return the class counts of every node and leaf of an individual."""
    of_one = np.ascontiguousarray(left[:, individual].T, dtype=np.int64)
    counts = np.empty((2 * len(of_one) + 1, len(class_counts)), dtype=np.int64)
    fill_node_counts(class_counts, of_one, counts)
    return counts
