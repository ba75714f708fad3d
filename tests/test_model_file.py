"""The model file: what is saved comes back, whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from horizontree import CARTClassifier, DEOCTClassifier, MHDEOCTClassifier, atomic_file
from horizontree.atomic_file import replacing
from horizontree.model_file import ModelFileError, load_model, read_model, save_model
from horizontree.tree import Tree

FITTED = ("objective_", "n_errors_", "lower_bound_", "gap_", "status_", "fit_time_", "n_iter_")
QUICK = {"max_depth": 2, "population_size": 8, "generations": 3, "random_state": 5}
ESTIMATORS = [
    CARTClassifier(max_depth=3, min_samples_leaf=2),
    DEOCTClassifier(**QUICK),
    MHDEOCTClassifier(**QUICK, ccp_alpha=0.01),
]
in_a_folder = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60
)


def small_data(labels: tuple[Any, ...] = ("no", "yes")) -> tuple[NDArray[Any], NDArray[Any]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    codes = (X[:, 0] + X[:, 1] ** 2 > 0.3).astype(int)
    return X, np.array(labels)[codes]


def fitted_cart(labels: tuple[Any, ...] = ("no", "yes")) -> CARTClassifier:
    return CARTClassifier(max_depth=3).fit(*small_data(labels))


def same_state(one: Any, other: Any) -> bool:
    return (
        type(one) is type(other)
        and one.get_params() == other.get_params()
        and one.tree_ == other.tree_
        and one.classes_.dtype == other.classes_.dtype
        and one.classes_.tolist() == other.classes_.tolist()
        and one.n_features_in_ == other.n_features_in_
        and all(getattr(one, name) == getattr(other, name) for name in FITTED)
    )


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_loaded_model_is_the_saved_one(estimator: Any, tmp_path: Any) -> None:
    X, y = small_data()
    estimator.fit(X, y)
    save_model(estimator, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert same_state(loaded, estimator)
    assert vars(loaded).keys() == vars(estimator).keys()
    assert np.array_equal(loaded.predict(X), estimator.predict(X))
    assert np.array_equal(loaded.predict_proba(X), estimator.predict_proba(X))
    assert not hasattr(loaded, "feature_names_in_")


def test_saving_a_loaded_model_writes_the_same_bytes(tmp_path: Any) -> None:
    save_model(fitted_cart(), tmp_path / "one.json", target="y")
    saved = read_model(tmp_path / "one.json")
    save_model(saved.estimator, tmp_path / "two.json", target=saved.target)
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()


def test_feature_names_target_and_version_are_kept(tmp_path: Any) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = small_data()
    model = CARTClassifier(max_depth=2).fit(pandas.DataFrame(X, columns=["a", "b", "ü"]), y)
    save_model(model, tmp_path / "model.json", target="outcome")
    saved = read_model(tmp_path / "model.json")
    assert saved.estimator.feature_names_in_.tolist() == ["a", "b", "ü"]
    assert saved.estimator.feature_names_in_.dtype == object
    assert (saved.target, saved.method) == ("outcome", "cart")
    assert saved.created_with.startswith("horizontree ")


LABELS = [
    ("no", "yes"),
    (0, 1),
    (-3, 7),
    (0.0, 1.0),
    (False, True),
    ("", "naïve 木\n"),
]


@pytest.mark.parametrize("labels", LABELS, ids=repr)
def test_labels_keep_their_type(labels: tuple[Any, ...], tmp_path: Any) -> None:
    model = fitted_cart(labels)
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.classes_.dtype == model.classes_.dtype
    assert loaded.classes_.tolist() == list(labels)
    assert [type(label) for label in loaded.classes_.tolist()] == [type(x) for x in labels]


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "float16", "U9", "bool", "object"])
def test_classes_keep_their_dtype(dtype: str, tmp_path: Any) -> None:
    model = fitted_cart((0, 1))
    model.classes_ = np.array([0, 1]).astype(dtype)
    save_model(model, tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").classes_.dtype == np.dtype(dtype)


# Random trees, rather than fitted ones: they reach thresholds and shapes that no fit would.


@st.composite
def random_models(draw: st.DrawFn) -> Any:
    kinds = [st.text(max_size=5), st.integers(-(2**63), 2**63 - 1), st.floats(-1e300, 1e300)]
    labels = draw(st.sampled_from(kinds).flatmap(lambda k: st.lists(k, min_size=2, max_size=4)))
    classes = np.unique(np.array(labels))
    n_features = draw(st.integers(1, 5))
    rows: list[list[Any]] = []  # feature, threshold, left, right, counts

    def grow(depth: int) -> tuple[int, NDArray[np.int64]]:
        node = len(rows)
        rows.append([])
        if depth and draw(st.booleans()):
            feature = draw(st.integers(0, n_features - 1))
            threshold = draw(st.floats(allow_nan=False, allow_infinity=False))
            left, left_counts = grow(depth - 1)
            right, right_counts = grow(depth - 1)
            rows[node] = [feature, threshold, left, right, left_counts + right_counts]
        else:
            counts = draw(
                st.lists(st.integers(0, 2**40), min_size=len(classes), max_size=len(classes))
            )
            rows[node] = [-1, np.nan, -1, -1, np.array(counts, dtype=np.int64)]
            rows[node][4][draw(st.integers(0, len(classes) - 1))] += 1
        return node, rows[node][4]

    grow(draw(st.integers(0, 4)))
    method = draw(st.sampled_from([CARTClassifier, DEOCTClassifier, MHDEOCTClassifier]))
    model = method(max_depth=draw(st.integers(4, 9)), ccp_alpha=draw(st.floats(0, 1)))
    model.tree_ = Tree(*(np.array([row[column] for row in rows]) for column in range(5)))
    model.classes_ = classes
    model.n_features_in_ = n_features
    model.n_errors_ = model.tree_.n_errors
    model.status_ = draw(st.sampled_from(["completed", "time_limit", "interrupted"]))
    model.objective_ = model.n_errors_ + draw(st.floats(0, 1e12))
    model.n_iter_ = draw(st.integers(0, 10**6))
    model.lower_bound_ = draw(st.none() | st.floats(0, model.objective_))
    model.gap_, model.fit_time_ = draw(st.sampled_from([0.0, 0.25, 1.0])), draw(st.floats(0, 9))
    return model


@in_a_folder
@given(model=random_models())
def test_every_model_round_trips(model: Any, tmp_path: Any) -> None:
    save_model(model, tmp_path / "model.json")
    assert same_state(load_model(tmp_path / "model.json"), model)


# Saving


def test_only_our_estimators_can_be_saved(tmp_path: Any) -> None:
    from sklearn.tree import DecisionTreeClassifier

    with pytest.raises(TypeError, match="cannot save a DecisionTreeClassifier; expected one of"):
        save_model(DecisionTreeClassifier().fit([[0], [1]], [0, 1]), tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_an_unfitted_estimator_cannot_be_saved(tmp_path: Any) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        save_model(CARTClassifier(), tmp_path / "model.json")


def test_a_random_state_object_is_refused_with_advice(tmp_path: Any) -> None:
    model = fitted_cart()
    model.set_params(random_state=np.random.RandomState(0))
    with pytest.raises(ModelFileError, match=r"random_state is a RandomState.*set_params"):
        save_model(model, tmp_path / "model.json")


def test_a_label_of_another_type_is_refused(tmp_path: Any) -> None:
    model = fitted_cart()
    model.classes_ = np.array([("a", 1), None], dtype=object)
    with pytest.raises(ModelFileError, match="the class label"):
        save_model(model, tmp_path / "model.json")
    model.classes_ = np.array([1, 2], dtype="datetime64[D]")
    with pytest.raises(ModelFileError, match="dtype datetime64"):
        save_model(model, tmp_path / "model.json")


def test_parameters_that_json_lacks_are_kept(tmp_path: Any) -> None:
    model = DEOCTClassifier(**QUICK).fit(*small_data())
    model.set_params(time_limit=np.float64(2.5), random_state=np.int64(3), warm_starts=())
    save_model(model, tmp_path / "model.json")
    loaded = load_model(tmp_path / "model.json")
    assert loaded.get_params() == model.get_params()
    assert json.loads((tmp_path / "model.json").read_text())  # plain JSON all the same


def test_a_failed_write_leaves_the_old_file(tmp_path: Any) -> None:
    target = tmp_path / "model.json"
    target.write_text("old")

    def fail_half_way() -> None:
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals")
def test_a_process_killed_while_writing_leaves_the_old_file(tmp_path: Any) -> None:
    target = tmp_path / "model.json"
    target.write_text("old")
    program = (
        "import os, signal, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"  # the module alone: the package takes seconds
        "from atomic_file import replacing\n"
        "with replacing(sys.argv[2]) as temporary:\n"
        "    temporary.write_text('half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    folder = os.path.dirname(atomic_file.__file__)
    done = subprocess.run([sys.executable, "-c", program, folder, str(target)], check=False)
    assert done.returncode == -9
    assert target.read_text() == "old"


def test_a_link_is_followed_and_a_new_file_has_the_usual_permissions(tmp_path: Any) -> None:
    plain, link = tmp_path / "plain", tmp_path / "link"
    plain.write_text("old")
    link.symlink_to(plain)
    with replacing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert plain.read_text() == "new"
    (tmp_path / "usual").write_text("")
    with replacing(tmp_path / "made") as temporary:
        temporary.write_text("")
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_device_is_written_and_not_replaced() -> None:
    with replacing(os.devnull) as temporary:
        temporary.write_text("nothing")
    assert not os.path.isfile(os.devnull)


def test_a_folder_is_refused(tmp_path: Any) -> None:
    with pytest.raises(IsADirectoryError):
        save_model(fitted_cart(), tmp_path)
