"""Genes: the round trip is exact, and trials are bred as the paper says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from horizontree.backends import _bitset_kernels as kernels
from horizontree.backends.cpu import lay_out
from horizontree.encoding import rank_samples
from horizontree.search.genes import (
    GENE_RANGE,
    GeneCode,
    cell_of,
    middle_of,
    propose,
    random_genes,
)
from problems import make_samples, small_data

MOST_CELLS = 2**31


@pytest.mark.parametrize("first", range(1, 4097, 512))
def test_every_cell_survives_the_round_trip(first):
    for n_cells in range(first, first + 512):
        cells = np.arange(n_cells, dtype=np.int64)
        genes = np.array([middle_of(cell, n_cells) for cell in range(n_cells)], dtype=np.int64)
        assert np.array_equal(cell_of(genes, n_cells), cells)


def around_powers_of_two() -> list[int]:
    sizes = [2**k + d for k in range(12, 32) for d in (-1, 0, 1)]
    return [size for size in sizes if size <= MOST_CELLS]


@pytest.mark.parametrize("n_cells", [*around_powers_of_two(), 10_000, 999_999, 3**19])
def test_the_cells_at_the_ends_and_in_between_survive_the_round_trip(n_cells):
    some = np.random.default_rng(n_cells).integers(0, n_cells, size=1000)
    for cell in (0, 1, 2, n_cells // 2, n_cells - 2, n_cells - 1, *some.tolist()):
        gene = middle_of(cell, n_cells)
        assert 0 <= gene < GENE_RANGE
        assert cell_of(np.int64(gene), n_cells) == cell


@given(st.integers(1, MOST_CELLS), st.data())
def test_any_cell_survives_the_round_trip(n_cells, data):
    cell = data.draw(st.integers(0, n_cells - 1))
    assert cell_of(np.int64(middle_of(cell, n_cells)), n_cells) == cell


@given(st.integers(1, MOST_CELLS), st.integers(0, GENE_RANGE - 1))
def test_every_gene_falls_into_a_cell(n_cells, gene):
    cell = int(cell_of(np.int64(gene), n_cells))
    assert cell == gene * n_cells // GENE_RANGE
    assert 0 <= cell < n_cells


@pytest.mark.nojit
@given(small_data())
def test_every_candidate_of_every_feature_survives_encoding(data):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    code, blocks = GeneCode.of(samples), lay_out(samples, 7)
    for f in range(samples.n_features):
        for candidate, n_left in enumerate(samples.starts(f)):
            genes = np.array([code.encode(f, candidate)], dtype=np.int64)
            feature, n_found = code.decode(genes)
            expected = (f, n_left) if candidate else (-1, 0)  # below the lowest: no split
            assert (feature[0, 0], n_found[0, 0]) == expected
            assert kernels._decode(blocks, *genes[0]) == expected
    feature, n_left = code.decode(np.array([code.no_split()], dtype=np.int64))
    assert (feature[0, 0], n_left[0, 0]) == (-1, 0)


@pytest.mark.nojit
@given(small_data(), st.integers(0, 2**64 - 1))
def test_numpy_the_kernel_and_plain_integers_decode_alike(data, stream):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    genes = random_genes(5, 6, stream)
    genes[0, :4] = 0, GENE_RANGE - 1, GENE_RANGE - 1, 0  # the ends of the range
    feature, n_left = GeneCode.of(samples).decode(genes)
    blocks = lay_out(samples, 7)
    for i in range(5):
        for t in range(3):
            pair = genes[i, 2 * t : 2 * t + 2]
            expected = naive.split_of(samples, *pair.tolist())
            assert (feature[i, t], n_left[i, t]) == expected
            assert kernels._decode(blocks, *pair) == expected


@pytest.mark.nojit
@given(
    st.integers(4, 9),
    st.integers(1, 3),
    st.sampled_from([0, 1, 2**31, 429496730, 2**32]),
    st.integers(0, 2**64 - 1),
    st.integers(1, 10_000),
)
def test_numpy_the_kernel_and_plain_integers_breed_the_same_trials(
    n, depth, crossover, stream, generation
):
    genes = random_genes(n, 2 * (2**depth - 1), stream ^ 1)
    best = generation % n
    trials = propose(genes, best, generation=generation, stream=stream, crossover=crossover)
    trial = np.empty(genes.shape[1], dtype=np.int64)
    for i in range(n):
        expected = naive.trial(genes.tolist(), i, best, generation, stream, crossover)
        assert trials[i].tolist() == expected
        kernels._propose(genes, i, best, generation, np.uint64(stream), crossover, trial)
        assert trial.tolist() == expected


def test_without_crossover_exactly_one_gene_is_offered_from_the_mutant():
    genes = random_genes(400, 14, 3)
    trials = propose(genes, 0, generation=1, stream=4, crossover=0)
    assert set((trials != genes).sum(axis=1)) <= {0, 1}
    assert (trials != genes).any(axis=0).all()  # any of them, sooner or later


def test_with_full_crossover_every_gene_comes_from_the_mutant():
    genes = random_genes(50, 14, 3)
    best = 7
    trials = propose(genes, best, generation=1, stream=4, crossover=GENE_RANGE)
    for i in range(50):
        assert trials[i].tolist() == naive.trial(genes.tolist(), i, best, 1, 4, GENE_RANGE)
    assert (trials != genes).mean() > 0.99


def test_alike_individuals_breed_nothing_new():
    genes = np.tile(random_genes(1, 6, 0), (8, 1))
    trials = propose(genes, 3, generation=9, stream=1, crossover=GENE_RANGE)
    assert np.array_equal(trials, genes)


def test_a_mutant_beyond_the_range_comes_in_again_at_the_other_end():
    """Clipping would pile the mutants up on the first and the last feature."""
    genes = random_genes(1000, 2, 0)
    genes[0] = GENE_RANGE - 1  # the best sits at the upper end: half of the steps leave it
    trials = propose(genes, 0, generation=1, stream=2, crossover=GENE_RANGE)
    assert ((trials >= 0) & (trials < GENE_RANGE)).all()
    in_tenths = np.bincount(trials[:, 0] * 10 // GENE_RANGE, minlength=10)
    assert abs(in_tenths[:5].sum() - in_tenths[5:].sum()) < 100
    assert len(np.unique(trials[:, 0])) > 990


def test_the_first_genes_spread_over_the_whole_range():
    genes = random_genes(400, 14, 11)
    assert genes.shape == (400, 14)
    assert genes.dtype == np.int64
    counts = np.bincount((genes * 16 // GENE_RANGE).ravel(), minlength=17)
    expected = genes.size / 16
    assert (abs(counts[:16] - expected) < 5 * np.sqrt(expected)).all()
    assert counts[16] == 0


def test_a_sample_set_without_features_decodes_to_no_split():
    samples = make_samples(5, 1, n_values=1)
    assert samples.n_features == 0
    feature, n_left = GeneCode.of(samples).decode(random_genes(4, 6, 0))
    assert (feature == -1).all()
    assert (n_left == 0).all()
