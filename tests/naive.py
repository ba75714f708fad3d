"""The slow, obvious twin of every fast function. No cleverness belongs here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.objective import COST_SCALE, Objective
from horizontree.search.pair_histograms import BinnedDepthTwo, Bins
from horizontree.search.splits import Split
from horizontree.tree import Tree

MASK_64 = (1 << 64) - 1
MASK_32 = (1 << 32) - 1


# ------------------------------------------------------------------------------- encoding


def groups_of(values: Sequence[float], rows: Sequence[int]) -> list[set[int]]:
    """Return the rows that share a value, lowest value first."""
    return [{r for r in rows if values[r] == v} for v in sorted({values[r] for r in rows})]


def groups_in(samples: SampleSet, feature: int) -> list[set[int]]:
    """Read the same off a sample set."""
    groups: list[set[int]] = []
    for entry in samples.order[feature]:
        if not int(entry) >> 31:
            groups.append(set())
        groups[-1].add(int(samples.rows[int(entry) & 0x7FFFFFFF]))
    return groups


# ----------------------------------------------------------------------------- prediction


def leaf_of_row(tree: Tree, x: Sequence[float]) -> int:
    node = 0
    while tree.left[node] != -1:
        goes_left = x[tree.feature[node]] <= tree.threshold[node]
        node = int(tree.left[node] if goes_left else tree.right[node])
    return node


# ------------------------------------------------------------------------------ objective


def heap_cost(counts: Sequence[NDArray[np.int64]], objective: Objective, node: int = 0) -> int:
    """Return the cost of the best pruning of a complete tree in heap order."""
    here = counts[node]
    as_leaf = int(here.sum() - here.max()) * COST_SCALE
    left, right = 2 * node + 1, 2 * node + 2
    if left >= len(counts):
        return as_leaf
    sizes = (int(counts[left].sum()), int(counts[right].sum()))
    if sizes[0] == 0:
        return heap_cost(counts, objective, right)
    if sizes[1] == 0:
        return heap_cost(counts, objective, left)
    if min(sizes) < objective.min_samples_leaf:
        return as_leaf
    below = heap_cost(counts, objective, left) + heap_cost(counts, objective, right)
    return min(as_leaf, objective.split_cost + below)


def optimal_cost(X: NDArray[Any], y: NDArray[np.integer], depth: int, objective: Objective) -> int:
    """Return the least cost of any tree of a depth, by trying them all."""
    counts = np.bincount(y)
    best = int(counts.sum() - counts.max()) * COST_SCALE
    if depth == 0 or best == 0:
        return best
    for f in range(X.shape[1]):
        for value in np.unique(X[:, f])[:-1]:
            goes_left = X[:, f] <= value
            if min(goes_left.sum(), (~goes_left).sum()) < objective.min_samples_leaf:
                continue
            cost = objective.split_cost
            for side in (goes_left, ~goes_left):
                cost += optimal_cost(X[side], y[side], depth - 1, objective)
            best = min(best, cost)
    return best


def cheapest_roots(
    X: NDArray[Any], y: NDArray[np.integer], depth: int, objective: Objective, cost: int
) -> set[tuple[int, float]]:
    """Return all root splits, feature and highest value on the left, of trees of some cost."""
    roots = set()
    for f in range(X.shape[1]):
        for value in np.unique(X[:, f])[:-1]:
            goes_left = X[:, f] <= value
            if min(goes_left.sum(), (~goes_left).sum()) < objective.min_samples_leaf:
                continue
            sides = [
                optimal_cost(X[i], y[i], depth - 1, objective) for i in (goes_left, ~goes_left)
            ]
            if objective.split_cost + sum(sides) == cost:
                roots.add((f, float(value)))
    return roots


# ----------------------------------------------------------------------------------- CART


def first_boundaries(
    bins: Bins, binned: BinnedDepthTwo, n_features: int, least: int
) -> list[tuple[int, int]]:
    """List the features with the cheapest roots of depth two, then those with the purest."""
    roots = []
    for f, n_bins in enumerate(bins.n_bins):
        n_samples = bins.left_of[f, n_bins]
        for b in range(1, n_bins):
            if least <= bins.left_of[f, b] <= n_samples - least:
                cost = int(binned.costs[0, f, 0, b]) + int(binned.costs[0, f, 1, b])
                roots.append((cost, -float(binned.purity[f, b]), f, b))
    features = sorted({f for _, _, f, _ in roots})
    cheapest = sorted(min(root for root in roots if root[2] == f) for f in features)
    purest = sorted(min(root[1:] for root in roots if root[2] == f) for f in features)
    by_cost = [(f, b) for _, _, f, b in cheapest[:n_features]]
    return by_cost + [(f, b) for _, f, b in purest[: max(1, n_features // 3)]]


def cart(
    X: NDArray[Any],
    y: NDArray[np.integer],
    n_classes: int,
    *,
    max_depth: int,
    min_samples_leaf: int = 1,
    criterion: str = "gini",
) -> Split | None:
    """Grow the greedy tree recursively, trying every split afresh at every node."""
    if max_depth == 0 or len(np.unique(y)) == 1:
        return None
    best: tuple[float, float] = (-1.0, -1.0)
    chosen: tuple[int, float] | None = None
    for f in range(X.shape[1]):
        for value in np.unique(X[:, f])[:-1]:
            goes_left = X[:, f] <= value
            sides = [np.bincount(y[side], minlength=n_classes) for side in (goes_left, ~goes_left)]
            if min(side.sum() for side in sides) < min_samples_leaf:
                continue
            gini = sum(float((side**2).sum()) / float(side.sum()) for side in sides)
            n_correct = float(sum(side.max() for side in sides))
            score = (gini if criterion == "gini" else n_correct, gini)
            if score > best:  # equal scores: the first feature, the lowest threshold
                best, chosen = score, (f, float(value))
    if chosen is None:
        return None
    goes_left = X[:, chosen[0]] <= chosen[1]
    below = [
        cart(
            X[side],
            y[side],
            n_classes,
            max_depth=max_depth - 1,
            min_samples_leaf=min_samples_leaf,
            criterion=criterion,
        )
        for side in (goes_left, ~goes_left)
    ]
    return Split(*chosen, *below)


# ----------------------------------------------------------------- differential evolution


def draw(stream: int, counter: int) -> int:
    """Return the output of SplitMix64 for a counter."""
    z = (stream + (counter + 1) * 0x9E3779B97F4A7C15) & MASK_64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK_64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK_64
    return z ^ (z >> 31)


def trial(
    genes: list[list[int]], i: int, best: int, generation: int, stream: int, crossover: int
) -> list[int]:
    """Breed the trial of individual ``i``, gene by gene, in integers of any size."""
    n, n_genes = len(genes), len(genes[0])
    counter = (generation * n + i) * (2 + n_genes // 2)
    pair = draw(stream, counter)
    others = [j for j in range(n) if j != i]
    a = others.pop(((pair >> 32) * (n - 1)) >> 32)
    b = others[((pair & MASK_32) * (n - 2)) >> 32]
    bits = draw(stream, counter + 1)
    factor, forced = bits >> 34, ((bits & MASK_32) * n_genes) >> 32
    out = []
    for gene in range(n_genes):
        bits = draw(stream, counter + 2 + gene // 2)
        chance = bits & MASK_32 if gene % 2 else bits >> 32
        if chance < crossover or gene == forced:
            step = (genes[a][gene] - genes[b][gene]) * factor // 2**30
            out.append((genes[best][gene] + step) % 2**32)
        else:
            out.append(genes[i][gene])
    return out


def split_of(samples: SampleSet, feature_gene: int, candidate_gene: int) -> tuple[int, int]:
    """Return the feature (-1: none) and the samples on the left that two genes stand for."""
    feature = feature_gene * (samples.n_features + 1) // 2**32 - 1
    if feature < 0:
        return -1, 0
    groups = groups_in(samples, feature)
    candidate = candidate_gene * (len(groups) + 1) // 2**32
    n_left = sum(len(group) for group in groups[:candidate])
    return (feature, n_left) if n_left else (-1, 0)


# --------------------------------------------------------------------------- local search


def strict_cost(
    tree: Split | None, X: NDArray[Any], y: NDArray[np.integer], objective: Objective
) -> float:
    """Return the cost of a tree as it stands; infinite when a leaf is too small."""
    if tree is None:
        if len(y) < objective.min_samples_leaf:
            return float("inf")
        return objective.leaf_cost(np.bincount(y, minlength=1))
    goes_left = X[:, tree.feature] <= tree.cut
    return (
        objective.split_cost
        + strict_cost(tree.left, X[goes_left], y[goes_left], objective)
        + strict_cost(tree.right, X[~goes_left], y[~goes_left], objective)
    )


def best_change(
    tree: Split | None,
    X: NDArray[Any],
    y: NDArray[np.integer],
    depth: int,
    objective: Objective,
) -> Split | None:
    """Return a subtree after the best change of its root; itself when nothing is cheaper.

    Equal cost: a leaf, then the left child, the right child, the first split.
    """
    below = (None, None) if tree is None else (tree.left, tree.right)
    changed: list[Split | None] = [None, *below]
    if depth > 0:
        changed += [
            Split(f, float(value), *below)
            for f in range(X.shape[1])
            for value in np.unique(X[:, f])[:-1]
        ]
    best = min(changed, key=lambda other: strict_cost(other, X, y, objective))
    is_cheaper = strict_cost(best, X, y, objective) < strict_cost(tree, X, y, objective)
    return best if is_cheaper else tree
