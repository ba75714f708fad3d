"""``horizontree evaluate``: compare a model's predictions with the known classes."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree.cli.console import (
    CommandError,
    listing,
    percent,
    plural,
    ratio,
    say,
    say_json,
    suggestion,
    table,
)
from horizontree.cli.data_file import DataFile
from horizontree.cli.labels import Label, Labels, as_text, class_indices, plain, read_labels
from horizontree.cli.models import by_position, check_features, open_model
from horizontree.model_file import SavedModel
from horizontree.terminal import visible


@dataclass(frozen=True)
class Comparison:
    """Predictions against true labels.

    Parameters
    ----------
    labels : list
        The model's classes, then labels that only the data has.
    confusion : int64 array of shape (n_labels, n_classes)
        Rows of each true label (first axis) that got each predicted class (second axis).
    """

    labels: list[Label]
    confusion: NDArray[np.int64]

    @property
    def n_classes(self) -> int:
        """Number of classes that the model knows."""
        return int(self.confusion.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.confusion.sum())

    @property
    def n_right(self) -> int:
        """Rows whose prediction is the true label."""
        return int(self.confusion.diagonal().sum())

    @property
    def unknown(self) -> list[Label]:
        """Labels of the data that the model does not know."""
        return self.labels[self.n_classes :]


def compare(estimator: Any, matrix: NDArray[np.float64], labels: Labels) -> Comparison:
    """Predict the rows of ``matrix`` and count them by true and predicted class."""
    classes = estimator.classes_
    index = class_indices(labels, classes)
    present = np.unique(labels.codes)
    unknown = [code for code in present.tolist() if index[code] < 0]
    index[unknown] = len(classes) + np.arange(len(unknown))
    predictions = by_position(estimator).predict(matrix)
    confusion = np.zeros((len(classes) + len(unknown), len(classes)), dtype=np.int64)
    for column, label in enumerate(plain(classes)):
        is_predicted = predictions == label
        rows = index[labels.codes[is_predicted]]
        confusion[:, column] = np.bincount(rows, minlength=len(confusion))
    values = plain(labels.values)
    return Comparison(plain(classes) + [values[code] for code in unknown], confusion)


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    saved = open_model(arguments.model)
    data = DataFile.open(arguments.data)
    target = _target(arguments, saved, data)
    names = check_features(arguments.model, saved.estimator, data)
    if target in names:
        raise CommandError(f"the target {target!r} is a feature of {arguments.model}")
    rows = data.read(names, target, is_quiet=arguments.json)
    labels = read_labels(rows, target)
    comparison = compare(saved.estimator, rows.feature_matrix(names), labels)
    if arguments.json:
        say_json(
            {"model": arguments.model, "data": arguments.data, "target": target}
            | report(comparison)
        )
    else:
        say(_text(comparison, arguments.data))


def _target(arguments: argparse.Namespace, saved: SavedModel, data: DataFile) -> str:
    target = arguments.target if arguments.target is not None else saved.target
    if target is None:
        raise CommandError(f"{arguments.model} does not name its target; add --target NAME")
    if target not in data.names:
        raise CommandError(
            f"{data.path} has no column {target!r} (the target); {suggestion(target, data.names)}"
        )
    return str(target)


def report(comparison: Comparison) -> dict[str, Any]:
    """Return the figures of a comparison as JSON values."""
    right, n_rows = comparison.n_right, comparison.n_rows
    return {
        "rows": n_rows,
        "errors": n_rows - right,
        "accuracy": ratio(right, n_rows),
        "classes": [
            {
                "label": label,
                "precision": ratio(hits, predicted),
                "recall": ratio(hits, support),
                "support": support,
            }
            for label, hits, predicted, support in _per_class(comparison)
        ],
        "unknown_labels": comparison.unknown,
        "confusion": {
            "actual": comparison.labels,
            "predicted": comparison.labels[: comparison.n_classes],
            "counts": comparison.confusion.tolist(),
        },
    }


def _per_class(comparison: Comparison) -> list[tuple[Label, int, int, int]]:
    """List each class with its hits, predicted rows and actual rows."""
    confusion = comparison.confusion
    predicted, support = confusion.sum(axis=0).tolist(), confusion.sum(axis=1).tolist()
    hits = confusion.diagonal().tolist()
    known = comparison.labels[: comparison.n_classes]
    return list(zip(known, hits, predicted, support[: len(known)], strict=True))


def _text(comparison: Comparison, path: str) -> str:
    right, n_rows = comparison.n_right, comparison.n_rows
    lines = [
        f"{visible(path)}: {plural(n_rows, 'row')}, {plural(n_rows - right, 'error')}, "
        f"accuracy {percent(right, n_rows)}"
    ]
    if comparison.unknown:
        n_unknown = int(comparison.confusion[comparison.n_classes :].sum())
        lines.append(
            f"note: {plural(n_unknown, 'row')} with labels that the model does not know "
            f"({listing(comparison.unknown)}), counted as errors"
        )
    per_class = [("class", "precision", "recall", "support")] + [
        (as_text(label), percent(hits, predicted), percent(hits, support), f"{support:,}")
        for label, hits, predicted, support in _per_class(comparison)
    ]
    known = [as_text(label) for label in comparison.labels[: comparison.n_classes]]
    matrix = [["actual \\ predicted", *known]] + [
        [as_text(label), *(f"{count:,}" for count in counts)]
        for label, counts in zip(comparison.labels, comparison.confusion.tolist(), strict=True)
    ]
    return "\n".join([*lines, "", table(per_class), "", table(matrix)])
