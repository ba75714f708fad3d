"""The slow, obvious backend: NumPy, one tree after the other. The judge of all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import TIED, SampleSet


class ReferenceBackend:
    """Counts by routing every sample with plain NumPy."""

    name = "reference"
    n_threads = 1

    def load(self, samples: SampleSet, depth: int) -> ReferenceCounter:
        """Look up the place of every sample in the order of every feature."""
        return ReferenceCounter(samples, depth)


class ReferenceCounter:
    """The place of every sample in every feature's order, and its class."""

    def __init__(self, samples: SampleSet, depth: int) -> None:
        sample = (samples.order & ~TIED).astype(np.int64)
        self.place = np.empty(sample.shape, dtype=np.int64)
        np.put_along_axis(self.place, sample, np.arange(samples.n_samples)[None, :], axis=1)
        self.labels = samples.labels
        self.n_classes = samples.n_classes
        self.n_leaves = 2**depth

    def count(self, feature: NDArray[np.int64], n_left: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the class counts of every node and leaf of every tree."""
        n_trees, n_nodes = feature.shape
        counts = np.zeros((n_trees, n_nodes + self.n_leaves, self.n_classes), dtype=np.int64)
        for tree in range(n_trees):
            reached = {0: np.arange(len(self.labels))}
            for node in range(n_nodes + self.n_leaves):
                samples = reached.pop(node)
                counts[tree, node] = np.bincount(self.labels[samples], minlength=self.n_classes)
                if node < n_nodes:
                    f = feature[tree, node]
                    goes_left = np.zeros(len(samples), dtype=bool)
                    if f >= 0:
                        goes_left = self.place[f, samples] < n_left[tree, node]
                    reached[2 * node + 1] = samples[goes_left]
                    reached[2 * node + 2] = samples[~goes_left]
        return counts
