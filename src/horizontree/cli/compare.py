"""``horizontree compare``: methods side by side on a user's own data, cross-validated."""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from horizontree.cli.console import CommandError, note, say, say_json, table
from horizontree.cli.devices import keep_programs
from horizontree.cli.training import (
    Samples,
    check_options,
    described,
    is_quiet,
    make_estimator,
    read_samples,
    seed_of,
)
from horizontree.estimators.peers import MissingPackageError


@dataclass(frozen=True)
class Standing:
    """How a method did: a figure for each fold."""

    test: list[float]
    train: list[float]
    leaves: list[int]
    seconds: list[float]

    @property
    def mean(self) -> float:
        """Mean accuracy on rows that were not trained on."""
        return float(np.mean(self.test))

    @property
    def error(self) -> float:
        """Its standard error."""
        return float(np.std(self.test, ddof=1) / np.sqrt(len(self.test)))


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    methods = list(dict.fromkeys(arguments.methods))
    estimators = {name: make_estimator(arguments, name).set_params(verbose=0) for name in methods}
    for estimator in estimators.values():
        check_options(estimator)
    keep_programs()
    samples = read_samples(arguments)
    folds = _folds(samples, arguments.folds, seed_of(arguments))
    standings = {}
    for name, estimator in estimators.items():
        if not is_quiet(arguments):
            note(f"{name}: {arguments.folds} folds ...")
        standings[name] = _standing(estimator, samples, folds)
    advice = _advice(standings)
    if arguments.json:
        say_json(_summary(arguments, samples, standings, advice))
    else:
        shown = [described(arguments, samples), "", _table(standings), "", advice]
        say("\n".join(shown))


def _folds(samples: Samples, n_folds: int, seed: int) -> list[tuple[Any, Any]]:
    codes = samples.labels.codes
    counts = np.bincount(codes)
    if n_folds > len(codes):
        raise CommandError(f"--folds {n_folds} is more than there are rows ({len(codes)})")
    is_frequent = counts[counts > 0].min() >= n_folds
    kind = StratifiedKFold if is_frequent else KFold
    folds = list(kind(n_folds, shuffle=True, random_state=seed).split(samples.matrix, codes))
    if any(len(np.unique(codes[train])) < 2 for train, _ in folds):
        raise CommandError("some folds have 1 class to train on; choose fewer --folds")
    return folds


def _standing(estimator: Any, samples: Samples, folds: list[tuple[Any, Any]]) -> Standing:
    labels = samples.labels.to_array()
    standing = Standing([], [], [], [])
    for train, test in folds:
        started = time.perf_counter()
        try:
            estimator.fit(samples.matrix[train], labels[train])
        except (ValueError, MissingPackageError) as error:
            raise CommandError(str(error)) from error
        standing.seconds.append(time.perf_counter() - started)
        standing.train.append(1 - estimator.n_errors_ / len(train))
        standing.test.append(float(estimator.score(samples.matrix[test], labels[test])))
        standing.leaves.append(estimator.get_n_leaves())
    return standing


def _advice(standings: dict[str, Standing]) -> str:
    """Say in one sentence which method to take: of those that are as good, the smallest tree."""
    best = max(standings, key=lambda name: standings[name].mean)
    least = standings[best].mean - standings[best].error
    good = [name for name, standing in standings.items() if standing.mean >= least]
    chosen = min(good, key=lambda name: (np.mean(standings[name].leaves), -standings[name].mean))
    if chosen == best and len(good) == 1:
        return f"Take {chosen}: it is the most accurate on rows that it has not seen."
    if chosen == best:
        return f"Take {chosen}: it is the most accurate on new rows, and no larger than its equals."
    return (
        f"Take {chosen}: within a standard error of {best} on new rows, it needs the fewest leaves."
    )


def _table(standings: dict[str, Standing]) -> str:
    rows = [["", "test accuracy", "training accuracy", "leaves", "a fit takes"]]
    for name, standing in standings.items():
        rows.append(
            [
                name,
                f"{100 * standing.mean:.2f} % ± {100 * standing.error:.2f}",
                f"{100 * np.mean(standing.train):.2f} %",
                f"{np.mean(standing.leaves):.1f}",
                f"{np.mean(standing.seconds):.2f} s",
            ]
        )
    return table(rows)


def _summary(
    arguments: argparse.Namespace,
    samples: Samples,
    standings: dict[str, Standing],
    advice: str,
) -> dict[str, Any]:
    return {
        "data": arguments.data,
        "target": arguments.target,
        "rows": len(samples.matrix),
        "folds": arguments.folds,
        "methods": {
            name: {
                "test_accuracy": standing.mean,
                "standard_error": standing.error,
                "train_accuracy": float(np.mean(standing.train)),
                "leaves": float(np.mean(standing.leaves)),
                "seconds": float(np.mean(standing.seconds)),
            }
            for name, standing in standings.items()
        },
        "advice": advice,
    }
