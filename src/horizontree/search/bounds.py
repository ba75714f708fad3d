"""A bound for trees of any depth: the errors that nobody can avoid."""

from __future__ import annotations

import numpy as np

from horizontree.encoding import SAMPLE, TIED, SampleSet
from horizontree.objective import COST_SCALE, Objective


def unavoidable_errors(samples: SampleSet) -> int:
    """Count the errors that every tree makes: samples alike in every feature, in two classes.

    Samples are divided by one feature after another; those that are alone drop out.
    """
    group = np.zeros(samples.n_samples, dtype=np.int64)
    members = np.arange(samples.n_samples)
    for f in range(samples.n_features):
        rank = np.empty(samples.n_samples, dtype=np.int64)
        rank[samples.order[f] & SAMPLE] = np.cumsum((samples.order[f] & TIED) == 0)
        key = group[members] * (samples.n_samples + 1) + rank[members]
        _, number, size = np.unique(key, return_inverse=True, return_counts=True)
        group[members] = number
        members = members[size[number] > 1]
        if len(members) == 0:
            return 0
    _, number, size = np.unique(group[members], return_inverse=True, return_counts=True)
    counts = np.zeros((len(size), samples.n_classes), dtype=np.int64)
    np.add.at(counts, (number, samples.labels[members]), 1)
    return int(size.sum() - counts.max(axis=1).sum())


def unavoidable_cost(samples: SampleSet, objective: Objective) -> int:
    """Return a cost that no tree is below: a leaf, or a split and the unavoidable errors."""
    leaf = objective.leaf_cost(samples.class_counts)
    if samples.n_samples < 2 * objective.min_samples_leaf:  # too few for a split
        return leaf
    return min(leaf, objective.split_cost + unavoidable_errors(samples) * COST_SCALE)
