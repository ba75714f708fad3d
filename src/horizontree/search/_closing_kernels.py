"""Kernels from the best tree of depth two over bins to the best one over all cuts.

Intervals of roots that could hold a cheaper tree, by the bounds of `_pair_kernels`, are taken
best bound first. The bound of an interval is made exact at its two ends; what is left is
halved until all its roots can be searched cut by cut, as a *strip*.
"""

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)
COST_SCALE = 1 << 20
NONE = np.int32(-1)  # fewer correct samples than any split has
STRIP_WORK = 200_000  # cuts times roots: above it an interval of roots is halved instead


@njit(nogil=True, cache=True)
def _higher(a, b):
    return a if a > b else b


@njit(nogil=True, cache=True)
def _is_in_side(position, root, side):
    return position < root if side == 0 else position >= root


@njit(nogil=True, cache=True)
def _sweep_down(order_g, position_f, class_of, root, side, counts, most_above):
    """Fill the largest class above each position of ``g``, of the samples on one side of a root.

    Returns how many these are, and their largest class.
    """
    for k in range(counts.shape[0]):
        counts[k] = 0
    n_side = 0
    most = 0
    for j in range(order_g.shape[0] - 1, -1, -1):
        sample = order_g[j] & SAMPLE
        most_above[j] = most
        if _is_in_side(position_f[sample], root, side):
            k = class_of[sample]
            counts[k] += 1
            most = max(most, counts[k])
            n_side += 1
    return n_side, most


@njit(nogil=True, cache=True)
def _side_errors(order_g, position_f, class_of, root, side, counts, most_above):
    """Return the fewest errors when ``g`` splits one side of a root; any cut, any leaf."""
    n = order_g.shape[0]
    n_side, most = _sweep_down(order_g, position_f, class_of, root, side, counts, most_above)
    correct = most
    for k in range(counts.shape[0]):
        counts[k] = 0
    most = 0
    for j in range(n - 1):
        sample = order_g[j] & SAMPLE
        if _is_in_side(position_f[sample], root, side):
            k = class_of[sample]
            counts[k] += 1
            most = max(most, counts[k])
        if order_g[j + 1] & TIED == 0:
            correct = max(correct, most + most_above[j])
    return n_side - correct


@njit(nogil=True, cache=True)
def _promising_cuts(
    order_g, position_f, class_of, low, high, side, limit, counts, most_above, cuts
):
    """List the cuts of ``g`` with fewer than ``limit`` errors on what is always on this side.

    The roots are ``low`` to ``high``; of samples in between, a cut may get all right.
    Returns how many cuts there are; ``cuts[i]`` is the last position below the cut.
    """
    n = order_g.shape[0]
    always = low if side == 0 else high
    n_side, _ = _sweep_down(order_g, position_f, class_of, always, side, counts, most_above)
    for k in range(counts.shape[0]):
        counts[k] = 0
    most = 0
    n_cuts = 0
    is_new = False  # a sample of this side since the last cut
    for j in range(n - 1):
        sample = order_g[j] & SAMPLE
        if _is_in_side(position_f[sample], always, side):
            k = class_of[sample]
            counts[k] += 1
            most = max(most, counts[k])
            is_new = True
        elif low <= position_f[sample] < high:
            is_new = True
        if is_new and order_g[j + 1] & TIED == 0:
            if n_side - most - most_above[j] < limit:
                cuts[n_cuts] = j
                n_cuts += 1
            is_new = False
    return n_cuts


@njit(nogil=True, cache=True)
def _count_at_cuts(order_g, position_f, class_of, root, side, cuts, below, above):
    """Fill the class counts ``below[k, i]`` and ``above[k, i]`` cut ``i`` on one side."""
    n_classes = below.shape[0]
    n_cuts = below.shape[1]
    counts = np.zeros(n_classes, np.int32)
    i = 0
    for j in range(order_g.shape[0]):
        sample = order_g[j] & SAMPLE
        if _is_in_side(position_f[sample], root, side):
            counts[class_of[sample]] += 1
        if i < n_cuts and j == cuts[i]:
            for k in range(n_classes):
                below[k, i] = counts[k]
            i += 1
    for k in range(n_classes):
        for i in range(n_cuts):
            above[k, i] = counts[k] - below[k, i]


@njit(nogil=True, cache=True)
def _search_strip(
    order_f, order_g, position_f, position_g, class_of, n_classes, low, high, side,
    min_samples_leaf, cuts, n_cuts, fewest,
):  # fmt: skip
    """Lower ``fewest[root - low]`` to the exact errors of the given cuts of ``g``, each root.

    Samples join the side one by one, from the root where it is smallest.
    """
    n = order_f.shape[0]
    below = np.empty((n_classes, n_cuts), np.int32)
    above = np.empty((n_classes, n_cuts), np.int32)
    start = low if side == 0 else high
    _count_at_cuts(order_g, position_f, class_of, start, side, cuts, below, above)
    most_below = np.zeros(n_cuts, np.int32)
    most_above = np.zeros(n_cuts, np.int32)
    n_below = np.zeros(n_cuts, np.int32)
    for k in range(n_classes):
        for i in range(n_cuts):
            most_below[i] = _higher(most_below[i], below[k, i])
            most_above[i] = _higher(most_above[i], above[k, i])
            n_below[i] += below[k, i]
    n_side = low if side == 0 else n - high
    for step in range(high - low + 1):
        root = low + step if side == 0 else high - step
        if root == n or order_f[root] & TIED == 0:
            correct = NONE
            if min_samples_leaf == 1:
                for i in range(n_cuts):
                    correct = _higher(correct, np.int32(most_below[i] + most_above[i]))
            else:
                for i in range(n_cuts):
                    smaller = min(n_below[i], n_side - n_below[i])
                    if smaller >= min_samples_leaf:
                        correct = _higher(correct, np.int32(most_below[i] + most_above[i]))
            if correct >= 0:
                fewest[root - low] = min(fewest[root - low], n_side - correct)
        if step < high - low:
            sample = order_f[root if side == 0 else root - 1] & SAMPLE
            k = class_of[sample]
            first = np.searchsorted(cuts[:n_cuts], position_g[sample])
            for i in range(first):
                above[k, i] += 1
                most_above[i] = _higher(most_above[i], above[k, i])
            for i in range(first, n_cuts):
                below[k, i] += 1
                most_below[i] = _higher(most_below[i], below[k, i])
                n_below[i] += 1
            n_side += 1


@njit(nogil=True, cache=True)
def _best_in_strip(
    order_f, class_of, n_classes, low, high, fewest, split_cost, min_samples_leaf, best
):
    """Return the cheapest root from ``low`` to ``high``: cost and root, or ``best`` and -1."""
    n = order_f.shape[0]
    left = np.zeros(n_classes, np.int64)
    right = np.zeros(n_classes, np.int64)
    for j in range(n):
        k = class_of[order_f[j] & SAMPLE]
        if j < low:
            left[k] += 1
        else:
            right[k] += 1
    best_root = -1
    for root in range(low, high + 1):
        is_cut = 0 < root < n and order_f[root] & TIED == 0
        if is_cut and min(root, n - root) >= min_samples_leaf:
            cost = split_cost
            for side in range(2):
                counts = left if side == 0 else right
                size = root if side == 0 else n - root
                most = 0
                for k in range(n_classes):
                    most = max(most, counts[k])
                with_split = split_cost + fewest[side, root - low] * COST_SCALE
                cost += min((size - most) * COST_SCALE, with_split)
            if cost < best:
                best, best_root = cost, root
        if root < high:
            k = class_of[order_f[root] & SAMPLE]
            left[k] += 1
            right[k] -= 1
    return best, best_root


@njit(nogil=True, cache=True)
def _middle_cut(order_f, low, high):
    """Return a cut strictly between two roots, near the middle; -1 when there is none."""
    middle = (low + high) // 2
    for cut in range(middle, low, -1):
        if order_f[cut] & TIED == 0:
            return cut
    for cut in range(middle + 1, high):
        if order_f[cut] & TIED == 0:
            return cut
    return -1


@njit(nogil=True, cache=True)
def _exact_side(
    order, position_f, class_of, hoped, limit, root, side, leaf, split_cost, counts, scratch, exact
):
    """Bound the cost of one side of a root over all cuts of the features that matter.

    A feature matters when its hoped cost is below ``limit``; ``exact[g]`` is its cost with
    the best cut, ignoring the size of leaves, or ``limit``.
    """
    lowest = leaf
    for g in range(order.shape[0]):
        exact[g] = limit
        if hoped[g] < limit:
            errors = _side_errors(order[g], position_f, class_of, root, side, counts, scratch)
            exact[g] = split_cost + errors * COST_SCALE
            lowest = min(lowest, exact[g])
    return lowest


@njit(nogil=True, cache=True)
def _root_intervals(costs, n_bins, is_open, split_cost, below, interval, bound):
    """List the intervals of roots (feature, first bin) that may be cheaper than ``below``."""
    n = 0
    for f in range(n_bins.shape[0]):
        for b in range(n_bins[f]):
            end = b + 1 if is_open[f, b] else b
            cost = split_cost + costs[1, f, 0, b] + costs[1, f, 1, end]
            if cost < below and end > 0:
                interval[n, 0] = f
                interval[n, 1] = b
                bound[n] = cost
                n += 1
    return n


@njit(nogil=True, cache=True)
def close(
    order, position, class_of, n_classes, n_bins, left_of, is_open, found, errors, costs,
    split_cost, min_samples_leaf, below,
):  # fmt: skip
    """Find the cheapest root over all cuts, if it is cheaper than ``below``.

    Returns
    -------
    cost, feature, n_left
        ``below, -1, 0`` when no tree of depth two with a split is cheaper.
    """
    n_features, n = order.shape
    interval = np.empty((n_bins.sum(), 2), np.int64)
    bound = np.empty(n_bins.sum(), np.int64)
    n_intervals = _root_intervals(costs, n_bins, is_open, split_cost, below, interval, bound)
    best, best_f, best_left = below, -1, 0
    hoped = np.empty((2, n_features), np.int64)
    exact = np.empty((2, n_features), np.int64)
    leaf = np.empty(2, np.int64)
    counts = np.zeros(n_classes, np.int64)
    scratch = np.empty(n, np.int32)
    cuts = np.empty((2, n_features, n), np.int32)
    n_cuts = np.empty((2, n_features), np.int64)
    stack = np.empty((64, 2), np.int64)
    for i in np.argsort(bound[:n_intervals], kind="mergesort"):
        if bound[i] >= best:
            break
        f = interval[i, 0]
        b = interval[i, 1]
        end = b + 1 if is_open[f, b] else b
        for side in range(2):
            at = b if side == 0 else end
            size = left_of[f, b] if side == 0 else n - left_of[f, end]
            leaf[side] = errors[f, side, at] * COST_SCALE
            for g in range(n_features):
                wrong = max(0, size - max(0, found[f, g, 1, side, at]))
                hoped[side, g] = split_cost + wrong * COST_SCALE
        stack[0, 0] = left_of[f, b]
        stack[0, 1] = left_of[f, end]
        height = 1
        while height > 0:
            height -= 1
            low = stack[height, 0]
            high = stack[height, 1]
            limit = best - split_cost - costs[1, f, 1, end]
            bound_low = _exact_side(
                order, position[f], class_of, hoped[0], limit, low, 0, leaf[0], split_cost,
                counts, scratch, exact[0],
            )  # fmt: skip
            if bound_low >= limit:
                continue
            limit = best - split_cost - bound_low
            bound_high = _exact_side(
                order, position[f], class_of, hoped[1], limit, high, 1, leaf[1], split_cost,
                counts, scratch, exact[1],
            )  # fmt: skip
            if bound_high >= limit:
                continue
            work = 0
            for side in range(2):
                limit = best - split_cost - (bound_high if side == 0 else bound_low)
                most_errors = (limit - split_cost + COST_SCALE - 1) // COST_SCALE
                for g in range(n_features):
                    n_cuts[side, g] = 0
                    if exact[side, g] < limit:
                        n_cuts[side, g] = _promising_cuts(
                            order[g], position[f], class_of, low, high, side, most_errors,
                            counts, scratch, cuts[side, g],
                        )  # fmt: skip
                        work += n_cuts[side, g] * (high - low)
            middle = _middle_cut(order[f], low, high) if work > STRIP_WORK else -1
            if middle > 0:
                stack[height, 0], stack[height, 1] = low, middle
                stack[height + 1, 0], stack[height + 1, 1] = middle, high
                height += 2
                continue
            fewest = np.full((2, high - low + 1), n, np.int64)
            for side in range(2):
                for g in range(n_features):
                    if n_cuts[side, g] > 0:
                        _search_strip(
                            order[f], order[g], position[f], position[g], class_of, n_classes,
                            low, high, side, min_samples_leaf, cuts[side, g], n_cuts[side, g],
                            fewest[side],
                        )  # fmt: skip
            best, root = _best_in_strip(
                order[f], class_of, n_classes, low, high, fewest, split_cost, min_samples_leaf,
                best,
            )  # fmt: skip
            if root >= 0:
                best_f, best_left = f, root
    return best, best_f, best_left
