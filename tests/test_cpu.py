"""The CPU backend goes through the same evolution as the plain one, whatever its plan."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horizontree.backends import CPUBackend, ReferenceBackend, cpu
from horizontree.backends.base import EvolutionSettings, EvolvedPopulation
from horizontree.backends.cpu import MAX_RESIDENT_DEPTH, plan_memory
from horizontree.encoding import SampleSet, rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search.differential_evolution import evolve_plainly
from horizontree.search.genes import GENE_RANGE, random_genes
from problems import make_samples, small_data

TENTH = GENE_RANGE // 10


def never() -> bool:
    return False


def settings_of(depth: int, generations: int = 15, crossover: int = TENTH, stream: int = 7):
    return EvolutionSettings(depth, generations, crossover, stream)


def plainly(samples: SampleSet, genes, objective: Objective, run: EvolutionSettings):
    return evolve_plainly(ReferenceBackend(), samples, genes, objective, run, never)


def assert_same(ours: EvolvedPopulation, plain: EvolvedPopulation) -> None:
    for name in ("feature", "n_left", "cost"):
        assert np.array_equal(getattr(ours, name), getattr(plain, name)), name
    assert ours.n_generations == plain.n_generations
    assert ours.n_evaluations == plain.n_evaluations


def assert_evolves_plainly(
    samples: SampleSet,
    run: EvolutionSettings,
    objective: Objective,
    n_threads: int = 1,
    n: int = 10,
) -> EvolvedPopulation:
    genes = random_genes(n, 2 * (2**run.depth - 1), run.stream)
    before = genes.copy()
    ours = CPUBackend(n_threads).evolve(samples, genes, objective, run, never)
    assert np.array_equal(genes, before)
    assert_same(ours, plainly(samples, genes, objective, run))
    counts = [ours.node_counts(i) for i in range(n)]
    expected = ReferenceBackend().load(samples, run.depth).count(ours.feature, ours.n_left)
    assert np.array_equal(counts, expected)
    return ours


@pytest.fixture(params=[True, False], ids=["resident", "not resident"])
def is_resident(request, monkeypatch) -> bool:
    """Whether the bitsets of the population are kept, whatever there is room for."""

    def plan(*args, **options):
        return replace(plan_memory(*args, **options), is_resident=request.param)

    monkeypatch.setattr(cpu, "plan_memory", plan)
    return request.param


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
@pytest.mark.usefixtures("is_resident")
def test_evolution_equals_the_plain_one_gene_for_gene(depth, n_threads):
    for seed, objective in enumerate(
        (Objective(), Objective(COST_SCALE // 3, 1), Objective(0, 6), Objective(2 * COST_SCALE, 4))
    ):
        samples = make_samples(130, 4, 3, n_values=[None, 9][seed % 2], seed=seed)
        assert_evolves_plainly(samples, settings_of(depth, stream=seed), objective, n_threads)


@pytest.mark.parametrize("n_samples", [2, 63, 64, 65, 127, 128, 129])
@pytest.mark.parametrize("n_classes", [1, 2, 29])
@pytest.mark.usefixtures("is_resident")
def test_evolution_equals_the_plain_one_at_the_edges_of_words(n_samples, n_classes):
    samples = make_samples(n_samples, 3, n_classes, seed=n_samples)
    assert_evolves_plainly(samples, settings_of(3), Objective())


@pytest.mark.parametrize("n_samples", [cpu.BLOCK_BITS, cpu.BLOCK_BITS + 1, 2 * cpu.BLOCK_BITS + 1])
@pytest.mark.usefixtures("is_resident")
def test_evolution_equals_the_plain_one_over_several_blocks(n_samples):
    samples = make_samples(n_samples, 2, 2)
    for n_threads in (1, 2):
        run = settings_of(2, generations=6)
        assert_evolves_plainly(samples, run, Objective(), n_threads, n=5)


@pytest.mark.nojit
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.usefixtures("is_resident")
def test_evolution_equals_the_plain_one_with_one_thread_on_little_data(depth):
    samples = make_samples(40, 3, 3, n_values=6)
    assert_evolves_plainly(samples, settings_of(depth, generations=6), Objective(9, 2), n=5)


@settings(max_examples=40)
@given(
    small_data(),
    st.integers(1, 3),
    st.integers(4, 8),
    st.integers(0, 2**64 - 1),
    st.sampled_from([0, 1, TENTH, GENE_RANGE]),
    st.integers(1, 3),
)
def test_evolution_equals_the_plain_one_on_anything(data, depth, n, stream, crossover, n_threads):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    run = settings_of(depth, 12, crossover, stream)
    assert_evolves_plainly(samples, run, Objective(COST_SCALE // 7, 2), n_threads, n)


@pytest.mark.parametrize("depth", [6, 7])
def test_evolution_equals_the_plain_one_beyond_the_depth_of_residence(depth):
    samples = make_samples(150, 3, 3)
    run = settings_of(depth, generations=5)
    assert_evolves_plainly(samples, run, Objective(), 2, n=5)


def test_a_generation_takes_more_threads_than_individuals():
    samples = make_samples(90, 3, 3)
    assert_evolves_plainly(samples, settings_of(2), Objective(), n_threads=9, n=4)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_evolution_ends_when_a_tree_makes_no_error(n_threads):
    X = np.arange(50.0)[:, None]
    samples = rank_samples(X, (X[:, 0] > 20).astype(int), 2)
    end = assert_evolves_plainly(samples, settings_of(1, 10_000), Objective(), n_threads)
    assert end.cost.min() == 0
    assert end.n_generations < 10_000


@pytest.mark.parametrize("n_threads", [1, 2])
def test_evolution_ends_when_all_individuals_are_alike(n_threads):
    samples = make_samples(60, 3, 3)
    genes = np.tile(random_genes(1, 6, 0), (8, 1))
    run = settings_of(2, generations=10_000)
    ours = CPUBackend(n_threads).evolve(samples, genes, Objective(), run, never)
    assert_same(ours, plainly(samples, genes, Objective(), run))
    assert ours.n_generations == 1
    assert ours.n_evaluations == 8


@pytest.mark.parametrize("n_threads", [1, 2])
def test_without_generations_the_first_is_evaluated(n_threads):
    end = assert_evolves_plainly(
        make_samples(60), settings_of(2, generations=0), Objective(), n_threads
    )
    assert (end.n_generations, end.n_evaluations) == (0, 10)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("n_questions", [0, 1, 2, 5])
def test_a_stopped_evolution_is_the_plain_one_up_to_there(n_threads, n_questions):
    answers = iter([False] * n_questions)
    samples, genes = make_samples(100, 3, 3), random_genes(10, 14, 1)
    run = settings_of(3, generations=10_000)
    ours = CPUBackend(n_threads).evolve(
        samples, genes, Objective(), run, lambda: next(answers, True)
    )
    assert ours.n_generations < run.generations
    assert (ours.n_generations > 0) == (n_questions > 0)
    shorter = replace(run, generations=ours.n_generations)
    assert_same(ours, plainly(samples, genes, Objective(), shorter))


@pytest.mark.parametrize("generations", [0, 1, 2, 5])
@pytest.mark.parametrize("n_questions", range(4))
def test_a_run_that_has_ended_is_not_asked_to_stop(generations, n_questions):
    """Else a limit that strikes after the last generation would be blamed for the end."""
    samples, genes = make_samples(100, 3, 3), random_genes(10, 14, 1)
    answers = [*[False] * n_questions, True]

    def should_stop() -> bool:
        return answers.pop(0)

    run = settings_of(3, generations)
    end = CPUBackend(1).evolve(samples, genes, Objective(), run, should_stop)
    was_stopped = not answers
    assert was_stopped == (end.n_generations < generations)


def test_samples_without_a_feature_evolve_into_a_leaf():
    samples = rank_samples(np.ones((9, 2)), np.arange(9) % 2, 2)
    end = assert_evolves_plainly(samples, settings_of(2), Objective())
    assert (end.feature == -1).all()
    assert end.cost.tolist() == [4 * COST_SCALE] * 10


# --------------------------------------------------------------------------------- memory


@given(
    st.integers(2, 400),
    st.integers(1, 5),
    st.integers(1, 7),
    st.integers(4, 50),
    st.integers(1, 4),
    st.integers(0, 10_000_000),
)
def test_a_plan_keeps_to_its_budget(n, p, depth, population, threads, budget):
    samples = make_samples(n, p)
    wanted = {"depth": depth, "population_size": population, "n_threads": threads}
    roomy = plan_memory(samples, **wanted, budget=2**60)
    assert plan_memory(samples, **wanted, budget=roomy.n_bytes) == roomy
    try:
        plan = plan_memory(samples, **wanted, budget=budget)
    except MemoryError:
        assert budget < roomy.n_bytes
    else:
        assert plan.n_bytes <= budget
        assert not plan.is_resident or depth <= MAX_RESIDENT_DEPTH


def test_too_small_a_budget_is_refused_with_the_figures():
    with pytest.raises(MemoryError) as refusal:
        plan_memory(make_samples(10**5), depth=3, population_size=9, n_threads=1, budget=2**21)
    assert "for 100,000 samples with 3 features at depth 3" in str(refusal.value)
    assert "the 2 MB planned for it. Use fewer rows or a smaller depth" in str(refusal.value)


@pytest.mark.parametrize(
    ("n_samples", "n_classes", "depth"),
    [(100, 2, 3), (5000, 2, 4), (cpu.BLOCK_BITS + 1, 2, 2), (300, 29, 8), (300, 3, 10)],
)
@pytest.mark.parametrize("n_values", [None, 9])
def test_a_plan_counts_all_that_is_allocated(n_samples, n_classes, depth, n_values):
    samples = make_samples(n_samples, 3, n_classes, n_values=n_values)
    wanted = {"depth": depth, "population_size": 30, "n_threads": 2}
    plan = plan_memory(samples, **wanted, budget=cpu._budget(samples))
    genes = random_genes(30, 2 * (2**depth - 1), 0)
    run = settings_of(depth, generations=1)
    CPUBackend(2).evolve(samples, genes, Objective(), run, never)  # compiled by now
    tracemalloc.start()
    try:
        CPUBackend(2).evolve(samples, genes, Objective(), run, never)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    a_little = 1 << 18  # entries a feature, class or block; the threads
    assert peak <= plan.n_bytes + a_little


def test_residence_comes_first_then_checkpoints():
    samples = make_samples(50_000, 3)
    wanted = {"depth": 3, "population_size": 30, "n_threads": 1}
    plans = []
    budget = 2**40
    while True:
        try:
            plans.append(plan_memory(samples, **wanted, budget=budget))
        except MemoryError:
            break
        budget = plans[-1].n_bytes - 1  # the next smaller plan
    residences = [plan.is_resident for plan in plans]
    assert residences[0]
    assert not residences[-1]
    assert residences == sorted(residences, reverse=True)
    for is_kept in (True, False):
        shifts = [plan.shift for plan in plans if plan.is_resident == is_kept]
        assert shifts == sorted(set(shifts))  # ever fewer checkpoints
        assert len(shifts) > 1


def test_a_deep_tree_is_never_resident():
    plan = plan_memory(
        make_samples(50), depth=MAX_RESIDENT_DEPTH + 1, population_size=4, n_threads=1, budget=2**40
    )
    assert not plan.is_resident


def test_every_plan_gives_the_same_evolution(monkeypatch):
    samples = make_samples(3000, 3, 3)
    genes, run = random_genes(6, 14, 2), settings_of(3, generations=8)
    expected = plainly(samples, genes, Objective(), run)
    budget = 2**40
    n_plans = 0
    while True:
        monkeypatch.setattr(cpu, "_budget", lambda samples, budget=budget: budget)
        try:
            plan = plan_memory(samples, depth=3, population_size=6, n_threads=1, budget=budget)
        except MemoryError:
            break
        assert_same(CPUBackend(1).evolve(samples, genes, Objective(), run, never), expected)
        budget = plan.n_bytes - 1
        n_plans += 1
    assert n_plans > 2
    with pytest.raises(MemoryError, match="more than the"):
        CPUBackend(1).evolve(samples, genes, Objective(), run, never)
