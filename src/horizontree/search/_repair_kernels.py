"""The kernels of repair: what a tree costs, and where to cut above two subtrees that stay.

A tree is three arrays, a place for each node, children after their parents: ``feature`` and
``cut`` of its test ``x[feature] <= cut``, and where its two ``children`` are, -1 at a leaf.
"""

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)
COST_SCALE = 1 << 20


@njit(nogil=True, cache=True)
def _leaf_of(X, row, feature, cut, children):
    """Return the leaf that a row ends in."""
    node = 0
    while children[node, 0] >= 0:
        node = children[node, 0 if X[row, feature[node]] <= cut[node] else 1]
    return node


@njit(nogil=True, cache=True)
def _add_up(counts, children):
    """Make class counts of leaves those of all nodes."""
    for node in range(counts.shape[0] - 1, -1, -1):
        low, high = children[node]
        if low >= 0:
            for k in range(counts.shape[1]):
                counts[node, k] = counts[low, k] + counts[high, k]


@njit(nogil=True, cache=True)
def tree_cost(X, rows, class_of, n_classes, feature, cut, children, split_cost, min_samples_leaf):
    """Return the cost of a tree without the splits that do not pay or are not allowed."""
    n_nodes = feature.shape[0]
    counts = np.zeros((n_nodes, n_classes), np.int64)
    for i in range(rows.shape[0]):
        counts[_leaf_of(X, rows[i], feature, cut, children), class_of[i]] += 1
    _add_up(counts, children)
    size = np.zeros(n_nodes, np.int64)
    cost = np.empty(n_nodes, np.int64)
    for node in range(n_nodes - 1, -1, -1):
        most = 0
        for k in range(n_classes):
            size[node] += counts[node, k]
            most = max(most, counts[node, k])
        cost[node] = (size[node] - most) * COST_SCALE
        low, high = children[node]
        if low < 0:
            continue
        if size[low] == 0:
            cost[node] = cost[high]
        elif size[high] == 0:
            cost[node] = cost[low]
        elif min(size[low], size[high]) >= min_samples_leaf:
            cost[node] = min(cost[node], split_cost + cost[low] + cost[high])
    return cost[0]


@njit(nogil=True, cache=True)
def mark_correct(
    X, rows, class_of, n_classes, is_here, fallback, feature, cut, children, is_correct
):
    """Mark the samples that a subtree gets right, with the labels of those that are here.

    A leaf with nobody here has the label of the node above it; the root has ``fallback``.
    """
    n = rows.shape[0]
    n_nodes = feature.shape[0]
    leaf = np.empty(n, np.int32)
    counts = np.zeros((n_nodes, n_classes), np.int64)
    for i in range(n):
        leaf[i] = _leaf_of(X, rows[i], feature, cut, children)
        if is_here[i]:
            counts[leaf[i], class_of[i]] += 1
    _add_up(counts, children)
    label = np.full(n_nodes, fallback, np.int64)
    for node in range(n_nodes):
        most = 0
        for k in range(n_classes):
            if counts[node, k] > most:
                most = counts[node, k]
                label[node] = k
        low, high = children[node]
        if low >= 0:
            label[low] = label[high] = label[node]
    for i in range(n):
        is_correct[i] = label[leaf[i]] == class_of[i]


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
