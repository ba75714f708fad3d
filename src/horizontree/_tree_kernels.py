"""The prediction kernel: which leaf each row reaches."""

from numba import njit


@njit(nogil=True, cache=True)
def leaf_of_rows(X, feature, threshold, left, right, out):
    """Fill ``out[row]`` with the node at which row ``X[row]`` ends."""
    for row in range(X.shape[0]):
        node = 0
        while left[node] >= 0:
            goes_left = X[row, feature[node]] <= threshold[node]
            node = left[node] if goes_left else right[node]
        out[row] = node
