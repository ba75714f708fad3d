"""The bitset kernels count exactly what the reference counts, at every edge."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from horizontree.backends import CPUBackend, ReferenceBackend, cpu
from horizontree.backends import _bitset_kernels as kernels
from horizontree.backends._bitset_kernels import BLOCK_BITS
from horizontree.backends.cpu import CPUCounter, lay_out
from horizontree.encoding import SampleSet, rank_samples
from horizontree.objective import COST_SCALE, Objective
from problems import make_samples, random_trees, small_data

WORD_EDGES = [1, 2, 63, 64, 65, 127, 128, 129]
BLOCK_EDGES = [BLOCK_BITS - 1, BLOCK_BITS, BLOCK_BITS + 1, 2 * BLOCK_BITS + 1]


def assert_counts_are_the_references(samples: SampleSet, depth: int, n_trees: int = 8) -> None:
    feature, n_left = random_trees(samples, depth, n_trees, seed=depth)
    counts = CPUBackend().load(samples, depth).count(feature, n_left)
    expected = ReferenceBackend().load(samples, depth).count(feature, n_left)
    assert counts.dtype == expected.dtype == np.int64
    assert np.array_equal(counts, expected)


def count_naively(samples: SampleSet, feature, n_left) -> list[list[int]]:
    """Route one tree's samples in plain Python."""
    rows_at = [set(samples.rows.tolist())]
    n_nodes = len(feature)
    for t in range(n_nodes):
        goes_left: set[int] = set()
        if feature[t] >= 0:
            for group in naive.groups_in(samples, feature[t]):
                goes_left |= group if len(goes_left) < n_left[t] else set()
        rows_at += [rows_at[t] & goes_left, rows_at[t] - goes_left]
    label_of = dict(zip(samples.rows.tolist(), samples.labels.tolist(), strict=True))
    classes = range(samples.n_classes)
    return [[sum(label_of[row] == c for row in rows) for c in classes] for rows in rows_at]


@pytest.mark.nojit
@given(small_data(max_samples=20), st.integers(1, 3))
def test_the_reference_and_the_kernels_count_what_plain_python_counts(data, depth):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    feature, n_left = random_trees(samples, depth, 3)
    for backend in (ReferenceBackend(), CPUBackend()):
        counts = backend.load(samples, depth).count(feature, n_left)
        for tree in range(3):
            assert counts[tree].tolist() == count_naively(samples, feature[tree], n_left[tree])


@pytest.mark.parametrize("n_samples", WORD_EDGES)
@pytest.mark.parametrize("n_classes", [1, 2, 3, 29])
@pytest.mark.parametrize("n_values", [None, 3])
def test_counts_are_exact_at_the_edges_of_words(n_samples, n_classes, n_values):
    samples = make_samples(n_samples, 3, n_classes, n_values=n_values)
    for depth in (1, 2, 3, 4, 5):
        assert_counts_are_the_references(samples, depth)


@pytest.mark.parametrize("n_in_class", WORD_EDGES)
def test_counts_are_exact_where_a_class_ends_at_the_edge_of_a_word(n_in_class):
    rng = np.random.default_rng(n_in_class)
    y = np.repeat([0, 2, 3], [n_in_class, 64, n_in_class])  # class 1 is absent
    samples = rank_samples(rng.normal(size=(len(y), 3)), y, 5)
    for depth in (1, 2, 3):
        assert_counts_are_the_references(samples, depth)


@pytest.mark.parametrize("n_samples", BLOCK_EDGES)
@pytest.mark.parametrize("n_classes", [1, 2, 29])
def test_counts_are_exact_at_the_edges_of_blocks(n_samples, n_classes):
    samples = make_samples(n_samples, 2, n_classes)
    for depth in (1, 3):
        assert_counts_are_the_references(samples, depth, n_trees=6)


@pytest.mark.parametrize("n_first", [BLOCK_BITS - 1, BLOCK_BITS, BLOCK_BITS + 1])
def test_counts_are_exact_where_a_class_ends_at_the_edge_of_a_block(n_first):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [n_first, 1, 70])
    samples = rank_samples(rng.integers(0, 50, size=(len(y), 2)).astype(float), y, 3)
    assert_counts_are_the_references(samples, 3, n_trees=6)


@pytest.mark.parametrize("depth", [6, 9, 12])
def test_counts_are_exact_in_deep_trees(depth):
    assert_counts_are_the_references(make_samples(300, 4, 3), depth, n_trees=3)


@pytest.mark.parametrize("shift", [0, 1, 3, 6, 7])
@pytest.mark.parametrize("n_samples", [2**k + d for k in (3, 6, 7, 8) for d in (-1, 0, 1)])
def test_every_split_is_found_from_its_nearest_checkpoint(n_samples, shift):
    samples = make_samples(n_samples, 2, 3, seed=n_samples)
    n_left = np.arange(1, n_samples + 1)[:, None]
    counter = CPUCounter(lay_out(samples, shift), 1)
    reference = ReferenceBackend().load(samples, 1)
    for f in range(2):
        feature = np.full_like(n_left, f)
        expected = reference.count(feature, n_left)
        assert np.array_equal(counter.count(feature, n_left), expected)
        assert expected[:, 1].sum(axis=1).tolist() == n_left[:, 0].tolist()


@pytest.mark.nojit
@pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="compiled with one size of blocks")
@pytest.mark.parametrize("block_words", [1, 2, 3])
def test_counts_are_exact_over_many_small_blocks(monkeypatch, block_words):
    for module in (kernels, cpu):
        monkeypatch.setattr(module, "BLOCK_WORDS", block_words)
        monkeypatch.setattr(module, "BLOCK_BITS", 64 * block_words)
    for n_samples in (63, 64, 65, 193):
        for n_classes in (1, 3):
            assert_counts_are_the_references(make_samples(n_samples, 2, n_classes), 3, 2)


def test_counting_again_gives_the_same():
    samples = make_samples(200, 3, 3)
    feature, n_left = random_trees(samples, 4, 5)
    counter = CPUBackend().load(samples, 4)
    first = counter.count(feature, n_left)
    counter.count(*random_trees(samples, 4, 5, seed=9))
    assert np.array_equal(counter.count(feature, n_left), first)


@pytest.mark.nojit
@given(small_data(max_samples=20), st.integers(1, 3), st.integers(1, 6), st.integers(0, 3))
def test_the_kernels_cost_is_the_objectives(data, depth, min_samples_leaf, price):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    objective = Objective(price * COST_SCALE // 2, min_samples_leaf)
    feature, n_left = random_trees(samples, depth, 3, seed=price)
    for counts in ReferenceBackend().load(samples, depth).count(feature, n_left):
        n_total = len(counts)
        t = np.arange(n_total)
        is_inner = t < n_total // 2
        left, right = np.where(is_inner, 2 * t + 1, -1), np.where(is_inner, 2 * t + 2, -1)
        scratch = np.empty((2, n_total), dtype=np.int64)
        cost = kernels._pruned_cost(counts, scratch, objective.split_cost, min_samples_leaf)
        assert cost == objective.prune(counts, left, right)[1]
        assert cost == naive.heap_cost(counts, objective)


@pytest.mark.nojit
@given(st.integers(0, 2**64 - 1))
def test_a_popcount_counts_the_set_bits(word):
    bits = np.array([word], dtype=np.uint64)
    every_bit = np.array([kernels.ONES], dtype=np.uint64)
    assert kernels._count(every_bit, bits) == word.bit_count()
