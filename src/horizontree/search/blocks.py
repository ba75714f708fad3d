"""The last levels of a tree: blocks that are searched as a whole, and ties between equal ones.

A block of one or two levels is solved exactly, one of three is searched with bounds, within the
effort. What a block of all samples tells of equally cheap trees is kept, and settled in the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from horizontree.backends.base import PairScanner
from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search.candidates import Root, narrowed, narrowed_with_roots
from horizontree.search.cart import best_stump
from horizontree.search.depth_three import DepthThreeSearch
from horizontree.search.depth_two import DepthTwo, grow_depth_two, solve_depth_two, tree_of
from horizontree.search.effort import Effort
from horizontree.search.growing_tree import Node, root_split
from horizontree.search.pair_histograms import MOST_BINS, MOST_ROOTS, n_bins_for
from horizontree.search.repair import cost_of
from horizontree.search.splits import Split
from horizontree.search.ties import MOST_CUTS, Settling
from horizontree.search.watch import Watch
from horizontree.threads import Map

_MOST_TIED_FEATURES = 60  # whose pairs are looked at for all equally cheap trees
_NEVER = 1 << 62  # dearer than any tree


class Blocks:
    """Searches the blocks that a tree ends in, and settles its ties.

    Parameters
    ----------
    max_depth : int
        Depth of the whole tree.
    objective : Objective
        What is minimised.
    effort : Effort
        How much work is spent.
    watch : Watch
        Says when to stop, and is told of progress.
    run : callable
        ``map``, over threads if there are several.
    scanner : callable or None
        A backend's own way to the histograms of pairs of features.

    Attributes
    ----------
    bound : int
        No tree over all samples is cheaper.
    """

    def __init__(
        self,
        max_depth: int,
        objective: Objective,
        effort: Effort,
        watch: Watch,
        run: Map,
        scanner: PairScanner | None,
    ) -> None:
        self.max_depth = max_depth
        self.objective = objective
        self.effort = effort
        self.watch = watch
        self.run = run
        self.scanner = scanner
        self.bound = 0
        self._found_two: DepthTwo | None = None  # for all samples
        self._found_three: tuple[int, Sequence[Root]] = _NEVER, []  # cost and roots, likewise
        self._grown: dict[tuple[bytes, bool], Split | None] = {}  # by samples and features

    def solve(self, node: Node, n_solves: int | None, run: Map) -> None:
        """Find the best subtree of a node with few levels left, if it beats what is there."""
        samples = node.samples
        is_root = node.depth == self.max_depth
        is_small = is_root and self._is_small(samples)
        is_whole = is_root and (node.depth < 3 or n_solves is None or is_small)
        if not is_whole:
            if is_root:
                samples = self._with_good_roots(samples, run)
            else:
                samples = narrowed(samples, self.effort)
        bound = 0
        if node.depth == 1:
            self.take(node, best_stump(samples, self.objective.min_samples_leaf))
            bound = node.cost
        elif node.depth == 2:
            found = solve_depth_two(
                samples,
                self.objective,
                most_bins=self._n_tied_bins(samples) if is_whole else None,
                closes=is_whole or self.closes(samples),
                with_ties=is_whole,
                stops=self.watch.should_stop,
                run=run,
                scanner=self.scanner,
            )
            bound = found.bound
            is_settled_later = is_whole and found.is_exact and _has_few_cuts(samples)
            if is_settled_later:
                self._found_two = found
            if found.cost < node.cost:
                if is_settled_later:  # its sides come then
                    node.cost, node.block = found.cost, root_split(samples, found.roots[0])
                else:
                    self.take(node, tree_of(found, samples, self.objective))
        elif n_solves != 0:
            if is_small and n_solves is not None:
                few = self._with_good_roots(samples, run)
                if few is not samples:  # first where trees are likely
                    self._search_depth_three(node, few, n_solves, run, with_ties=False)
            bound = self._search_depth_three(node, samples, n_solves, run, with_ties=is_small)
        if node.parent is None and samples is node.samples:
            self.bound = max(self.bound, bound)

    def take(self, node: Node, block: Split | None) -> None:
        """Make a tree the block of a node, if it is cheaper than the one that is there."""
        cost = cost_of(block, node.samples, self.objective)
        if cost < node.cost:
            node.cost, node.block = cost, block

    def _search_depth_three(
        self, node: Node, samples: SampleSet, n_solves: int | None, run: Map, *, with_ties: bool
    ) -> int:
        """Search over depth three; return a bound."""
        search = DepthThreeSearch(
            samples,
            self.objective,
            node.cost,
            self.effort.most_bins,
            closes=n_solves is None or self.closes(samples),
            with_ties=with_ties,
            stops=self.watch.should_stop,
            run=run,
        )
        while not search.is_done and (n_solves is None or search.n_solved < n_solves):
            if self.watch.should_stop():
                break
            search.advance()
            if node.parent is None:
                best, bound = search.best, max(self.bound, search.bound)
                n_proven = 100 * bound // best if best else 100
                self.watch.report("% proven", n_proven, 100, best, bound)
        if with_ties and search.roots:
            self._found_three = search.best, search.roots
        if search.best_root is not None:
            self.take(node, search.tree())
        return min(search.bound, node.cost)

    def _is_small(self, samples: SampleSet) -> bool:
        """Return whether a tree of depth three is searched for over all features, with its ties."""
        is_narrow = samples.n_features <= _MOST_TIED_FEATURES
        work = samples.order.size * int(samples.n_distinct.sum())
        return is_narrow and work <= self.effort.most_tied_work and self.closes(samples)

    def _with_good_roots(self, samples: SampleSet, run: Map) -> SampleSet:
        """Leave out features, but none that is the root of a good tree."""
        return narrowed_with_roots(
            samples, self.objective, self.effort, stops=self.watch.should_stop, run=run
        )

    def _narrowed(self, samples: SampleSet) -> SampleSet:
        """Leave out features, unless the samples are few."""
        return samples if self._is_small(samples) else narrowed(samples, self.effort)

    def closes(self, samples: SampleSet) -> bool:
        """Return whether the best tree of depth two is wanted, not that over bins."""
        return samples.n_samples <= self.effort.most_exact_rows

    def grow_two(self, samples: SampleSet, over_all: bool = False) -> Split | None:
        """Return the best tree of depth two, within the effort; the same samples only once."""
        key = blake2b(samples.rows.tobytes(), digest_size=16).digest(), over_all
        if key not in self._grown:
            few = samples if over_all else narrowed(samples, self.effort)
            self._grown[key] = grow_depth_two(
                few,
                self.objective,
                closes=self.closes(samples),
                stops=self.watch.should_stop,
                scanner=self.scanner,
            )
        return self._grown[key]

    # --------------------------------------------------------------------------- ties

    def settled(self, tree: Split | None, samples: SampleSet) -> Split | None:
        """Settle ties in the last levels, unless there are very many cuts to choose from."""
        if not _has_few_cuts(samples) or (self._found_two is None and self.watch.should_stop()):
            return tree
        settling = Settling(self.objective, self._roots_of)
        settled = settling.settled(tree, samples, self.max_depth)
        costs = [cost_of(each, samples, self.objective) for each in (tree, settled)]
        return settled if costs[1] <= costs[0] else tree  # dearer if the time was up

    def _n_tied_bins(self, samples: SampleSet) -> int:
        """Return how many bins a feature has where ties are settled."""
        return max(self.effort.n_tied_bins, n_bins_for(samples.n_samples, MOST_BINS))

    def _roots_of(self, samples: SampleSet, depth: int) -> tuple[int, Sequence[Root]]:
        """Return the cost of the best tree of depth two or three, and roots of such trees.

        Of depth two they are those that the pass over bins knows that found it. Where it would be
        the best over bins only, or the time is up, there are none: any other tree is cheaper.
        """
        if depth == 3:
            return self._found_three if self.max_depth == 3 else (_NEVER, [])
        if self._found_two is not None:
            most = 1 if self.watch.should_stop() else MOST_ROOTS
            return self._found_two.cost, self._found_two.roots[:most]
        if not self.closes(samples) or self.watch.should_stop():
            return _NEVER, []
        few = self._narrowed(samples)
        found = solve_depth_two(
            few,
            self.objective,
            most_bins=self._n_tied_bins(few),
            with_ties=True,
            stops=self.watch.should_stop,
            run=self.run,
        )
        places = np.searchsorted(samples.features, few.features)
        return found.cost, [(int(places[feature]), n_left) for feature, n_left in found.roots]


def _has_few_cuts(samples: SampleSet) -> bool:
    """Return whether ties are settled among the cuts of these samples."""
    return samples.order.size <= MOST_CUTS
