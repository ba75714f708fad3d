"""The price of a split: paths of prunings, and its choice by validation."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GroupKFold, KFold
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from horizontree import (
    AlphaSearchCV,
    CARTClassifier,
    ConTreeClassifier,
    DEOCTClassifier,
    GOSDTGuessesClassifier,
    HorizonTreeClassifier,
    LSOCTClassifier,
    MHDEOCTClassifier,
    STreeDClassifier,
)
from horizontree.estimators.alpha_search import _best, _prices_to_fit, _without_luck
from horizontree.estimators.pruning import best_trees, pruning_path
from horizontree.objective import COST_SCALE
from problems import KINDS, make_data, quick, small_data


def cheapest(tree, alpha, node=0):
    """Return the least cost of any pruning below a node, and the fewest splits that have it."""
    counts = tree.class_counts[node]
    as_leaf = Fraction(int(counts.sum() - counts.max())), 0
    if tree.left[node] < 0:
        return as_leaf
    low, high = (cheapest(tree, alpha, int(side[node])) for side in (tree.left, tree.right))
    as_split = low[0] + high[0] + alpha, low[1] + high[1] + 1
    return min(as_leaf, as_split)


prices = st.fractions(0, 40, max_denominator=12)


@settings(max_examples=80)
@given(small_data(max_samples=60), st.integers(1, 6), st.lists(prices, min_size=1, max_size=6))
def test_the_path_has_the_best_pruning_for_every_price(data, depth, alphas):
    tree = CARTClassifier(depth).fit(*data).tree_
    path = pruning_path(tree)
    for alpha in alphas:
        pruned = [step.tree for step in path if step.alpha <= alpha][-1]
        assert (pruned.n_errors + alpha * pruned.n_splits, pruned.n_splits) == cheapest(tree, alpha)
    steps = [math.floor(alpha * COST_SCALE) for alpha in alphas]
    for step, best in zip(steps, best_trees([tree], steps), strict=True):
        alpha = Fraction(step, COST_SCALE)
        assert (best.n_errors + alpha * best.n_splits, best.n_splits) == cheapest(tree, alpha)


@settings(max_examples=40)
@given(small_data(max_samples=60), st.integers(1, 6))
def test_the_path_goes_from_all_splits_to_none(data, depth):
    path = pruning_path(CARTClassifier(depth).fit(*data).tree_)
    assert path[-1].tree.n_splits == 0
    for step, following in pairwise(path):
        assert step.alpha < following.alpha
        assert step.tree.n_splits > following.tree.n_splits
        assert set(following.tree.threshold[~following.tree.is_leaf]) <= set(step.tree.threshold)


def test_the_best_tree_of_several_is_taken():
    X, y = make_data(200, 4, 2, seed=1)
    trees = [CARTClassifier(5).fit(X, y).tree_, HorizonTreeClassifier(2).fit(X, y).tree_]
    for alpha in (Fraction(0), Fraction(3, 2), Fraction(9)):
        best = best_trees(trees, [int(alpha * COST_SCALE)])[0]
        cost = best.n_errors + alpha * best.n_splits
        assert (cost, best.n_splits) == min(cheapest(t, alpha) for t in trees)


def test_a_price_beyond_64_bits_leaves_no_split():
    tree = CARTClassifier(5).fit(*make_data(200, 4, 2, seed=1)).tree_
    assert tree.n_splits > 4
    assert best_trees([tree], [1 << 62])[0].n_splits == 0


@pytest.mark.parametrize("kind", KINDS)
def test_the_path_of_an_estimator_tells_prices_and_errors(kind):
    X, y = make_data(90, 3, 2, seed=2)
    model = quick(kind, ccp_alpha=0.5)
    path = model.cost_complexity_pruning_path(X, y)
    assert not hasattr(model, "tree_")
    fitted = quick(kind).fit(X, y)
    assert (path.ccp_alphas[0], path.n_splits[0]) == (0, fitted.tree_.n_splits)
    assert path.impurities[0] == fitted.n_errors_ / 90
    assert path.n_splits[-1] == 0
    assert (np.diff(path.ccp_alphas) > 0).all()
    assert (np.diff(path.impurities) > 0).all()


# ----------------------------------------------------------------------------- the search


@parametrize_with_checks(
    [AlphaSearchCV(CARTClassifier(3)), AlphaSearchCV(CARTClassifier(), cv="holdout")]
)
def test_the_search_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "kind", [*KINDS, GOSDTGuessesClassifier, ConTreeClassifier, STreeDClassifier]
)
def test_every_classifier_can_be_tuned(kind):
    X, y = make_data(90, 3, 2, seed=2)
    search = AlphaSearchCV(quick(kind), n_alphas=6, n_fits=2, cv=3, random_state=0).fit(X, y)
    assert type(search.best_estimator_) is kind
    assert search.best_estimator_.ccp_alpha == search.best_alpha_
    assert search.n_fits_ <= 3 * 2 + 1
    assert np.array_equal(search.predict(X), search.best_estimator_.predict(X))


def test_noise_is_pruned_away():
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    y = ((X[:, 0] > 0.5) ^ (rng.random(400) < 0.2)).astype(int)
    untuned = HorizonTreeClassifier(4).fit(X, y)
    search = AlphaSearchCV(HorizonTreeClassifier(4), random_state=0).fit(X, y)
    assert search.best_estimator_.tree_.n_splits == 1 < untuned.tree_.n_splits
    test = rng.random((2000, 3))
    truth = (test[:, 0] > 0.5).astype(int)
    assert search.score(test, truth) > untuned.score(test, truth)


def test_of_equal_scores_the_smallest_trees_are_taken_and_then_the_usual_price():
    right = np.array([7, 9, 9, 9, 9, 2]) / 10
    errors = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 90.0])
    for sizes, best in (
        ([9, 5, 5, 5, 5, 0], 2),
        ([9, 5, 5, 3, 3, 0], 3),
        ([9, 5, 4, 3, 2, 0], 4),
    ):
        assert _best(right, np.array(sizes, float), errors) == best
    assert _best(np.zeros(6), np.zeros(6), errors) == 2


def test_a_lone_high_score_far_from_the_usual_price_is_luck_unless_it_is_much_higher():
    errors = np.array([0.0, *np.geomspace(0.5, 50, 20)])
    sizes = np.linspace(9, 0, 21)

    def chosen(score):
        return errors[_best(_without_luck(score, errors, 100), sizes, errors)]

    level = np.full(21, 0.7)
    usual = chosen(level)
    assert usual == pytest.approx(1.5, abs=0.3)
    level[17] = 0.75
    assert chosen(level) == usual
    level[16:19] = 0.95
    assert chosen(level) == errors[17]


def test_prices_are_compared_by_their_rows_alone_where_that_is_asked_for():
    X, y = make_data(80, 4, 2, seed=8)
    alphas = AlphaSearchCV(CARTClassifier(4), random_state=0).fit(X, y).cv_results_["ccp_alpha"]
    fold = np.searchsorted([0.6, 0.8, 0.9, 0.95], np.random.default_rng(0).random(80))
    uneven = {"cv": [(fold != k, fold == k) for k in range(5)], "selection": "best"}
    for settings_ in ({"selection": "best"}, {"alphas": alphas}, {"cv": "holdout"}, uneven):
        search = AlphaSearchCV(CARTClassifier(4), random_state=0, **settings_).fit(X, y)
        results = search.cv_results_
        assert search.best_score_ == results["mean_test_score"].max()
        assert np.array_equal(results["selection_score"], results["mean_test_score"])


def test_separable_classes_have_one_split_at_any_price():
    X = np.arange(60.0)[:, None]
    y = (X[:, 0] >= 30).astype(int)
    search = AlphaSearchCV(CARTClassifier(4), alphas=[0, 0.01, 0.1, 2.0], random_state=0).fit(X, y)
    assert search.best_alpha_ == 0.01
    scores = search.cv_results_["mean_test_score"]
    assert scores[0] == scores[1] == scores[2] > scores[3]


def test_the_results_tell_what_was_tried():
    X, y = load_breast_cancer(return_X_y=True)
    search = AlphaSearchCV(CARTClassifier(6), cv=3, random_state=0).fit(X, y)
    results = search.cv_results_
    assert {len(column) for column in results.values()} == {21}
    assert results["ccp_alpha"][0] == 0
    assert (np.diff(results["ccp_alpha"]) > 0).all()
    assert (np.diff(results["mean_n_splits"]) <= 0).all()
    assert (np.diff(results["mean_train_score"]) <= 0).all()
    assert search.best_alpha_ == results["ccp_alpha"][results["selection_score"].argmax()]
    assert search.best_score_ == results["mean_test_score"][results["selection_score"].argmax()]
    assert search.n_fits_ == 4


def test_a_path_without_extra_fits_is_that_of_fits_for_cart():
    X, y = load_iris(return_X_y=True)
    division = list(KFold(3, shuffle=True, random_state=0).split(X))
    alphas = [0.0, 0.004, 0.02, 0.3, 0.7]
    search = AlphaSearchCV(CARTClassifier(5), alphas=alphas, cv=division, n_fits=1).fit(X, y)
    for alpha, score in zip(alphas, search.cv_results_["mean_test_score"], strict=True):
        fitted = [
            CARTClassifier(5, ccp_alpha=alpha).fit(X[train], y[train]).score(X[test], y[test])
            for train, test in division
        ]
        assert score == pytest.approx(np.mean(fitted))


def test_one_seed_one_choice():
    X, y = make_data(150, 4, 3, seed=5)
    first, second = (
        AlphaSearchCV(LSOCTClassifier(3, n_starts=20, random_state=0), random_state=7).fit(X, y)
        for _ in range(2)
    )
    assert first.best_alpha_ == second.best_alpha_
    assert first.best_estimator_.tree_ == second.best_estimator_.tree_


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_alphas": 1}, "n_alphas"),
        ({"n_fits": 0}, "n_fits"),
        ({"n_fits": "some"}, "n_fits"),
        ({"selection": "luck"}, "selection"),
        ({"cv": 1}, "cv"),
        ({"cv": "halves"}, "cv"),
        ({"estimator": HorizonTreeClassifier(effort="none")}, "effort"),
        ({"estimator": LSOCTClassifier(n_starts="ten")}, "n_starts"),
        ({"validation_fraction": 1.0}, "validation_fraction"),
        ({"alphas": [-1.0]}, "alphas"),
        ({"alphas": []}, "alphas"),
        ({"alphas": [np.inf]}, "alphas"),
        ({"estimator": KFold()}, "classifier of this package"),
        ({"estimator": DecisionTreeClassifier()}, "take CARTClassifier"),
    ],
)
def test_wrong_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        AlphaSearchCV(**options).fit(*make_data(40))


@pytest.mark.parametrize(
    ("estimator", "short", "n_fits"),
    [
        (HorizonTreeClassifier(4), {"effort": "quick"}, 2),
        (HorizonTreeClassifier(3), {"effort": "quick", "horizon": 2}, 2),
        (HorizonTreeClassifier(3, effort="quick"), {}, 1),
        (HorizonTreeClassifier(2), {"effort": "quick"}, 1),
        (LSOCTClassifier(3), {"n_starts": 10}, 2),
        (LSOCTClassifier(3, n_starts=9), {}, 1),
        (MHDEOCTClassifier(3), {"population_size": 40, "generations": 100}, 2),
        (DEOCTClassifier(3, generations=300), {}, 1),
        (CARTClassifier(3), {}, 1),
    ],
)
def test_a_draft_differs_in_its_search_only(estimator, short, n_fits):
    draft, n = estimator._draft()
    assert draft is not estimator
    assert draft.get_params() == estimator.get_params() | short
    assert n == n_fits


def test_the_last_fit_has_the_whole_search():
    X, y = make_data(120, 4, 2, seed=3)
    search = AlphaSearchCV(HorizonTreeClassifier(3, random_state=0), cv=2, random_state=0)
    search.fit(X, y)
    assert search.best_estimator_.effort == "normal"
    alone = HorizonTreeClassifier(3, ccp_alpha=search.best_alpha_, random_state=0).fit(X, y)
    assert search.best_estimator_.tree_ == alone.tree_
    assert search.n_fits_ == 2 * 2 + 1
    assert search.fit(X[:119], y[:119]).n_fits_ == 2 * 1 + 1


@settings(max_examples=40)
@given(small_data(max_samples=60), st.integers(1, 4), st.sampled_from([0.0, 0.05, 0.3, 1.0]))
def test_fitted_prices_lie_between_one_error_and_the_last_split_s(data, n_prices, highest):
    tree = CARTClassifier(3).fit(*data).tree_
    n_samples = len(data[1])
    most = min(float(pruning_path(tree)[-1].alpha), highest * n_samples)
    errors = np.array(_prices_to_fit(tree, [0.0, highest], n_samples, n_prices)) * n_samples
    if most <= 1:
        assert len(errors) == 0
    else:
        steps = np.diff(np.log([1.0, *errors, most]))
        assert len(steps) == n_prices + 1
        assert steps == pytest.approx(np.log(most) / (n_prices + 1))


@pytest.mark.parametrize("cv", [5, "holdout"])
def test_rows_that_are_left_with_one_class_are_a_leaf(cv):
    X = np.arange(12.0)[:, None]
    y = np.array(["a"] * 11 + ["b"])
    search = AlphaSearchCV(CARTClassifier(2), cv=cv, random_state=0).fit(X, y)
    assert search.score(X, y) >= 11 / 12
    for n in (2, 3):
        AlphaSearchCV(CARTClassifier(2), cv=cv, random_state=0).fit(X[-n:], y[-n:])


def test_a_column_of_text_is_named():
    frame = pandas.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": list("wxyz")}, dtype=object)
    frame["b"] = frame["b"].astype("category")
    with pytest.raises(ValueError, match="column 'b' holds categories"):
        AlphaSearchCV(CARTClassifier(2)).fit(frame, [0, 1, 0, 1])


@pytest.mark.parametrize("alphas", ["abc", [0.1, None], [[]], [-1.0], [np.nan], {"a": 1}])
def test_what_are_no_prices_is_refused_with_what_was_given(alphas):
    with pytest.raises(ValueError, match="alphas must be finite numbers") as refusal:
        AlphaSearchCV(CARTClassifier(2), alphas=alphas).fit(*make_data(30, 2, 2))
    assert repr(alphas) in str(refusal.value)


def test_one_class_is_refused():
    with pytest.raises(ValueError, match="1 class"):
        AlphaSearchCV().fit(np.ones((4, 1)), np.zeros(4))


def test_folds_may_be_masks_and_groups():
    X, y = make_data(90, 3, 2, seed=5)
    is_train = np.arange(90) % 3 > 0
    masks = AlphaSearchCV(CARTClassifier(4), cv=[(is_train, ~is_train)]).fit(X, y)
    rows = [(np.flatnonzero(is_train), np.flatnonzero(~is_train))]
    numbers = AlphaSearchCV(CARTClassifier(4), cv=rows).fit(X, y)
    for name, column in numbers.cv_results_.items():
        assert np.array_equal(masks.cv_results_[name], column), name
    groups = np.arange(90) // 30
    grouped = AlphaSearchCV(CARTClassifier(4), cv=GroupKFold(3)).fit(X, y, groups=groups)
    divisions = [(groups != g, groups == g) for g in (2, 1, 0)]
    by_hand = AlphaSearchCV(CARTClassifier(4), cv=divisions).fit(X, y)
    assert grouped.best_score_ == by_hand.best_score_
    for cv in (3, "holdout"):
        with pytest.raises(ValueError, match="does not look at groups"):
            AlphaSearchCV(CARTClassifier(4), cv=cv).fit(X, y, groups=groups)


def test_integers_that_float64_would_round_are_refused_before_the_search():
    with pytest.raises(ValueError, match="integers beyond"):
        AlphaSearchCV(quick(CARTClassifier), cv=[]).fit([[2**60], [1], [2], [3]], [0, 1, 0, 1])


@pytest.mark.parametrize("cv", [[], [(np.arange(90), [])], [([], np.arange(90))]])
def test_folds_without_rows_are_refused(cv):
    X, y = make_data(90, 3, 2)
    with pytest.raises(ValueError, match="cv must divide the rows"):
        AlphaSearchCV(CARTClassifier(2), cv=cv).fit(X, y)


def test_an_interrupt_while_prices_are_compared_ends_the_search(monkeypatch):
    X, y = make_data(90, 3, 2)
    n_fits = []

    def interrupted(self, *arguments):
        n_fits.append(1)
        fitted = original(self, *arguments)
        self.status_ = "interrupted"
        return fitted

    original = CARTClassifier._fit_checked
    monkeypatch.setattr(CARTClassifier, "_fit_checked", interrupted)
    with pytest.raises(KeyboardInterrupt):
        AlphaSearchCV(CARTClassifier(2)).fit(X, y)
    assert n_fits == [1]
