"""What the commands share: open a model, match its features, apply it."""

from __future__ import annotations

import copy
import os
from typing import Any

from horizontree.cli.console import CommandError, listing
from horizontree.cli.data_file import DataFile, check_input
from horizontree.cli.labels import plain
from horizontree.model_file import ModelFileError, SavedModel, model_document, read_model


def open_model(path: str) -> SavedModel:
    """Read a model file, or say in one line why it cannot be read."""
    check_input(path, "model file")
    try:
        return read_model(path)
    except ModelFileError as error:
        raise CommandError(str(error)) from None


def feature_names(estimator: Any) -> list[str]:
    """Return the names of the features; ``x[0], x[1], ...`` of a model without names."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return [f"x[{column}]" for column in range(estimator.n_features_in_)]
    return [str(name) for name in names]


def check_features(model_path: str, estimator: Any, data: DataFile) -> list[str]:
    """Check that the data has every feature of the model, and return their names."""
    names = feature_names(estimator)
    if not hasattr(estimator, "feature_names_in_"):
        raise CommandError(
            f"{model_path} does not name its {len(names)} features, so they cannot be found in "
            f"{data.path}; fit it on data with column names"
        )
    known = set(data.names)
    missing = [name for name in names if name not in known]
    if missing:
        raise CommandError(
            f"{data.path} lacks {len(missing)} of the {len(names)} features of {model_path}: "
            f"{listing(missing)}; its columns are {listing(data.names)}"
        )
    return names


def by_position(estimator: Any) -> Any:
    """Return the estimator without feature names: its input is a matrix, matched already."""
    nameless = copy.copy(estimator)
    if hasattr(nameless, "feature_names_in_"):
        del nameless.feature_names_in_
    return nameless


def check_output(path: str, *inputs: str) -> None:
    """Check, before any work, that a file can be written and is none of the inputs."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.exists(folder):
        raise CommandError(
            f"cannot write {path}: the folder {folder} does not exist; make it first"
        )
    if os.path.isdir(path):
        raise CommandError(f"cannot write {path}: it is a folder; name a file in it")
    if not os.path.isdir(folder):
        raise CommandError(f"cannot write {path}: {folder} is a file, not a folder")
    is_writable = os.access(folder, os.W_OK)
    if os.path.exists(path):
        is_writable = os.access(path, os.W_OK) and (is_writable or not os.path.isfile(path))
    if not is_writable:
        raise CommandError(f"cannot write {path}: permission denied")
    for other in inputs:
        if os.path.exists(path) and os.path.samefile(path, other):
            raise CommandError(f"cannot write {path}: it is the input; name another file")


def tree_text(estimator: Any) -> str:
    """Draw the tree with the names of its features and classes."""
    text: str = estimator.tree_.to_text(feature_names(estimator), plain(estimator.classes_))
    return text


def ending(estimator: Any) -> list[str]:
    """Say that a search did not come to its end, if so."""
    why = {"interrupted": "The search was interrupted", "time_limit": "The time limit struck"}
    if estimator.status_ not in why:
        return []
    return [f"{why[estimator.status_]}; this is the best tree so far."]


def facts(estimator: Any, method: str) -> dict[str, Any]:
    """Return what is known about a fitted tree, as JSON values."""
    tree = estimator.tree_
    document = model_document(estimator)
    n_rows = int(tree.class_counts[0].sum())
    return {
        "method": method,
        "parameters": document["parameters"],
        "n_features": document["n_features"],
        "n_features_used": len(set(tree.feature[~tree.is_leaf].tolist())),
        "classes": document["classes"]["labels"],
        "depth": tree.max_depth,
        "leaves": tree.n_leaves,
        "training": {
            "rows": n_rows,
            "errors": tree.n_errors,
            "accuracy": (n_rows - tree.n_errors) / n_rows,
        },
        **{name.rstrip("_"): value for name, value in document["fitted"].items()},
        "tree": {"feature_names": document["feature_names"], "nodes": document["nodes"]},
        "tree_text": tree_text(estimator),
    }
