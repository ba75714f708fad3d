"""Kernels that build and filter the sorted order of each feature.

An entry of ``order`` is a sample index with one flag on top:

    bit 31       tied: this sample has the same value as the entry before it
    bits 30..0   the sample
"""

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)


@njit(nogil=True, cache=True)
def pack_order(columns, argsorted, order, n_distinct):
    """Write the order of each feature with its tie flags, and count distinct values."""
    for f in range(columns.shape[0]):
        distinct = 0
        previous = 0.0
        for j in range(columns.shape[1]):
            sample = argsorted[f, j]
            value = columns[f, sample]
            if j > 0 and value == previous:
                order[f, j] = np.uint32(sample) | TIED
            else:
                order[f, j] = np.uint32(sample)
                distinct += 1
            previous = value
        n_distinct[f] = distinct


@njit(nogil=True, cache=True)
def number_kept(is_kept, rows, class_counts, new_index, kept_rows, kept_counts):
    """Give numbers to the samples that are kept, -1 to others; list rows and count classes."""
    n_kept = 0
    sample = 0
    for k in range(class_counts.shape[0]):
        n_before = n_kept
        for _ in range(class_counts[k]):
            if is_kept[sample]:
                new_index[sample] = n_kept
                kept_rows[n_kept] = rows[sample]
                n_kept += 1
            else:
                new_index[sample] = -1
            sample += 1
        kept_counts[k] = n_kept - n_before


@njit(nogil=True, cache=True)
def filter_order(order, new_index, out, n_distinct):
    """Keep the samples whose ``new_index`` is not negative, under that new number."""
    for f in range(order.shape[0]):
        is_new_value = True
        n_kept = 0
        distinct = 0
        for j in range(order.shape[1]):
            entry = order[f, j]
            if entry & TIED == 0:
                is_new_value = True
            index = new_index[entry & SAMPLE]
            if index >= 0:
                if is_new_value:
                    out[f, n_kept] = np.uint32(index)
                    distinct += 1
                else:
                    out[f, n_kept] = np.uint32(index) | TIED
                n_kept += 1
                is_new_value = False
        n_distinct[f] = distinct


@njit(nogil=True, cache=True)
def mark_first(order_of_feature, n_left, is_left):
    """Set ``is_left`` for the first ``n_left`` samples of a feature's order."""
    is_left[:] = False
    for j in range(n_left):
        is_left[order_of_feature[j] & SAMPLE] = True


@njit(nogil=True, cache=True)
def group_starts(order_of_feature, starts):
    """Fill ``starts[k]`` with how many samples have one of the ``k`` lowest values."""
    k = 0
    for j in range(order_of_feature.shape[0]):
        if order_of_feature[j] & TIED == 0:
            starts[k] = j
            k += 1
    starts[k] = order_of_feature.shape[0]


@njit(nogil=True, cache=True)
def fill_codes(order, code):
    """Write which of its feature's distinct values each sample has: ``code[sample, f]``."""
    for f in range(order.shape[0]):
        value = -1
        for j in range(order.shape[1]):
            value += order[f, j] & TIED == 0
            code[order[f, j] & SAMPLE, f] = value
