"""``horizontree compare``: methods side by side on a user's own data, cross-validated."""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from horizontree.bench.methods import limit_of
from horizontree.cli.console import CommandError, note, say, say_json, table
from horizontree.cli.devices import check_jax, keep_programs
from horizontree.cli.training import (
    Samples,
    check_options,
    described,
    fit_rows,
    is_quiet,
    make_estimator,
    read_samples,
    refuse_idle_options,
    seed_of,
)
from horizontree.model_file import METHODS

USUAL_LIMIT = 60.0
"""Seconds of a fit that might search without end, unless --time-limit says otherwise."""


@dataclass(frozen=True)
class Standing:
    """How a method did: a figure for each fold."""

    test: list[float]
    train: list[float]
    leaves: list[int]
    seconds: list[float]
    status: list[str]

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
    if arguments.depth is None:
        arguments.depth = min(METHODS[name]().max_depth for name in methods)
    _check_constraints(arguments, methods)
    refuse_idle_options(arguments, methods)
    estimators = {name: make_estimator(arguments, name) for name in methods}
    for name, estimator in estimators.items():
        _limit(estimator, name)
        try:
            check_options(estimator)
        except CommandError as error:
            raise CommandError(f"{name}: {error}") from None
    keep_programs()
    if arguments.backend == "jax":
        check_jax()
    for estimator in estimators.values():
        _warm_up(estimator)
    samples = read_samples(arguments)
    folds = _folds(samples, arguments.folds, seed_of(arguments))
    standings = {}
    for name, estimator in estimators.items():
        if not is_quiet(arguments):
            note(f"{name}: {arguments.folds} folds{_limit_text(estimator)} ...")
        standings[name] = _standing(estimator, samples, folds)
    most_frequent = max(samples.labels.counts().values()) / len(samples.matrix)
    advice = _advice(standings, most_frequent)
    if arguments.json:
        say_json(_summary(arguments, samples, standings, advice))
    else:
        head = f"{described(arguments, samples)}, trees of depth {arguments.depth}"
        shown = [head, "", _table(standings), "", *_stopped(standings), advice]
        say("\n".join(shown))


def _check_constraints(arguments: argparse.Namespace, methods: list[str]) -> None:
    """Refuse a constraint that some method cannot keep: its trees would not compare."""
    for option in ("min_samples_leaf", "ccp_alpha"):
        lacking = [name for name in methods if option not in METHODS[name]().get_params(deep=False)]
        if getattr(arguments, option) is not None and lacking:
            raise CommandError(
                f"--{option.replace('_', '-')} does not apply to {', '.join(lacking)}; leave out "
                "the option or the method"
            )


def _limit(estimator: Any, name: str) -> None:
    """Give a method that might search without end a limit, unless it has one."""
    limit = estimator.get_params(deep=False).get("time_limit")
    if limit is None and not math.isinf(limit_of(name, USUAL_LIMIT)):
        estimator.set_params(time_limit=USUAL_LIMIT)


def _limit_text(estimator: Any) -> str:
    limit = estimator.get_params(deep=False).get("time_limit")
    return "" if limit is None else f", at most {limit:g} s each"


def _stopped(standings: dict[str, Standing]) -> list[str]:
    """Say which methods a limit stopped."""
    lines = []
    for name, standing in standings.items():
        n_stopped = standing.status.count("time_limit")
        if n_stopped > 0:
            lines.append(f"{name}: the time limit ended {n_stopped} of {len(standing.status)} fits")
    return [*lines, ""] if lines else []


def _warm_up(estimator: Any) -> None:
    """Load or compile what a method needs, so that its seconds do not count that.

    A package that is missing is noticed here, before any work.
    """
    X = np.random.default_rng(0).random((40, 2))
    fit_rows(clone(estimator), X, np.arange(40) % 2)


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
    standing = Standing([], [], [], [], [])
    for train, test in folds:
        started = time.perf_counter()
        fit_rows(estimator, samples.matrix[train], labels[train])
        if estimator.status_ == "interrupted":  # half a search does not compare
            raise KeyboardInterrupt
        standing.seconds.append(time.perf_counter() - started)
        standing.train.append(1 - estimator.n_errors_ / len(train))
        standing.test.append(float(estimator.score(samples.matrix[test], labels[test])))
        standing.leaves.append(estimator.get_n_leaves())
        standing.status.append(estimator.status_)
    return standing


def _advice(standings: dict[str, Standing], most_frequent: float) -> str:
    """Say in one sentence which method to take: of those that are as good, the smallest tree.

    None, where the share of the most frequent class is as high.
    """
    best = max(standings, key=lambda name: standings[name].mean)
    if standings[best].mean <= most_frequent:
        return (
            "Take none of them as it is: always saying the most frequent class is right as often ("
            f"{100 * most_frequent:.2f} %), so tune a price of a split or look for better features."
        )
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
        "depth": arguments.depth,
        "methods": {
            name: {
                "test_accuracy": standing.mean,
                "standard_error": standing.error,
                "train_accuracy": float(np.mean(standing.train)),
                "leaves": float(np.mean(standing.leaves)),
                "seconds": float(np.mean(standing.seconds)),
                "stopped": standing.status.count("time_limit"),
            }
            for name, standing in standings.items()
        },
        "advice": advice,
    }
