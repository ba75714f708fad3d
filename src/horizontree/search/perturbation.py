"""Large neighbourhood search: part of a finished tree is torn down and built anew.

A walk from the root, more often to where errors are, ends at a node. The node gets a random
split, both sides are completed and the new subtree is repaired; it stays if it is cheaper than
the old one. Draws are functions of the seed and the trial (see `random_draws`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from horizontree.encoding import TIED, SampleSet
from horizontree.objective import Objective
from horizontree.search.candidates import completed
from horizontree.search.effort import Effort
from horizontree.search.random_draws import draws, stream_of
from horizontree.search.repair import cost_of
from horizontree.search.splits import Split

_EXACT_DEPTH = 2  # subtrees of this depth are the best already
_STOP_HERE = 3  # one walk in so many ends at a node that it could leave

Repair = Callable[[Split | None, SampleSet, int], tuple[int, Split | None]]
"""Repairs a tree of some samples and at most so many levels; returns its cost and the tree."""


@dataclass(frozen=True)
class Perturbation:
    """Tears down and builds anew.

    Parameters
    ----------
    objective : Objective
        What is minimised.
    effort : Effort
        How new subtrees are completed.
    repair : callable
        Repairs them.
    seed : int
        Decides where and how.
    """

    objective: Objective
    effort: Effort
    repair: Repair
    seed: int

    def try_once(
        self, tree: Split | None, samples: SampleSet, depth: int, trial: int
    ) -> Split | None:
        """Return a tree that is not dearer: with one subtree built anew, or as it was."""
        cost = cost_of(tree, samples, self.objective)
        if cost == 0 or samples.n_features == 0 or depth <= _EXACT_DEPTH:
            return tree
        where, feature, place = map(
            int, draws(stream_of(self.seed, trial), np.arange(3) + 3 * depth)
        )
        if tree is not None and depth - 1 > _EXACT_DEPTH and where % _STOP_HERE > 0:
            parts = samples.divide(tree.feature, tree.cut)
            left, right = (
                cost_of(below, part, self.objective)
                for below, part in zip((tree.left, tree.right), parts, strict=True)
            )
            if left + right > 0:
                if place % (left + right) < left:
                    return replace(tree, left=self.try_once(tree.left, parts[0], depth - 1, trial))
                return replace(tree, right=self.try_once(tree.right, parts[1], depth - 1, trial))
        built = self._build(samples, depth, feature % samples.n_features, place)
        new_cost, new = self.repair(built, samples, depth)
        return new if new_cost < cost else tree

    def _build(self, samples: SampleSet, depth: int, feature: int, place: int) -> Split | None:
        """Split at a random place and complete both sides; None when no place is allowed."""
        least = self.objective.min_samples_leaf
        order = samples.order[feature, least : samples.n_samples - least + 1]
        cuts = least + np.flatnonzero((order & TIED) == 0)
        cuts = cuts[(cuts > 0) & (cuts < samples.n_samples)]
        if len(cuts) == 0:
            return None
        n_left = int(cuts[place % len(cuts)])
        trees = [
            completed(part, depth - 1, self.objective, self.effort)[1]
            for part in samples.split(feature, n_left)
        ]
        return Split(int(samples.features[feature]), samples.value_at(feature, n_left - 1), *trees)
