"""The kernels of RS-OCT: boxes of trees, what they cost at least, and how they are divided.

A box is a row of ``box``, for a complete tree in heap order::

    feature[inner]           UNDECIDED, NO_SPLIT, or a feature
    low[inner], high[inner]  the range of its cuts; codes below the cut go left
    label[leaf]              UNDECIDED or a class

Samples of a box whose outcome is settled are dropped from ``active`` (a bit for each) and
counted: in ``count[leaf, class]`` where only one leaf is left for them, in ``n_wrong`` where no
leaf that they may reach has their class. Each of the others may be right on its own; so they
cost nothing.
"""

import numpy as np
from numba import njit

UNDECIDED = -1
NO_SPLIT = -2
COST_SCALE = 1 << 20
WORD = 64


@njit(nogil=True, cache=True)
def _reach(code, sample, box, n_inner, reach):
    """Mark the nodes and leaves that a sample may reach; return the leaves, and the last one."""
    reach[:] = False
    reach[0] = True
    for node in range(n_inner):
        if not reach[node]:
            continue
        f = box[node]
        is_left = is_right = True
        if f == NO_SPLIT:
            is_right = False
        elif f >= 0:
            is_left = code[sample, f] < box[2 * n_inner + node]
            is_right = code[sample, f] >= box[n_inner + node]
        reach[2 * node + 1] = is_left
        reach[2 * node + 2] = is_right
    n, last = 0, -1
    for leaf in range(n_inner + 1):
        if reach[n_inner + leaf]:
            n += 1
            last = leaf
    return n, last


@njit(nogil=True, cache=True)
def settle(code, label, box, n_inner, active, count, n_wrong, reach):
    """Drop the samples that are settled, count them, and return how many are surely wrong."""
    labels = box[3 * n_inner :]
    for word in range(active.shape[0]):
        bits = active[word]
        for bit in range(WORD):
            if not (bits >> np.uint64(bit)) & np.uint64(1):
                continue
            sample = word * WORD + bit
            k = label[sample]
            n_leaves, last = _reach(code, sample, box, n_inner, reach)
            is_settled = n_leaves == 1
            if is_settled:
                count[last, k] += 1
            else:
                may_be_right = may_be_wrong = False
                for leaf in range(n_inner + 1):
                    if reach[n_inner + leaf]:
                        may_be_right |= labels[leaf] == UNDECIDED or labels[leaf] == k
                        may_be_wrong |= labels[leaf] != k
                is_settled = not (may_be_right and may_be_wrong)
                n_wrong += not may_be_right
            if is_settled:
                active[word] &= ~(np.uint64(1) << np.uint64(bit))
    return n_wrong


@njit(nogil=True, cache=True)
def _can_fill_leaves(code, box, n_inner, min_samples_leaf, reach, n_reach):
    """Tell whether the splits of a box can have enough samples on both sides.

    Where one cannot, its trees are not allowed, or the split parts nothing, and other boxes hold
    the same trees without it. ``n_reach[node]`` is how many samples may be at a node.
    """
    n_reach[:] = 0
    for sample in range(code.shape[0]):
        _reach(code, sample, box, n_inner, reach)
        for node in range(2 * n_inner + 1):
            n_reach[node] += reach[node]
    for node in range(n_inner):
        if box[node] < 0:
            continue
        fewest = min(n_reach[2 * node + 1], n_reach[2 * node + 2])
        if fewest < min_samples_leaf or n_reach[node] < 2 * min_samples_leaf:
            return False
    return True


@njit(nogil=True, cache=True)
def bound_of(box, n_inner, count, n_wrong, split_cost):
    """Return what a box costs at least."""
    errors = n_wrong
    for leaf in range(n_inner + 1):
        k = box[3 * n_inner + leaf]
        errors += count[leaf].sum() - (count[leaf].max() if k == UNDECIDED else count[leaf, k])
    n_splits = 0
    for node in range(n_inner):
        n_splits += box[node] >= 0
    return errors * COST_SCALE + n_splits * split_cost


@njit(nogil=True, cache=True)
def _first_undecided(box, n_inner):
    for node in range(n_inner):
        if box[node] == UNDECIDED:
            return node
    return -1


@njit(nogil=True, cache=True)
def _widest(code, box, n_inner, active, reach, codes):
    """Find the node whose range leaves most samples open, and the middle one of their codes."""
    n_open = np.zeros(n_inner, np.int64)
    for attempt in range(2):
        node = n_open.argmax()
        if attempt == 1 and n_open[node] == 0:
            return -1, 0
        n = 0
        for word in range(active.shape[0]):
            bits = active[word]
            for bit in range(WORD):
                if not (bits >> np.uint64(bit)) & np.uint64(1):
                    continue
                sample = word * WORD + bit
                _reach(code, sample, box, n_inner, reach)
                for at in range(n_inner):
                    f = box[at]
                    if f < 0 or not reach[at]:
                        continue
                    if box[n_inner + at] <= code[sample, f] < box[2 * n_inner + at]:
                        if attempt == 0:
                            n_open[at] += 1
                        elif at == node:
                            codes[n] = code[sample, f]
                            n += 1
    return node, np.sort(codes[:n])[n // 2]


@njit(nogil=True, cache=True)
def _longest_range(box, n_inner):
    """Find the node with the longest range of cuts, and its middle; -1 where all are decided."""
    best, most, middle = -1, 0, 0
    for node in range(n_inner):
        low, high = box[n_inner + node], box[2 * n_inner + node]
        if box[node] >= 0 and high - low > most:
            best, most, middle = node, high - low, (low + high) // 2
    return best, middle


@njit(nogil=True, cache=True)
def _fullest_open_leaf(box, n_inner, count):
    """Find the undecided leaf with most samples that are surely there; -1 for none."""
    best, most = -1, 0
    for leaf in range(n_inner + 1):
        if box[3 * n_inner + leaf] == UNDECIDED and count[leaf].sum() > most:
            best, most = leaf, count[leaf].sum()
    return best


@njit(nogil=True, cache=True)
def _push(heap, bound, n, box):
    """Add a box to a binary heap of boxes by their bounds (equal: the older box first)."""
    at = n
    while at > 0:
        above = (at - 1) // 2
        other = heap[above]
        if (bound[other], other) <= (bound[box], box):
            break
        heap[at] = other
        at = above
    heap[at] = box
    return n + 1


@njit(nogil=True, cache=True)
def _pop(heap, bound, n):
    """Take the box with the least bound from a heap."""
    first, box = heap[0], heap[n - 1]
    n -= 1
    at = 0
    while 2 * at + 1 < n:
        below = 2 * at + 1
        if below + 1 < n:
            a, b = heap[below], heap[below + 1]
            below += (bound[b], b) < (bound[a], a)
        if (bound[box], box) <= (bound[heap[below]], heap[below]):
            break
        heap[at] = heap[below]
        at = below
    heap[at] = box
    return first, n


@njit(nogil=True, cache=True)
def _cost_of_middle(code, label, box, n_inner, n_classes, split_cost, min_samples_leaf):
    """Return the cost of the tree with the middle cuts of a box; -1 when it is not allowed."""
    count = np.zeros((2 * n_inner + 1, n_classes), np.int64)
    for sample in range(code.shape[0]):
        node = 0
        count[0, label[sample]] += 1
        while node < n_inner:
            f = box[node]
            cut = (box[n_inner + node] + box[2 * n_inner + node]) // 2
            node = 2 * node + 1 + (f >= 0 and code[sample, f] >= cut)
            count[node, label[sample]] += 1
    errors = 0
    for leaf in range(n_inner, 2 * n_inner + 1):
        size = count[leaf].sum()
        if 0 < size < min_samples_leaf:
            return -1
        errors += size - count[leaf].max()
    n_splits = 0
    for node in range(n_inner):
        n_splits += count[2 * node + 1].sum() > 0 and count[2 * node + 2].sum() > 0
    return errors * COST_SCALE + n_splits * split_cost


@njit(nogil=True, cache=True)
def _decide_no_split(box, node, n_inner):
    """Make a leaf of a node: it and those below it have no split."""
    first, n = node, 1
    while first < n_inner:
        box[first : first + n] = NO_SPLIT
        first, n = 2 * first + 1, 2 * n


@njit(nogil=True, cache=True)
def explore(
    code, label, first_cut, last_cut, boxes, active, count, n_wrong, bound, heap, free, state, best,
    most, split_cost, min_samples_leaf, allows_leaves,
):  # fmt: skip
    """Divide up to ``most`` boxes, the one with the least bound first.

    ``boxes, active, count, n_wrong, bound`` have a row for each box, ``heap`` orders those that
    are open and ``free`` lists the others. ``state`` is: boxes on the heap, boxes divided, cost
    of the best tree. ``best`` is that tree, as a box. Ends early when rows run out.
    """
    n_inner = (boxes.shape[1] - 1) // 4
    n_features = code.shape[1]
    n_classes = count.shape[2]
    capacity = boxes.shape[0]
    reach = np.empty(2 * n_inner + 1, np.bool_)
    n_reach = np.empty(2 * n_inner + 1, np.int64)
    codes = np.empty(code.shape[0], np.int64)
    most_parts = max(n_features + 1, n_classes, 2)
    parts = np.empty((most_parts, boxes.shape[1]), boxes.dtype)
    for _ in range(most):
        n_heap = state[0]
        if n_heap == 0 or n_heap + most_parts > capacity:
            return
        box, n_heap = _pop(heap, bound, n_heap)
        state[0] = n_heap
        free[capacity - n_heap - 1] = box
        if bound[box] >= state[2]:
            state[0] = 0
            return
        state[1] += 1
        here = boxes[box].copy()
        of_active, of_count = active[box].copy(), count[box].copy()
        of_bound, of_wrong = bound[box], n_wrong[box]
        node = _first_undecided(here, n_inner)
        n_parts = 0
        if node >= 0:
            for f in range(n_features):
                if first_cut[f] > last_cut[f]:
                    continue
                parts[n_parts] = here
                parts[n_parts, node] = f
                parts[n_parts, n_inner + node] = first_cut[f]
                parts[n_parts, 2 * n_inner + node] = last_cut[f]
                n_parts += 1
            if allows_leaves:
                parts[n_parts] = here
                _decide_no_split(parts[n_parts], node, n_inner)
                n_parts += 1
        else:
            cost = _cost_of_middle(
                code, label, here, n_inner, n_classes, split_cost, min_samples_leaf
            )
            if 0 <= cost < state[2]:
                state[2] = cost
                best[:] = here
            leaf = _fullest_open_leaf(here, n_inner, of_count)
            node, middle = _widest(code, here, n_inner, of_active, reach, codes)
            if node >= 0 and leaf >= 0:
                for k in range(n_classes):
                    parts[n_parts] = here
                    parts[n_parts, 3 * n_inner + leaf] = k
                    n_parts += 1
            else:
                if node < 0 and cost < 0:  # other cuts with the same errors may be allowed
                    node, middle = _longest_range(here, n_inner)
                if node >= 0:
                    parts[0] = here
                    parts[0, 2 * n_inner + node] = middle
                    parts[1] = here
                    parts[1, n_inner + node] = middle + 1
                    n_parts = 2
        for part in range(n_parts):
            if min_samples_leaf > 1 and not _can_fill_leaves(
                code, parts[part], n_inner, min_samples_leaf, reach, n_reach
            ):
                continue
            new = free[capacity - n_heap - 1]
            boxes[new] = parts[part]
            active[new] = of_active
            count[new] = of_count
            n_wrong[new] = settle(
                code, label, boxes[new], n_inner, active[new], count[new], of_wrong, reach
            )
            bound[new] = max(
                of_bound, bound_of(boxes[new], n_inner, count[new], n_wrong[new], split_cost)
            )
            if bound[new] < state[2]:
                n_heap = _push(heap, bound, n_heap, new)
        state[0] = n_heap


@njit(nogil=True, cache=True)
def raise_first(heap, bound, n, new_bound):
    """Raise the bound of the first box of a heap, and put it where it belongs then."""
    box, n = _pop(heap, bound, n)
    bound[box] = max(bound[box], new_bound)
    _push(heap, bound, n, box)
