"""Binarisers: the cuts of a slow twin, and those that the literature gives for iris."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import (
    check_transformer_get_feature_names_out,
    check_transformer_get_feature_names_out_pandas,
)

from horizontree import CARTClassifier, MDLPBinarizer, ThresholdGuessBinarizer
from horizontree.encoding import threshold_between
from horizontree.estimators import binarizers, mdlp_cuts
from horizontree.search import watch as watch_module
from horizontree.search.watch import Watch
from problems import make_data, small_data

BINARIZERS = [MDLPBinarizer(), ThresholdGuessBinarizer(10)]


def entropy(labels):
    shares = [labels.count(k) / len(labels) for k in set(labels)]
    return -sum(share * math.log2(share) for share in shares)


def naive_cuts(values, labels):
    """Cut a feature as Fayyad and Irani say; values between which the cuts are."""
    best = None
    for low, high in zip(sorted(set(values)), sorted(set(values))[1:], strict=False):
        left = [k for v, k in zip(values, labels, strict=True) if v <= low]
        right = [k for v, k in zip(values, labels, strict=True) if v > low]
        mean = (len(left) * entropy(left) + len(right) * entropy(right)) / len(labels)
        if best is None or mean < best[0] - 1e-12:
            best = mean, low, high, left, right
    if best is None:
        return []
    mean, low, high, left, right = best
    n, k = len(labels), len(set(labels))
    delta = math.log2(3**k - 2) - (
        k * entropy(labels) - len(set(left)) * entropy(left) - len(set(right)) * entropy(right)
    )
    if entropy(labels) - mean <= (math.log2(n - 1) + delta) / n + 1e-12:
        return []
    below, above = [v for v in values if v <= low], [v for v in values if v > low]
    return [*naive_cuts(below, left), (low, high), *naive_cuts(above, right)]


def recursive_cuts(values, is_class):
    """Look at every cut between different values, and then at either side of the best one.

    As the binarizer did before it was made quick; the sums are the same, so that cuts which are
    equally good are told apart in the same way.
    """

    def entropies(counts):
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        logs = np.log2(share, where=share > 0, out=np.zeros_like(share))
        return -(share * logs).sum(axis=1)

    edges = np.flatnonzero(values[1:] > values[:-1])
    if len(edges) == 0:
        return []
    n, below = len(values), np.cumsum(is_class, axis=0)
    low, every, n_low = below[edges], below[-1], edges + 1
    mean = (n_low * entropies(low) + (n - n_low) * entropies(every - low)) / n
    at = np.argmin(mean)
    parts = np.stack([every, low[at], every - low[at]])
    k, bits = float(np.count_nonzero(every)), np.count_nonzero(parts, axis=1) * entropies(parts)
    ways = k * np.log2(3.0) + np.log2(1 - 2 * 3.0**-k)
    price = np.log2(n - 1) + (ways - (bits[0] - bits[1] - bits[2]))
    if entropies(parts)[0] - mean[at] <= price / n:
        return []
    cut = n_low[at]
    return [
        *recursive_cuts(values[:cut], is_class[:cut]),
        threshold_between(float(values[cut - 1]), float(values[cut])),
        *recursive_cuts(values[cut:], is_class[cut:]),
    ]


@st.composite
def blocks(draw):
    """Draw a feature whose classes come in blocks, some of them impure, with ties."""
    size = st.integers(1, 25)
    lengths = draw(st.lists(st.tuples(st.integers(0, 11), size), min_size=2, max_size=20))
    labels = np.concatenate([np.full(length, label) for label, length in lengths])
    noisy = draw(st.lists(st.integers(0, len(labels) - 1), max_size=10))
    labels[noisy] = draw(st.integers(0, 11))
    values = np.arange(len(labels)) // draw(st.integers(1, 7))
    order = np.random.default_rng(draw(st.integers(0, 9))).permutation(len(labels))
    return values[order].astype(float)[:, None], labels[order]


def alternating(n_blocks, length):
    """Return a feature with a class in blocks, which is cut between all of them."""
    y = np.repeat(np.arange(n_blocks) % 2, length)
    return np.arange(len(y), dtype=np.float64)[:, None], y


class StopsAfter(Watch):
    """Says stop when it has been asked a number of times."""

    def __init__(self, n_times):
        super().__init__()
        self.n_times = n_times

    def should_stop(self):
        self.n_times -= 1
        return self.n_times < 0


@settings(max_examples=100)
@given(small_data(max_samples=60, max_features=1, max_classes=3))
def test_cuts_are_those_of_the_slow_twin(data):
    X, y = data
    found = MDLPBinarizer().fit(X, y).thresholds_
    expected = naive_cuts(X[:, 0].tolist(), y.tolist())
    assert len(found) == len(expected)
    for threshold, (low, high) in zip(found, expected, strict=True):
        assert low <= threshold < high


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@settings(max_examples=200)
@given(blocks(), st.sampled_from([1, 30, 1 << 20]))
def test_cuts_are_exactly_those_of_a_recursion_over_all_cuts(data, n_cells):
    X, y = data
    order = np.argsort(X[:, 0], kind="stable")
    expected = recursive_cuts(X[order, 0], y[order, None] == np.unique(y))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mdlp_cuts, "_CELLS_PER_PIECE", n_cells)
        assert MDLPBinarizer().fit(X, y).thresholds_.tolist() == expected


def test_more_cuts_than_python_has_levels_of_recursion():
    X, y = alternating(1100, 30)
    assert len(MDLPBinarizer().fit(X, y).thresholds_) == 1099


def test_entropies_are_asked_for_at_boundary_points_only(monkeypatch):
    """Ten thousand values; their classes change twice, and once within a value."""
    looked_at = []
    entropy_of = mdlp_cuts.entropy_of

    def counted(counts):
        looked_at.append(len(counts))
        return entropy_of(counts)

    monkeypatch.setattr(mdlp_cuts, "entropy_of", counted)
    X = np.arange(10_000.0)[:, None]
    X[7001] = X[7000]
    y = np.digitize(np.arange(10_000), [2000, 7001])
    assert MDLPBinarizer().fit(X, y).thresholds_.tolist() == [1999.5, 6999.5]
    assert sum(looked_at) < 50


def test_the_runs_of_a_feature_are_counted_once(monkeypatch):
    n_counted = []
    whole = mdlp_cuts.Runs.of.__func__
    monkeypatch.setattr(
        mdlp_cuts.Runs, "of", classmethod(lambda *a: n_counted.append(1) or whole(*a))
    )
    X, y = alternating(20, 30)
    assert len(MDLPBinarizer().fit(np.hstack([X, -X]), y).thresholds_) == 38
    assert len(n_counted) == 2


def test_of_equally_good_cuts_the_lowest_is_made_first():
    X, y = alternating(3, 30)
    assert mdlp_cuts.cut_features(X, y, StopsAfter(2)) == ([(0, 29.5)], False)


@pytest.mark.parametrize("n_times", [0, 1, 2, 5, 20, 1000])
def test_cuts_that_were_found_when_the_watch_says_stop_are_kept(n_times):
    X, y = alternating(20, 30)
    X = np.hstack([X, -X])
    every, _ = mdlp_cuts.cut_features(X, y, Watch())
    some, is_complete = mdlp_cuts.cut_features(X, y, StopsAfter(n_times))
    assert set(some) <= set(every)
    assert is_complete == (len(some) == len(every)) == (n_times == 1000)
    assert len(some) > 0 or n_times < 2


def test_a_long_segment_is_left_between_two_pieces(monkeypatch):
    monkeypatch.setattr(mdlp_cuts, "_CELLS_PER_PIECE", 4)
    X, y = alternating(20, 30)
    runs = mdlp_cuts.Runs.of(X[:, 0], y, 2)
    assert mdlp_cuts.best_cut(runs, 0, runs.n_runs, StopsAfter(3)) is None
    assert mdlp_cuts.best_cut(runs, 0, runs.n_runs, StopsAfter(100)) == 1


@pytest.fixture
def ticking(monkeypatch):
    """Let the clock of watches tick whenever it is looked at."""
    ticks = iter(range(10**9))
    monkeypatch.setattr(watch_module, "time", SimpleNamespace(monotonic=lambda: next(ticks)))


@pytest.mark.usefixtures("ticking")
def test_every_feature_has_its_share_of_the_time():
    X, y = alternating(60, 30)
    binarizer = MDLPBinarizer(time_limit=100).fit(np.hstack([X, -X, X]), y)
    assert not binarizer.is_complete_
    _, n_cuts = np.unique(binarizer.features_, return_counts=True)
    assert len(n_cuts) == 3
    assert n_cuts.min() > 1


@pytest.mark.usefixtures("ticking")
def test_what_features_do_not_use_of_their_share_goes_to_the_others():
    X, y = alternating(20, 30)
    easy = np.zeros((len(y), 9))
    whole = MDLPBinarizer().fit(X, y)
    for where in (0, 9):
        both = np.insert(easy, [where], X, axis=1)
        binarizer = MDLPBinarizer(time_limit=300).fit(both, y)
        assert binarizer.is_complete_
        assert np.array_equal(binarizer.thresholds_, whole.thresholds_)


def test_a_time_limit_leaves_fewer_cuts():
    X, y = load_iris(return_X_y=True)
    hasty = MDLPBinarizer(time_limit=1e-9).fit(X, y)
    assert not hasty.is_complete_
    assert hasty.transform(X).shape == (150, 0)
    whole, unhurried = MDLPBinarizer().fit(X, y), MDLPBinarizer(time_limit=600).fit(X, y)
    assert unhurried.is_complete_
    assert np.array_equal(unhurried.thresholds_, whole.thresholds_)
    with pytest.raises(ValueError, match="time_limit"):
        MDLPBinarizer(time_limit=0).fit(X, y)


def test_cuts_of_iris():
    X, y = load_iris(return_X_y=True)
    binarizer = MDLPBinarizer().fit(X, y)
    assert binarizer.features_.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert binarizer.thresholds_.tolist() == pytest.approx(
        [5.55, 6.15, 2.95, 3.35, 2.45, 4.75, 0.8, 1.75]
    )


def test_a_feature_that_says_nothing_has_no_cut():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    assert MDLPBinarizer().fit_transform(X, y).shape == (200, 0)


def test_guesses_are_thresholds_of_the_reference_model():
    X, y = make_data(300, 4, 3, seed=1)
    options = {"n_estimators": 20, "max_depth": 2, "learning_rate": 0.1}
    binarizer = ThresholdGuessBinarizer(**options, random_state=3).fit(X, y)
    ranks = X.argsort(axis=0).argsort(axis=0)
    reference = GradientBoostingClassifier(**options, random_state=3).fit(ranks, y)
    trees = [tree.tree_ for tree in reference.estimators_.ravel()]
    used = {
        (f, (ranks[:, f] <= threshold).sum())
        for tree in trees
        for f, threshold in zip(tree.feature, tree.threshold, strict=True)
        if f >= 0
    }
    pairs = list(zip(binarizer.features_.tolist(), binarizer.thresholds_, strict=True))
    assert pairs == sorted(set(pairs))
    for f, threshold in pairs:
        assert (f, (X[:, f] <= threshold).sum()) in used


def test_the_reference_model_needs_every_question():
    X, y = make_data(300, 4, 2, seed=2)
    binarizer = ThresholdGuessBinarizer(30, random_state=0).fit(X, y)
    assert (binarizer.reference_.feature_importances_ > 0).all()
    answers = binarizer.transform(X)
    assert binarizer.reference_.score(answers, y) > 0.8


@pytest.mark.parametrize("binarizer", BINARIZERS)
def test_questions_have_names_and_answers(binarizer):
    iris = load_iris(as_frame=True)
    binarizer.fit(iris.data, iris.target)
    names = binarizer.get_feature_names_out()
    answers = binarizer.transform(iris.data)
    assert answers.dtype == bool
    assert answers.shape == (150, len(names))
    for name, column in zip(names, answers.T, strict=True):
        feature, threshold = name.split(" <= ")
        assert np.array_equal(column, iris.data[feature] <= float(threshold))


@pytest.mark.parametrize("binarizer", BINARIZERS)
def test_names_are_checked_as_scikit_learn_does(binarizer):
    name = type(binarizer).__name__
    check_transformer_get_feature_names_out(name, binarizer)
    check_transformer_get_feature_names_out_pandas(name, binarizer)
    binarizer.fit(*load_iris(return_X_y=True))
    assert binarizer.get_feature_names_out(list("abcd"))[0][0] in "abcd"


def test_a_pipeline_may_begin_with_it():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(ThresholdGuessBinarizer(10, random_state=0), CARTClassifier(3))
    assert model.fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize(
    ("options", "name"),
    [({"n_estimators": 0}, "n_estimators"), ({"max_depth": 0}, "max_depth"),
     ({"learning_rate": 0}, "learning_rate")],
)  # fmt: skip
def test_wrong_settings_are_refused(options, name):
    with pytest.raises(ValueError, match=name):
        ThresholdGuessBinarizer(**options).fit(*make_data(20))


def test_a_time_limit_leaves_a_smaller_reference_model():
    X, y = load_iris(return_X_y=True)
    whole = ThresholdGuessBinarizer(random_state=0).fit(X, y)
    hasty = ThresholdGuessBinarizer(time_limit=1e-9, random_state=0).fit(X, y)
    assert not hasty.is_complete_
    assert 1 <= len(hasty.thresholds_) < len(whole.thresholds_)
    unhurried = ThresholdGuessBinarizer(time_limit=600, random_state=0).fit(X, y)
    assert unhurried.is_complete_
    assert np.array_equal(unhurried.thresholds_, whole.thresholds_)
    with pytest.raises(ValueError, match="time_limit"):
        ThresholdGuessBinarizer(time_limit=0).fit(X, y)


def test_very_many_classes_are_no_overflow():
    X = np.repeat(np.arange(700.0), 3)[:, None]
    assert len(MDLPBinarizer().fit(X, X[:, 0].astype(int)).thresholds_) == 699  # all pure


@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e60])
def test_guesses_need_only_the_order_of_the_values(scale):
    X, y = make_data(200, 3, 2, seed=4)
    near = 1.7e9 + np.argsort(np.argsort(X, axis=0), axis=0)  # the same in float32
    expected = ThresholdGuessBinarizer(20, random_state=0).fit_transform(X, y)
    for same in (near, scale * X):
        assert np.array_equal(
            ThresholdGuessBinarizer(20, random_state=0).fit_transform(same, y), expected
        )


def test_questions_that_differ_in_late_digits_have_different_names():
    X = 1.7e15 + np.arange(300.0)[:, None]
    binarizer = MDLPBinarizer().fit(X, np.arange(300) // 100)
    assert binarizer.get_feature_names_out().tolist() == [
        "x0 <= 1700000000000099.5",
        "x0 <= 1700000000000199.5",
    ]


REFUSED = {
    "column 'when' holds dates": pd.DataFrame({"when": pd.date_range("2020", periods=40)}),
    "column 'day' holds dates": pd.DataFrame(
        {"size": np.arange(40.0), "day": pd.date_range("2020", periods=40)}
    ),
    "column 'kind' holds categories": pd.DataFrame({"kind": pd.Categorical(list("uv") * 20)}),
    "integers beyond": 2**53 + np.arange(40)[:, None],
}


@pytest.mark.parametrize("binarizer", BINARIZERS)
@pytest.mark.parametrize("message", REFUSED)
def test_data_that_classifiers_refuse_are_refused_with_the_same_advice(binarizer, message):
    X, y = REFUSED[message], np.arange(40) > 20
    with pytest.raises(ValueError, match=message) as refusal:
        binarizer.fit(X, y)
    with pytest.raises(ValueError, match=message) as by_classifier:
        CARTClassifier(2).fit(X, y)
    assert str(refusal.value) == str(by_classifier.value)
    names = getattr(X, "columns", [0])
    rows = np.arange(40.0 * len(names)).reshape(40, -1)
    fitted = pd.DataFrame(rows, columns=names) if hasattr(X, "columns") else rows
    with pytest.raises(ValueError, match=message):
        binarizer.fit(fitted, y).transform(X)


@pytest.mark.parametrize("binarizer", BINARIZERS)
def test_missing_classes_are_refused_with_advice(binarizer):
    y = np.array(["a", "b", None, "a"] * 10, dtype=object)
    with pytest.raises(ValueError, match="y has missing values"):
        binarizer.fit(np.arange(40.0)[:, None], y)


@pytest.mark.parametrize("n_cells", [1, 17, 1000])
def test_questions_are_answered_in_blocks_of_rows(n_cells, monkeypatch):
    X, y = load_iris(return_X_y=True)
    binarizer = MDLPBinarizer().fit(X, y)
    monkeypatch.setattr(binarizers, "_CELLS_PER_BLOCK", n_cells)
    expected = X[:, binarizer.features_] <= binarizer.thresholds_
    assert np.array_equal(binarizer.transform(X), expected)
