"""MH-DEOCT: one split at a time, each with a stream and warm starts of its own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horizontree.backends import CPUBackend
from horizontree.encoding import rank_samples
from horizontree.objective import Objective
from horizontree.search import moving_horizon
from horizontree.search.cart import grow_cart
from horizontree.search.differential_evolution import Evolution, evolve_tree
from horizontree.search.moving_horizon import WARM_STARTS, MovingHorizon
from horizontree.search.random_draws import stream_of
from horizontree.search.splits import Split
from problems import make_samples, small_data

SHORT = Evolution(population_size=10, generations=8)


def make_search(max_depth: int = 4, horizon: int = 2, n_threads: int = 1, **changes):
    options = {
        "backend": CPUBackend(n_threads),
        "one_thread_backend": CPUBackend(1),
        "max_depth": max_depth,
        "horizon": horizon,
        "objective": Objective(),
        "evolution": SHORT,
        "seed": 3,
    }
    return MovingHorizon(**options | changes)


def grow(samples, search=None, **changes) -> Split | None:
    search = search or make_search(**changes)
    return search.grow(samples, search.global_trees(samples))


def depth_of(root: Split | None) -> int:
    return 0 if root is None else 1 + max(depth_of(root.left), depth_of(root.right))


@settings(max_examples=50)
@given(small_data(max_samples=25), st.integers(1, 4), st.integers(1, 4))
def test_with_a_horizon_of_one_it_is_greedy_on_the_errors(data, max_depth, min_samples_leaf):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    greedy = grow_cart(
        samples,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        criterion="misclassification",
    )
    objective = Objective(min_samples_leaf=min_samples_leaf)
    search = make_search(max_depth, 1, objective=objective, warm_starts=())
    assert grow(samples, search) == greedy
    assert search.evolutions == []


def test_the_root_split_is_that_of_an_evolution_over_the_horizon():
    samples = make_samples(200, 4, 3)
    search = make_search(max_depth=4, horizon=2)
    trees = search.global_trees(samples)
    root = search.grow(samples, trees)
    ahead = evolve_tree(
        samples,
        CPUBackend(),
        depth=2,
        objective=Objective(),
        evolution=SHORT,
        stream=stream_of(3, 1),
        warm_starts=[*trees.values(), grow_cart(samples, max_depth=2)],
    ).root
    assert (root.feature, root.cut) == (ahead.feature, ahead.cut)
    assert depth_of(root) <= 4


@pytest.fixture
def evolutions(monkeypatch):
    """What each evolution of a search was asked, in order."""
    asked = []

    def spy(samples, backend, **options):
        asked.append(options | {"samples": samples, "backend": backend})
        return evolve_tree(samples, backend, **options)

    monkeypatch.setattr(moving_horizon, "evolve_tree", spy)
    return asked


def test_every_node_has_a_stream_of_its_own(evolutions):
    grow(make_samples(300, 4, 3), max_depth=5)
    streams = [asked["stream"] for asked in evolutions]
    assert len(streams) > 8
    assert len(set(streams)) == len(streams)
    assert set(streams) <= {stream_of(3, path) for path in range(2**5)}


def test_the_horizon_shrinks_towards_the_bottom(evolutions):
    samples = make_samples(300, 4, 3)
    grow(samples, max_depth=4, horizon=3, warm_starts=("local-cart",))
    depth_at = {stream_of(3, t + 1): (t + 1).bit_length() - 1 for t in range(2**4)}
    for asked in evolutions:
        assert asked["depth"] == min(3, 4 - depth_at[asked["stream"]])
    assert {asked["depth"] for asked in evolutions} == {3, 2}


def test_a_node_starts_from_the_subtrees_at_its_place_and_a_tree_of_its_own(evolutions):
    samples = make_samples(300, 4, 3)
    search = make_search(max_depth=4, horizon=2)
    trees = search.global_trees(samples)
    root = search.grow(samples, trees)
    at_root, at_left = (
        next(asked for asked in evolutions if asked["stream"] == stream_of(3, path))
        for path in (1, 2)
    )
    assert at_root["warm_starts"][:2] == [trees["cart"], trees["deoct"]]
    reached = at_left["samples"]
    assert (reached.X[reached.rows, root.feature] <= root.cut).all()
    assert at_left["warm_starts"] == [
        trees["cart"].left,
        trees["deoct"].left,
        grow_cart(reached, max_depth=2),
    ]


@pytest.mark.parametrize("names", [(), *((name,) for name in WARM_STARTS), WARM_STARTS])
def test_only_the_warm_starts_that_are_named_are_used(evolutions, names):
    search = make_search(warm_starts=names)
    samples = make_samples(200, 4, 3)
    trees = search.global_trees(samples)
    assert list(trees) == [name for name in names if name != "local-cart"]
    evolutions.clear()
    search.grow(samples, trees)
    assert evolutions
    assert all(len(asked["warm_starts"]) == len(names) for asked in evolutions)


def test_pure_and_small_nodes_are_not_searched(evolutions):
    grow(make_samples(300, 4, 3), max_depth=5, objective=Objective(min_samples_leaf=30))
    for asked in evolutions:
        assert asked["samples"].n_samples > 30
        assert not asked["samples"].is_pure


def test_a_price_may_leave_the_root_unsplit():
    samples = make_samples(100, 3)
    dear = Objective(split_cost=1000 << 20)
    assert grow(samples, objective=dear) is None


def test_samples_that_are_all_alike_are_a_leaf():
    samples = rank_samples(np.ones((10, 3)), np.arange(10) % 2, 2)
    assert grow(samples) is None


@pytest.mark.parametrize("worth_all_threads", [0, 1000, 10**9])
@pytest.mark.parametrize("n_threads", [2, 3])
def test_however_the_nodes_are_shared_out_the_tree_is_the_same(
    monkeypatch, worth_all_threads, n_threads
):
    samples = make_samples(300, 4, 3)
    expected = grow(samples, max_depth=4)
    monkeypatch.setattr(moving_horizon, "_WORTH_ALL_THREADS", worth_all_threads)
    search = make_search(max_depth=4, n_threads=n_threads)
    with ThreadPoolExecutor(n_threads) as pool:
        assert search.grow(samples, search.global_trees(samples), pool.map) == expected


def test_when_time_runs_out_the_rest_is_what_the_last_search_saw_below():
    samples = make_samples(300, 4, 3)

    class AfterTheRoot:
        """Says stop as soon as the root is decided."""

        def should_stop(self) -> bool:
            return len(search.evolutions) > 0

        def report(self, *news) -> None: ...

    search = make_search(max_depth=4, horizon=3, warm_starts=("local-cart",), watch=AfterTheRoot())
    root = search.grow(samples, {})
    assert len(search.evolutions) == 1
    ahead = evolve_tree(
        samples,
        CPUBackend(),
        depth=3,
        objective=Objective(),
        evolution=SHORT,
        stream=stream_of(3, 1),
        warm_starts=[grow_cart(samples, max_depth=3)],
    )
    assert root == ahead.root
    assert depth_of(root) == 3


def test_the_splits_of_other_trees_are_left_as_they_are():
    samples = make_samples(300, 4, 3)
    search = make_search(max_depth=3, horizon=2)
    trees = search.global_trees(samples)
    before = {name: str(tree) for name, tree in trees.items()}
    search.grow(samples, trees)
    assert {name: str(tree) for name, tree in trees.items()} == before
