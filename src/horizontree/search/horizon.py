"""HorizonTree's own search: a moving horizon with exact ends, and repair afterwards.

Level by level, each node chooses its split among the roots of the best trees of depth two.
Every candidate is completed to the full depth, cheaply, and the one whose whole tree is
cheapest stays::

    node ──histograms of pairs──► candidate roots ──completed to full depth──► the cheapest
         ──► its children, which inherit their completed subtrees as trees to beat

Nodes with as many levels left as the horizon has, three or two, are the *blocks* that a tree
ends in: three levels are searched with bounds, two exactly. Repair then goes to the nodes with the
most errors below them, and tries the next of their candidates, or a longer search of a block.
With effort left, parts of the finished tree are built anew from random splits. In the end ties in
the last two levels, and of small trees of depth three in all of them, are settled.

A tree of few splits ends above the blocks of a deep one. Where three or four levels could hold as
many splits as were found, so many levels are searched, too, and the best tree of two.

Everything is counted in work, never in seconds, and nothing depends on the number of threads.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial

import numpy as np

from horizontree.backends.base import PairScanner
from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search.blocks import Blocks
from horizontree.search.bounds import unavoidable_cost
from horizontree.search.candidates import Root, complete_roots, completed
from horizontree.search.cart import grow_cart
from horizontree.search.depth_two import grow_by_twos
from horizontree.search.effort import Effort
from horizontree.search.growing_tree import Node, root_of, tree_of_trial, without_idle_splits
from horizontree.search.perturbation import Perturbation
from horizontree.search.repair import cost_of, repair
from horizontree.search.splits import Split, build_tree
from horizontree.search.watch import QuietWatch, Watch
from horizontree.threads import Map

_MANY_NODES = 8  # from here on the nodes of a level are shared out, not the work on one
EXACT_DEPTH = 2  # up to here a tree is solved in one piece of work
DEEPEST_HORIZON = 3
_MOST_EXACT_WORK = 1 << 24  # samples times pairs of features: beyond, a proof may take seconds
_MOST_PASSES = 20  # of repair over a whole tree
_TRIALS_PER_ROUND = 4  # of repair; fixed, so that threads change nothing


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
    seed : int
        Decides how finished trees are perturbed.
    scanner : callable or None
        A backend's own way to the histograms of pairs of features.
    """

    def __init__(
        self,
        max_depth: int,
        horizon: int,
        objective: Objective,
        effort: Effort,
        watch: Watch,
        run: Map = map,
        seed: int = 0,
        scanner: PairScanner | None = None,
    ) -> None:
        self.max_depth = max_depth
        self.horizon = horizon
        self.objective = objective
        self.effort = effort
        self.watch = watch
        self.run = run
        self.seed = seed
        self.scanner = scanner
        self.blocks = Blocks(max_depth, objective, effort, watch, run, scanner)
        self.n_decided = 0
        self._cost = 0  # of the whole tree, as far as it is known
        self._lock = threading.Lock()

    @property
    def bound(self) -> int:
        """No tree is cheaper."""
        return self.blocks.bound

    def search(
        self, samples: SampleSet, start: Split | None = None, bound: int = 0
    ) -> Split | None:
        """Search for the best tree over all samples, from a tree to start with if there is one.

        The result is not dearer than that tree. ``bound`` is what no tree costs less than, as far
        as is known.
        """
        tree = self._search(samples, start, bound)
        if samples.n_samples > self.effort.most_rows:
            return tree
        for depth in self.effort.shallow_depths:
            if depth < self.max_depth and self._may_be_better(depth, tree, samples):
                tree = self._or_shallow(tree, samples, depth)
        return tree

    def _may_be_better(self, depth: int, tree: Split | None, samples: SampleSet) -> bool:
        """Return whether a tree is so small that one of fewer levels may well be cheaper."""
        if depth == EXACT_DEPTH and samples.n_samples * samples.n_features**2 > _MOST_EXACT_WORK:
            return False
        most: int = 2 ** max(depth, DEEPEST_HORIZON)
        return self._n_splits(tree, samples) < most

    def _n_splits(self, tree: Split | None, samples: SampleSet) -> int:
        """Return how many splits a tree has when it is finished."""
        X, y = samples.X[samples.rows], samples.labels
        return build_tree(tree, X, y, samples.n_classes, self.objective).n_splits

    def _or_shallow(self, tree: Split | None, samples: SampleSet, depth: int) -> Split | None:
        """Return a tree of fewer levels if it is cheaper: its blocks lie where a small tree ends.

        Deep trees have theirs where the levels end, which a small tree does not reach.
        """
        cost = cost_of(tree, samples, self.objective)
        if cost == self.bound or self.watch.should_stop():
            return tree
        effort = replace(self.effort, n_solves=self.effort.n_shallow_solves, shallow_depths=())
        search = HorizonSearch(
            depth, self.horizon, self.objective, effort, QuietWatch(self.watch), self.run,
            self.seed, self.scanner,
        )  # fmt: skip
        shallow = search.search(samples)
        self.n_decided += search.n_decided
        shallow_cost = cost_of(shallow, samples, self.objective)
        self._report(f"{depth} levels", 1, 1, min(cost, shallow_cost))
        return shallow if shallow_cost < cost else tree

    def _search(self, samples: SampleSet, start: Split | None, bound: int) -> Split | None:
        """Search for the best tree of the full depth."""
        if self.max_depth <= EXACT_DEPTH:
            leaf = self.objective.leaf_cost(samples.class_counts)
            root = Node(samples, self.max_depth, None, leaf)
            self.n_decided = 1
            self.watch.should_stop()  # asked, so that an interrupt does not lose the tree
            if samples.n_features > 0:
                self.blocks.solve(root, None, self.run)
            else:
                self.blocks.bound = leaf
            if root.cost > self.bound:  # the time was up
                self.blocks.take(root, self._greedy(samples))
                self.blocks.bound = max(self.bound, unavoidable_cost(samples, self.objective))
                return root.tree()
            return self.blocks.settled(root.tree(), samples)
        starts = [start] if start is not None else self._first_trees(samples)
        costs = [cost_of(tree, samples, self.objective) for tree in starts]
        cost = min(costs)
        root = Node(samples, self.max_depth, starts[costs.index(cost)], cost)
        self._cost = cost
        self.blocks.bound = max(bound, unavoidable_cost(samples, self.objective))
        self._report("nodes, depth 0", 0, 1, cost)
        self._grow(root, self.run)
        if root.cost == self.bound:
            return self.blocks.settled(root.tree(), samples)
        if self.max_depth > self.horizon:
            self._repair(root)
        if self.watch.should_stop():
            return root.tree()
        tree = self._finished(root.tree(), samples)
        if samples.n_samples <= self.effort.most_rows:
            tree = self._perturbed(tree, samples)
        return self.blocks.settled(tree, samples)

    def _report(self, what: str, done: int, total: int, cost: int) -> None:
        self.watch.report(what, done, total, cost, self.bound)

    def _first_trees(self, samples: SampleSet) -> list[Split | None]:
        """Return trees to start from: a completed one, CART's, one over all features."""
        few = samples.thinned(self.effort.most_rows)
        objective = self.objective.for_part(few.n_samples, samples.n_samples)
        _, tree = completed(few, self.max_depth, objective, self.effort)
        if self.max_depth <= self.horizon and few is samples:  # deeper trees: in the end
            _, tree = self._repaired(tree, samples, self.max_depth)
        trees = [tree, self._greedy(samples)]
        if self._looks_further(samples):
            stops = self.watch.should_stop
            trees.append(grow_by_twos(few, self.max_depth, objective, stops))
        return trees

    def _looks_further(self, samples: SampleSet) -> bool:
        """Return whether features are left out on the way, and all of them looked at in the end."""
        return self.effort.n_repairs > 0 and samples.n_features > self.effort.most_features

    def _greedy(self, samples: SampleSet) -> Split | None:
        """Return CART's tree."""
        least = self.objective.min_samples_leaf
        return grow_cart(samples, max_depth=self.max_depth, min_samples_leaf=least)

    # ------------------------------------------------------------------------ growing

    def _grow(self, root: Node, run: Map) -> None:
        """Decide a node and all below it, level by level."""
        level = [root]
        while level:
            if len(level) < _MANY_NODES:
                decided = [self._decide(node, run) for node in level]
            else:
                decided = list(run(lambda node: self._decide(node, map), level))
            level = [child for children in decided for child in children]
        root.add_up(self.objective)

    def _decide(self, node: Node, run: Map) -> tuple[Node, ...]:
        """Split a node or make it a block, and tell of it; return its children."""
        before = node.cost
        children = self._split(node, run)
        after = node.cost
        if children:
            after = self.objective.split_cost + sum(child.cost for child in children)
        with self._lock:
            self.n_decided += 1
            self._cost += after - before
            level = self.max_depth - node.depth
            n_nodes = 2 ** max(1, self.max_depth - self.horizon + 1) - 1
            self._report(f"nodes, depth {level}", self.n_decided, n_nodes, self._cost)
        return children

    def _split(self, node: Node, run: Map) -> tuple[Node, ...]:
        """Split a node or make it a block; return its children."""
        samples = node.samples
        if node.cost == 0 or samples.is_pure or samples.n_features == 0:
            return ()
        if self.watch.should_stop():
            return ()
        if node.depth <= self.horizon:
            self.blocks.solve(node, self._n_solves(node), run)
            return ()
        trials = complete_roots(
            samples,
            node.depth,
            self.objective,
            self.effort,
            stops=self.watch.should_stop,
            run=run,
            scanner=self.scanner,
        )
        if not trials:
            return ()
        best, node.trials = trials[0], trials[1:]
        cost = best.cost
        is_thinned = samples.n_samples > self.effort.most_rows
        if is_thinned:  # it was counted on some rows only
            cost = cost_of(tree_of_trial(best, samples), samples, self.objective)
        if node.block is None or cost < node.cost:
            self._set_children(node, best.root, best.trees, run)
        else:
            self._set_children_of_block(node, run)
        if is_thinned:  # no repair up here: free the orders
            node.trials = []
            node.samples = samples.with_features(np.empty(0, dtype=np.intp))
        return node.children or ()

    def _set_children_of_block(self, node: Node, run: Map) -> None:
        """Split a node as its block does, if that splits at all."""
        node.block = without_idle_splits(node.block, node.samples)
        root = None if node.block is None else root_of(node.block, node.samples)
        if node.block is not None and root is not None:
            self._set_children(node, root, (node.block.left, node.block.right), run)

    def _set_children(
        self, node: Node, root: Root, trees: tuple[Split | None, Split | None], run: Map
    ) -> None:
        """Split a node; its children start with the trees given."""
        samples = node.samples
        feature, n_left = root
        node.split = (int(samples.features[feature]), samples.value_at(feature, n_left - 1))
        left, right = (
            Node(part, node.depth - 1, tree, cost_of(tree, part, self.objective), node)
            for part, tree in zip(samples.split(feature, n_left, run), trees, strict=True)
        )
        node.children = (left, right)

    def _n_solves(self, node: Node) -> int | None:
        if node.depth == self.max_depth:
            return self.effort.n_solves
        return self.effort.n_block_solves

    # ------------------------------------------------------------------------- repair

    def _repair(self, root: Node) -> None:
        """Spend trials where errors are left; the cost never rises."""
        n_left = self.effort.n_repairs
        n_tried: dict[Node, int] = {}
        while n_left > 0 and root.cost > 0 and not self.watch.should_stop():
            nodes = [node for node in root.walk() if self._can_be_tried(node, n_tried)]
            nodes.sort(key=lambda node: -node.cost / (1 + n_tried.get(node, 0)))
            chosen: list[Node] = []
            for node in nodes:
                if not any(other.is_above(node) or node.is_above(other) for other in chosen):
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
                    node.add_up_ancestors(self.objective)
            n_left -= len(chosen)
            n = self.effort.n_repairs
            self._report("repairs", n - n_left, n, root.cost)

    def _can_be_tried(self, node: Node, n_tried: dict[Node, int]) -> bool:
        if node.cost == 0 or node.depth < self.horizon:
            return False
        if node.depth == self.horizon:
            return self.effort.n_longer_solves > 0 and n_tried.get(node, 0) == 0
        return bool(node.trials)

    def _repaired(
        self,
        tree: Split | None,
        samples: SampleSet,
        depth: int,
        most_passes: int = _MOST_PASSES,
        over_all: bool = False,
    ) -> tuple[int, Split | None]:
        """Repair a tree within the effort; return its cost and the tree."""
        grow_two = partial(self.blocks.grow_two, over_all=over_all)
        stops = self.watch.should_stop
        return repair(tree, samples, depth, self.objective, grow_two, most_passes, stops)

    def _finished(self, tree: Split | None, samples: SampleSet) -> Split | None:
        """Repair the whole tree, in the end over the features too that were left out so far."""
        n_passes = 1 if samples.n_samples > self.effort.most_rows else _MOST_PASSES
        self._report("passes of repair", 0, n_passes, cost_of(tree, samples, self.objective))
        _, tree = self._repaired(tree, samples, self.max_depth, n_passes)
        if self._looks_further(samples) and self.blocks.closes(samples):
            _, tree = self._repaired(tree, samples, self.max_depth, over_all=True)
        return tree

    def _perturbed(self, tree: Split | None, samples: SampleSet) -> Split | None:
        """Build parts of the finished tree anew, and repair it where that helped."""
        n = self.effort.n_perturbations
        perturbation = Perturbation(self.objective, self.effort, self._repaired, self.seed)
        for first in range(0, n, _TRIALS_PER_ROUND):
            if self.watch.should_stop():
                break
            trials = range(first, min(n, first + _TRIALS_PER_ROUND))
            try_once = partial(perturbation.try_once, tree, samples, self.max_depth)
            found = list(self.run(try_once, trials))
            costs = [cost_of(other, samples, self.objective) for other in found]
            best = found[costs.index(min(costs))]
            cost, tree = self._repaired(best, samples, self.max_depth)
            self._report("perturbations", trials.stop, n, cost)
        return tree

    def _another(self, node: Node) -> Node | None:
        """Grow the next best root of a node, or search a block for longer."""
        other = Node(node.samples, node.depth, node.block, node.cost, node.parent)
        if node.depth == self.horizon:
            self.blocks.solve(other, self.effort.n_longer_solves, map)
            return other
        samples = node.samples
        tree = tree_of_trial(node.trials.pop(0), samples)
        other.cost, other.block = self._repaired(tree, samples, node.depth)
        if other.cost < self.effort.slack * node.cost:
            self._unfold(other, map)
        return other

    def _unfold(self, node: Node, run: Map) -> None:
        """Make nodes of a subtree that was found whole, and search its blocks."""
        self._set_children_of_block(node, run)
        for child in node.children or ():
            if child.depth > self.horizon:
                self._unfold(child, run)
            elif child.cost > 0 and child.samples.n_features > 0:
                self.blocks.solve(child, self.effort.n_block_solves, run)
        node.add_up(self.objective)
