"""The demo and the data set that comes with the package."""

import numpy as np
import pytest

from horizontree import demo
from horizontree.datasets import load_banknote
from horizontree.tree import Tree


@pytest.fixture(scope="module")
def output():
    import contextlib
    import io

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert demo.main() == 0
    return text.getvalue()


def test_the_bundled_data_are_the_published_ones():
    X, y, feature_names, class_names = load_banknote()
    assert X.shape == (1372, 4)
    assert np.bincount(y).tolist() == [762, 610]
    assert X[0].tolist() == [3.6216, 8.6661, -2.8073, -0.44699]
    assert X[-1].tolist() == [-2.5419, -0.65804, 2.6842, 1.1952]
    assert feature_names == ["variance", "skewness", "kurtosis", "entropy"]
    assert class_names == ["genuine", "forged"]


def test_the_demo_shows_the_trees_by_name(output):
    cart = output.index("CART\n----\nvariance <= ")
    moving_horizon = output.index("MH-DEOCT\n--------\n")
    horizon_tree = output.index("HorizonTree\n-----------\n")
    assert cart < moving_horizon < horizon_tree
    trees = output[cart:moving_horizon], output[moving_horizon:horizon_tree], output[horizon_tree:]
    for tree in trees:
        assert "└── no:" in tree
        assert "genuine  (" in tree
        assert "forged  (" in tree


def test_the_demo_fits_a_terminal_of_80_columns(output):
    assert max(map(len, output.splitlines())) <= 80


def test_each_method_makes_no_more_training_errors_than_the_one_before(output):
    rows = [line.split() for line in output.splitlines() if line.endswith(tuple("0123456789"))]
    names = ("CART", "MH-DEOCT", "HorizonTree")
    errors = {row[0]: int(row[1]) for row in rows if row[0] in names}
    assert errors["HorizonTree"] <= errors["MH-DEOCT"] < errors["CART"]


def test_the_demo_says_what_to_type_next(output):
    assert ".venv/bin/horizontree fit YOUR.csv --target COLUMN --output model.json" in output
    assert "HorizonTreeClassifier(max_depth=3).fit(X, y)" in output


def test_the_comparison_computes_accuracies_from_errors():
    leaf = Tree([-1], [np.nan], [-1], [-1], [[3, 1]])
    text = demo.comparison([demo.Trained("CART", leaf, 1, 0, 0.25)], n_train=4, n_test=2)
    row = "1 75.00 % 0 100.00 % 0 0.25"
    assert text.splitlines()[-1].split() == ["CART", *row.split()]
