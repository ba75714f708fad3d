"""Genes: how a tree is written as fixed-point numbers, and how trials are bred from them.

A complete tree of depth D has ``2**D - 1`` inner nodes in heap order, each with two genes
in ``[0, 1)``, kept as integers in ``[0, 2**32)``:

    gene 2t      feature:    floor(gene * (P + 1)); 0 is "no split, all samples go right"
    gene 2t + 1  candidate:  floor(gene * (n_distinct + 1)); the k lowest values go left

Integers make the round trip exact, let every machine compute the same trial, and turn the
repair of a mutant that left ``[0, 1)`` into a mask: it comes in again at the other end
(docs/decisions/0003-repair-by-wrapping.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.search.random_draws import draws, high_half, low_half

GENE_BITS = 32
GENE_RANGE = 1 << GENE_BITS
SCALE_BITS = 30
"""Bits of the mutation factor M: a difference of genes times M fits in 64 bits."""

NO_FEATURE = -1

Genes = NDArray[np.int64]


def cell_of(gene: Genes, n_cells: NDArray[np.int64] | int) -> Genes:
    """Return the cell that a gene falls into when ``[0, 1)`` is cut into equal cells."""
    return (gene * n_cells) >> GENE_BITS


def middle_of(cell: int, n_cells: int) -> int:
    """Return the gene in the middle of a cell, the exact inverse of :func:`cell_of`."""
    return ((2 * cell + 1) << (GENE_BITS - 1)) // n_cells


@dataclass(frozen=True, eq=False)
class GeneCode:
    """The genetic code of the samples at one node.

    Parameters
    ----------
    samples : SampleSet
        The samples.
    """

    samples: SampleSet

    @classmethod
    def of(cls, samples: SampleSet) -> GeneCode:
        """Read the code off the samples."""
        return cls(samples)

    @property
    def n_distinct(self) -> NDArray[np.int64]:
        """Distinct values of each feature."""
        return self.samples.n_distinct

    @cached_property
    def starts(self) -> list[NDArray[np.int32]]:
        """The samples left of each candidate, for each feature."""
        return [self.samples.starts(f) for f in range(self.samples.n_features)]

    def decode(self, genes: Genes) -> tuple[Genes, Genes]:
        """Return the trees that genes stand for.

        Parameters
        ----------
        genes : int64 array of shape (n_individuals, 2 * n_nodes)
            The genes.

        Returns
        -------
        feature, n_left : int64 arrays of shape (n_individuals, n_nodes)
            The feature of each node (NO_FEATURE: none) and how many of all samples have a
            value left of the threshold. A threshold below the lowest value is no split.
        """
        feature = cell_of(genes[:, 0::2], len(self.n_distinct) + 1) - 1
        n_left = np.zeros_like(feature)
        for f, starts in enumerate(self.starts):
            is_f = feature == f
            n_left[is_f] = starts[cell_of(genes[:, 1::2][is_f], self.n_distinct[f] + 1)]
        feature[n_left == 0] = NO_FEATURE
        return feature, n_left

    def encode(self, feature: int, candidate: int) -> tuple[int, int]:
        """Return the gene pair in the middle of a split's cells."""
        return (
            middle_of(feature + 1, len(self.n_distinct) + 1),
            middle_of(candidate, int(self.n_distinct[feature]) + 1),
        )

    def no_split(self) -> tuple[int, int]:
        """Return the gene pair in the middle of "no split"."""
        return middle_of(0, len(self.n_distinct) + 1), middle_of(0, 1)


def random_genes(n_individuals: int, n_genes: int, stream: int) -> Genes:
    """Return the random individuals of generation 0."""
    counters = _first_counter(n_individuals, n_genes, 0)[:, None] + 2
    bits = draws(stream, counters + np.arange(n_genes // 2))
    return np.stack([high_half(bits), low_half(bits)], axis=2).reshape(n_individuals, n_genes)


def propose(genes: Genes, best: int, *, generation: int, stream: int, crossover: int) -> Genes:
    """Breed the trials of a generation: best/1/bin.

    mutant = best + M * (a - b), with a, b two other individuals and M in ``[0, 1)`` drawn
    for each mutant; a trial takes each gene from the mutant with probability ``crossover``
    (times ``2**32``), one gene for certain, and the others from its parent.
    """
    n, n_genes = genes.shape
    i = np.arange(n)
    counter = _first_counter(n, n_genes, generation)
    bits = draws(stream, counter)
    a = (high_half(bits) * (n - 1)) >> GENE_BITS
    a += a >= i
    b = (low_half(bits) * (n - 2)) >> GENE_BITS
    b += b >= np.minimum(a, i)
    b += b >= np.maximum(a, i)
    bits = draws(stream, counter + 1)
    scale = (bits >> np.uint64(64 - SCALE_BITS)).astype(np.int64)
    forced = (low_half(bits) * n_genes) >> GENE_BITS
    step = ((genes[a] - genes[b]) * scale[:, None]) >> SCALE_BITS
    mutant = (genes[best] + step) & (GENE_RANGE - 1)
    bits = draws(stream, counter[:, None] + 2 + np.arange(n_genes // 2))
    chance = np.stack([high_half(bits), low_half(bits)], axis=2).reshape(n, n_genes)
    is_mutated = (chance < crossover) | (np.arange(n_genes) == forced[:, None])
    return np.where(is_mutated, mutant, genes)


def _first_counter(n_individuals: int, n_genes: int, generation: int) -> NDArray[np.int64]:
    """Return where the draws of each individual of a generation begin."""
    i = np.arange(n_individuals, dtype=np.int64)
    return (generation * n_individuals + i) * (2 + n_genes // 2)
