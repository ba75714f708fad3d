"""The objective, stated once: cost, ties, constraints.

    cost(T) = training errors + alpha * (number of splits)

subject to at least ``min_samples_leaf`` samples in every leaf. Costs are integers, in
units of ``1 / COST_SCALE`` errors, so that every backend compares the same numbers.

A search proposes a tree of *splits*; what that tree means is its best pruning:

- a split that sends every sample to one side is not there;
- a split with fewer than ``min_samples_leaf`` samples on one side is a leaf;
- a split that costs no less than the leaf in its place is that leaf
  (equal cost: the leaf, so twin leaves with the same class collapse).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

COST_SCALE = 1 << 20

LEAF, PASS_LEFT, PASS_RIGHT, SPLIT = 0, 1, 2, 3
"""What a node of a proposed tree turns out to be."""


@dataclass(frozen=True)
class Objective:
    """Errors plus a price for each split, under a smallest leaf.

    Parameters
    ----------
    split_cost : int
        alpha, in units of ``1 / COST_SCALE`` errors.
    min_samples_leaf : int
        The fewest samples that a leaf may hold.
    """

    split_cost: int = 0
    min_samples_leaf: int = 1

    @classmethod
    def from_ccp_alpha(cls, ccp_alpha: float, min_samples_leaf: int, n_samples: int) -> Objective:
        """Make the objective of a problem with ``n_samples`` samples (total weight).

        A split dearer than all errors together is as good as forbidden, and so is a leaf
        larger than the data: both are cut off there, so that costs stay within 64 bits.
        """
        split_cost = min(ccp_alpha, 2.0) * n_samples * COST_SCALE
        return cls(round(split_cost), min(int(min_samples_leaf), n_samples + 1))

    def preferring_small_trees(self) -> Objective:
        """Return this objective with ties between trees broken: fewer splits are better.

        A split that costs nothing gets the smallest price there is; fewer than ``COST_SCALE``
        of them never outweigh an error.
        """
        return replace(self, split_cost=max(1, self.split_cost))

    def for_part(self, n_part: int, n_samples: int) -> Objective:
        """Return the objective for some of the samples that stand for all of them."""
        return Objective(
            split_cost=max(min(1, self.split_cost), self.split_cost * n_part // n_samples),
            min_samples_leaf=max(1, self.min_samples_leaf * n_part // n_samples),
        )

    def bound_from(self, bound: int) -> int:
        """Turn a lower bound of `preferring_small_trees` into one of this objective."""
        return bound if self.split_cost > 0 else bound // COST_SCALE * COST_SCALE

    def leaf_cost(self, class_counts: NDArray[np.int64]) -> int:
        """Return the cost of one leaf that predicts its majority class."""
        return int(class_counts.sum() - class_counts.max()) * COST_SCALE

    def tree_cost(self, n_errors: int, n_splits: int) -> int:
        """Return the cost of a whole tree."""
        return n_errors * COST_SCALE + n_splits * self.split_cost

    def prune(
        self, class_counts: NDArray[np.int64], left: NDArray[np.intp], right: NDArray[np.intp]
    ) -> tuple[NDArray[np.int8], int]:
        """Decide what each node of a proposed tree is.

        Parameters
        ----------
        class_counts : int64 array of shape (n_nodes, n_classes)
            Samples of each class at each node; children come after their parent.
        left, right : integer arrays of shape (n_nodes,)
            Children, -1 for none.

        Returns
        -------
        kind : int8 array of shape (n_nodes,)
            LEAF, PASS_LEFT, PASS_RIGHT or SPLIT.
        cost : int
            Cost of the pruned tree.
        """
        kind = np.full(len(left), LEAF, dtype=np.int8)
        cost = [self.leaf_cost(counts) for counts in class_counts]
        n_samples = class_counts.sum(axis=1)
        for node in reversed(range(len(left))):
            if left[node] < 0:
                continue
            n_left, n_right = n_samples[left[node]], n_samples[right[node]]
            if n_left == 0:
                kind[node], cost[node] = PASS_RIGHT, cost[right[node]]
            elif n_right == 0:
                kind[node], cost[node] = PASS_LEFT, cost[left[node]]
            elif min(n_left, n_right) >= self.min_samples_leaf:
                as_split = self.split_cost + cost[left[node]] + cost[right[node]]
                if as_split < cost[node]:
                    kind[node], cost[node] = SPLIT, as_split
        return kind, cost[0]
