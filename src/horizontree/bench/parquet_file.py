"""A data set in a Parquet file, under the rules of `horizontree.bench.corpus`.

A null is a missing cell. polars reads the files; it is in the extra ``cli``, and is imported only
when there is such a file. What a file should not hold is a ValueError.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _polars() -> Any:
    return importlib.import_module("polars")


@contextmanager
def _readable() -> Iterator[None]:
    """Turn the errors of polars into one line."""
    errors = _polars().exceptions
    try:
        yield
    except (errors.PolarsError, errors.PanicException) as error:  # of damaged files, either
        raise ValueError(next(iter(str(error).splitlines()), type(error).__name__)) from error


def column_names(path: Path) -> list[str]:
    """Return the names of the columns."""
    with _readable(), open(path, "rb") as file:
        return list(_polars().read_parquet_schema(file))


def size(path: Path) -> tuple[int, int, int]:
    """Return the numbers of rows and columns, and of different values in the last column."""
    names = column_names(path)
    labels = _frame(path, names[-1:])
    return labels.height, len(names), int(labels.n_unique())


def _frame(path: Path, names: list[str]) -> Any:
    with _readable(), open(path, "rb") as file:
        return _polars().read_parquet(file, columns=names)


def read_complete_rows(
    path: Path, category_suffix: str
) -> tuple[dict[int, NDArray[np.float64]], dict[int, list[str]], list[str]]:
    """Read the rows without a null: numeric columns, text columns, labels.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    category_suffix : str
        How the name of a column of categories ends.

    Returns
    -------
    tuple
        Numbers by column, categories as text by column, and the labels as text.
    """
    names = column_names(path)
    rows = _frame(path, names).drop_nulls()
    if rows.height == 0:
        raise ValueError("no row is free of missing values")
    numeric: dict[int, NDArray[np.float64]] = {}
    texts: dict[int, list[str]] = {}
    for column, name in enumerate(names[:-1]):
        values = rows.drop_in_place(name)  # so that its memory can be freed
        if name.endswith(category_suffix):
            texts[column] = _as_texts(values)
        else:
            numeric[column] = _as_numbers(values)
    return numeric, texts, _as_texts(rows.to_series())


def _as_numbers(values: Any) -> NDArray[np.float64]:
    polars = _polars()
    if not (values.dtype.is_numeric() or values.dtype == polars.Boolean):
        raise ValueError(f"column {values.name!r} holds {values.dtype}, not numbers")
    numbers: NDArray[np.float64] = values.cast(polars.Float64).to_numpy()
    _check_finite(values.name, numbers)
    return numbers


def _as_texts(values: Any) -> list[str]:
    polars = _polars()
    if values.dtype.is_nested() or values.dtype in (polars.Binary, polars.Object):
        raise ValueError(f"column {values.name!r} holds {values.dtype}, not text")
    if values.dtype.is_float():
        _check_finite(values.name, values.to_numpy())
    texts: list[str] = values.cast(polars.String).to_list()
    return texts


def _check_finite(name: str, numbers: NDArray[np.floating]) -> None:
    if not np.isfinite(numbers).all():
        raise ValueError(f"column {name!r} holds nan or inf; leave the cell empty")
