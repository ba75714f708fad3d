"""The kernel that writes samples the way the device programs read them."""

import numpy as np
from numba import njit

TIED = np.uint32(1 << 31)
SAMPLE = np.uint32((1 << 31) - 1)


@njit(nogil=True, cache=True)
def write_codes(order, place, distance, first_plane, n_bytes, codes):
    """Write which of its feature's distinct values each sample has.

    The lowest byte of the code of a sample's feature ``f`` goes to
    ``codes[place[sample] + first_plane[f] * distance]``, the next one to the next plane.
    """
    for f in range(order.shape[0]):
        code = -1
        for j in range(order.shape[1]):
            entry = order[f, j]
            code += entry & TIED == 0
            at = place[entry & SAMPLE] + first_plane[f] * distance
            for byte in range(n_bytes[f]):
                codes[at + byte * distance] = (code >> 8 * byte) & 255
