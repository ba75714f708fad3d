"""The kernel that writes samples the way the device programs read them."""

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)


@njit(nogil=True, cache=True)
def write_codes(order, place, distance, codes):
    """Write which of its feature's distinct values each sample has.

    The code of a sample's feature ``f`` goes to ``codes[place[sample] + f * distance]``.
    """
    for f in range(order.shape[0]):
        code = -1
        for j in range(order.shape[1]):
            entry = order[f, j]
            code += entry & TIED == 0
            codes[place[entry & SAMPLE] + f * distance] = code
