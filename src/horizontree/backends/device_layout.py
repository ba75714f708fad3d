"""Samples as the device programs read them: blocks of rows, padded to a few sizes.

The samples of all nodes of a level, class by class, are cut into blocks of rows; the last
block of a class is padded. Blocks are dealt out to the devices in turn, so that all have the
same work. Shapes are rounded up to few sizes, because every shape is a program to compile;
rows that only pad are stored but, except in the last chunk of a device, not counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from horizontree.backends._layout_kernels import write_codes
from horizontree.encoding import SampleSet

_LEAST_ROWS = 64  # of a block
_MOST_ROWS = 1 << 14
_NODES_STEP = 4
_LEAST_OF_MORE_BYTES = (1 << 8, 1 << 16, 1 << 24)
_PADDING = 255  # every byte of a code that is above all cuts
_MASKS_AT_A_TIME = 3  # of a level of a tree: who is here, who goes left, who goes right

_COPIES_OF_COUNTS = 5  # of a root's histograms, while they are read
_BINS_SIZES = (16, 64, 128, 256)
_FEATURES_SIZES = (8, 32)  # and all features of the fit


def rounded_up(n: int) -> int:
    """Round up to one of four sizes between two powers of two."""
    step = 1 << max(0, (n - 1).bit_length() - 3)
    return -(-n // step) * step


def rounded_nodes(n: int) -> int:
    """Round a number of nodes up to a power of four."""
    size = 1
    while size < n:
        size *= _NODES_STEP
    return size


@dataclass(frozen=True)
class Shape:
    """What decides whether a program is there already.

    Parameters
    ----------
    n_devices : int
        Devices that share the rows.
    n_nodes : int
        Nodes of the level, rounded up.
    n_rows : int
        Rows of a block.
    n_blocks : int
        Blocks on each device, rounded up to whole chunks.
    n_features, n_classes : int
        Features and classes.
    n_bytes, n_planes : int
        Bytes of the longest code, and of the codes of a row, rounded up.
    chunk, trees : int
        Blocks that a device counts at a time, and trees that go through them.
    """

    n_devices: int
    n_nodes: int
    n_rows: int
    n_blocks: int
    n_features: int
    n_classes: int
    n_bytes: int
    n_planes: int
    chunk: int
    trees: int


@dataclass(frozen=True, eq=False)
class Layout:
    """The arrays of ``_jax_programs.Samples`` on the host, blocks of one device together."""

    codes: NDArray[np.uint8]
    plane_of: NDArray[np.int32]
    node_of: NDArray[np.int32]
    class_of: NDArray[np.int32]
    n_chunks: NDArray[np.int32]
    class_counts: NDArray[np.int32]


def bytes_of_codes(n_distinct: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many bytes the codes of each feature need.

    Cuts are ``0..n_distinct`` and codes are less; a padding row has all bits set.
    """
    return 1 + np.searchsorted(_LEAST_OF_MORE_BYTES, n_distinct, side="right")


def n_shared_planes(n_bytes: int) -> int:
    """Return how many planes of zeros stand for the high bytes of short codes: none or one."""
    return int(n_bytes > 1)


def rounded_planes(n_bytes: NDArray[np.int64], longest: int, n_features: int) -> int:
    """Round the bytes of a row's codes up, but not beyond what the longest codes would need."""
    needed = rounded_up(max(1, int(n_bytes.sum())))
    return n_shared_planes(longest) + min(needed, n_features * longest)


def rows_of_block(n_rows: int, n_groups: int) -> int:
    """Return how many rows to put into a block: a power of two, few enough that padding is cheap.

    Each of ``n_groups`` classes of a node is padded by half a block on average.
    """
    most = max(_LEAST_ROWS, min(_MOST_ROWS, n_rows // (8 * n_groups)))
    return 1 << (most.bit_length() - 1)


def plan_masks(n_individuals: int, depth: int, n_rows: int, budget: int) -> tuple[int, int]:
    """Return how many blocks, and how many trees, have masks that fit into a budget.

    A block has some bytes for each row and leaf of a tree. As many trees as possible come first,
    because they share the block.
    """
    of_tree = _MASKS_AT_A_TIME * n_rows << depth
    trees = max(1, min(n_individuals, budget // of_tree))
    return max(1, budget // (of_tree * trees)), trees


def lay_out(level: Sequence[SampleSet], shape: Shape) -> Layout:
    """Write the samples of a level into blocks."""
    rows, per_device = shape.n_rows, shape.n_blocks
    n_slots = shape.n_devices * per_device
    first_plane = n_shared_planes(shape.n_bytes)
    codes = np.full((n_slots, shape.n_planes, rows), _PADDING, dtype=np.uint8)
    codes[:, :first_plane] = 0
    flat = codes.reshape(-1)
    plane_of = np.zeros((shape.n_nodes, shape.n_features, shape.n_bytes), dtype=np.int32)
    node_of = np.zeros(n_slots, dtype=np.int32)
    class_of = np.zeros(n_slots, dtype=np.int32)
    class_counts = np.zeros((shape.n_nodes, shape.n_classes), dtype=np.int32)
    n_used = 0
    for node, samples in enumerate(level):
        class_counts[node] = samples.class_counts
        n_blocks = -(-samples.class_counts // rows)
        block = n_used + np.arange(n_blocks.sum())
        slot = block % shape.n_devices * per_device + block // shape.n_devices
        node_of[slot] = node
        class_of[slot] = np.repeat(np.arange(shape.n_classes), n_blocks)
        first_block = np.cumsum(n_blocks) - n_blocks
        first_sample = samples.class_ranges[0]
        padded = np.repeat(first_block * rows - first_sample, samples.class_counts)
        padded += np.arange(samples.n_samples)
        place = slot[padded // rows] * (shape.n_planes * rows) + padded % rows
        n_bytes = bytes_of_codes(samples.n_distinct)
        first = first_plane + np.cumsum(n_bytes) - n_bytes
        write_codes(samples.order, place, rows, first, n_bytes, flat)
        byte = np.arange(shape.n_bytes)
        is_there = byte < n_bytes[:, None]
        plane_of[node, : samples.n_features] = np.where(is_there, first[:, None] + byte, 0)
        n_used += len(block)
    n_chunks = ceil_div(ceil_div(n_used, shape.n_devices), shape.chunk)
    return Layout(
        codes, plane_of, node_of, class_of, np.array([n_chunks], dtype=np.int32), class_counts
    )


# ------------------------------------------------------------------------------- depth two


@dataclass(frozen=True)
class PairShape:
    """The same for the histograms of pairs of features.

    Parameters
    ----------
    n_devices : int
        Devices that share the rows.
    n_rows : int
        Rows that one matrix product counts.
    n_blocks : int
        So many times so many rows on each device, rounded up.
    n_features, n_bins, n_classes : int
        Features and bins, rounded up, and classes.
    n_roots : int
        Features that are counted as roots at a time.
    """

    n_devices: int
    n_rows: int
    n_blocks: int
    n_features: int
    n_bins: int
    n_classes: int
    n_roots: int


@dataclass(frozen=True, eq=False)
class BinnedLayout:
    """The arrays of ``_jax_programs.Binned`` on the host, rows of one device together."""

    codes: NDArray[np.uint8]
    label: NDArray[np.int32]
    n_blocks: NDArray[np.int32]
    n_bins: NDArray[np.int64]
    is_open: NDArray[np.bool_]


def pair_shape(
    n_devices: int,
    n_classes: int,
    size: tuple[int, int],
    most: tuple[int, int],
    *,
    most_rows: int,
    budget: int,
) -> PairShape | None:
    """Choose the shapes for a ``size`` (features, bins) in a fit of ``most`` (rows, features).

    ``most_rows`` rows are counted at a time; None when not even one root fits into the budget.
    """
    n_features, n_bins = size
    of_fit, most_features = most
    per_device = ceil_div(of_fit, n_devices)
    n_rows = min(most_rows, max(_LEAST_ROWS, 1 << (per_device - 1).bit_length()))
    sizes = [few for few in _FEATURES_SIZES if n_features <= few < most_features]
    n_padded = min(sizes, default=most_features)
    n_bins = next(size for size in _BINS_SIZES if size >= n_bins)
    of_root = _COPIES_OF_COUNTS * 4 * n_classes * n_padded * n_bins**2
    if of_root > budget:
        return None
    n_roots = min(n_padded, budget // of_root)
    return PairShape(
        n_devices=n_devices,
        n_rows=n_rows,
        n_blocks=rounded_up(ceil_div(of_fit, n_rows * n_devices)),
        n_features=ceil_div(n_padded, n_roots) * n_roots,
        n_bins=n_bins,
        n_classes=n_classes,
        n_roots=n_roots,
    )


def lay_out_bins(
    codes: NDArray[np.uint8],
    labels: NDArray[np.int32],
    n_bins: NDArray[np.int64],
    is_open: NDArray[np.bool_],
    shape: PairShape,
) -> BinnedLayout:
    """Deal out rows of bins to the devices; a row that only pads has no class."""
    n_samples, n_features = codes.shape
    n_used = ceil_div(n_samples, shape.n_rows * shape.n_devices)
    places = (shape.n_devices, shape.n_blocks * shape.n_rows)
    all_codes = np.zeros((*places, shape.n_features), dtype=np.uint8)
    all_labels = np.full(places, -1, dtype=np.int32)
    share = n_used * shape.n_rows
    for device in range(shape.n_devices):
        mine = slice(device * share, (device + 1) * share)
        n_mine = len(labels[mine])
        all_codes[device, :n_mine, :n_features] = codes[mine]
        all_labels[device, :n_mine] = labels[mine]
    all_bins = np.ones(shape.n_features, dtype=np.int64)
    all_bins[:n_features] = n_bins
    all_open = np.zeros((shape.n_features, shape.n_bins), dtype=np.bool_)
    all_open[:n_features, : is_open.shape[1]] = is_open
    return BinnedLayout(
        codes=all_codes.reshape(-1, shape.n_features),
        label=all_labels.reshape(-1),
        n_blocks=np.array([n_used], dtype=np.int32),
        n_bins=all_bins,
        is_open=all_open,
    )


def ceil_div(a: int, b: int) -> int:
    """Divide, and round up."""
    return -(-a // b)
