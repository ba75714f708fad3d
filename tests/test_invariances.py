"""What must not matter: the order of the rows, the scale of a feature, a constant column."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.datasets import load_iris, load_wine

from horizontree import CARTClassifier, HorizonTreeClassifier
from horizontree.tree import Tree
from problems import KINDS, make_data, quick

ARRAYS = ("feature", "left", "right", "class_counts")


def assert_same_structure(ours: Tree, theirs: Tree) -> None:
    """Compare everything except the thresholds."""
    for name in ARRAYS:
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name


def some_data(name: str):
    if name == "iris":
        return load_iris(return_X_y=True)
    if name == "wine":
        return load_wine(return_X_y=True)
    return make_data(150, 4, 3, n_values=12)


DATA = ("iris", "wine", "ties")
TRANSFORMS = {
    "cubes": lambda X: X**3,
    "exponentials": lambda X: np.exp(X / np.abs(X).max(axis=0)),
    "ranks": lambda X: rankdata(X, method="dense", axis=0),
    "float32 ranks": lambda X: rankdata(X, method="dense", axis=0).astype(np.float32),
    "scales": lambda X: X * 10.0 ** np.arange(-4, X.shape[1] - 4),
    "shifts": lambda X: X - np.arange(X.shape[1]),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", DATA)
def test_the_order_of_the_rows_does_not_matter(kind, name):
    X, y = some_data(name)
    expected = quick(kind).fit(X, y).tree_
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        assert quick(kind).fit(X[order], y[order]).tree_ == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_monotone_transform_of_the_features_changes_only_the_thresholds(kind, name, transform):
    X, y = some_data(name)
    moved = transform(X)
    for ours, theirs in zip(X.T, moved.T, strict=True):  # or the test asks too much
        assert len(np.unique(ours)) == len(np.unique(theirs))
    before, after = quick(kind).fit(X, y), quick(kind).fit(moved, y)
    assert_same_structure(after.tree_, before.tree_)
    assert np.array_equal(after.predict(moved), before.predict(X))
    assert after.objective_ == before.objective_
    assert after.n_iter_ == before.n_iter_


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_constant_column_only_renumbers_the_features(kind, place):
    X, y = make_data(150, 4, 3)
    expected = quick(kind).fit(X, y).tree_
    tree = quick(kind).fit(np.insert(X, place, 7.5, axis=1), y).tree_
    renumbered = np.where(tree.feature > place, tree.feature - 1, tree.feature)
    assert place not in tree.feature
    assert np.array_equal(renumbered, expected.feature)
    assert np.array_equal(tree.threshold, expected.threshold, equal_nan=True)
    for name in ("left", "right", "class_counts"):
        assert np.array_equal(getattr(tree, name), getattr(expected, name))


def test_a_copy_of_a_column_after_it_changes_nothing_in_cart():
    X, y = make_data(150, 4, 3)
    expected = quick(CARTClassifier).fit(X, y).tree_
    assert quick(CARTClassifier).fit(np.hstack([X, X]), y).tree_ == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("labels", ["abc", [-7, 0, 1000], [-1.0, 0.0, 3.0], [False, True]])
def test_the_names_of_the_classes_do_not_matter(kind, labels):
    labels = np.array(list(labels))
    X, y = make_data(120, 4, len(labels))
    expected = quick(kind).fit(X, y)
    model = quick(kind).fit(X, labels[y])
    assert model.tree_ == expected.tree_
    assert model.classes_.tolist() == labels.tolist()
    assert np.array_equal(model.predict(X), labels[expected.predict(X)])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not HorizonTreeClassifier])
@pytest.mark.parametrize("name", DATA)
def test_giving_every_row_twice_only_doubles_the_counts(kind, name):
    X, y = some_data(name)
    once, twice = quick(kind).fit(X, y), quick(kind).fit(X.repeat(2, axis=0), y.repeat(2))
    assert np.array_equal(twice.tree_.class_counts, 2 * once.tree_.class_counts)
    assert np.array_equal(twice.tree_.threshold, once.tree_.threshold, equal_nan=True)
    assert np.array_equal(twice.tree_.feature, once.tree_.feature)
    assert twice.objective_ == 2 * once.objective_


@pytest.mark.parametrize("name", DATA)
def test_giving_every_row_twice_doubles_a_proven_optimum(name):
    X, y = some_data(name)  # bins depend on the number of rows, so the tree may be another one
    once = HorizonTreeClassifier(2).fit(X, y)
    twice = HorizonTreeClassifier(2).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert twice.objective_ == 2 * once.objective_
    assert once.status_ == twice.status_ == "optimal"


@pytest.mark.parametrize("kind", KINDS)
def test_the_layout_and_the_width_of_the_numbers_do_not_matter(kind):
    X, y = make_data(120, 4, 3, n_values=30)
    expected = quick(kind).fit(X, y).tree_
    frozen = X.copy()
    frozen.flags.writeable = False
    for same in (
        np.asfortranarray(X),
        X.astype(np.float32),
        X.astype(np.int64),
        X.astype(np.uint8),
        X[::-1][::-1],
        X.tolist(),
        frozen,
    ):
        assert quick(kind).fit(same, y).tree_ == expected


@pytest.mark.parametrize("kind", KINDS)
def test_fitting_leaves_the_data_and_the_parameters_as_they_were(kind):
    X, y = make_data(60)
    copies = X.copy(), y.copy()
    model = quick(kind)
    before = model.get_params()
    model.fit(X, y).predict(X)
    assert np.array_equal(X, copies[0])
    assert np.array_equal(y, copies[1])
    assert model.get_params() == before


@pytest.mark.parametrize("kind", KINDS)
def test_fitting_again_forgets_what_was_before(kind):
    X, y = make_data(60, 4, 3)
    model = quick(kind).fit(X[:, :2], y > 0)
    assert model.fit(X, y).tree_ == quick(kind).fit(X, y).tree_
    assert model.n_features_in_ == 4
    assert model.classes_.tolist() == [0, 1, 2]
