"""Adapters: the package's own tree, as a tree of ours."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from importlib import import_module
from types import ModuleType, SimpleNamespace

import numpy as np
import pycontree
import pystreed
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris

from horizontree import (
    CARTClassifier,
    ConTreeClassifier,
    GOSDTGuessesClassifier,
    HorizonTreeClassifier,
    IAIOCTClassifier,
    MDLPBinarizer,
    STreeDClassifier,
    ThresholdGuessBinarizer,
    load_model,
    save_model,
)
from horizontree.encoding import rank_samples
from horizontree.estimators.base import Problem
from horizontree.estimators.peers import FailedPackageError, common, gosdt, gosdt_program
from horizontree.estimators.peers.common import Questions, quiet
from horizontree.objective import COST_SCALE, Objective
from horizontree.search.splits import Split
from horizontree.search.watch import Watch
from naive import optimal_cost
from problems import make_data, small_data

PEERS = {
    "gosdt": (GOSDTGuessesClassifier, "horizontree[gosdt]"),
    "pycontree": (ConTreeClassifier, "horizontree[peers]"),
    "pystreed": (STreeDClassifier, "horizontree[peers]"),
    "interpretableai.iai": (IAIOCTClassifier, "licence"),
}


def test_what_a_package_prints_goes_to_standard_error(capfd):
    print("before")
    with quiet():
        os.write(1, b"chatter")
        print("words of Python are dropped")
    print("after")
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("before\nafter\n", "chatter")


@pytest.mark.parametrize("package", PEERS)
def test_a_missing_package_is_said_plainly(package, monkeypatch):
    kind, advice = PEERS[package]
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError) as refusal:
        kind(2).fit(*make_data(40))
    assert advice in str(refusal.value)
    assert package.split(".")[0] in str(refusal.value)


@pytest.mark.parametrize("seed", range(5))
def test_contree_finds_the_optimum_of_depth_two(seed):
    X, y = make_data(120, 4, 2 + seed % 2, n_values=[None, 15][seed % 2], seed=seed)
    ours, theirs = HorizonTreeClassifier(2).fit(X, y), ConTreeClassifier(2).fit(X, y)
    assert theirs.status_ == "optimal"
    assert theirs.n_errors_ == ours.n_errors_ == theirs.lower_bound_
    assert theirs.n_errors_ == (theirs.predict(X) != y).sum()


@settings(max_examples=60)
@given(data=small_data(max_samples=25, max_features=3), price=st.integers(0, 6 * COST_SCALE))
def test_contree_with_a_price_equals_brute_force(data, price):
    X, y = data
    model = ConTreeClassifier(2, ccp_alpha=price / COST_SCALE / len(y)).fit(X, y)
    optimum = optimal_cost(X, y, 2, Objective(price)) / COST_SCALE
    assert model.status_ == "optimal"
    assert model.objective_ == model.lower_bound_ == optimum


def test_contree_gets_values_that_float32_cannot_tell_apart():
    X = 1 + np.arange(40)[:, None] * 1e-12
    y = (np.arange(40) >= 17).astype(int)
    assert ConTreeClassifier(1).fit(X, y).n_errors_ == 0


@pytest.mark.parametrize("binarizer", ["guesses", "mdlp"])
@pytest.mark.parametrize("kind", [GOSDTGuessesClassifier, STreeDClassifier])
def test_trees_over_binarised_features_are_the_packages_own(kind, binarizer):
    for seed in range(3):
        X, y = make_data(200, 4, 2 + seed, seed=seed)
        model = kind(2, binarizer=binarizer, random_state=0).fit(X, y)
        optimum = HorizonTreeClassifier(2).fit(X, y).n_errors_
        assert optimum <= model.n_errors_ < len(y) - np.bincount(y).max()
        assert model.lower_bound_ == 0
        assert model.get_depth() <= 2


def test_streed_is_optimal_over_its_questions():
    X, y = make_data(200, 4, 2, seed=3)
    answers = MDLPBinarizer().fit_transform(X, y).astype(float)
    optimum = HorizonTreeClassifier(2).fit(answers, y).n_errors_
    assert STreeDClassifier(2, binarizer="mdlp").fit(X, y).n_errors_ == optimum


def test_streed_keeps_leaves_large_and_splits_worth_their_price():
    X, y = make_data(200, 4, 2, seed=3)
    large = STreeDClassifier(3, min_samples_leaf=30, random_state=0).fit(X, y).tree_
    assert large.class_counts[large.is_leaf].sum(axis=1).min() >= 30
    many = STreeDClassifier(3, random_state=0).fit(X, y).tree_.n_splits
    assert STreeDClassifier(3, ccp_alpha=0.03, random_state=0).fit(X, y).tree_.n_splits < many


def test_gosdt_trades_errors_for_splits():
    X, y = make_data(200, 4, 2, seed=3)
    sizes = [
        GOSDTGuessesClassifier(3, ccp_alpha=alpha, random_state=0).fit(X, y).tree_.n_splits
        for alpha in (0.0, 0.03, 0.5)
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 0


@pytest.mark.parametrize("kind", [GOSDTGuessesClassifier, ConTreeClassifier, STreeDClassifier])
def test_models_of_peers_are_saved_like_ours(kind, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = kind(2, random_state=0).fit(X, y)
    save_model(model, tmp_path / "model.json")
    assert np.array_equal(load_model(tmp_path / "model.json").predict(X), model.predict(X))


class FakeLearner:
    """Answers as the package's documentation says, with a tree of one split on column 1."""

    def __init__(self, **options):
        self.options = options

    def fit(self, frame, y):
        self.columns = list(frame.columns)

    def is_leaf(self, node):
        return node != 1

    def get_split_feature(self, node):
        return self.columns[1]

    def get_split_threshold(self, node):
        return 0.25

    def get_lower_child(self, node):
        return 2

    def get_upper_child(self, node):
        return 3


def test_iai_trees_are_read_as_documented(monkeypatch):
    made = []

    def make(**options):
        made.append(FakeLearner(**options))
        return made[-1]

    package = ModuleType("interpretableai.iai")
    package.OptimalTreeClassifier = make
    monkeypatch.setitem(sys.modules, "interpretableai", ModuleType("interpretableai"))
    monkeypatch.setitem(sys.modules, "interpretableai.iai", package)
    X = np.random.default_rng(0).random((50, 3))
    y = (X[:, 1] >= 0.25).astype(int)
    model = IAIOCTClassifier(3, min_samples_leaf=2, ccp_alpha=0.01, random_state=5).fit(X, y)
    assert model.n_errors_ == 0
    assert model.tree_.feature[0] == 1
    options = made[0].options
    assert (options["max_depth"], options["minbucket"], options["random_seed"]) == (3, 2, 5)
    assert options["cp"] == pytest.approx(0.01 * 50 / min(np.bincount(y)))


@pytest.mark.parametrize("alpha", [0.55, 0.7, 3.0])
def test_a_price_that_no_split_is_worth_makes_a_leaf_without_the_package(alpha):
    """There GOSDT takes the whole process down."""
    X, y = make_data(60, 3, 2, seed=1)
    assert GOSDTGuessesClassifier(2, ccp_alpha=alpha).fit(X, y).tree_.n_splits == 0


@pytest.mark.parametrize("kind", [GOSDTGuessesClassifier, STreeDClassifier])
def test_a_limit_that_is_not_reached_changes_nothing(kind):
    X, y = load_iris(return_X_y=True)
    limited = kind(2, time_limit=60, random_state=0).fit(X, y)
    assert limited.tree_ == kind(2, random_state=0).fit(X, y).tree_
    assert limited.status_ == "completed"


@pytest.mark.parametrize("kind", ["guesses", "mdlp"])
def test_with_a_limit_the_questions_of_many_rows_are_chosen_on_some(kind, monkeypatch):
    X, y = make_data(900, 3, 2, seed=4)
    binarizer = ThresholdGuessBinarizer(random_state=0) if kind == "guesses" else MDLPBinarizer()

    def n_questions(limit):
        return questions_of(X, y, kind, limit)[0].answers.shape[1]

    monkeypatch.setattr(common, "_MOST_ROWS", 300)
    some, every = (len(binarizer.fit(X[::k], y[::k]).features_) for k in (3, 1))
    assert some != every
    assert (n_questions(60), n_questions(None)) == (some, every)


@pytest.mark.parametrize(
    ("kind", "solver"),
    [
        (ConTreeClassifier, pycontree.ConTree),
        (STreeDClassifier, pystreed.STreeDClassifier),
    ],
)
def test_with_a_short_limit_packages_get_some_of_the_rows(kind, solver, monkeypatch):
    """One class of the four has a row only, which is not among them."""
    monkeypatch.setattr(common, "_FEWEST_ROWS", 100)
    monkeypatch.setattr(sys.modules[kind.__module__], "_CELLS_PER_SECOND", 1)
    X, y = make_data(902, 3, 3, seed=4)
    X, y = np.vstack([X, X[:1]]), np.append(y, 3)
    seen = []
    whole_fit = solver.fit

    def fit(self, X, y):
        seen.append((len(X), set(y)))
        return whole_fit(self, X, y)

    monkeypatch.setattr(solver, "fit", fit)
    model = kind(2, time_limit=60, random_state=0).fit(X, y)
    assert seen == [(91, {0, 1, 2})]
    assert model.status_ == "time_limit"
    assert model.lower_bound_ == 0
    assert model.tree_.class_counts[0].sum() == 903
    assert model.n_errors_ == (model.predict(X) != y).sum() < 903 - np.bincount(y).max()


def test_with_many_questions_streed_gets_fewer_rows(monkeypatch):
    """It counts pairs of them without a look at the clock."""
    widths, shares = [], []

    def step(watch, n_rows, n_columns, cells_per_second, share):
        widths.append(n_columns)
        shares.append(share)
        return 1

    module = sys.modules[STreeDClassifier.__module__]
    monkeypatch.setattr(module, "step_between_rows", step)
    X, y = load_iris(return_X_y=True)
    for many in (100, 4, 2):
        monkeypatch.setattr(module, "_MANY_QUESTIONS", many)
        STreeDClassifier(2, binarizer="mdlp", time_limit=60).fit(X, y)
    assert widths == [8, 2 * 8, 4 * 8]
    assert shares == [1, 0.5, 0.25]


def test_wide_data_of_many_classes_are_guessed_on_fewer_rows(monkeypatch):
    """A round of the reference model takes long there, and cannot be stopped."""
    fitted_on = []
    whole_fit = ThresholdGuessBinarizer.fit

    def fit(self, X, y):
        fitted_on.append(len(X))
        return whole_fit(self, X, y)

    monkeypatch.setattr(ThresholdGuessBinarizer, "fit", fit)
    monkeypatch.setattr(common, "_FEWEST_ROWS", 100)
    monkeypatch.setattr(common, "_GUESSED_CELLS_PER_SECOND", 150)
    for n_features, n_classes in ((4, 2), (12, 2), (4, 3)):
        X, y = make_data(800, n_features, n_classes, seed=4)
        _, problem = questions_of(X, y, "guesses", 20)
        assert problem.watch.status == ("completed" if fitted_on[-1] == 800 else "time_limit")
    assert fitted_on[0] > fitted_on[1] >= 200
    assert fitted_on[2] < 300


@pytest.mark.parametrize("left", [0.0, 0.1, 3.0, None])
@pytest.mark.parametrize("n_rows", [1, 999, 1000, 1001, 50_000])
def test_rows_are_thinned_to_what_can_be_read_in_time(n_rows, left):
    watch = Watch(left)
    step = common.step_between_rows(watch, n_rows, 20, 100_000)
    most = max(1000, 0 if left is None else left * 100_000 / 20)
    assert (step == 1) == (left is None or n_rows <= most)
    assert left is None or n_rows / most <= step < n_rows / most + 1.1
    assert (watch.status == "time_limit") == (step > 1)


@pytest.mark.parametrize("binarizer", ["guesses", "mdlp"])
@pytest.mark.parametrize("kind", [GOSDTGuessesClassifier, STreeDClassifier])
def test_a_limit_that_cut_the_questions_short_has_struck(kind, binarizer, monkeypatch):
    binarizer_kind = ThresholdGuessBinarizer if binarizer == "guesses" else MDLPBinarizer
    whole_fit, limits = binarizer_kind.fit, []

    def fit(self, X, y):
        whole_fit(self, X, y)
        limits.append(self.time_limit)
        self.is_complete_ = False
        return self

    monkeypatch.setattr(binarizer_kind, "fit", fit)
    X, y = load_iris(return_X_y=True)
    model = kind(2, binarizer=binarizer, time_limit=60, random_state=0)
    assert model.fit(X, y).status_ == "time_limit"
    assert 1 < limits[0] <= 30


def questions_of(X, y, kind, limit):
    """Return the questions of a problem, and the problem."""
    n_classes = len(np.unique(y))
    problem = Problem(rank_samples(X, y, n_classes), y, Objective(), Watch(limit), map, 1)
    return Questions(problem, kind, 0), problem


@pytest.fixture
def sleeping(monkeypatch, tmp_path):
    """Let the package never answer."""
    program = tmp_path / "sleeps.py"
    program.write_text("import time; time.sleep(3600)")
    monkeypatch.setattr(gosdt_program, "__file__", str(program))


@pytest.mark.usefixtures("sleeping")
@pytest.mark.parametrize(("depth", "alpha"), [(1, 0.0), (2, 0.0), (4, 0.0), (4, 0.03)])
def test_gosdt_that_gives_no_tree_in_time_is_stopped_and_leaves_the_greedy_tree(depth, alpha):
    X, y = make_data(200, 4, 3, seed=1)
    model = GOSDTGuessesClassifier(depth, ccp_alpha=alpha, binarizer="mdlp", time_limit=0.2)
    model.fit(X, y)
    answers = MDLPBinarizer().fit_transform(X, y).astype(float)
    greedy = CARTClassifier(depth, ccp_alpha=max(alpha, 1 / 200)).fit(answers, y)
    assert (model.status_, model.n_iter_, model.lower_bound_) == ("time_limit", 0, 0)
    assert (model.n_errors_, model.tree_.n_splits) == (greedy.n_errors_, greedy.tree_.n_splits)
    assert model.n_errors_ < len(y) - np.bincount(y).max()
    assert model.n_errors_ == (model.predict(X) != y).sum()
    assert model.get_depth() <= depth


@pytest.mark.usefixtures("sleeping")
def test_the_greedy_tree_of_many_rows_is_grown_on_some_and_counted_on_all(monkeypatch):
    monkeypatch.setattr(common, "_FEWEST_ROWS", 100)
    monkeypatch.setattr(common, "_GREEDY_CELLS_PER_SECOND", 1)
    grown_on = []
    grow_cart = common.grow_cart

    def grow(samples, **options):
        grown_on.append(samples.n_samples)
        return grow_cart(samples, **options)

    monkeypatch.setattr(common, "grow_cart", grow)
    X, y = make_data(902, 3, 3, seed=4)
    model = GOSDTGuessesClassifier(2, binarizer="mdlp", time_limit=0.2).fit(X, y)
    assert grown_on == [91]
    assert model.tree_.class_counts[0].sum() == 902
    assert model.n_errors_ == (model.predict(X) != y).sum() < 902 - np.bincount(y).max()


def test_a_greedy_tree_on_some_rows_is_no_limit_that_struck(monkeypatch):
    monkeypatch.setattr(common, "_FEWEST_ROWS", 10)
    monkeypatch.setattr(common, "_GREEDY_CELLS_PER_SECOND", 1)
    X, y = load_iris(return_X_y=True)
    limited = GOSDTGuessesClassifier(2, time_limit=60, random_state=0).fit(X, y)
    assert limited.status_ == "completed"
    assert limited.tree_ == GOSDTGuessesClassifier(2, random_state=0).fit(X, y).tree_


def test_greedy_trees_may_be_deeper_than_python_recurses(monkeypatch):
    X, y = load_iris(return_X_y=True)
    questions, problem = questions_of(X, y, "mdlp", None)
    chain = None
    for _ in range(5000):
        chain = Split(0, 0.0, None, chain)
    monkeypatch.setattr(common, "grow_cart", lambda *asked, **options: chain)
    asked, depth = questions.greedy_splits(problem, 5000), 0
    while asked is not None:
        assert (asked.feature, asked.cut, asked.right) == (0, 5.5, None)
        asked, depth = asked.left, depth + 1
    assert depth == 5000


def test_gosdt_has_a_deepest_level():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="max_depth must be an integer from 1 to 254"):
        GOSDTGuessesClassifier(255).fit(X, y)
    assert GOSDTGuessesClassifier(254, random_state=0).fit(X, y).tree_.n_splits > 0


@pytest.mark.parametrize("was_stopped", [True, False])
def test_the_clock_of_gosdt_without_a_tree_leaves_the_greedy_one(was_stopped, monkeypatch):
    answer = {"models": [], "n_iterations": 7, "was_stopped": was_stopped}
    monkeypatch.setattr(gosdt._Process, "solve", lambda *asked: answer)
    X, y = load_iris(return_X_y=True)
    model = GOSDTGuessesClassifier(2, time_limit=60, random_state=0).fit(X, y)
    assert (model.status_, model.n_iter_, model.n_errors_) == ("time_limit", 0, 6)


@pytest.mark.parametrize("limit", [None, 60])
@pytest.mark.parametrize("has_guesses", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_compiled_part_alone_answers_as_the_package(n_classes, has_guesses, limit):
    library = import_module("gosdt._libgosdt")
    rng = np.random.default_rng(n_classes)
    answers = rng.random((120, 6)) < 0.5
    y = (answers[:, 0] + 2 * answers[:, 1] + (rng.random(120) < 0.2)) % n_classes
    guessed = np.where(rng.random(120) < 0.9, y, rng.integers(0, n_classes, 120))
    y[:n_classes] = guessed[:n_classes] = range(n_classes)
    for alpha, depth in ((1 / 120, 2), (0.02, 3), (0.2, 1)):
        settings = {"regularization": alpha, "depth_budget": depth, "time_limit": limit}
        asked = answers, y, guessed if has_guesses else None, settings
        found = gosdt_program.solve_directly(library, *asked)
        assert found == gosdt_program.solve(*asked)
        assert len(found["models"]) == 1


def test_the_process_of_gosdt_imports_no_more_than_its_compiled_part():
    code = (
        "import runpy, sys; import numpy as np; y = np.arange(40) % 2; "
        "settings = {'regularization': 0.1, 'depth_budget': 1, 'time_limit': 60}; "
        "solver = runpy.run_path(sys.argv[1])['quick_solver'](); "
        "found = solver(y[:, None] == 1, y, None, settings); "
        "print(len(found['models']), *sys.modules, file=sys.stderr)"
    )
    run = subprocess.run(
        [sys.executable, "-P", "-c", code, gosdt_program.__file__],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    n_models, *modules = run.stderr.split()
    assert n_models == "1"
    slow = {"gosdt", "pandas", "sklearn", "scipy", "horizontree"}
    assert {m for m in modules if m.partition(".")[0] in slow} == {"gosdt._libgosdt"}


@pytest.mark.parametrize("error", [ImportError, None])
def test_a_compiled_part_that_is_another_is_left_to_the_package(error, monkeypatch):
    """Where it does not load, and where a later version has parts of other names."""

    def load(library):
        if error is not None:
            raise error

    spec = SimpleNamespace(loader=SimpleNamespace(exec_module=load))
    monkeypatch.setattr(gosdt_program.PathFinder, "find_spec", lambda *asked: spec)
    monkeypatch.setattr(gosdt_program, "module_from_spec", lambda spec: SimpleNamespace())
    y = np.arange(40) % 2
    asked = y[:, None] == 1, y, None, {"regularization": 0.1, "depth_budget": 1, "time_limit": 60}
    assert gosdt_program.quick_solver()(*asked) == gosdt_program.solve(*asked)


def test_gosdt_says_when_its_own_clock_struck(monkeypatch):
    leaves = {"prediction": 0}, {"prediction": 1}
    answer = {
        "models": [{"feature": 0, "true": leaves[0], "false": leaves[1]}],
        "n_iterations": 7,
        "was_stopped": True,
    }
    monkeypatch.setattr(gosdt_program, "solve", lambda *asked: answer)
    X, y = load_iris(return_X_y=True)
    model = GOSDTGuessesClassifier(2, random_state=0).fit(X, y)
    assert (model.status_, model.n_iter_, model.tree_.n_splits) == ("time_limit", 7, 1)


def test_gosdt_that_dies_is_an_error_and_not_the_end(monkeypatch, tmp_path):
    program = tmp_path / "dies.py"
    program.write_text("raise MemoryError('too many subproblems')")
    monkeypatch.setattr(gosdt_program, "__file__", str(program))
    X, y = load_iris(return_X_y=True)
    with pytest.raises(FailedPackageError, match="too many subproblems"):
        GOSDTGuessesClassifier(2, time_limit=60, random_state=0).fit(X, y)


def test_a_missing_package_is_said_before_a_process_is_started(monkeypatch):
    monkeypatch.setitem(sys.modules, "gosdt", None)
    with pytest.raises(ImportError, match=re.escape("horizontree[gosdt]")):
        GOSDTGuessesClassifier(2, time_limit=60).fit(*make_data(40))


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_while_gosdt_works_keeps_its_tree(monkeypatch):
    def interrupted(*asked):
        signal.raise_signal(signal.SIGINT)
        return {"models": [], "n_iterations": 3, "was_stopped": False}

    monkeypatch.setattr(gosdt_program, "solve", interrupted)
    X, y = load_iris(return_X_y=True)
    model = GOSDTGuessesClassifier(2, random_state=0).fit(X, y)
    assert (model.status_, model.n_iter_) == ("interrupted", 3)
