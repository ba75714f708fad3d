"""A broken model file is refused in one line; it never loads as something else."""

from __future__ import annotations

import copy
import json
import string
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from horizontree.model_file import ModelFileError, load_model

thoroughly = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200
)


def valid_document() -> dict[str, Any]:
    return {
        "format": "horizontree-model",
        "format_version": 1,
        "created_with": "horizontree 0.1.0",
        "method": "cart",
        "target": None,
        "n_features": 2,
        "feature_names": ["a", "b"],
        "classes": {"dtype": "int64", "labels": [0, 1]},
        "parameters": {"max_depth": 2},
        "fitted": {
            "objective_": 1.0,
            "n_errors_": 1,
            "lower_bound_": 0.0,
            "gap_": 1.0,
            "status_": "completed",
            "fit_time_": 0.5,
            "n_iter_": 1,
        },
        "nodes": [
            {"feature": 0, "threshold": 0.5, "left": 1, "right": 2, "class_counts": [5, 6]},
            {"class_counts": [5, 0]},
            {"feature": 1, "threshold": -1, "left": 3, "right": 4, "class_counts": [0, 6]},
            {"class_counts": [0, 4]},
            {"class_counts": [0, 2]},
        ],
    }


def loaded_from(document: object, folder: Any) -> Any:
    path = folder / "model.json"
    path.write_text(json.dumps(document))
    return load_model(path)


def edited(path: str, value: object) -> dict[str, Any]:
    """Return the valid document with one value changed (or removed: ``...``)."""
    document = valid_document()
    document["fitted"]["n_errors_"] = 0
    *way, last = [int(key) if key.isdigit() else key for key in path.split("/")]
    place: Any = document
    for key in way:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return document


def test_the_document_by_hand_is_valid(tmp_path: Any) -> None:
    model = loaded_from(edited("feature_names", None), tmp_path)
    assert model.predict(np.array([[0.0, 0.0], [1.0, 0.0]])).tolist() == [0, 1]


DEFECTS = {
    "format": ["other", 3, ...],
    "created_with": [None, ...],
    "method": ["forest", None, ["cart"], ...],
    "target": [4, ...],
    "n_features": [0, -1, 1, 2.0, True, "2", 10**30, ...],
    "feature_names": [["a"], ["a", "a"], ["a", 1], "ab", ...],
    "classes": [[0, 1], {}, {"dtype": "int64"}, None],
    "classes/dtype": [
        "float64",
        "bool",
        "U1",
        "U99999999",
        "S3",
        "datetime64[ns]",
        "V8",
        "int",
        3,
        None,
    ],
    "classes/labels": [[0, 0], [0], [0, 1, 2], [0, "1"], [0, 1.5], [0, True], [0, 2**70], [], 0],
    "parameters": [
        None,
        [],
        {"depth": 3},
        {"max_depth": {"eval": "1"}},
        {"self": 1},
        {"max_depth": "3"},
        {"max_depth": 1},
        {"ccp_alpha": 10**400},
    ],
    "fitted": [None, {}],
    "fitted/objective_": [None, "1", ..., {"float": "nan"}, True, -5],
    "fitted/lower_bound_": [99, 10**400, -1],
    "fitted/n_errors_": [3, -1, 1.0, None, ...],
    "fitted/status_": [None, 1, "", "heuristic"],
    "fitted/fit_time_": [-1, "1"],
    "fitted/gap_": ["big", [], {"float": "1"}, -1, {"float": "nan"}, {"float": "inf"}],
    "fitted/n_iter_": [-1, 1.5],
    "fitted/tree_": [1],
    "fitted/fit": ["x"],
    "fitted/feature_importances_": [[1.0]],
    "fitted/__class__": ["x"],
    "nodes": [[], {}, None, [1], [[]]],
    "nodes/0/feature": [-1, 2, 0.0, None, "a", False, ...],
    "nodes/0/threshold": [None, "0.5", True, 10**400, ...],
    "nodes/0/left": [0, 2, 3, -1, 5, 1.0, None],
    "nodes/0/right": [0, 1, 3, 4, -1, 5],
    "nodes/2/left": [0, 1, 2, 4],
    "nodes/2/right": [0, 3, 2],
    "nodes/1": [{}, {"class_counts": [5, 0], "left": 1}],
    "nodes/1/class_counts": [[5], [5, 1], [4, 0], [5, -1], [5.0, 0], [5, 0, 0], None, ["5", 0]],
    "nodes/3/class_counts": [[0, 0], [2**63, 0], [2**62, 2**62]],
    "nodes/4": [...],
    "extra": [1],
}


@pytest.mark.parametrize(
    ("path", "value"), [(path, value) for path, values in DEFECTS.items() for value in values]
)
def test_every_defect_is_refused_in_one_line(path: str, value: object, tmp_path: Any) -> None:
    with pytest.raises(ModelFileError) as caught:
        loaded_from(edited(path, value), tmp_path)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(tmp_path / "model.json") + ": ")


def test_a_newer_version_says_to_upgrade(tmp_path: Any) -> None:
    with pytest.raises(ModelFileError, match=r"format 2.*reads format 1: upgrade"):
        loaded_from(edited("format_version", 2), tmp_path)


@pytest.mark.parametrize("version", [0, "1", True, 1.0, None, ...])
def test_another_version_says_to_fit_again(version: object, tmp_path: Any) -> None:
    with pytest.raises(ModelFileError, match="fit the model again"):
        loaded_from(edited("format_version", version), tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b"\x80\x04K\x01.",
        b"[" * 100_000,
        b'{"a": ' * 100_000,
        b"1" * 5_000,
        b"\x00" * 10,
        json.dumps(valid_document()).replace("0.5", "NaN").encode(),
        json.dumps(valid_document()).replace("0.5", "Infinity").encode(),
        json.dumps(valid_document()).replace('"target"', '"method": "cart", "target"').encode(),
        json.dumps(valid_document()).encode() + b"x",
    ],
    ids=range(14),
)
def test_what_is_no_model_is_refused(text: bytes, tmp_path: Any) -> None:
    (tmp_path / "model.json").write_bytes(text)
    with pytest.raises(ModelFileError):
        load_model(tmp_path / "model.json")


def test_a_missing_file_is_the_usual_error(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "model.json")


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.integers(-2, 6)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


def places(value: Any) -> list[tuple[Any, Any]]:
    """List every (container, key) of a document."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, item in items:
        found.append((value, key))
        if isinstance(item, dict | list):
            found += places(item)
    return found


def check_refused_or_usable(path: Any) -> None:
    try:
        model = load_model(path)
    except ModelFileError as error:
        message = str(error)
    else:
        check_usable(model)
        message = ""
    assert "\n" not in message


def check_usable(model: Any) -> None:
    if model.n_features_in_ > 1_000:  # valid, and too wide to try
        return
    X = np.zeros((3, model.n_features_in_))
    probabilities = model.predict_proba(X)
    assert probabilities.shape == (3, len(model.classes_))
    assert np.allclose(probabilities.sum(axis=1), 1)
    assert set(model.predict(X).tolist()) <= set(model.classes_.tolist())


@thoroughly
@given(data=st.data())
def test_a_mutated_document_is_refused_or_loads_a_usable_model(
    data: st.DataObject, tmp_path: Any
) -> None:
    document = edited("feature_names", None)
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(document)))
        action = data.draw(st.sampled_from(["replace", "delete", "swap"]))
        if action == "replace":
            container[key] = data.draw(ANYTHING)
        elif action == "delete":
            del container[key]
        else:
            other, other_key = data.draw(st.sampled_from(places(document)))
            container[key] = copy.deepcopy(other[other_key])
        if not document:
            break
    (tmp_path / "model.json").write_text(json.dumps(document))
    check_refused_or_usable(tmp_path / "model.json")


@thoroughly
@given(data=st.data())
def test_a_file_with_changed_bytes_is_refused_or_loads_a_usable_model(
    data: st.DataObject, tmp_path: Any
) -> None:
    raw = bytearray(json.dumps(edited("feature_names", None)).encode())
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(raw) - 1))
        likely = st.sampled_from((string.digits + string.punctuation).encode())
        raw[position] = data.draw(likely | st.integers(0, 255))
    if data.draw(st.booleans()):
        del raw[data.draw(st.integers(0, len(raw))) :]
    (tmp_path / "model.json").write_bytes(raw)
    check_refused_or_usable(tmp_path / "model.json")
