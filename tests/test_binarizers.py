"""Binarisers: the cuts of a slow twin, and those that the literature gives for iris."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import (
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
)

from horizontree import CARTClassifier, MDLPBinarizer, ThresholdGuessBinarizer
from problems import make_data, small_data


def entropy(labels):
    shares = [labels.count(k) / len(labels) for k in set(labels)]
    return -sum(share * math.log2(share) for share in shares)


def naive_cuts(values, labels):
    """Cut a feature as Fayyad and Irani say; values between which the cuts are."""
    best = None
    for low, high in zip(sorted(set(values)), sorted(set(values))[1:], strict=False):
        left = [k for v, k in zip(values, labels, strict=True) if v <= low]
        right = [k for v, k in zip(values, labels, strict=True) if v > low]
        mean = (len(left) * entropy(left) + len(right) * entropy(right)) / len(labels)
        if best is None or mean < best[0] - 1e-12:
            best = mean, low, high, left, right
    if best is None:
        return []
    mean, low, high, left, right = best
    n, k = len(labels), len(set(labels))
    delta = math.log2(3**k - 2) - (
        k * entropy(labels) - len(set(left)) * entropy(left) - len(set(right)) * entropy(right)
    )
    if entropy(labels) - mean <= (math.log2(n - 1) + delta) / n + 1e-12:
        return []
    below, above = [v for v in values if v <= low], [v for v in values if v > low]
    return [*naive_cuts(below, left), (low, high), *naive_cuts(above, right)]


@settings(max_examples=100)
@given(small_data(max_samples=60, max_features=1, max_classes=3))
def test_cuts_are_those_of_the_slow_twin(data):
    X, y = data
    found = MDLPBinarizer().fit(X, y).thresholds_
    expected = naive_cuts(X[:, 0].tolist(), y.tolist())
    assert len(found) == len(expected)
    for threshold, (low, high) in zip(found, expected, strict=True):
        assert low <= threshold < high


def test_cuts_of_iris():
    X, y = load_iris(return_X_y=True)
    binarizer = MDLPBinarizer().fit(X, y)
    assert binarizer.features_.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert binarizer.thresholds_.tolist() == pytest.approx(
        [5.55, 6.15, 2.95, 3.35, 2.45, 4.75, 0.8, 1.75]
    )


def test_a_feature_that_says_nothing_has_no_cut():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    assert MDLPBinarizer().fit_transform(X, y).shape == (200, 0)


def test_guesses_are_thresholds_of_the_reference_model():
    X, y = make_data(300, 4, 3, seed=1)
    options = {"n_estimators": 20, "max_depth": 2, "learning_rate": 0.1}
    binarizer = ThresholdGuessBinarizer(**options, random_state=3).fit(X, y)
    ranks = X.argsort(axis=0).argsort(axis=0)
    reference = GradientBoostingClassifier(**options, random_state=3).fit(ranks, y)
    trees = [tree.tree_ for tree in reference.estimators_.ravel()]
    used = {
        (f, (ranks[:, f] <= threshold).sum())
        for tree in trees
        for f, threshold in zip(tree.feature, tree.threshold, strict=True)
        if f >= 0
    }
    pairs = list(zip(binarizer.features_.tolist(), binarizer.thresholds_, strict=True))
    assert pairs == sorted(set(pairs))
    for f, threshold in pairs:
        assert (f, (X[:, f] <= threshold).sum()) in used


def test_the_reference_model_needs_every_question():
    X, y = make_data(300, 4, 2, seed=2)
    binarizer = ThresholdGuessBinarizer(30, random_state=0).fit(X, y)
    assert (binarizer.reference_.feature_importances_ > 0).all()
    answers = binarizer.transform(X)
    assert binarizer.reference_.score(answers, y) > 0.8


@pytest.mark.parametrize("binarizer", [MDLPBinarizer(), ThresholdGuessBinarizer(10)])
def test_questions_have_names_and_answers(binarizer):
    iris = load_iris(as_frame=True)
    binarizer.fit(iris.data, iris.target)
    names = binarizer.get_feature_names_out()
    answers = binarizer.transform(iris.data)
    assert answers.dtype == bool
    assert answers.shape == (150, len(names))
    for name, column in zip(names, answers.T, strict=True):
        feature, threshold = name.split(" <= ")
        assert np.array_equal(column, iris.data[feature] <= float(threshold))


@pytest.mark.parametrize("binarizer", [MDLPBinarizer(), ThresholdGuessBinarizer(10)])
def test_names_are_checked_as_scikit_learn_does(binarizer):
    name = type(binarizer).__name__
    check_transformer_get_feature_names_out(name, binarizer)
    check_transformer_get_feature_names_out_pandas(name, binarizer)
    binarizer.fit(*load_iris(return_X_y=True))
    assert binarizer.get_feature_names_out(list("abcd"))[0][0] in "abcd"


def test_a_pipeline_may_begin_with_it():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(ThresholdGuessBinarizer(10, random_state=0), CARTClassifier(3))
    assert model.fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize(
    ("options", "name"),
    [({"n_estimators": 0}, "n_estimators"), ({"max_depth": 0}, "max_depth"),
     ({"learning_rate": 0}, "learning_rate")],
)  # fmt: skip
def test_wrong_settings_are_refused(options, name):
    with pytest.raises(ValueError, match=name):
        ThresholdGuessBinarizer(**options).fit(*make_data(20))


def test_a_time_limit_leaves_a_smaller_reference_model():
    X, y = load_iris(return_X_y=True)
    whole = ThresholdGuessBinarizer(random_state=0).fit(X, y)
    hasty = ThresholdGuessBinarizer(time_limit=1e-9, random_state=0).fit(X, y)
    assert not hasty.is_complete_
    assert 1 <= len(hasty.thresholds_) < len(whole.thresholds_)
    unhurried = ThresholdGuessBinarizer(time_limit=600, random_state=0).fit(X, y)
    assert unhurried.is_complete_
    assert np.array_equal(unhurried.thresholds_, whole.thresholds_)
    with pytest.raises(ValueError, match="time_limit"):
        ThresholdGuessBinarizer(time_limit=0).fit(X, y)


def test_very_many_classes_are_no_overflow():
    X = np.repeat(np.arange(700.0), 3)[:, None]
    assert len(MDLPBinarizer().fit(X, X[:, 0].astype(int)).thresholds_) == 699  # all pure


@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e60])
def test_guesses_need_only_the_order_of_the_values(scale):
    X, y = make_data(200, 3, 2, seed=4)
    near = 1.7e9 + np.argsort(np.argsort(X, axis=0), axis=0)  # the same in float32
    expected = ThresholdGuessBinarizer(20, random_state=0).fit_transform(X, y)
    for same in (near, scale * X):
        assert np.array_equal(
            ThresholdGuessBinarizer(20, random_state=0).fit_transform(same, y), expected
        )


def test_questions_that_differ_in_late_digits_have_different_names():
    X = 1.7e15 + np.arange(300.0)[:, None]
    binarizer = MDLPBinarizer().fit(X, np.arange(300) // 100)
    assert binarizer.get_feature_names_out().tolist() == [
        "x0 <= 1700000000000099.5",
        "x0 <= 1700000000000199.5",
    ]
