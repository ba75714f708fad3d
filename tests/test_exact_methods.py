"""Quant-BnB and RS-OCT: optimal where they say so, and a bound that is never wrong."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

from horizontree import HorizonTreeClassifier, QuantBnBClassifier, RSOCTClassifier
from horizontree.encoding import rank_samples
from horizontree.objective import COST_SCALE, Objective
from horizontree.search import quant_bnb, reduced_space
from horizontree.search._quantile_kernels import divide_range
from horizontree.search._reduced_space_kernels import NO_SPLIT, UNDECIDED
from horizontree.search.group_bound import least_errors
from horizontree.search.local_search import Improved
from horizontree.search.repair import cost_of
from naive import optimal_cost
from problems import make_data, planted_tree, small_data

OBJECTIVES = [Objective(), Objective(COST_SCALE // 3), Objective(0, 3), Objective(2**21, 2)]


def quantiles(samples, depth, objective, stops=lambda: False):
    return quant_bnb.solve(samples, depth, objective, stops)


def reduced(samples, depth, objective, stops=lambda: False):
    return reduced_space.solve(samples, depth, objective, 6, stops)


SOLVERS = {"quant-bnb": quantiles, "rs-oct": reduced}


@pytest.fixture(params=SOLVERS)
def solve(request):
    return SOLVERS[request.param]


@settings(max_examples=120)
@given(data=small_data(max_samples=25, max_features=3), objective=st.sampled_from(OBJECTIVES))
def test_depth_two_equals_brute_force(data, objective):
    X, y = data
    samples = rank_samples(X, y, y.max() + 1)
    optimum = optimal_cost(X, y, 2, objective)
    for solve in SOLVERS.values():
        solved = solve(samples, 2, objective)
        assert solved.cost == solved.bound == optimum
        assert cost_of(solved.root, samples, objective) == optimum


@settings(max_examples=100)
@given(
    data=small_data(max_samples=25, max_features=3),
    min_samples_leaf=st.integers(2, 14),
    split_cost=st.sampled_from([0, COST_SCALE // 3]),
    depth=st.integers(1, 3),
)
def test_large_leaves_equal_brute_force(data, min_samples_leaf, split_cost, depth):
    X, y = data
    objective = Objective(split_cost, min_samples_leaf)
    samples = rank_samples(X, y, y.max() + 1)
    optimum = optimal_cost(X, y, depth, objective)
    for solve in SOLVERS.values():
        solved = solve(samples, depth, objective)
        assert solved.cost == solved.bound == optimum


def test_where_two_leaves_do_not_fit_nothing_is_searched(solve):
    X, y = make_data(200, 4, 3, seed=3)
    samples = rank_samples(X, y, 3)
    solved = solve(samples, 2, Objective(0, 101))
    assert solved.root is None
    assert solved.cost == solved.bound
    assert solved.n_boxes <= 3  # no split at the root, and at its children


@pytest.mark.parametrize("most", [1, 10, 2500])
def test_no_more_boxes_are_divided_than_asked_for(most):
    X, y = make_data(200, 4, 2, seed=3)
    samples = rank_samples(X, y, 2)
    solved = reduced_space.solve(samples, 3, Objective(), 0, most_boxes=most)
    assert solved.n_boxes == most
    assert solved.bound < solved.cost


@pytest.fixture
def from_nothing(monkeypatch):
    """Begin with a leaf: local search often finds the optimum, and hides a wrong bound."""

    def leaf(samples, depth, objective, n_starts, stops):
        return Improved(cost_of(None, samples, objective), None, 0)

    for solver in (quant_bnb, reduced_space):
        monkeypatch.setattr(solver, "good_tree", leaf)


@pytest.mark.parametrize("min_samples_leaf", [1, 2, 3, 4])
def test_bounds_alone_find_the_optimum(from_nothing, min_samples_leaf):
    objective = Objective(0, min_samples_leaf)
    for seed in range(80):
        rng = np.random.default_rng(seed)
        X, y = rng.integers(0, 9, (14, 2)).astype(float), rng.integers(0, 4, 14)
        y = np.unique(y, return_inverse=True)[1]
        samples = rank_samples(X, y, y.max() + 1)
        optimum = optimal_cost(X, y, 2, objective)
        for solve in SOLVERS.values():
            solved = solve(samples, 2, objective)
            assert solved.cost == solved.bound == optimum, seed


@settings(max_examples=60)
@given(data=small_data(max_samples=14, max_features=2), objective=st.sampled_from(OBJECTIVES))
def test_depth_three_equals_brute_force(data, objective):
    X, y = data
    samples = rank_samples(X, y, y.max() + 1)
    solved = quantiles(samples, 3, objective)
    assert solved.cost == solved.bound == optimal_cost(X, y, 3, objective)
    assert cost_of(solved.root, samples, objective) == solved.cost


@pytest.mark.slow
def test_thousands_of_small_problems_have_the_optimum_of_brute_force():
    rng = np.random.default_rng(0)
    for seed in range(3000):
        n_features, n_classes = int(rng.integers(1, 4)), int(rng.integers(2, 4))
        n_values = [None, 2, 3, 6][seed % 4]
        X, y = make_data(
            int(rng.integers(3, 22)), n_features, n_classes, n_values=n_values, seed=seed
        )
        y = np.unique(y, return_inverse=True)[1]
        objective = OBJECTIVES[int(rng.integers(4))]
        samples = rank_samples(X, y, y.max() + 1)
        optimum = optimal_cost(X, y, 2, objective)
        for solve in SOLVERS.values():
            assert (
                solve(samples, 2, objective).cost == solve(samples, 2, objective).bound == optimum
            )
            asked = iter(range(int(rng.integers(1, 200))))
            stopped = solve(samples, 2, objective, lambda asked=asked: next(asked, None) is None)
            assert stopped.bound <= optimum <= stopped.cost


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_bound_holds_whenever_the_search_is_stopped(depth, solve):
    for seed in range(6):
        X, y = make_data(18, 3, 2 + seed % 2, n_values=9, seed=seed)
        samples = rank_samples(X, y, y.max() + 1)
        optimum = optimal_cost(X, y, depth, Objective())
        for most in (30, 100, 300, 1000):
            asked = iter(range(most))
            solved = solve(
                samples, depth, Objective(), lambda asked=asked: next(asked, None) is None
            )
            assert solved.bound <= optimum <= solved.cost
            assert cost_of(solved.root, samples, Objective()) == solved.cost


def test_features_of_two_values_do_not_keep_quant_bnb_from_the_clock():
    """Their ranges have nothing to divide, which is where the clock used to be looked at."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (80, 7)).astype(float), rng.integers(0, 2, 80)
    samples = rank_samples(X, y, 2)
    when_asked = []
    progress = [0]

    def stops():
        when_asked.append(progress[0])
        return False

    def tell(n_boxes, cost, bound):
        progress[0] = n_boxes

    solved = quant_bnb.solve(samples, 3, Objective(), stops, tell)
    assert solved.n_boxes > 3
    assert set(range(solved.n_boxes)) <= set(when_asked)


@pytest.mark.parametrize("seed", range(12))
def test_exact_methods_agree(seed):
    X, y = planted_tree(seed)
    alpha = [0.0, 0.004, 0.03][seed % 3]
    least = [1, 1, 5, 2][seed % 4]
    options = {"ccp_alpha": alpha, "min_samples_leaf": least}
    models = [
        kind(2, **options).fit(X, y)
        for kind in (HorizonTreeClassifier, QuantBnBClassifier, RSOCTClassifier)
    ]
    assert [model.status_ for model in models] == ["optimal"] * 3
    assert len({model.objective_ for model in models}) == 1
    for model in models:
        sizes = model.tree_.class_counts[model.tree_.is_leaf].sum(axis=1)
        assert sizes.min() >= least or model.tree_.n_splits == 0


def test_depth_three_agrees_with_the_flagship():
    for seed in range(3):
        X, y = make_data(80, 3, 2, n_values=12, seed=seed)
        ours = HorizonTreeClassifier(3, effort="thorough").fit(X, y)
        theirs = QuantBnBClassifier(3).fit(X, y)
        assert ours.status_ == theirs.status_ == "optimal"
        assert ours.n_errors_ == theirs.n_errors_


# ------------------------------------------------------------------------------ quantiles


@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=40),
    st.integers(2, 5),
    st.data(),
)
def test_parts_of_a_range_are_the_range(sizes, n_parts, data):
    starts = np.cumsum([0, *sizes]).astype(np.int32)
    low = data.draw(st.integers(1, len(sizes) - 1))
    high = data.draw(st.integers(low, len(sizes) - 1))
    parts = np.zeros((n_parts, 2), dtype=np.int64)
    n = divide_range(starts, low, high, n_parts, parts)
    cuts = [cut for first, last in parts[:n] for cut in range(first, last + 1)]
    assert cuts == list(range(low, high + 1))
    assert n > 1 or low == high


# --------------------------------------------------------------------------------- groups


def box_of(n_inner, features, ranges, labels):
    low, high = zip(*ranges, strict=True)
    box = np.array([*features, *low, *high, *labels], dtype=np.int32)
    assert len(box) == 4 * n_inner + 1
    return box


def errors_by_trying(code, label, n_classes, box):
    """Return the least errors of any tree of a box, by trying all of them."""
    n_inner = (len(box) - 1) // 4
    tests = []
    for node in range(n_inner):
        if box[node] == NO_SPLIT:
            tests.append([None])
        elif box[node] == UNDECIDED:
            tests.append(
                [(f, c) for f in range(code.shape[1]) for c in range(code[:, f].max() + 2)]
            )
        else:
            cuts = range(box[n_inner + node], box[2 * n_inner + node] + 1)
            tests.append([(box[node], c) for c in cuts])
    best = len(label)
    for splits in product(*tests):
        leaf = np.zeros(len(label), dtype=int)
        for i, x in enumerate(code):
            while leaf[i] < n_inner:
                split = splits[leaf[i]]
                goes_right = split is not None and x[split[0]] >= split[1]
                leaf[i] = 2 * leaf[i] + 1 + goes_right
        errors = 0
        for at in range(n_inner + 1):
            counts = np.bincount(label[leaf == n_inner + at], minlength=n_classes)
            decided = box[3 * n_inner + at]
            errors += counts.sum() - (counts.max() if decided == UNDECIDED else counts[decided])
        best = min(best, int(errors))
    return best


BOXES = {
    "all decided but the cuts": box_of(3, [0, 1, 0], [(1, 3), (1, 2), (2, 3)], [-1, -1, -1, -1]),
    "labels decided": box_of(3, [1, 0, 0], [(1, 3), (1, 3), (1, 3)], [0, 1, 1, 0]),
    "a leaf below the root": box_of(3, [0, -2, 1], [(1, 3), (0, 0), (1, 3)], [-1, -1, 1, -1]),
    "a feature undecided": box_of(3, [0, -1, 1], [(2, 2), (0, 0), (1, 3)], [-1, -1, -1, -1]),
    "one split": box_of(1, [-1], [(0, 0)], [-1, -1]),
}


@pytest.mark.parametrize("box", BOXES.values(), ids=BOXES)
def test_errors_of_a_group_are_those_of_trying_all_trees(box):
    rng = np.random.default_rng(0)
    for n_classes in (2, 3):
        code = rng.integers(0, 4, size=(11, 2)).astype(np.int32)
        label = rng.integers(0, n_classes, size=11).astype(np.int32)
        expected = errors_by_trying(code, label, n_classes, box)
        assert least_errors(code, label, n_classes, box, 10**6) == expected
        assert least_errors(code, label, n_classes, box, 1) <= expected


def test_groups_only_tighten(monkeypatch):
    X, y = make_data(60, 2, 2, seed=4)
    samples = rank_samples(X, y, 2)
    monkeypatch.setattr(reduced_space, "_BOXES_BETWEEN_GROUPS", 20)
    monkeypatch.setattr(reduced_space, "_MOST_BOXES_AT_A_TIME", 20)
    plain = reduced_space.solve(samples, 2, Objective(), 0)
    grouped = reduced_space.solve(samples, 2, Objective(), 20)
    assert plain.cost == plain.bound == grouped.cost == grouped.bound
    assert grouped.n_boxes <= plain.n_boxes


def test_a_limit_is_looked_at_between_two_groups(monkeypatch):
    X, y = make_data(60, 2, 2, seed=4)
    samples = rank_samples(X, y, 2)
    monkeypatch.setattr(reduced_space, "_BOXES_BETWEEN_GROUPS", 20)
    monkeypatch.setattr(reduced_space, "_MOST_BOXES_AT_A_TIME", 20)
    optimum = reduced_space.solve(samples, 2, Objective(), 0).cost
    solved_groups = []

    def solve_group(*problem):
        solved_groups.append(problem)
        return least_errors(*problem)

    monkeypatch.setattr(reduced_space, "least_errors", solve_group)
    stopped = reduced_space.solve(samples, 2, Objective(), 4, lambda: len(solved_groups) == 1)
    assert len(solved_groups) == 1
    assert stopped.bound <= optimum <= stopped.cost


@pytest.mark.parametrize("known", [None, -np.inf, np.nan])
def test_a_solver_that_knows_nothing_makes_no_sample_wrong(known, monkeypatch):
    class Unsolved:
        mip_dual_bound = known

    monkeypatch.setattr(scipy.optimize, "milp", lambda *_, **__: Unsolved())
    code, label = np.arange(6, dtype=np.int32)[:, None], np.arange(6, dtype=np.int32) % 2
    box = np.array([UNDECIDED, 0, 0, UNDECIDED, UNDECIDED], dtype=np.int32)
    assert least_errors(code, label, 2, box) == 0
