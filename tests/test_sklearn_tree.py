"""``to_sklearn`` gives a genuine scikit-learn tree that agrees in everything."""

from __future__ import annotations

import pickle

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.inspection import permutation_importance
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text
from sklearn.utils.validation import check_is_fitted

from horizontree import CARTClassifier, HorizonTreeClassifier
from problems import KINDS, make_data, quick, small_data

LOADERS = (load_iris, load_wine, load_breast_cancer)


def assert_agrees(model, X) -> DecisionTreeClassifier:
    """Compare all that both kinds of tree can say about ``X``."""
    theirs = model.to_sklearn()
    assert type(theirs) is DecisionTreeClassifier
    assert np.array_equal(theirs.predict(X), model.predict(X))
    assert np.array_equal(theirs.apply(X), model.apply(X))
    assert np.array_equal(theirs.predict_proba(X), model.predict_proba(X))
    paths = model.decision_path(X)
    assert paths.shape == theirs.decision_path(X).shape
    assert (paths != theirs.decision_path(X)).nnz == 0
    assert theirs.get_depth() == model.get_depth()
    assert theirs.get_n_leaves() == model.get_n_leaves()
    np.testing.assert_allclose(
        theirs.feature_importances_, model.feature_importances_, rtol=1e-12, atol=1e-15
    )
    return theirs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("load", LOADERS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_scikit_learn_tree_agrees_in_everything(kind, load, dtype):
    X, y = load(return_X_y=True)
    X = X.astype(dtype)
    assert_agrees(quick(kind, max_depth=4).fit(X, y), X)


@given(st.integers(0, 2**32 - 1), st.integers(-20, 20))
@settings(max_examples=40)
def test_rounding_to_float32_changes_no_training_sample(seed, exponent):
    """Plain float64 data that float32 cannot hold, at any scale."""
    X, y = make_data(80, 2, 3, seed=seed)
    for kind in (CARTClassifier, HorizonTreeClassifier):
        assert_agrees(quick(kind, max_depth=6).fit(X * 10.0**exponent, y), X * 10.0**exponent)


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3]))
@settings(max_examples=40)
def test_decimal_values_at_a_threshold_go_the_same_way(seed, n_digits):
    """New rows often lie on a threshold, the middle of two values with one digit less."""
    X, y = make_data(60, 1, 2, seed=seed)
    model = CARTClassifier(max_depth=5).fit(np.round(X, n_digits), y)
    assert_agrees(model, model.tree_.threshold[~model.tree_.is_leaf][:, None])


@given(small_data())
@settings(max_examples=40)
def test_the_scikit_learn_tree_agrees_on_anything_small(data):
    X, y = data
    assert_agrees(CARTClassifier(max_depth=None).fit(X, y), X)


@pytest.mark.parametrize("kind", KINDS)
def test_a_single_leaf_is_a_tree_as_well(kind):
    X, y = make_data(30)
    theirs = assert_agrees(quick(kind, min_samples_leaf=30).fit(X, y), X)
    assert theirs.tree_.node_count == 1
    assert export_text(theirs).startswith("|--- class: ")


@pytest.mark.parametrize("kind", KINDS)
def test_the_tools_of_scikit_learn_work_on_it(kind):
    X, y = load_iris(return_X_y=True)
    model = quick(kind).fit(X, np.array(["setosa", "versicolor", "virginica"])[y])
    theirs = model.to_sklearn()
    check_is_fitted(theirs)
    text = export_text(theirs, feature_names=["a", "b", "c", "d"])
    assert text.count("class: ") == model.get_n_leaves()
    assert all(f"class: {name}" in text for name in set(model.predict(X)))
    assert export_graphviz(theirs).count("->") == model.tree_.n_nodes - 1
    assert np.array_equal(pickle.loads(pickle.dumps(theirs)).predict(X), model.predict(X))
    importance = permutation_importance(theirs, X, theirs.predict(X), n_repeats=2, random_state=0)
    used = set(model.tree_.feature[~model.tree_.is_leaf].tolist())
    assert set(np.flatnonzero(importance.importances_mean > 0)) <= used
    assert clone(theirs).fit(X, y).get_depth() <= theirs.max_depth


def test_the_names_of_the_features_go_along():
    X, y = make_data(40)
    frame = pandas.DataFrame(X, columns=["age", "dose", "time"])
    theirs = CARTClassifier(max_depth=2).fit(frame, y).to_sklearn()
    assert theirs.feature_names_in_.tolist() == ["age", "dose", "time"]
    with pytest.raises(ValueError, match="feature names"):
        theirs.predict(frame.rename(columns={"age": "weight"}))


def test_changing_the_scikit_learn_tree_does_not_change_ours():
    X, y = make_data(60)
    model = CARTClassifier(max_depth=3).fit(X, y)
    expected = model.predict(X)
    theirs = model.to_sklearn()
    theirs.tree_.threshold[:] = 1e9
    theirs.tree_.value[:] = 0
    theirs.classes_[:] = 7
    assert np.array_equal(model.predict(X), expected)


def test_importances_are_shares_of_the_features_that_are_used():
    X, y = make_data(200, 5, 3)
    model = CARTClassifier(max_depth=3).fit(X, y)
    importances = model.feature_importances_
    used = set(model.tree_.feature[~model.tree_.is_leaf].tolist())
    assert importances.sum() == pytest.approx(1)
    assert set(np.flatnonzero(importances)) == used
    leaf = CARTClassifier(min_samples_leaf=200).fit(X, y)
    assert leaf.feature_importances_.tolist() == [0] * 5
