"""DEOCT: warm starts survive encoding, and the result is never worse than any of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from horizontree.backends import CPUBackend, ReferenceBackend
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search.cart import grow_cart
from horizontree.search.differential_evolution import (
    Evolution,
    encode_tree,
    evolve_tree,
    read_tree,
)
from horizontree.search.genes import GeneCode
from horizontree.search.splits import Split, build_tree
from problems import make_data, make_samples, random_trees, small_data

SHORT = Evolution(population_size=8, generations=6)


def cost_of(root, samples, objective) -> int:
    """Return the cost of splits over some samples, by building the tree."""
    X, y = samples.X[samples.rows], samples.labels
    tree = build_tree(root, X, y, samples.n_classes, objective)
    return objective.tree_cost(tree.n_errors, tree.n_splits)


@st.composite
def proposals(draw: st.DrawFn, X, depth: int) -> Split | None:
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return None
    feature = draw(st.integers(0, X.shape[1] - 1))
    cut = draw(st.sampled_from([-1.0, *np.unique(X[:, feature]).tolist()]))
    return Split(feature, cut, *(draw(proposals(X, depth - 1)) for _ in range(2)))


@st.composite
def nodes(draw: st.DrawFn):
    """Draw the samples at some node of a tree: features may be constant there."""
    X, y = draw(small_data(max_samples=20))
    samples = rank_samples(X, y, int(y.max()) + 1)
    for _ in range(draw(st.integers(0, 2))):
        if samples.n_features == 0:
            break
        feature = draw(st.integers(0, samples.n_features - 1))
        candidate = draw(st.integers(1, int(samples.n_distinct[feature]) - 1))
        sides = samples.split(feature, int(samples.starts(feature)[candidate]))
        samples = sides[draw(st.integers(0, 1))]
    return samples


objectives = st.builds(
    Objective, st.sampled_from([0, COST_SCALE // 3, 2 * COST_SCALE]), st.integers(1, 5)
)


@pytest.mark.nojit
@given(nodes(), st.data(), st.integers(1, 3), objectives)
def test_a_warm_start_means_the_same_in_genes(samples, choices, depth, objective):
    root = choices.draw(proposals(samples.X, depth))
    code = GeneCode.of(samples)
    feature, n_left = code.decode(encode_tree(root, samples, code, depth)[None])
    counts = ReferenceBackend().load(samples, depth).count(feature, n_left)
    assert naive.heap_cost(counts[0], objective) == cost_of(root, samples, objective)


@pytest.mark.nojit
@pytest.mark.parametrize("cut", [0.0, 0.5, 7.0, -1.0])
def test_a_warm_start_that_splits_a_feature_which_is_constant_here_means_the_same(cut):
    X = np.array([[0.0, 3.0], [0.0, 4.0], [0.0, 5.0], [9.0, 4.0]])
    everything = rank_samples(X, np.array([0, 1, 0, 1]), 2)
    samples, _ = everything.split(0, 3)
    assert samples.features.tolist() == [1]
    code = GeneCode.of(samples)
    useful = Split(1, 3.0, right=Split(1, 4.0))
    for root in (Split(0, cut, left=useful), Split(0, cut, right=useful)):
        feature, n_left = code.decode(encode_tree(root, samples, code, 3)[None])
        counts = ReferenceBackend().load(samples, 3).count(feature, n_left)
        expected = cost_of(root, samples, Objective())
        assert naive.heap_cost(counts[0], Objective()) == expected
    all_go_left = cut >= 0
    goes_on = Split(0, cut, **{"left" if all_go_left else "right": useful})
    assert cost_of(goes_on, samples, Objective()) == 0


@given(nodes(), st.integers(1, 3), objectives, st.integers(0, 99))
def test_an_individual_is_read_as_its_best_pruning(samples, depth, objective, seed):
    feature, n_left = random_trees(samples, depth, 3, seed)
    counts = ReferenceBackend().load(samples, depth).count(feature, n_left)
    for tree in range(3):
        root = read_tree(samples, feature[tree], n_left[tree], counts[tree], objective)
        assert cost_of(root, samples, objective) == naive.heap_cost(counts[tree], objective)


@settings(max_examples=60)
@given(nodes(), st.data(), st.integers(1, 3), objectives)
def test_evolution_is_never_worse_than_a_warm_start(samples, choices, depth, objective):
    starts = [choices.draw(proposals(samples.X, depth)) for _ in range(3)]
    starts.append(grow_cart(samples, max_depth=depth))
    found = evolve_tree(
        samples,
        CPUBackend(),
        depth=depth,
        objective=objective,
        evolution=SHORT,
        stream=choices.draw(st.integers(0, 2**64 - 1)),
        warm_starts=starts,
    )
    assert found.cost <= min(cost_of(start, samples, objective) for start in starts)
    assert found.cost == cost_of(found.root, samples, objective)


def evolve(samples, backend=None, **changes):
    options = {
        "depth": 3,
        "objective": Objective(),
        "evolution": Evolution(20, 20),
        "stream": 5,
        "warm_starts": [grow_cart(samples, max_depth=3)],
    }
    return evolve_tree(samples, backend or CPUBackend(), **options | changes)


@pytest.mark.nojit
def test_both_backends_find_the_same_tree():
    samples = make_samples(50, 3, 3)
    options = {"depth": 2, "evolution": Evolution(6, 8), "warm_starts": []}
    assert evolve(samples, CPUBackend(), **options) == evolve(
        samples, ReferenceBackend(), **options
    )


def test_a_warm_start_that_nothing_beats_comes_back_as_it_was():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]).repeat(3, axis=0)
    samples = rank_samples(X, np.array([0, 1, 1, 0]).repeat(3), 2)
    start = Split(1, 0.0, Split(0, 0.0), Split(0, 0.0))
    mirrored = Split(0, 0.0, Split(1, 0.0), Split(1, 0.0))
    for starts in ([start, mirrored], [None, start], [mirrored, start]):
        found = evolve(samples, depth=2, warm_starts=starts)
        assert found.root == next(root for root in starts if root is not None)
        assert (found.cost, found.n_generations) == (0, 0)


def test_levels_of_a_warm_start_below_the_depth_are_cut_off():
    samples = make_samples(120, 3, 3)
    deep = grow_cart(samples, max_depth=6)
    shallow = grow_cart(samples, max_depth=2)
    options = {"depth": 2, "evolution": Evolution(4, 0)}
    found = evolve(samples, **options, warm_starts=[deep])
    assert found.cost <= cost_of(shallow, samples, Objective())
    assert evolve(samples, **options, warm_starts=[shallow]).root == found.root


def test_more_warm_starts_than_individuals_fill_the_first_generation():
    samples = make_samples(60)
    starts = [None] * 5 + [grow_cart(samples, max_depth=3)]
    with_room = evolve(samples, evolution=Evolution(6, 0), warm_starts=starts)
    without = evolve(samples, evolution=Evolution(4, 0), warm_starts=starts)
    assert with_room.cost == cost_of(starts[-1], samples, Objective())
    assert without.root is None


def test_longer_evolution_is_never_worse():
    samples = make_samples(200, 4, 3)
    costs = [evolve(samples, evolution=Evolution(20, g)).cost for g in (0, 1, 5, 25, 125)]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1]


def test_different_streams_search_differently():
    samples = make_samples(150, 4, 3)
    found = [evolve(samples, stream=stream, warm_starts=[]) for stream in range(6)]
    assert len({str(result.root) for result in found}) > 1


def test_the_wish_to_stop_ends_the_evolution_with_the_best_so_far():
    samples = make_samples(150, 4, 3)
    for backend in (CPUBackend(), ReferenceBackend()):
        found = evolve(samples, backend, should_stop=lambda: True)
        assert found.n_generations == 0
        assert found.cost <= cost_of(grow_cart(samples, max_depth=3), samples, Objective())


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_evolution_finds_the_optimum_of_small_problems(depth, seed):
    X, y = make_data(24, 2, 2 + seed % 2, n_values=6, seed=seed)
    objective = Objective([0, COST_SCALE][seed % 2], 1 + seed % 3)
    optimum = naive.optimal_cost(X, y, depth, objective)
    found = evolve(
        rank_samples(X, y, 3),
        depth=depth,
        objective=objective,
        evolution=Evolution(100, 200),
        warm_starts=[],
    )
    assert found.cost == optimum
