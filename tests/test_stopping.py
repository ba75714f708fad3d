"""Anytime: a limit, Ctrl-C or an error costs at most the last moments."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from sklearn.datasets import load_wine

from horizontree import (
    CARTClassifier,
    DEOCTClassifier,
    HorizonTreeClassifier,
    LSOCTClassifier,
    MHDEOCTClassifier,
    QuantBnBClassifier,
    RSOCTClassifier,
)
from horizontree.encoding import rank_samples
from horizontree.estimators import base, horizon
from horizontree.objective import COST_SCALE, Objective
from horizontree.search import watch
from horizontree.search.effort import EFFORTS
from horizontree.search.horizon import HorizonSearch
from horizontree.search.repair import cost_of
from horizontree.search.watch import Watch
from problems import make_data, quick
from test_guarantees import check_promises

EVOLUTIONARY = (DEOCTClassifier, MHDEOCTClassifier)
ANYTIME = (*EVOLUTIONARY, HorizonTreeClassifier)


@pytest.fixture
def strike_after(monkeypatch):
    """Let the clock jump past any limit after so many questions; return what counts them."""

    def strike(n_questions: int) -> count:
        asked = count()
        monkeypatch.setattr(watch.time, "monotonic", lambda: 1e9 * (next(asked) > n_questions))
        return asked

    return strike


@pytest.mark.parametrize(
    ("kind", "n_questions"),
    [
        *((DEOCTClassifier, n) for n in (0, 1, 2, 3, 5)),
        *((MHDEOCTClassifier, n) for n in (0, 1, 2, 3, 5, 8, 13, 21)),  # asks at every node
    ],
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_limit_that_strikes_leaves_a_valid_tree(strike_after, kind, n_questions, n_jobs):
    X, y = make_data(200, 4, 3)
    strike_after(n_questions)
    model = quick(kind, max_depth=4, generations=10_000, time_limit=60.0, n_jobs=n_jobs)
    model.fit(X, y)
    assert model.status_ == "time_limit"
    assert model.gap_ == 1.0
    check_promises(model, X, y)
    cart = CARTClassifier(max_depth=4).fit(X, y)
    assert model.objective_ <= cart.objective_


@pytest.mark.parametrize("effort", ["quick", "normal", "thorough"])
@pytest.mark.parametrize(("depth", "n_questions"), [(2, 0), (3, 1), (3, 9), (5, 2), (5, 30)])
def test_a_limit_that_strikes_the_horizon_search_leaves_a_valid_tree(
    strike_after, effort, depth, n_questions
):
    X, y = make_data(300, 4, 3)
    strike_after(n_questions)
    model = HorizonTreeClassifier(depth, effort=effort, time_limit=60.0).fit(X, y)
    assert model.status_ == "time_limit"
    assert model.lower_bound_ < model.objective_
    check_promises(model, X, y)
    assert model.objective_ <= CARTClassifier(max_depth=depth).fit(X, y).objective_


def test_thorough_effort_that_is_stopped_early_is_not_worse_than_normal_effort(strike_after):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 300))  # wide: a proof would take very long
    y = (X[:, 3] > 0) ^ (X[:, 50] > 0.3) ^ (rng.random(len(X)) < 0.15)
    asked = strike_after(1_000_000)
    normal = HorizonTreeClassifier(3, time_limit=60.0).fit(X, y)
    strike_after(next(asked))
    thorough = HorizonTreeClassifier(3, effort="thorough", time_limit=60.0).fit(X, y)
    assert thorough.status_ == "time_limit"
    assert thorough.n_errors_ <= normal.n_errors_


def test_thorough_effort_ends_when_normal_effort_has_a_proof(monkeypatch):
    X, y = make_data(60, 3, 2)
    assert HorizonTreeClassifier(3).fit(X, y).status_ == "optimal"
    searched = []
    monkeypatch.setattr(
        horizon, "HorizonSearch", lambda *args: searched.append(args) or HorizonSearch(*args)
    )
    assert HorizonTreeClassifier(3, effort="thorough").fit(X, y).status_ == "optimal"
    assert [effort for *_, effort, _, _, _, _ in searched] == [EFFORTS["normal"]]


def test_a_limit_also_stops_the_search_over_fewer_levels():
    X, y = load_wine(return_X_y=True)
    samples, price = rank_samples(X, y, 3), Objective(split_cost=COST_SCALE)

    def search_with(watch):
        return HorizonSearch(8, 3, price, replace(EFFORTS["normal"], shallow_depths=()), watch)

    class StopsSoon(Watch):
        def should_stop(self):
            return next(self.asked) > 0

    tree = search_with(Watch()).search(samples)
    cheaper = search_with(Watch())._or_shallow(tree, samples, 3)
    assert cost_of(cheaper, samples, price) < cost_of(tree, samples, price)
    soon = StopsSoon()
    soon.asked = count()
    assert search_with(soon)._or_shallow(tree, samples, 3) is tree
    assert next(soon.asked) < 20


@pytest.mark.parametrize("depth", [2, 5])
def test_thresholds_stay_in_the_middle_when_the_time_is_up(strike_after, monkeypatch, depth):
    X, y = make_data(100, 3, 3)
    monkeypatch.setattr(horizon, "with_placed_thresholds", None)  # cannot be called
    strike_after(1)
    model = HorizonTreeClassifier(depth, time_limit=60.0).fit(X, y)
    assert model.status_ == "time_limit"
    check_promises(model, X, y)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
def test_an_interrupt_of_the_horizon_search_keeps_the_best_tree_so_far(interrupt_after, depth):
    X, y = make_data(300, 4, 3)
    interrupt_after(1)
    model = HorizonTreeClassifier(depth).fit(X, y)
    check_promises(model, X, y)
    assert model.status_ == ("optimal" if depth == 1 else "interrupted")
    assert model.objective_ <= CARTClassifier(max_depth=depth).fit(X, y).objective_


@pytest.mark.parametrize(
    "kind", [*EVOLUTIONARY, LSOCTClassifier, QuantBnBClassifier, RSOCTClassifier]
)
def test_a_limit_too_short_for_anything_still_gives_a_tree(kind):
    X, y = make_data(200, 4, 3)
    model = quick(kind, time_limit=1e-9).fit(X, y)
    assert model.status_ == "time_limit"
    check_promises(model, X, y)


@pytest.mark.parametrize("kind", ANYTIME)
def test_a_limit_that_does_not_strike_changes_nothing(kind):
    X, y = make_data(100, 4, 3)
    limited = quick(kind, time_limit=1e6).fit(X, y)
    free = quick(kind).fit(X, y)
    assert (limited.tree_, limited.status_) == (free.tree_, free.status_)
    assert limited.status_ != "time_limit"


def test_a_stump_that_was_not_searched_for_is_not_called_optimal():
    X, y = make_data(200, 4, 3)
    stopped = quick(MHDEOCTClassifier, max_depth=1, time_limit=1e-9).fit(X, y)
    whole = quick(MHDEOCTClassifier, max_depth=1).fit(X, y)
    assert whole.status_ == "optimal"
    assert stopped.objective_ > whole.objective_  # or the test shows nothing
    assert stopped.status_ == "time_limit"
    assert stopped.gap_ == 1.0


def test_a_perfect_tree_is_optimal_whatever_the_time():
    X, y = make_data(60)
    X = X.copy()
    X[:, 0] = y
    model = quick(DEOCTClassifier, time_limit=1e-9).fit(X, y)
    assert (model.status_, model.n_errors_) == ("optimal", 0)


@pytest.fixture
def interrupt_after(monkeypatch):
    """Raise SIGINT in the middle of a search, at the question of that number."""

    def interrupt(n_questions: int) -> None:
        asked = count(1)
        ask = Watch.should_stop

        def should_stop(self: Watch) -> bool:
            if next(asked) == n_questions:
                signal.raise_signal(signal.SIGINT)
            return ask(self)

        monkeypatch.setattr(Watch, "should_stop", should_stop)

    return interrupt


@pytest.mark.parametrize("kind", EVOLUTIONARY)
@pytest.mark.parametrize("n_questions", [1, 3])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupt_keeps_the_best_tree_so_far(interrupt_after, kind, n_questions, n_jobs):
    X, y = make_data(200, 4, 3)
    before = signal.getsignal(signal.SIGINT)
    interrupt_after(n_questions)
    model = quick(kind, generations=100_000, n_jobs=n_jobs).fit(X, y)
    assert model.status_ == "interrupted"
    assert model.n_iter_ < 100_000
    assert signal.getsignal(signal.SIGINT) is before
    check_promises(model, X, y)
    assert model.objective_ <= CARTClassifier(max_depth=3).fit(X, y).objective_


@pytest.mark.parametrize("kind", ANYTIME)
def test_an_interrupt_that_comes_too_late_to_be_heard_does_not_lose_the_tree(monkeypatch, kind):
    X, y = make_data(100, 4, 3)
    expected = quick(kind).fit(X, y).tree_
    search = kind._search

    def search_and_interrupt(self, problem):
        found = search(self, problem)
        signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(kind, "_search", search_and_interrupt)
    try:
        model = quick(kind).fit(X, y)
    except KeyboardInterrupt:
        pytest.fail("the search was over, and its tree is gone")
    assert model.tree_ == expected


def test_an_interrupted_fit_can_be_followed_by_another(interrupt_after):
    X, y = make_data(100, 4, 3)
    interrupt_after(1)
    model = quick(DEOCTClassifier).fit(X, y)
    assert model.status_ == "interrupted"
    assert model.fit(X, y).status_ == "completed"


@pytest.mark.parametrize("kind", [CARTClassifier, *ANYTIME])
def test_the_handler_of_the_host_comes_back_after_every_fit(kind):
    def host(signum, frame): ...

    X, y = make_data(60)
    before = signal.signal(signal.SIGINT, host)
    try:
        quick(kind).fit(X, y)
        assert signal.getsignal(signal.SIGINT) is host
        with pytest.raises(ValueError):
            quick(kind).fit(X, y[:5])
        assert signal.getsignal(signal.SIGINT) is host
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("kind", [CARTClassifier, *ANYTIME])
def test_a_fit_outside_the_main_thread_touches_no_signal(monkeypatch, kind):
    touched = []
    monkeypatch.setattr(watch.signal, "signal", lambda *args: touched.append(args))
    models = []
    fit = threading.Thread(target=lambda: models.append(quick(kind).fit(*make_data(60))))
    fit.start()
    fit.join(timeout=60)
    assert models[0].status_ in ("completed", "optimal")
    assert touched == []


BROKEN_SHARE = """
import threading
import numpy as np
from horizontree import DEOCTClassifier
from horizontree.backends import cpu

evolve = cpu.kernels.evolve

benches = []

def interrupted(*args):
    benches.append(id(args[1]))
    if args[4] > 0 and id(args[1]) == max(benches):  # one share, after the first generation
        raise KeyboardInterrupt
    return evolve(*args)

cpu.kernels.evolve = interrupted
X = np.random.default_rng(0).normal(size=(200, 4))
try:
    DEOCTClassifier(2, n_jobs=2, generations=20).fit(X, X[:, 0] * X[:, 1] > 0)
except KeyboardInterrupt:
    print("interrupted, threads:", threading.active_count())
"""


def test_a_share_that_breaks_off_ends_the_other_threads_as_well():
    """One thread must not wait at the barrier for another that has gone."""
    ended = subprocess.run(
        [sys.executable, "-c", BROKEN_SHARE], capture_output=True, text=True, timeout=120
    )
    assert ended.stdout == "interrupted, threads: 1\n", ended.stderr


def test_checking_the_rows_is_part_of_the_limit(monkeypatch):
    X, y = load_wine(return_X_y=True)
    checked = base.checked_data

    def slowly(*args, **kwargs):
        now[0] += 100.0
        return checked(*args, **kwargs)

    now = [0.0]
    monkeypatch.setattr(watch.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(base.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(base, "checked_data", slowly)
    assert HorizonTreeClassifier(3, time_limit=101).fit(X, y).status_ != "time_limit"
    assert HorizonTreeClassifier(3, time_limit=99).fit(X, y).status_ == "time_limit"
