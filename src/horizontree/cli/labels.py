"""The target column: labels of any type, from a file to classes and back."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from horizontree.cli.console import CommandError
from horizontree.cli.data_file import Table, import_polars, stripped

if TYPE_CHECKING:
    import polars as pl

Label = bool | int | float | str

_INTEGER = re.compile(r"-?(0|[1-9]\d{0,17})")
_FLOAT = re.compile(r"-?((0|[1-9]\d{0,14})(\.\d*)?|\.\d+)([eE][+-]?\d{1,2})?")
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True)
class Labels:
    """The labels of all rows: distinct values, and the one that each row has.

    Parameters
    ----------
    values : array
        The distinct labels.
    texts : list of str
        How the file writes each of them.
    codes : integer array of shape (n_rows,)
        Which of them each row has.
    """

    values: NDArray[Any]
    texts: list[str]
    codes: NDArray[np.intp]

    def to_array(self) -> NDArray[Any]:
        """Return the label of each row."""
        return self.values[self.codes]

    def counts(self) -> dict[Label, int]:
        """Count the rows of each label, most frequent first (equal counts: as sorted)."""
        totals = np.bincount(self.codes, minlength=len(self.values)).tolist()
        merged: dict[Label, int] = {}
        for value, total in zip(plain(self.values), totals, strict=True):
            merged[value] = merged.get(value, 0) + total
        return dict(sorted(merged.items(), key=lambda item: -item[1]))


def read_labels(table: Table, name: str) -> Labels:
    """Take the target column out of a table.

    In a CSV file, labels are integers if all of them are written as integers, else floats if
    all are numbers, else booleans if all are ``true`` or ``false``, else text. Text such as
    ``007`` stays text. In Parquet they have the type of the column.
    """
    polars = import_polars()
    series = table.take(name)
    if series.dtype in (polars.Categorical, polars.Enum):
        series = series.cast(polars.String)
    if not _holds_labels(series):
        raise CommandError(
            f"{table.path}: column {name!r} holds {series.dtype}; expected class labels: "
            "text, integers, floats or booleans"
        )
    is_csv = table.file.head is not None
    series = stripped(series) if is_csv else series
    is_missing = series.is_null()
    if series.dtype.is_float():
        is_missing |= series.is_nan().fill_null(False)
    table.refuse_missing(name, is_missing)
    if series.dtype.is_float() and not series.is_finite().all():
        row = int((~series.is_finite()).arg_true()[0])
        raise CommandError(f"{table.place(row, name)}: an infinite number is no class label")
    return _encode(series, is_csv=is_csv)


def _encode(series: pl.Series, *, is_csv: bool) -> Labels:
    polars = import_polars()
    distinct = series.unique().sort()
    numbers = polars.int_range(len(distinct), eager=True)
    codes = series.replace_strict(distinct, numbers, return_dtype=polars.Int64)
    listed = distinct.to_list()
    if is_csv:  # two spellings of one label, 1.0 and 1.00, become one class
        values = np.array(_typed(listed))
    else:
        values = np.array(listed) if distinct.dtype == polars.String else distinct.to_numpy()
    return Labels(values, [as_text(label) for label in listed], codes.to_numpy().astype(np.intp))


def _holds_labels(series: pl.Series) -> bool:
    polars = import_polars()
    return bool(
        series.dtype.is_integer()
        or series.dtype.is_float()
        or series.dtype in (polars.String, polars.Boolean)
    )


def _typed(texts: list[str]) -> list[Any]:
    """Give the distinct labels of a CSV column their common type."""
    if all(_INTEGER.fullmatch(text) for text in texts):
        return [int(text) for text in texts]
    if all(_FLOAT.fullmatch(text) for text in texts):
        return [float(text) for text in texts]
    if all(text.lower() in _BOOLEANS for text in texts):
        return [_BOOLEANS[text.lower()] for text in texts]
    return list(texts)


def class_indices(labels: Labels, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return, for each distinct label, its index among a model's classes, -1 if unknown.

    A label is known if the file writes it as the class is written (``1`` and ``"1"``), or if
    its value is the same (``1.0`` and ``1``).
    """
    known = plain(classes)
    index_of_text = {as_text(label): index for index, label in enumerate(known)}
    index_of_value = {label: index for index, label in enumerate(known)}
    found = [
        index_of_text.get(text, index_of_value.get(_typed([text])[0], -1)) for text in labels.texts
    ]
    return np.array(found, dtype=np.intp)


def plain(classes: NDArray[Any]) -> list[Label]:
    """Turn class labels into Python's own types."""
    return [label.item() if isinstance(label, np.generic) else label for label in classes.tolist()]


def as_text(label: object) -> str:
    """Write a label as it stands in a CSV file."""
    return str(label).lower() if isinstance(label, bool) else str(label)
