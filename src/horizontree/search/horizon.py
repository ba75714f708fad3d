"""HorizonTree's own search: a moving horizon with exact ends, and repair afterwards.

Level by level, each node chooses its split among the roots of the best trees of depth two.
Every candidate is completed to the full depth, cheaply, and the one whose whole tree is
cheapest stays::

    node ──histograms of pairs──► candidate roots ──completed to full depth──► the cheapest
         ──► its children, which inherit their completed subtrees as trees to beat

Nodes with three levels left are searched with bounds, nodes with two levels exactly: these
are the *blocks* that a tree ends in. Repair then goes to the nodes with the most errors
below them, and tries the next of their candidates, or a longer search of a block.

Everything is counted in work, never in seconds, and nothing depends on the number of threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.objective import COST_SCALE, Objective
from horizontree.search._pair_kernels import (
    CUT_SAMPLE,
    FEATURE,
    LEFT,
    complete,
    pruned_cost,
    purest_features,
)
from horizontree.search.cart import best_stump
from horizontree.search.depth_three import DepthThreeSearch
from horizontree.search.depth_two import (
    BinnedDepthTwo,
    Bins,
    cut_into_bins,
    grow_depth_two,
    make_workspace,
    solve_bins,
    solve_depth_two,
    with_stumps,
)
from horizontree.search.repair import cost_of, repair
from horizontree.search.splits import Split
from horizontree.search.watch import Watch
from horizontree.threads import Map

_MANY_NODES = 8  # from here on the nodes of a level are shared out, not the work on one
_EXACT_DEPTH = 2  # up to here a tree is solved in one piece of work
_WHOLE_TREE_BINS = 96  # where the search over depth three is all there is
_TRIALS_PER_ROUND = 4  # of repair; fixed, so that threads change nothing


@dataclass(frozen=True)
class Effort:
    """How much work is spent.

    Parameters
    ----------
    n_features_tried : int
        Features whose best roots are completed to the full depth, at each node.
    n_neighbours : int
        Neighbours of the best of these roots that are completed too.
    most_bins : int
        Bins of a feature.
    most_features : int
        Features that are paired, those that are purest by themselves. A tree of depth two,
        and a proof, looks at all of them.
    most_rows : int
        Rows of a node that candidates are completed on.
    most_exact_rows : int
        Rows of a node up to which its trees of depth two are exact; beyond, they are the best
        over bins. A tree of depth two, and a proof, is always exact.
    n_solves : int or None
        Sides that the search over depth three may solve; None for as many as a proof takes.
    n_block_solves : int
        The same for a block of a deeper tree.
    n_repairs : int
        Trials of repair.
    n_longer_solves : int
        What a trial of repair may solve in a block that was searched before; 0 for no trial.
    """

    n_features_tried: int
    n_neighbours: int
    most_bins: int
    most_features: int
    most_rows: int
    most_exact_rows: int
    n_solves: int | None
    n_block_solves: int
    n_repairs: int
    n_longer_solves: int


EFFORTS = {
    "quick": Effort(2, 0, 32, 12, 5_000, 20_000, 40, 0, 0, 0),
    "normal": Effort(6, 6, 64, 20, 20_000, 10_000, 500, 60, 24, 0),
    "thorough": Effort(20, 24, 64, 40, 50_000, 100_000, None, 400, 200, 2_000),
}

Root = tuple[int, int]
"""A feature of a sample set, and the number of samples on the left."""


@dataclass(frozen=True)
class _Trial:
    """A root completed to the full depth."""

    cost: int
    root: Root
    trees: tuple[Split | None, Split | None]


@dataclass(eq=False)
class _Node:
    """A node of the tree that is being searched for.

    Either it has children below a split, or it is a block: ``block`` is its whole subtree.
    """

    samples: SampleSet
    depth: int  # levels left
    block: Split | None
    cost: int
    parent: _Node | None = None
    split: tuple[int, float] | None = None  # column and cut
    children: tuple[_Node, _Node] | None = None
    trials: list[_Trial] = field(default_factory=list)  # not grown yet, the cheapest first

    def tree(self) -> Split | None:
        """Return the subtree as nested splits."""
        if self.children is None or self.split is None:
            return self.block
        return Split(*self.split, *(child.tree() for child in self.children))

    def walk(self) -> Iterator[_Node]:
        """Yield this node and all below it."""
        yield self
        for child in self.children or ():
            yield from child.walk()


class HorizonSearch:
    """The search of `HorizonTreeClassifier`.

    Parameters
    ----------
    max_depth : int
        Depth of the tree.
    horizon : int
        Depth of the blocks, 2 or 3.
    objective : Objective
        What is minimised.
    effort : Effort
        How much work is spent.
    watch : Watch
        Says when to stop, and is told of progress.
    run : callable
        ``map``, over threads if there are several.
    """

    def __init__(
        self,
        max_depth: int,
        horizon: int,
        objective: Objective,
        effort: Effort,
        watch: Watch,
        run: Map = map,
    ) -> None:
        self.max_depth = max_depth
        self.horizon = horizon
        self.objective = objective
        self.effort = effort
        self.watch = watch
        self.run = run
        self.bound = 0
        self.n_decided = 0
        self._lock = threading.Lock()

    def search(self, samples: SampleSet) -> Split | None:
        """Search for the best tree over all samples."""
        if self.max_depth <= _EXACT_DEPTH:
            leaf = self.objective.leaf_cost(samples.class_counts)
            root = _Node(samples, self.max_depth, None, leaf)
            if samples.n_features > 0:
                self._solve_block(root, None, self.run)
            self.bound = root.cost
            self.n_decided = 1
            return root.tree()
        cost, tree = self._completed(samples.thinned(self.effort.most_rows), self.max_depth)
        if samples.n_samples > self.effort.most_rows:
            cost = cost_of(tree, samples, self.objective)
        root = _Node(samples, self.max_depth, tree, cost)
        self._grow(root, self.run)
        if self.max_depth <= self.horizon:
            return root.tree()
        self._repair(root)
        if self.watch.should_stop():
            return root.tree()
        n_passes = 1 if samples.n_samples > self.effort.most_rows else 4
        _, tree = repair(
            root.tree(), samples, self.max_depth, self.objective, self._grow_two, n_passes
        )
        return tree

    # ------------------------------------------------------------------------ growing

    def _grow(self, root: _Node, run: Map) -> None:
        """Decide a node and all below it, level by level."""
        level = [root]
        while level:
            if len(level) < _MANY_NODES:
                decided = [self._decide(node, run) for node in level]
            else:
                decided = list(run(lambda node: self._decide(node, map), level))
            level = [child for children in decided for child in children]
        _add_up(root, self.objective)

    def _decide(self, node: _Node, run: Map) -> tuple[_Node, ...]:
        """Split a node or make it a block; return its children."""
        with self._lock:
            self.n_decided += 1
        if node.parent is None or node.depth > self.horizon:
            level = self.max_depth - node.depth
            self.watch.report(f"depth {level}", 2**level - 1, 2**self.max_depth - 1, node.cost)
        samples = node.samples
        if node.cost == 0 or samples.is_pure or samples.n_features == 0:
            return ()
        if self.watch.should_stop():
            return ()
        if node.depth <= self.horizon:
            self._solve_block(node, self._n_solves(node), run)
            return ()
        trials = self._try_roots(node, run)
        if not trials:
            return ()
        best, node.trials = trials[0], trials[1:]
        is_thinned = samples.n_samples > self.effort.most_rows
        if node.block is None or is_thinned or best.cost < node.cost:
            self._set_children(node, best.root, best.trees, run)
            if is_thinned:  # no repair up here: free the orders
                node.trials = []
                node.samples = samples.with_features(np.empty(0, dtype=np.intp))
        else:
            self._set_children_of_block(node, run)
        return node.children or ()

    def _set_children_of_block(self, node: _Node, run: Map) -> None:
        """Split a node as its block does, if that splits at all."""
        node.block = _without_idle_splits(node.block, node.samples)
        root = None if node.block is None else _root_of(node.block, node.samples)
        if node.block is not None and root is not None:
            self._set_children(node, root, (node.block.left, node.block.right), run)

    def _set_children(
        self, node: _Node, root: Root, trees: tuple[Split | None, Split | None], run: Map
    ) -> None:
        """Split a node; its children start with the trees given."""
        samples = node.samples
        feature, n_left = root
        node.split = (int(samples.features[feature]), samples.value_at(feature, n_left - 1))
        left, right = (
            _Node(part, node.depth - 1, tree, cost_of(tree, part, self.objective), node)
            for part, tree in zip(samples.split(feature, n_left, run), trees, strict=True)
        )
        node.children = (left, right)

    def _try_roots(self, node: _Node, run: Map) -> list[_Trial]:
        """Complete promising roots to the full depth; return them, the cheapest first."""
        samples = node.samples
        rows = self._purest(samples)
        bins = cut_into_bins(samples.with_features(rows), self.effort.most_bins)
        last = np.cumsum(samples.class_counts)
        binned = solve_bins(bins, last - samples.class_counts, last, self.objective, run)
        few = samples.thinned(self.effort.most_rows)
        tried: dict[tuple[int, int], _Trial] = {}

        def complete_all(roots: list[tuple[int, int]]) -> None:
            new = [root for root in dict.fromkeys(roots) if root not in tried and allowed(root)]
            found = run(lambda root: self._try_root(samples, few, node.depth, *place(root)), new)
            tried.update(zip(new, found, strict=True))

        def place(root: tuple[int, int]) -> Root:
            f, b = root
            return int(rows[f]), int(bins.left_of[f, b])

        def allowed(root: tuple[int, int]) -> bool:
            f, b = root
            if not 0 < b < bins.n_bins[f]:
                return False
            least = self.objective.min_samples_leaf
            return bool(least <= bins.left_of[f, b] <= samples.n_samples - least)

        complete_all(self._first_roots(bins, binned))
        step, n_left = 8, self.effort.n_neighbours
        while n_left > 0 and step > 0 and tried:
            f, b = min(tried, key=lambda root: (tried[root].cost, root))
            before = len(tried)
            complete_all([(f, b - step), (f, b + step)])
            n_left -= len(tried) - before
            if (f, b) == min(tried, key=lambda root: (tried[root].cost, root)):
                step //= 2
        return [tried[root] for root in sorted(tried, key=lambda root: (tried[root].cost, root))]

    def _purest(self, samples: SampleSet) -> NDArray[np.intp]:
        """Return the features worth pairing."""
        rows: NDArray[np.intp] = purest_features(
            samples.order, 0, samples.n_samples, samples.labels, samples.n_classes,
            self.effort.most_features,
        )  # fmt: skip
        return rows

    def _narrowed(self, samples: SampleSet) -> SampleSet:
        """Leave out features when there are too many to pair."""
        if samples.n_features <= self.effort.most_features:
            return samples
        return samples.with_features(self._purest(samples))

    def _closes(self, samples: SampleSet) -> bool:
        """Return whether the best tree of depth two is wanted, not that over bins."""
        return samples.n_samples <= self.effort.most_exact_rows

    def _grow_two(self, samples: SampleSet, objective: Objective) -> Split | None:
        """Return the best tree of depth two, within the effort."""
        return grow_depth_two(self._narrowed(samples), objective, closes=self._closes(samples))

    def _first_roots(self, bins: Bins, binned: BinnedDepthTwo) -> list[tuple[int, int]]:
        """Return, of each feature, the best root of a tree of depth two, and the purest one."""
        cheapest = []
        purest = []
        for f in range(len(bins.n_bins)):
            if bins.n_bins[f] > 1:
                inner = slice(1, bins.n_bins[f])
                cost = binned.costs[0, f, 0, inner] + binned.costs[0, f, 1, inner]
                purity = binned.purity[f, inner]
                b = int(np.lexsort((-purity, cost))[0])
                cheapest.append((int(cost[b]), -float(purity[b]), f, 1 + b))
                b = int(np.argmax(purity))
                purest.append((-float(purity[b]), f, 1 + b))
        n = self.effort.n_features_tried
        roots = [(f, b) for *_, f, b in sorted(cheapest)[:n]]
        return roots + [(f, b) for _, f, b in sorted(purest)[: max(1, n // 3)]]

    def _try_root(
        self, samples: SampleSet, few: SampleSet, depth: int, feature: int, n_left: int
    ) -> _Trial:
        """Complete a root to the full depth, on few samples."""
        at = (feature, n_left)
        if few is not samples:
            column = int((few.features == samples.features[feature]).argmax())
            at = (column, few.n_left_of_cut(column, samples.value_at(feature, n_left - 1)))
        left, right = (self._completed(part, depth - 1) for part in few.split(*at))
        cost = self.objective.split_cost + left[0] + right[0]
        return _Trial(cost, (feature, n_left), (left[1], right[1]))

    def _completed(self, samples: SampleSet, depth: int) -> tuple[int, Split | None]:
        """Grow a whole tree cheaply; return its cost and the tree."""
        leaf = self.objective.leaf_cost(samples.class_counts)
        if leaf == 0 or samples.n_features == 0:
            return leaf, None
        nodes = complete(
            samples.order, samples.labels, samples.n_classes, depth, self.effort.most_bins,
            self.effort.most_features, self.objective.split_cost,
            min(self.objective.min_samples_leaf, samples.n_samples),
            make_workspace(samples.n_samples, samples.n_classes),
        )  # fmt: skip
        cost = int(pruned_cost(nodes, self.objective.split_cost))
        return (cost, _as_splits(nodes, samples)) if cost < leaf else (leaf, None)

    # ------------------------------------------------------------------------- blocks

    def _n_solves(self, node: _Node) -> int | None:
        if node.depth == self.max_depth:
            return self.effort.n_solves
        return self.effort.n_block_solves

    def _solve_block(self, node: _Node, n_solves: int | None, run: Map) -> None:
        """Find the best subtree of a node with few levels left, if it beats what is there."""
        samples = node.samples
        is_whole = node.depth == self.max_depth and (node.depth < 3 or n_solves is None)
        if not is_whole:
            samples = self._narrowed(samples)
        if node.depth == 1:
            block = best_stump(samples, self.objective.min_samples_leaf)
            node.block, node.cost = block, cost_of(block, samples, self.objective)
            bound = node.cost
        elif node.depth == 2:
            closes = is_whole or self._closes(samples)
            found = solve_depth_two(samples, self.objective, closes=closes, run=run)
            bound = found.cost
            if found.cost < node.cost:
                node.cost = found.cost
                node.block = None
                if found.feature >= 0:
                    node.block = with_stumps(samples, self.objective, found.feature, found.n_left)
        else:
            bound = self._search_depth_three(node, samples, n_solves, run)
        if node.parent is None and samples is node.samples:
            self.bound = bound

    def _search_depth_three(
        self, node: _Node, samples: SampleSet, n_solves: int | None, run: Map
    ) -> int:
        """Search over depth three; return a bound."""
        most_bins = _WHOLE_TREE_BINS if node.parent is None else self.effort.most_bins
        closes = n_solves is None or self._closes(samples)
        search = DepthThreeSearch(samples, self.objective, node.cost, most_bins, closes, run)
        while not search.is_done and (n_solves is None or search.n_solved < n_solves):
            if self.watch.should_stop():
                break
            search.advance()
            if node.parent is None:
                self._report_bound(search)
        cost, block = search.tree()
        if cost < node.cost:
            node.cost, node.block = cost, block
        return min(search.bound, node.cost)

    def _report_bound(self, search: DepthThreeSearch) -> None:
        """Tell of the best tree, the bound, and the gap between them."""
        best, bound = search.best, search.bound
        gap = (best - bound) / best if best else 0.0
        phase = f"bound {bound / COST_SCALE:,.0f}, gap {gap:.1%}"
        self.watch.report(phase, round(100 * (1 - gap)), 100, best)

    # ------------------------------------------------------------------------- repair

    def _repair(self, root: _Node) -> None:
        """Spend trials where errors are left; the cost never rises."""
        n_left = self.effort.n_repairs
        n_tried: dict[_Node, int] = {}
        while n_left > 0 and root.cost > 0 and not self.watch.should_stop():
            nodes = [node for node in root.walk() if self._can_be_tried(node, n_tried)]
            nodes.sort(key=lambda node: -node.cost / (1 + n_tried.get(node, 0)))
            chosen: list[_Node] = []
            for node in nodes:
                if not any(_is_above(other, node) or _is_above(node, other) for other in chosen):
                    chosen.append(node)
                if len(chosen) == min(_TRIALS_PER_ROUND, n_left):
                    break
            if not chosen:
                return
            for node, other in zip(chosen, self.run(self._another, chosen), strict=True):
                n_tried[node] = n_tried.get(node, 0) + 1
                if other is not None and other.cost < node.cost:
                    node.split, node.children = other.split, other.children
                    node.block, node.cost = other.block, other.cost
                    for child in node.children or ():
                        child.parent = node
                    _add_up_ancestors(node, self.objective)
            n_left -= len(chosen)
            n = self.effort.n_repairs
            self.watch.report("repair", n - n_left, n, root.cost)

    def _can_be_tried(self, node: _Node, n_tried: dict[_Node, int]) -> bool:
        if node.cost == 0 or node.depth < self.horizon:
            return False
        if node.depth == self.horizon:
            return self.effort.n_longer_solves > 0 and n_tried.get(node, 0) == 0
        return bool(node.trials)

    def _another(self, node: _Node) -> _Node | None:
        """Grow the next best root of a node, or search a block for longer."""
        other = _Node(node.samples, node.depth, node.block, node.cost, node.parent)
        if node.depth == self.horizon:
            self._solve_block(other, self.effort.n_longer_solves, map)
            return other
        trial = node.trials.pop(0)
        samples, (feature, n_left) = node.samples, trial.root
        cut = samples.value_at(feature, n_left - 1)
        tree = Split(int(samples.features[feature]), cut, *trial.trees)
        other.cost, other.block = repair(tree, samples, node.depth, self.objective, self._grow_two)
        if other.cost < node.cost:
            self._unfold(other, map)
        return other

    def _unfold(self, node: _Node, run: Map) -> None:
        """Make nodes of a subtree that was found whole, and search its blocks."""
        self._set_children_of_block(node, run)
        for child in node.children or ():
            if child.depth > self.horizon:
                self._unfold(child, run)
            elif child.cost > 0 and child.samples.n_features > 0:
                self._solve_block(child, self.effort.n_block_solves, run)
        _add_up(node, self.objective)


def _root_of(tree: Split, samples: SampleSet) -> Root | None:
    """Return the root of a tree as a place in the samples; None when it divides nothing."""
    at = np.flatnonzero(samples.features == tree.feature)
    if len(at) == 0:
        return None
    n_left = samples.n_left_of_cut(int(at[0]), tree.cut)
    return (int(at[0]), n_left) if 0 < n_left < samples.n_samples else None


def _without_idle_splits(tree: Split | None, samples: SampleSet) -> Split | None:
    """Leave out splits at the top that send all samples to one side."""
    while tree is not None and _root_of(tree, samples) is None:
        all_go_left = samples.X[samples.rows[0], tree.feature] <= tree.cut
        tree = tree.left if all_go_left else tree.right
    return tree


def _is_above(node: _Node, other: _Node) -> bool:
    """Return whether ``other`` is ``node`` or below it."""
    at: _Node | None = other
    while at is not None:
        if at is node:
            return True
        at = at.parent
    return False


def _add_up(root: _Node, objective: Objective) -> None:
    """Sum costs upwards; a split that costs more than its leaf is priced as that leaf."""
    for node in reversed(list(root.walk())):
        if node.children is not None:
            below = sum(child.cost for child in node.children)
            node.cost = min(
                objective.split_cost + below, objective.leaf_cost(node.samples.class_counts)
            )


def _add_up_ancestors(node: _Node, objective: Objective) -> None:
    at = node.parent
    while at is not None and at.children is not None:
        below = sum(child.cost for child in at.children)
        at.cost = min(objective.split_cost + below, objective.leaf_cost(at.samples.class_counts))
        at = at.parent


def _as_splits(nodes: NDArray[np.int64], samples: SampleSet) -> Split | None:
    """Read the tree that the kernel grew."""
    trees: list[Split | None] = [None] * len(nodes)
    for node in reversed(range(len(nodes))):  # children come after their parent
        f, left = nodes[node, FEATURE], nodes[node, LEFT]
        if f >= 0:
            column = int(samples.features[f])
            cut = float(samples.X[samples.rows[nodes[node, CUT_SAMPLE]], column])
            trees[node] = Split(column, cut, trees[left], trees[left + 1])
    return trees[0]
