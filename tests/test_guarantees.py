"""What every fitted classifier promises, on any data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import naive
from horizontree import (
    CARTClassifier,
    DEOCTClassifier,
    HorizonTreeClassifier,
    LSOCTClassifier,
    MHDEOCTClassifier,
    QuantBnBClassifier,
    RSOCTClassifier,
)
from horizontree.objective import COST_SCALE, Objective
from horizontree.search.moving_horizon import MovingHorizon
from horizontree.search.splits import build_tree
from problems import KINDS, make_data, quick, small_data

parameters = st.fixed_dictionaries(
    {
        "max_depth": st.integers(1, 4),
        "min_samples_leaf": st.integers(1, 6),
        "ccp_alpha": st.sampled_from([0.0, 0.001, 0.05, 0.2, 1.0]),
    }
)
seeds = st.integers(0, 2**32 - 1)


def check_promises(model, X, y) -> None:
    tree = model.tree_
    assert model.n_errors_ == tree.n_errors == (model.predict(X) != y).sum()
    split_cost = round(model.ccp_alpha * len(y) * COST_SCALE) / COST_SCALE
    assert model.objective_ == model.n_errors_ + split_cost * tree.n_splits
    assert model.get_depth() <= model.max_depth
    leaves = tree.class_counts[tree.is_leaf]
    assert leaves.sum() == len(y)
    assert tree.n_nodes == 1 or leaves.sum(axis=1).min() >= model.min_samples_leaf
    assert model.objective_ <= len(y) - np.bincount(y).max()  # a single leaf
    is_exact = model.max_depth == 1 and (
        isinstance(model, MHDEOCTClassifier)
        or getattr(model, "criterion", None) == "misclassification"
    )
    was_stopped = model.status_ in ("time_limit", "interrupted")
    proves = isinstance(model, HorizonTreeClassifier | QuantBnBClassifier | RSOCTClassifier)
    is_exact |= isinstance(model, QuantBnBClassifier) and model.max_depth == 1
    is_exact |= isinstance(model, HorizonTreeClassifier) and (
        model.max_depth == 1 or (model.max_depth == 2 and not was_stopped)
    )
    if is_exact or model.objective_ == 0:
        assert model.status_ == "optimal"
    elif not proves:  # these have nothing to prove with
        assert model.lower_bound_ == 0
    assert (model.status_ == "optimal") == (model.lower_bound_ == model.objective_)
    assert 0 <= model.lower_bound_ <= model.objective_
    if model.objective_ > 0:
        assert model.gap_ == pytest.approx(1 - model.lower_bound_ / model.objective_)
    else:
        assert model.gap_ == 0


@settings(max_examples=60)
@given(small_data(), parameters, seeds)
def test_every_promise_is_kept_and_nobody_is_worse_than_cart(data, options, seed):
    X, y = data
    cart = CARTClassifier(**options).fit(X, y)
    check_promises(cart, X, y)
    few = {"random_state": seed, "population_size": 8, "generations": 5}
    for model in (
        *(quick(kind, **options, **few) for kind in (DEOCTClassifier, MHDEOCTClassifier)),
        *(HorizonTreeClassifier(**options, effort=effort) for effort in ("quick", "normal")),
        *(
            quick(kind, **options)
            for kind in (LSOCTClassifier, QuantBnBClassifier, RSOCTClassifier)
        ),
    ):
        check_promises(model.fit(X, y), X, y)
        if model.max_depth == cart.max_depth:
            assert model.objective_ <= cart.objective_


@settings(max_examples=60)
@given(small_data(), parameters, seeds, st.sampled_from(["cart", "deoct"]))
def test_the_moving_horizon_is_never_worse_than_a_tree_it_starts_from(data, options, seed, name):
    X, y = data
    found = []

    class Spy(MovingHorizon):
        def global_trees(self, samples):
            found.append(super().global_trees(samples))
            return found[-1]

    model = quick(
        MHDEOCTClassifier,
        **options,
        random_state=seed,
        population_size=6,
        generations=4,
        warm_starts=(name,),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("horizontree.estimators.mhdeoct.MovingHorizon", Spy)
        model.fit(X, y)
    objective = Objective.from_ccp_alpha(model.ccp_alpha, model.min_samples_leaf, len(y))
    tree = build_tree(found[0][name], X, y, len(model.classes_), objective)
    start_cost = objective.tree_cost(tree.n_errors, tree.n_splits)
    assert model.objective_ <= start_cost / COST_SCALE
    check_promises(model, X, y)


@settings(max_examples=40)
@given(small_data(max_samples=14, max_features=2), parameters, seeds)
def test_nothing_is_better_than_the_optimum(data, options, seed):
    X, y = data
    options["max_depth"] = min(2, options["max_depth"])
    objective = Objective.from_ccp_alpha(options["ccp_alpha"], options["min_samples_leaf"], len(y))
    optimum = naive.optimal_cost(X, y, options["max_depth"], objective) / COST_SCALE
    for kind in KINDS:
        model = quick(kind, **options | {"random_state": seed}).fit(X, y)
        assert model.objective_ >= optimum
        if model.status_ == "optimal":
            assert model.objective_ == optimum


@pytest.mark.parametrize("max_depth", [1, 2])
@pytest.mark.parametrize("seed", range(8))
def test_the_evolutionary_classifiers_find_the_optimum_of_small_problems(max_depth, seed):
    X, y = make_data(24, 2, 2 + seed % 2, n_values=6, seed=seed)
    options = {"ccp_alpha": [0.0, 0.04][seed % 2], "min_samples_leaf": 1 + seed % 3}
    objective = Objective.from_ccp_alpha(*options.values(), len(y))
    optimum = naive.optimal_cost(X, y, max_depth, objective) / COST_SCALE
    options |= {"population_size": 100, "generations": 200, "random_state": 0}
    for model in (
        DEOCTClassifier(max_depth, warm_starts=(), **options),
        MHDEOCTClassifier(max_depth, **options),
    ):
        assert model.fit(X, y).objective_ == optimum


@settings(max_examples=50)
@given(small_data(max_samples=20), st.integers(1, 5), st.sampled_from([0.0, 0.05, 0.3]))
def test_a_moving_horizon_of_depth_one_is_proven_optimal(data, min_samples_leaf, ccp_alpha):
    X, y = data
    model = quick(
        MHDEOCTClassifier, max_depth=1, min_samples_leaf=min_samples_leaf, ccp_alpha=ccp_alpha
    ).fit(X, y)
    objective = Objective.from_ccp_alpha(ccp_alpha, min_samples_leaf, len(y))
    assert model.objective_ == naive.optimal_cost(X, y, 1, objective) / COST_SCALE
    assert model.status_ == "optimal"


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
@pytest.mark.parametrize("options", [{}, {"min_samples_leaf": 9}, {"ccp_alpha": 0.01}])
def test_the_promises_hold_on_real_data(load, options):
    X, y = load(return_X_y=True)
    for max_depth in (2, 4):
        cart = CARTClassifier(max_depth, **options).fit(X, y)
        check_promises(cart, X, y)
        for kind in (DEOCTClassifier, MHDEOCTClassifier):
            model = quick(kind, max_depth=max_depth, **options).fit(X, y)
            check_promises(model, X, y)
            assert model.objective_ <= cart.objective_


def test_a_longer_search_is_better_than_cart():
    X, y = load_breast_cancer(return_X_y=True)
    cart = CARTClassifier(3).fit(X, y)
    for kind in (DEOCTClassifier, MHDEOCTClassifier):
        model = kind(3, population_size=50, generations=150, random_state=0).fit(X, y)
        assert model.n_errors_ < cart.n_errors_


# ------------------------------------------------------------------------- degenerate input

TWO_ROWS = (np.array([[0.0], [1.0]]), np.array([0, 1]))
ALL_TIED = (np.ones((7, 3)), np.array([0, 0, 1, 1, 1, 2, 0]))
ONE_ULP = (np.array([[1.0], [np.nextafter(1.0, 2.0)]]).repeat(4, axis=0), np.repeat([0, 1], 4))
LONELY_CLASSES = (make_data(68)[0], np.r_[np.arange(29), np.zeros(39, dtype=np.intp)])
ONE_FEATURE = make_data(50, 1, 3)
HUGE = (make_data(40)[0] * 1e300, make_data(40)[1])
TINY = (make_data(40)[0] * 1e-310, make_data(40)[1])
DEGENERATE = {
    "two rows": TWO_ROWS,
    "all tied": ALL_TIED,
    "one ulp apart": ONE_ULP,
    "28 classes of one sample": LONELY_CLASSES,
    "one feature": ONE_FEATURE,
    "huge": HUGE,
    "subnormal": TINY,
}


@pytest.mark.parametrize("data", DEGENERATE.values(), ids=DEGENERATE)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("max_depth", [1, 5])
@pytest.mark.parametrize("min_samples_leaf", [1, 2, 1000])
def test_the_promises_hold_on_degenerate_data(data, kind, max_depth, min_samples_leaf):
    X, y = data
    model = quick(kind, max_depth=max_depth, min_samples_leaf=min_samples_leaf).fit(X, y)
    check_promises(model, X, y)
    cart = CARTClassifier(model.max_depth, min_samples_leaf=min_samples_leaf).fit(X, y)
    assert model.objective_ <= cart.objective_


@pytest.mark.parametrize("kind", KINDS)
def test_one_ulp_is_enough_to_separate_two_classes(kind):
    model = quick(kind).fit(*ONE_ULP)
    assert model.n_errors_ == 0
    assert model.status_ == "optimal"


@pytest.mark.parametrize("kind", KINDS)
def test_a_leaf_of_all_samples_needs_no_minimum(kind):
    X, y = make_data(9)
    model = quick(kind, min_samples_leaf=5).fit(X, y)  # 9 samples have no two leaves of 5
    assert model.tree_.n_nodes == 1
    model = quick(kind, min_samples_leaf=5).fit(*make_data(10, seed=1))
    assert model.tree_.class_counts[model.tree_.is_leaf].sum(axis=1).min() >= 5


@pytest.mark.parametrize("kind", [DEOCTClassifier, MHDEOCTClassifier])
@pytest.mark.parametrize(
    "options",
    [
        {"generations": 0},
        {"population_size": 4},
        {"crossover": 0},
        {"crossover": 0.0},
        {"crossover": 1},
        {"crossover": 1e-300},
        {"warm_starts": ()},
        {"max_depth": 12, "generations": 2, "population_size": 4},
    ],
    ids=str,
)
def test_the_extremes_of_the_settings_work(kind, options):
    X, y = make_data(100, 4, 3)
    model = quick(kind, **options).fit(X, y)
    check_promises(model, X, y)
    if options.get("generations") == 0:
        assert model.n_iter_ == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ccp_alpha", [1.0, 1e6, 1e15, 1e305])
def test_a_price_that_nothing_is_worth_leaves_one_leaf(kind, ccp_alpha):
    X, y = make_data(40)
    model = quick(kind, ccp_alpha=ccp_alpha).fit(X, y)
    assert model.tree_.n_nodes == 1
    assert model.objective_ == model.n_errors_
