"""A folder of data sets under the paper's protocol, and the proven optima.

The data live outside the repository: see `shared_folder`. Importing this module reads nothing.
"""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from horizontree.bench import parquet_file

FOLDER_VARIABLE = "HORIZONTREE_SHARED"
_MANIFEST = "MANIFEST.csv"
_MANIFEST_COLUMNS = ("name", "n_samples", "n_features", "n_classes", "group")
_ENDINGS = (".csv", ".csv.gz", ".parquet")
CATEGORY_SUFFIX = "__cat"

_ROWS_PER_CHUNK = 1 << 14
_BYTES_PER_CHUNK = 1 << 20


class CorpusError(Exception):
    """The corpus is not there, or not what it should be; the message says what to do."""


@dataclass(frozen=True)
class DatasetInfo:
    """One line of the manifest: the data set as it is stored, before the protocol."""

    name: str
    n_samples: int
    n_features: int
    n_classes: int
    group: str


@dataclass(frozen=True)
class Dataset:
    """A data set ready to be learnt from.

    ``X`` is float64 of shape (n_samples, n_features), ``y`` holds 0..K-1, and
    ``class_names[k]`` is the label that became k.
    """

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.intp]
    feature_names: tuple[str, ...]
    class_names: tuple[str, ...]


@dataclass(frozen=True)
class Optimum:
    """The fewest training errors of any tree of that depth, and CART's where measured."""

    dataset: str
    depth: int
    optimal_errors: int
    cart_errors: int | None


def shared_folder(named: str | Path | None = None) -> Path:
    """Find the folder of the data.

    The first of these that is given counts, and must then be right: ``named`` (the option
    ``--data``), the environment variable ``HORIZONTREE_SHARED``. It holds ``datasets/`` (and
    ``oracles/``), or the files of the data sets themselves.
    """
    if named is not None:
        return _checked_folder(Path(named), "--data")
    if os.environ.get(FOLDER_VARIABLE):
        return _checked_folder(Path(os.environ[FOLDER_VARIABLE]), FOLDER_VARIABLE)
    raise CorpusError(
        "No data was named. Name a folder of CSV or Parquet files, the class in the last column of "
        f"each, with --data FOLDER or the environment variable {FOLDER_VARIABLE}."
    )


def _checked_folder(folder: Path, source: str) -> Path:
    if not _files_of(folder):
        raise CorpusError(
            f"{source} names {str(folder)!r}, but no {_any_of('NAME')} is there, nor in a folder "
            "datasets/ in it."
        )
    return folder


def _any_of(name: str) -> str:
    *others, last = (name + ending for ending in _ENDINGS)
    return f"{', '.join(others)} or {last}"


def _datasets_in(shared: Path) -> Path:
    return shared / "datasets" if (shared / "datasets").is_dir() else shared


def _files_of(shared: Path) -> dict[str, Path]:
    """Return the file of each data set."""
    folder = _datasets_in(shared)
    found: dict[str, Path] = {}
    for ending in _ENDINGS:
        for path in sorted(folder.glob(f"*{ending}")):
            name = path.name.removesuffix(ending)
            if path.name == _MANIFEST:
                continue
            if name in found:
                raise CorpusError(
                    f"{found[name].name} and {path.name} have the same name; keep one of them."
                )
            found[name] = path
    return found


def list_datasets(shared: Path, group: str | None = "paper") -> list[DatasetInfo]:
    """Return the data sets of a group of the manifest (all groups when None), in its order.

    Without a manifest all of the folder's files are one group.
    """
    manifest = _datasets_in(shared) / _MANIFEST
    if not manifest.is_file():
        return [_info_of(name, path) for name, path in sorted(_files_of(shared).items())]
    with open(manifest, newline="", encoding="utf-8") as file:
        table = csv.DictReader(file)
        if missing := set(_MANIFEST_COLUMNS) - set(table.fieldnames or ()):
            raise CorpusError(f"{_MANIFEST} has no column {', '.join(sorted(missing))}.")
        rows = [row for row in table if group in (None, row["group"])]
    if not rows:
        raise CorpusError(f"The manifest lists no data set of the group {group!r}.")
    return [
        DatasetInfo(
            name=row["name"],
            n_samples=int(row["n_samples"]),
            n_features=int(row["n_features"]),
            n_classes=int(row["n_classes"]),
            group=row["group"],
        )
        for row in rows
    ]


def _info_of(name: str, path: Path) -> DatasetInfo:
    """Look at a file: its rows and columns, and the classes in its last column."""
    with _explained(path):
        n_rows, n_columns, n_classes = (parquet_file.size if _is_parquet(path) else _csv_size)(path)
    return DatasetInfo(name, n_rows, n_columns - 1, n_classes, "files")


def _is_parquet(path: Path) -> bool:
    return path.suffix == ".parquet"


def _csv_size(path: Path) -> tuple[int, int, int]:
    with _opened(path) as file:
        reader = csv.reader(file)
        n_columns = len(next(reader, []))
        labels = [row[-1] for row in reader if row]
    return len(labels), n_columns, len(set(labels))


def _opened(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", newline="", encoding="utf-8")
    return open(path, newline="", encoding="utf-8")


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say which file cannot be read, and what a file should be."""
    try:
        yield
    except ImportError as error:
        raise CorpusError(
            f"{path.name}: reading Parquet needs polars, which is not installed: "
            'pip install "horizontree[cli]".'
        ) from error
    except (ValueError, EOFError, csv.Error, gzip.BadGzipFile, zlib.error) as error:
        kind = "Parquet"
        if not _is_parquet(path):
            kind = "comma-separated UTF-8 with a header, as many cells in every row"
        raise CorpusError(
            f"{path.name}: {error}. Expected {kind}, numbers in every column (one of categories "
            f"needs a name that ends in {CATEGORY_SUFFIX}), and the class in the last one."
        ) from error


def checksum(shared: Path, name: str) -> int | None:
    """Return a checksum of the bytes of a data set, uncompressed; None if they cannot be read."""
    path = _files_of(shared).get(name)
    if path is None:
        return None
    total = 0
    try:
        with gzip.open(path) if path.suffix == ".gz" else open(path, "rb") as file:
            while chunk := file.read(_BYTES_PER_CHUNK):
                total = zlib.crc32(chunk, total)
    except (OSError, EOFError, zlib.error):  # its fits will fail, and say why
        return None
    return total


def load_dataset(shared: Path, name: str) -> Dataset:
    """Load a data set as the paper does.

    Rows with a missing value are dropped, each ``__cat`` column becomes one 0/1 column for
    each of its remaining values (in the order of the values as text), the rest are numbers,
    and the last column is the class. Classes are numbered in the order of their labels as text.
    """
    path = _files_of(shared).get(name)
    if path is None:
        raise CorpusError(f"There is no data set {name!r}: no {_any_of(name)} is there.")
    with _explained(path):
        header, numeric, texts, labels = _read(path)
    class_names, y = np.unique(np.array(labels), return_inverse=True)
    blocks: list[NDArray[Any]] = []
    feature_names: list[str] = []
    for column, title in enumerate(header[:-1]):
        if column in texts:
            values, code = np.unique(np.array(texts[column]), return_inverse=True)
            blocks.append(code[:, None] == np.arange(len(values)))
            stem = title.removesuffix(CATEGORY_SUFFIX)
            feature_names.extend(f"{stem}={value}" for value in values)
        else:
            blocks.append(numeric.pop(column)[:, None])
            feature_names.append(title)
    X = np.empty((len(y), len(feature_names)))
    np.concatenate(blocks, axis=1, out=X)
    return Dataset(name, X, y, tuple(feature_names), tuple(str(label) for label in class_names))


def _read(
    path: Path,
) -> tuple[list[str], dict[int, NDArray[np.float64]], dict[int, list[str]], list[str]]:
    """Read a file: header, and of the rows without a missing cell numbers, texts and labels."""
    if _is_parquet(path):
        header = parquet_file.column_names(path)
        _check_header(header)
        return header, *parquet_file.read_complete_rows(path, CATEGORY_SUFFIX)
    with _opened(path) as file:
        reader = csv.reader(file)
        header = next(reader, [])
        _check_header(header)
        return header, *_read_complete_rows(reader, header)


def _check_header(header: list[str]) -> None:
    if len(header) < 2:
        raise ValueError("no columns of features before the class")


def _read_complete_rows(
    reader: Iterator[list[str]], header: list[str]
) -> tuple[dict[int, NDArray[np.float64]], dict[int, list[str]], list[str]]:
    """Read the rows without an empty cell: numeric columns, text columns, labels."""
    numeric: dict[int, list[NDArray[np.float64]]] = {}
    texts: dict[int, list[str]] = {}
    for column, title in enumerate(header[:-1]):
        if title.endswith(CATEGORY_SUFFIX):
            texts[column] = []
        else:
            numeric[column] = []
    labels: list[str] = []
    while chunk := list(islice(reader, _ROWS_PER_CHUNK)):  # so that few cells are text at a time
        for row in chunk:
            if row and len(row) != len(header):
                raise ValueError(f"a row has {len(row)} cells, the header {len(header)}")
        columns = list(zip(*(row for row in chunk if row and "" not in row), strict=True))
        if not columns:
            continue
        for column, parts in numeric.items():
            parts.append(np.array(columns[column], dtype=np.float64))
        for column, cells in texts.items():
            cells.extend(columns[column])
        labels.extend(columns[-1])
    if not labels:
        raise ValueError("no row is free of missing values")
    for column, parts in numeric.items():
        if not all(np.isfinite(part).all() for part in parts):
            raise ValueError(f"column {header[column]!r} holds nan or inf; leave the cell empty")
    return {column: np.concatenate(parts) for column, parts in numeric.items()}, texts, labels


def split_rows(name: str, n_samples: int, split: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the training and the test rows of split number ``split``: 75 % and 25 %.

    A plain random permutation, seeded by the number of the split and the data set's name, so
    that it is the same on every machine and in every study.
    """
    generator = np.random.default_rng([split, zlib.crc32(name.encode())])
    order = generator.permutation(n_samples)
    n_train = 3 * n_samples // 4
    return order[:n_train], order[n_train:]


def load_oracle(shared: Path, name: str) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return ``X`` and ``y`` (0..K-1) of a data set that has proven optima."""
    path = shared / "oracles" / f"{name}.txt.gz"
    if not path.is_file():
        raise CorpusError(f"There is no oracle {name!r}: oracles/{name}.txt.gz is missing.")
    table = np.loadtxt(path, dtype=np.float64, ndmin=2)
    y = np.unique(table[:, 0], return_inverse=True)[1]
    return np.ascontiguousarray(table[:, 1:]), y


def load_optima(shared: Path) -> list[Optimum]:
    """Return the table of proven optima."""
    with open(shared / "oracles" / "OPTIMA.csv", newline="", encoding="utf-8") as file:
        return [
            Optimum(
                dataset=row["dataset"],
                depth=int(row["depth"]),
                optimal_errors=int(row["optimal_errors"]),
                cart_errors=int(row["cart_errors"]) if row["cart_errors"] else None,
            )
            for row in csv.DictReader(file)
        ]
