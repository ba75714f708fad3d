"""CART on presorted features: all nodes of a level in one sweep over each feature.

Sweeping feature f from its lowest value to its highest, every node of the level keeps the
class counts to its left. A node's split can only lie where the node's own value changes:

    order[f]:   s4   s1 | s7 = s2 | s0 | ...       (= tied, | a new value)
    node:        0    1     0    0    1
                            ^ node 0 tries the split between s4 and s7
"""

from typing import NamedTuple

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)
COST_SCALE = 1 << 20

GINI = 0
MISCLASSIFICATION = 1

NO_SPLIT = -1

FEATURE, CUT_SAMPLE, LEFT = range(3)  # columns of the nodes that `grow` returns


class Level(NamedTuple):
    """The nodes of one level; the first axis of every array is the node."""

    total: np.ndarray  # [node, class]  samples at the node
    n_samples: np.ndarray
    left: np.ndarray  # [node, class]  samples on the left of the sweep
    n_left: np.ndarray
    squares: np.ndarray  # [node, side]  sum over classes of squared counts
    last_value: np.ndarray  # number of the value last seen in this node
    last_sample: np.ndarray  # sample last seen in this node
    best_score: np.ndarray  # [node, 2]  criterion, then what breaks ties
    best_feature: np.ndarray
    best_sample: np.ndarray  # the last sample on the left of the best split
    best_n_left: np.ndarray


@njit(nogil=True, cache=True)
def _new_level(n_nodes, n_classes):
    return Level(
        np.zeros((n_nodes, n_classes), np.int64),
        np.zeros(n_nodes, np.int64),
        np.zeros((n_nodes, n_classes), np.int64),
        np.zeros(n_nodes, np.int64),
        np.zeros((n_nodes, 2), np.int64),
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int64),
        np.full((n_nodes, 2), -1.0),
        np.full(n_nodes, NO_SPLIT, np.int64),
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int64),
    )


@njit(nogil=True, cache=True)
def _rewind(level):
    """Put every sample on the right, ready to sweep another feature."""
    for node in range(level.total.shape[0]):
        level.n_left[node] = 0
        level.last_value[node] = -1
        squares = 0
        for c in range(level.total.shape[1]):
            level.left[node, c] = 0
            squares += level.total[node, c] * level.total[node, c]
        level.squares[node, 0] = 0
        level.squares[node, 1] = squares


@njit(nogil=True, cache=True)
def _n_correct(left, total, node):
    """Return how many samples the majority classes of the two sides get right."""
    best_left = 0
    best_right = 0
    for c in range(total.shape[1]):
        best_left = max(best_left, left[node, c])
        best_right = max(best_right, total[node, c] - left[node, c])
    return best_left + best_right


@njit(nogil=True, cache=True)
def _sweep(
    order_f, f, code, sorted_code, class_bits, level, criterion, min_samples_leaf, purity_above
):
    """Try every split of feature ``f`` at every node of the level.

    Equal scores: the higher gini, with ``purity_above[f, last sample on the left]`` added where
    that has rows; equal again: the first feature, the lowest threshold.
    """
    # unpacked once: a tuple of arrays passed on at every step costs its reference counts
    total, n_samples, left, n_left, squares = level[:5]
    last_value, last_sample, best_score, best_feature, best_sample, best_n_left = level[5:]
    class_mask = (1 << class_bits) - 1
    for j in range(order_f.shape[0]):  # apart from the sweep, so that cache misses overlap
        sorted_code[j] = code[order_f[j] & SAMPLE]
    value = 0
    for j in range(order_f.shape[0]):
        if order_f[j] & TIED == 0:
            value += 1
        if sorted_code[j] < 0:
            continue
        node = sorted_code[j] >> class_bits
        c = sorted_code[j] & class_mask
        if last_value[node] != value:
            last_value[node] = value
            below = n_left[node]
            above = n_samples[node] - below
            if below >= min_samples_leaf and above >= min_samples_leaf:
                gini = squares[node, 0] / below + squares[node, 1] / above
                score = gini
                if criterion == MISCLASSIFICATION:
                    score = float(_n_correct(left, total, node))
                second = gini
                if purity_above.shape[0] > 0:
                    second += purity_above[f, last_sample[node]]
                if score > best_score[node, 0] or (
                    score == best_score[node, 0] and second > best_score[node, 1]
                ):
                    best_score[node, 0] = score
                    best_score[node, 1] = second
                    best_feature[node] = f
                    best_sample[node] = last_sample[node]
                    best_n_left[node] = below
        squares[node, 0] += 2 * left[node, c] + 1
        squares[node, 1] -= 2 * (total[node, c] - left[node, c]) - 1
        left[node, c] += 1
        n_left[node] += 1
        last_sample[node] = order_f[j] & SAMPLE


@njit(nogil=True, cache=True)
def _descend(order, code, class_bits, level, child_total, child_code):
    """Send each sample to child ``2 * node`` or ``2 * node + 1`` of its node."""
    class_mask = (1 << class_bits) - 1
    n_nodes = level.n_samples.shape[0]
    is_used = np.zeros(order.shape[0], np.bool_)
    for node in range(n_nodes):
        if level.best_feature[node] != NO_SPLIT:
            is_used[level.best_feature[node]] = True
    for sample in range(child_code.shape[0]):
        child_code[sample] = -1
    for child in range(child_total.shape[0]):
        for c in range(child_total.shape[1]):
            child_total[child, c] = 0
    n_seen = np.zeros(n_nodes, np.int64)
    for f in range(order.shape[0]):
        if not is_used[f]:
            continue
        for j in range(order.shape[1]):
            sample = order[f, j] & SAMPLE
            if code[sample] < 0:
                continue
            node = code[sample] >> class_bits
            if level.best_feature[node] != f:
                continue
            c = code[sample] & class_mask
            child = 2 * node
            if n_seen[node] >= level.best_n_left[node]:
                child += 1
            n_seen[node] += 1
            child_total[child, c] += 1
            child_code[sample] = (child << class_bits) | c


@njit(nogil=True, cache=True)
def _without_finished(order, code, n_active):
    """Copy the orders of the samples that are still in a node of the level."""
    out = np.empty((order.shape[0], n_active), np.uint32)
    for f in range(order.shape[0]):
        is_new_value = True
        n_kept = 0
        for j in range(order.shape[1]):
            entry = order[f, j]
            if entry & TIED == 0:
                is_new_value = True
            if code[entry & SAMPLE] >= 0:
                out[f, n_kept] = (entry & SAMPLE) if is_new_value else (entry | TIED)
                n_kept += 1
                is_new_value = False
    return out


@njit(nogil=True, cache=True)
def _is_splittable(total, node, min_samples_leaf):
    n = 0
    largest = 0
    for c in range(total.shape[1]):
        n += total[node, c]
        largest = max(largest, total[node, c])
    return largest < n and n >= 2 * min_samples_leaf


@njit(nogil=True, cache=True)
def _record_splits(nodes, level, number_of):
    """Write the splits of the level into the tree, and append their children as leaves."""
    n_before = nodes.shape[0]
    n_after = n_before
    for node in range(level.n_samples.shape[0]):
        if level.best_feature[node] != NO_SPLIT:
            nodes[number_of[node], FEATURE] = level.best_feature[node]
            nodes[number_of[node], CUT_SAMPLE] = level.best_sample[node]
            nodes[number_of[node], LEFT] = n_after
            n_after += 2
    grown = np.empty((n_after, 3), np.int64)
    for node in range(n_after):
        for column in range(3):
            grown[node, column] = nodes[node, column] if node < n_before else NO_SPLIT
    return grown


@njit(nogil=True, cache=True)
def _number_next(level, child_total, min_samples_leaf, next_of):
    """Give a number ``next_of[child]`` to those that may split further; return how many."""
    n_next = 0
    for child in range(next_of.shape[0]):
        next_of[child] = -1
        was_split = level.best_feature[child >> 1] != NO_SPLIT
        if was_split and _is_splittable(child_total, child, min_samples_leaf):
            next_of[child] = n_next
            n_next += 1
    return n_next


@njit(nogil=True, cache=True)
def _move_on(child_code, next_of, class_bits, code):
    """Move the samples to the nodes of the next level; return how many are in one."""
    class_mask = (1 << class_bits) - 1
    n_active = 0
    for sample in range(code.shape[0]):
        moved = child_code[sample]
        code[sample] = -1
        if moved >= 0 and next_of[moved >> class_bits] >= 0:
            code[sample] = (next_of[moved >> class_bits] << class_bits) | (moved & class_mask)
            n_active += 1
    return n_active


@njit(nogil=True, cache=True)
def _fill_level(level, child_total, next_of):
    """Hand the children's class counts to the nodes of the next level."""
    for child in range(next_of.shape[0]):
        node = next_of[child]
        if node >= 0:
            for c in range(child_total.shape[1]):
                level.total[node, c] = child_total[child, c]
                level.n_samples[node] += child_total[child, c]


@njit(nogil=True, cache=True)
def add_purity_of_cuts(order, labels, class_counts, out):
    """Add to ``out[f, sample]`` how pure the two sides of a cut at the sample's value are.

    The purer, the lower their gini impurity. A cut at the highest value divides nothing: 0.
    """
    n_features, n = order.shape
    left = np.empty_like(class_counts)
    for f in range(n_features):
        left[:] = 0
        low = 0
        high = 0
        for c in range(class_counts.shape[0]):
            high += class_counts[c] * class_counts[c]
        first = 0  # of the samples with this value
        for j in range(n):
            c = labels[order[f, j] & SAMPLE]
            low += 2 * left[c] + 1
            high -= 2 * (class_counts[c] - left[c]) - 1
            left[c] += 1
            if j + 1 == n or order[f, j + 1] & TIED == 0:
                purity = low / (j + 1) + high / (n - j - 1) if j + 1 < n else 0.0
                for i in range(first, j + 1):
                    out[f, order[f, i] & SAMPLE] += purity
                first = j + 1


@njit(nogil=True, cache=True)
def _n_bits(n_classes):
    """Return how many bits a class takes."""
    n_bits = 0
    while (1 << n_bits) < n_classes:
        n_bits += 1
    return n_bits


@njit(nogil=True, cache=True)
def grow(order, labels, class_counts, max_depth, min_samples_leaf, criterion, purity_above):
    """Grow a tree level by level.

    Of splits with equal scores the purer one is taken. ``purity_above[f, sample]`` is added to the
    purity of a cut at the sample's value; an array without rows stands for nothing.

    Returns
    -------
    nodes : int64 array, shape (n_nodes, 3)
        Of each node the feature (-1 at a leaf), the sample with the highest value on the
        left, and the left child; the right child is the next node.
    """
    n_classes = class_counts.shape[0]
    class_bits = _n_bits(n_classes)
    code = np.empty(labels.shape[0], np.int64)  # node of the level, then class; or -1
    for sample in range(labels.shape[0]):
        code[sample] = labels[sample]
    child_code = np.empty_like(code)
    sorted_code = np.empty_like(code)

    nodes = np.full((1, 3), NO_SPLIT, np.int64)
    number_of = np.zeros(1, np.int64)  # number_of[node of the level] = node of the tree
    child_total = np.empty((1, n_classes), np.int64)
    for c in range(n_classes):
        child_total[0, c] = class_counts[c]
    next_of = np.zeros(1, np.int64)
    n_nodes = 1 if _is_splittable(child_total, 0, min_samples_leaf) else 0
    depth = 0
    while n_nodes > 0 and depth < max_depth:
        level = _new_level(n_nodes, n_classes)
        _fill_level(level, child_total, next_of)
        for f in range(order.shape[0]):
            _rewind(level)
            _sweep(
                order[f], f, code, sorted_code, class_bits, level, criterion, min_samples_leaf,
                purity_above,
            )  # fmt: skip
        depth += 1
        nodes = _record_splits(nodes, level, number_of)
        child_total = np.empty((2 * n_nodes, n_classes), np.int64)
        _descend(order, code, class_bits, level, child_total, child_code)
        next_of = np.empty(2 * n_nodes, np.int64)
        n_nodes = _number_next(level, child_total, min_samples_leaf, next_of)
        n_active = _move_on(child_code, next_of, class_bits, code)
        if 2 * n_active < order.shape[1]:
            order = _without_finished(order, code, n_active)
        next_number_of = np.empty(n_nodes, np.int64)
        for child in range(next_of.shape[0]):
            if next_of[child] >= 0:
                next_number_of[next_of[child]] = nodes[number_of[child >> 1], LEFT] + (child & 1)
        number_of = next_number_of
    return nodes


@njit(nogil=True, cache=True)
def _divided(order_f, n_left, labels, n_classes, class_bits, code):
    """Send the samples to the two sides of a root; return these as a level."""
    level = _new_level(2, n_classes)
    for j in range(order_f.shape[0]):
        sample = order_f[j] & SAMPLE
        side = 0 if j < n_left else 1
        code[sample] = (side << class_bits) | labels[sample]
        level.total[side, labels[sample]] += 1
        level.n_samples[side] += 1
    return level


@njit(nogil=True, cache=True)
def best_of_roots(order, labels, class_counts, roots, min_samples_leaf, split_cost, purity):
    """Put the best last splits below each root; return the best of these trees.

    ``roots[r]`` is a feature and how many samples go left. A last split is the cheapest one, of
    several that with the highest ``purity[f, sample]`` of a cut at the sample's value, its own
    purity added. The best tree is the cheapest, of several that with the fewest splits, then that
    with the highest sum of ``purity``, then the first.

    Returns
    -------
    best : int
        The root.
    sides : int64 array, shape (2, 2)
        Feature and last sample on the left of its two last splits; -1 where none pays.
    """
    class_bits = _n_bits(class_counts.shape[0])
    code = np.empty(order.shape[1], np.int64)
    sorted_code = np.empty_like(code)
    sides = np.empty((2, 2), np.int64)
    best_sides = np.empty_like(sides)
    best, best_cost, best_n_splits, best_purity = -1, 0, 0, 0.0
    for r in range(roots.shape[0]):
        root, n_left = roots[r, 0], roots[r, 1]
        level = _divided(order[root], n_left, labels, class_counts.shape[0], class_bits, code)
        for f in range(order.shape[0]):
            _rewind(level)
            _sweep(
                order[f], f, code, sorted_code, class_bits, level, MISCLASSIFICATION,
                min_samples_leaf, purity,
            )  # fmt: skip
        cost, n_splits = split_cost, 1
        sum_of_purity = purity[root, order[root, n_left - 1] & SAMPLE]
        for side in range(2):
            leaf = COST_SCALE * (level.n_samples[side] - level.total[side].max())
            n_wrong = level.n_samples[side] - np.int64(level.best_score[side, 0])
            as_split = split_cost + COST_SCALE * n_wrong
            if level.best_feature[side] != NO_SPLIT and as_split < leaf:
                sides[side, 0] = level.best_feature[side]
                sides[side, 1] = level.best_sample[side]
                cost += as_split
                n_splits += 1
                sum_of_purity += purity[sides[side, 0], sides[side, 1]]
            else:
                sides[side] = NO_SPLIT
                cost += leaf
        is_better = best < 0 or cost < best_cost
        if cost == best_cost and n_splits <= best_n_splits:
            is_better = is_better or n_splits < best_n_splits or sum_of_purity > best_purity
        if is_better:
            best, best_cost, best_n_splits, best_purity = r, cost, n_splits, sum_of_purity
            best_sides[:] = sides
    return best, best_sides
