"""``horizontree predict``: the class of each row."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from horizontree.atomic_file import replacing
from horizontree.cli.console import CommandError, plural, say, say_json
from horizontree.cli.data_file import DataFile, import_polars
from horizontree.cli.labels import as_text, plain
from horizontree.cli.models import by_position, check_features, check_output, open_model
from horizontree.terminal import visible

if TYPE_CHECKING:
    import polars as pl

_ROWS_PER_PRINT = 100_000


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    if arguments.output is not None:
        _check_suffix(arguments.output)
        check_output(arguments.output, arguments.model, arguments.data)
    estimator = open_model(arguments.model).estimator
    data = DataFile.open(arguments.data)
    names = check_features(arguments.model, estimator, data)
    matrix = data.read(names, None, is_quiet=arguments.json).feature_matrix(names)
    probabilities = by_position(estimator).predict_proba(matrix) if arguments.proba else None
    predictions = by_position(estimator).predict(matrix)
    if arguments.output is not None:
        _write(_frame(estimator.classes_, predictions, probabilities), arguments.output)
    if arguments.json:
        say_json(_summary(arguments, estimator.classes_, predictions, probabilities))
    elif arguments.output is not None:
        say(f"{plural(len(predictions), 'prediction')} written to {visible(arguments.output)}")
    else:
        _print(_frame(estimator.classes_, predictions, probabilities))


def _check_suffix(path: str) -> None:
    if not path.lower().endswith((".csv", ".parquet")):
        raise CommandError(f"cannot write {path}: expected a name that ends in .csv or .parquet")


def _frame(
    classes: NDArray[Any], predictions: NDArray[Any], probabilities: NDArray[np.float64] | None
) -> pl.DataFrame:
    polars = import_polars()
    columns: dict[str, Any] = {"prediction": predictions}
    if predictions.dtype.kind == "O":
        columns["prediction"] = plain(predictions)
        if len({type(label) for label in plain(classes)}) > 1:  # a column has one type
            columns["prediction"] = [as_text(label) for label in columns["prediction"]]
    if probabilities is not None:
        for index, label in enumerate(plain(classes)):
            columns[f"probability_{as_text(label)}"] = probabilities[:, index]
    frame: pl.DataFrame = polars.DataFrame(columns)
    return frame


def _print(frame: pl.DataFrame) -> None:
    for index, rows in enumerate(frame.iter_slices(_ROWS_PER_PRINT)):
        # through Python's stdout, which tells a closed pipe from other errors
        sys.stdout.write(rows.write_csv(include_header=index == 0))


def _write(frame: pl.DataFrame, path: str) -> None:
    polars = import_polars()
    try:
        with replacing(path) as temporary:
            if path.lower().endswith(".parquet"):
                frame.write_parquet(temporary)
            else:
                frame.write_csv(temporary)
    except (OSError, polars.exceptions.PolarsError) as error:
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise CommandError(f"cannot write {path}: {reason}") from None


def _summary(
    arguments: argparse.Namespace,
    classes: NDArray[Any],
    predictions: NDArray[Any],
    probabilities: NDArray[np.float64] | None,
) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "model": arguments.model,
        "data": arguments.data,
        "rows": len(predictions),
        "classes": plain(classes),
        "predicted": [
            {"label": label, "rows": int((predictions == label).sum())} for label in plain(classes)
        ],
    }
    if arguments.output is not None:
        return {**summary, "output": arguments.output}
    summary["predictions"] = plain(predictions)
    if probabilities is not None:
        summary["probabilities"] = probabilities.tolist()
    return summary
