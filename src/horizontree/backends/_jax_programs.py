"""The device programs: counting, evolution and pair histograms as XLA compiles them.

All of them are pure functions of arrays. The nodes of a level of the tree are one batch:

    codes[block, plane, row]       which of the node's distinct values a sample has, byte by byte
    plane_of[node, feature, byte]  where the bytes are, the lowest first
    node_of[block]                 every block of rows belongs to one node
    class_of[block]                and to one class, so that a sum over its rows is a count

A feature has as many planes as its codes have bytes; bytes beyond them are read from a plane of
zeros that all features share. A row past the end of a class has a code that is above every cut:
it never goes left, and only samples that go left are counted (a node's samples are known, those
that go right follow).

A population is ``[node, individual, ...]``; its trees are in heap order. All counts are
integers, and every draw is a function of the stream, the generation, the individual and the
gene, so that the population is the same on every device, over any number of them, and with any
padding. ``search.differential_evolution`` is what these programs must agree with.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax

Array = Any
"""An array of the host, of the devices, or one that is being traced."""

COST_SCALE = 1 << 20
GENE_BITS = 32
SCALE_BITS = 30
GOLDEN = 0x9E3779B97F4A7C15
MIX_1 = 0xBF58476D1CE4E5B9
MIX_2 = 0x94D049BB133111EB

ROWS_AXIS = "rows"
"""The axis of the device mesh over which blocks are shared out."""


_LANES = 64
_BYTE_ROWS = 128
_UNROLLED_DEPTH = 5  # from here on a tree has too many nodes for a mask each


class Plan(NamedTuple):
    """How blocks are counted.

    Parameters
    ----------
    chunk : int
        Blocks that are counted at a time.
    trees : int
        Trees that go through them at a time.
    in_turn : bool
        Whether trees go through a block one after the other, as suits a processor, or all at
        once, as suits an accelerator.
    """

    chunk: int
    trees: int
    in_turn: bool


class Samples(NamedTuple):
    """The samples of the nodes of a level; see the picture at the top."""

    codes: Array  # [block, plane, row]
    plane_of: Array  # [node, feature, byte]
    node_of: Array  # [block]
    class_of: Array  # [block]
    n_chunks: Array  # chunks of blocks that hold samples
    class_counts: Array  # [node, class]


class Coding(NamedTuple):
    """What genes mean at each node."""

    stream: Array  # [node]  uint64
    n_features: Array  # [node]
    n_distinct: Array  # [node, feature]


class Terms(NamedTuple):
    """What is minimised, and how trials are bred."""

    crossover: Array
    split_cost: Array
    min_samples_leaf: Array


class State(NamedTuple):
    """The populations of a level between two generations."""

    generation: Array  # the next one
    genes: Array  # [node, individual, gene]
    feature: Array  # [node, individual, heap]
    cut: Array  # [node, individual, heap]  values that go left; 0 is no split
    cost: Array  # [node, individual]
    left: Array  # [node, class, individual, heap]  samples that go left
    n_evaluations: Array  # [node]
    n_generations: Array  # [node]
    is_over: Array  # [node]


# ---------------------------------------------------------------------------------- counting


def count_left(samples: Samples, feature: Array, cut: Array, plan: Plan) -> Array:
    """Count the samples that go left at every node of every tree (Algorithm 1).

    Returns ``left[node, class, individual, heap]``, summed over all devices.
    """
    n_nodes, n_individuals, n_heap = feature.shape
    n_classes = samples.class_counts.shape[1]
    n_bytes = samples.plane_of.shape[2]
    of_node = jnp.arange(n_nodes)[:, None, None]
    plane = samples.plane_of[of_node, feature]
    cut = (cut[..., None] >> (8 * jnp.arange(n_bytes, dtype=cut.dtype))).astype(jnp.uint8)
    count = _count_in_turn if plan.in_turn else partial(_count_at_once, n_at_once=plan.trees)

    def add(i: Array, total: Array) -> Array:
        first = i * plan.chunk
        codes = lax.dynamic_slice_in_dim(samples.codes, first, plan.chunk)
        node = lax.dynamic_slice_in_dim(samples.node_of, first, plan.chunk)
        label = lax.dynamic_slice_in_dim(samples.class_of, first, plan.chunk)
        return total.at[node, label].add(count(codes, plane[node], cut[node]))

    zero = jnp.zeros((n_nodes, n_classes, n_individuals, n_heap), jnp.int32)
    return lax.psum(lax.fori_loop(0, samples.n_chunks[0], add, zero), ROWS_AXIS)


def _is_below(read: Callable[[Array], Array], plane: Array, cut: Array) -> Array:
    """Tell which rows have a code below a cut; both have their bytes last, the lowest first."""
    is_below = read(plane[..., 0]) < cut[..., 0, None]
    for byte in range(1, plane.shape[-1]):
        rows, here = read(plane[..., byte]), cut[..., byte, None]
        is_below = (rows < here) | ((rows == here) & is_below)
    return is_below


def _count_at_once(codes: Array, plane: Array, cut: Array, n_at_once: int) -> Array:
    """Count, block by block, the rows that go left: ``[block, individual, heap]``.

    Many trees go through all blocks in step.
    """
    trees = jnp.moveaxis(plane, 1, 0), jnp.moveaxis(cut, 1, 0)

    def count(tree: tuple[Array, Array]) -> Array:
        return _count_level_by_level(codes, *tree)

    if n_at_once >= len(trees[0]):
        counts = jax.vmap(count)(trees)
    else:
        counts = lax.map(count, trees, batch_size=n_at_once)
    return jnp.moveaxis(counts, 0, 1)


def _count_level_by_level(codes: Array, plane: Array, cut: Array) -> Array:
    """Count the rows of many blocks, each with a tree of its own: ``[block, heap]``."""
    n_blocks, n_heap, _ = plane.shape

    def read(plane: Array) -> Array:
        return jax.vmap(lambda of_block, at: of_block[at])(codes, plane)

    counts = []
    reach = None
    for level in range(n_heap.bit_length()):
        heap = slice(2**level - 1, 2 ** (level + 1) - 1)
        is_left = _is_below(read, plane[:, heap], cut[:, heap])
        is_right = ~is_left
        if reach is not None:
            is_left &= reach
            is_right &= reach
        counts.append(is_left.sum(-1, dtype=jnp.int32))
        reach = jnp.stack([is_left, is_right], axis=2).reshape(n_blocks, -1, codes.shape[2])
    return jnp.concatenate(counts, axis=1)


def _count_in_turn(codes: Array, plane: Array, cut: Array) -> Array:
    """Do the same a tree at a time, so that its rows are read where they are, byte by byte."""
    is_shallow = plane.shape[2] < 2**_UNROLLED_DEPTH
    count_tree = _count_unrolled if is_shallow else _count_node_by_node

    def of_block(block: tuple[Array, Array, Array]) -> Array:
        return lax.map(lambda tree: count_tree(block[0], *tree), block[1:])

    return lax.map(of_block, (codes, plane, cut))


def _count_unrolled(codes: Array, plane: Array, cut: Array) -> Array:
    """Count the rows of a block that go left at the nodes of a tree, each with its own mask."""
    counts = []
    reach: list[Array | None] = [None]
    for heap in range(len(plane)):
        is_left = _is_below(partial(_plane, codes), plane[heap], cut[heap])
        is_right = ~is_left
        above = reach[heap]
        if above is not None:
            is_left &= above
            is_right &= above
        reach += [is_left, is_right]
        counts.append(_n_true(is_left))
    return jnp.stack(counts)


def _count_node_by_node(codes: Array, plane: Array, cut: Array) -> Array:
    """Do the same for a tree with many nodes: each row knows the one that it is at."""

    def visit(at: Array, split: tuple[Array, Array, Array]) -> tuple[Array, Array]:
        of_split, cut_of_split, heap = split
        is_here = at == heap
        goes_left = _is_below(partial(_plane, codes), of_split, cut_of_split)
        child = 2 * heap + 2 - goes_left.astype(at.dtype)
        return jnp.where(is_here, child, at), _n_true(is_here & goes_left)

    at = jnp.zeros(codes.shape[1], jnp.uint16)
    heap = jnp.arange(len(plane), dtype=at.dtype)
    return lax.scan(visit, at, (plane, cut, heap))[1]


def _plane(codes: Array, at: Array) -> Array:
    """Read a plane of a block where it is."""
    return lax.dynamic_index_in_dim(codes, at, keepdims=False)


def _n_true(is_true: Array) -> Array:
    """Count in bytes first: at most 255 of them are added up before they are widened."""
    n_added = min(_BYTE_ROWS, is_true.shape[0] // _LANES)
    lanes = is_true.astype(jnp.uint8).reshape(-1, n_added, _LANES)
    return lanes.sum(1, dtype=jnp.uint8).sum(dtype=jnp.int32)


def node_counts(left: Array, class_counts: Array) -> Array:
    """Return the samples at every node and leaf: ``[node, individual, heap and leaf, class]``."""
    left = jnp.moveaxis(left, 1, 3)
    level = jnp.broadcast_to(
        class_counts[:, None, None, :], (*left.shape[:2], 1, left.shape[3])
    ).astype(left.dtype)
    levels = [level]
    while level.shape[2] <= left.shape[2]:
        first = level.shape[2] - 1
        goes_left = left[:, :, first : first + level.shape[2]]
        pair = jnp.stack([goes_left, level - goes_left], axis=3)
        level = pair.reshape(*level.shape[:2], -1, level.shape[3])
        levels.append(level)
    return jnp.concatenate(levels, axis=2)


def pruned_cost(left: Array, class_counts: Array, terms: Terms) -> Array:
    """Return the cost of every tree's best pruning (``objective.Objective.prune``)."""
    counts = node_counts(left, class_counts)
    size = counts.sum(-1, dtype=jnp.int64)
    as_leaf = (size - counts.max(-1).astype(jnp.int64)) * COST_SCALE
    last = size.shape[2] // 2
    cost = as_leaf[:, :, last:]
    while last > 0:
        first = (last - 1) // 2
        below = size[:, :, 2 * first + 1 : 2 * last + 1]
        low, high = below[:, :, 0::2], below[:, :, 1::2]
        of_low, of_high = cost[:, :, 0::2], cost[:, :, 1::2]
        leaf = as_leaf[:, :, first:last]
        is_allowed = jnp.minimum(low, high) >= terms.min_samples_leaf
        split = jnp.where(is_allowed, terms.split_cost + of_low + of_high, leaf)
        cost = jnp.where(low == 0, of_high, jnp.where(high == 0, of_low, jnp.minimum(leaf, split)))
        last = first
    return cost[:, :, 0]


# --------------------------------------------------------------------- differential evolution


def draws(stream: Array, counter: Array) -> Array:
    """Return the 64 random bits of each counter (``search.random_draws``)."""
    z = stream + (counter.astype(jnp.uint64) + jnp.uint64(1)) * jnp.uint64(GOLDEN)
    z = (z ^ (z >> jnp.uint64(30))) * jnp.uint64(MIX_1)
    z = (z ^ (z >> jnp.uint64(27))) * jnp.uint64(MIX_2)
    return z ^ (z >> jnp.uint64(31))


def _high_half(bits: Array) -> Array:
    return (bits >> jnp.uint64(32)).astype(jnp.int64)


def _low_half(bits: Array) -> Array:
    return (bits & jnp.uint64(0xFFFFFFFF)).astype(jnp.int64)


def propose(genes: Array, cost: Array, generation: Array, stream: Array, crossover: Array) -> Array:
    """Breed the trials of a generation: best/1/bin (``search.genes.propose``)."""
    n_nodes, n, n_genes = genes.shape
    i = jnp.arange(n)
    counter = ((generation * n + i) * (2 + n_genes // 2))[None, :]
    stream = stream[:, None]
    bits = draws(stream, counter)
    a = (_high_half(bits) * (n - 1)) >> GENE_BITS
    a += a >= i
    b = (_low_half(bits) * (n - 2)) >> GENE_BITS
    b += b >= jnp.minimum(a, i)
    b += b >= jnp.maximum(a, i)
    bits = draws(stream, counter + 1)
    scale = (bits >> jnp.uint64(64 - SCALE_BITS)).astype(jnp.int64)
    forced = (_low_half(bits) * n_genes) >> GENE_BITS
    of_a = jnp.take_along_axis(genes, a[:, :, None], axis=1)
    of_b = jnp.take_along_axis(genes, b[:, :, None], axis=1)
    best = jnp.take_along_axis(genes, jnp.argmin(cost, axis=1)[:, None, None], axis=1)
    step = ((of_a - of_b) * scale[:, :, None]) >> SCALE_BITS
    mutant = (best + step) & ((1 << GENE_BITS) - 1)
    bits = draws(stream[:, :, None], counter[:, :, None] + 2 + jnp.arange(n_genes // 2))
    chance = jnp.stack([_high_half(bits), _low_half(bits)], axis=3).reshape(n_nodes, n, n_genes)
    is_mutated = (chance < crossover) | (jnp.arange(n_genes) == forced[:, :, None])
    return jnp.where(is_mutated, mutant, genes)


def decode(genes: Array, coding: Coding) -> tuple[Array, Array]:
    """Return the feature and the cut of each heap node (``search.genes.GeneCode.decode``).

    No split is a cut of 0, of the first feature.
    """
    n_nodes = genes.shape[0]
    feature = (genes[:, :, 0::2] * (coding.n_features[:, None, None] + 1)) >> GENE_BITS
    at = jnp.maximum(feature - 1, 0)
    n_distinct = coding.n_distinct[jnp.arange(n_nodes)[:, None, None], at]
    cut = (genes[:, :, 1::2] * (n_distinct + 1)) >> GENE_BITS
    cut = jnp.where(feature == 0, 0, cut)
    return jnp.where(cut == 0, 0, at).astype(jnp.int32), cut.astype(jnp.uint32)


def next_generation(
    state: State, samples: Samples, coding: Coding, terms: Terms, plan: Plan
) -> State:
    """Propose a generation, decode it, count it, and select."""
    is_first = state.generation == 0
    trial = propose(state.genes, state.cost, state.generation, coding.stream, terms.crossover)
    trial = jnp.where(is_first, state.genes, trial)
    feature, cut = decode(trial, coding)
    differs = ((feature != state.feature) | (cut != state.cut)).any(axis=2) | is_first
    left = count_left(samples, feature, cut, plan)
    trial_cost = pruned_cost(left, samples.class_counts, terms)
    is_kept = (is_first | (trial_cost <= state.cost)) & ~state.is_over[:, None]

    def select(new: Array, old: Array) -> Array:
        return jnp.where(is_kept[:, :, None], new, old)

    genes = select(trial, state.genes)
    cost = jnp.where(is_kept, trial_cost, state.cost)
    alike = (genes == genes[:, :1]).all(axis=(1, 2)) & ~differs.any(axis=1)
    goes_on = ~state.is_over
    return State(
        generation=state.generation + 1,
        genes=genes,
        feature=select(feature, state.feature),
        cut=select(cut, state.cut),
        cost=cost,
        left=jnp.where(is_kept[:, None, :, None], left, state.left),
        n_evaluations=state.n_evaluations + goes_on * differs.sum(axis=1),
        n_generations=jnp.where(goes_on, state.generation, state.n_generations),
        is_over=state.is_over | alike | (cost.min(axis=1) == 0),
    )


def evolve(
    state: State, samples: Samples, coding: Coding, terms: Terms, end: Array, *, plan: Plan
) -> State:
    """Run generations until ``end``, or until all populations of the level are done."""

    def goes_on(state: State) -> Array:
        return (state.generation < end) & ~state.is_over.all()

    def advance(state: State) -> State:
        return next_generation(state, samples, coding, terms, plan)

    return lax.while_loop(goes_on, advance, state)


def count(samples: Samples, feature: Array, cut: Array, *, plan: Plan) -> Array:
    """Count every node and leaf of every tree."""
    return node_counts(count_left(samples, feature, cut, plan), samples.class_counts)


# ------------------------------------------------------------------------------- depth two


class Binned(NamedTuple):
    """Samples with each feature cut into bins."""

    codes: Array  # [row, feature]  the bin
    label: Array  # [row]  the class; -1 for a row that only pads
    n_blocks: Array  # blocks of rows that hold samples
    n_bins: Array  # [feature]
    is_open: Array  # [feature, bin]  holds more than one value


def scan_pairs(
    binned: Binned, min_samples_leaf: Array, *, n_classes: int, rows: int, features: int, dtype: Any
) -> Array:
    """Find what the sides of every root achieve and may hope for, for all pairs of features.

    ``rows`` rows are counted at a time, for ``features`` features as roots at a time. Returns
    ``found[f, g, kind, side, b]`` as ``search._pair_kernels.scan_pairs`` fills it.
    """
    n_features = binned.codes.shape[1]

    def some(first: Array) -> Array:
        below = _count_pairs(binned, first, n_classes, rows, features, dtype)
        below = jnp.moveaxis(lax.psum(below, ROWS_AXIS), 1, 0)

        def one(i: Array) -> Array:
            return _read_pairs(below[i], first + i, binned, min_samples_leaf)

        return lax.map(one, jnp.arange(features))

    found = lax.map(some, jnp.arange(0, n_features, features))
    return found.reshape(n_features, *found.shape[2:])


def _count_pairs(
    binned: Binned, first: Array, n_classes: int, rows: int, features: int, dtype: Any
) -> Array:
    """Count the samples in bins up to ``b`` of a root and up to ``c`` of another feature.

    With 0/1 matrices "the bin is at most b", that is one matrix product for each class. It is
    exact: in integers (``dtype`` int8), or in floats that hold any number of ``rows`` rows.
    Returns ``below[class, root, b, g, c]`` of the roots from ``first`` on.
    """
    n_features, most = binned.is_open.shape
    edges = jnp.arange(most, dtype=binned.codes.dtype)
    exact = jnp.int32 if dtype == jnp.int8 else dtype

    def add(i: Array, total: Array) -> Array:
        codes = lax.dynamic_slice_in_dim(binned.codes, i * rows, rows)
        label = lax.dynamic_slice_in_dim(binned.label, i * rows, rows)
        roots = lax.dynamic_slice_in_dim(codes, first, features, axis=1)
        every = (codes[:, :, None] <= edges).reshape(rows, -1).astype(dtype)
        root = (roots[:, :, None] <= edges).reshape(rows, -1)

        def of_class(k: Array) -> Array:
            root_k = (root & (label == k)[:, None]).astype(dtype)
            contract_rows = (((0,), (0,)), ((), ()))
            return lax.dot_general(root_k, every, contract_rows, preferred_element_type=exact)

        new = lax.map(of_class, jnp.arange(n_classes))
        return total + new.reshape(total.shape).astype(jnp.int32)

    zero = jnp.zeros((n_classes, features, most, n_features, most), jnp.int32)
    return lax.fori_loop(0, binned.n_blocks[0], add, zero)


def _read_pairs(below: Array, f: Array, binned: Binned, min_samples_leaf: Array) -> Array:
    """Turn the counts of one root, ``below[class, b, g, c]``, into ``found[g, kind, side, b]``.

    Boundary ``b`` of the root is after its bin ``b - 1``; nothing is found beyond its last bin.
    """
    n_bins = binned.n_bins
    n_features, most = binned.is_open.shape
    g = jnp.arange(n_features)
    low = below[:, :, g, n_bins - 1][..., None]  # all samples below the root's boundary
    every = lax.dynamic_index_in_dim(below, n_bins[f] - 1, axis=1)  # all in bins up to c
    total = every[:, :, g, n_bins - 1][..., None]
    leaves = jnp.stack([below, low - below, every - below, total - every - low + below])
    largest, size = leaves.max(axis=1), leaves.sum(axis=1)  # [leaf, b, g, c]
    correct = largest[0::2] + largest[1::2]  # [side, b, g, c]
    is_bin = jnp.arange(most) < n_bins[:, None]
    is_allowed = jnp.minimum(size[0::2], size[1::2]) >= min_samples_leaf
    is_allowed |= min_samples_leaf <= 1
    achieved = jnp.where(is_allowed & is_bin, correct, -1).max(axis=-1)

    def bin_before(counts: Array) -> Array:
        return jnp.pad(counts, ((0, 0), (0, 0), (0, 0), (1, 0)))[..., :-1]

    inside = size[0::2] - bin_before(size[0::2])  # cut inside a bin, all of it is right
    hope = bin_before(largest[0::2]) + largest[1::2] + inside
    # or the bin is on both sides of the cut; above the first bin's lower boundary is everything
    everything = largest[0::2][:, :, g, n_bins - 1][..., None]
    with_bin = jnp.concatenate([everything, largest[1::2][..., :-1]], axis=-1)
    hope = jnp.minimum(hope, largest[0::2] + with_bin)
    hope = jnp.maximum(correct, jnp.where(binned.is_open, hope, 0))
    hope = jnp.where(is_bin, hope, -1).max(axis=-1)
    found = jnp.pad(jnp.stack([achieved, hope]), ((0, 0), (0, 0), (1, 0), (0, 0)))
    # at the ends one side is empty, and the other holds all samples
    boundary = jnp.arange(most + 1)[:, None]
    is_first, is_last = boundary == 0, boundary == n_bins[f]
    all_right = jnp.stack([jnp.full_like(hope[0, 0], -1), hope[0, n_bins[f] - 1]])[:, None]
    lower = jnp.where(is_first, -1, jnp.where(is_last, all_right, found[:, 0]))
    upper = jnp.where(is_first, all_right, jnp.where(is_last, -1, found[:, 1]))
    found = jnp.where(boundary > n_bins[f], -1, jnp.stack([lower, upper], axis=1))
    return jnp.moveaxis(found, 3, 0).astype(jnp.int32)
