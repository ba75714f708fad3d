"""A good guest: threads, processes and forks of the host program."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score

from horizontree import DEOCTClassifier, MHDEOCTClassifier
from problems import KINDS, make_data, quick

SECONDS = 120
"""Enough for a cold compilation on a busy machine; a hang shows all the same."""


def fit_one(kind, seed: int, n_jobs: int):
    X, y = make_data(150, 4, 3, seed=seed)
    return quick(kind, random_state=seed, n_jobs=n_jobs).fit(X, y).tree_


CASES = [(kind, seed, n_jobs) for kind in KINDS for seed in range(3) for n_jobs in (1, 2)]


@pytest.fixture(scope="module")
def expected():
    return [fit_one(*case) for case in CASES]


@pytest.mark.parametrize("n_threads", [2, 4])
def test_concurrent_fits_in_threads_give_the_same_trees(expected, n_threads):
    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(fit_one, *case) for case in CASES]
        assert [future.result(timeout=SECONDS) for future in futures] == expected


def test_concurrent_predictions_of_one_model_give_the_same():
    X, y = make_data(2000, 4, 3)
    model = quick(DEOCTClassifier, max_depth=4).fit(X, y)
    expected = model.predict_proba(X)
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(model.predict_proba, X) for _ in range(16)]
        assert all((f.result(timeout=SECONDS) == expected).all() for f in futures)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib_gives_the_same_trees(expected, backend):
    with Parallel(n_jobs=2, backend=backend, timeout=SECONDS) as parallel:
        assert parallel(delayed(fit_one)(*case) for case in CASES) == expected


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("kind", [DEOCTClassifier, MHDEOCTClassifier])
def test_a_parallel_cross_validation_around_a_parallel_fit_gives_the_same(backend, kind):
    X, y = load_iris(return_X_y=True)
    expected = cross_val_score(quick(kind), X, y, cv=3)
    with parallel_config(backend, n_jobs=2):
        scores = cross_val_score(quick(kind, n_jobs=-1), X, y, cv=3)
        search = GridSearchCV(quick(kind, n_jobs=2), {"max_depth": [1, 3]}, cv=3).fit(X, y)
    assert scores.tolist() == expected.tolist()
    assert search.best_estimator_.tree_ == quick(kind).fit(X, y).tree_


@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_leaves_no_thread_behind(kind):
    before = set(threading.enumerate())
    quick(kind, n_jobs=3).fit(*make_data(150, 4, 3))
    assert set(threading.enumerate()) == before


IN_A_CHILD = """
import multiprocessing, os, signal, sys
sys.path.insert(0, {tests!r})
from problems import KINDS, make_data, quick

X, y = make_data(150, 4, 3)

def fit(n_jobs):
    return [quick(kind, n_jobs=n_jobs).fit(X, y).to_text() for kind in KINDS]

def forked(n_jobs):
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm({seconds})
        os.write(write_end, str(hash("".join(fit(n_jobs))) ).encode())
        os._exit(0)
    os.close(write_end)
    answer = os.read(read_end, 100).decode()
    os.waitpid(child, 0)
    return answer == str(hash("".join(expected)))

expected = fit(2)
context = multiprocessing.get_context({method!r})
if __name__ == "__main__":
    with context.Pool(2) as pool:
        results = [pool.apply_async(fit, (n_jobs,)) for n_jobs in (1, 2, 3)]
        assert all(result.get({seconds}) == expected for result in results)
    if {method!r} == "fork":
        assert forked(1) and forked(2)
    assert fit(2) == expected
    print("the same trees")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_fitting_in_a_child_after_fitting_in_the_parent_gives_the_same(method, tmp_path):
    script = tmp_path / "parent.py"
    tests = str(Path(__file__).parent)
    script.write_text(IN_A_CHILD.format(tests=tests, seconds=SECONDS, method=method))
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=2 * SECONDS
    )
    assert ended.stdout == "the same trees\n", ended.stderr
