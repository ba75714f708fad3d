"""Repair: never dearer, and what it promises of the last levels."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search._repair_kernels import best_division
from horizontree.search.cart import grow_cart
from horizontree.search.repair import cost_of, repair
from horizontree.search.splits import build_tree
from problems import small_data

OBJECTIVES = st.builds(Objective, st.sampled_from([0, COST_SCALE // 2]), st.integers(1, 4))


@given(small_data(), st.integers(1, 5), OBJECTIVES)
def test_the_cost_of_a_tree_is_that_of_the_finished_tree(data, depth, objective):
    X, y = data
    n_classes = int(y.max()) + 1
    samples = rank_samples(X, y, n_classes)
    root = grow_cart(samples, max_depth=depth)
    tree = build_tree(root, X, y, n_classes, objective)
    assert cost_of(root, samples, objective) == objective.tree_cost(tree.n_errors, tree.n_splits)


@given(small_data(max_samples=20, max_features=3), st.integers(1, 4), OBJECTIVES)
@settings(max_examples=80)
def test_repair_never_makes_a_tree_dearer_and_ends_exact(data, depth, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    before = grow_cart(samples, max_depth=depth)
    cost, after = repair(before, samples, depth, objective)
    assert cost == cost_of(after, samples, objective) <= cost_of(before, samples, objective)
    if depth <= 2:
        assert cost == naive.optimal_cost(X, y, depth, objective)


@given(small_data(max_samples=12, max_features=3), st.integers(1, 4), st.integers(0, 99))
def test_the_best_division_is_that_of_trying_all(data, least, seed):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    gain = np.random.default_rng(seed).integers(-1, 2, samples.n_samples)
    totals = {
        (f, j): int(gain[samples.order[f, :j] & 0x7FFFFFFF].sum())
        for f in range(samples.n_features)
        for j in samples.starts(f)[1:-1].tolist()
        if least <= j <= samples.n_samples - least
    }
    total, feature, n_left = best_division(samples.order, gain, least)
    if not totals:
        assert feature == -1
    else:
        best = max(totals.values())
        assert total == best
        assert (feature, n_left) == min(place for place in totals if totals[place] == best)
