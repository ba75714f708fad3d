"""The model file's content: what a valid one holds, checked in full when it is read.

A model file is one JSON object::

    format           "horizontree-model"
    format_version   1
    created_with     the program and version that wrote it
    method           "cart", "deoct", "horizon" and the others of ``METHODS``
    target           name of the target column, or null
    n_features       number of features
    feature_names    their names in column order, or null
    classes          {"dtype": a NumPy dtype, "labels": the labels in class order}
    parameters       the estimator's constructor parameters
    fitted           its fitted attributes (objective_, status_, ...)
    nodes            the tree in preorder, one object a node:
                     an inner node {"feature", "threshold", "left", "right", "class_counts"},
                     a leaf {"class_counts"}

JSON has no tuples, infinities or NaN: in ``parameters`` and ``fitted`` they are written
``{"tuple": [...]}`` and ``{"float": "inf" | "-inf" | "nan"}``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from horizontree.tree import LEAF, Tree

FORMAT = "horizontree-model"
FORMAT_VERSION = 1

FITTED = ("objective_", "n_errors_", "lower_bound_", "gap_", "status_", "fit_time_", "n_iter_")
"""The fitted attributes that every estimator has, beside the tree and what it was fitted on."""

STATUSES = ("optimal", "completed", "time_limit", "interrupted")

OWN_FIELD = {"tree_", "classes_", "n_features_in_", "feature_names_in_"}
"""The fitted attributes that are not in ``fitted`` but have a field of their own."""

_KEYS: dict[str, type | tuple[type, ...]] = {
    "format": str,
    "format_version": int,
    "created_with": str,
    "method": str,
    "target": (str, type(None)),
    "n_features": int,
    "feature_names": (list, type(None)),
    "classes": dict,
    "parameters": dict,
    "fitted": dict,
    "nodes": list,
}
_INNER_KEYS = {"feature", "threshold", "left", "right", "class_counts"}
_LEAF_KEYS = {"class_counts"}
_DTYPE = re.compile(r"bool|object|u?int(8|16|32|64)|float(16|32|64)|U[1-9]\d{0,4}")
_MOST = int(np.iinfo(np.int32).max)


class ModelFileError(ValueError):
    """A model file that cannot be read, or a model that cannot be written to one."""


@dataclass(frozen=True)
class ModelContent:
    """The checked content of a model file."""

    created_with: str
    method: str
    target: str | None
    n_features: int
    feature_names: list[str] | None
    classes: NDArray[Any]
    parameters: dict[str, Any]
    fitted: dict[str, Any]
    tree: Tree


def check_document(document: object) -> ModelContent:
    """Check the JSON document of a model file and turn it into its content.

    Raises
    ------
    ModelFileError
        If anything about the document is not as the module's docstring says.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        fail(f'not a HorizonTree model (expected a JSON object with "format": "{FORMAT}")')
    _check_version(document.get("format_version"))
    _check_keys(document)
    n_features = _integer(document["n_features"], "n_features", least=1)
    classes = _classes(document["classes"])
    tree = _tree(document["nodes"], n_features, len(classes))
    fitted = _values(document["fitted"], "fitted")
    _check_fitted(fitted, tree)
    return ModelContent(
        created_with=document["created_with"],
        method=document["method"],
        target=document["target"],
        n_features=n_features,
        feature_names=_feature_names(document["feature_names"], n_features),
        classes=classes,
        parameters=_values(document["parameters"], "parameters"),
        fitted=fitted,
        tree=tree,
    )


def fail(message: str) -> NoReturn:
    """Raise a `ModelFileError`."""
    raise ModelFileError(message)


def encode_value(value: object, name: str) -> Any:
    """Turn a parameter or fitted attribute into what JSON can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(float(value))}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [encode_value(item, name) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode_value(item, name) for item in value]}
    fail(
        f"{name} is a {type(value).__name__}, which a model file cannot hold; expected a number, "
        f"text, None, or a list of these. Change it with set_params before saving."
    )


def _decode_value(value: object, name: str) -> Any:
    if isinstance(value, list):
        return [_decode_value(item, name) for item in value]
    if isinstance(value, dict):
        if value.keys() == {"tuple"} and isinstance(value["tuple"], list):
            return tuple(_decode_value(item, name) for item in value["tuple"])
        if value.keys() == {"float"} and value["float"] in ("inf", "-inf", "nan"):
            return float(value["float"])
        fail(f"{name} holds an object that is neither a tuple nor a float")
    return value


def _values(section: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: _decode_value(value, f"{name}.{key}") for key, value in section.items()}


def _check_version(version: object) -> None:
    if version == FORMAT_VERSION and not isinstance(version, bool | float):
        return
    if isinstance(version, int) and not isinstance(version, bool) and version > FORMAT_VERSION:
        fail(
            f"written in model format {version}, and this HorizonTree reads format "
            f"{FORMAT_VERSION}: upgrade with pip install --upgrade horizontree"
        )
    fail(
        f"has model format {version!r}, and this HorizonTree reads format {FORMAT_VERSION}: "
        "fit the model again with this version"
    )


def _check_keys(document: dict[str, Any]) -> None:
    for key, kind in _KEYS.items():
        if key not in document:
            fail(f'"{key}" is missing')
        if not isinstance(document[key], kind) or isinstance(document[key], bool):
            fail(f'"{key}" has the wrong type ({type(document[key]).__name__})')
    unknown = sorted(document.keys() - _KEYS.keys())
    if unknown:
        fail(f'unknown field "{unknown[0]}"')


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _integer(value: object, name: str, *, least: int, most: int = _MOST) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        fail(f"{name} is {_brief(value)}; expected an integer")
    if not least <= value <= most:
        fail(f"{name} is {_brief(value)}; expected an integer from {least} to {most}")
    return value


def _finite(value: object, name: str) -> float:
    try:
        number = float(value) if _is_number(value) else math.nan  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        fail(f"{name} is {_brief(value)}; expected a finite number")
    return number


def _brief(value: object) -> str:
    if isinstance(value, int) and abs(value) > 10**20:
        return "an enormous integer"
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _feature_names(names: list[Any] | None, n_features: int) -> list[str] | None:
    if names is None:
        return None
    if len(names) != n_features:
        fail(f"feature_names has {len(names)} names; expected n_features = {n_features}")
    if not all(isinstance(name, str) for name in names):
        fail("feature_names holds something other than text")
    if len(set(names)) != len(names):
        fail("feature_names holds the same name twice")
    return names


_MOST_LABEL_BYTES = 1 << 26


def _classes(section: dict[str, Any]) -> NDArray[Any]:
    if section.keys() != {"dtype", "labels"}:
        fail('"classes" must have exactly the fields "dtype" and "labels"')
    dtype, labels = section["dtype"], section["labels"]
    if not isinstance(dtype, str) or not _DTYPE.fullmatch(dtype):
        fail(f"classes.dtype is {_brief(dtype)}; expected bool, int, uint, float, U or object")
    if not isinstance(labels, list) or not labels:
        fail("classes.labels must be a list with at least one label")
    kind = np.dtype(dtype).kind
    if np.dtype(dtype).itemsize * len(labels) > _MOST_LABEL_BYTES:
        fail(f"classes.dtype {dtype} makes labels of more than {_MOST_LABEL_BYTES:,} bytes")
    if not all(_is_label(label, kind) for label in labels):
        fail(f"classes.labels holds a value that does not fit the dtype {dtype}")
    if len(set(labels)) != len(labels):
        fail("classes.labels holds the same label twice")
    try:
        with np.errstate(over="ignore"):
            classes = np.array(labels, dtype=dtype)
    except (OverflowError, MemoryError):
        fail(f"classes.labels holds a value that does not fit the dtype {dtype}")
    if classes.tolist() != labels:  # truncated text, rounded numbers
        fail(f"classes.labels holds a value that does not fit the dtype {dtype}")
    return classes


def _is_label(label: object, kind: str) -> bool:
    if isinstance(label, float) and not math.isfinite(label):
        return False
    if kind == "b":
        return isinstance(label, bool)
    if kind in "iu":
        return isinstance(label, int) and not isinstance(label, bool)
    if kind == "f":
        return isinstance(label, float)
    if kind == "U":
        return isinstance(label, str)
    return isinstance(label, bool | int | float | str)


def _tree(nodes: list[Any], n_features: int, n_classes: int) -> Tree:
    if not nodes:
        fail("nodes is empty; expected at least a root")
    n_nodes = len(nodes)
    feature = np.full(n_nodes, LEAF, dtype=np.int32)
    threshold = np.full(n_nodes, np.nan)
    left, right = feature.copy(), feature.copy()
    counts = np.zeros((n_nodes, n_classes), dtype=np.int64)
    for index, node in enumerate(nodes):
        name = f"nodes[{index}]"
        if not isinstance(node, dict) or node.keys() not in (_INNER_KEYS, _LEAF_KEYS):
            fail(
                f"{name} is neither a leaf (class_counts) nor an inner node "
                "(feature, threshold, left, right, class_counts)"
            )
        counts[index] = _class_counts(node["class_counts"], name, n_classes)
        if node.keys() == _INNER_KEYS:
            feature[index] = _integer(
                node["feature"], f"{name}.feature", least=0, most=n_features - 1
            )
            threshold[index] = _finite(node["threshold"], f"{name}.threshold")
            for side, children in (("left", left), ("right", right)):
                children[index] = _integer(
                    node[side], f"{name}.{side}", least=index + 1, most=n_nodes - 1
                )
    _check_preorder(left, right)
    _check_sums(left, right, counts)
    return Tree(feature, threshold, left, right, counts)


def _class_counts(counts: object, name: str, n_classes: int) -> list[int]:
    if not isinstance(counts, list) or len(counts) != n_classes:
        fail(f"{name}.class_counts must be a list of {n_classes} counts, one a class")
    most = int(np.iinfo(np.int64).max)
    checked = [_integer(count, f"{name}.class_counts", least=0, most=most) for count in counts]
    if not 0 < sum(checked) <= most:
        fail(f"{name} holds {_brief(sum(checked))} samples; expected at least 1, below 2**63")
    return checked


def _check_preorder(left: NDArray[np.int32], right: NDArray[np.int32]) -> None:
    """Walk from the root: in preorder, the n-th node visited is node n, and none is left."""
    n_visited = 0
    stack = [0]
    while stack:
        node = stack.pop()
        if node != n_visited:
            fail(f"nodes are not a binary tree in preorder (node {node} where {n_visited} belongs)")
        n_visited += 1
        if left[node] != LEAF:
            stack += [int(right[node]), int(left[node])]
    if n_visited != len(left):
        fail(f"nodes holds {len(left)} nodes, and only {n_visited} hang from the root")


def _check_sums(
    left: NDArray[np.int32], right: NDArray[np.int32], counts: NDArray[np.int64]
) -> None:
    inner = np.flatnonzero(left != LEAF)
    # Python integers: two counts below 2**63 may add up to more
    for node in inner.tolist():
        below = zip(counts[left[node]].tolist(), counts[right[node]].tolist(), strict=True)
        if counts[node].tolist() != [a + b for a, b in below]:
            fail(f"nodes[{node}].class_counts is not the sum of its children's")


def _check_fitted(fitted: Mapping[str, Any], tree: Tree) -> None:
    """Check the attributes that every estimator has; others only need a proper name."""
    for name in FITTED:
        if name not in fitted:
            fail(f"fitted.{name} is missing")
    if _integer(fitted["n_errors_"], "fitted.n_errors_", least=0, most=2**63) != tree.n_errors:
        fail(f"fitted.n_errors_ is {fitted['n_errors_']}, and the tree makes {tree.n_errors}")
    objective = _finite(fitted["objective_"], "fitted.objective_")
    if objective < tree.n_errors:
        fail(f"fitted.objective_ is {objective}, and the tree makes {tree.n_errors} errors")
    if _finite(fitted["fit_time_"], "fitted.fit_time_") < 0:
        fail("fitted.fit_time_ is negative")
    if fitted["status_"] not in STATUSES:
        known = ", ".join(STATUSES)
        fail(f"fitted.status_ is {_brief(fitted['status_'])}; expected one of {known}")
    for name in ("lower_bound_", "gap_"):
        if fitted[name] is not None and not _is_number(fitted[name]):
            fail(f"fitted.{name} is {_brief(fitted[name])}; expected a number or null")
        if fitted[name] is not None and not 0 <= fitted[name] < math.inf:
            fail(f"fitted.{name} is {_brief(fitted[name])}; expected a number of at least 0")
    bound = fitted["lower_bound_"]
    if bound is not None and bound > objective:
        fail(f"fitted.lower_bound_ is {_brief(bound)}, above objective_ {objective}")
    if fitted["status_"] == "optimal" and bound is not None and bound != objective:
        fail(f"fitted.status_ is 'optimal', and lower_bound_ {_brief(bound)} is below objective_")
    if fitted["n_iter_"] is not None:
        _integer(fitted["n_iter_"], "fitted.n_iter_", least=0, most=2**63)
    for name in fitted:
        if not re.fullmatch(r"[a-z][a-z0-9_]*_", name) or name in OWN_FIELD:
            fail(f"fitted.{name} is no name of a fitted attribute")
