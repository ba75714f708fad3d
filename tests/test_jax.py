"""The device programs, on one and on four simulated devices: equal to the CPU, bit for bit."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from functools import partial
from types import SimpleNamespace

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest

from horizontree import DEOCTClassifier, HorizonTreeClassifier, MHDEOCTClassifier
from horizontree.backends import (
    CPUBackend,
    DeviceError,
    ReferenceBackend,
    device_layout,
    get_backend,
    jax_backend,
)
from horizontree.backends import _jax_programs as programs
from horizontree.backends._jax_programs import Coding, Terms
from horizontree.backends.base import EvolutionSettings, EvolutionTask
from horizontree.backends.device_layout import bytes_of_codes, rounded_up
from horizontree.backends.jax_backend import JAXBackend
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search import genes
from horizontree.search.depth_two import solve_depth_two
from horizontree.search.pair_histograms import cut_into_bins, solve_bins
from problems import make_data, make_samples, random_trees

TENTH = genes.GENE_RANGE // 10
OBJECTIVES = [Objective(), Objective(COST_SCALE // 3), Objective(0, 6), Objective(2**21, 4)]


def never() -> bool:
    return False


@pytest.fixture(params=[1, 4], ids=["1 device", "4 devices"], autouse=True)
def devices(request, monkeypatch):
    """The devices that JAX is believed to have."""
    found = jax.devices("cpu")[: request.param]
    if len(found) < request.param:
        pytest.skip(f"JAX was started with {len(found)} devices")
    monkeypatch.setattr(jax_backend, "_devices", lambda: found)
    return found


@pytest.fixture(params=[True, False], ids=["in turn", "at once"])
def backend(devices, request):
    """A backend that counts trees as on a processor, or as on an accelerator."""
    backend = JAXBackend()
    backend.in_turn = request.param
    return backend


def settings_of(depth, generations=15, stream=7):
    return EvolutionSettings(depth, generations, TENTH, stream)


def assert_same_population(ours, other):
    for name in ("feature", "n_left", "cost"):
        assert np.array_equal(getattr(ours, name), getattr(other, name)), name
    assert (ours.n_generations, ours.n_evaluations) == (other.n_generations, other.n_evaluations)
    assert np.array_equal(ours.node_counts(2), other.node_counts(2))


def assert_same_fit(ours, other):
    for name in ("feature", "threshold", "left", "right", "class_counts"):
        assert np.array_equal(
            getattr(ours.tree_, name), getattr(other.tree_, name), equal_nan=name == "threshold"
        )
    for name in ("objective_", "lower_bound_", "gap_", "status_", "n_iter_"):
        assert getattr(ours, name) == getattr(other, name), name


# ----------------------------------------------------------------------- pieces of programs


def test_trials_are_those_of_the_plain_evolution():
    population = genes.random_genes(9, 14, 3)
    cost = np.array([5, 3, 3, 9, 4, 8, 7, 6, 5])
    plain = genes.propose(population, 1, generation=6, stream=2**64 - 5, crossover=TENTH)
    with jax.enable_x64(True):
        stream = np.array([2**64 - 5], dtype=np.uint64)
        ours = programs.propose(population[None], cost[None], np.int64(6), stream, np.int64(TENTH))
    assert np.array_equal(ours[0], plain)


@pytest.mark.parametrize("n_values", [None, 2, 7])
def test_genes_mean_the_same_trees(n_values):
    samples = make_samples(300, 4, n_values=n_values)
    population = genes.random_genes(40, 14, 1)
    feature, n_left = genes.GeneCode.of(samples).decode(population)
    coding = Coding(
        np.zeros(1, dtype=np.uint64), np.array([samples.n_features]), samples.n_distinct[None]
    )
    with jax.enable_x64(True):
        ours, cut = (np.asarray(array)[0] for array in programs.decode(population[None], coding))
    assert np.array_equal(feature < 0, cut == 0)
    for f in range(samples.n_features):
        is_f = feature == f
        assert np.array_equal(ours[is_f], feature[is_f])
        assert np.array_equal(samples.starts(f)[cut[is_f]], n_left[is_f])


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_a_tree_costs_what_the_objective_says(depth, objective):
    samples = make_samples(60, 3, 3, n_values=5)
    feature, n_left = random_trees(samples, depth, 30)
    counts = ReferenceBackend().load(samples, depth).count(feature, n_left)
    heap = np.arange(2 ** (depth + 1) - 1)
    is_inner = heap < 2**depth - 1
    children = np.where(is_inner, 2 * heap + 1, -1), np.where(is_inner, 2 * heap + 2, -1)
    left = counts[:, 1::2].transpose(2, 0, 1)[None].astype(np.int32)
    terms = Terms(0, objective.split_cost, objective.min_samples_leaf)
    with jax.enable_x64(True):
        all_counts = programs.node_counts(left, samples.class_counts[None])
        cost = programs.pruned_cost(left, samples.class_counts[None], terms)
    assert np.array_equal(all_counts[0], counts)
    assert cost[0].tolist() == [objective.prune(c, *children)[1] for c in counts]


# ---------------------------------------------------------------------------------- counting


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 8])
def test_counts_are_those_of_the_reference(depth, backend):
    samples = make_samples(700, 3, 3, n_values=9)
    feature, n_left = random_trees(samples, depth, 6)
    counts = backend.load(samples, depth).count(feature, n_left)
    assert np.array_equal(counts, ReferenceBackend().load(samples, depth).count(feature, n_left))


@pytest.mark.parametrize("n_samples", [1, 2, 255, 256, 257, 4097])
@pytest.mark.parametrize("n_classes", [1, 2, 7, 29])
def test_counts_are_those_of_the_reference_at_the_edges_of_blocks(n_samples, n_classes, backend):
    y = np.arange(n_samples) % n_classes if n_classes > 1 else np.zeros(n_samples, dtype=int)
    X = np.random.default_rng(n_samples).normal(size=(n_samples, 2))
    samples = rank_samples(X, y, n_classes)
    if samples.n_features == 0:
        feature = np.full((3, 3), -1)
        n_left = np.zeros((3, 3), dtype=np.int64)
    else:
        feature, n_left = random_trees(samples, 2, 3)
    counts = backend.load(samples, 2).count(feature, n_left)
    assert np.array_equal(counts, ReferenceBackend().load(samples, 2).count(feature, n_left))


def bucket_edges(backend, most):
    """List the numbers of rows from which on the arrays have another shape."""

    def shape_of(n_samples):
        backend._n_rows = 0
        size = SimpleNamespace(
            n_samples=n_samples, n_features=2, n_classes=2, n_distinct=np.array([9, 9])
        )
        return backend.shape_for([size], 8, 2)

    edges = []
    low = 1
    while shape_of(low) != shape_of(most):
        differs = [n for n in range(low, most, 128) if shape_of(n) != shape_of(low)]
        high = differs[0] if differs else most
        low = max(low, high - 128)
        while shape_of(low) == shape_of(low + 1):
            low += 1
        low += 1
        edges.append(low)
    backend._n_rows = 0
    return edges


def test_counts_are_those_of_the_reference_on_either_side_of_every_edge(devices):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(200_000, 2)).astype(float)
    y = rng.integers(0, 2, size=len(X))
    edges = bucket_edges(JAXBackend(), len(X))
    assert len(edges) > 20
    for edge in edges:
        for n_samples in (edge - 1, edge):
            samples = rank_samples(X[:n_samples], y[:n_samples], 2)
            feature, n_left = random_trees(samples, 2, 3)
            counts = JAXBackend().load(samples, 2).count(feature, n_left)
            expected = CPUBackend().load(samples, 2).count(feature, n_left)
            assert np.array_equal(counts, expected), n_samples


@pytest.mark.parametrize("n_values", [254, 255, 256, 65_535, 65_536])
def test_codes_and_cuts_fit_their_bytes(n_values, devices):
    order = np.arange(n_values, dtype=float)
    X = np.concatenate([order, order[::-1]])[:, None]
    samples = rank_samples(X, np.arange(len(X)) % 2, 2)
    n_left = samples.starts(0)[[[0], [1], [-2], [-1]]].astype(np.int64)
    feature = np.where(n_left > 0, 0, -1)
    counts = JAXBackend().load(samples, 1).count(feature, n_left)
    assert np.array_equal(counts, ReferenceBackend().load(samples, 1).count(feature, n_left))


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        partial(DEOCTClassifier, 2, population_size=5, generations=2, random_state=0),
        partial(MHDEOCTClassifier, 3, population_size=5, generations=2, random_state=0),
        partial(HorizonTreeClassifier, 2),
    ],
    ids=["deoct", "mh-deoct", "horizon"],
)
def test_trees_are_those_of_the_cpu_on_either_side_of_every_edge(make, devices):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, size=(200_000, 2)).astype(float)
    y = (X.sum(axis=1) + rng.integers(0, 5, size=len(X)) > 9).astype(int)
    for edge in bucket_edges(JAXBackend(), len(X)):
        for n_samples in (edge - 1, edge):
            data = X[-n_samples:], y[-n_samples:]
            if len(np.unique(data[1])) > 1:
                ours, other = (make(backend=name).fit(*data) for name in ("jax", "cpu"))
                assert_same_fit(ours, other)


def samples_of_mixed_features():
    rng = np.random.default_rng(0)
    n_values = [2, 0, 300, 255, 60_000]
    X = rng.random((70_000, 5))
    for f, n in enumerate(n_values):
        if n > 0:
            X[:, f] = np.append(np.arange(n), rng.integers(0, n, 70_000 - n))
    return rank_samples(X, rng.integers(0, 3, 70_000), 3)


def test_every_feature_of_a_node_has_the_bytes_that_it_needs(backend):
    samples = samples_of_mixed_features()
    shape = backend.shape_for([samples], 20, 2)
    assert bytes_of_codes(samples.n_distinct).tolist() == [1, 3, 2, 1, 2]
    assert (shape.n_bytes, shape.n_planes) == (3, 1 + rounded_up(9))
    for depth in (1, 2, 6):
        feature, n_left = random_trees(samples, depth, 20)
        counts = backend.load(samples, depth).count(feature, n_left)
        assert np.array_equal(counts, CPUBackend().load(samples, depth).count(feature, n_left))


def test_nodes_of_a_level_may_need_different_bytes(backend):
    samples = samples_of_mixed_features()
    level = [*samples.split(1, 200), samples]
    tasks = [
        EvolutionTask(node, genes.random_genes(6, 6, i), settings_of(2, generations=3, stream=i))
        for i, node in enumerate(level)
    ]
    together = backend.evolve_together(tasks, Objective(), never)
    for task, ours in zip(tasks, together, strict=True):
        alone = CPUBackend().evolve(task.samples, task.genes, Objective(), task.settings, never)
        assert_same_population(ours, alone)


# ------------------------------------------------------------------------------- evolution


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_evolution_equals_that_of_the_cpu_gene_for_gene(depth, backend):
    for seed, objective in enumerate(OBJECTIVES):
        samples = make_samples(300, 4, 3, n_values=[None, 9][seed % 2], seed=seed)
        run = settings_of(depth, stream=seed)
        first = genes.random_genes(10, 2 * (2**depth - 1), seed)
        ours = backend.evolve(samples, first, objective, run, never)
        assert_same_population(ours, CPUBackend().evolve(samples, first, objective, run, never))


@pytest.mark.parametrize("n_classes", [2, 29])
def test_evolution_equals_that_of_the_cpu_on_many_rows(n_classes, devices):
    samples = make_samples(200_000, 3, n_classes)
    run = settings_of(2, generations=6)
    first = genes.random_genes(6, 6, 1)
    ours = JAXBackend().evolve(samples, first, Objective(), run, never)
    assert_same_population(ours, CPUBackend().evolve(samples, first, Objective(), run, never))


def test_evolution_ends_when_a_tree_makes_no_error(backend):
    X = np.arange(50.0)[:, None]
    samples = rank_samples(X, (X[:, 0] > 20).astype(int), 2)
    run = settings_of(2, generations=400)
    first = genes.random_genes(12, 6, 3)
    ours = backend.evolve(samples, first, Objective(), run, never)
    assert ours.cost.min() == 0
    assert_same_population(ours, CPUBackend().evolve(samples, first, Objective(), run, never))


@pytest.mark.parametrize("n_nodes", [3, 8, 9])
def test_evolutions_together_equal_each_by_itself(n_nodes, backend):
    sizes = [(300, 4), (30, 2), (90, 3)] + [(20 + n, 2) for n in range(6)]
    level = [make_samples(n, p, 3, seed=n) for n, p in sizes[:n_nodes]]
    tasks = [
        EvolutionTask(samples, genes.random_genes(8, 6, i), settings_of(2, stream=i))
        for i, samples in enumerate(level)
    ]
    found = backend.evolve_together(tasks, Objective(), never)
    for task, ours in zip(tasks, found, strict=True):
        other = CPUBackend().evolve(task.samples, task.genes, Objective(), task.settings, never)
        assert_same_population(ours, other)


@pytest.mark.parametrize("budget", [1, 10**6, 10**7])
def test_little_memory_changes_nothing_but_the_number_of_pieces(budget, devices, monkeypatch):
    samples = make_samples(5_000, 3)
    first = genes.random_genes(10, 14, 1)
    run = settings_of(3, generations=4)
    backend = JAXBackend()
    backend.in_turn = False
    monkeypatch.setattr(backend, "_budget", lambda: budget)
    ours = backend.evolve(samples, first, Objective(), run, never)
    assert_same_population(ours, CPUBackend().evolve(samples, first, Objective(), run, never))


def test_masks_fit_into_the_budget():
    for n_individuals, depth, n_rows in ((100, 2, 16_384), (200, 8, 16_384), (10, 3, 256)):
        for budget in (10**5, 10**7, 10**9):
            chunk, trees = device_layout.plan_masks(n_individuals, depth, n_rows, budget)
            assert 1 <= trees <= n_individuals
            assert chunk * trees * n_rows * 2**depth * 3 <= budget or chunk == trees == 1


def test_evolution_is_stopped_between_pieces(devices):
    samples = make_samples(500, 3)
    first = genes.random_genes(8, 6, 0)
    told = []
    ours = JAXBackend().evolve(
        samples, first, Objective(), settings_of(2, 10**6), lambda: len(told) > 3,
        lambda *progress: told.append(progress),
    )  # fmt: skip
    assert 0 < ours.n_generations < 10**6
    assert told[-1] == (ours.n_generations, ours.cost.min())


# ------------------------------------------------------------------------------- depth two


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize(
    ("n_samples", "n_features", "n_classes", "n_values"),
    [(500, 3, 2, None), (500, 4, 7, 11), (90, 2, 29, None), (3, 2, 2, None), (5_000, 3, 2, 300)],
)
def test_histograms_of_pairs_are_those_of_the_cpu(
    n_samples, n_features, n_classes, n_values, objective, devices
):
    samples = make_samples(n_samples, n_features, n_classes, n_values=n_values)
    bins = cut_into_bins(samples, 40)
    args = bins, *samples.class_ranges, objective
    ours = solve_bins(*args, scanner=JAXBackend().scan_pairs)
    other = solve_bins(*args)
    for name in ("cost", "feature", "boundary", "bound"):
        assert getattr(ours, name) == getattr(other, name), name
    f, *_, b = np.indices(ours.found.shape, sparse=True)
    is_there = np.broadcast_to(b <= bins.n_bins[f], ours.found.shape)
    assert np.array_equal(ours.found[is_there], other.found[is_there])


def test_histograms_are_counted_in_parts(devices, monkeypatch):
    samples = make_samples(3_000, 5, 3)
    expected = solve_depth_two(samples, Objective())
    backend = JAXBackend()
    monkeypatch.setitem(jax_backend._ROWS_OF_PRODUCT, "float32", 256)
    of_root = 5 * 4 * 3 * 5 * 128**2
    for budget, is_scanned in ((of_root, True), (2 * of_root, True), (of_root - 1, False)):
        monkeypatch.setattr(backend, "_budget", lambda budget=budget: budget)
        tables = []

        def scanner(*args, tables=tables):
            tables.append(backend.scan_pairs(*args))
            return tables[-1]

        assert solve_depth_two(samples, Objective(), scanner=scanner) == expected
        assert (tables[-1] is not None) == is_scanned


def test_integers_are_multiplied_as_on_an_accelerator(devices):
    backend = JAXBackend()
    samples = make_samples(400, 3)
    expected = solve_depth_two(samples, Objective())
    backend.product_type = np.dtype(np.int8)
    assert solve_depth_two(samples, Objective(), scanner=backend.scan_pairs) == expected


def test_small_parts_of_a_large_problem_are_left_to_the_cpu(devices):
    backend = JAXBackend()
    tables = []

    def scanner(*args):
        tables.append(backend.scan_pairs(*args))
        return tables[-1]

    for n_samples in (5_000, 100):
        samples = make_samples(n_samples, 3)
        found = solve_depth_two(samples, Objective(), scanner=scanner)
        assert found == solve_depth_two(samples, Objective())
    assert tables[0] is not None
    assert tables[-1] is None


# ------------------------------------------------------------------------------ estimators


SMALL = {"population_size": 12, "generations": 25, "random_state": 3}
ESTIMATORS = [
    partial(DEOCTClassifier, **SMALL),
    partial(MHDEOCTClassifier, **SMALL),
    HorizonTreeClassifier,
]


@pytest.mark.parametrize("make", ESTIMATORS, ids=["deoct", "mh-deoct", "horizon"])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("n_classes", [2, 7])
def test_a_fit_is_the_same_as_on_the_cpu(make, depth, n_classes, devices):
    X, y = make_data(400, 4, n_classes, seed=depth)
    options = {} if depth < 3 else {"min_samples_leaf": 5, "ccp_alpha": 0.004}
    ours = make(depth, backend="jax", **options).fit(X, y)
    assert ours.backend_ == "jax"
    assert_same_fit(ours, make(depth, backend="cpu", **options).fit(X, y))


@pytest.mark.parametrize("make", ESTIMATORS, ids=["deoct", "mh-deoct", "horizon"])
@pytest.mark.parametrize(("n_samples", "n_classes"), [(60, 29), (20_000, 29), (200_000, 2)])
def test_a_fit_is_the_same_with_many_classes_and_rows(make, n_samples, n_classes, devices):
    X, y = make_data(n_samples, 3, n_classes, n_values=60)
    ours = make(2, backend="jax").fit(X, y)
    assert_same_fit(ours, make(2, backend="cpu").fit(X, y))


@pytest.mark.parametrize("make", ESTIMATORS, ids=["deoct", "mh-deoct", "horizon"])
def test_a_fit_compiles_few_programs_and_the_next_one_none(make, devices, n_compiled):
    jax.clear_caches()
    X, y = make_data(1_500, 4, 3)
    make(5, backend="jax").fit(X, y)
    assert 0 < n_compiled() <= 12
    X, y = make_data(1_490, 4, 3, seed=1)
    make(5, backend="jax").fit(X, y)
    assert n_compiled() == 0


_COMPILED: list[str] = []


def _note(event: str, seconds: float, **details: object) -> None:
    if event == "/jax/core/compile/backend_compile_duration":
        _COMPILED.append(event)


jax.monitoring.register_event_duration_secs_listener(_note)


@pytest.fixture
def n_compiled():
    """Tell how many programs have been compiled since it was last asked."""
    _COMPILED.clear()

    def count() -> int:
        n = len(_COMPILED)
        _COMPILED.clear()
        return n

    return count


# ------------------------------------------------------------------------ other platforms


@pytest.mark.parametrize("platform", ["cuda", "rocm", "tpu"])
@pytest.mark.parametrize("depth", [2, 3, 8])
def test_programs_of_trees_lower_for_accelerators(platform, depth, devices):
    backend = JAXBackend()
    backend.in_turn = False
    samples = make_samples(600, 3, 3)
    run = settings_of(depth)
    task = EvolutionTask(samples, genes.random_genes(8, 2 * (2**depth - 1), 0), run)
    with jax.enable_x64(True):
        shape = backend.shape_for([samples], 8, depth)
        put = backend.put([samples], shape)
        options = {"mesh": backend.mesh, "plan": backend.plan(shape)}
        state = jax_backend._first_state([task], shape)
        terms = Terms(np.int64(1), np.int64(0), np.int64(1))
        coding = jax_backend._coding([task], shape)
        lower = partial(jax.export.export, platforms=[platform])
        evolved = lower(jax_backend._run_evolve)(state, put, coding, terms, np.int64(9), **options)
        counted = lower(jax_backend._run_count)(put, state.feature, state.cut, **options)
    assert evolved.platforms == counted.platforms == (platform,)


@pytest.mark.parametrize("platform", ["cuda", "rocm", "tpu"])
def test_histograms_of_pairs_lower_for_accelerators(platform, devices, monkeypatch):
    run_scan = jax_backend._run_scan
    exported = []

    def lower_and_run(*args, **options):
        lower = jax.export.export(run_scan, platforms=[platform])
        exported.append(lower(*args, **options | {"dtype": np.dtype(np.int8)}))
        return run_scan(*args, **options)

    monkeypatch.setattr(jax_backend, "_run_scan", lower_and_run)
    solve_depth_two(make_samples(300, 3), Objective(), scanner=JAXBackend().scan_pairs)
    assert exported[0].platforms == (platform,)


# ---------------------------------------------------------------------------- a good guest


def test_the_host_program_keeps_its_own_settings(devices):
    X, y = make_data(200)
    assert not jax.config.jax_enable_x64
    HorizonTreeClassifier(2, backend="jax").fit(X, y)
    assert not jax.config.jax_enable_x64
    assert jnp.zeros(1).dtype == np.float32


def test_without_jax_an_explicit_request_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "horizontree.backends.jax_backend", None)
    with pytest.raises(ImportError, match=r'pip install "horizontree\[jax\]"'):
        get_backend("jax", 1)
    X, y = make_data(60)
    with pytest.raises(ImportError, match="JAX"):
        HorizonTreeClassifier(2, backend="jax").fit(X, y)
    assert HorizonTreeClassifier(2).fit(X, y).backend_ == "cpu"


def test_a_processor_is_no_accelerator_for_auto(monkeypatch):
    monkeypatch.setattr("horizontree.backends._WORTH_A_DEVICE", 0)
    assert get_backend("auto", 1, make_samples(50)).name == "cpu"


def test_auto_takes_an_accelerator_for_large_data_only(monkeypatch):
    monkeypatch.setattr(JAXBackend, "platform", "gpu")
    samples = make_samples(50)
    assert get_backend("auto", 1, samples).name == "cpu"
    monkeypatch.setattr("horizontree.backends._WORTH_A_DEVICE", samples.order.size)
    assert get_backend("auto", 1, samples).name == "jax"


@pytest.fixture
def exhausted(monkeypatch):
    """Let every program run out of memory."""

    def run(*args, **options):
        raise jax.errors.JaxRuntimeError(
            "RESOURCE_EXHAUSTED: Out of memory allocating 9 bytes.\nmore"
        )

    monkeypatch.setattr(jax_backend, "_run_evolve", run)
    monkeypatch.setattr(jax_backend, "_run_scan", run)


@pytest.mark.usefixtures("exhausted")
@pytest.mark.parametrize("make", ESTIMATORS, ids=["deoct", "mh-deoct", "horizon"])
def test_memory_that_runs_out_is_said_plainly(make, monkeypatch):
    X, y = make_data(100)
    with pytest.raises(DeviceError, match=r'allocating 9 bytes\. Use backend="cpu"'):
        make(2, backend="jax").fit(X, y)
    monkeypatch.setattr(JAXBackend, "platform", "gpu")
    monkeypatch.setattr("horizontree.backends._WORTH_A_DEVICE", 0)
    with pytest.warns(RuntimeWarning, match="goes on with the CPU backend"):
        model = make(2).fit(X, y)
    assert model.backend_ == "cpu"
    assert_same_fit(model, make(2, backend="cpu").fit(X, y))


def test_no_device_is_said_plainly(monkeypatch):
    monkeypatch.undo()

    def no_devices():
        raise RuntimeError("Unable to initialize backend 'cuda': driver too old\nmore")

    monkeypatch.setattr(jax, "devices", no_devices)
    with pytest.raises(DeviceError, match=r"driver too old\. Check the driver"):
        get_backend("jax", 1)
    monkeypatch.setattr("horizontree.backends._WORTH_A_DEVICE", 0)
    with pytest.warns(RuntimeWarning, match="The CPU backend is used"):
        assert get_backend("auto", 1, make_samples(50)).name == "cpu"


def test_other_errors_of_programs_are_said_plainly_too(monkeypatch):
    def run(*args, **options):
        raise jax.errors.JaxRuntimeError("INTERNAL: a bug")

    monkeypatch.setattr(jax_backend, "_run_scan", run)
    X, y = make_data(100)
    with pytest.raises(DeviceError, match=r"a bug\. Run `horizontree doctor`"):
        HorizonTreeClassifier(2, backend="jax").fit(X, y)


def test_a_plugin_without_a_gpu_is_worth_a_warning(monkeypatch):
    monkeypatch.setattr("horizontree.backends._GPU_PLUGINS", ("json",))
    with pytest.warns(RuntimeWarning, match="json but sees no GPU"):
        get_backend("jax", 1)


def test_threads_do_not_meet_on_the_devices(devices):
    X, y = make_data(3_000, 4, 3)
    model = HorizonTreeClassifier(5, backend="jax", n_jobs=4).fit(X, y)
    assert_same_fit(model, HorizonTreeClassifier(5, backend="cpu").fit(X, y))


def test_padding_stays_small(devices):
    rng = np.random.default_rng(0)
    backend = JAXBackend()
    for in_turn in (True, False):
        backend.in_turn = in_turn
        for n_samples, n_nodes, n_classes, most in (
            (1_000_000, 1, 2, 1.3),
            (1_100_000, 1, 2, 1.4),
            (200_000, 64, 2, 1.5),
            (8_000, 1024, 26, 100),
        ):
            backend._n_rows = 0
            sizes = np.diff(np.sort(rng.integers(0, n_samples, n_nodes - 1)), prepend=0)
            sizes = np.append(sizes, n_samples - sizes.sum())
            level = [
                SimpleNamespace(
                    n_samples=n, n_features=1, n_classes=n_classes, n_distinct=np.array([9])
                )
                for n in sizes.tolist()
            ]
            shape = backend.shape_for(level, 100, 3)
            n_stored = shape.n_devices * shape.n_blocks * shape.n_rows * shape.n_planes
            assert n_stored <= most * n_samples


# ------------------------------------------------------------------------ several processes


PROCESS = """
import sys
import jax
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"localhost:{sys.argv[1]}", 2, int(sys.argv[2]))
import numpy as np
from horizontree import DEOCTClassifier, HorizonTreeClassifier, MHDEOCTClassifier
assert (len(jax.devices()), len(jax.local_devices())) == (2, 1)
X = np.random.default_rng(0).normal(size=(9_000, 4))
y = (X[:, 0] * X[:, 1] > 0) ^ (X[:, 2] > 1)
small = {"generations": 20, "population_size": 12, "random_state": 0, "n_jobs": 2}
from horizontree.backends.jax_backend import JAXBackend
if sys.argv[3] == "at once":
    first = JAXBackend.__init__
    def at_once(self, devices=None):
        first(self, devices)
        self.in_turn = False
    JAXBackend.__init__ = at_once
for model in (DEOCTClassifier(2, **small), MHDEOCTClassifier(3, **small),
              HorizonTreeClassifier(4, n_jobs=4)):
    ours, other = (
        model.set_params(backend=backend).fit(X, y).to_text() for backend in ("jax", "cpu")
    )
    assert ours == other
try:
    HorizonTreeClassifier(2, backend="jax", time_limit=9).fit(X, y)
except ValueError as error:
    print(error)
"""


@pytest.mark.parametrize("way", ["in turn", "at once"])
def test_two_processes_share_the_rows_and_find_the_same_tree(way, devices):
    if len(devices) > 1:
        pytest.skip("once is enough")
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    environment = os.environ | {"XLA_FLAGS": "", "JAX_PLATFORMS": "cpu"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, port, number, way],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in "01"
    ]  # fmt: skip
    for process in processes:
        out, error = process.communicate(timeout=240)
        assert process.returncode == 0, error
        assert "time_limit does not work over several processes" in out
