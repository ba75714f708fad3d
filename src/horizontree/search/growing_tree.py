"""The tree that HorizonTree grows: nodes with samples, costs and what may be tried next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search.candidates import Root, Trial
from horizontree.search.splits import Split


@dataclass(eq=False)
class Node:
    """A node of the tree that is being searched for.

    Either it has children below a split, or it is a block: ``block`` is its whole subtree.
    """

    samples: SampleSet
    depth: int  # levels left
    block: Split | None
    cost: int
    parent: Node | None = None
    split: tuple[int, float] | None = None  # column and cut
    children: tuple[Node, Node] | None = None
    trials: list[Trial] = field(default_factory=list)  # not grown yet, the cheapest first

    def tree(self) -> Split | None:
        """Return the subtree as nested splits."""
        if self.children is None or self.split is None:
            return self.block
        return Split(*self.split, *(child.tree() for child in self.children))

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it."""
        yield self
        for child in self.children or ():
            yield from child.walk()

    def is_above(self, other: Node) -> bool:
        """Return whether ``other`` is this node or below it."""
        at: Node | None = other
        while at is not None:
            if at is self:
                return True
            at = at.parent
        return False

    def add_up(self, objective: Objective) -> None:
        """Sum costs upwards, from the leaves to this node."""
        for node in reversed(list(self.walk())):
            node._add_up_children(objective)

    def add_up_ancestors(self, objective: Objective) -> None:
        """Sum costs upwards, from this node to the root."""
        at = self.parent
        while at is not None:
            at._add_up_children(objective)
            at = at.parent

    def _add_up_children(self, objective: Objective) -> None:
        """Set the cost; a split that costs more than its leaf is priced as that leaf."""
        if self.children is not None:
            below = sum(child.cost for child in self.children)
            leaf = objective.leaf_cost(self.samples.class_counts)
            self.cost = min(objective.split_cost + below, leaf)


def root_split(samples: SampleSet, root: Root) -> Split:
    """Return a split that is given as a place in the samples, without what follows."""
    feature, n_left = root
    return Split(int(samples.features[feature]), samples.value_at(feature, n_left - 1))


def tree_of_trial(trial: Trial, samples: SampleSet) -> Split:
    """Return the whole tree of a completed root."""
    left, right = trial.trees
    return replace(root_split(samples, trial.root), left=left, right=right)


def root_of(tree: Split, samples: SampleSet) -> Root | None:
    """Return the root of a tree as a place in the samples; None when it divides nothing."""
    at = np.flatnonzero(samples.features == tree.feature)
    if len(at) == 0:
        return None
    n_left = samples.n_left_of_cut(int(at[0]), tree.cut)
    return (int(at[0]), n_left) if 0 < n_left < samples.n_samples else None


def without_idle_splits(tree: Split | None, samples: SampleSet) -> Split | None:
    """Leave out splits at the top that send all samples to one side."""
    while tree is not None and root_of(tree, samples) is None:
        all_go_left = samples.X[samples.rows[0], tree.feature] <= tree.cut
        tree = tree.left if all_go_left else tree.right
    return tree
