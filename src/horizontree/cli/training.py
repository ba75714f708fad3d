"""What the commands that train have in common: options, rows, fits."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree.backends import DeviceError
from horizontree.cli.arguments import DEFAULT_SEED
from horizontree.cli.console import CommandError, command_line, plural, suggestion
from horizontree.cli.data_file import DataFile
from horizontree.cli.labels import Labels, as_text, read_labels
from horizontree.estimators.peers import FailedPackageError, MissingPackageError
from horizontree.model_file import METHODS, save_model
from horizontree.terminal import visible

_PARAMETERS = {
    "depth": "max_depth",
    "min_samples_leaf": "min_samples_leaf",
    "ccp_alpha": "ccp_alpha",
    "effort": "effort",
    "mode": "mode",
    "horizon": "horizon",
    "time_limit": "time_limit",
    "seed": "random_state",
    "jobs": "n_jobs",
    "backend": "backend",
}
"""The estimator's parameter behind each option."""


@dataclass(frozen=True)
class Samples:
    """The data of a fit: the training rows first, then the rows held out.

    Parameters
    ----------
    matrix : float64 array of shape (n_rows, n_features)
        The features.
    labels : Labels
        The classes, in the same order.
    names : list of str
        The features' names.
    n_train : int
        Number of training rows.
    """

    matrix: NDArray[np.float64]
    labels: Labels
    names: list[str]
    n_train: int

    @property
    def n_test(self) -> int:
        """Number of rows held out."""
        return len(self.matrix) - self.n_train


def check_options(estimator: Any) -> None:
    """Refuse values that the estimator would refuse, before a large file is read."""
    try:
        estimator._check_parameters()
    except ValueError as error:
        message = str(error).rstrip(".")
        for option, parameter in _PARAMETERS.items():
            message = message.replace(parameter, f"--{option.replace('_', '-')}")
        raise CommandError(message) from None


def is_quiet(arguments: argparse.Namespace) -> bool:
    """Tell whether no progress is wanted."""
    return bool(arguments.quiet or arguments.json)


def refuse_idle_options(arguments: argparse.Namespace, methods: Sequence[str]) -> None:
    """Refuse an option that none of the methods has; the seed divides the rows as well."""
    accepted = set().union(*(METHODS[name]().get_params(deep=False) for name in methods))
    for option, parameter in _PARAMETERS.items():
        if getattr(arguments, option) is None or parameter in accepted or option == "seed":
            continue
        chosen = "--methods" if hasattr(arguments, "methods") else "--method"
        raise CommandError(
            f"--{option.replace('_', '-')} does not apply to {chosen} {' '.join(methods)}; "
            "leave it out"
        )


def make_estimator(arguments: argparse.Namespace, method: str) -> Any:
    """Make the estimator of a method, silent, from the options that it has parameters for."""
    estimator = METHODS[method]()
    accepted = estimator.get_params(deep=False)
    chosen: dict[str, Any] = {"random_state": DEFAULT_SEED, "verbose": 0}
    for option, parameter in _PARAMETERS.items():
        value = getattr(arguments, option)
        if value is not None:
            chosen[parameter] = value
    return estimator.set_params(**{key: chosen[key] for key in chosen if key in accepted})


def read_samples(arguments: argparse.Namespace) -> Samples:
    """Read the data file: features, classes, and which rows are held out."""
    data = DataFile.open(arguments.data)
    names = _features(arguments, data)
    rows = data.read(
        names,
        arguments.target,
        is_quiet=is_quiet(arguments),
        advice="drop the column with --drop {name} or one-hot encode it",
    )
    labels = read_labels(rows, arguments.target)
    _check_classes(arguments, labels)
    order, n_train = _split(rows.n_rows, arguments.test_fraction, seed_of(arguments))
    if n_train < rows.n_rows:
        labels = Labels(labels.values, labels.texts, labels.codes[order])
        if len(np.unique(labels.codes[:n_train])) < 2:
            raise CommandError(
                f"the {plural(n_train, 'row')} left for training have 1 class; a classifier needs "
                "at least 2: choose a smaller --test-fraction or another --seed"
            )
        return Samples(rows.feature_matrix(names, order), labels, names, n_train)
    return Samples(rows.feature_matrix(names), labels, names, n_train)


def _features(arguments: argparse.Namespace, data: DataFile) -> list[str]:
    for what, name in [("--target", arguments.target), *(("--drop", c) for c in arguments.drop)]:
        if name not in data.names:
            raise CommandError(
                f"{what}: {data.path} has no column {name!r}; {suggestion(name, data.names)}"
            )
    if arguments.target in arguments.drop:
        raise CommandError(f"the target {arguments.target!r} cannot be dropped as well")
    names = [name for name in data.names if name not in {arguments.target, *arguments.drop}]
    if not names:
        raise CommandError(
            f"{data.path} has no feature columns left beside the target {arguments.target!r}"
        )
    if "" in names:
        position = data.names.index("") + 1
        raise CommandError(
            f"{data.path}: column {position} has no name (a row index?); name it, or leave it out "
            "with --drop ''"
        )
    return names


def _check_classes(arguments: argparse.Namespace, labels: Labels) -> None:
    n_classes, n_rows = len(set(labels.values.tolist())), len(labels.codes)
    where = f"{arguments.data}: the target {arguments.target!r}"
    if n_classes < 2:
        raise CommandError(
            f"{where} has 1 class ({labels.texts[0]!r}); a classifier needs at least 2"
        )
    if labels.values.dtype.kind == "f" and (labels.values % 1 != 0).any():
        fraction = labels.values[labels.values % 1 != 0][0]
        raise CommandError(
            f"{where} holds fractions such as {fraction:g}, so it is a measurement, not a class; "
            "choose a column of classes, or write its classes as text"
        )
    if n_classes > max(20, n_rows // 2):
        raise CommandError(
            f"{where} has {n_classes:,} different values in {n_rows:,} rows, so it is a "
            "measurement or a name, not a class; choose a column of classes"
        )


def seed_of(arguments: argparse.Namespace) -> int:
    """Return the seed that was given, or the usual one."""
    return DEFAULT_SEED if arguments.seed is None else int(arguments.seed)


def _split(n_rows: int, test_fraction: float, seed: int) -> tuple[NDArray[np.intp], int]:
    """Order the rows: those to train on, then those held out, each as in the file."""
    n_test = round(n_rows * test_fraction)
    if test_fraction > 0 and not 0 < n_test < n_rows:
        raise CommandError(
            f"--test-fraction {test_fraction:g} of {plural(n_rows, 'row')} leaves nothing to "
            f"{'test' if n_test == 0 else 'train'} on; choose another share"
        )
    order = np.random.default_rng(seed).permutation(n_rows)
    n_train = n_rows - n_test
    return np.concatenate([np.sort(order[:n_train]), np.sort(order[n_train:])]), n_train


def fit_on(estimator: Any, samples: Samples) -> Any:
    """Fit an estimator on the training rows."""
    labels = samples.labels.to_array()[: samples.n_train]
    return fit_rows(estimator, samples.matrix[: samples.n_train], labels)


def fit_rows(estimator: Any, X: NDArray[np.float64], y: NDArray[Any]) -> Any:
    """Fit an estimator; what it refuses, and what to do, is one line to the user."""
    try:
        estimator.fit(X, y)
    except (ValueError, DeviceError, MissingPackageError, FailedPackageError) as error:
        raise CommandError(str(error)) from error
    return estimator


def save(estimator: Any, names: list[str], arguments: argparse.Namespace) -> None:
    """Save a fitted estimator with the names of its features."""
    estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator.set_params(verbose=0)  # progress was for this run, not for the model
    try:
        save_model(estimator, arguments.output, target=arguments.target)
    except OSError as error:
        raise CommandError(f"cannot write {arguments.output}: {error.strerror}") from None


def next_steps(arguments: argparse.Namespace) -> list[str]:
    """Say what can be done with the model."""
    if arguments.output is None:
        return ["The model is not saved; add --output MODEL.json to keep it."]
    output = arguments.output
    return [
        f"model saved to {visible(output)}",
        f"next: {visible(command_line('show', output))}",
        f"      {visible(command_line('predict', output, 'DATA', '--output', 'predictions.csv'))}",
        f"      {visible(command_line('evaluate', output, 'DATA'))}",
    ]


def described(arguments: argparse.Namespace, samples: Samples) -> str:
    """Describe the data in one line."""
    counts = samples.labels.counts()
    shown = [f"{visible(as_text(label))} {count:,}" for label, count in list(counts.items())[:8]]
    if len(counts) > len(shown):
        shown.append(f"{len(counts) - len(shown)} more")
    return (
        f"{visible(arguments.data)}: {plural(len(samples.matrix), 'row')}, "
        f"{plural(len(samples.names), 'feature')}, {plural(len(counts), 'class')} "
        f"({', '.join(shown)})"
    )
