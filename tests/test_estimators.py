"""The classifiers as scikit-learn users meet them: frames, pipelines, copies."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pandas
import polars
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from horizontree import (
    DEOCTClassifier,
    HorizonTreeClassifier,
    MHDEOCTClassifier,
    QuantBnBClassifier,
    RSOCTClassifier,
)
from problems import KINDS, make_data, quick

pytestmark = pytest.mark.parametrize("kind", KINDS)

NAMES = ["age", "dose", "time"]
FRAMES = {
    "pandas": lambda X, names=NAMES: pandas.DataFrame(X, columns=names),
    "polars": lambda X, names=NAMES: polars.DataFrame(X, schema=names),
}


def test_probabilities_are_shares_of_the_leaf_and_agree_with_the_prediction(kind):
    X, y = make_data(200, 4, 3)
    model = quick(kind).fit(X, y)
    shares = model.predict_proba(X)
    assert shares.shape == (200, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-15)
    assert np.array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))
    for leaf in np.unique(model.apply(X)):
        here = model.apply(X) == leaf
        expected = np.bincount(y[here], minlength=3) / here.sum()
        assert (shares[here] == expected).all()


def test_the_path_of_a_sample_leads_from_the_root_to_its_leaf(kind):
    X, y = make_data(100, 4, 3)
    model = quick(kind, max_depth=4).fit(X, y)
    tree, leaves = model.tree_, model.apply(X)
    assert tree.is_leaf[leaves].all()
    for row, leaf in enumerate(leaves):
        path = model.decision_path(X)[row].indices.tolist()
        assert (path[0], path[-1]) == (0, leaf)
        for node, child in pairwise(path):
            goes_left = X[row, tree.feature[node]] <= tree.threshold[node]
            assert child == (tree.left[node] if goes_left else tree.right[node])


def test_the_score_is_the_share_of_right_predictions(kind):
    X, y = make_data(200, 4, 3)
    model = quick(kind).fit(X, y)
    assert model.score(X, y) == (200 - model.n_errors_) / 200
    assert is_classifier(model)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_frame_gives_the_names_of_the_features(kind, frame):
    X, y = make_data(80)
    model = quick(kind).fit(frame(X), y)
    assert model.feature_names_in_.tolist() == NAMES
    assert model.tree_ == quick(kind).fit(X, y).tree_
    assert np.array_equal(model.predict(frame(X)), quick(kind).fit(X, y).predict(X))
    first = NAMES[model.tree_.feature[0]]
    assert model.to_text().startswith(f"{first} <= ")


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_wrong_names_are_refused(kind, frame):
    X, y = make_data(80)
    model = quick(kind).fit(frame(X), y)
    with pytest.raises(ValueError, match="weight"):
        model.predict(frame(X, ["weight", "dose", "time"]))
    with pytest.raises(ValueError, match="same order"):
        model.predict(frame(X, NAMES[::-1]))
    with pytest.warns(UserWarning, match="valid feature names"):
        model.predict(X)


def test_a_matrix_has_no_names(kind):
    X, y = make_data(80)
    model = quick(kind).fit(FRAMES["pandas"](X), y).fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert model.to_text().startswith("x[")


def test_a_frame_of_mixed_numbers_and_a_series_of_labels_are_accepted(kind):
    frame = pandas.DataFrame(
        {
            "flag": [True, False] * 10,
            "small": np.arange(20, dtype=np.int8),
            "nullable": pandas.array(range(20), dtype="Int64"),
            "single": np.linspace(0, 1, 20, dtype=np.float32),
        }
    )
    labels = pandas.Series(["no", "yes"] * 10, index=range(100, 120), dtype="category")
    model = quick(kind).fit(frame, labels)
    assert model.n_errors_ == 0
    assert model.predict(frame).tolist() == labels.tolist()


def test_a_clone_has_the_parameters_and_nothing_else(kind):
    model = quick(kind, max_depth=2, min_samples_leaf=3).fit(*make_data(60))
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not [name for name in vars(copy) if name.endswith("_")]
    assert copy.fit(*make_data(60)).tree_ == model.tree_


def test_the_constructor_only_stores(kind):
    strange = {name: object() for name in kind().get_params()}
    stored = kind(**strange).get_params(deep=False)
    assert all(stored[name] is strange[name] for name in strange)


def test_a_pickled_model_predicts_the_same(kind):
    X, y = make_data(80, 3, 3)
    model = quick(kind).fit(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert copy.tree_ == model.tree_
    assert np.array_equal(copy.predict_proba(X), model.predict_proba(X))


def test_a_model_keeps_nothing_of_the_training_data(kind):
    sizes = []
    for n_samples in (100, 10_000):
        X, y = make_data(n_samples)
        sizes.append(len(pickle.dumps(quick(kind, max_depth=1, random_state=0).fit(X, y))))
    assert abs(sizes[0] - sizes[1]) < 100


def test_a_grid_search_finds_the_depth(kind):
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(quick(kind), {"max_depth": [1, 3], "ccp_alpha": [0.0, 0.4]}, cv=3)
    search.fit(X, y)
    assert search.best_params_ == {"max_depth": 3, "ccp_alpha": 0.0}
    assert search.best_score_ > 0.85


def test_a_pipeline_predicts_as_its_last_step_does(kind):
    X, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), quick(kind)).fit(X, y)
    scaled = pipeline[0].transform(X)
    assert np.array_equal(pipeline.predict(X), pipeline[-1].predict(scaled))
    assert pipeline[-1].n_errors_ == (pipeline.predict(X) != y).sum()


def test_cross_validation_learns_something(kind):
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(quick(kind), X, y, cv=4).min() > 0.8


def test_a_classifier_that_is_not_fitted_says_so(kind):
    X, _ = make_data(10)
    for method in ("predict", "predict_proba", "apply", "decision_path"):
        with pytest.raises(NotFittedError):
            getattr(kind(), method)(X)
    for method in ("get_depth", "get_n_leaves", "to_text", "to_sklearn"):
        with pytest.raises(NotFittedError):
            getattr(kind(), method)()
    with pytest.raises((NotFittedError, AttributeError)):
        kind().feature_importances_  # noqa: B018


def test_the_fitted_attributes_are_those_of_the_contract(kind):
    X, y = make_data(60)
    model = quick(kind).fit(FRAMES["pandas"](X), y)
    expected = {
        "tree_",
        "classes_",
        "n_features_in_",
        "feature_names_in_",
        "objective_",
        "n_errors_",
        "lower_bound_",
        "gap_",
        "status_",
        "fit_time_",
        "n_iter_",
    }
    if kind in (DEOCTClassifier, MHDEOCTClassifier, HorizonTreeClassifier):
        expected.add("backend_")
    assert {name for name in vars(model) if name.endswith("_")} == expected
    for name in expected:
        assert f"{name}" in kind.__doc__
    assert type(model.n_errors_) is int
    assert type(model.n_iter_) is int
    assert isinstance(model.objective_, float)
    assert model.fit_time_ > 0


def test_every_parameter_is_described(kind):
    described = kind.__doc__.split("Attributes")[0]
    for name in kind().get_params():
        assert f"{name} :" in described or f"{name}, " in described or f", {name} :" in described


def test_the_modes_are_those_of_the_paper(kind):
    if kind not in (DEOCTClassifier, MHDEOCTClassifier):
        assert "mode" not in kind().get_params()
        return
    X, y = make_data(40, 2, 2, n_values=3, seed=1)
    options = {"max_depth": 1, "warm_starts": (), "random_state": 0}
    sizes = {}
    for mode in ("normal", "long"):
        evolution = kind(mode=mode, **options)._evolution()
        sizes[mode] = evolution.population_size, evolution.generations
    assert sizes == {"normal": (100, 600), "long": (200, 4000)}
    explicit = kind(population_size=100, generations=600, **options).fit(X, y)
    assert kind(**options).fit(X, y).tree_ == explicit.tree_


def test_the_automatic_horizon_is_the_papers(kind):
    if kind is HorizonTreeClassifier:
        assert kind()._horizon() == 3
        return
    if kind is not MHDEOCTClassifier:
        assert "horizon" not in kind().get_params()
        return
    found = {depth: kind(max_depth=depth)._horizon() for depth in range(1, 9)}
    assert found == {1: 1, 2: 2} | dict.fromkeys(range(3, 9), 3)
    X, y = make_data(150, 4, 3)
    options = {"max_depth": 4, "population_size": 10, "generations": 10, "random_state": 0}
    assert kind(**options).fit(X, y).tree_ == kind(horizon=3, **options).fit(X, y).tree_


def test_the_defaults_are_those_of_the_contract(kind):
    parameters = kind().get_params()
    depth = 2 if kind in (QuantBnBClassifier, RSOCTClassifier) else 4
    expected = {"max_depth": depth, "min_samples_leaf": 1, "ccp_alpha": 0.0, "random_state": None}
    assert parameters.items() >= expected.items()
    if kind is DEOCTClassifier:
        assert parameters["crossover"] == 0.1
