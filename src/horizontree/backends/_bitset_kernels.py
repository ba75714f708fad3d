"""The CPU engine: bitsets of splits, counted block by block, and the evolution on top.

Layout
------
Samples are sorted by class and each class is padded to whole 64-bit words; words are cut
into blocks of ``BLOCK_WORDS``, small enough that the bitsets of a tree stay in cache:

    bits[word]   class 0: w0 w1 w2 | class 1: w3 w4 ...     (padding bits are 0)
    blocks       [ w0 .. w511 ][ w512 .. w1023 ] ...

The split "the ``n_left`` samples lowest in feature f go left" is a bitset. A leaf is an
AND of at most ``depth`` of them, its class counts are popcounts over the words of each
class, whatever the number of classes. Only left counts are ever taken: a complemented
bitset also sets padding bits, but an AND with the next split clears them again.

The bitset of any split comes from the nearest checkpoint (the bitsets at every
``2**shift`` samples of a feature's order) by flipping the samples in between:

    order of f:  |----c0----|----c1----|----c2----|      checkpoints
                              ^ n_left: copy c1, flip the samples from c1 to here

Within a block the order is kept as ``entry_rank`` (place in the whole order, ascending)
and ``entry_bit`` (place in the block), so one block is built without touching another.

Cost of one changed node, in a block of 512 words: 4 KB copied, about
``block samples / (4 * checkpoints)`` bits flipped, and 3 words read per word counted.

Threads share the trials of a generation through one atomic counter a generation and meet
at one barrier; a trial touches its own parent only, and genes are double-buffered, so the
result does not depend on who evaluates what.
"""

from typing import NamedTuple

import numpy as np
from numba import config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

BLOCK_WORDS = 512
BLOCK_BITS = BLOCK_WORDS * 64
COST_SCALE = 1 << 20
NO_FEATURE = -1
UNKNOWN = -2
CONTINUE, ENDED, WAITING = 0, 1, 2
SPINS_BEFORE_YIELD = 400_000

SAMPLE = np.uint32((1 << 31) - 1)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
ONES = np.uint64(0xFFFFFFFFFFFFFFFF)

# Kernels neither allocate nor keep arrays, so Numba's reference counts are switched off:
# otherwise each tuple of arrays handed to a helper costs two atomic operations an array.
kernel = njit(nogil=True, cache=True, _nrt=False)

# ---------------------------------------------------------------------------- intrinsics

if config.DISABLE_JIT:

    def popcount(word):
        """Return the number of set bits."""
        return int(word).bit_count()

    def atomic_add(array, index, value):
        """Add to an element and return what it was."""
        old = array[index]
        array[index] += value
        return old

    def atomic_load(array, index):
        """Return an element as other threads last left it."""
        return array[index]

else:

    @intrinsic
    def popcount(typingctx, word):
        """Return the number of set bits."""

        def codegen(context, builder, signature, args):
            return builder.ctpop(args[0])

        return types.uint64(types.uint64), codegen

    def _element(context, builder, signature, args):
        array_type, _ = signature.args[:2]
        array = context.make_array(array_type)(context, builder, args[0])
        return cgutils.get_item_pointer(context, builder, array_type, array, [args[1]])

    @intrinsic
    def atomic_add(typingctx, array, index, value):
        """Add to an element and return what it was."""

        def codegen(context, builder, signature, args):
            pointer = _element(context, builder, signature, args)
            return builder.atomic_rmw("add", pointer, args[2], "seq_cst")

        return types.int64(array, types.intp, types.int64), codegen

    @intrinsic
    def atomic_load(typingctx, array, index):
        """Return an element as other threads last left it."""

        def codegen(context, builder, signature, args):
            pointer = _element(context, builder, signature, args)
            return builder.load_atomic(pointer, "seq_cst", 8)

        return types.int64(array, types.intp), codegen


# ------------------------------------------------------------------------- the data side


class Blocks(NamedTuple):
    """The samples of a node in bit layout; see the picture at the top."""

    n_samples: int
    shift: int  # a checkpoint every 2**shift samples
    class_counts: np.ndarray  # [class]
    n_distinct: np.ndarray  # [feature]
    starts: np.ndarray  # concatenated: samples left of each candidate
    starts_of: np.ndarray  # [feature]  first entry in starts; -1: candidate k has k samples
    first_entry: np.ndarray  # [block + 1]  entries of each block, for every feature alike
    entry_rank: np.ndarray  # [feature, entry]  uint32
    entry_bit: np.ndarray  # [feature, entry]  uint16
    checkpoint_bits: np.ndarray  # [feature, checkpoint, word]
    checkpoint_entry: np.ndarray  # [feature, checkpoint, block]  entries before it
    segment_of: np.ndarray  # [block + 1]  class segments of each block
    segments: np.ndarray  # [segment, 3]  class, first word, end word within the block
    word_class: np.ndarray  # [word]


@kernel
def _copy(source, out):
    for k in range(out.shape[0]):
        out[k] = source[k]


@njit(nogil=True, cache=True)
def fill_blocks(order_f, bit_of, shift, first_entry, rank_f, bit_f, checkpoints_f, entries_f):
    """Lay out one feature: its entries by block, and its checkpoints."""
    n_samples = order_f.shape[0]
    n_blocks = first_entry.shape[0] - 1
    n_checkpoints = checkpoints_f.shape[0]
    bits = np.zeros(checkpoints_f.shape[1], np.uint64)
    fill = first_entry[:n_blocks].copy()
    step = 1 << shift
    for checkpoint in range(n_checkpoints):
        _copy(bits, checkpoints_f[checkpoint])
        for block in range(n_blocks):
            entries_f[checkpoint, block] = fill[block] - first_entry[block]
        first = checkpoint << shift
        for rank in range(first, min(first + step, n_samples)):
            bit = bit_of[order_f[rank] & SAMPLE]
            block = bit // BLOCK_BITS
            rank_f[fill[block]] = rank
            bit_f[fill[block]] = bit - block * BLOCK_BITS
            fill[block] += 1
            bits[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@kernel
def _build_bits(checkpoint, is_above, rank, bit, entry, n_left, out):
    """Copy a checkpoint and flip the entries between it and ``n_left``."""
    _copy(checkpoint, out)
    if is_above:
        while entry > 0 and rank[entry - 1] >= n_left:
            entry -= 1
            b = np.int64(bit[entry])
            out[b >> 6] ^= np.uint64(1) << np.uint64(b & 63)
    else:
        while entry < rank.shape[0] and rank[entry] < n_left:
            b = np.int64(bit[entry])
            out[b >> 6] ^= np.uint64(1) << np.uint64(b & 63)
            entry += 1


@kernel
def _count(mask, bits):
    """Count ``mask & bits``."""
    n = np.uint64(0)
    for w in range(bits.shape[0]):
        n += popcount(mask[w] & bits[w])
    return np.int64(n)


@kernel
def _count_below(mask, parent_bits, flip, bits):
    """Count ``mask & (parent_bits ^ flip) & bits``."""
    n = np.uint64(0)
    for w in range(bits.shape[0]):
        n += popcount(mask[w] & (parent_bits[w] ^ flip) & bits[w])
    return np.int64(n)


@kernel
def _flip(t):
    """Return what a parent's bitset is XORed with on the way to node ``t``."""
    return np.uint64(0) if t & 1 else ONES


@kernel
def _narrow(mask, parent_bits, flip, out):
    """Write ``mask & (parent_bits ^ flip)``."""
    for w in range(out.shape[0]):
        out[w] = mask[w] & (parent_bits[w] ^ flip)


@kernel
def _narrow_and_count(mask, parent_bits, flip, bits, out):
    """Write ``mask & (parent_bits ^ flip)`` and count its part in ``bits``."""
    n = np.uint64(0)
    for w in range(out.shape[0]):
        narrowed = mask[w] & (parent_bits[w] ^ flip)
        out[w] = narrowed
        n += popcount(narrowed & bits[w])
    return np.int64(n)


# -------------------------------------------------------------------------- counting trees

# rows of Bench.node: what is known of each node of the tree at hand, in heap order
FEATURE = 0  # the split; NO_FEATURE: all samples go right
N_LEFT = 1
SLOT = 2  # row of `resident` that holds, or receives, the bitset
SPARE = 3  # row of `resident` that is free
IS_CHANGED = 4  # the bitset is to be built
IS_AFFECTED = 5  # the counts are to be taken
HAS_MASK = 6  # in this block
REACH = 7  # samples that reach the node in this block
N_NODE_ROWS = 8


class Bench(NamedTuple):
    """What one thread works with while it counts one tree."""

    node: np.ndarray  # [row, node]  see above
    left_counts: np.ndarray  # [node, class]  samples that go left: the result
    mask: np.ndarray  # [node, BLOCK_WORDS]  samples that reach the node; [0] is all ones
    bits: np.ndarray  # [node, BLOCK_WORDS]  bitsets, when none are resident
    node_counts: np.ndarray  # [node or leaf, class]
    node_cost: np.ndarray  # [cost and size, node or leaf]
    genes: np.ndarray  # [gene]  the trial


@kernel
def _build(blocks, block, feature, n_left, out):
    """Write the bitset of one split in one block."""
    if feature == NO_FEATURE:
        for w in range(out.shape[0]):
            out[w] = np.uint64(0)
        return
    checkpoint = (n_left + ((1 << blocks.shift) >> 1)) >> blocks.shift
    first_word = block * BLOCK_WORDS
    first = blocks.first_entry[block]
    end = blocks.first_entry[block + 1]
    _build_bits(
        blocks.checkpoint_bits[feature, checkpoint][first_word : first_word + out.shape[0]],
        n_left < (checkpoint << blocks.shift),
        blocks.entry_rank[feature][first:end],
        blocks.entry_bit[feature][first:end],
        np.int64(blocks.checkpoint_entry[feature, checkpoint, block]),
        n_left,
        out,
    )


@kernel
def _count_changed(blocks, bench, resident):
    """Count the affected nodes of a tree whose bitsets are resident (Algorithm 1)."""
    node = bench.node
    n_nodes = node.shape[1]
    n_inner = n_nodes >> 1  # nodes above the last level
    n_words = resident.shape[1]
    for block in range(blocks.first_entry.shape[0] - 1):
        first_word = block * BLOCK_WORDS
        end_word = min(first_word + BLOCK_WORDS, n_words)
        for t in range(1, n_nodes):
            node[HAS_MASK, t] = 0
        for t in range(n_nodes):
            if not node[IS_AFFECTED, t]:
                continue
            bits = resident[node[SLOT, t]][first_word:end_word]
            if node[IS_CHANGED, t]:
                _build(blocks, block, node[FEATURE, t], node[N_LEFT, t], bits)
            parent = max(0, (t - 1) >> 1)
            parent_bits = resident[node[SLOT, parent]][first_word:end_word]
            if parent > 0 and not node[HAS_MASK, parent]:
                _mask_from_root(node, bench.mask, resident, first_word, end_word, parent)
            for s in range(blocks.segment_of[block], blocks.segment_of[block + 1]):
                a = blocks.segments[s, 1]
                z = blocks.segments[s, 2]
                mask = bench.mask[parent][a:z]
                if t == 0:
                    n = _count(mask, bits[a:z])
                elif t < n_inner:
                    node[HAS_MASK, t] = 1
                    own = bench.mask[t][a:z]
                    n = _narrow_and_count(mask, parent_bits[a:z], _flip(t), bits[a:z], own)
                else:
                    n = _count_below(mask, parent_bits[a:z], _flip(t), bits[a:z])
                bench.left_counts[t, blocks.segments[s, 0]] += n


@kernel
def _mask_from_root(node, mask, resident, first_word, end_word, t):
    """Fill the mask of a node from the resident bitsets of its ancestors."""
    out = mask[t][: end_word - first_word]
    node[HAS_MASK, t] = 1
    for w in range(out.shape[0]):
        out[w] = ONES
    while t > 0:
        parent = (t - 1) >> 1
        _narrow(out, resident[node[SLOT, parent]][first_word:end_word], _flip(t), out)
        t = parent


@kernel
def _count_whole(blocks, bench):
    """Count the affected nodes of a tree whose bitsets are not resident.

    A node is affected here also when a node below it is. Bitsets are built only where
    samples arrive, and not at all in the last level: there a checkpoint is counted as it
    is, and the samples between it and the split are added or taken away one by one.
    """
    node = bench.node
    n_nodes = node.shape[1]
    n_inner = n_nodes >> 1
    n_words = blocks.checkpoint_bits.shape[2]
    for block in range(blocks.first_entry.shape[0] - 1):
        width = min(BLOCK_WORDS, n_words - block * BLOCK_WORDS)
        node[REACH, 0] = blocks.first_entry[block + 1] - blocks.first_entry[block]
        for t in range(n_nodes):
            n_below = 0
            is_counted = node[REACH, t] > 0 and node[IS_AFFECTED, t]
            if is_counted and t >= n_inner and t > 0:
                _count_last(blocks, block, bench, t, width)
            elif is_counted:
                _build(blocks, block, node[FEATURE, t], node[N_LEFT, t], bench.bits[t][:width])
                n_below = _count_inner(blocks, block, bench, t)
            if t < n_inner:
                node[REACH, 2 * t + 1] = n_below
                node[REACH, 2 * t + 2] = node[REACH, t] - n_below if is_counted else 0


@kernel
def _count_inner(blocks, block, bench, t):
    """Fill the mask of node ``t`` and add its samples that go left; return their number."""
    parent = max(0, (t - 1) >> 1)
    bits = bench.bits[t]
    n_below = 0
    for s in range(blocks.segment_of[block], blocks.segment_of[block + 1]):
        a = blocks.segments[s, 1]
        z = blocks.segments[s, 2]
        if t == 0:
            n = _count(bench.mask[0][a:z], bits[a:z])
        else:
            n = _narrow_and_count(
                bench.mask[parent][a:z],
                bench.bits[parent][a:z],
                _flip(t),
                bits[a:z],
                bench.mask[t][a:z],
            )
        bench.left_counts[t, blocks.segments[s, 0]] += n
        n_below += n
    return n_below


@kernel
def _count_last(blocks, block, bench, t, width):
    """Add the samples that go left at node ``t`` of the last level."""
    feature = bench.node[FEATURE, t]
    if feature == NO_FEATURE:
        return
    n_left = bench.node[N_LEFT, t]
    counts = bench.left_counts[t]
    parent = (t - 1) >> 1
    mask = bench.mask[parent]
    parent_bits = bench.bits[parent]
    flip = _flip(t)
    checkpoint = (n_left + ((1 << blocks.shift) >> 1)) >> blocks.shift
    first_word = block * BLOCK_WORDS
    bits = blocks.checkpoint_bits[feature, checkpoint][first_word : first_word + width]
    for s in range(blocks.segment_of[block], blocks.segment_of[block + 1]):
        a = blocks.segments[s, 1]
        z = blocks.segments[s, 2]
        n = _count_below(mask[a:z], parent_bits[a:z], flip, bits[a:z])
        counts[blocks.segments[s, 0]] += n
    first = blocks.first_entry[block]
    rank = blocks.entry_rank[feature][first : blocks.first_entry[block + 1]]
    bit = blocks.entry_bit[feature][first : blocks.first_entry[block + 1]]
    word_class = blocks.word_class[first_word : first_word + width]
    entry = np.int64(blocks.checkpoint_entry[feature, checkpoint, block])
    if n_left < checkpoint << blocks.shift:
        while entry > 0 and rank[entry - 1] >= n_left:
            entry -= 1
            b = np.int64(bit[entry])
            w = b >> 6
            here = (mask[w] & (parent_bits[w] ^ flip)) >> np.uint64(b & 63)
            counts[word_class[w]] -= np.int64(here & np.uint64(1))
    else:
        while entry < rank.shape[0] and rank[entry] < n_left:
            b = np.int64(bit[entry])
            w = b >> 6
            here = (mask[w] & (parent_bits[w] ^ flip)) >> np.uint64(b & 63)
            counts[word_class[w]] += np.int64(here & np.uint64(1))
            entry += 1


@kernel
def fill_node_counts(class_counts, left_counts, node_counts):
    """Turn left counts into the counts of every node and leaf of the heap."""
    n_nodes = left_counts.shape[0]
    for c in range(class_counts.shape[0]):
        node_counts[0, c] = class_counts[c]
    for t in range(n_nodes):
        for c in range(class_counts.shape[0]):
            node_counts[2 * t + 1, c] = left_counts[t, c]
            node_counts[2 * t + 2, c] = node_counts[t, c] - left_counts[t, c]


@kernel
def _pruned_cost(node_counts, node_cost, split_cost, min_samples_leaf):
    """Return the cost of a tree's best pruning; see ``objective.Objective.prune``."""
    n_total = node_counts.shape[0]
    n_nodes = n_total >> 1
    size = node_cost[1]
    cost = node_cost[0]
    for t in range(n_total - 1, -1, -1):
        n = 0
        largest = 0
        for c in range(node_counts.shape[1]):
            n += node_counts[t, c]
            largest = max(largest, node_counts[t, c])
        size[t] = n
        value = (n - largest) * COST_SCALE
        if t < n_nodes:
            n_left = size[2 * t + 1]
            n_right = size[2 * t + 2]
            if n_left == 0:
                value = cost[2 * t + 2]
            elif n_right == 0:
                value = cost[2 * t + 1]
            elif min(n_left, n_right) >= min_samples_leaf:
                value = min(value, split_cost + cost[2 * t + 1] + cost[2 * t + 2])
        cost[t] = value
    return cost[0]


@kernel
def count_population(blocks, bench, feature, n_left, node_counts):
    """Fill the class counts of every node and leaf of every tree of a population."""
    for i in range(feature.shape[0]):
        _copy(feature[i], bench.node[FEATURE])
        _copy(n_left[i], bench.node[N_LEFT])
        bench.left_counts[:] = 0
        bench.node[IS_AFFECTED] = 1
        _count_whole(blocks, bench)
        fill_node_counts(blocks.class_counts, bench.left_counts, node_counts[i])


# ------------------------------------------------------------------ differential evolution


class Population(NamedTuple):
    """The individuals; genes and costs twice, for this generation and the next."""

    genes: np.ndarray  # [parity, individual, gene]
    cost: np.ndarray  # [parity, individual]
    feature: np.ndarray  # [individual, node]
    n_left: np.ndarray  # [individual, node]
    left_counts: np.ndarray  # [individual, node, class]
    slot: np.ndarray  # [individual, node]
    resident: np.ndarray  # [slot, word]; no rows when memory is short
    claimed: np.ndarray  # [generation]  individuals handed out to threads
    arrived: np.ndarray  # [generation]  threads at the barrier
    evaluated: np.ndarray  # [generation]  trees counted


class Settings(NamedTuple):
    """What does not change during a run."""

    stream: np.uint64
    crossover: int  # probability times 2**32
    split_cost: int
    min_samples_leaf: int
    n_threads: int


@kernel
def _draw(stream, counter):
    """Return the 64 random bits that belong to a counter (SplitMix64)."""
    z = stream + (np.uint64(counter) + np.uint64(1)) * GOLDEN
    z = (z ^ (z >> np.uint64(30))) * MIX_1
    z = (z ^ (z >> np.uint64(27))) * MIX_2
    return z ^ (z >> np.uint64(31))


@kernel
def _high(bits):
    return np.int64(bits >> np.uint64(32))


@kernel
def _low(bits):
    return np.int64(bits & np.uint64(0xFFFFFFFF))


@kernel
def _propose(genes, i, best, generation, stream, crossover, trial):
    """Write the trial of individual ``i``: best/1/bin (see ``genes.propose``)."""
    n_individuals, n_genes = genes.shape
    counter = (generation * n_individuals + i) * (2 + n_genes // 2)
    bits = _draw(stream, counter)
    a = (_high(bits) * (n_individuals - 1)) >> 32
    a += a >= i
    b = (_low(bits) * (n_individuals - 2)) >> 32
    b += b >= min(a, i)
    b += b >= max(a, i)
    bits = _draw(stream, counter + 1)
    scale = np.int64(bits >> np.uint64(34))
    forced = (_low(bits) * n_genes) >> 32
    for t in range(n_genes // 2):
        bits = _draw(stream, counter + 2 + t)
        for k in range(2):
            gene = 2 * t + k
            value = genes[i, gene]
            if gene == forced or (_low(bits) if k else _high(bits)) < crossover:
                step = ((genes[a, gene] - genes[b, gene]) * scale) >> 30
                value = (genes[best, gene] + step) & 0xFFFFFFFF
            trial[gene] = value


@kernel
def _decode(blocks, feature_gene, threshold_gene):
    """Return the split of a gene pair (see ``genes.decode``)."""
    feature = ((feature_gene * (blocks.n_distinct.shape[0] + 1)) >> 32) - 1
    if feature == NO_FEATURE:
        return feature, np.int64(0)
    n_left = (threshold_gene * (blocks.n_distinct[feature] + 1)) >> 32
    if blocks.starts_of[feature] >= 0:
        n_left = np.int64(blocks.starts[blocks.starts_of[feature] + n_left])
    if n_left == 0:
        return np.int64(NO_FEATURE), np.int64(0)
    return feature, n_left


@kernel
def _best_of(cost):
    """Return the cheapest individual (equal cost: the first)."""
    best = 0
    for i in range(1, cost.shape[0]):
        if cost[i] < cost[best]:
            best = i
    return best


@kernel
def _all_alike(genes):
    for i in range(1, genes.shape[0]):
        for gene in range(genes.shape[1]):
            if genes[i, gene] != genes[0, gene]:
                return False
    return True


@kernel
def _decode_trial(blocks, genes, feature, n_left, node):
    """Put the trial's tree on the bench; return whether it differs from its parent's.

    ``feature`` and ``n_left`` hold the parent's tree.
    """
    is_different = False
    for t in range(feature.shape[0]):
        f, n = _decode(blocks, genes[2 * t], genes[2 * t + 1])
        node[FEATURE, t] = f
        node[N_LEFT, t] = n
        is_changed = f != feature[t] or n != n_left[t]
        is_different |= is_changed
        node[IS_CHANGED, t] = is_changed
        node[IS_AFFECTED, t] = is_changed or (t > 0 and node[IS_AFFECTED, (t - 1) >> 1])
    return is_different


@kernel
def _affect_ancestors(node):
    """Mark the nodes above an affected one: the way to it has to be built."""
    for t in range(node.shape[1] - 1, 0, -1):
        if node[IS_AFFECTED, t]:
            node[IS_AFFECTED, (t - 1) >> 1] = 1


@kernel
def evolve(blocks, bench, population, settings, first, end, is_waiting):
    """Run generations ``first`` to ``end - 1``, this thread's share of them.

    Generation 0 evaluates ``genes[0]`` as it stands (the parents' features must be
    UNKNOWN). The run ends early when the best cost is 0 or all individuals have become
    alike, for then no trial can differ from its parent.

    Returns
    -------
    generation, status
        CONTINUE: the next generation to run. ENDED: the search has ended after
        ``generation`` generations. WAITING: too long at the barrier of ``generation``;
        give up the processor for a moment and call again with ``is_waiting``.
    """
    node, trial_counts, trial = bench.node, bench.left_counts, bench.genes
    genes, cost, feature, n_left, left_counts, slot, resident = population[:7]
    claimed, arrived, evaluated = population[7:]
    stream, crossover, split_cost, min_samples_leaf, n_threads = settings
    n_individuals, n_nodes = feature.shape
    is_resident = resident.shape[0] > 0
    best = 0
    if first > 0:
        best = _best_of(cost[(first - 1) & 1])
    for generation in range(first, end):
        now = generation & 1
        before = now ^ 1
        while not is_waiting:
            i = atomic_add(claimed, generation, 1)
            if i >= n_individuals:
                atomic_add(arrived, generation, 1)
                break
            if generation == 0:
                _copy(genes[0, i], trial)
            else:
                _propose(genes[before], i, best, generation, stream, crossover, trial)
            if not _decode_trial(blocks, trial, feature[i], n_left[i], node):
                _copy(trial, genes[now, i])
                cost[now, i] = cost[before, i]
                continue
            atomic_add(evaluated, generation, 1)
            if not is_resident:
                _affect_ancestors(node)
            for t in range(n_nodes):
                node[SLOT, t] = node[SPARE, t] if node[IS_CHANGED, t] else slot[i, t]
                for c in range(left_counts.shape[2]):
                    trial_counts[t, c] = 0 if node[IS_AFFECTED, t] else left_counts[i, t, c]
            if is_resident:
                _count_changed(blocks, bench, resident)
            else:
                _count_whole(blocks, bench)
            fill_node_counts(blocks.class_counts, trial_counts, bench.node_counts)
            trial_cost = _pruned_cost(
                bench.node_counts, bench.node_cost, split_cost, min_samples_leaf
            )
            if generation > 0 and trial_cost > cost[before, i]:
                _copy(genes[before, i], genes[now, i])
                cost[now, i] = cost[before, i]
                continue
            _copy(trial, genes[now, i])
            cost[now, i] = trial_cost
            for t in range(n_nodes):
                feature[i, t] = node[FEATURE, t]
                n_left[i, t] = node[N_LEFT, t]
                for c in range(left_counts.shape[2]):
                    left_counts[i, t, c] = trial_counts[t, c]
                if node[IS_CHANGED, t]:
                    node[SPARE, t] = slot[i, t]
                    slot[i, t] = node[SLOT, t]
        is_waiting = False
        spins = 0
        while atomic_load(arrived, generation) < n_threads:
            spins += 1
            if spins > SPINS_BEFORE_YIELD:
                return generation, WAITING
        best = _best_of(cost[now])
        is_over = evaluated[generation] == 0 and _all_alike(genes[now])
        if is_over or cost[now, best] == 0:
            return generation + 1, ENDED
    return end, CONTINUE
