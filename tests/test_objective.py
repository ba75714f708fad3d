"""The objective: what a proposed tree means and costs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from horizontree.objective import COST_SCALE, LEAF, PASS_LEFT, PASS_RIGHT, SPLIT, Objective

pytestmark = pytest.mark.nojit


def heap(depth: int):
    t = np.arange(2 ** (depth + 1) - 1)
    is_inner = t < 2**depth - 1
    return np.where(is_inner, 2 * t + 1, -1), np.where(is_inner, 2 * t + 2, -1)


@st.composite
def heap_counts(draw: st.DrawFn, depth: int = 3, n_classes: int = 3) -> np.ndarray:
    """Draw the leaves of a complete tree and add up the nodes above them."""
    n_leaves = 2**depth
    count = st.one_of(st.just(0), st.integers(0, 6))
    leaves = [[draw(count) for _ in range(n_classes)] for _ in range(n_leaves)]
    counts = np.zeros((2 * n_leaves - 1, n_classes), dtype=np.int64)
    counts[n_leaves - 1 :] = leaves
    for node in reversed(range(n_leaves - 1)):
        counts[node] = counts[2 * node + 1] + counts[2 * node + 2]
    return counts


objectives = st.builds(
    Objective,
    split_cost=st.sampled_from([0, 1, COST_SCALE // 3, COST_SCALE, 3 * COST_SCALE + 1]),
    min_samples_leaf=st.integers(1, 8),
)


@given(heap_counts(), objectives)
def test_pruning_finds_the_cost_that_the_naive_recursion_finds(counts, objective):
    assert objective.prune(counts, *heap(3))[1] == naive.heap_cost(counts, objective)


@given(heap_counts(), objectives)
def test_the_kinds_of_the_nodes_add_up_to_the_cost_and_keep_the_promises(counts, objective):
    kind, cost = objective.prune(counts, *heap(3))
    n_errors = n_splits = 0
    waiting = [0]
    while waiting:
        node = waiting.pop()
        n_here = counts[node].sum()
        left, right = 2 * node + 1, 2 * node + 2
        if kind[node] == LEAF:
            n_errors += int(n_here - counts[node].max())
            is_everything = n_here == counts[0].sum()
            assert is_everything or n_here >= objective.min_samples_leaf
        elif kind[node] == SPLIT:
            n_splits += 1
            assert counts[left].sum() >= objective.min_samples_leaf
            assert counts[right].sum() >= objective.min_samples_leaf
            waiting += [left, right]
        else:
            assert kind[node] in (PASS_LEFT, PASS_RIGHT)
            there = left if kind[node] == PASS_LEFT else right
            assert counts[there].sum() == n_here
            waiting.append(there)
    assert cost == objective.tree_cost(n_errors, n_splits)


def test_twin_leaves_with_the_same_class_collapse():
    counts = np.array([[5, 1], [3, 0], [2, 1]])
    kind, cost = Objective().prune(counts, np.array([1, -1, -1]), np.array([2, -1, -1]))
    assert (kind[0], cost) == (LEAF, COST_SCALE)


@pytest.mark.parametrize(("split_cost", "expected"), [(2, LEAF), (1.999999, SPLIT)])
def test_a_split_that_only_earns_its_price_is_a_leaf(split_cost, expected):
    counts = np.array([[3, 2], [3, 0], [0, 2]])
    objective = Objective(int(split_cost * COST_SCALE))
    kind, _ = objective.prune(counts, np.array([1, -1, -1]), np.array([2, -1, -1]))
    assert kind[0] == expected


@pytest.mark.parametrize(("min_samples_leaf", "expected"), [(2, SPLIT), (3, LEAF)])
def test_a_split_with_too_small_a_side_is_a_leaf(min_samples_leaf, expected):
    counts = np.array([[3, 2], [3, 0], [0, 2]])
    objective = Objective(0, min_samples_leaf)
    kind, _ = objective.prune(counts, np.array([1, -1, -1]), np.array([2, -1, -1]))
    assert kind[0] == expected


def test_a_split_with_an_empty_side_is_not_there_whatever_the_smallest_leaf():
    # the root sends all left, where a good split waits
    counts = np.array([[2, 2], [2, 2], [0, 0], [2, 0], [0, 2]])
    left, right = np.array([1, 3, -1, -1, -1]), np.array([2, 4, -1, -1, -1])
    kind, cost = Objective(COST_SCALE, 2).prune(counts, left, right)
    assert kind.tolist()[:2] == [PASS_LEFT, SPLIT]
    assert cost == COST_SCALE


@pytest.mark.parametrize(
    ("ccp_alpha", "n_samples", "split_cost"),
    [(0.0, 100, 0), (0.01, 100, COST_SCALE), (0.5, 7, 7 * COST_SCALE // 2), (1e-9, 10, 0)],
)
def test_alpha_counts_errors(ccp_alpha, n_samples, split_cost):
    objective = Objective.from_ccp_alpha(ccp_alpha, 3, n_samples)
    assert (objective.split_cost, objective.min_samples_leaf) == (split_cost, 3)
    assert objective.tree_cost(5, 2) == 5 * COST_SCALE + 2 * split_cost


@given(objectives, st.integers(0, 50), st.integers(0, 65_535), st.integers(0, 3 * COST_SCALE))
def test_errors_come_before_splits_and_bounds_stay_bounds(objective, n_errors, n_splits, slack):
    small = objective.preferring_small_trees()
    cost = small.tree_cost(n_errors, n_splits)
    if objective.split_cost == 0:
        assert cost < small.tree_cost(n_errors + 1, 0)
        assert small.tree_cost(n_errors, n_splits + 1) > cost
    else:
        assert small == objective
    bound = objective.bound_from(max(0, cost - slack))
    assert bound <= objective.tree_cost(n_errors, n_splits)
    assert objective.bound_from(cost) == objective.tree_cost(n_errors, n_splits)
