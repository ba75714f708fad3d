"""Sorted once, filtered ever after: the orders always are those of the samples at hand."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from horizontree.encoding import SAMPLE, SampleSet, rank_samples, ranking
from horizontree.encoding.ranking import TIED
from problems import make_data, make_samples, small_data

WORD_EDGES = [1, 2, 63, 64, 65, 127, 128, 129]


def assert_sorted_like(samples: SampleSet, X, y, rows) -> None:
    """Compare with the orders that the naive way finds for these rows."""
    rows = sorted(rows, key=lambda row: (y[row], row))
    assert samples.rows.tolist() == rows
    assert samples.labels.tolist() == [y[row] for row in rows]
    assert samples.class_counts.tolist() == [
        sum(y[row] == c for row in rows) for c in range(samples.n_classes)
    ]
    groups = {f: naive.groups_of(X[:, f].tolist(), rows) for f in range(X.shape[1])}
    assert samples.features.tolist() == [f for f in groups if len(groups[f]) > 1]
    for position, column in enumerate(samples.features):
        assert naive.groups_in(samples, position) == groups[column]
        sizes = [len(group) for group in groups[column]]
        assert samples.n_distinct[position] == len(sizes)
        assert samples.starts(position).tolist() == [0, *np.cumsum(sizes)]


@pytest.mark.nojit
@given(small_data())
def test_samples_are_sorted_by_class_and_by_every_feature(data):
    X, y = data
    n_classes = y.max() + 1
    assert_sorted_like(rank_samples(X, y, n_classes), X, y, range(len(y)))


@pytest.mark.nojit
@given(small_data(), st.data())
def test_a_split_leaves_the_orders_of_each_side(data, choices):
    X, y = data
    samples = rank_samples(X, y, y.max() + 1)
    rows = set(range(len(y)))
    while samples.n_features and samples.n_samples > 1:
        feature = choices.draw(st.integers(0, samples.n_features - 1))
        candidate = choices.draw(st.integers(0, int(samples.n_distinct[feature])))
        groups = naive.groups_in(samples, feature)
        left_rows = set().union(*groups[:candidate])
        left, right = samples.split(feature, int(samples.starts(feature)[candidate]))
        assert_sorted_like(left, X, y, left_rows)
        assert_sorted_like(right, X, y, rows - left_rows)
        if candidate in (0, len(groups)):
            break
        goes_left = choices.draw(st.booleans())
        samples, rows = (left, left_rows) if goes_left else (right, rows - left_rows)


@pytest.mark.parametrize("n_samples", WORD_EDGES)
@pytest.mark.parametrize("n_classes", [1, 2, 3, 29])
@pytest.mark.parametrize("n_values", [None, 3])
def test_samples_are_sorted_at_the_edges_of_words(n_samples, n_classes, n_values):
    X, y = make_data(n_samples, 2, n_classes, n_values=n_values)
    assert_sorted_like(rank_samples(X, y, n_classes), X, y, range(n_samples))


@pytest.mark.nojit
@given(small_data())
def test_a_cut_sends_left_what_is_not_above_it(data):
    X, y = data
    samples = rank_samples(X, y, y.max() + 1)
    for f, column in enumerate(samples.features):
        values = np.sort(X[:, column])
        for cut in (values[0] - 1, *values, values[-1] + 1, *(values + 0.5)):
            assert samples.n_left_of_cut(f, cut) == np.count_nonzero(values <= cut)
        assert [samples.value_at(f, j) for j in range(len(y))] == values.tolist()


def test_the_pool_of_the_caller_gives_the_same_orders(monkeypatch):
    monkeypatch.setattr(ranking, "_VALUES_PER_SORT", 100)  # several pieces
    X, y = make_data(70, 5, 3, n_values=9)
    with ThreadPoolExecutor(3) as pool:
        shared = rank_samples(X, y, 3, pool.map)
        parts = shared.split(1, int(shared.starts(1)[4]), pool.map)
    plain = rank_samples(X, y, 3)
    expected = (plain, *plain.split(1, int(plain.starts(1)[4])))
    for ours, theirs in zip((shared, *parts), expected, strict=True):
        assert np.array_equal(ours.rows, theirs.rows)
        assert np.array_equal(ours.features, theirs.features)
        assert np.array_equal(ours.order, theirs.order)


@pytest.mark.parametrize("size", [1, 2, 49, 50, 51, 1000])
def test_the_pieces_cover_every_feature_once(monkeypatch, size):
    monkeypatch.setattr(ranking, "_VALUES_PER_SORT", size)
    X, y = make_data(10, 11)
    assert_sorted_like(rank_samples(X, y, 2), X, y, range(10))


def test_samples_of_one_value_are_in_ascending_order_whatever_the_processor():
    X, y = make_data(1_000, 3, n_values=5, seed=1)
    samples = rank_samples(X, y, 2)
    for f in range(samples.n_features):
        sample, is_tied = samples.order[f] & SAMPLE, (samples.order[f] & TIED) > 0
        assert is_tied.sum() > 900
        assert (sample[1:] > sample[:-1])[is_tied[1:]].all()


def test_zeros_of_either_sign_are_one_value():
    X, y = np.array([[0.0], [-0.0], [1.0], [-0.0]]), np.array([0, 1, 0, 1])
    samples = rank_samples(X, y, 2)
    assert naive.groups_in(samples, 0) == [{0, 1, 3}, {2}]


def test_one_ulp_makes_two_values():
    X, y = np.array([[1.0], [np.nextafter(1.0, 2.0)]]), np.array([0, 1])
    assert rank_samples(X, y, 2).n_distinct.tolist() == [2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_any_layout_of_the_matrix_gives_the_same_orders(dtype, layout):
    X, y = make_data(50, 3, n_values=20)
    expected = rank_samples(X, y, 2).order
    X = X.astype(dtype, order=layout if layout != "strided" else "C")
    if layout == "strided":
        X = np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]
    assert np.array_equal(rank_samples(X, y, 2).order, expected)


def test_purity_is_about_the_classes_that_are_there():
    assert not make_samples(40, n_classes=3).is_pure
    X = np.arange(4.0)[:, None]
    assert rank_samples(X, np.array([2, 2, 2, 2]), 5).is_pure
