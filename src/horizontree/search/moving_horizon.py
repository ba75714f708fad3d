"""MH-DEOCT (Algorithm 2): fill the tree from the root down, looking a horizon ahead.

At each node, differential evolution searches for the best subtree of the horizon's depth
over the samples there; only its root split is kept, and the search moves on to the
children. The nodes of one level are independent of each other: large ones are given all
threads one after the other, small ones a thread each.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial

from horizontree.backends.base import Backend, LevelEvolution
from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search.cart import best_stump, grow_cart
from horizontree.search.differential_evolution import (
    Evolution,
    EvolvedTree,
    Start,
    evolve_together,
    evolve_tree,
)
from horizontree.search.random_draws import stream_of
from horizontree.search.splits import Split
from horizontree.search.watch import Watch
from horizontree.threads import Map

WARM_STARTS = ("cart", "deoct", "local-cart")

SIDES = ("left", "right")

_GLOBAL_STREAM = 0
"""The path of the evolution over everything; node ``t`` of the tree has ``t + 1``."""

_WORTH_ALL_THREADS = 400_000
"""Samples times leaves from which on one evolution is shared by all threads."""


def report_whole_tree(watch: Watch, max_depth: int, n_generations: int, cost: int) -> None:
    """Tell how far an evolution of the whole tree is; none of its nodes is done before the end."""
    watch.report(f"nodes, generation {n_generations:,}", 0, 2**max_depth - 1, cost)


@dataclass(eq=False)
class _Node:
    """A node that is still to be decided.

    ``number`` is its place in the heap of the whole tree. ``subtrees`` are the warm starts
    that hang at this place in other trees; ``fallback`` is what the parent's search saw
    below here, for when time runs out. What is decided is attached to ``parent``.
    """

    number: int
    samples: SampleSet
    subtrees: dict[str, Split | None]
    fallback: Split | None
    parent: Split
    side: str

    def attach(self, split: Split | None) -> None:
        """Hang a subtree in this place."""
        setattr(self.parent, self.side, split)


@dataclass(eq=False)
class MovingHorizon:
    """The search, with everything that its nodes share.

    Parameters
    ----------
    backend, one_thread_backend : Backend
        Count samples for large nodes with all threads, for small ones with one.
    max_depth, horizon : int
        Depth of the tree and of the subtrees that are searched.
    objective : Objective
        What is minimised.
    evolution : Evolution
        Size of each evolution.
    seed : int
        The user's.
    warm_starts : collection of str
        Some of ``WARM_STARTS``.
    watch : Watch
        Says when to stop.
    evolutions : list of EvolvedTree
        All evolutions that were run, in no particular order.
    best_cost : int or None
        Cost of the best whole tree met so far.
    n_decided : int
        Places of the complete tree that are behind us.
    """

    backend: Backend
    one_thread_backend: Backend
    max_depth: int
    horizon: int
    objective: Objective
    evolution: Evolution
    seed: int
    warm_starts: Collection[str] = WARM_STARTS
    watch: Watch = field(default_factory=Watch)
    evolutions: list[EvolvedTree] = field(default_factory=list)
    best_cost: int | None = None
    n_decided: int = 0

    def backend_for(self, samples: SampleSet, depth: int) -> Backend:
        """Return the backend that suits the work."""
        if samples.n_samples << depth >= _WORTH_ALL_THREADS:
            return self.backend
        return self.one_thread_backend

    def global_trees(self, samples: SampleSet) -> dict[str, Split | None]:
        """Train the CART and the DEOCT tree on everything, as far as they are wanted.

        The DEOCT tree starts from random individuals only: started from CART it stays near
        it, and brings nothing new (docs/decisions/0005-deoct-starts-without-cart.md).
        """
        trees: dict[str, Split | None] = {}
        min_samples_leaf = self.objective.min_samples_leaf
        if "cart" in self.warm_starts:
            trees["cart"] = grow_cart(
                samples, max_depth=self.max_depth, min_samples_leaf=min_samples_leaf
            )
        if "deoct" in self.warm_starts and not self.watch.should_stop():
            evolved = evolve_tree(
                samples,
                self.backend_for(samples, self.max_depth),
                depth=self.max_depth,
                objective=self.objective,
                evolution=self.evolution,
                stream=stream_of(self.seed, _GLOBAL_STREAM),
                should_stop=self.watch.should_stop,
                on_progress=partial(report_whole_tree, self.watch, self.max_depth),
            )
            self._note(evolved, is_whole_tree=True)
            trees["deoct"] = evolved.root
        return trees

    def grow(
        self, samples: SampleSet, trees: dict[str, Split | None], run: Map = map
    ) -> Split | None:
        """Fill the tree level by level; ``trees`` are the warm starts over everything."""
        above_root = Split(feature=-1, cut=float("nan"))
        level = [_Node(0, samples, trees, None, above_root, "left")]
        for depth in range(self.max_depth):
            level = self._grow_level(level, depth, run)
        return above_root.left

    def _grow_level(self, level: list[_Node], depth: int, run: Map) -> list[_Node]:
        """Decide the nodes of one level and return those of the next."""
        depth_ahead = min(self.horizon, self.max_depth - depth)
        together: LevelEvolution | None = getattr(self.backend, "evolve_together", None)
        if depth_ahead > 1 and together is not None:
            return self._grow_level_at_once(level, depth, depth_ahead, together, run)

        def is_large(node: _Node) -> bool:
            return self.backend_for(node.samples, depth_ahead) is self.backend

        def decide_small(node: _Node) -> list[_Node]:
            return self._decide(node, depth_ahead, depth, self.one_thread_backend, map)

        level.sort(key=lambda node: -node.samples.n_samples)  # the longest work first
        large = [node for node in level if is_large(node)]
        small = level[len(large) :]
        children: list[_Node] = []
        for node in large:
            children += self._decide(node, depth_ahead, depth, self.backend, run)
        for found in run(decide_small, small):
            children += found
        return children

    def _decide(
        self, node: _Node, depth_ahead: int, depth: int, backend: Backend, run: Map
    ) -> list[_Node]:
        """Split one node, attach the split, and return the children still to be decided."""
        self._report(depth)
        if self.watch.should_stop():
            node.attach(node.fallback)
            return []
        return self._divide(node, self._best_split(node, depth_ahead, backend), depth, run)

    def _grow_level_at_once(
        self,
        level: list[_Node],
        depth: int,
        depth_ahead: int,
        together: LevelEvolution,
        run: Map,
    ) -> list[_Node]:
        """Do the same with a backend that searches for the splits of all nodes together."""
        self._report(depth)
        if self.watch.should_stop():
            for node in level:
                node.attach(node.fallback)
            return []
        worth_it = [node for node in level if self._is_worth_splitting(node.samples)]
        evolved = evolve_together(
            [self._start(node, depth_ahead) for node in worth_it],
            together,
            depth=depth_ahead,
            objective=self.objective,
            evolution=self.evolution,
            should_stop=self.watch.should_stop,
        )
        splits: dict[_Node, Split | None] = dict.fromkeys(level)
        for node, found in zip(worth_it, evolved, strict=True):
            self._note(found, is_whole_tree=node.number == 0)
            splits[node] = found.root
        children: list[_Node] = []
        for node, split in splits.items():
            children += self._divide(node, split, depth, run)
        return children

    def _report(self, depth: int) -> None:
        n_nodes = 2**self.max_depth - 1
        self.watch.report(f"nodes, depth {depth}", self.n_decided, n_nodes, self.best_cost)

    def _divide(self, node: _Node, split: Split | None, depth: int, run: Map) -> list[_Node]:
        """Attach the split of a node, and return the children still to be decided."""
        samples = node.samples
        node.attach(split)
        if split is None or depth + 1 == self.max_depth:
            self.n_decided += 2 ** (self.max_depth - depth) - 1  # all that could be below
            return []
        self.n_decided += 1
        feature = int((samples.features == split.feature).argmax())
        parts = samples.split(feature, samples.n_left_of_cut(feature, split.cut), run)
        del samples, node.samples  # a level holds its own orders only
        return [
            _Node(
                number=2 * node.number + 1 + i,
                samples=part,
                subtrees={name: getattr(tree, side, None) for name, tree in node.subtrees.items()},
                fallback=getattr(split, side),
                parent=split,
                side=side,
            )
            for i, (side, part) in enumerate(zip(SIDES, parts, strict=True))
        ]

    def _note(self, evolved: EvolvedTree, *, is_whole_tree: bool) -> None:
        """Keep account of an evolution."""
        self.evolutions.append(evolved)
        if is_whole_tree and (self.best_cost is None or evolved.cost < self.best_cost):
            self.best_cost = evolved.cost

    def _best_split(self, node: _Node, depth_ahead: int, backend: Backend) -> Split | None:
        """Return the split to keep at a node, with what the search saw below it."""
        if not self._is_worth_splitting(node.samples):
            return None
        if depth_ahead == 1:
            return best_stump(node.samples, self.objective.min_samples_leaf)
        start = self._start(node, depth_ahead)
        evolved = evolve_tree(
            start.samples,
            backend,
            depth=depth_ahead,
            objective=self.objective,
            evolution=self.evolution,
            stream=start.stream,
            warm_starts=start.warm_starts,
            should_stop=self.watch.should_stop,
        )
        self._note(evolved, is_whole_tree=node.number == 0)
        return evolved.root

    def _is_worth_splitting(self, samples: SampleSet) -> bool:
        is_small = samples.n_samples <= self.objective.min_samples_leaf
        return not (samples.is_pure or is_small or samples.n_features == 0)

    def _start(self, node: _Node, depth_ahead: int) -> Start:
        """Collect what the search at a node starts from."""
        warm_starts = list(node.subtrees.values())
        if "local-cart" in self.warm_starts:
            least = self.objective.min_samples_leaf
            tree = grow_cart(node.samples, max_depth=depth_ahead, min_samples_leaf=least)
            warm_starts.append(tree)
        return Start(node.samples, stream_of(self.seed, node.number + 1), warm_starts)
