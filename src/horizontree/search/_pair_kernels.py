"""Kernels of the exact search for trees of depth two: histograms of pairs of features.

Each feature is cut into at most 255 bins. For a pair of features ``f, g`` a class is counted
in the four leaves of every tree that splits on the one feature and then on the other::

              g < c     g >= c
    f < b     M00       M01
    f >= b    M10       M11

The boundary ``b`` moves up bin by bin; the samples of the bin join, and the counts of all ``c``
follow as a running sum. Of each leaf the largest class is kept; the sums of two leaves are the
correct samples of a side of a root, for ``f`` above ``g`` and for ``g`` above ``f`` at once.

16 pairs are scanned side by side, one in each lane of a vector register, so that sums along
``c`` and maxima along ``b`` and ``c`` need no exchange between lanes. One pair costs ``n``
increments and about ``1 + K`` vector operations for 16 cells, a few cycles for each class.

*Achieved* is the most correct samples that a split of one side of a root boundary gets, at
boundaries of bins; a split may leave a leaf empty where leaves of any size are allowed.
*Optimistic* is a bound for splits inside a bin too: the samples of that bin count as correct; or
they are in both leaves, and as many are correct as the largest classes there hold, if that is less.
A side of a root only gains samples as the root's cut moves away from it, and errors with them,
so the two ends of an interval of roots bound all roots inside.

    bins ──group_by_bins──► samples by bin ──scan_pairs──► achieved, optimistic
         ──side_costs──► bounds of every root interval ──close──► the exact optimum
"""

from typing import NamedTuple

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)
COST_SCALE = 1 << 20
NONE = np.int32(-1)  # fewer correct samples than any split has
WINDOW = 32  # samples over which impurity is measured

LANES = 16  # pairs that are scanned side by side: 16-bit counts in a vector of 256 bits
WIDTH = np.uint64(LANES)
ROW = 256 * LANES + 160  # places from one row of the workspace to the next; a power of two
# would put all rows into the same few lines of the cache

# Rows of the workspace. Place ``c * LANES + lane`` of a row belongs to bin ``c`` of ``g``. One
# array with rows at fixed distances lets the compiler see that they do not overlap; unsigned
# indices, that they are not negative. Before each row there are LANES places for what lies before
# the first bin: zeros, but for M01 and M11, where nothing lies below it, and all above.
_ROWS = [np.uint64(row * ROW + LANES) for row in range(21)]
M00, M01, M10, M11 = _ROWS[:4]  # largest class of each leaf: below or above b of f, c of g
P00, P01, P10, P11 = _ROWS[4:8]  # the same at the boundary before
LOW_F, HIGH_F = _ROWS[8:10]  # correct samples below and above a boundary of f
LOW_G, HIGH_G = _ROWS[10:12]  # the same of g, the best so far
HOPE_LOW_G, HOPE_HIGH_G = _ROWS[12:14]
CELLS, ALL_NEW = _ROWS[14:16]  # samples that join: in each bin, and altogether
NEW_BELOW, NEW_ABOVE = _ROWS[16:18]  # samples that joined last, of all classes
OPEN_F, OPEN_G = _ROWS[18:20]  # masks
COUNTS = _ROWS[20]  # four rows for each class, and four for all classes together
BELOW, ABOVE, TOTAL_BELOW, TOTAL_ABOVE = (np.uint64(row * ROW) for row in range(4))


# ------------------------------------------------------------------------------------- bins


@njit(nogil=True, cache=True)
def _mass(order_f, begin, n, class_of, n_classes, mass):
    """Measure each sample's share of a bin: half by count, half by impurity around it.

    Returns the number of distinct values.
    """
    counts = np.zeros(n_classes, np.int64)
    n_distinct = 0
    impurity = 0
    for first in range(0, n, WINDOW):
        end = min(n, first + WINDOW)
        for k in range(n_classes):
            counts[k] = 0
        for j in range(first, end):
            n_distinct += order_f[begin + j] & TIED == 0
            counts[class_of[order_f[begin + j] & SAMPLE]] += 1
        largest = 0
        for k in range(n_classes):
            largest = max(largest, counts[k])
        mass[first // WINDOW] = end - first - largest
        impurity += end - first - largest
    for window in range((n + WINDOW - 1) // WINDOW):
        if impurity > 0:
            mass[window] = 0.5 / n + 0.5 * mass[window] / (impurity * WINDOW)
        else:
            mass[window] = 1.0 / n
    return n_distinct


@njit(nogil=True, cache=True)
def _is_heavy(order_f, begin, n, j, mass, most):
    """Return whether the samples tied with the ``j``-th have the mass of two bins."""
    together = 0.0
    while True:
        together += mass[j // WINDOW]
        j += 1
        if together * most >= 2:
            return True
        if j == n or order_f[begin + j] & TIED == 0:
            return False


@njit(nogil=True, cache=True)
def make_bins(
    order, rows, begin, end, class_of, n_classes, slot_of, most, codes, n_bins, left_of, is_open
):
    """Cut each feature into at most ``most`` bins of about equal mass; ties stay together.

    A value with the mass of two bins has one to itself: next to others its bin would be open, and
    nearly nothing known of its samples. That leaves no fewer bins to the values after it.
    The features are some ``rows`` of ``order``, the samples are those from ``begin`` to ``end``.
    ``codes[slot_of[sample], f]`` is the bin, ``left_of[f, b]`` the number of samples in bins
    below ``b``, and ``is_open[f, b]`` tells whether bin ``b`` holds more than one value.
    """
    n = end - begin
    mass = np.empty((n + WINDOW - 1) // WINDOW)
    for f in range(rows.shape[0]):
        order_f = order[rows[f]]
        n_distinct = _mass(order_f, begin, n, class_of, n_classes, mass)
        b = 0
        seen = 0.0
        left_of[f, 0] = 0
        is_open[f, 0] = False
        for j in range(n):
            entry = order_f[begin + j]
            if j > 0 and entry & TIED == 0:
                if b + 1 < most and (
                    n_distinct <= most
                    or seen * most >= b + 1
                    or _is_heavy(order_f, begin, n, j, mass, most)
                ):
                    b += 1
                    left_of[f, b] = j
                    is_open[f, b] = False
                else:
                    is_open[f, b] = True
            seen += mass[j // WINDOW]
            codes[slot_of[entry & SAMPLE], f] = b
        n_bins[f] = b + 1
        left_of[f, b + 1] = n


# ------------------------------------------------------------------------------------ pairs


@njit(nogil=True, cache=True)
def group_by_bins(codes, first, last, n_bins, members, starts):
    """List the samples of each feature by class and bin.

    ``members[f, starts[f, k, b] : starts[f, k, b + 1]]`` are those of class ``k`` in bin ``b``.
    The samples are ``first[k]`` to ``last[k]`` of each class ``k``.
    """
    n_classes = first.shape[0]
    most = starts.shape[2]
    fill = np.empty(most, np.int64)
    for f in range(n_bins.shape[0]):
        begin = 0
        for k in range(n_classes):
            for b in range(n_bins[f]):
                fill[b] = 0
            for i in range(first[k], last[k]):
                fill[codes[i, f]] += 1
            for b in range(n_bins[f]):
                starts[f, k, b] = begin
                begin += fill[b]
                fill[b] = starts[f, k, b]
            starts[f, k, n_bins[f]] = begin
            for i in range(first[k], last[k]):
                b = codes[i, f]
                members[f, fill[b]] = i
                fill[b] += 1


@njit(nogil=True, cache=True)
def _higher(a, b):
    return a if a > b else b


@njit(nogil=True, cache=True)
def _lower(a, b):
    return a if a < b else b


@njit(nogil=True, cache=True)
def _clear(work, row, n, value=0):
    for a in range(n):
        work[row + a] = value


@njit(nogil=True, cache=True)
def _repeat(work, row, n):
    """Copy the first value of each lane to all places of a row."""
    for a in range(WIDTH, n):
        work[row + a] = work[row + a - WIDTH]


@njit(nogil=True, cache=True)
def _cumulate(work, n):
    """Turn the new samples of each bin into those at or below it, and repeat their number."""
    for a in range(WIDTH, n):
        work[CELLS + a] += work[CELLS + a - WIDTH]
    for lane in range(WIDTH):
        work[ALL_NEW + lane] = work[CELLS + n - WIDTH + lane]
    _repeat(work, ALL_NEW, n)


@njit(nogil=True, cache=True)
def _join_and_compare(work, block, n):
    """Add the new samples of a class to those below the root boundary, and then compare."""
    as_count = work.dtype.type
    for a in range(n):
        new = work[CELLS + a]
        below = as_count(work[block + BELOW + a] + new)
        above = as_count(work[block + ABOVE + a] + as_count(work[ALL_NEW + a] - new))
        below_right = as_count(work[block + TOTAL_BELOW + a] - below)
        above_right = as_count(work[block + TOTAL_ABOVE + a] - above)
        work[block + BELOW + a] = below
        work[block + ABOVE + a] = above
        work[NEW_BELOW + a] += new
        work[CELLS + a] = 0
        work[M00 + a] = _higher(work[M00 + a], below)
        work[M01 + a] = _higher(work[M01 + a], above)
        work[M10 + a] = _higher(work[M10 + a], below_right)
        work[M11 + a] = _higher(work[M11 + a], above_right)


@njit(nogil=True, cache=True)
def _count_all(work, block, n):
    """Add up what has joined in all classes."""
    for lane in range(WIDTH):
        work[ALL_NEW + lane] = work[NEW_BELOW + n - WIDTH + lane]
    _repeat(work, ALL_NEW, n)
    for a in range(n):
        below = work[NEW_BELOW + a]
        above = work[ALL_NEW + a] - below
        work[NEW_ABOVE + a] = above
        work[block + BELOW + a] += below
        work[block + ABOVE + a] += above


@njit(nogil=True, cache=True)
def _compare(work, block, n):
    """Compare one class with the largest of each leaf."""
    as_count = work.dtype.type
    for a in range(n):
        below = work[block + BELOW + a]
        above = work[block + ABOVE + a]
        below_right = as_count(work[block + TOTAL_BELOW + a] - below)
        above_right = as_count(work[block + TOTAL_ABOVE + a] - above)
        work[M00 + a] = _higher(work[M00 + a], below)
        work[M01 + a] = _higher(work[M01 + a], above)
        work[M10 + a] = _higher(work[M10 + a], below_right)
        work[M11 + a] = _higher(work[M11 + a], above_right)


@njit(nogil=True, cache=True)
def _achieve(work, n):
    """Take the correct samples of every cut, for ``f`` as root and for ``g`` as root."""
    as_count = work.dtype.type
    for a in range(n):
        m00, m01, m10, m11 = work[M00 + a], work[M01 + a], work[M10 + a], work[M11 + a]
        work[LOW_F + a] = m00 + m01
        work[HIGH_F + a] = m10 + m11
        work[LOW_G + a] = _higher(work[LOW_G + a], as_count(m00 + m10))
        work[HIGH_G + a] = _higher(work[HIGH_G + a], as_count(m01 + m11))


@njit(nogil=True, cache=True)
def _achieve_with_large_leaves(work, counts, n, min_samples_leaf):
    """Do the same where a leaf must hold more than one sample."""
    as_count = work.dtype.type
    none = as_count(NONE)
    least = as_count(min_samples_leaf)
    for a in range(n):
        m00, m01, m10, m11 = work[M00 + a], work[M01 + a], work[M10 + a], work[M11 + a]
        is_large_00 = work[counts + BELOW + a] >= least
        is_large_01 = work[counts + ABOVE + a] >= least
        n10 = as_count(work[counts + TOTAL_BELOW + a] - work[counts + BELOW + a])
        n11 = as_count(work[counts + TOTAL_ABOVE + a] - work[counts + ABOVE + a])
        is_large_10 = n10 >= least
        is_large_11 = n11 >= least
        work[LOW_F + a] = as_count(m00 + m01) if is_large_00 & is_large_01 else none
        work[HIGH_F + a] = as_count(m10 + m11) if is_large_10 & is_large_11 else none
        low = as_count(m00 + m10) if is_large_00 & is_large_10 else none
        high = as_count(m01 + m11) if is_large_01 & is_large_11 else none
        work[LOW_G + a] = _higher(work[LOW_G + a], low)
        work[HIGH_G + a] = _higher(work[HIGH_G + a], high)


@njit(nogil=True, cache=True)
def _hope_along(work, counts, n):
    """Take the most that a cut of ``g`` can get right: at a boundary, or inside an open bin.

    Cut inside bin ``c``, the samples of the bin are all right, those below and above it are
    as at its two boundaries; or the bin is on both sides of the cut, if that is less. The bin is
    added last, so that no sum is above the number of samples.
    """
    as_count = work.dtype.type
    for lane in range(WIDTH):  # above the first bin's lower boundary there is everything
        work[M01 - WIDTH + lane] = work[M00 + n - WIDTH + lane]
        work[M11 - WIDTH + lane] = work[M10 + n - WIDTH + lane]
    for a in range(n):
        m00, m01, m10, m11 = work[M00 + a], work[M01 + a], work[M10 + a], work[M11 + a]
        # the bin before it; before the first one there are zeros
        below = as_count(work[counts + BELOW + a] - work[counts + BELOW + a - WIDTH])
        inside = as_count(work[counts + TOTAL_BELOW + a] - work[counts + TOTAL_BELOW + a - WIDTH])
        above = as_count(inside - below)
        low = as_count(work[M00 + a - WIDTH] + m01)
        high = as_count(work[M10 + a - WIDTH] + m11)
        low = _lower(low, as_count(m00 + as_count(work[M01 + a - WIDTH] - below)))
        high = _lower(high, as_count(m10 + as_count(work[M11 + a - WIDTH] - above)))
        low = as_count(as_count(low + below) & work[OPEN_G + a])
        high = as_count(as_count(high + above) & work[OPEN_G + a])
        work[LOW_F + a] = _higher(as_count(m00 + m01), low)
        work[HIGH_F + a] = _higher(as_count(m10 + m11), high)


@njit(nogil=True, cache=True)
def _hope_across(work, n):
    """Do the same for ``g`` as root and a cut of ``f``, inside the bin that has just joined."""
    as_count = work.dtype.type
    for a in range(n):
        m00, m01, m10, m11 = work[M00 + a], work[M01 + a], work[M10 + a], work[M11 + a]
        is_open = work[OPEN_F + a]
        below, above = work[NEW_BELOW + a], work[NEW_ABOVE + a]
        low = as_count(work[P00 + a] + m10)
        high = as_count(work[P01 + a] + m11)
        low = _lower(low, as_count(m00 + as_count(work[P10 + a] - below)))
        high = _lower(high, as_count(m01 + as_count(work[P11 + a] - above)))
        low = _higher(as_count(as_count(low + below) & is_open), as_count(m00 + m10))
        high = _higher(as_count(as_count(high + above) & is_open), as_count(m01 + m11))
        work[HOPE_LOW_G + a] = _higher(work[HOPE_LOW_G + a], low)
        work[HOPE_HIGH_G + a] = _higher(work[HOPE_HIGH_G + a], high)
        work[P00 + a] = m00
        work[P01 + a] = m01
        work[P10 + a] = m10
        work[P11 + a] = m11


@njit(nogil=True, cache=True)
def _fold(work, n):
    """Bring the highest value of each lane of ``LOW_F`` and ``HIGH_F`` to its first place."""
    while n > WIDTH:
        half = n // WIDTH // np.uint64(2) * WIDTH
        n -= half
        for a in range(half):
            work[LOW_F + a] = _higher(work[LOW_F + a], work[LOW_F + a + n])
            work[HIGH_F + a] = _higher(work[HIGH_F + a], work[HIGH_F + a + n])


@njit(nogil=True, cache=True)
def _block(k):
    """Return where the counts of a class are."""
    return COUNTS + np.uint64(4 * k * ROW)


@njit(nogil=True, cache=True)
def _start(work, pairs, n_bins, is_open, starts, classes, n_g, n_places):
    """Clear the workspace for some pairs and fill in the totals over all bins of ``f``."""
    n_classes = starts.shape[1]
    for row in (P00, P01, P10, P11, CELLS, OPEN_F, OPEN_G):
        _clear(work, row, n_places)
    for row in (LOW_G, HIGH_G, HOPE_LOW_G, HOPE_HIGH_G):
        _clear(work, row, n_places, NONE)
    for row in (BELOW, ABOVE, TOTAL_BELOW, TOTAL_ABOVE):
        _clear(work, _block(n_classes) + row, n_places)
        for k in classes:
            _clear(work, _block(k) + row, n_places)
    for lane in range(pairs.shape[0]):
        g = pairs[lane, 1]
        for c in range(n_g):
            a = np.uint64(c * LANES + lane)
            end = min(c + 1, n_bins[g])
            for k in classes:
                below = starts[g, k, end] - starts[g, k, 0]
                above = starts[g, k, n_bins[g]] - starts[g, k, end]
                work[_block(k) + TOTAL_BELOW + a] = below
                work[_block(k) + TOTAL_ABOVE + a] = above
                work[_block(n_classes) + TOTAL_BELOW + a] += below
                work[_block(n_classes) + TOTAL_ABOVE + a] += above
                work[P10 + a] = max(work[P10 + a], below)
                work[P11 + a] = max(work[P11 + a], above)
            if c < n_bins[g] and is_open[g, c]:
                work[OPEN_G + a] = -1  # all bits


@njit(nogil=True, cache=True)
def _add_samples(work, codes, pairs, n_bins, members, starts, k, b):
    """Count the samples of class ``k`` in bin ``b`` of each ``f`` by their bin of ``g``.

    Returns whether there are any. Lanes with the same ``f`` share the walk over its samples.
    """
    n_lanes = pairs.shape[0]
    n_features = np.uint64(codes.shape[1])
    flat = codes.reshape(-1)
    one = work.dtype.type(1)
    is_any = False
    lane = 0
    while lane < n_lanes:
        f = pairs[lane, 0]
        end = lane + 1
        while end < n_lanes and pairs[end, 0] == f:
            end += 1
        if b < n_bins[f]:
            for j in range(starts[f, k, b], starts[f, k, b + 1]):
                is_any = True
                sample = np.uint64(members[f, j]) * n_features
                for other in range(lane, end):
                    code = np.uint64(flat[sample + np.uint64(pairs[other, 1])])
                    work[CELLS + code * WIDTH + np.uint64(other)] += one
        lane = end
    return is_any


@njit(nogil=True, cache=True)
def _scan_lanes(
    codes, n_bins, is_open, members, starts, classes, min_samples_leaf, with_hope, pairs, work, out
):
    """Scan up to `LANES` pairs of features side by side."""
    n_classes = starts.shape[1]
    n_lanes = pairs.shape[0]
    n_f = 0
    n_g = 0
    for lane in range(n_lanes):
        n_f = max(n_f, n_bins[pairs[lane, 0]])
        n_g = max(n_g, n_bins[pairs[lane, 1]])
    n = np.uint64(n_g * LANES)
    _start(work, pairs, n_bins, is_open, starts, classes, n_g, n)
    all_classes = _block(n_classes)
    needs_counts = with_hope or min_samples_leaf > 1
    for b in range(1, n_f + 1):
        for row in (M00, M01, M10, M11, NEW_BELOW):
            _clear(work, row, n)
        for k in classes:
            if _add_samples(work, codes, pairs, n_bins, members, starts, k, b - 1):
                _cumulate(work, n)
                _join_and_compare(work, _block(k), n)
            else:
                _compare(work, _block(k), n)
        if needs_counts:
            _count_all(work, all_classes, n)
        if min_samples_leaf > 1:
            _achieve_with_large_leaves(work, all_classes, n, min_samples_leaf)
        else:
            _achieve(work, n)
        _fold(work, n)
        for lane in range(n_lanes):
            f = pairs[lane, 0]
            g = pairs[lane, 1]
            if b < n_bins[f]:
                out[f, g, 0, 0, b] = work[LOW_F + np.uint64(lane)]
                out[f, g, 0, 1, b] = work[HIGH_F + np.uint64(lane)]
        if not with_hope:
            continue
        for lane in range(n_lanes):
            f = pairs[lane, 0]
            may_cut = b <= n_bins[f] and is_open[f, b - 1]
            work[OPEN_F + np.uint64(lane)] = -1 if may_cut else 0
        _repeat(work, OPEN_F, n)
        _hope_across(work, n)
        _hope_along(work, all_classes, n)
        _fold(work, n)
        for lane in range(n_lanes):
            f = pairs[lane, 0]
            g = pairs[lane, 1]
            if b <= n_bins[f]:
                out[f, g, 1, 0, b] = work[LOW_F + np.uint64(lane)]
                out[f, g, 1, 1, b] = work[HIGH_F + np.uint64(lane)]
    for lane in range(n_lanes):
        f = pairs[lane, 0]
        g = pairs[lane, 1]
        for c in range(1, n_bins[g] + 1):
            a = np.uint64((c - 1) * LANES + lane)
            if c < n_bins[g]:
                out[g, f, 0, 0, c] = work[LOW_G + a]
                out[g, f, 0, 1, c] = work[HIGH_G + a]
            if with_hope:
                out[g, f, 1, 0, c] = work[HOPE_LOW_G + a]
                out[g, f, 1, 1, c] = work[HOPE_HIGH_G + a]


@njit(nogil=True, cache=True)
def scan_pairs(
    codes, n_bins, is_open, members, starts, min_samples_leaf, with_hope, pairs, work, out
):
    """Fill what either feature of each pair achieves and may hope for above the other.

    ``out[f, g, 0, side, b]`` is achieved and ``out[f, g, 1, side, b]`` optimistic, for the
    samples below (side 0) and above (side 1) boundary ``b`` of ``f`` when ``g`` splits them.
    ``with_hope`` asks for the optimistic ones. ``members`` and ``starts`` come from
    `group_by_bins`, ``work`` from `make_workspace`.
    """
    classes = np.empty(starts.shape[1], np.int64)
    n_present = 0
    for k in range(starts.shape[1]):
        if starts[0, k, n_bins[0]] > starts[0, k, 0]:
            classes[n_present] = k
            n_present += 1
    for begin in range(0, pairs.shape[0], LANES):
        lanes = pairs[begin : begin + LANES]
        _scan_lanes(
            codes, n_bins, is_open, members, starts, classes[:n_present], min_samples_leaf,
            with_hope, lanes, work, out,
        )  # fmt: skip
    n_kinds = 2 if with_hope else 1
    for i in range(pairs.shape[0]):
        for way in range(2):  # the ends: a side is empty, or it holds all samples
            f = pairs[i, way]
            g = pairs[i, 1 - way]
            for kind in range(n_kinds):
                every = out[f, g, 1, 0, n_bins[f]] if kind == 1 else NONE
                out[f, g, kind, 0, 0] = NONE
                out[f, g, kind, 1, 0] = every
                out[f, g, kind, 0, n_bins[f]] = every
                out[f, g, kind, 1, n_bins[f]] = NONE


# ------------------------------------------------------------------------- costs of a side


@njit(nogil=True, cache=True)
def count_bins(starts, n_bins, left_of, errors, purity):
    """Fill the samples ``left_of[f, b]`` a boundary and the ``errors[f, side, b]`` of a leaf.

    ``purity[f, b]`` is higher the lower the gini impurity of the two sides.
    """
    n_classes = starts.shape[1]
    for f in range(n_bins.shape[0]):
        for b in range(n_bins[f] + 1):
            low, high, low_most, high_most = 0, 0, 0, 0
            low_squares, high_squares = 0, 0
            for k in range(n_classes):
                below = starts[f, k, b] - starts[f, k, 0]
                above = starts[f, k, n_bins[f]] - starts[f, k, b]
                low += below
                high += above
                low_squares += below * below
                high_squares += above * above
                low_most = max(low_most, below)
                high_most = max(high_most, above)
            purity[f, b] = low_squares / max(1, low) + high_squares / max(1, high)
            left_of[f, b] = low
            errors[f, 0, b] = low - low_most
            errors[f, 1, b] = high - high_most


@njit(nogil=True, cache=True)
def side_costs(found, left_of, n_bins, errors, split_cost, n_kinds, out):
    """Fill ``out[kind, f, side, b]``: the cost of a side as a leaf or with one split.

    ``found[f, g, kind, side, b]`` comes from `scan_pairs`, ``errors`` from `count_bins`.
    """
    n_features = n_bins.shape[0]
    for f in range(n_features):
        n = left_of[f, n_bins[f]]
        for kind in range(n_kinds):
            for side in range(2):
                for b in range(n_bins[f] + 1):
                    correct = NONE
                    for g in range(n_features):
                        correct = _higher(correct, found[f, g, kind, side, b])
                    size = left_of[f, b] if side == 0 else n - left_of[f, b]
                    cost = errors[f, side, b] * COST_SCALE
                    if correct >= 0:
                        cost = min(cost, split_cost + max(0, size - correct) * COST_SCALE)
                    out[kind, f, side, b] = cost


@njit(nogil=True, cache=True)
def best_root(costs, left_of, n_bins, purity, split_cost, min_samples_leaf):
    """Return the cheapest root at a boundary of bins: cost, feature, boundary.

    Equal cost: the purer sides; equal again: the first feature, the lowest boundary.
    """
    best, best_f, best_b = np.int64(1) << 62, -1, 0
    for f in range(n_bins.shape[0]):
        n = left_of[f, n_bins[f]]
        for b in range(1, n_bins[f]):
            if min(left_of[f, b], n - left_of[f, b]) >= min_samples_leaf:
                cost = split_cost + costs[0, f, 0, b] + costs[0, f, 1, b]
                if cost < best or (cost == best and purity[f, b] > purity[best_f, best_b]):
                    best, best_f, best_b = cost, f, b
    return best, best_f, best_b


@njit(nogil=True, cache=True)
def bound_between(fewest_low, fewest_high, most_low, most_high, n_between):
    """Return what the two sides of any root between two others cost at least, together.

    ``fewest`` are the sides' costs without the samples between the two, ``most`` with all of them.
    A side with more samples costs at least as much, and at most an error more for each of them.
    """
    return max(fewest_low + fewest_high, most_low + most_high - n_between * COST_SCALE)


@njit(nogil=True, cache=True)
def bound_roots(costs, left_of, n_bins, is_open, split_cost, bounds):
    """Fill ``bounds[f, b]``: no root at the lower boundary of bin ``b``, or in it, costs less."""
    bounds[:] = np.int64(1) << 62
    for f in range(n_bins.shape[0]):
        for b in range(n_bins[f]):
            end = b + 1 if is_open[f, b] else b
            if end > 0:
                sides = bound_between(
                    costs[1, f, 0, b], costs[1, f, 1, end], costs[1, f, 0, end], costs[1, f, 1, b],
                    left_of[f, end] - left_of[f, b],
                )  # fmt: skip
                bounds[f, b] = split_cost + sides


@njit(nogil=True, cache=True)
def bound_pairs(found, errors, costs, left_of, n_bins, is_open, split_cost, pairs):
    """Return, for each pair of features, a cost that no tree made with it is below.

    A tree is made with a pair when one of the two is its root and the other one below it.
    A feature paired with itself stands for its trees with leaves below the root, too.
    """
    bounds = np.empty(pairs.shape[0], np.int64)
    for i in range(pairs.shape[0]):
        lowest = np.int64(1) << 62
        for way in range(2):
            root = pairs[i, way]
            other = pairs[i, 1 - way]
            n = left_of[root, n_bins[root]]
            for b in range(n_bins[root]):
                end = b + 1 if is_open[root, b] else b
                if end == 0:
                    continue
                low = left_of[root, b] - max(0, found[root, other, 1, 0, b])
                high = n - left_of[root, end] - max(0, found[root, other, 1, 1, end])
                low = split_cost + max(0, low) * COST_SCALE
                high = split_cost + max(0, high) * COST_SCALE
                if root == other:
                    low = min(low, errors[root, 0, b] * COST_SCALE)
                    high = min(high, errors[root, 1, end] * COST_SCALE)
                cost = min(low + costs[1, root, 1, end], costs[1, root, 0, b] + high)
                lowest = min(lowest, split_cost + cost)
        bounds[i] = lowest
    return bounds


@njit(nogil=True, cache=True)
def sort_within_classes(order_f, class_of, first, codes, out, position):
    """Copy the codes with the samples of each class in the order of one feature.

    ``position[i]`` is where the ``i``-th of them stands in that order.
    """
    fill = first.copy()
    for j in range(order_f.shape[0]):
        sample = order_f[j] & SAMPLE
        k = class_of[sample]
        position[fill[k]] = j
        for f in range(codes.shape[1]):
            out[fill[k], f] = codes[sample, f]
        fill[k] += 1


# ------------------------------------------------------------------- a whole tree, at once


@njit(nogil=True, cache=True)
def _best_stump(order, begin, end, class_of, n_classes, min_samples_leaf, counts, most_above):
    """Return the exact best single split of some samples: errors, feature, samples on the left.

    The samples are those from ``begin`` to ``end`` of each row of ``order``.
    """
    n = end - begin
    best, best_f, best_left = n + 1, -1, 0
    for f in range(order.shape[0]):
        row = order[f]
        for k in range(n_classes):
            counts[k] = 0
        most = 0
        for j in range(n - 1, -1, -1):
            most_above[j] = most
            k = class_of[row[begin + j] & SAMPLE]
            counts[k] += 1
            most = max(most, counts[k])
        if most == n:
            return 0, -1, 0
        for k in range(n_classes):
            counts[k] = 0
        most = 0
        for j in range(n - 1):
            k = class_of[row[begin + j] & SAMPLE]
            counts[k] += 1
            most = max(most, counts[k])
            is_cut = row[begin + j + 1] & TIED == 0
            is_allowed = min_samples_leaf <= j + 1 <= n - min_samples_leaf
            if is_cut and is_allowed and n - most - most_above[j] < best:
                best, best_f, best_left = n - most - most_above[j], f, j + 1
    return best, best_f, best_left


@njit(nogil=True, cache=True)
def _divide(order, begin, end, is_left, out, middle):
    """Copy the orders of a node into those of its two children, one after the other."""
    for f in range(order.shape[0]):
        low = begin
        high = middle
        low_is_new = True
        high_is_new = True
        for j in range(begin, end):
            entry = order[f, j]
            sample = entry & SAMPLE
            if entry & TIED == 0:
                low_is_new = True
                high_is_new = True
            if is_left[sample]:
                out[f, low] = sample if low_is_new else entry
                low += 1
                low_is_new = False
            else:
                out[f, high] = sample if high_is_new else entry
                high += 1
                high_is_new = False


FEATURE, CUT_SAMPLE, LEFT, N_ERRORS = range(4)  # columns of the nodes that `complete` returns


@njit(nogil=True, cache=True)
def _n_quick_bins(n_samples, most):
    """Return how many bins are worth their cells for so many samples."""
    return int(min(most, max(8, np.sqrt(n_samples))))


@njit(nogil=True, cache=True)
def purest_features(order, begin, end, class_of, n_classes, most):
    """Return the rows of ``order`` with the purest single splits, at most ``most``, ascending.

    Features with one value are left out.
    """
    n_features = order.shape[0]
    n = end - begin
    score = np.zeros(n_features)
    total = np.zeros(n_classes, np.int64)
    left = np.empty(n_classes, np.int64)
    for j in range(begin, end):
        total[class_of[order[0, j] & SAMPLE]] += 1
    all_squares = 0
    for k in range(n_classes):
        all_squares += total[k] * total[k]
    for f in range(n_features):
        for k in range(n_classes):
            left[k] = 0
        left_squares = 0
        right_squares = all_squares
        for j in range(n):
            entry = order[f, begin + j]
            if j > 0 and entry & TIED == 0:
                score[f] = min(score[f], -(left_squares / j + right_squares / (n - j)))
            k = class_of[entry & SAMPLE]
            left_squares += 2 * left[k] + 1
            right_squares -= 2 * (total[k] - left[k]) - 1
            left[k] += 1
    ranked = np.argsort(score, kind="mergesort")
    n_chosen = 0
    while n_chosen < min(most, n_features) and score[ranked[n_chosen]] < 0.0:
        n_chosen += 1
    return np.sort(ranked[:n_chosen])


class _Tables(NamedTuple):
    """What the best binned tree of depth two of a node is found with; made once for all nodes."""

    slot_of: np.ndarray  # [sample]  its row of the codes, class by class
    first: np.ndarray  # [class]  rows of each class
    last: np.ndarray
    codes: np.ndarray
    n_bins: np.ndarray
    left_of: np.ndarray
    is_open: np.ndarray
    members: np.ndarray
    starts: np.ndarray
    pairs: np.ndarray
    found: np.ndarray
    errors: np.ndarray
    purity: np.ndarray
    costs: np.ndarray


@njit(nogil=True, cache=True)
def _make_tables(n_samples, n_features, n_classes, most_bins):
    return _Tables(
        np.empty(n_samples, np.int64),
        np.empty(n_classes, np.int64),
        np.empty(n_classes, np.int64),
        np.empty((n_samples, n_features), np.uint8),
        np.empty(n_features, np.int64),
        np.empty((n_features, most_bins + 1), np.int64),
        np.empty((n_features, most_bins), np.bool_),
        np.empty((n_features, n_samples), np.uint32),
        np.empty((n_features, n_classes, most_bins + 1), np.int64),
        np.empty((n_features * (n_features + 1) // 2, 2), np.int64),
        np.empty((n_features, n_features, 2, 2, most_bins + 1), np.int32),
        np.empty((n_features, 2, most_bins + 1), np.int64),
        np.empty((n_features, most_bins + 1), np.float64),
        np.empty((2, n_features, 2, most_bins + 1), np.int64),
    )


@njit(nogil=True, cache=True)
def _count_classes(order_f, begin, end, class_of, counts):
    """Count the samples of each class; return the most."""
    for k in range(counts.shape[0]):
        counts[k] = 0
    for j in range(begin, end):
        counts[class_of[order_f[j] & SAMPLE]] += 1
    most = 0
    for k in range(counts.shape[0]):
        most = max(most, counts[k])
    return most


@njit(nogil=True, cache=True)
def _group_by_class(order_f, begin, end, class_of, counts, tables):
    """Give the samples of a node their rows, those of one class one after the other."""
    filled = 0
    for k in range(counts.shape[0]):
        tables.first[k] = filled
        tables.last[k] = filled
        filled += counts[k]
    for j in range(begin, end):
        sample = order_f[j] & SAMPLE
        k = class_of[sample]
        tables.slot_of[sample] = tables.last[k]
        tables.last[k] += 1


@njit(nogil=True, cache=True)
def _list_pairs(n_features, pairs):
    """List all pairs of features; return how many."""
    n_pairs = 0
    for f in range(n_features):
        for g in range(f, n_features):
            pairs[n_pairs, 0] = f
            pairs[n_pairs, 1] = g
            n_pairs += 1
    return n_pairs


@njit(nogil=True, cache=True)
def _binned_root(
    order, begin, end, class_of, counts, most_bins, most_features, split_cost, min_samples_leaf,
    tables, work,
):  # fmt: skip
    """Return the root of the best binned tree of depth two of a node: feature, samples left."""
    rows = purest_features(order, begin, end, class_of, counts.shape[0], most_features)
    if rows.shape[0] == 0:
        return -1, 0
    t = tables
    _group_by_class(order[0], begin, end, class_of, counts, t)
    make_bins(
        order, rows, begin, end, class_of, counts.shape[0], t.slot_of,
        _n_quick_bins(end - begin, most_bins), t.codes, t.n_bins, t.left_of, t.is_open,
    )  # fmt: skip
    n_bins = t.n_bins[: rows.shape[0]]
    pairs = t.pairs[: _list_pairs(rows.shape[0], t.pairs)]
    group_by_bins(t.codes, t.first, t.last, n_bins, t.members, t.starts)
    scan_pairs(
        t.codes, n_bins, t.is_open, t.members, t.starts, min_samples_leaf, False, pairs, work,
        t.found,
    )  # fmt: skip
    count_bins(t.starts, n_bins, t.left_of, t.errors, t.purity)
    side_costs(t.found, t.left_of, n_bins, t.errors, split_cost, 1, t.costs)
    _, f, b = best_root(t.costs, t.left_of, n_bins, t.purity, split_cost, min_samples_leaf)
    if f < 0:
        return -1, 0
    return rows[f], t.left_of[f, b]


@njit(nogil=True, cache=True)
def complete(
    order, class_of, n_classes, depth, most_bins, most_features, split_cost, min_samples_leaf, work
):
    """Grow a tree in which each root is that of the best binned tree of depth two.

    Only the ``most_features`` purest features of a node are paired. Splits at the last level
    are exact, over all features.

    Returns
    -------
    nodes : int64 array, shape (n_nodes, 4)
        Of each node the feature (-1 at a leaf), the sample with the highest value on the
        left, the left child (the right one is the next), and the errors as a leaf.
    """
    n = order.shape[1]
    tables = _make_tables(n, min(order.shape[0], most_features), n_classes, most_bins)
    is_left = np.empty(n, np.bool_)
    counts = np.zeros(n_classes, np.int64)
    scratch = np.empty(n, np.int64)
    nodes = np.full((2 ** (depth + 1), 4), -1, np.int64)
    begin_of = np.zeros(2 ** (depth + 1), np.int64)
    end_of = np.zeros(2 ** (depth + 1), np.int64)
    end_of[0] = n
    n_nodes = 1
    level_begin = 0
    target = np.empty_like(order)
    spare = np.empty_like(order)
    for level in range(depth + 1):
        level_end = n_nodes
        for node in range(level_begin, level_end):
            begin = begin_of[node]
            end = end_of[node]
            most = _count_classes(order[0], begin, end, class_of, counts)
            nodes[node, N_ERRORS] = end - begin - most
            if most == end - begin or end - begin < 2 * min_samples_leaf or level == depth:
                continue
            if level == depth - 1:
                _, f, n_left = _best_stump(
                    order, begin, end, class_of, n_classes, min_samples_leaf, counts, scratch
                )
            else:
                f, n_left = _binned_root(
                    order, begin, end, class_of, counts, most_bins, most_features, split_cost,
                    min_samples_leaf, tables, work,
                )  # fmt: skip
            if f < 0:
                continue
            middle = begin + n_left
            for j in range(begin, end):
                is_left[order[f, j] & SAMPLE] = j < middle
            _divide(order, begin, end, is_left, target, middle)
            nodes[node, FEATURE] = f
            nodes[node, CUT_SAMPLE] = order[f, middle - 1] & SAMPLE
            nodes[node, LEFT] = n_nodes
            begin_of[n_nodes], end_of[n_nodes] = begin, middle
            begin_of[n_nodes + 1], end_of[n_nodes + 1] = middle, end
            n_nodes += 2
        level_begin = level_end
        order, target, spare = target, spare, target  # the caller's order stays as it is
    return nodes[:n_nodes].copy()


@njit(nogil=True, cache=True)
def pruned_cost(nodes, split_cost):
    """Return the cost of what `complete` returned, without the splits that do not pay."""
    cost = np.empty(nodes.shape[0], np.int64)
    for node in range(nodes.shape[0] - 1, -1, -1):  # children come after their parent
        cost[node] = nodes[node, N_ERRORS] * COST_SCALE
        left = nodes[node, LEFT]
        if left >= 0:
            cost[node] = min(cost[node], split_cost + cost[left] + cost[left + 1])
    return cost[0]
