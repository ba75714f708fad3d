"""One seed, one tree: whatever the threads, the backend and the generator of the host."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from horizontree import DEOCTClassifier, MHDEOCTClassifier
from horizontree.search import moving_horizon
from problems import KINDS, make_data, quick

EVOLUTIONARY = (DEOCTClassifier, MHDEOCTClassifier)
SOME_OPTIONS = [
    {},
    {"max_depth": 5, "min_samples_leaf": 4},
    {"ccp_alpha": 0.01},
    {"crossover": 1.0, "max_depth": 2},
]


def fitted_figures(model) -> dict:
    """Return all that a fit leaves behind, except the seconds."""
    return {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and name not in ("fit_time_", "classes_")
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", SOME_OPTIONS[:3], ids=str)
def test_the_number_of_threads_does_not_matter(kind, options):
    X, y = load_breast_cancer(return_X_y=True)
    expected = fitted_figures(quick(kind, **options).fit(X, y))
    for n_jobs in (1, 2, 3, -1):
        assert fitted_figures(quick(kind, **options, n_jobs=n_jobs).fit(X, y)) == expected


@pytest.mark.parametrize("worth_all_threads", [0, 1000])
def test_sharing_one_evolution_among_all_threads_does_not_matter(monkeypatch, worth_all_threads):
    X, y = load_breast_cancer(return_X_y=True)
    expected = quick(MHDEOCTClassifier, max_depth=4).fit(X, y).tree_
    monkeypatch.setattr(moving_horizon, "_WORTH_ALL_THREADS", worth_all_threads)
    for n_jobs in (1, 2, 3):
        model = quick(MHDEOCTClassifier, max_depth=4, n_jobs=n_jobs).fit(X, y)
        assert model.tree_ == expected


@pytest.mark.nojit
@pytest.mark.parametrize("kind", EVOLUTIONARY)
@pytest.mark.parametrize("options", SOME_OPTIONS, ids=str)
def test_the_backend_does_not_matter(kind, options):
    X, y = make_data(60, 3, 3, n_values=15)
    options = {"max_depth": 2, "population_size": 6, "generations": 4} | options
    options["max_depth"] = min(options["max_depth"], 3)
    models = {
        backend: quick(kind, **options, backend=backend).fit(X, y)
        for backend in ("auto", "cpu", "reference")
    }
    assert [model.backend_ for model in models.values()] == ["cpu", "cpu", "reference"]
    trees = [model.tree_ for model in models.values()]
    assert trees[0] == trees[1] == trees[2]
    assert len({model.n_iter_ for model in models.values()}) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_fitting_twice_gives_the_same(kind):
    X, y = make_data(150, 4, 3)
    model = quick(kind)
    first = fitted_figures(model.fit(X, y))
    assert fitted_figures(model.fit(X, y)) == first


@pytest.mark.parametrize("kind", EVOLUTIONARY)
def test_different_seeds_search_differently(kind):
    X, y = make_data(300, 6, 3)
    texts = {
        quick(kind, random_state=seed, warm_starts=()).fit(X, y).to_text() for seed in range(6)
    }
    assert len(texts) > 1


@pytest.mark.parametrize("kind", EVOLUTIONARY)
def test_a_random_state_instance_is_a_source_of_seeds(kind):
    X, y = make_data(200, 6, 3)

    def fit_with(generator):
        return quick(kind, random_state=generator, warm_starts=()).fit(X, y).tree_

    shared = np.random.RandomState(5)
    first, second = fit_with(shared), fit_with(shared)
    assert first != second
    again = np.random.RandomState(5)
    assert [fit_with(again), fit_with(again)] == [first, second]


@pytest.mark.parametrize("kind", EVOLUTIONARY)
def test_without_a_seed_every_fit_is_another(kind):
    X, y = make_data(300, 6, 3)
    texts = {quick(kind, random_state=None, warm_starts=()).fit(X, y).to_text() for _ in range(6)}
    assert len(texts) > 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("random_state", [None, 0, 2**40])
def test_the_generator_of_the_host_is_left_alone(kind, random_state):
    X, y = make_data(80)
    np.random.seed(4)  # noqa: NPY002
    kind_of_state, before, *rest = np.random.get_state()  # noqa: NPY002
    quick(kind, random_state=random_state).fit(X, y)
    after = np.random.get_state()  # noqa: NPY002
    assert after[0] == kind_of_state
    assert np.array_equal(after[1], before)
    assert list(after[2:]) == rest


@pytest.mark.parametrize("kind", EVOLUTIONARY)
def test_the_state_of_the_hosts_generator_does_not_matter(kind):
    X, y = make_data(150, 6, 3)
    trees = []
    for state in (1, 2):
        np.random.seed(state)  # noqa: NPY002
        trees.append(quick(kind, warm_starts=()).fit(X, y).tree_)
    assert trees[0] == trees[1]


@pytest.mark.parametrize("kind", EVOLUTIONARY)
def test_the_type_of_an_integer_does_not_matter(kind):
    X, y = make_data(100, 4, 3)
    options = {
        "max_depth": 4,
        "min_samples_leaf": 2,
        "population_size": 20,
        "generations": 20,
        "random_state": 9,
    }
    expected = kind(**options).fit(X, y).tree_
    for number in (np.int64, np.int32, np.uint8, np.int8):
        typed = {name: number(value) for name, value in options.items()}
        assert kind(**typed).fit(X, y).tree_ == expected
