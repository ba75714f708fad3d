"""Random numbers by counter: any draw can be had at any time, in any order.

A *stream* is a 64-bit number made from the user's seed and a path (for example the node of
the tree); draw ``c`` of a stream is a hash of the two. Nothing is consumed, so threads,
devices and restarts all see the same numbers. The hash is SplitMix64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_MIX_1 = 0xBF58476D1CE4E5B9
_MIX_2 = 0x94D049BB133111EB


def stream_of(seed: int, *path: int) -> int:
    """Return the stream that belongs to a seed and a path of numbers."""
    stream = _mix(seed & _MASK)
    for step in path:
        stream = _mix((stream + (step + 1) * _GOLDEN) & _MASK)
    return stream


def draws(stream: int, counters: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the 64 random bits of each counter."""
    z = np.uint64(stream) + (counters.astype(np.uint64) + np.uint64(1)) * np.uint64(_GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX_1)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX_2)
    return z ^ (z >> np.uint64(31))


def high_half(bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the upper 32 of the 64 bits."""
    return (bits >> np.uint64(32)).astype(np.int64)


def low_half(bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the lower 32 of the 64 bits."""
    return (bits & np.uint64(0xFFFFFFFF)).astype(np.int64)


def _mix(z: int) -> int:
    """Scramble 64 bits (SplitMix64's finisher)."""
    z = ((z ^ (z >> 30)) * _MIX_1) & _MASK
    z = ((z ^ (z >> 27)) * _MIX_2) & _MASK
    return z ^ (z >> 31)
