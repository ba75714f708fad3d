"""The exact best tree of depth two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SAMPLE, SampleSet
from horizontree.objective import Objective
from horizontree.search._pair_kernels import (
    best_root,
    close,
    leaf_errors,
    make_bins,
    scan_pairs,
    side_costs,
)
from horizontree.search.cart import grow_cart
from horizontree.search.splits import Split
from horizontree.threads import Map

_MOST_BINS = 128


@dataclass(frozen=True, eq=False)
class Bins:
    """Samples with each feature cut into bins.

    Parameters
    ----------
    codes : uint8 array of shape (n_features, n_samples)
        The bin of each sample.
    n_bins : int64 array of shape (n_features,)
        Bins of each feature.
    left_of : int64 array of shape (n_features, most + 1)
        Samples in the bins below each boundary.
    is_open : bool array of shape (n_features, most)
        Whether a bin holds more than one value.
    """

    codes: NDArray[np.uint8]
    n_bins: NDArray[np.int64]
    left_of: NDArray[np.int64]
    is_open: NDArray[np.bool_]

    @classmethod
    def of(cls, samples: SampleSet, most: int) -> Bins:
        """Cut every feature into at most ``most`` bins."""
        n_features, n_samples = samples.order.shape
        bins = cls(
            codes=np.empty((n_features, n_samples), dtype=np.uint8),
            n_bins=np.empty(n_features, dtype=np.int64),
            left_of=np.zeros((n_features, most + 1), dtype=np.int64),
            is_open=np.zeros((n_features, most), dtype=np.bool_),
        )
        make_bins(
            samples.order, samples.labels, samples.n_classes,
            bins.codes, bins.n_bins, bins.left_of, bins.is_open,
        )  # fmt: skip
        return bins


@dataclass(frozen=True)
class DepthTwo:
    """A tree of depth two at most, and how good any such tree could be.

    Parameters
    ----------
    cost : int
        Cost of the tree.
    root : Split or None
        The tree; None is a leaf.
    bound : int
        No tree of depth two is cheaper; equal to ``cost`` when that is proven.
    """

    cost: int
    root: Split | None
    bound: int


def solve_depth_two(
    samples: SampleSet,
    objective: Objective,
    *,
    most_bins: int = _MOST_BINS,
    run: Map = map,
) -> DepthTwo:
    """Find the cheapest tree of depth two, exactly."""
    leaf = objective.leaf_cost(samples.class_counts)
    if samples.is_pure or samples.n_features == 0:
        return DepthTwo(leaf, None, leaf)
    bins = Bins.of(samples, most_bins)
    last = np.cumsum(samples.class_counts)
    first = last - samples.class_counts
    shape = (samples.n_features, samples.n_features, 2, 2, most_bins + 1)
    found = np.empty(shape, dtype=np.int32)
    upper = np.triu_indices(samples.n_features)
    pairs = np.stack(upper, axis=1)
    scan_pairs(
        bins.codes, first, last, bins.n_bins, bins.is_open, objective.min_samples_leaf, pairs, found
    )
    errors = np.empty((samples.n_features, 2, most_bins + 1), dtype=np.int64)
    leaf_errors(bins.codes, first, last, bins.n_bins, errors)
    costs = np.empty((2, *errors.shape), dtype=np.int64)
    side_costs(found, bins.left_of, bins.n_bins, errors, objective.split_cost, costs)
    cost, feature, n_left = best_root(
        costs, bins.left_of, bins.n_bins, objective.split_cost, objective.min_samples_leaf
    )
    if leaf <= cost:
        cost, feature = leaf, -1
    position = np.empty(samples.order.shape, dtype=np.int32)
    for f in range(samples.n_features):
        position[f, samples.order[f] & SAMPLE] = np.arange(samples.n_samples, dtype=np.int32)
    exact_cost, exact_feature, exact_left = close(
        samples.order, position, samples.labels, samples.n_classes, bins.n_bins, bins.left_of,
        bins.is_open, found, errors, costs, objective.split_cost, objective.min_samples_leaf, cost,
    )  # fmt: skip
    if exact_feature >= 0:
        cost, feature, n_left = exact_cost, exact_feature, exact_left
    if feature < 0:
        return DepthTwo(leaf, None, leaf)
    return DepthTwo(int(cost), _with_stumps(samples, objective, feature, n_left), int(cost))


def _with_stumps(samples: SampleSet, objective: Objective, feature: int, n_left: int) -> Split:
    """Put the exact best single split on either side of a root."""
    stumps = [
        grow_cart(
            part,
            max_depth=1,
            min_samples_leaf=objective.min_samples_leaf,
            criterion="misclassification",
        )
        for part in samples.split(feature, n_left)
    ]
    cut = samples.value_at(feature, n_left - 1)
    return Split(int(samples.features[feature]), cut, *stumps)
