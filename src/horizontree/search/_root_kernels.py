"""Kernels that try roots for trees of depth two over all cuts, 32 of a feature side by side.

To try a root is to find the best single split on either side of it. All cuts of a feature are
passed once, in order. A lane of a vector register belongs to a root, and keeps for it the samples
on its left that are below the cut, by class; those above the cut, and those on its right, are what
is left of the whole. A pass takes a few vector operations for every sample, class and eight roots,
whatever the samples are. With two classes the difference between them is all that is needed, in a
quarter of the time.
"""

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)
COST_SCALE = 1 << 20
LANES = 32
WIDTH = np.uint64(LANES)

# Of an interval of roots: its ends, and what the sides of these cost at least. The left side of a
# root between has at least the samples of the lower end's, and at most those of the upper end's.
LOW, HIGH, LEFT_OF_LOW, RIGHT_OF_HIGH, LEFT_OF_HIGH, RIGHT_OF_LOW = range(6)

# Rows of the workspace, with one place for each root. They are parts of one array at fixed
# distances, so that the compiler sees that they do not overlap; indices are unsigned, so that it
# need not ask whether they are negative.
_ROWS = [np.uint64(row * LANES) for row in range(11)]
ROOT = _ROWS[0]
BELOW_LEFT, BELOW_RIGHT = _ROWS[1:3]  # samples of the largest class below the cut,
ABOVE_LEFT, ABOVE_RIGHT = _ROWS[3:5]  # and above it
BEST_LEFT, BEST_RIGHT = _ROWS[5:7]  # samples that the best cut gets right,
LARGE_LEFT, LARGE_RIGHT = _ROWS[7:9]  # and the best one with large leaves
N_LEFT = _ROWS[9]  # samples on the left below the cut
CLASSES = _ROWS[10]  # from here on three rows for each class: on the left below the cut,
WHOLE_LEFT, WHOLE_RIGHT = _ROWS[1:3]  # and, so many places later, all on the left, on the right
ROWS_OF_CLASS = np.uint64(3 * LANES)

# With two classes, the same rows for differences between them.
LEFT_BELOW, WHOLE_LEFT_SIDE, WHOLE_RIGHT_SIDE = BELOW_LEFT, ABOVE_LEFT, ABOVE_RIGHT


@njit(nogil=True, cache=True)
def _higher(a, b):
    return a if a > b else b


@njit(nogil=True, cache=True)
def place_samples(order_f, class_of, place_f):
    """Note the position by ``f`` and the class of each sample in one number: one look is enough."""
    for i in range(order_f.shape[0]):
        sample = order_f[i] & SAMPLE
        place_f[sample] = np.int64(i) << 32 | class_of[sample]


@njit(nogil=True, cache=True)
def _position(place):
    return np.int32(place >> 32)


@njit(nogil=True, cache=True)
def _class(place):
    return np.int64(place & 0xFFFFFFFF)


@njit(nogil=True, cache=True)
def _row_of_class(k):
    return CLASSES + np.uint64(k) * ROWS_OF_CLASS


@njit(nogil=True, cache=True)
def _fill(w, row, value):
    for lane in range(WIDTH):
        w[row + lane] = value


@njit(nogil=True, cache=True)
def _count_sides(order_f, place_f, n_classes, w):
    """Count the classes on either side of each root; the roots ascend."""
    counts = np.zeros(n_classes, np.int32)
    n = 0
    for lane in range(WIDTH):
        while n < w[ROOT + lane]:
            counts[_class(place_f[order_f[n] & SAMPLE])] += 1
            n += 1
        for k in range(n_classes):
            w[_row_of_class(k) + WHOLE_LEFT + lane] = counts[k]
    while n < order_f.shape[0]:
        counts[_class(place_f[order_f[n] & SAMPLE])] += 1
        n += 1
    for k in range(n_classes):
        row = _row_of_class(k)
        for lane in range(WIDTH):
            w[row + WHOLE_RIGHT + lane] = counts[k] - w[row + WHOLE_LEFT + lane]


@njit(nogil=True, cache=True)
def _pass_cuts(order_g, place_f, min_samples_leaf, below, w):
    """Raise the best cuts on either side of each root to those of ``g``.

    ``below[k]`` is for the samples below the cut on both sides.
    """
    n = order_g.shape[0]
    n_classes = np.uint64(below.shape[0])
    below[:] = 0
    _fill(w, BELOW_LEFT, 0)
    _fill(w, BELOW_RIGHT, 0)
    _fill(w, N_LEFT, 0)
    for k in range(n_classes):
        _fill(w, _row_of_class(k), 0)
    for i in range(n - 1):
        place = place_f[order_g[i] & SAMPLE]
        position, k = _position(place), _class(place)
        below[k] += 1
        row = _row_of_class(k)
        for lane in range(WIDTH):
            left = np.int32(w[row + lane] + np.int32(position < w[ROOT + lane]))
            w[row + lane] = left
            w[BELOW_LEFT + lane] = _higher(w[BELOW_LEFT + lane], left)
            w[BELOW_RIGHT + lane] = _higher(w[BELOW_RIGHT + lane], np.int32(below[k] - left))
        if min_samples_leaf > 1:
            for lane in range(WIDTH):
                w[N_LEFT + lane] += np.int32(position < w[ROOT + lane])
        if order_g[i + 1] >= TIED:
            continue
        _fill(w, ABOVE_LEFT, 0)
        _fill(w, ABOVE_RIGHT, 0)
        for k in range(n_classes):
            row = _row_of_class(k)
            for lane in range(WIDTH):
                left = w[row + lane]
                above = np.int32(w[row + WHOLE_LEFT + lane] - left)
                w[ABOVE_LEFT + lane] = _higher(w[ABOVE_LEFT + lane], above)
                above = np.int32(w[row + WHOLE_RIGHT + lane] - below[k] + left)
                w[ABOVE_RIGHT + lane] = _higher(w[ABOVE_RIGHT + lane], above)
        for lane in range(WIDTH):
            left = np.int32(w[BELOW_LEFT + lane] + w[ABOVE_LEFT + lane])
            right = np.int32(w[BELOW_RIGHT + lane] + w[ABOVE_RIGHT + lane])
            w[BEST_LEFT + lane] = _higher(w[BEST_LEFT + lane], left)
            w[BEST_RIGHT + lane] = _higher(w[BEST_RIGHT + lane], right)
        if min_samples_leaf > 1:
            for lane in range(WIDTH):
                root, n_left = w[ROOT + lane], w[N_LEFT + lane]
                n_right = i + 1 - n_left
                if min(n_left, root - n_left) >= min_samples_leaf:
                    left = np.int32(w[BELOW_LEFT + lane] + w[ABOVE_LEFT + lane])
                    w[LARGE_LEFT + lane] = _higher(w[LARGE_LEFT + lane], left)
                if min(n_right, n - root - n_right) >= min_samples_leaf:
                    right = np.int32(w[BELOW_RIGHT + lane] + w[ABOVE_RIGHT + lane])
                    w[LARGE_RIGHT + lane] = _higher(w[LARGE_RIGHT + lane], right)


@njit(nogil=True, cache=True)
def _pass_cuts_of_two_classes(order_g, place_f, w):
    """Raise the best cuts on either side of each root to those of ``g``, leaves of any size.

    Of ``n`` samples whose classes differ by ``d`` a leaf gets ``(n + |d|) / 2`` right. So the best
    cut is that with the largest sum of the differences below and above it.
    """
    _fill(w, LEFT_BELOW, 0)
    both_below = np.int32(0)
    for i in range(order_g.shape[0] - 1):
        place = place_f[order_g[i] & SAMPLE]
        position = _position(place)
        sign = np.int32(2 * _class(place) - 1)
        both_below += sign
        is_cut = -np.int32(order_g[i + 1] < TIED)  # all bits or none
        for lane in range(WIDTH):
            change = sign if position < w[ROOT + lane] else np.int32(0)
            left = np.int32(w[LEFT_BELOW + lane] + change)
            w[LEFT_BELOW + lane] = left
            right = np.int32(both_below - left)
            on_left = abs(left) + abs(np.int32(w[WHOLE_LEFT_SIDE + lane] - left))
            on_right = abs(right) + abs(np.int32(w[WHOLE_RIGHT_SIDE + lane] - right))
            w[BEST_LEFT + lane] = _higher(w[BEST_LEFT + lane], np.int32(on_left & is_cut))
            w[BEST_RIGHT + lane] = _higher(w[BEST_RIGHT + lane], np.int32(on_right & is_cut))


@njit(nogil=True, cache=True)
def _split_two_classes(order, place_f, splits, w):
    """Find the best cuts on either side of each root by the differences between two classes."""
    first, second = _row_of_class(0), _row_of_class(1)
    for lane in range(WIDTH):
        left = w[second + WHOLE_LEFT + lane] - w[first + WHOLE_LEFT + lane]
        right = w[second + WHOLE_RIGHT + lane] - w[first + WHOLE_RIGHT + lane]
        w[WHOLE_LEFT_SIDE + lane], w[WHOLE_RIGHT_SIDE + lane] = left, right
    for g in splits:
        _pass_cuts_of_two_classes(order[g], place_f, w)
    for lane in range(WIDTH):
        n_left = w[ROOT + lane]
        w[BEST_LEFT + lane] = (n_left + w[BEST_LEFT + lane]) // 2
        w[BEST_RIGHT + lane] = (order.shape[1] - n_left + w[BEST_RIGHT + lane]) // 2


@njit(nogil=True, cache=True)
def try_roots(order, f, place_f, n_classes, splits, roots, split_cost, min_samples_leaf, costs):
    """Lower the costs of the sides of some roots, cuts of ``f`` with so many samples on the left.

    The roots ascend, and are at most `LANES`. A side is a leaf, or split by one of the features
    ``splits``.

    Parameters
    ----------
    place_f : array of int64
        Position by ``f`` and class of each sample, as `place_samples` fills it.
    costs : array [rule, side, root]
        The first rule has leaves of any size, the second one those that are large enough.
    """
    n = order.shape[1]
    w = np.zeros(np.int64(_row_of_class(n_classes)), np.int32)
    for lane in range(WIDTH):
        w[ROOT + lane] = roots[min(np.int64(lane), roots.shape[0] - 1)]
    _count_sides(order[f], place_f, n_classes, w)
    if n_classes == 2 and min_samples_leaf == 1:
        _split_two_classes(order, place_f, splits, w)
    else:
        below = np.zeros(n_classes, np.int32)
        for g in splits:
            _pass_cuts(order[g], place_f, min_samples_leaf, below, w)
    for lane in range(np.uint64(roots.shape[0])):
        for side in range(2):
            size = np.int64(n - w[ROOT + lane] if side == 1 else w[ROOT + lane])
            whole = WHOLE_RIGHT if side == 1 else WHOLE_LEFT
            best = w[(BEST_RIGHT if side == 1 else BEST_LEFT) + lane]
            large = w[(LARGE_RIGHT if side == 1 else LARGE_LEFT) + lane]
            most = 0
            for k in range(n_classes):
                most = max(most, w[_row_of_class(k) + whole + lane])
            leaf = (size - most) * COST_SCALE
            for rule in range(2):
                correct = large if rule == 1 and min_samples_leaf > 1 else best
                cost = min(leaf, split_cost + (size - correct) * COST_SCALE)
                costs[rule, side, lane] = min(costs[rule, side, lane], cost)


@njit(nogil=True, cache=True)
def open_roots(
    found, costs, root_bounds, left_of, n_bins, is_open, candidates, split_cost, below, f
):
    """List what a tree with a root of ``f`` that is cheaper than ``below`` can be made of.

    Returns
    -------
    intervals : array [i, what]
        Of candidates, as `search_roots` takes them. Bins next to each other make one.
    splits : array of features
        Those that may be split below the root.
    """
    n = left_of[f, n_bins[f]]
    intervals = np.zeros((n_bins[f], 6), np.int64)
    matters = np.zeros(n_bins.shape[0], np.bool_)
    i = -1
    last = -2
    for b in range(n_bins[f]):
        if root_bounds[f, b] >= below:
            continue
        end = b + 1 if is_open[f, b] else b
        if b > last + 1:
            i += 1
            first = np.searchsorted(candidates, left_of[f, b])
            intervals[i, LOW] = max(0, first - 1)
            intervals[i, LEFT_OF_LOW] = costs[1, f, 0, b]
        last = b
        final = np.searchsorted(candidates, left_of[f, end])  # belongs to the next bin, too
        intervals[i, HIGH] = min(final + 1, candidates.shape[0] - 1)
        intervals[i, RIGHT_OF_HIGH] = costs[1, f, 1, end]
        limit = below - 2 * split_cost
        for g in range(n_bins.shape[0]):
            if found[f, g, 1, 1, 0] >= 0:  # this pair was looked at
                wrong = left_of[f, b] - max(0, found[f, g, 1, 0, b])
                matters[g] |= wrong * COST_SCALE < limit - costs[1, f, 1, end]
                wrong = n - left_of[f, end] - max(0, found[f, g, 1, 1, end])
                matters[g] |= wrong * COST_SCALE < limit - costs[1, f, 0, b]
    return intervals[: i + 1], np.flatnonzero(matters)


@njit(nogil=True, cache=True)
def _still_open(intervals, candidates, split_cost, below):
    """Return the intervals that have candidates inside which may be better.

    Either both sides have the fewest samples that they can have, or both the most, and an error
    less for each sample between (as for bins: `_pair_kernels.bound_between`).
    """
    n = 0
    for i in range(intervals.shape[0]):
        low, high = intervals[i, LOW], intervals[i, HIGH]
        between = np.int64(candidates[high] - candidates[low]) * COST_SCALE
        fewest = intervals[i, LEFT_OF_LOW] + intervals[i, RIGHT_OF_HIGH]
        most = intervals[i, LEFT_OF_HIGH] + intervals[i, RIGHT_OF_LOW]
        sides = max(fewest, most - between)
        if high - low > 1 and split_cost + sides < below:
            intervals[n] = intervals[i]
            n += 1
    return intervals[:n]


@njit(nogil=True, cache=True)
def _n_side_by_side(intervals):
    """Return how many intervals, from the first one on, can be divided in one pass."""
    n = 1
    while n < min(LANES, intervals.shape[0]) and intervals[n, LOW] >= intervals[n - 1, HIGH]:
        n += 1
    return n


@njit(nogil=True, cache=True)
def _spread(intervals, tried):
    """Choose candidates inside of up to `LANES` intervals, evenly; return how many they are."""
    n_each = LANES // intervals.shape[0]
    n = 0
    for i in range(intervals.shape[0]):
        last, width = intervals[i, LOW], intervals[i, HIGH] - intervals[i, LOW]
        for step in range(1, n_each + 1):
            candidate = intervals[i, LOW] + width * step // (n_each + 1)
            if candidate > last:
                tried[n] = candidate
                n += 1
            last = candidate
    return n


@njit(nogil=True, cache=True)
def _divide(intervals, n_divided, tried, sides):
    """Put the parts of the first intervals, between the candidates tried, behind the others."""
    n_others = intervals.shape[0] - n_divided
    parts = np.empty((intervals.shape[0] + tried.shape[0], 6), np.int64)
    parts[:n_others] = intervals[n_divided:]
    n, j = n_others, 0
    for i in range(n_divided):
        parts[n] = intervals[i]
        while j < tried.shape[0] and tried[j] < intervals[i, HIGH]:
            left, right = sides[0, j], sides[1, j]
            parts[n, HIGH], parts[n, LEFT_OF_HIGH], parts[n, RIGHT_OF_HIGH] = tried[j], left, right
            n += 1
            parts[n] = intervals[i]
            parts[n, LOW], parts[n, LEFT_OF_LOW], parts[n, RIGHT_OF_LOW] = tried[j], left, right
            j += 1
        n += 1
    return parts


@njit(nogil=True, cache=True)
def search_roots(
    order, f, place_f, n_classes, candidates, splits, split_cost, min_samples_leaf, below,
    intervals, costs, first_split, n_splits,
):  # fmt: skip
    """Divide intervals of roots while they may hold a cheaper tree.

    An interval has its ends among the candidates of ``f``; those between are its own. They start in
    ascending order; parts of those that were divided wait behind the others.

    Only ``n_splits`` features are passed, so that a search can be stopped in between. ``costs`` and
    ``first_split`` say how far the first intervals have come.

    Returns
    -------
    cost, n_left
        Of the cheapest root; ``below, -1`` when none is cheaper.
    intervals, first_split
        What is left to do.
    """
    n = order.shape[1]
    best, best_left = below, -1
    tried = np.empty(LANES, np.int64)
    while True:
        if first_split == 0:
            intervals = _still_open(intervals, candidates, split_cost, best)
            costs[:] = n * COST_SCALE
        if intervals.shape[0] == 0 or n_splits <= 0:
            return best, best_left, intervals, first_split
        n_divided = _n_side_by_side(intervals)
        n_tried = _spread(intervals[:n_divided], tried)
        roots = candidates[tried[:n_tried]]
        some = splits[first_split : first_split + n_splits]
        try_roots(order, f, place_f, n_classes, some, roots, split_cost, min_samples_leaf, costs)
        n_splits -= max(1, some.shape[0])
        first_split += some.shape[0]
        if first_split < splits.shape[0]:
            return best, best_left, intervals, first_split
        first_split = 0
        for i in range(n_tried):
            cost = split_cost + costs[1, 0, i] + costs[1, 1, i]
            if cost < best and min(roots[i], n - roots[i]) >= min_samples_leaf:
                best, best_left = cost, roots[i]
        intervals = _divide(intervals, n_divided, tried[:n_tried], costs[0])
