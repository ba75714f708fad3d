"""The paper's own Algorithm 1: every sample walks through every tree, row by row.

Nothing in the package uses it; the benchmark races the bitset engine against it.
"""

from numba import njit


@njit(nogil=True, cache=True)
def count_by_traversal(X, y, feature, threshold, leaf_class_counts):
    """Add to ``Z[tree, leaf, class]``; ``feature`` -1 sends all samples right."""
    n_nodes = feature.shape[1]
    for tree in range(feature.shape[0]):
        for row in range(X.shape[0]):
            node = 0
            while node < n_nodes:
                f = feature[tree, node]
                if f >= 0 and X[row, f] < threshold[tree, node]:
                    node = 2 * node + 1
                else:
                    node = 2 * node + 2
            leaf_class_counts[tree, node - n_nodes, y[row]] += 1
