"""Of equally cheap trees: which are known, and which one is taken."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from horizontree import HorizonTreeClassifier
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search import blocks, horizon
from horizontree.search._cart_kernels import add_purity_of_cuts, best_of_roots
from horizontree.search.cart import grow_cart
from horizontree.search.depth_two import grow_depth_two, solve_depth_two
from horizontree.search.effort import EFFORTS
from horizontree.search.growing_tree import root_split
from horizontree.search.pair_histograms import MOST_BINS
from horizontree.search.repair import cost_of
from horizontree.search.splits import Split, build_tree
from horizontree.search.ties import Settling
from horizontree.search.watch import Watch
from problems import make_data, small_data

OBJECTIVES = st.builds(
    Objective, st.sampled_from([1, COST_SCALE // 3, COST_SCALE]), st.integers(1, 3)
)


def naive_purity(X, y, rows, split):
    """How well one split divides some rows; 0 where there is none."""
    if split is None:
        return 0.0
    goes_left = X[rows, split.feature] <= split.cut
    squares = [int((np.bincount(y[rows][side]) ** 2).sum()) for side in (goes_left, ~goes_left)]
    return squares[0] / int(goes_left.sum()) + squares[1] / int((~goes_left).sum())


def all_splits(samples):
    """Every split of some samples, with what it leaves on either side."""
    for f in range(samples.n_features):
        for n_left in samples.starts(f)[1:-1]:
            cut = samples.value_at(f, int(n_left) - 1)
            yield Split(int(samples.features[f]), cut), samples.split(f, int(n_left))


def paying_last_splits(samples, objective):
    """The cheapest single splits; None alone where none pays."""
    costs = {}
    for split, sides in all_splits(samples):
        if min(side.n_samples for side in sides) >= objective.min_samples_leaf:
            leaves = sum(objective.leaf_cost(side.class_counts) for side in sides)
            costs.setdefault(objective.split_cost + leaves, []).append(split)
    leaf = objective.leaf_cost(samples.class_counts)
    best = min(costs, default=leaf)
    return (best, costs[best]) if best < leaf else (leaf, [None])


NEVER = 1 << 62


def known_roots(samples, objective, depth=2):
    if depth != 2:
        return NEVER, []
    found = solve_depth_two(samples, objective, most_bins=MOST_BINS, with_ties=True)
    return found.cost, found.roots


@pytest.mark.nojit
@given(small_data(max_samples=14, max_features=3), OBJECTIVES)
def test_all_roots_of_the_cheapest_trees_are_known_where_each_value_is_a_bin(data, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    found = solve_depth_two(samples, objective, most_bins=MOST_BINS, with_ties=True)
    if found.feature < 0:
        assert found.roots == ()
        return
    assert found.roots[0] == (found.feature, found.n_left)
    assert found.cost == naive.optimal_cost(X, y, 2, objective)
    splits = [root_split(samples, root) for root in found.roots]
    known = {(split.feature, split.cut) for split in splits}
    assert known == naive.cheapest_roots(X, y, 2, objective, found.cost)


@pytest.mark.nojit
@given(small_data(max_samples=14, max_features=3), OBJECTIVES)
def test_the_splits_of_the_tree_taken_are_the_purest_of_the_cheapest(data, objective):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    cost, roots = known_roots(samples, objective)
    if len(roots) == 0:
        return
    first = root_split(samples, roots[0])
    taken = Settling(objective, lambda *_: (cost, roots)).settled(first, samples, 2)
    assert cost_of(taken, samples, objective) == cost

    def last_split(side):
        """The purest of the cheapest, over its own rows and all (equal: the first)."""
        _, splits = paying_last_splits(side, objective)
        return max(
            splits,
            key=lambda s: naive_purity(X, y, samples.rows, s) + naive_purity(X, y, side.rows, s),
        )

    trees = []
    for root in roots:
        left, right = map(last_split, samples.split(*root))
        trees.append(replace(root_split(samples, root), left=left, right=right))

    def rank(tree):  # fewer splits, then purer ones
        splits = [s for s in (tree, tree.left, tree.right) if s is not None]
        return len(splits), -sum(naive_purity(X, y, samples.rows, split) for split in splits)

    assert rank(taken) == min(map(rank, trees))


@pytest.mark.nojit
@given(small_data(max_samples=14, max_features=3), OBJECTIVES, st.data())
def test_the_best_of_some_roots_is_that_of_trying_all_last_splits(data, objective, draw):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    places = [(f, int(n)) for f in range(samples.n_features) for n in samples.starts(f)[1:-1]]
    if len(places) == 0:
        return
    roots = draw.draw(st.lists(st.sampled_from(places), min_size=1, max_size=4))
    codes = samples.codes().T
    of_value = np.array(draw.draw(st.lists(st.integers(0, 2), min_size=14, max_size=14)), float)
    purity = of_value[codes]  # many equal ones

    def last_split(root, side):
        """The cheapest, of these the purest: cost, feature, last sample on the left."""
        here = np.flatnonzero((codes[root[0]] < samples.candidate_of(*root)) == (side == 0))
        labels = samples.labels[here]
        best = leaf = n_wrong(labels) * COST_SCALE, 0.0, -1, -1
        for f in range(samples.n_features):
            for value in np.unique(codes[f, here])[:-1]:
                is_low = codes[f, here] <= value
                if min(is_low.sum(), (~is_low).sum()) < objective.min_samples_leaf:
                    continue
                errors = n_wrong(labels[is_low]) + n_wrong(labels[~is_low])
                cost = objective.split_cost + errors * COST_SCALE
                parts = np.bincount(labels[is_low]), np.bincount(labels[~is_low])
                own = [int((part**2).sum()) / int(part.sum()) for part in parts]
                second = own[0] + own[1] + of_value[value]
                if cost < leaf[0] and (cost, -second) < (best[0], -best[1]):
                    best = cost, second, f, value
        return best

    trees = []
    for i, root in enumerate(roots):
        sides = [last_split(root, side) for side in (0, 1)]
        cost = objective.split_cost + sum(side[0] for side in sides)
        splits = [(root[0], samples.candidate_of(*root) - 1)]
        splits += [side[2:] for side in sides if side[2] >= 0]
        rank = cost, len(splits), -sum(of_value[value] for _, value in splits), i
        trees.append((rank, [side[2:] for side in sides]))
    (*_, expected), expected_sides = min(trees)
    best, sides = best_of_roots(
        samples.order, samples.labels, samples.class_counts, np.array(roots, dtype=np.int64),
        objective.min_samples_leaf, objective.split_cost, purity,
    )  # fmt: skip
    assert best == expected
    found = [(f, codes[f, sample] if f >= 0 else -1) for f, sample in sides.tolist()]
    assert found == expected_sides


@pytest.mark.nojit
def test_of_equally_cheap_roots_that_with_fewer_splits_is_the_best():
    # 0 | 1 1 | 0 0 with the price of an error: after the first cut a second one pays for the error
    # that is left after the other
    samples = rank_samples(
        np.array([[0.0], [1.0], [1.0], [2.0], [2.0]]), np.array([0, 1, 1, 0, 0]), 2
    )
    for roots, expected in (([(0, 1), (0, 3)], 1), ([(0, 3), (0, 1)], 0)):
        best, sides = best_of_roots(
            samples.order, samples.labels, samples.class_counts, np.array(roots, dtype=np.int64),
            1, COST_SCALE, np.zeros(samples.order.shape),
        )  # fmt: skip
        assert best == expected
        assert (sides == -1).all()


def n_wrong(labels):
    return len(labels) - int(np.bincount(labels).max())


@pytest.mark.nojit
@given(small_data())
def test_purity_is_that_of_dividing_the_samples_at_each_value(data):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    purity = np.ones(samples.order.shape)
    add_purity_of_cuts(samples.order, samples.labels, samples.class_counts, purity)
    for f, column in enumerate(samples.features):
        for sample, value in enumerate(X[samples.rows, column]):
            split = Split(int(column), float(value))
            is_highest = value == X[:, column].max()
            naive = 0.0 if is_highest else naive_purity(X, y, samples.rows, split)
            assert purity[f, sample] == 1 + naive


@given(small_data(max_samples=40), OBJECTIVES, st.integers(1, 4))
def test_a_settled_tree_is_not_dearer_and_not_deeper(data, objective, depth):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    tree = grow_cart(samples, max_depth=depth, min_samples_leaf=objective.min_samples_leaf)
    settling = Settling(objective, lambda part, depth: known_roots(part, objective, depth))
    settled = settling.settled(tree, samples, depth)
    assert cost_of(settled, samples, objective) <= cost_of(tree, samples, objective)
    finished = build_tree(settled, X, y, samples.n_classes, objective)
    assert finished.max_depth <= depth
    assert settling.settled(settled, samples, depth) == settled


def test_a_last_split_that_divides_all_rows_well_is_preferred():
    # x0 makes the root. Where it is 1, x1 and x2 divide the four rows alike; only x2 tells
    # the classes of the other rows apart, too.
    X = np.array(
        [[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0], [1, 1, 1],
         [1, 1, 1]], dtype=float,
    )  # fmt: skip
    y = np.array([0, 0, 0, 0, 1, 0, 0, 1, 1])
    samples = rank_samples(X, y, 2)
    settling = Settling(Objective(1, 1), lambda *_: (0, [(0, 5)]))
    tree = settling.settled(Split(0, 0.0), samples, 2)
    assert tree.right == Split(2, 0.0)


def test_rows_of_all_nodes_above_count():
    # x0, then x1 part the rows. Where both are 1, x2 and x3 divide the rows alike, and where x0 is
    # 1, too; only x3 tells the classes apart where x0 is 0.
    X = np.array(
        [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0],
         [1, 1, 0, 0], [1, 1, 1, 1]], dtype=float,
    )  # fmt: skip
    y = np.array([0, 0, 1, 1, 2, 2, 0, 1])
    samples = rank_samples(X, y, 3)
    tree = Split(0, 0.0, Split(3, 0.0), Split(1, 0.0, None, Split(2, 0.0)))
    settled = Settling(Objective(1, 1), lambda *_: (NEVER, [])).settled(tree, samples, 3)
    assert settled.right == Split(1, 0.0, None, Split(3, 0.0))


@given(small_data(max_samples=14, max_features=3), OBJECTIVES, st.sampled_from([3, 5]))
def test_a_tree_with_fewer_levels_than_it_may_have_is_settled_like_one_of_so_many(
    data, objective, depth
):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    _, roots = known_roots(samples, objective)
    settling = Settling(objective, lambda part, depth: known_roots(part, objective, depth))
    trees = [tree for root in roots for tree in with_each_last_split(root, samples, objective)]
    trees = [tree for tree in trees if tree.left is not None or tree.right is not None]
    for tree in trees[:20]:
        assert settling.settled(tree, samples, depth) == settling.settled(tree, samples, 2)


def with_each_last_split(root, samples, objective):
    """The trees of depth two that a root has with its cheapest last splits."""
    split = root_split(samples, root)
    sides = [paying_last_splits(part, objective)[1] for part in samples.split(*root)]
    return [replace(split, left=left, right=right) for left in sides[0] for right in sides[1]]


def rank_of_tree(X, y, tree):
    """How many splits, and how well they divide all rows by themselves, in the sum."""
    if tree is None:
        return 0, 0.0
    sides = [rank_of_tree(X, y, side) for side in (tree.left, tree.right)]
    own = naive_purity(X, y, np.arange(len(y)), tree)
    return 1 + sum(n for n, _ in sides), -own + sum(rank for _, rank in sides)


@pytest.mark.parametrize("seed", range(8))
def test_at_depth_three_the_tree_is_the_purest_that_any_of_the_cheapest_roots_has(seed):
    X, y = make_data(40, 5, n_values=4, seed=seed)
    objective = Objective(1, 1)
    samples = rank_samples(X, y, 2)
    search = horizon.HorizonSearch(3, 3, objective, EFFORTS["normal"], Watch(None))
    taken = search.search(samples)
    cost = cost_of(taken, samples, objective)
    assert search.bound == cost
    settling = Settling(objective, lambda part, depth: known_roots(part, objective, depth))
    ranks = []
    for f, cut in naive.cheapest_roots(X, y, 3, objective, cost):
        sides = [grow_depth_two(part, objective) for part in samples.divide(f, cut)]
        tree = settling.settled(Split(f, cut, *sides), samples, 3)
        ranks.append(rank_of_tree(X, y, tree))
    assert rank_of_tree(X, y, taken) == pytest.approx(min(ranks), rel=1e-12)


class CheckedBlocks(blocks.Blocks):
    """Blocks that fail where settling makes a tree dearer, and not because the time is up."""

    def settled(self, tree, samples):
        before = cost_of(tree, samples, self.objective)
        settled = super().settled(tree, samples)
        assert cost_of(settled, samples, self.objective) <= before
        settling = Settling(self.objective, self._roots_of)
        other = settling.settled(tree, samples, self.max_depth)
        assert cost_of(other, samples, self.objective) <= before or self.watch.should_stop()
        return settled


def checked_search(depth, objective, effort, watch):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(horizon, "Blocks", CheckedBlocks)
        return horizon.HorizonSearch(depth, 3, objective, effort, watch)


@given(
    small_data(max_samples=40, max_features=6),
    OBJECTIVES,
    st.integers(2, 5),
    st.sampled_from(["quick", "normal"]),
    st.sampled_from([2, 4, 20]),
    st.sampled_from([0, 12, 100]),
    st.sampled_from([0, 2400, 1 << 28]),
)
def test_settling_makes_no_tree_dearer_whatever_the_effort_leaves_out(
    data, objective, depth, name, most_features, most_exact_rows, most_tied_work
):
    X, y = data
    samples = rank_samples(X, y, int(y.max()) + 1)
    effort = replace(
        EFFORTS[name],
        most_features=most_features,
        most_exact_rows=most_exact_rows,
        most_tied_work=most_tied_work,
    )
    search = checked_search(depth, objective, effort, Watch(None))
    tree = search.search(samples)
    greedy = grow_cart(samples, max_depth=depth, min_samples_leaf=objective.min_samples_leaf)
    cost = cost_of(tree, samples, objective)
    assert search.bound <= cost <= cost_of(greedy, samples, objective)


@pytest.mark.parametrize("seed", [7, 27, 31, 35])
def test_ties_among_some_features_only_are_not_settled(seed):
    # small once features are left out; each side of a root would leave out others
    X, y = make_data(40, 8, n_values=6, seed=seed)
    effort = replace(EFFORTS["normal"], most_features=3, most_tied_work=4 * 40 * 24, n_repairs=0)
    search = checked_search(3, Objective(1, 1), effort, Watch(None))
    assert search.search(rank_samples(X, y, 2)) is not None


@pytest.mark.parametrize("n_features", [5, 22])
def test_a_search_that_is_stopped_at_any_moment_loses_no_tree(n_features):
    X, y = make_data(40, n_features, n_values=4, seed=1)
    samples, objective = rank_samples(X, y, 2), Objective(1, 1)
    greedy = grow_cart(samples, max_depth=3)
    bounds = []
    for n_calls in count():
        watch = StoppingWatch(n_calls)
        search = checked_search(3, objective, EFFORTS["normal"], watch)
        cost = cost_of(search.search(samples), samples, objective)
        bounds.append(search.bound)
        assert cost <= cost_of(greedy, samples, objective)
        if watch.n_left >= 0:
            break
    assert n_calls > 5
    assert max(bounds) <= cost  # of the search that was not stopped


class StoppingWatch(Watch):
    """Says to stop from some question on."""

    def __init__(self, n_calls):
        super().__init__(None)
        self.n_left = n_calls

    def should_stop(self):
        self.n_left -= 1
        return self.n_left < 0


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_problems_too_large_for_the_table_have_as_good_a_tree(monkeypatch, depth):
    X, y = make_data(60, 3, n_values=3, seed=3)
    settled = HorizonTreeClassifier(max_depth=depth).fit(X, y)
    monkeypatch.setattr(blocks, "MOST_CUTS", 0)
    first = HorizonTreeClassifier(max_depth=depth).fit(X, y)
    assert (first.n_errors_, first.tree_.n_splits) == (settled.n_errors_, settled.tree_.n_splits)
    assert first.status_ == settled.status_


@pytest.mark.parametrize("seed", range(6))
def test_a_stopped_search_of_depth_two_is_as_good_as_without_settling(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 4))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0.3) ^ (rng.random(600) < 0.2)).astype(int)
    stopped = HorizonTreeClassifier(max_depth=2, time_limit=1e-9).fit(X, y)
    monkeypatch.setattr(blocks, "MOST_CUTS", 0)
    unsettled = HorizonTreeClassifier(max_depth=2, time_limit=1e-9).fit(X, y)
    assert stopped.status_ == unsettled.status_ == "time_limit"
    assert stopped.tree_ == unsettled.tree_
