"""Kernels of the exact search for trees of depth two: histograms of pairs of features.

Each feature is cut into at most 255 bins. For a pair of features ``f, g`` and a class ``k``
the table ``S[k, b, c]`` counts the samples in bins below ``b`` of ``f`` and below ``c`` of
``g``. Four corners of it are the four leaves of every tree that splits on the one feature
and then on the other::

              g < c            g >= c
    f < b     S[b,c]           S[b,G] - S[b,c]
    f >= b    S[F,c] - S[b,c]  S[F,G] - S[F,c] - S[b,G] + S[b,c]

Per cell and class that is 3 subtractions and 4 maxima; all loops run along ``c``, in 32-bit
integers, so that they become vector instructions. One pair costs ``n`` increments and
``F * G * K`` cells, and serves ``f`` above ``g`` and ``g`` above ``f``.

*Achieved* is the most correct samples that a split of one side of a root boundary gets, at
boundaries of bins. *Optimistic* is a bound for splits inside a bin too: the samples of that
bin count as correct. A side of a root only gains samples as the root's cut moves away from
it, and errors with them, so the two ends of an interval of roots bound all roots inside.

    bins ──scan_pairs──► achieved, optimistic ──side_costs──► bounds of every root interval
         ──close──► the exact optimum: intervals that could hold it are searched cut by cut
"""

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)
COST_SCALE = 1 << 20
NONE = np.int32(-1)  # fewer correct samples than any split has
WINDOW = 32  # samples over which impurity is measured
STRIP_WORK = 200_000  # cuts times roots: above it an interval of roots is halved instead


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
def make_bins(
    order, rows, begin, end, class_of, n_classes, slot_of, most, codes, n_bins, left_of, is_open
):
    """Cut each feature into at most ``most`` bins of about equal mass; ties stay together.

    The features are some ``rows`` of ``order``, the samples are those from ``begin`` to ``end``.
    ``codes[f, slot_of[sample]]`` is the bin, ``left_of[f, b]`` the number of samples in bins
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
                if b + 1 < most and (n_distinct <= most or seen * most >= b + 1):
                    b += 1
                    left_of[f, b] = j
                    is_open[f, b] = False
                else:
                    is_open[f, b] = True
            seen += mass[j // WINDOW]
            codes[f, slot_of[entry & SAMPLE]] = b
        n_bins[f] = b + 1
        left_of[f, b + 1] = n


# ------------------------------------------------------------------------------------ pairs


@njit(nogil=True, cache=True)
def _higher(a, b):
    return a if a > b else b


@njit(nogil=True, cache=True)
def _count(codes_f, codes_g, first, last, n_f, n_g, cells, table):
    """Fill ``table[b, c]`` for one class, whose samples are ``first`` to ``last``."""
    for b in range(n_f):
        row = cells[b]
        for c in range(n_g):
            row[c] = 0
    for i in range(first, last):
        cells[codes_f[i], codes_g[i]] += 1
    for c in range(n_g + 1):
        table[0, c] = 0
    for b in range(n_f):
        row = cells[b]
        above = table[b]
        here = table[b + 1]
        run = 0
        here[0] = 0
        for c in range(n_g):
            run += row[c]
            here[c + 1] = run
        for c in range(n_g + 1):
            here[c] = np.int32(here[c] + above[c])


@njit(nogil=True, cache=True)
def _first_class(here, total, left, right, n, m00, m01, m10, m11):
    """Start the four leaves' largest classes along one row of the table."""
    for c in range(n):
        a = here[c]
        d = np.int32(total[c] - a)
        m00[c] = a
        m01[c] = np.int32(left - a)
        m10[c] = d
        m11[c] = np.int32(right - d)


@njit(nogil=True, cache=True)
def _next_class(here, total, left, right, n, m00, m01, m10, m11):
    """Compare one more class with the largest of each leaf."""
    for c in range(n):
        a = here[c]
        d = np.int32(total[c] - a)
        m00[c] = _higher(m00[c], a)
        m01[c] = _higher(m01[c], np.int32(left - a))
        m10[c] = _higher(m10[c], d)
        m11[c] = _higher(m11[c], np.int32(right - d))


@njit(nogil=True, cache=True)
def _achieve(m00, m01, m10, m11, n_g, low_g, high_g):
    """Take the best of one row for ``f`` as root, and of each column for ``g`` as root."""
    low_f = NONE
    high_f = NONE
    for c in range(1, n_g):
        low_f = _higher(low_f, np.int32(m00[c] + m01[c]))
        high_f = _higher(high_f, np.int32(m10[c] + m11[c]))
    for c in range(1, n_g):
        low_g[c] = _higher(low_g[c], np.int32(m00[c] + m10[c]))
        high_g[c] = _higher(high_g[c], np.int32(m01[c] + m11[c]))
    return low_f, high_f


@njit(nogil=True, cache=True)
def _achieve_with_large_leaves(
    m00, m01, m10, m11, n_g, low_g, high_g, here, total, min_samples_leaf
):
    """Do the same where a leaf must hold more than one sample."""
    low_f = NONE
    high_f = NONE
    for c in range(1, n_g):
        n00 = here[c]
        n01 = here[n_g] - n00
        n10 = total[c] - n00
        n11 = total[n_g] - here[n_g] - n10
        if n00 >= min_samples_leaf and n01 >= min_samples_leaf:
            low_f = _higher(low_f, np.int32(m00[c] + m01[c]))
        if n10 >= min_samples_leaf and n11 >= min_samples_leaf:
            high_f = _higher(high_f, np.int32(m10[c] + m11[c]))
        if n00 >= min_samples_leaf and n10 >= min_samples_leaf:
            low_g[c] = _higher(low_g[c], np.int32(m00[c] + m10[c]))
        if n01 >= min_samples_leaf and n11 >= min_samples_leaf:
            high_g[c] = _higher(high_g[c], np.int32(m01[c] + m11[c]))
    return low_f, high_f


@njit(nogil=True, cache=True)
def _hope_along(m00, m01, m10, m11, here, total, n_g, open_g, low_f, high_f):
    """Return the most that a split of ``g`` inside a bin can get right, on either side."""
    for c in range(n_g):
        inside = np.int32(here[c + 1] - here[c])
        low = np.int32(m00[c] + m01[c + 1] + inside)
        high = np.int32(m10[c] + m11[c + 1] + np.int32(total[c + 1] - total[c]) - inside)
        low_f = _higher(low_f, low if open_g[c] else NONE)
        high_f = _higher(high_f, high if open_g[c] else NONE)
    return low_f, high_f


@njit(nogil=True, cache=True)
def _hope_across(p00, p01, m10, m11, before, here, n_g, low_g, high_g):
    """Do the same for a split of ``f`` inside the bin between two rows."""
    width = np.int32(here[n_g] - before[n_g])
    for c in range(n_g + 1):
        inside = np.int32(here[c] - before[c])
        low_g[c] = _higher(low_g[c], np.int32(p00[c] + m10[c] + inside))
        high_g[c] = _higher(high_g[c], np.int32(p01[c] + m11[c] + width - inside))


@njit(nogil=True, cache=True)
def _scan(tables, n_f, n_g, open_f, open_g, min_samples_leaf, with_hope, rows, out_f, out_g):
    """Fill what either feature achieves and may hope for above the other.

    ``out_f[0, side, b]`` is achieved and ``out_f[1, side, b]`` optimistic, for the samples
    below (side 0) and above (side 1) boundary ``b`` of ``f`` when ``g`` splits them.
    The last of the tables counts all classes. ``with_hope`` asks for the optimistic ones.
    """
    n_classes = tables.shape[0] - 1
    for kind in range(2):
        for side in range(2):
            for b in range(n_f + 1):
                out_f[kind, side, b] = NONE
            for c in range(n_g + 1):
                out_g[kind, side, c] = NONE
    m00, m01, m10, m11, p00, p01 = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
    counts = tables[n_classes]
    for b in range(n_f + 1):
        for k in range(n_classes):
            here = tables[k, b]
            total = tables[k, n_f]
            left = here[n_g]
            right = np.int32(total[n_g] - left)
            if k == 0:
                _first_class(here, total, left, right, n_g + 1, m00, m01, m10, m11)
            else:
                _next_class(here, total, left, right, n_g + 1, m00, m01, m10, m11)
        low, high = NONE, NONE
        if 0 < b < n_f:
            if min_samples_leaf == 1:
                low, high = _achieve(m00, m01, m10, m11, n_g, out_g[0, 0], out_g[0, 1])
            else:
                low, high = _achieve_with_large_leaves(
                    m00, m01, m10, m11, n_g, out_g[0, 0], out_g[0, 1],
                    counts[b], counts[n_f], min_samples_leaf,
                )  # fmt: skip
            out_f[0, 0, b] = low
            out_f[0, 1, b] = high
            if min_samples_leaf > 1 and with_hope:  # a leaf may grow inside the interval
                low, high = _achieve(m00, m01, m10, m11, n_g, out_g[1, 0], out_g[1, 1])
        if not with_hope:
            continue
        low, high = _hope_along(m00, m01, m10, m11, counts[b], counts[n_f], n_g, open_g, low, high)
        out_f[1, 0, b] = low
        out_f[1, 1, b] = high
        if b > 0 and open_f[b - 1]:
            _hope_across(
                p00, p01, m10, m11, counts[b - 1], counts[b], n_g, out_g[1, 0], out_g[1, 1]
            )
        for c in range(n_g + 1):
            p00[c] = m00[c]
            p01[c] = m01[c]
    for side in range(2):
        for c in range(n_g + 1):
            out_g[1, side, c] = _higher(out_g[1, side, c], out_g[0, side, c])


@njit(nogil=True, cache=True)
def scan_pairs(codes, first, last, n_bins, is_open, min_samples_leaf, with_hope, pairs, out):
    """Count and scan pairs of features; ``out[f, g, kind, side, b]`` as in `_scan`.

    The samples are ``first[k]`` to ``last[k]`` of each class ``k``.
    """
    n_classes = first.shape[0]
    most = is_open.shape[1]
    cells = np.empty((most, most), np.int32)
    tables = np.empty((n_classes + 1, most + 1, most + 1), np.int32)
    rows = np.empty((6, most + 1), np.int32)
    for i in range(pairs.shape[0]):
        f = pairs[i, 0]
        g = pairs[i, 1]
        n_f = n_bins[f]
        n_g = n_bins[g]
        for k in range(n_classes):
            _count(codes[f], codes[g], first[k], last[k], n_f, n_g, cells, tables[k])
        for b in range(n_f + 1):
            counts = tables[n_classes, b]
            for c in range(n_g + 1):
                counts[c] = tables[0, b, c]
            for k in range(1, n_classes):
                here = tables[k, b]
                for c in range(n_g + 1):
                    counts[c] = np.int32(counts[c] + here[c])
        _scan(
            tables, n_f, n_g, is_open[f], is_open[g], min_samples_leaf, with_hope, rows,
            out[f, g], out[g, f],
        )  # fmt: skip


# ------------------------------------------------------------------------- costs of a side


@njit(nogil=True, cache=True)
def count_bins(codes, first, last, n_bins, left_of, errors, purity):
    """Fill the samples ``left_of[f, b]`` a boundary and the ``errors[f, side, b]`` of a leaf.

    ``purity[f, b]`` is higher the lower the gini impurity of the two sides.
    """
    n_classes = first.shape[0]
    most = left_of.shape[1]
    counts = np.empty((most, n_classes), np.int64)
    for f in range(n_bins.shape[0]):
        for b in range(n_bins[f] + 1):
            for k in range(n_classes):
                counts[b, k] = 0
        for k in range(n_classes):
            for i in range(first[k], last[k]):
                counts[codes[f, i] + 1, k] += 1
        for b in range(n_bins[f]):
            for k in range(n_classes):
                counts[b + 1, k] += counts[b, k]
        for b in range(n_bins[f] + 1):
            low, high, low_most, high_most = 0, 0, 0, 0
            low_squares, high_squares = 0, 0
            for k in range(n_classes):
                above = counts[n_bins[f], k] - counts[b, k]
                low += counts[b, k]
                high += above
                low_squares += counts[b, k] * counts[b, k]
                high_squares += above * above
                low_most = max(low_most, counts[b, k])
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
def lower_bound(costs, n_bins, is_open, split_cost):
    """Return a cost that no root at all, boundary of bins or not, is below."""
    bound = np.int64(1) << 62
    for f in range(n_bins.shape[0]):
        for b in range(n_bins[f]):
            end = b + 1 if is_open[f, b] else b
            if end > 0:
                bound = min(bound, split_cost + costs[1, f, 0, b] + costs[1, f, 1, end])
    return bound


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
        for f in range(codes.shape[0]):
            out[f, fill[k]] = codes[f, sample]
        fill[k] += 1


# ------------------------------------------------------------------- from bins to the optimum


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
def n_bins_for(n_samples, most):
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


@njit(nogil=True, cache=True)
def complete(
    order, class_of, n_classes, depth, most_bins, most_features, split_cost, min_samples_leaf
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
    n_features = min(order.shape[0], most_features)
    pairs = np.empty((n_features * (n_features + 1) // 2, 2), np.int64)
    codes = np.empty((n_features, n), np.uint8)
    n_bins = np.empty(n_features, np.int64)
    left_of = np.empty((n_features, most_bins + 1), np.int64)
    is_open = np.empty((n_features, most_bins), np.bool_)
    found = np.empty((n_features, n_features, 2, 2, most_bins + 1), np.int32)
    errors = np.empty((n_features, 2, most_bins + 1), np.int64)
    purity = np.empty((n_features, most_bins + 1), np.float64)
    costs = np.empty((2, n_features, 2, most_bins + 1), np.int64)
    slot_of = np.empty(n, np.int64)
    is_left = np.empty(n, np.bool_)
    counts = np.zeros(n_classes, np.int64)
    first = np.empty(n_classes, np.int64)
    last = np.empty(n_classes, np.int64)
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
            size = end - begin
            for k in range(n_classes):
                counts[k] = 0
            for j in range(begin, end):
                counts[class_of[order[0, j] & SAMPLE]] += 1
            most = 0
            for k in range(n_classes):
                most = max(most, counts[k])
            nodes[node, N_ERRORS] = size - most
            if most == size or size < 2 * min_samples_leaf or level == depth:
                continue
            if level == depth - 1:
                _, f, n_left = _best_stump(
                    order, begin, end, class_of, n_classes, min_samples_leaf, counts, scratch
                )
            else:
                filled = 0
                for k in range(n_classes):
                    first[k] = filled
                    last[k] = filled
                    filled += counts[k]
                for j in range(begin, end):
                    sample = order[0, j] & SAMPLE
                    slot_of[sample] = last[class_of[sample]]
                    last[class_of[sample]] += 1
                rows = purest_features(order, begin, end, class_of, n_classes, most_features)
                if rows.shape[0] == 0:
                    continue
                make_bins(
                    order, rows, begin, end, class_of, n_classes, slot_of,
                    n_bins_for(size, most_bins), codes, n_bins, left_of, is_open,
                )  # fmt: skip
                n_pairs = 0
                for f in range(rows.shape[0]):
                    for g in range(f, rows.shape[0]):
                        pairs[n_pairs, 0] = f
                        pairs[n_pairs, 1] = g
                        n_pairs += 1
                here = n_bins[: rows.shape[0]]
                scan_pairs(
                    codes, first, last, here, is_open, min_samples_leaf, False,
                    pairs[:n_pairs], found,
                )  # fmt: skip
                count_bins(codes, first, last, here, left_of, errors, purity)
                side_costs(found, left_of, here, errors, split_cost, 1, costs)
                _, f, b = best_root(costs, left_of, here, purity, split_cost, min_samples_leaf)
                n_left = left_of[f, b]
                f = rows[f] if f >= 0 else f
            if f < 0:
                continue
            for j in range(begin, end):
                is_left[order[f, j] & SAMPLE] = j - begin < n_left
            _divide(order, begin, end, is_left, target, begin + n_left)
            nodes[node, FEATURE] = f
            nodes[node, CUT_SAMPLE] = order[f, begin + n_left - 1] & SAMPLE
            nodes[node, LEFT] = n_nodes
            begin_of[n_nodes] = begin
            end_of[n_nodes] = begin + n_left
            begin_of[n_nodes + 1] = begin + n_left
            end_of[n_nodes + 1] = end
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


@njit(nogil=True, cache=True)
def best_division(order, gain, min_samples_leaf):
    """Find the split that sends samples where they gain most.

    ``gain[sample]`` is what it brings to have the sample on the left rather than on the
    right. Returns the total over the left side, the feature (-1 for none), the samples on
    the left. Equal totals: the first feature, the fewest samples.
    """
    n_features, n = order.shape
    best, best_f, best_left = np.int64(-1) << 40, -1, 0
    for f in range(n_features):
        total = 0
        for j in range(n - 1):
            total += gain[order[f, j] & SAMPLE]
            is_allowed = min_samples_leaf <= j + 1 <= n - min_samples_leaf
            if total > best and is_allowed and order[f, j + 1] & TIED == 0:
                best, best_f, best_left = total, f, j + 1
    return best, best_f, best_left
