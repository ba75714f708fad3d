"""Checks of constructor parameters, with errors that say what to do."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data


def check_integer(name: str, value: Any, *, at_least: int, at_most: int | None = None) -> int:
    """Return an integer parameter, or say what it must be."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if is_integer and value >= at_least and (at_most is None or value <= at_most):
        return int(value)
    wanted = f"an integer of at least {at_least}"
    if at_most is not None:
        wanted = f"an integer from {at_least} to {at_most}"
    raise ValueError(f"{name} must be {wanted}, got {value!r}.")


def check_real(
    name: str, value: Any, *, above: float | None = None, at_most: float = np.inf
) -> float:
    """Return a finite real parameter of at least 0 (or above a bound), or say what it must be."""
    is_real = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    try:
        number = float(value) if is_real else math.nan
    except OverflowError:  # an integer, or a fraction, beyond all floats
        number = math.inf
    is_allowed = number > above if above is not None else number >= 0
    if math.isfinite(number) and is_allowed and number <= at_most:
        return number
    wanted = f"above {above:g}" if above is not None else "of at least 0"
    if np.isfinite(at_most):
        wanted += f" and at most {at_most:g}"
    raise ValueError(f"{name} must be a finite number {wanted}, got {value!r}.")


def check_n_jobs(value: Any) -> None:
    """Refuse what is no number of threads."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not (value is None or (is_integer and value != 0)):
        raise ValueError(
            "n_jobs must be a number of threads, -1 for all processors (-2 for all but one) or "
            f"None for 1, got {value!r}."
        )


def check_verbose(value: Any) -> None:
    """Refuse what does not say whether progress is wanted."""
    if not (isinstance(value, Integral | np.bool_) and int(value) >= 0):
        raise ValueError(f"verbose must be 0 (silent) or 1 (progress), got {value!r}.")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> str:
    """Return one of several words, or list them."""
    choices = list(choices)
    if isinstance(value, str) and value in choices:
        return value
    raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")


def check_warm_starts(value: Any, choices: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the warm starts in a fixed order."""
    if isinstance(value, str) or not isinstance(value, Collection):
        raise ValueError(
            f"warm_starts must be a tuple of some of {choices}, got {value!r}; use () for none."
        )
    names = [check_choice("each of warm_starts", name, choices) for name in value]
    return tuple(name for name in choices if name in names)


def check_random_state(random_state: Any) -> None:
    """Refuse what is no ``random_state``; nothing is drawn."""
    if isinstance(random_state, Integral):
        check_integer("random_state", random_state, at_least=0)
    elif not (random_state is None or isinstance(random_state, np.random.RandomState)):
        raise ValueError(
            "random_state must be an integer of at least 0, a RandomState instance or None, "
            f"got {random_state!r}."
        )


def seed_of(random_state: Any) -> int:
    """Turn a ``random_state`` into one seed.

    None gives fresh entropy and leaves NumPy's global generator alone.
    """
    check_random_state(random_state)
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> np.uint64(1))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    return int(random_state)


EXACT_INTEGERS = 1 << 53
"""Integers up to here are all different in float64."""


def refuse_huge_integers(X: Any) -> None:
    """Refuse integers that float64 would round, in an array, a column or a list of integers."""
    if hasattr(X, "columns"):
        named = zip(X.columns, getattr(X, "dtypes", ()), strict=False)
        integers = {name for name, dtype in named if "int" in str(dtype).lower()}
        columns = [np.asarray(X[name]) for name in integers]
    else:
        try:
            columns = [np.asarray(X)]
        except ValueError:  # rows of different lengths: others say so
            return
    for values in columns:
        numbers: list[Any] = []
        if values.dtype.kind in "iu" and values.size > 0:
            numbers = [values.min(), values.max()]
        elif values.dtype == object:  # integers of any length, and perhaps others
            numbers = [value for value in values.flat if isinstance(value, Integral)]
        if any(abs(int(number)) > EXACT_INTEGERS for number in numbers):
            raise ValueError(
                f"X holds integers beyond {EXACT_INTEGERS:,}, which float64 cannot tell apart; "
                "subtract an offset or rank the column."
            )


_ADVICE_BY_DTYPE = {
    ("cat", "enum", "str", "utf8"): (
        "categories or text",
        "drop it, or one-hot encode it (sklearn.preprocessing.OneHotEncoder)",
    ),
    ("date", "time", "duration", "period"): (
        "dates or times",
        "drop it, or turn it into numbers, such as days since a date",
    ),
}


def refuse_categories(X: Any) -> None:
    """Refuse a frame with columns of categories, text or dates, by name, and arrays of dates."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        raise ValueError(
            f"X holds dates or times ({X.dtype}), which are not supported yet: turn them into "
            "numbers, such as days since a date."
        )
    if not hasattr(X, "columns"):
        return
    for name, dtype in zip(X.columns, getattr(X, "dtypes", ()), strict=False):
        for beginnings, (what, advice) in _ADVICE_BY_DTYPE.items():
            if str(dtype).lower().startswith(beginnings):
                raise ValueError(
                    f"column {name!r} holds {what} ({dtype}), which are not supported yet: "
                    f"{advice}."
                )


def checked_data(estimator: Any, X: Any, *y: Any, **options: Any) -> Any:
    """Check data as scikit-learn does; missing values are refused with their columns."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # it adds values up
            return validate_data(estimator, X, *y, **options)
    except ValueError as error:
        if not str(error).startswith("Input X contains NaN"):
            raise
        message = _where_missing(X)
        if message is None:
            raise
    raise ValueError(message)


def _where_missing(X: Any) -> str | None:
    """Say which columns have missing values, if that can be told."""
    is_frame = hasattr(X, "columns")
    columns = [np.asarray(X[name]) for name in X.columns] if is_frame else np.asarray(X).T
    try:
        is_missing = [np.isnan(np.asarray(column, dtype=np.float64)).any() for column in columns]
    except (TypeError, ValueError):  # pandas has missing values that are no numbers
        is_missing = X.isna().any(axis=0).tolist() if hasattr(X, "isna") else []
    numbers = np.flatnonzero(is_missing)
    if len(numbers) == 0:
        return None
    name = list(X.columns)[numbers[0]] if is_frame else int(numbers[0])
    more = f" and {len(numbers) - 1} more" if len(numbers) > 1 else ""
    return (
        f"X has missing values (NaN) in column {name!r}{more}, which are not supported yet: "
        "drop these rows or columns, or fill them in (sklearn.impute.SimpleImputer)."
    )


def refuse_missing_labels(y: Any) -> None:
    """Refuse classes that are None."""
    labels = np.asarray(y)
    is_list = labels.dtype == object and labels.ndim > 0  # no labels at all are refused elsewhere
    if is_list and any(label is None for label in labels.flat):
        raise ValueError("y has missing values (None). Drop these rows, or name their class.")
