"""The structure of a CSV file: header, records, lines.

polars reads the values; this module reads what polars does not tell: repeated names,
records with too many fields, blank lines, and the line that a row stands on.
"""

from __future__ import annotations

import csv
import gzip
import itertools
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

from horizontree.cli.console import CommandError, plural

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "?")
"""What stands for a missing value in a CSV file."""

_SAMPLE_CELLS = 100_000
_SAMPLE_ROWS = 1_000


@dataclass(frozen=True)
class CsvHead:
    """The beginning of a CSV file.

    Parameters
    ----------
    names : list of str
        The column names.
    n_skip : int
        Records before the first data row: the header and blank lines.
    is_numeric : list of bool
        Whether the first rows of each column hold nothing but numbers and missing values.
    """

    names: list[str]
    n_skip: int
    is_numeric: list[bool]


@contextmanager
def _open_text(path: str, errors: str) -> Iterator[TextIO]:
    opener = gzip.open if path.lower().endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", errors=errors, newline="") as file:
            yield file
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not UTF-8 text; save it as CSV in UTF-8") from None
    except csv.Error as error:
        raise CommandError(f"cannot read {path} as CSV: {error}") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CommandError(f"{path} is no valid gzip file: {error}") from None


def _is_blank(record: list[str], n_columns: int = 2) -> bool:
    """Whether a record is a blank line (in a file of one column, ``""`` is a value)."""
    return not record or (len(record) == 1 < n_columns and not record[0].strip())


def read_head(path: str) -> CsvHead:
    """Read the header and look at the first rows."""
    with _open_text(path, "strict") as file:
        records = enumerate(csv.reader(file))
        header = next((record for _, record in records if not _is_blank(record)), None)
        if header is None:
            raise CommandError(f"{path} is empty; expected a header line and rows of data")
        names = [name.strip() for name in header]
        _check_names(path, names)
        filled = (pair for pair in records if not _is_blank(pair[1], len(names)))
        first = next(filled, None)
        if first is None:
            raise CommandError(f"{path} has a header but no rows")
        n_rows = max(1, min(_SAMPLE_ROWS, _SAMPLE_CELLS // len(names)))
        sample = [first[1], *(record for _, record in itertools.islice(filled, n_rows - 1))]
    columns = itertools.zip_longest(*sample, fillvalue="")
    is_numeric = [all(map(_is_number, column)) for column in columns]
    missing = [True] * (len(names) - len(is_numeric))
    return CsvHead(names, first[0], (is_numeric + missing)[: len(names)])


def _check_names(path: str, names: list[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise CommandError(
                f"{path} has two columns named {name!r}; column names must differ: rename one"
            )
        seen.add(name)
    if len(names) == 1:
        for separator in (";", "\t", "|"):
            if separator in names[0]:
                raise CommandError(
                    f"{path} seems to be separated by {separator!r}; expected commas: save it "
                    "with commas between the fields"
                )


def _is_number(field: str) -> bool:
    if field in MISSING:
        return True
    try:
        float(field)
    except ValueError:
        return False
    return True


def blank_rows(path: str, head: CsvHead) -> list[int]:
    """Check that every record has as many fields as the header, and find the blank lines.

    Returns
    -------
    list of int
        Which records, counted from the first data row, are blank lines.
    """
    found = []
    with _open_text(path, "replace") as file:
        reader = csv.reader(file)
        for index, record in enumerate(itertools.islice(reader, head.n_skip, None)):
            if _is_blank(record, len(head.names)):
                found.append(index)
            elif len(record) != len(head.names):
                raise CommandError(
                    f"{path}: line {reader.line_num} has {plural(len(record), 'field')}, and the "
                    f"header has {len(head.names)}; every row needs one field a column "
                    "(quote a field that holds a comma)"
                )
    return found


def line_of_row(path: str, head: CsvHead, row: int) -> int:
    """Return the line of the file that data row ``row`` (from 0, without blanks) ends on."""
    with _open_text(path, "replace") as file:
        reader = csv.reader(file)
        records = itertools.islice(reader, head.n_skip, None)
        filled = (record for record in records if not _is_blank(record, len(head.names)))
        next(itertools.islice(filled, row, None), None)
        return reader.line_num
