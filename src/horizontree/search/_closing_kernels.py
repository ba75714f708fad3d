"""Kernels from the best tree of depth two over bins to the best one over all cuts.

Intervals of roots that could hold a cheaper tree, by the bounds of `_pair_kernels`, are taken
best bound first. At the two ends of an interval the samples that are always on a side are
counted by bins; a feature's cuts are looked at one by one only inside bins whose bound is low
enough. What is left is halved until all its roots can be searched cut by cut, as a *strip*::

    roots from low to high       side 0: always on it are the samples below low
    ──────|-----------|──────    side 1: always on it are the samples from high on
         low         high        in between: they join one by one as the root moves
"""

from typing import NamedTuple

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)
COST_SCALE = 1 << 20
NONE = np.int32(-1)  # fewer correct samples than any split has
STRIP_WORK = 200_000  # cuts times roots: above it an interval of roots is halved instead,
STRIP_WORK_PER_CUT = 256  # unless to list the cuts of all features twice more would take as long,
MOST_STRIP_WORK = 1 << 28  # but never above this: some tenths of a second
WORK_OF_LISTING = 32  # for each cut: what a strip does in the time
MOST_PENDING = 64  # pieces of an interval: two for each time that its width can be halved


@njit(nogil=True, cache=True)
def _higher(a, b):
    return a if a > b else b


@njit(nogil=True, cache=True)
def _largest(counts):
    most = counts[0]
    for k in range(1, counts.shape[0]):
        most = max(most, counts[k])
    return most


@njit(nogil=True, cache=True)
def _is_in_side(position, root, side):
    return position < root if side == 0 else position >= root


@njit(nogil=True, cache=True)
def _count_side(
    order_f, class_of, codes, n_bins, left_of, members, starts, f, b, root, side, matters, counts
):
    """Count one side of a root by class and bin: ``counts[g, k, c]`` of each ``g`` that matters.

    The root lies in bin ``b`` of ``f``, or at its lower boundary. The smaller side is walked
    through; the other one is what is left.
    """
    n_features, n_classes = starts.shape[0], starts.shape[1]
    n = order_f.shape[0]
    walked = 0 if root <= n - root else 1
    for g in range(n_features):
        if matters[g]:
            for k in range(n_classes):
                for c in range(n_bins[g]):
                    counts[g, k, c] = 0
    first_bin = 0 if walked == 0 else b + 1
    end_bin = b if walked == 0 else n_bins[f]
    if first_bin < end_bin:
        for k in range(n_classes):
            for j in range(starts[f, k, first_bin], starts[f, k, end_bin]):
                sample = members[f, j]
                for g in range(n_features):
                    if matters[g]:
                        counts[g, k, codes[sample, g]] += 1
    if b < n_bins[f]:
        begin = left_of[f, b] if walked == 0 else root
        end = root if walked == 0 else left_of[f, b + 1]
        for j in range(begin, end):
            sample = order_f[j] & SAMPLE
            k = class_of[sample]
            for g in range(n_features):
                if matters[g]:
                    counts[g, k, codes[sample, g]] += 1
    if walked != side:
        for g in range(n_features):
            if matters[g]:
                for k in range(n_classes):
                    for c in range(n_bins[g]):
                        whole = starts[g, k, c + 1] - starts[g, k, c]
                        counts[g, k, c] = whole - counts[g, k, c]


@njit(nogil=True, cache=True)
def _cuts_inside(
    order_g, begin, end, position_f, class_of, low, high, side, n_side, limit,
    below, above, scratch, cuts, n_cuts, fewest,
):  # fmt: skip
    """Look at the cuts strictly inside one bin; ``below`` and ``above`` move to its upper end.

    ``above`` counts the side's samples from ``begin`` on. Returns the number of promising cuts
    so far and the fewest errors so far.
    """
    always = low if side == 0 else high
    for j in range(begin, end):  # from here on ``above`` is what lies above the bin
        sample = order_g[j] & SAMPLE
        if _is_in_side(position_f[sample], always, side):
            above[class_of[sample]] -= 1
    most = _largest(above)
    for j in range(end - 1, begin - 1, -1):
        sample = order_g[j] & SAMPLE
        scratch[j - begin] = most
        if _is_in_side(position_f[sample], always, side):
            above[class_of[sample]] += 1
            most = max(most, above[class_of[sample]])
    most = _largest(below)
    is_new = False  # a sample that matters since the last cut
    for j in range(begin, end):
        sample = order_g[j] & SAMPLE
        if _is_in_side(position_f[sample], always, side):
            k = class_of[sample]
            below[k] += 1
            above[k] -= 1
            most = max(most, below[k])
            is_new = True
        elif low <= position_f[sample] < high:
            is_new = True
        if is_new and j + 1 < end and order_g[j + 1] & TIED == 0:
            errors = n_side - most - scratch[j - begin]
            fewest = min(fewest, errors)
            if errors < limit:
                cuts[n_cuts] = j
                n_cuts += 1
            is_new = False
    return n_cuts, fewest


@njit(nogil=True, cache=True)
def _promising_cuts(
    order_g, n_bins, left_of, is_open, position_f, class_of, counts, low, high, side, limit,
    below, above, scratch, cuts,
):  # fmt: skip
    """List the cuts of ``g`` with fewer than ``limit`` errors on what is always on this side.

    Of samples between ``low`` and ``high`` a cut may get all right. ``cuts[i]`` is the last
    position below a cut. Returns how many cuts there are, and the fewest errors: of any cut if
    they are below ``limit``, and otherwise at least ``limit``.
    """
    n_classes = counts.shape[0]
    n_side = 0
    for k in range(n_classes):
        below[k] = 0
        above[k] = 0
        for c in range(n_bins):
            above[k] += counts[k, c]
        n_side += above[k]
    fewest = n_side - _largest(above)
    n_cuts = 0
    for c in range(n_bins):
        if c > 0:
            errors = n_side - _largest(below) - _largest(above)
            fewest = min(fewest, errors)
            if errors < limit:
                cuts[n_cuts] = left_of[c] - 1
                n_cuts += 1
        # a cut in here gets right at most all samples of the bin, and of the others as many as at
        # its boundaries; nor more than the largest class on either side with all of the bin
        correct = _largest(below)
        most, most_below = 0, 0
        for k in range(n_classes):
            correct += counts[k, c]
            most = max(most, above[k] - counts[k, c])
            most_below = max(most_below, below[k] + counts[k, c])
        correct = min(correct + most, most_below + _largest(above))
        if is_open[c] and n_side - correct < limit:
            n_cuts, fewest = _cuts_inside(
                order_g, left_of[c], left_of[c + 1], position_f, class_of, low, high, side,
                n_side, limit, below, above, scratch, cuts, n_cuts, fewest,
            )  # fmt: skip
        else:
            for k in range(n_classes):
                below[k] += counts[k, c]
                above[k] -= counts[k, c]
    return n_cuts, fewest


@njit(nogil=True, cache=True)
def _count_at_cuts(
    order_g, n_bins, left_of, position_f, class_of, counts, root, side, cuts, below, above
):
    """Fill the class counts ``below[k, i]`` and ``above[k, i]`` cut ``i`` on one side."""
    n_classes, n_cuts = below.shape
    here = np.zeros(n_classes, np.int64)
    i = 0
    for c in range(n_bins):
        if i < n_cuts and cuts[i] < left_of[c + 1]:
            for j in range(left_of[c], left_of[c + 1]):
                sample = order_g[j] & SAMPLE
                if _is_in_side(position_f[sample], root, side):
                    here[class_of[sample]] += 1
                if i < n_cuts and j == cuts[i]:
                    for k in range(n_classes):
                        below[k, i] = here[k]
                    i += 1
        else:
            for k in range(n_classes):
                here[k] += counts[k, c]
    for k in range(n_classes):
        for i in range(n_cuts):
            above[k, i] = here[k] - below[k, i]


@njit(nogil=True, cache=True)
def _search_strip(
    order_f, order_g, n_bins, left_of, position_f, position_g, class_of, counts, low, high, side,
    min_samples_leaf, cuts, fewest,
):  # fmt: skip
    """Lower ``fewest[root - low]`` to the exact errors of the given cuts of ``g``, each root.

    Samples join the side one by one, from the root where it is smallest.
    """
    n = order_f.shape[0]
    n_classes = counts.shape[0]
    n_cuts = cuts.shape[0]
    below = np.empty((n_classes, n_cuts), np.int32)
    above = np.empty((n_classes, n_cuts), np.int32)
    start = low if side == 0 else high
    _count_at_cuts(
        order_g, n_bins, left_of, position_f, class_of, counts, start, side, cuts, below, above
    )
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
            first = np.searchsorted(cuts, position_g[sample])
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
    order_f, class_of, left, right, low, high, fewest, split_cost, min_samples_leaf, best
):
    """Return the cheapest root from ``low`` to ``high``: cost and root, or ``best`` and -1.

    ``left`` and ``right`` count the classes on either side of ``low``.
    """
    n = order_f.shape[0]
    best_root = -1
    for root in range(low, high + 1):
        is_cut = 0 < root < n and order_f[root] & TIED == 0
        if is_cut and min(root, n - root) >= min_samples_leaf:
            cost = split_cost
            for side in range(2):
                size = root if side == 0 else n - root
                most = _largest(left if side == 0 else right)
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
def _root_intervals(costs, left_of, n_bins, is_open, split_cost, below, interval, bound):
    """List the intervals of roots (feature, first bin) that may be cheaper than ``below``.

    The bounds are those of `_pair_kernels.bound_between`.
    """
    n = 0
    for f in range(n_bins.shape[0]):
        for b in range(n_bins[f]):
            end = b + 1 if is_open[f, b] else b
            n_between = left_of[f, end] - left_of[f, b]
            without = costs[1, f, 0, b] + costs[1, f, 1, end]
            with_them = costs[1, f, 0, end] + costs[1, f, 1, b]
            cost = split_cost + max(without, with_them - n_between * COST_SCALE)
            if cost < below and end > 0:
                interval[n, 0] = f
                interval[n, 1] = b
                bound[n] = cost
                n += 1
    return n


@njit(nogil=True, cache=True)
def _most_errors(limit, split_cost):
    """Return the number that the errors below a split must stay below."""
    return (limit - split_cost + COST_SCALE - 1) // COST_SCALE


class _Problem(NamedTuple):
    """What is known of the samples and their bins, as `close` is given it."""

    order: np.ndarray
    position: np.ndarray
    class_of: np.ndarray
    codes: np.ndarray
    n_bins: np.ndarray
    left_of: np.ndarray
    is_open: np.ndarray
    members: np.ndarray
    starts: np.ndarray
    found: np.ndarray
    errors: np.ndarray
    costs: np.ndarray


class _Workspace(NamedTuple):
    """What is worked out of one interval of roots after the other."""

    hoped: np.ndarray  # [side, g]  what a split of g costs at least
    matters: np.ndarray  # [g]  whether that is low enough
    counts: np.ndarray  # [side, g, class, bin]
    cuts: np.ndarray  # [side, g, i]  promising ones, the last position below each
    n_cuts: np.ndarray  # [side, g]
    cheapest: np.ndarray  # [side]  what it costs at least
    below: np.ndarray  # [class]
    above: np.ndarray  # [class]
    scratch: np.ndarray


@njit(nogil=True, cache=True)
def _make_workspace(n_features, n, n_classes, most_bins):
    return _Workspace(
        np.empty((2, n_features), np.int64),
        np.empty(n_features, np.bool_),
        np.empty((2, n_features, n_classes, most_bins), np.int32),
        np.empty((2, n_features, n), np.int32),
        np.empty((2, n_features), np.int64),
        np.empty(2, np.int64),
        np.empty(n_classes, np.int64),
        np.empty(n_classes, np.int64),
        np.empty(n, np.int64),
    )


@njit(nogil=True, cache=True)
def _hope(problem, work, f, b, end, split_cost):
    """Note what each feature may cost at least on either side of roots in bin ``b`` of ``f``."""
    n = problem.order.shape[1]
    for side in range(2):
        at = b if side == 0 else end
        size = problem.left_of[f, b] if side == 0 else n - problem.left_of[f, end]
        for g in range(problem.order.shape[0]):
            wrong = max(0, size - max(0, problem.found[f, g, 1, side, at]))
            work.hoped[side, g] = split_cost + wrong * COST_SCALE


@njit(nogil=True, cache=True)
def _list_cuts(problem, work, f, g, low, high, side, limit, split_cost):
    """List the promising cuts of one feature on one side; return what it costs at least."""
    p, w = problem, work
    w.n_cuts[side, g], fewest = _promising_cuts(
        p.order[g], p.n_bins[g], p.left_of[g], p.is_open[g], p.position[f], p.class_of,
        w.counts[side, g], low, high, side, _most_errors(limit, split_cost),
        w.below, w.above, w.scratch, w.cuts[side, g],
    )  # fmt: skip
    return split_cost + fewest * COST_SCALE


@njit(nogil=True, cache=True)
def _find_cuts(problem, work, f, b, end, low, high, best, split_cost):
    """List the cuts that may make a tree cheaper than ``best`` with a root from low to high.

    Returns the number of cuts times roots; -1 when there is no such tree.
    """
    p, w = problem, work
    n_features = p.order.shape[0]
    w.cheapest[1] = p.costs[1, f, 1, end]
    for side in range(2):
        limit = best - split_cost - w.cheapest[1 - side]
        for g in range(n_features):
            w.matters[g] = w.hoped[side, g] < limit
        _count_side(
            p.order[f], p.class_of, p.codes, p.n_bins, p.left_of, p.members, p.starts, f, b,
            low if side == 0 else high, side, w.matters, w.counts[side],
        )  # fmt: skip
        w.cheapest[side] = p.errors[f, side, b if side == 0 else end] * COST_SCALE
        for g in range(n_features):
            w.n_cuts[side, g] = 0
            if w.matters[g]:
                cost = _list_cuts(p, w, f, g, low, high, side, limit, split_cost)
                w.cheapest[side] = min(w.cheapest[side], cost)
        if w.cheapest[side] >= limit:
            return -1
    n_cuts = 0
    limit = best - split_cost - w.cheapest[1]
    for g in range(n_features):
        if w.n_cuts[0, g] > 0:  # once more, now that the other side is known better
            _list_cuts(p, w, f, g, low, high, 0, limit, split_cost)
        n_cuts += w.n_cuts[0, g] + w.n_cuts[1, g]
    return n_cuts * (high - low)


@njit(nogil=True, cache=True)
def _search_roots(problem, work, f, b, low, high, split_cost, min_samples_leaf, best):
    """Return the cheapest root from ``low`` to ``high``: cost and root, or ``best`` and -1."""
    p, w = problem, work
    n_features, n = p.order.shape
    fewest = np.full((2, high - low + 1), n, np.int64)
    for side in range(2):
        for g in range(n_features):
            if w.n_cuts[side, g] > 0:
                _search_strip(
                    p.order[f], p.order[g], p.n_bins[g], p.left_of[g], p.position[f],
                    p.position[g], p.class_of, w.counts[side, g], low, high, side,
                    min_samples_leaf, w.cuts[side, g, : w.n_cuts[side, g]], fewest[side],
                )  # fmt: skip
    left, right = w.below, w.above
    for k in range(left.shape[0]):
        left[k] = p.starts[f, k, b] - p.starts[f, k, 0]
        right[k] = p.starts[f, k, p.n_bins[f]] - p.starts[f, k, b]
    for j in range(p.left_of[f, b], low):
        k = p.class_of[p.order[f, j] & SAMPLE]
        left[k] += 1
        right[k] -= 1
    return _best_in_strip(
        p.order[f], p.class_of, left, right, low, high, fewest, split_cost, min_samples_leaf, best
    )


@njit(nogil=True, cache=True)
def close(
    order, position, class_of, codes, n_bins, left_of, is_open, members, starts, found, errors,
    costs, split_cost, min_samples_leaf, below, pending, n_pieces,
):  # fmt: skip
    """Find the cheapest root over all cuts, if it is cheaper than ``below``.

    Only so many pieces of intervals are looked at, fewer where their strips take long, so that a
    search can be stopped in between.
    ``pending[0]`` is the number of the interval to go on with, by bounds, and how many pieces of
    it are left; these follow, the next one last::

        pending    number n | low high | low high | ...   (n = 0: the whole interval)

    In another call ``below`` may be lower. That leaves out the last intervals, so that the numbers
    stay.

    Returns
    -------
    cost, feature, n_left
        ``below, -1, 0`` when no tree of depth two with a split is cheaper.
    is_done
        Whether nothing is left.
    """
    problem = _Problem(
        order, position, class_of, codes, n_bins, left_of, is_open, members, starts, found,
        errors, costs,
    )  # fmt: skip
    work = _make_workspace(order.shape[0], order.shape[1], starts.shape[1], is_open.shape[1])
    interval = np.empty((n_bins.sum(), 2), np.int64)
    bound = np.empty(n_bins.sum(), np.int64)
    n_intervals = _root_intervals(
        costs, left_of, n_bins, is_open, split_cost, below, interval, bound
    )
    by_bound = np.argsort(bound[:n_intervals], kind="mergesort")
    best, best_f, best_left = below, -1, 0
    height = pending[0, 1]
    for number in range(pending[0, 0], n_intervals):
        i = by_bound[number]
        if bound[i] >= best:
            break
        f = interval[i, 0]
        b = interval[i, 1]
        end = b + 1 if is_open[f, b] else b
        _hope(problem, work, f, b, end, split_cost)
        if height == 0:
            height = 1
            pending[height, 0], pending[height, 1] = left_of[f, b], left_of[f, end]
        while height > 0:
            if n_pieces == 0:
                pending[0, 0], pending[0, 1] = number, height
                return best, best_f, best_left, False
            n_pieces -= 1
            low, high = pending[height, 0], pending[height, 1]
            height -= 1
            strip_work = _find_cuts(problem, work, f, b, end, low, high, best, split_cost)
            if strip_work < 0:
                continue
            most_work = min(STRIP_WORK_PER_CUT * order.size, MOST_STRIP_WORK)
            is_long = strip_work > max(STRIP_WORK, most_work)
            middle = _middle_cut(order[f], low, high) if is_long else -1
            if middle > 0:
                pending[height + 1, 0], pending[height + 1, 1] = low, middle
                pending[height + 2, 0], pending[height + 2, 1] = middle, high
                height += 2
                continue
            n_pieces -= min(n_pieces, strip_work // (WORK_OF_LISTING * order.size))
            best, root = _search_roots(
                problem, work, f, b, low, high, split_cost, min_samples_leaf, best
            )
            if root >= 0:
                best_f, best_left = f, root
    return best, best_f, best_left, True
