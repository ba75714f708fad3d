"""Cost-complexity pruning of a finished tree, and the best tree for every price of a split."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from horizontree.objective import COST_SCALE
from horizontree.tree import LEAF, Tree


@dataclass(frozen=True, eq=False)
class PrunedTree:
    """A tree that is best among the prunings of another one from a price on.

    Parameters
    ----------
    alpha : Fraction
        The price of a split, in errors, from which on it is best.
    tree : Tree
        The tree.
    """

    alpha: Fraction
    tree: Tree


def pruning_path(tree: Tree) -> list[PrunedTree]:
    """Return the nested best prunings of a tree, from all of its splits to none.

    Weakest links first (Breiman et al. 1984): the split whose subtree saves the fewest errors
    for each of its splits goes, and with it all that save as few.
    """
    path = [PrunedTree(Fraction(0), tree)]
    while tree.n_splits > 0:
        saved, n_splits = _saved_below(tree)
        worth = {t: Fraction(int(saved[t]), int(n_splits[t])) for t in np.flatnonzero(n_splits)}
        least = min(worth.values())
        is_cut = np.zeros(tree.n_nodes, dtype=np.bool_)
        is_cut[[t for t, each in worth.items() if each == least]] = True
        tree = _without(tree, is_cut)
        if least <= path[-1].alpha:  # as good without
            path.pop()
        path.append(PrunedTree(max(least, Fraction(0)), tree))
    return path


def _saved_below(tree: Tree) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the errors that the subtree of each node saves, and how many splits it has."""
    as_leaf = tree.class_counts.sum(axis=1) - tree.class_counts.max(axis=1)
    errors = as_leaf.copy()
    n_splits = np.zeros(tree.n_nodes, dtype=np.int64)
    for t in reversed(range(tree.n_nodes)):  # children come after their parent
        low, high = tree.left[t], tree.right[t]
        if low != LEAF:
            errors[t] = errors[low] + errors[high]
            n_splits[t] = 1 + n_splits[low] + n_splits[high]
    return as_leaf - errors, n_splits


def _without(tree: Tree, is_cut: NDArray[np.bool_]) -> Tree:
    """Return a tree whose cut nodes are leaves."""
    kept: list[int] = []
    children: list[list[int]] = []
    stack = [(0, -1, 0)]
    while stack:
        node, parent, side = stack.pop()
        if parent >= 0:
            children[parent][side] = len(kept)
        number = len(kept)
        kept.append(node)
        children.append([LEAF, LEAF])
        if tree.left[node] != LEAF and not is_cut[node]:
            stack.append((int(tree.right[node]), number, 1))
            stack.append((int(tree.left[node]), number, 0))
    sides = np.array(children, dtype=np.int32)
    is_leaf = sides[:, 0] == LEAF
    return Tree(
        feature=np.where(is_leaf, -1, tree.feature[kept]).astype(np.int32),
        threshold=np.where(is_leaf, np.nan, tree.threshold[kept]),
        left=sides[:, 0],
        right=sides[:, 1],
        class_counts=tree.class_counts[kept],
    )


def best_trees(trees: list[Tree], split_costs: list[int]) -> list[Tree]:
    """Return for each price the cheapest pruning of any tree (equal cost: the fewest splits).

    A price is that of one split in an `Objective`.
    """
    candidates = [pruned.tree for tree in trees for pruned in pruning_path(tree)]
    candidates.sort(key=lambda tree: tree.n_splits)  # the first of the cheapest is the smallest
    facts = [(tree.n_errors, tree.n_splits) for tree in candidates]
    n_errors, n_splits = np.array(facts, dtype=object).T  # price times splits may exceed 64 bits
    costs = COST_SCALE * n_errors + np.array(split_costs, dtype=object)[:, None] * n_splits
    return [candidates[best] for best in costs.argmin(axis=1)]
