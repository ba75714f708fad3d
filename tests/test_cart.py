"""CART: the same splits as the recursion that tries everything afresh."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.tree import DecisionTreeClassifier

import naive
from horizontree import CARTClassifier
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search.cart import grow_cart
from horizontree.search.splits import build_tree
from problems import make_data, small_data

WORD_EDGES = [1, 2, 63, 64, 65, 127, 128, 129]
CRITERIA = ("gini", "misclassification")


def both_ways(X, y, n_classes, **options):
    """Grow by the kernel and by the naive recursion."""
    fast = grow_cart(rank_samples(X, y, n_classes), **options)
    return fast, naive.cart(X, y, n_classes, **options)


@pytest.mark.nojit
@given(
    small_data(max_samples=25),
    st.integers(1, 4),
    st.integers(1, 6),
    st.sampled_from(CRITERIA),
)
def test_the_kernel_grows_the_tree_of_the_naive_recursion(
    data, max_depth, min_samples_leaf, criterion
):
    X, y = data
    fast, slow = both_ways(
        X,
        y,
        int(y.max()) + 1,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        criterion=criterion,
    )
    assert fast == slow


@pytest.mark.parametrize("n_samples", WORD_EDGES)
@pytest.mark.parametrize("n_classes", [1, 2, 3, 29])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_kernel_is_right_at_the_edges_of_words(n_samples, n_classes, criterion):
    for n_values in (None, 4):
        X, y = make_data(n_samples, 2, n_classes, n_values=n_values, seed=n_samples)
        fast, slow = both_ways(X, y, n_classes, max_depth=4, criterion=criterion)
        assert fast == slow


@pytest.mark.parametrize("n_classes", [2**k + d for k in (1, 2, 3, 4) for d in (-1, 0, 1)])
def test_the_class_fits_its_bits_of_the_code(n_classes):
    X, y = make_data(60, 3, n_classes, seed=n_classes)
    fast, slow = both_ways(X, y, n_classes, max_depth=5)
    assert fast == slow


def test_classes_of_one_sample_each():
    X, y = np.random.default_rng(0).normal(size=(29, 3)), np.arange(29)
    fast, slow = both_ways(X, y, 29, max_depth=6)
    assert fast == slow


def test_a_class_that_is_absent_changes_nothing():
    X, y = make_data(50, 3, 3)
    assert both_ways(X, y + 2, 9, max_depth=4)[0] == both_ways(X, y, 3, max_depth=4)[1]


@given(small_data(max_samples=20, max_features=2))
def test_without_a_limit_the_tree_grows_until_the_leaves_are_pure_or_alike(data):
    X, y = data
    model = CARTClassifier(max_depth=None).fit(X, y)
    n_unavoidable = 0
    for x in np.unique(X, axis=0):
        labels = y[(x == X).all(axis=1)]
        n_unavoidable += len(labels) - np.bincount(labels).max()
    assert model.n_errors_ == n_unavoidable


@given(small_data(max_samples=16), st.integers(1, 5), st.sampled_from([0.0, 0.05, 0.3]))
def test_a_misclassification_stump_is_the_best_single_split(data, min_samples_leaf, ccp_alpha):
    X, y = data
    model = CARTClassifier(
        max_depth=1,
        criterion="misclassification",
        min_samples_leaf=min_samples_leaf,
        ccp_alpha=ccp_alpha,
    ).fit(X, y)
    objective = Objective.from_ccp_alpha(ccp_alpha, min_samples_leaf, len(y))
    assert model.objective_ == naive.optimal_cost(X, y, 1, objective) / COST_SCALE
    assert (model.status_, model.gap_, model.lower_bound_) == ("optimal", 0.0, model.objective_)


def test_equal_scores_go_to_the_first_feature_and_the_lowest_threshold():
    x = np.array([0.0, 1.0, 2.0, 3.0])
    # cutting off either end scores the same, on both features
    split, _ = both_ways(np.column_stack([x, x[::-1]]), np.array([1, 0, 0, 1]), 2, max_depth=1)
    assert (split.feature, split.cut) == (0, 0.0)


def test_a_greedy_root_that_earns_nothing_is_still_split_for_what_comes_below():
    X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    model = CARTClassifier(max_depth=2).fit(X, [0, 1, 1, 0])
    assert model.n_errors_ == 0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("min_samples_leaf", [1, 20])
def test_the_tree_is_scikit_learns_where_no_two_splits_score_alike(seed, min_samples_leaf):
    X, y = make_data(600, 4, 3, seed=seed)
    X = X.astype(np.float32)
    options = {"max_depth": 3, "min_samples_leaf": min_samples_leaf}
    theirs = DecisionTreeClassifier(random_state=0, **options).fit(X, y).tree_
    root = grow_cart(rank_samples(X, y, 3), **options)
    every_split = Objective(split_cost=-COST_SCALE)  # theirs prunes nothing
    ours = build_tree(root, X, y, 3, every_split)
    assert np.array_equal(ours.left, theirs.children_left)
    assert np.array_equal(ours.feature, np.maximum(theirs.feature, -1))
    n_samples = theirs.n_node_samples[:, None]
    assert np.array_equal(ours.class_counts, (theirs.value[:, 0] * n_samples).round())


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("min_samples_leaf", [1, 7])
def test_the_first_split_is_as_pure_as_scikit_learns(load, min_samples_leaf):
    X, y = load(return_X_y=True)
    options = {"max_depth": 1, "min_samples_leaf": min_samples_leaf}
    theirs = DecisionTreeClassifier(random_state=0, **options).fit(X, y).tree_
    ours = CARTClassifier(**options).fit(X, y).to_sklearn().tree_
    impurities = [t.impurity[1:] @ t.n_node_samples[1:] for t in (ours, theirs)]
    assert impurities[0] == pytest.approx(impurities[1], rel=1e-12)
