"""Save a fitted tree classifier as a JSON file, and load it again.

The file is text that people can read and other programs can parse; `model_schema` says what
it holds. Nothing in it is ever executed.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from horizontree import model_schema
from horizontree._version import __version__
from horizontree.atomic_file import replacing
from horizontree.estimators import (
    CARTClassifier,
    ConTreeClassifier,
    DEOCTClassifier,
    GOSDTGuessesClassifier,
    HorizonTreeClassifier,
    IAIOCTClassifier,
    LSOCTClassifier,
    MHDEOCTClassifier,
    QuantBnBClassifier,
    RSOCTClassifier,
    STreeDClassifier,
)
from horizontree.model_schema import FITTED, ModelContent, ModelFileError, encode_value
from horizontree.tree import LEAF, Tree

__all__ = ["METHODS", "ModelFileError", "SavedModel", "load_model", "read_model", "save_model"]

METHODS: dict[str, type[Any]] = {
    "cart": CARTClassifier,
    "deoct": DEOCTClassifier,
    "mh-deoct": MHDEOCTClassifier,
    "horizon": HorizonTreeClassifier,
    "ls-oct": LSOCTClassifier,
    "quant-bnb": QuantBnBClassifier,
    "rs-oct": RSOCTClassifier,
    "gosdt-guesses": GOSDTGuessesClassifier,
    "iai-oct": IAIOCTClassifier,
    "contree": ConTreeClassifier,
    "streed": STreeDClassifier,
}
"""The estimator of each method name."""


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds: the estimator, and facts that are not part of it.

    Parameters
    ----------
    estimator : classifier
        The fitted estimator.
    method : str
        Its method name, such as ``"mh-deoct"``.
    target : str or None
        Name of the target column, if it was saved.
    created_with : str
        The program and version that wrote the file.
    """

    estimator: Any
    method: str
    target: str | None
    created_with: str


def save_model(estimator: Any, path: str | os.PathLike[str], *, target: str | None = None) -> None:
    """Write a fitted classifier to a JSON file.

    An existing file is replaced in one step: a failure leaves it as it was.

    Parameters
    ----------
    estimator : one of the package's classifiers
        A fitted classifier.
    path : str or path-like
        The file to write.
    target : str, optional
        Name of the target column, for whoever evaluates the model later.

    Raises
    ------
    TypeError
        If ``estimator`` is of another class.
    ModelFileError
        If a class label or parameter is of a type that the file cannot hold.

    Examples
    --------
    >>> import tempfile
    >>> from horizontree import CARTClassifier
    >>> model = CARTClassifier(max_depth=1).fit([[1.0], [2.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, folder + "/model.json")
    ...     load_model(folder + "/model.json").predict([[1.0], [2.0]])
    array(['no', 'yes'], dtype='<U3')
    """
    document = model_document(estimator, target=target)
    content = _to_text(document).encode()
    _assemble(_parse(content))  # what cannot be read back is never written
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a classifier that `save_model` wrote.

    Parameters
    ----------
    path : str or path-like
        The model file.

    Returns
    -------
    estimator
        A fitted classifier of the class that was saved, with its parameters and fitted
        attributes.

    Raises
    ------
    ModelFileError
        If the file is not a valid model of this format version.
    OSError
        If the file cannot be read.
    """
    return read_model(path).estimator


def read_model(path: str | os.PathLike[str]) -> SavedModel:
    """Read a classifier and the facts that were saved with it.

    Parameters
    ----------
    path : str or path-like
        The model file.

    Returns
    -------
    SavedModel
        The estimator, its method name, the target's name and the program that wrote it.

    Raises
    ------
    ModelFileError
        If the file is not a valid model of this format version.
    OSError
        If the file cannot be read.
    """
    raw = Path(path).read_bytes()
    try:
        content = _parse(raw)
        estimator = _assemble(content)
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}") from None
    return SavedModel(estimator, content.method, content.target, content.created_with)


def model_document(estimator: Any, *, target: str | None = None) -> dict[str, Any]:
    """Return the content of the model file of ``estimator`` as JSON values.

    Parameters
    ----------
    estimator : one of the package's classifiers
        A fitted classifier.
    target : str, optional
        Name of the target column.

    Returns
    -------
    dict
        What `model_schema` describes.
    """
    method = _method_of(estimator)
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    return {
        "format": model_schema.FORMAT,
        "format_version": model_schema.FORMAT_VERSION,
        "created_with": f"horizontree {__version__}",
        "method": method,
        "target": target,
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": _classes_section(estimator.classes_),
        "parameters": {
            name: encode_value(value, f"the parameter {name}")
            for name, value in estimator.get_params(deep=False).items()
        },
        "fitted": _fitted_section(estimator),
        "nodes": _nodes(estimator.tree_),
    }


def _method_of(estimator: object) -> str:
    for method, cls in METHODS.items():
        if type(estimator) is cls:
            return method
    known = ", ".join(cls.__name__ for cls in METHODS.values())
    raise TypeError(f"cannot save a {type(estimator).__name__}; expected one of {known}")


def _classes_section(classes: NDArray[Any]) -> dict[str, Any]:
    dtype = classes.dtype
    if dtype.kind not in "biufUO" or (dtype.itemsize > 8 and dtype.kind == "f"):
        model_schema.fail(
            f"class labels of dtype {dtype} cannot be saved; expected text, integers, floats or "
            "booleans"
        )
    labels = [x.item() if isinstance(x, np.generic) else x for x in classes.tolist()]
    for label in labels:
        if not isinstance(label, bool | int | float | str):
            model_schema.fail(
                f"the class label {label!r} is a {type(label).__name__} and cannot be saved; "
                "expected text, an integer, a float or a boolean"
            )
    name = f"U{dtype.itemsize // 4}" if dtype.kind == "U" else dtype.name
    return {"dtype": name, "labels": labels}


def _fitted_section(estimator: Any) -> dict[str, Any]:
    """Collect what every estimator has, then single values that only some have (backend_)."""
    section = {name: encode_value(getattr(estimator, name), name) for name in FITTED}
    for name, value in vars(estimator).items():
        is_fitted = name.endswith("_") and not name.startswith("_")
        is_single = value is None or isinstance(value, bool | int | float | str | np.generic)
        if is_fitted and is_single and name not in model_schema.OWN_FIELD:
            section.setdefault(name, encode_value(value, name))
    return section


def _nodes(tree: Tree) -> list[dict[str, Any]]:
    nodes = []
    for node, counts in enumerate(tree.class_counts.tolist()):
        if tree.left[node] == LEAF:
            nodes.append({"class_counts": counts})
        else:
            nodes.append(
                {
                    "feature": int(tree.feature[node]),
                    "threshold": float(tree.threshold[node]),
                    "left": int(tree.left[node]),
                    "right": int(tree.right[node]),
                    "class_counts": counts,
                }
            )
    return nodes


def _to_text(document: dict[str, Any]) -> str:
    """Lay the document out with one line a parameter, an attribute or a node."""

    def dumps(value: Any) -> str:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        try:
            text.encode()
        except UnicodeEncodeError:  # a lone surrogate: only an escape can hold it
            return json.dumps(value, allow_nan=False)
        return text

    def block(value: Any) -> str:
        if isinstance(value, dict) and value:
            items = [f"    {dumps(key)}: {dumps(item)}" for key, item in value.items()]
            return "{\n" + ",\n".join(items) + "\n  }"
        if isinstance(value, list) and value and isinstance(value[0], dict):
            return "[\n" + ",\n".join(f"    {dumps(item)}" for item in value) + "\n  ]"
        return dumps(value)

    fields = [f"  {dumps(key)}: {block(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _parse(raw: bytes) -> ModelContent:
    """Turn the bytes of a model file into its checked content."""

    def no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) != len(pairs):
            model_schema.fail("a field occurs twice in one object")
        return dict(pairs)

    def no_constants(name: str) -> NoReturn:
        model_schema.fail(f"{name} is not JSON")

    try:
        document = json.loads(
            raw.decode("utf-8-sig"), object_pairs_hook=no_repeats, parse_constant=no_constants
        )
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        reason = "too deeply nested" if isinstance(error, RecursionError) else error
        raise ModelFileError(f"not a HorizonTree model (no valid JSON: {reason})") from None
    return model_schema.check_document(document)


def _assemble(content: ModelContent) -> Any:
    """Make the fitted estimator."""
    cls = METHODS.get(content.method)
    if cls is None:
        known = ", ".join(METHODS)
        model_schema.fail(f'unknown method "{content.method}"; expected one of {known}')
    unknown = sorted(content.parameters.keys() - cls().get_params(deep=False).keys())
    if unknown:
        model_schema.fail(f'{cls.__name__} has no parameter "{unknown[0]}"')
    estimator = cls(**content.parameters)
    try:
        estimator._check_parameters()
    except ValueError as error:
        model_schema.fail(f"in parameters, {error}")
    if estimator.max_depth is not None and content.tree.max_depth > estimator.max_depth:
        model_schema.fail(
            f"the tree has {content.tree.max_depth} levels, and max_depth is {estimator.max_depth}"
        )
    state = {
        **content.fitted,
        "tree_": content.tree,
        "classes_": content.classes,
        "n_features_in_": content.n_features,
    }
    if content.feature_names is not None:
        state["feature_names_in_"] = np.array(content.feature_names, dtype=object)
    for name, value in state.items():
        if hasattr(cls, name):
            model_schema.fail(f"fitted.{name} is no attribute that can be stored")
        setattr(estimator, name, value)
    return estimator
