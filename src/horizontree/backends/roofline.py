"""How fast counting can be at best: the roofline model of the device programs.

Counting one sample in one tree of depth D reads one code of ``w`` bytes for each of its
``2**D - 1`` inner nodes, and does four operations on each byte: compare, go left, go right, add
(or, from the second byte on, compare twice and join). So

    sample-trees a second <= min(bandwidth, operations / 4) / (w * nodes)

with the bandwidth of the memory that the codes come from. The CPU backend's bitsets have a bit
where the devices have a code: ``w`` is an eighth. docs/gpu.md has the figures.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

import numpy as np

OPERATIONS_PER_BYTE = 4
BIT = 1 / 8


@dataclass(frozen=True)
class Device:
    """What a device can do at best.

    Parameters
    ----------
    bandwidth : float
        Bytes that it reads from memory in a second.
    operations : float
        Integer operations in a second; infinite where memory is what counts.
    """

    bandwidth: float
    operations: float = float("inf")

    def sample_trees(self, depth: int, code_bytes: float = 1) -> float:
        """Return the sample-trees a second that the model allows."""
        n_nodes = (1 << depth) - 1
        bytes_a_second = min(self.bandwidth, self.operations / OPERATIONS_PER_BYTE)
        return bytes_a_second / (n_nodes * code_bytes)


KNOWN = {
    "A100.*80GB": Device(2.0e12, 9.7e12),
    "A100": Device(1.555e12, 9.7e12),
    "H100.*(PCIe|NVL)": Device(2.0e12, 12.8e12),
    "H100": Device(3.35e12, 15.5e12),
    "H200": Device(4.8e12, 15.5e12),
    "V100": Device(0.9e12, 7.8e12),
    "L40S?": Device(0.864e12, 22.9e12),
    "L4": Device(0.3e12, 7.5e12),
    "T4": Device(0.32e12, 4.0e12),
    "RTX 4090": Device(1.008e12, 20.6e12),
    "MI300X": Device(5.3e12, 40.0e12),
    "MI250X": Device(3.2e12, 23.0e12),
}
"""Data sheets: memory bandwidth, and 32-bit integer operations; the first name that fits."""


def device_of(kind: str) -> Device | None:
    """Find a device by what its driver calls it."""
    for name, device in KNOWN.items():
        if re.search(rf"\b{name}\b", kind):
            return device
    return None


def measured_processor(n_bytes: int = 1 << 28) -> Device:
    """Measure how fast one core reads memory that is not in its cache."""
    data = np.ones(n_bytes // 8)  # zeros would not be in memory at all
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        data.max()
        seconds.append(time.perf_counter() - started)
    return Device(n_bytes / min(seconds))
