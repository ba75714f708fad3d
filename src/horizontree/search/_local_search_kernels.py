"""The kernels of local search: one node after the other gets the best change there is for it.

A tree of at most ``depth`` levels is two arrays in heap order with room for the leaves:
``feature`` (-1 at a leaf and below one) and ``cut``; a sample goes left where its code is below
the cut. ``place[sample]`` is the leaf that it is in, written as the leftmost place of the lowest
level below it, so that the samples of a node are those in a range of places.

A change of a node is judged with the labels that its leaves would have then. So the samples are
moved from the right subtree to the left one in the order of a feature, and the counts of two
leaves change at a time.
"""

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)
COST_SCALE = 1 << 20
SORT_COST = 8
"""Sorting costs so many times as much for each sample and doubling as filtering an order."""


@njit(nogil=True, cache=True)
def _level_of(node):
    level = 0
    while node > 0:
        node = (node - 1) // 2
        level += 1
    return level


@njit(nogil=True, cache=True)
def _place_of(node, level, depth):
    return (node + 1) << (depth - level)


@njit(nogil=True, cache=True)
def _leaf_below(code, sample, node, feature, cut):
    while feature[node] >= 0:
        node = 2 * node + 1 + (code[sample, feature[node]] >= cut[node])
    return node


@njit(nogil=True, cache=True)
def route(code, members, node, feature, cut, depth, place):
    """Send some samples down from a node to their places."""
    for i in range(members.shape[0]):
        leaf = _leaf_below(code, members[i], node, feature, cut)
        place[members[i]] = _place_of(leaf, _level_of(leaf), depth)


@njit(nogil=True, cache=True)
def _members_of(node, level, depth, place, members):
    """List the samples of a node; return how many there are."""
    low = _place_of(node, level, depth)
    high = _place_of(node + 1, level, depth)
    n = 0
    for sample in range(place.shape[0]):
        members[n] = sample
        n += low <= place[sample] < high
    return n


@njit(nogil=True, cache=True)
def grow_at_random(code, label, bits, min_samples_leaf, depth, feature, cut, place):
    """Grow a tree whose splits are drawn: a feature, and how many samples go left at least.

    ``bits[node, attempt]`` are the draws; a node with no lucky attempt is a leaf.
    """
    n, n_features = code.shape
    members = np.empty(n + 1, np.int32)
    place[:] = _place_of(0, 0, depth)
    for node in range(2**depth - 1):
        if node > 0 and feature[(node - 1) // 2] < 0:
            continue
        m = _members_of(node, _level_of(node), depth, place, members)
        is_pure = True
        for i in range(1, m):
            is_pure &= label[members[i]] == label[members[0]]
        if is_pure:
            continue
        for attempt in range(bits.shape[1]):
            high = np.int64(bits[node, attempt] >> np.uint64(32))
            low = np.int64(bits[node, attempt] & np.uint64(0xFFFFFFFF))
            f = (high * n_features) >> 32
            last = np.partition(code[members[:m], f], (low * m) >> 32)[(low * m) >> 32]
            n_left = 0
            for i in range(m):
                n_left += code[members[i], f] <= last
            if min(n_left, m - n_left) >= min_samples_leaf:
                feature[node] = f
                cut[node] = last + 1
                route(code, members[:m], node, feature, cut, depth, place)
                break


@njit(nogil=True, cache=True)
def _add(count, size, top, leaf, k):
    """Add a sample to a leaf; return by how much its largest class grows."""
    size[leaf] += 1
    count[leaf, k] += 1
    if count[leaf, k] > top[leaf]:
        top[leaf] += 1
        return 1
    return 0


@njit(nogil=True, cache=True)
def _remove(count, size, top, leaf, k):
    """Take a sample from a leaf; return by how much its largest class shrinks."""
    size[leaf] -= 1
    count[leaf, k] -= 1
    if count[leaf, k] + 1 < top[leaf]:
        return 0
    for other in range(count.shape[1]):
        if count[leaf, other] == top[leaf]:
            return 0
    top[leaf] -= 1
    return 1


@njit(nogil=True, cache=True)
def _number_leaves(node, first, feature, number):
    """Give the leaves of a subtree numbers; return the next number, and the splits above them."""
    stack = [node]
    n_splits = 0
    while len(stack) > 0:
        node = stack.pop()
        if feature[node] < 0:
            number[node] = first
            first += 1
        else:
            n_splits += 1
            stack.append(2 * node + 2)
            stack.append(2 * node + 1)
    return first, n_splits


@njit(nogil=True, cache=True)
def _in_order(order, f, code, members, is_member, keys, line):
    """Write the members in the order of a feature, flagged when tied with their predecessor.

    Few members are sorted; many are what is left of the order of all samples.
    """
    n, m = order.shape[1], members.shape[0]
    if SORT_COST * m * np.log2(m + 1.0) < n:
        for i in range(m):
            keys[i] = np.int64(code[members[i], f]) << 32 | np.int64(members[i])
        keys[:m].sort()
        for i in range(m):
            line[i] = np.uint32(keys[i] & 0xFFFFFFFF)
            if i > 0 and keys[i] >> 32 == keys[i - 1] >> 32:
                line[i] |= TIED
        return
    at = 0
    tied = np.uint32(0)
    for j in range(n):
        entry = order[f, j]
        sample = entry & SAMPLE
        tied &= entry
        line[at] = sample | tied
        if is_member[sample]:
            at += 1
            tied = TIED


@njit(nogil=True, cache=True)
def _best_split(
    order, code, label, members, low_leaf, high_leaf, count, size, top,
    min_samples_leaf, is_member, keys, line,
):  # fmt: skip
    """Find the split whose leaves get most samples right, the subtrees being what they are.

    ``count``, ``size`` and ``top`` of the leaves are those with all samples in the right
    subtree. Returns how many are right, the feature (-1 for none) and the cut. Equal: the first
    feature, the lowest cut.
    """
    m = members.shape[0]
    best, best_f, best_cut = np.int64(-1), -1, 0
    start_count, start_size, start_top = count.copy(), size.copy(), top.copy()
    start_right = start_top.sum()
    start_small = 0
    for leaf in range(size.shape[0]):
        start_small += start_size[leaf] < min_samples_leaf
    for f in range(order.shape[0]):
        _in_order(order, f, code, members, is_member, keys, line)
        count[:] = start_count
        size[:] = start_size
        top[:] = start_top
        right = start_right
        n_small = start_small
        for j in range(m - 1):
            sample = line[j] & SAMPLE
            k = label[sample]
            high, low = high_leaf[sample], low_leaf[sample]
            right -= _remove(count, size, top, high, k)
            right += _add(count, size, top, low, k)
            n_small += size[high] == min_samples_leaf - 1
            n_small -= size[low] == min_samples_leaf
            if right > best and n_small == 0 and line[j + 1] & TIED == 0:
                best, best_f, best_cut = right, f, code[sample, f] + 1
    return best, best_f, best_cut


@njit(nogil=True, cache=True)
def _clear_below(node, feature):
    """Make a leaf of a node."""
    first, n = node, 1
    while first < feature.shape[0]:
        feature[first : first + n] = -1
        first, n = 2 * first + 1, 2 * n


@njit(nogil=True, cache=True)
def _move_up(child, feature, cut):
    """Put a child in the place of its parent, with all that is below it."""
    source, target, n = child, (child - 1) // 2, 1
    while source < feature.shape[0]:
        feature[target : target + n] = feature[source : source + n]
        cut[target : target + n] = cut[source : source + n]
        source, target, n = 2 * source + 1, 2 * target + 1, 2 * n
    feature[target : target + n] = -1


@njit(nogil=True, cache=True)
def _unsettle(node, is_settled):
    """Forget that a node, those above it and those below it had nothing to gain."""
    first, n = node, 1
    while first < is_settled.shape[0]:
        is_settled[first : first + n] = False
        first, n = 2 * first + 1, 2 * n
    while node > 0:
        node = (node - 1) // 2
        is_settled[node] = False


@njit(nogil=True, cache=True)
def _improve(
    node, order, code, label, n_classes, split_cost, min_samples_leaf, depth, feature, cut, place,
    members, is_member, low_leaf, high_leaf, keys, line,
):  # fmt: skip
    """Make the best change of a node if it lowers the cost; return whether it did, and the work."""
    level = _level_of(node)
    m = _members_of(node, level, depth, place, members)
    work = place.shape[0]
    is_leaf = feature[node] < 0
    if is_leaf and (level == depth or m < 2 * min_samples_leaf):
        return False, work
    members = members[:m]
    low, high = 2 * node + 1, 2 * node + 2
    number = np.empty(feature.shape[0], np.int32)
    n_low, splits_low = _number_leaves(low, 0, feature, number)
    n_leaves, splits_high = _number_leaves(high, n_low, feature, number)
    count = np.zeros((n_leaves, n_classes), np.int64)
    size = np.zeros(n_leaves, np.int64)
    top = np.zeros(n_leaves, np.int64)
    now_count, now_size, now_top = count.copy(), size.copy(), top.copy()
    all_count = np.zeros((1, n_classes), np.int64)
    all_size, all_top = np.zeros(1, np.int64), np.zeros(1, np.int64)
    now, all_low = 0, 0
    for i in range(m):
        sample = members[i]
        k = label[sample]
        low_leaf[sample] = number[_leaf_below(code, sample, low, feature, cut)]
        high_leaf[sample] = number[_leaf_below(code, sample, high, feature, cut)]
        _add(count, size, top, high_leaf[sample], k)
        all_low += _add(count, size, top, low_leaf[sample], k)
        _add(all_count, all_size, all_top, 0, k)
        if not is_leaf:
            goes_left = code[sample, feature[node]] < cut[node]
            at = low_leaf[sample] if goes_left else high_leaf[sample]
            now += _add(now_count, now_size, now_top, at, k)
    if is_leaf:
        now = all_top[0]
        if now == m:
            return False, work
    all_high = top[n_low:].sum()
    count[:n_low] = 0
    size[:n_low] = 0
    top[:n_low] = 0
    for i in range(m):
        is_member[members[i]] = True
    best, f, best_cut = _best_split(
        order, code, label, members, low_leaf, high_leaf, count, size, top,
        min_samples_leaf, is_member, keys, line,
    )  # fmt: skip
    for i in range(m):
        is_member[members[i]] = False
    work += order.shape[0] * (m + place.shape[0] // 4)
    splits_both = splits_low + splits_high + 1
    cost = (m - now) * COST_SCALE + (0 if is_leaf else splits_both) * split_cost
    as_leaf = (m - all_top[0]) * COST_SCALE
    as_low = (m - all_low) * COST_SCALE + splits_low * split_cost
    as_high = (m - all_high) * COST_SCALE + splits_high * split_cost
    as_split = (m - best) * COST_SCALE + splits_both * split_cost
    least = min(as_leaf, as_low, as_high)
    if f >= 0:
        least = min(least, as_split)
    if least >= cost:
        return False, work
    if as_leaf == least:
        _clear_below(node, feature)
    elif as_low == least:
        _move_up(low, feature, cut)
    elif as_high == least:
        _move_up(high, feature, cut)
    else:
        feature[node] = f
        cut[node] = best_cut
    route(code, members, node, feature, cut, depth, place)
    return True, work


@njit(nogil=True, cache=True)
def visit(
    visits, first, most_work, order, code, label, n_classes, split_cost, min_samples_leaf, depth,
    feature, cut, place, is_settled,
):  # fmt: skip
    """Improve nodes in turn from the ``first`` of ``visits`` on, until enough work is done.

    A node is left out while nothing above or below it has changed since it was found to have
    nothing to gain. Returns where to go on, and how many nodes were improved.
    """
    n = place.shape[0]
    members = np.empty(n + 1, np.int32)
    is_member = np.zeros(n, np.bool_)
    low_leaf = np.empty(n, np.int32)
    high_leaf = np.empty(n, np.int32)
    keys = np.empty(n, np.int64)
    line = np.empty(n + 1, np.uint32)
    n_improved = 0
    total = 0
    for i in range(first, visits.shape[0]):
        if total > most_work:
            return i, n_improved
        node = visits[i]
        is_there = node == 0 or feature[(node - 1) // 2] >= 0
        if is_settled[node] or not is_there:
            continue
        improved, work = _improve(
            node, order, code, label, n_classes, split_cost, min_samples_leaf, depth, feature,
            cut, place, members, is_member, low_leaf, high_leaf, keys, line,
        )  # fmt: skip
        total += work
        if improved:
            n_improved += 1
            _unsettle(node, is_settled)
        else:
            is_settled[node] = True
    return visits.shape[0], n_improved
