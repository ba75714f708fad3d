"""The kernel of repair: where to cut above two subtrees that stay."""

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)


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
