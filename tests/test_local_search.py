"""Local search: every change is the one that trying them all finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horizontree import CARTClassifier, LSOCTClassifier
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search import _local_search_kernels as kernels
from horizontree.search.cart import grow_cart
from horizontree.search.local_search import LocalSearch
from horizontree.search.random_draws import draws, stream_of
from horizontree.search.repair import cost_of
from horizontree.search.splits import Split
from naive import best_change
from problems import make_data, make_samples, small_data

OBJECTIVES = [Objective(), Objective(COST_SCALE // 3), Objective(0, 3), Objective(2**21, 2)]


def naive_search(tree, X, y, depth, objective, stream):
    """Do what `LocalSearch.improve` does, with whole trees and all changes tried."""
    n_nodes = 2 ** (depth + 1) - 1
    n_sweeps, is_better = 0, True
    while is_better:
        n_sweeps, is_better = n_sweeps + 1, False
        for node in np.argsort(draws(stream_of(stream, n_sweeps), np.arange(n_nodes))):
            path = bin(node + 1)[3:]  # from the root, 0 is left
            changed = change_at(path, tree, X, y, depth, objective)
            is_better |= changed is not tree
            tree = changed
    return tree, n_sweeps


def change_at(path, tree, X, y, depth, objective):
    """Make the best change of the node that a path leads to; the tree itself when there is none."""
    if not path:
        return best_change(tree, X, y, depth, objective)
    if tree is None:
        return None
    goes_left = X[:, tree.feature] <= tree.cut
    here = goes_left if path[0] == "0" else ~goes_left
    child = tree.left if path[0] == "0" else tree.right
    changed = change_at(path[1:], child, X[here], y[here], depth - 1, objective)
    if changed is child:
        return tree
    sides = (changed, tree.right) if path[0] == "0" else (tree.left, changed)
    return Split(tree.feature, tree.cut, *sides)


def as_tuple(tree):
    if tree is None:
        return None
    return (tree.feature, tree.cut, as_tuple(tree.left), as_tuple(tree.right))


@settings(max_examples=150)
@given(small_data(), st.integers(1, 3), st.sampled_from(OBJECTIVES), st.integers(0, 99))
def test_every_change_is_the_best_one(data, depth, objective, stream):
    X, y = data
    samples = rank_samples(X, y, y.max() + 1)
    if len(y) < objective.min_samples_leaf:
        return
    cart = grow_cart(samples, max_depth=depth, min_samples_leaf=objective.min_samples_leaf)
    found = LocalSearch(samples, depth, objective).improve(cart, stream)
    expected, n_sweeps = naive_search(cart, X, y, depth, objective, stream)
    assert as_tuple(found.root) == as_tuple(expected)
    assert found.n_sweeps == n_sweeps


@settings(max_examples=100)
@given(small_data(max_samples=60), st.integers(1, 4), st.sampled_from(OBJECTIVES))
def test_nothing_is_left_to_improve_from_a_random_tree(data, depth, objective):
    X, y = data
    if len(y) < objective.min_samples_leaf:
        return
    samples = rank_samples(X, y, y.max() + 1)
    found = LocalSearch(samples, depth, objective).improve_random(5)
    for node in range(2 ** (depth + 1) - 1):
        tree = change_at(bin(node + 1)[3:], found.root, X, y, depth, objective)
        assert tree is found.root
    assert found.cost == cost_of(found.root, samples, objective)


def as_splits(tree, node=0):
    """Make splits of a finished tree of features that are 0 or 1."""
    if tree.left[node] < 0:
        return None
    below = as_splits(tree, tree.left[node]), as_splits(tree, tree.right[node])
    return Split(int(tree.feature[node]), 0.0, *below)


@settings(max_examples=150)
@given(
    st.integers(0, 10**6), st.integers(8, 40), st.integers(2, 4), st.sampled_from(range(1, 5)),
    st.sampled_from([0.0, 0.02]),
)  # fmt: skip
def test_nothing_is_left_to_improve_in_the_finished_tree(seed, n, depth, smallest, price):
    generator = np.random.default_rng(seed)
    X = generator.integers(0, 2, (n, 5)).astype(float)
    y = np.append([0, 1], generator.integers(0, 2, n - 2))
    model = LSOCTClassifier(
        depth, min_samples_leaf=smallest, ccp_alpha=price, n_starts=1, random_state=seed
    ).fit(X, y)
    objective = Objective.from_ccp_alpha(price, smallest, n)
    root = as_splits(model.tree_)
    for node in range(2 ** (depth + 1) - 1):
        assert change_at(bin(node + 1)[3:], root, X, y, depth, objective) is root


@pytest.mark.parametrize("always_sorts", [True, False])
def test_sorting_and_filtering_are_the_same(always_sorts):
    samples = make_samples(500, 4, 3, n_values=20)
    members = np.flatnonzero(np.arange(500) % 3 == 0).astype(np.int32)
    is_member = np.zeros(500, dtype=np.bool_)
    is_member[members] = True
    code = samples.codes()
    line, keys = np.empty(501, dtype=np.uint32), np.empty(500, dtype=np.int64)
    order = samples.order if not always_sorts else np.tile(samples.order, (1, 100))
    for f in range(4):
        kernels._in_order(order, f, code, members, is_member, keys, line)
        sample = line[: len(members)] & kernels.SAMPLE
        values = code[sample, f]
        assert sorted(sample.tolist()) == members.tolist()
        assert (np.diff(values) >= 0).all()
        is_tied = (line[: len(members)] & kernels.TIED) != 0
        assert not is_tied[0]
        assert np.array_equal(is_tied[1:], np.diff(values) == 0)


def test_the_first_start_is_cart_and_the_result_is_never_worse():
    for seed in range(8):
        X, y = make_data(300, 4, 3, seed=seed)
        cart = CARTClassifier(3).fit(X, y).n_errors_
        one = LSOCTClassifier(3, n_starts=1, random_state=seed).fit(X, y).n_errors_
        many = LSOCTClassifier(3, n_starts=20, random_state=seed).fit(X, y).n_errors_
        assert many <= one <= cart


def test_many_classes_flip_majorities():
    X, y = make_data(400, 3, 9, seed=3)
    objective = Objective(0, 4)
    samples = rank_samples(X, y, 9)
    cart = grow_cart(samples, max_depth=3, min_samples_leaf=4)
    found = LocalSearch(samples, 3, objective).improve(cart, 1)
    expected, _ = naive_search(cart, X, y, 3, objective, 1)
    assert as_tuple(found.root) == as_tuple(expected)
