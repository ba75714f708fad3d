"""Read data files: CSV, compressed CSV and Parquet, through polars.

A CSV column is read as numbers if its first rows look like numbers, as text otherwise. Where
that guess fails further down, the column is read again as text and judged value by value, so
that the guess decides nothing but the speed.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from horizontree.cli import csv_file
from horizontree.cli.console import CommandError, ReadingProgress, plural
from horizontree.cli.csv_file import MISSING, CsvHead
from horizontree.estimators.parameters import EXACT_INTEGERS

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = (".csv", ".csv.gz", ".parquet")


def import_polars() -> ModuleType:
    """Import polars, or say how to install it."""
    try:
        import polars
    except ImportError:
        raise CommandError(
            "reading and writing data needs polars, which is not installed: "
            "pip install 'horizontree[cli]'"
        ) from None
    return polars


def check_input(path: str, what: str) -> None:
    """Check that ``path`` is a file that can be opened."""
    if not os.path.exists(path):
        raise CommandError(f"no such file: {path}")
    if os.path.isdir(path):
        raise CommandError(f"{path} is a folder; expected a {what}")
    if not os.access(path, os.R_OK):
        raise CommandError(f"{path} cannot be read: permission denied")


@dataclass(frozen=True)
class DataFile:
    """A data file whose column names are known, and whose rows are not read yet.

    Parameters
    ----------
    path : str
        The file.
    names : list of str
        Its columns.
    head : CsvHead or None
        The beginning of a CSV file; None for Parquet.
    """

    path: str
    names: list[str]
    head: CsvHead | None

    @classmethod
    def open(cls, path: str) -> DataFile:
        """Check the file and read its column names."""
        check_input(path, "data file (CSV, CSV.gz or Parquet)")
        if not path.lower().endswith(SUFFIXES):
            raise CommandError(
                f"{path}: unknown kind of file {''.join(Path(path).suffixes)!r}; expected "
                f"{', '.join(SUFFIXES)}"
            )
        polars = import_polars()
        if path.lower().endswith(".parquet"):
            try:
                with Path(path).open("rb") as file:  # a path would be a pattern of names
                    names = list(polars.read_parquet_schema(file))
            except (polars.exceptions.PolarsError, OSError) as error:
                raise _unreadable(path, "Parquet", error) from None
            return cls(path, names, None)
        head = csv_file.read_head(path)
        return cls(path, head.names, head)

    def read(
        self,
        numeric: list[str],
        target: str | None,
        *,
        is_quiet: bool,
        advice: str = "the model was trained on numbers in this column",
    ) -> Table:
        """Read the columns that a command needs.

        Parameters
        ----------
        numeric : list of str
            Columns of numbers, the features.
        target : str or None
            The column of labels.
        is_quiet : bool
            Whether to say nothing on stderr.
        advice : str
            What to tell the user about a column that does not hold numbers; ``{name}`` is
            the column.
        """
        with ReadingProgress(self.path, is_wanted=not is_quiet) as progress:
            if self.head is None:
                frame = self._read_parquet([*numeric, *([target] if target is not None else [])])
            else:
                frame = self._read_csv(self.head, numeric)
            progress.n_rows = frame.height
        if frame.height == 0:
            raise CommandError(f"{self.path} has columns but no rows")
        return Table(self, frame, advice)

    def _read_parquet(self, columns: list[str]) -> pl.DataFrame:
        polars = import_polars()
        try:
            if not columns:
                return polars.read_parquet(self.path, glob=False)  # type: ignore[no-any-return]
            return polars.read_parquet(  # type: ignore[no-any-return]
                self.path, columns=columns, glob=False
            )
        except (polars.exceptions.PolarsError, OSError) as error:
            raise _unreadable(self.path, "Parquet", error) from None

    def _read_csv(self, head: CsvHead, numeric: list[str]) -> pl.DataFrame:
        # All columns, wanted or not: only then does polars notice a row with too many fields.
        wanted = set(numeric)
        guess = {
            name
            for name, looks_numeric in zip(head.names, head.is_numeric, strict=True)
            if looks_numeric and name in wanted
        }
        frame = self._read_csv_as(head, guess)
        blank: list[int] = []
        if frame[:, -1].null_count():  # a short row or a blank line, or just a missing value
            blank = csv_file.blank_rows(self.path, head)
            frame = _without_rows(frame, blank)
        doubtful = {name for name in guess if frame[name].null_count()}
        if doubtful:
            again = _without_rows(self._read_csv_as(head, guess - doubtful), blank)
            frame = frame.with_columns(again.select(sorted(doubtful)).get_columns())
        return frame

    def _read_csv_as(self, head: CsvHead, numeric: set[str]) -> pl.DataFrame:
        polars = import_polars()
        schema = {name: polars.Float64 if name in numeric else polars.String for name in head.names}
        try:
            frame: pl.DataFrame = polars.read_csv(
                self.path,
                has_header=False,
                skip_rows=head.n_skip,
                schema=schema,
                null_values=list(MISSING),
                ignore_errors=True,  # what is no number becomes null, and is looked at again
                glob=False,
            )
        except (polars.exceptions.PolarsError, OSError) as error:
            csv_file.blank_rows(self.path, head)  # says which line, if a line is to blame
            raise _unreadable(self.path, "CSV", error) from None
        return frame


def _without_rows(frame: pl.DataFrame, rows: list[int]) -> pl.DataFrame:
    if not rows:
        return frame
    keep = np.ones(frame.height, dtype=bool)
    keep[[row for row in rows if row < frame.height]] = False
    return frame.filter(keep)


def _unreadable(path: str, kind: str, error: Exception) -> CommandError:
    reason = next(iter(str(error).splitlines()), type(error).__name__)
    return CommandError(f"cannot read {path} as {kind}: {reason}")


def _largest(integers: pl.Series) -> int:
    """Return the largest absolute value of a column of integers; 0 for none."""
    ends: list[Any] = [integers.min(), integers.max()]
    return max((abs(end) for end in ends if end is not None), default=0)


class Table:
    """The rows of a data file.

    Parameters
    ----------
    file : DataFile
        Where they come from.
    frame : polars.DataFrame
        The columns; `feature_matrix` takes them out one by one.
    advice : str
        What to tell the user about a column that does not hold numbers.
    """

    def __init__(self, file: DataFile, frame: pl.DataFrame, advice: str) -> None:
        self.file = file
        self.path = file.path
        self.n_rows = frame.height
        self._frame = frame
        self._advice = advice

    def take(self, name: str) -> pl.Series:
        """Take a column out of the table, so that its memory can be freed."""
        return self._frame.drop_in_place(name)

    def place(self, row: int, column: str) -> str:
        """Write where a value stands, for an error message."""
        head = self.file.head
        line = f" (line {csv_file.line_of_row(self.path, head, row)})" if head is not None else ""
        return f"{self.path}: row {row + 1:,}{line}, column {column!r}"

    def feature_matrix(
        self, names: list[str], row_order: NDArray[np.intp] | None = None
    ) -> NDArray[np.float64]:
        """Turn the feature columns into numbers, one column at a time.

        Parameters
        ----------
        names : list of str
            The features, in the order of the matrix's columns.
        row_order : integer array, optional
            The rows in the order of the matrix's rows; as in the file when absent.

        Returns
        -------
        float64 array of shape (n_rows, n_features)
            In column-major order.
        """
        matrix = np.empty((self.n_rows, len(names)), order="F")
        for column, name in enumerate(names):
            values = self._numbers(name)
            matrix[:, column] = values if row_order is None else values[row_order]
        return matrix

    def _numbers(self, name: str) -> NDArray[np.float64]:
        polars = import_polars()
        series = self.take(name)
        if series.dtype == polars.String:
            series = self._parse_numbers(series, name)
        elif not (series.dtype.is_numeric() or series.dtype in (polars.Boolean, polars.Null)):
            raise CommandError(
                f"{self.path}: column {name!r} holds {series.dtype}, not numbers; "
                f"{self._advised(name)}"
            )
        elif series.dtype.is_integer() and _largest(series) > EXACT_INTEGERS:
            raise CommandError(
                f"{self.path}: column {name!r} holds integers beyond {EXACT_INTEGERS:,}, which "
                f"float64 cannot tell apart; subtract an offset, or {self._advised(name)}"
            )
        series = series.cast(polars.Float64)
        is_missing = series.is_null() | series.is_nan().fill_null(False)
        self.refuse_missing(name, is_missing)
        values: NDArray[np.float64] = series.to_numpy()
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise CommandError(
                f"{self.place(row, name)}: the value is infinite ({values[row]}); expected a "
                "finite number: replace it, or drop the row"
            )
        return values

    def _parse_numbers(self, series: pl.Series, name: str) -> pl.Series:
        polars = import_polars()
        text = stripped(series)
        numbers = text.cast(polars.Float64, strict=False)
        is_text = numbers.is_null() & text.is_not_null()
        if not is_text.any():
            return numbers
        lower = text.str.to_lowercase()
        if lower.drop_nulls().is_in(["true", "false"]).all():
            return lower == "true"
        row = int(is_text.arg_true()[0])
        raise CommandError(
            f"{self.place(row, name)}: {_shortened(text[row])!r} is not a number; "
            f"{self._advised(name)}"
        )

    def _advised(self, name: str) -> str:
        return self._advice.replace("{name}", shlex.quote(name))

    def refuse_missing(self, name: str, is_missing: Any) -> None:
        """Raise an error that names the first missing value, if there is one."""
        rows = is_missing.arg_true()
        if len(rows):
            count = f" ({plural(len(rows), 'missing value')} in this column)"
            raise CommandError(
                f"{self.place(int(rows[0]), name)}: the value is missing; missing values are not "
                f"supported yet: drop or fill them{count}"
            )


def stripped(series: pl.Series) -> pl.Series:
    """Take the blanks around text away, and turn what stands for a missing value into null."""
    polars = import_polars()
    text = series.str.strip_chars()
    return polars.select(  # type: ignore[no-any-return]
        polars.when(~text.is_in(list(MISSING))).then(text)
    ).to_series()


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
