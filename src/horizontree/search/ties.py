"""Of equally cheap trees the one whose last splits say most about the nodes above them, too.

A last split is chosen among the samples of its node, where often several get as many right, some
of them by chance. One that also divides the samples of the nodes above well is less likely to be
one of those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SAMPLE, SampleSet
from horizontree.objective import Objective
from horizontree.search._cart_kernels import add_purity_of_cuts, best_of_roots
from horizontree.search.candidates import Root
from horizontree.search.cart import best_stump, split_at
from horizontree.search.growing_tree import root_of, root_split
from horizontree.search.repair import cost_of
from horizontree.search.splits import Split

MOST_CUTS = 1 << 23
"""Samples times features, beyond which ties are rare and the table of cuts would be large."""

Sides = tuple[Split | None, Split | None]


@dataclass(frozen=True, eq=False)
class Settling:
    """Settles the last levels of a tree among equally cheap ones.

    Parameters
    ----------
    objective : Objective
        What is minimised.
    roots_of : callable
        Gives for some samples and a depth, two or three, the least cost of a tree that is known,
        and the roots of the trees that are known to cost that, as places in these samples; none
        when only a leaf does. For the sides of such a root it must know trees that make up that
        cost.
    """

    objective: Objective
    roots_of: Callable[[SampleSet, int], tuple[int, Sequence[Root]]]

    def settled(self, tree: Split | None, samples: SampleSet, depth: int) -> Split | None:
        """Return a tree of at most ``depth`` levels that is not dearer."""
        return self._settled(tree, samples, depth, np.zeros(samples.order.shape))

    def _settled(
        self, tree: Split | None, samples: SampleSet, depth: int, above: NDArray[np.float64]
    ) -> Split | None:
        """Settle a subtree.

        ``above[f, sample]`` is the purity of a cut at the sample's value, summed over the nodes
        above.
        """
        if samples.is_pure or samples.n_features == 0:
            return None
        if depth == 1:
            return self._last_split(samples, above)
        levels, roots = self._known_roots(tree, samples, depth)
        sides: Sides = None, None
        if roots is None:  # no other tree is known
            root = None if tree is None else root_of(tree, samples)
            if tree is None or root is None:  # a leaf, or an idle split
                return tree
            roots, sides = [root], (tree.left, tree.right)
        if len(roots) == 0:
            return None
        purity = above.copy()  # a tree that turns out to be one split is chosen by ``above``
        add_purity_of_cuts(samples.order, samples.labels, samples.class_counts, purity)
        if levels == 2:
            settled = self._of_two_levels(roots, samples, purity)
        else:
            trees = [self._with_settled_sides(r, sides, samples, levels, purity) for r in roots]
            settled = trees[0]
            if len(trees) > 1:
                settled = min(trees, key=lambda tree: self._rank(tree, samples, purity))
        if settled.left is None and settled.right is None:
            return self._last_split(samples, above)
        return settled

    def _known_roots(
        self, tree: Split | None, samples: SampleSet, depth: int
    ) -> tuple[int, Sequence[Root] | None]:
        """Return how many levels the trees may have, and the roots to choose from, if known.

        A tree that has fewer levels than it may have is chosen among those with so many.
        """
        cost = cost_of(tree, samples, self.objective)
        for levels in (3, 2):
            if levels == depth or levels == _height_of(tree) < depth:
                least, roots = self.roots_of(samples, levels)
                if least <= cost:
                    return levels, roots
        return depth, None

    def _of_two_levels(
        self, roots: Sequence[Root], samples: SampleSet, purity: NDArray[np.float64]
    ) -> Split:
        """Return the best tree that one of the roots has with last splits below it."""
        best, sides = best_of_roots(
            samples.order, samples.labels, samples.class_counts,
            np.array(roots, dtype=np.int64), self.objective.min_samples_leaf,
            self.objective.split_cost, purity,
        )  # fmt: skip
        left, right = (
            None if feature < 0 else split_at(samples, feature, sample) for feature, sample in sides
        )
        return replace(root_split(samples, roots[best]), left=left, right=right)

    def _with_settled_sides(
        self,
        root: Root,
        below: Sides,
        samples: SampleSet,
        depth: int,
        purity: NDArray[np.float64],
    ) -> Split:
        """Settle what is below a root."""
        split = root_split(samples, root)
        goes_left = samples.X[samples.rows, split.feature] <= split.cut
        settled = []
        for tree, side, is_here in zip(
            below, samples.split(*root), (goes_left, ~goes_left), strict=True
        ):
            places = np.searchsorted(samples.features, side.features)
            above = purity[places[:, None], np.flatnonzero(is_here)]
            settled.append(self._settled(tree, side, depth - 1, above))
        return replace(split, left=settled[0], right=settled[1])

    def _last_split(self, samples: SampleSet, above: NDArray[np.float64]) -> Split | None:
        """Return the cheapest single split, of several the purest; None if none pays."""
        stump = best_stump(samples, self.objective.min_samples_leaf, above)
        leaf = self.objective.leaf_cost(samples.class_counts)
        return stump if cost_of(stump, samples, self.objective) < leaf else None

    def _rank(
        self, tree: Split, samples: SampleSet, purity: NDArray[np.float64]
    ) -> tuple[int, int, float]:
        """Return what trees are compared by: cost, then splits, then purity (equal: the first)."""
        splits = list(_splits_of(tree))
        cost = cost_of(tree, samples, self.objective)
        return cost, len(splits), -sum(_purity_of(split, samples, purity) for split in splits)


def _splits_of(tree: Split | None) -> Iterator[Split]:
    """Yield all splits of a tree, the root first."""
    if tree is not None:
        yield tree
        yield from _splits_of(tree.left)
        yield from _splits_of(tree.right)


def _height_of(tree: Split | None) -> int:
    """Return how many levels of splits a tree has."""
    return 0 if tree is None else 1 + max(_height_of(tree.left), _height_of(tree.right))


def _purity_of(split: Split, samples: SampleSet, purity: NDArray[np.float64]) -> float:
    """Return how well one split by itself divides some samples."""
    feature = int(np.searchsorted(samples.features, split.feature))
    last = samples.order[feature, samples.n_left_of_cut(feature, split.cut) - 1] & SAMPLE
    return float(purity[feature, last])
