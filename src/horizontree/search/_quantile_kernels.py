"""The kernels of Quant-BnB: ranges of cuts divided by quantiles, and what single splits cost.

``starts`` holds, for all features one after the other, how many samples have a code below each
cut; ``offset[f]`` is where feature ``f`` begins. A range ``[low, high]`` of cuts leaves open where
the samples with codes from ``low`` to ``high - 1`` go.
"""

import numpy as np
from numba import njit

SAMPLE = np.uint32((1 << 31) - 1)


@njit(nogil=True, cache=True)
def divide_range(starts, low, high, n_parts, parts):
    """Divide a range of cuts into at most ``n_parts`` with about as many samples each.

    ``starts`` is that of the feature. Writes the parts, and returns how many there are.
    """
    n = 0
    first = low
    for i in range(1, n_parts + 1):
        if first > high:
            break
        last = high
        if i < n_parts:
            share = (starts[high] - starts[low]) * i // n_parts
            last = np.searchsorted(starts[low : high + 1], starts[low] + share) + low
            last = max(first, min(last, high - 1))
        parts[n, 0] = first
        parts[n, 1] = last
        n += 1
        first = last + 1
    return n


@njit(nogil=True, cache=True)
def _errors(count):
    return count.sum() - count.max()


@njit(nogil=True, cache=True)
def bound_stumps(order, class_of, n_classes, starts, offset, boxes, n_parts, found, bound):
    """Divide ranges of single splits, and count the errors that none of a part can avoid.

    ``class_of`` a sample that is not there is ``n_classes``. ``boxes[i]`` is feature, low, high,
    and those of a feature stand together. Writes the parts in the same form, and their bounds;
    returns how many there are.
    """
    parts = np.empty((n_parts, 2), np.int64)
    n_found = 0
    i = 0
    while i < boxes.shape[0]:
        f = boxes[i, 0]
        first = n_found
        while i < boxes.shape[0] and boxes[i, 0] == f:
            of_feature = starts[offset[f] : offset[f + 1]]
            n = divide_range(of_feature, boxes[i, 1], boxes[i, 2], n_parts, parts)
            for part in range(n):
                found[n_found, 0] = f
                found[n_found, 1:] = parts[part]
                n_found += 1
            i += 1
        edges = np.unique(found[first:n_found, 1:].copy().reshape(-1))
        below = np.zeros((edges.shape[0] + 1, n_classes + 1), np.int64)
        at = 0
        for edge in range(edges.shape[0] + 1):
            end = order.shape[1]
            if edge < edges.shape[0]:
                end = starts[offset[f] + edges[edge]]
            for j in range(at, end):
                below[edge, class_of[order[f, j] & SAMPLE]] += 1
            if edge > 0:
                below[edge] += below[edge - 1]
            at = end
        below[:, n_classes] = 0
        every = below[edges.shape[0]]
        for part in range(first, n_found):
            low = np.searchsorted(edges, found[part, 1])
            high = np.searchsorted(edges, found[part, 2])
            bound[part] = _errors(below[low]) + _errors(every - below[high])
    return n_found
