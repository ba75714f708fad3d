"""What the branch-and-bound searches share: what they start from, and what they end with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from horizontree.encoding import SampleSet
from horizontree.objective import Objective
from horizontree.search.cart import grow_cart
from horizontree.search.local_search import Improved, LocalSearch
from horizontree.search.splits import Split

OnProgress = Callable[[int, int, int], None]
"""Is told how many boxes have been looked at, the cost of the best tree, and the bound."""


def tell_nobody(n_boxes: int, cost: int, bound: int) -> None:
    """Keep progress to oneself."""


@dataclass(frozen=True, eq=False)
class Solved:
    """The best tree, and a cost that no tree of this depth is below."""

    root: Split | None
    cost: int
    bound: int
    n_boxes: int


def allowed_cuts(
    samples: SampleSet, min_samples_leaf: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first and the last cut of each feature that leave enough samples on both sides.

    No node of a tree has a cut outside: it has fewer samples there than all. Codes below a cut
    go left; where the last is before the first there is none.
    """
    most = samples.n_samples - min_samples_leaf
    starts = [samples.starts(f)[: samples.n_distinct[f]] for f in range(samples.n_features)]
    first = [max(1, int(np.searchsorted(each, min_samples_leaf))) for each in starts]
    last = [int(np.searchsorted(each, most, side="right")) - 1 for each in starts]
    return np.array(first, dtype=np.int64), np.array(last, dtype=np.int64)


def good_tree(
    samples: SampleSet,
    depth: int,
    objective: Objective,
    n_starts: int,
    stops: Callable[[], bool],
) -> Improved:
    """Return a tree that bounds have to beat: local search from CART and some random trees."""
    cart = grow_cart(samples, max_depth=depth, min_samples_leaf=objective.min_samples_leaf)
    local = LocalSearch(samples, depth, objective, stops)
    return min(local.improve_all([cart], range(n_starts)), key=lambda improved: improved.cost)
