"""Averages, paired comparisons, ranks and slopes of a table of fits.

Averages are the paper's: plain, over splits and then over data sets. Two methods are compared
on the very same fits (data set, split, depth), whatever else one of them has, and a data set
counts once: standard errors and tests are over the means of the data sets.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from horizontree.bench.results_file import FitResult

PARTS = ("train", "test")
LEVEL = 0.05
_FEWEST_FOR_TEST = 6  # with five differences the smallest two-sided p-value is above 5 %
_MOST_FOR_EXACT = 50
_FEWEST_FOR_SLOPE = 4
_SAME = 2e-6  # points: a table of fits has accuracies to eight decimals


@dataclass(frozen=True)
class Averages:
    """Means over splits and then over data sets; accuracies are fractions."""

    n_datasets: int
    n_splits: tuple[int, int]  # the fewest and the most of a data set
    n_fits: int
    n_proven: int  # fits whose tree is proven optimal
    n_stopped: int  # fits that the time limit ended
    train: float
    test: float
    train_error: float  # standard errors over data sets
    test_error: float
    seconds: float
    n_splits_used: float


@dataclass(frozen=True)
class Comparison:
    """A method against a baseline at one depth, on the fits that both have."""

    n_datasets: int
    n_fits: int
    gain_of_means: float  # (mean - baseline's mean) / baseline's mean, in per cent
    mean_of_gains: float  # that of each data set, averaged
    difference: float  # mean difference in points
    error: float  # its standard error
    wins: int
    ties: int
    losses: int
    p_value: float  # Wilcoxon's signed-rank test, two-sided; nan with too few data sets


@dataclass(frozen=True)
class Ranks:
    """Mean ranks of methods over data sets (1 is the best), and what is not distinguishable."""

    methods: tuple[str, ...]  # best first
    mean_ranks: tuple[float, ...]
    n_datasets: int
    n_splits: int
    critical_difference: float  # Nemenyi's, at the 5 % level
    p_value: float  # Friedman's test

    @property
    def cliques(self) -> list[tuple[int, int]]:
        """Longest runs (first, last) of methods whose ranks differ by less than critical."""
        found: list[tuple[int, int]] = []
        for first, rank in enumerate(self.mean_ranks):
            last = max(
                i for i, r in enumerate(self.mean_ranks) if r - rank < self.critical_difference
            )
            if last > first and (not found or last > found[-1][1]):
                found.append((first, last))
        return found


@dataclass(frozen=True)
class Slope:
    """The exponent of the time in the number of rows."""

    exponent: float
    intercept: float  # log10 of the seconds at one row
    n_datasets: int


ByDataset = dict[str, dict[int, FitResult]]
"""Fits by data set and split."""


class Fits:
    """The finished fits of a study, by method and depth.

    Parameters
    ----------
    results : iterable of FitResult
        The rows; those of failed fits are left out.
    """

    def __init__(self, results: Iterable[FitResult]) -> None:
        self._fits: dict[tuple[str, int], ByDataset] = defaultdict(dict)
        for fit in results:
            if fit.is_done:
                self._fits[fit.method, fit.depth].setdefault(fit.dataset, {})[fit.split] = fit

    @property
    def methods(self) -> list[str]:
        """The methods that have fits."""
        return sorted({method for method, _ in self._fits})

    @property
    def depths(self) -> list[int]:
        """The depths that have fits."""
        return sorted({depth for _, depth in self._fits})

    @property
    def datasets(self) -> list[str]:
        """The data sets that have fits."""
        return sorted({dataset for found in self._fits.values() for dataset in found})

    def of(self, method: str, depth: int) -> ByDataset:
        """Return the fits of a method at a depth."""
        return self._fits.get((method, depth), {})

    def __iter__(self) -> Iterator[FitResult]:
        for found in self._fits.values():
            for splits in found.values():
                yield from splits.values()


def _mean(fits: Iterable[FitResult], name: str) -> float:
    return fmean(getattr(fit, name) for fit in fits)


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of a mean; nan for a single value."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def average(fits: Fits, method: str, depth: int) -> Averages | None:
    """Average over splits, then over data sets; None of nothing."""
    groups = [list(splits.values()) for splits in fits.of(method, depth).values()]
    if not groups:
        return None
    train = [_mean(group, "train_accuracy") for group in groups]
    test = [_mean(group, "test_accuracy") for group in groups]
    chosen = [fit for group in groups for fit in group]
    return Averages(
        n_datasets=len(groups),
        n_splits=(min(map(len, groups)), max(map(len, groups))),
        n_fits=len(chosen),
        n_proven=sum(fit.status == "optimal" for fit in chosen),
        n_stopped=sum(fit.status == "time_limit" for fit in chosen),
        train=fmean(train),
        test=fmean(test),
        train_error=standard_error(train),
        test_error=standard_error(test),
        seconds=fmean(_mean(group, "seconds") for group in groups),
        n_splits_used=fmean(_mean(group, "n_splits_used") for group in groups),
    )


def paired_means(
    fits: Fits, methods: Sequence[str], depth: int, name: str
) -> dict[str, tuple[float, ...]]:
    """Return for each data set the mean of each method, over the splits that all have."""
    means = {}
    for dataset, splits in common_splits(fits, methods, depth).items():
        means[dataset] = tuple(
            fmean(getattr(fits.of(method, depth)[dataset][split], name) for split in splits)
            for method in methods
        )
    return means


def common_splits(fits: Fits, methods: Sequence[str], depth: int) -> dict[str, list[int]]:
    """Return the splits of each data set that all methods have, where there are any."""
    found = [fits.of(method, depth) for method in methods]
    splits = {
        dataset: sorted(set.intersection(*(set(of[dataset]) for of in found)))
        for dataset in sorted(set.intersection(*(set(of) for of in found)))
    }
    return {dataset: numbers for dataset, numbers in splits.items() if numbers}


def compare(
    fits: Fits, method: str, baseline: str, depth: int, part: str = "test"
) -> Comparison | None:
    """Compare two methods at one depth on the fits that both have; None without any."""
    means = paired_means(fits, (method, baseline), depth, f"{part}_accuracy")
    if not means:
        return None
    mine, base = (list(column) for column in zip(*means.values(), strict=True))
    points = [100 * (m - b) for m, b in means.values()]
    # a baseline at 0 % (a test set of a few rows) has no relative gain
    gains = [100 * (m / b - 1) for m, b in means.values() if b > 0]
    n_fits = sum(map(len, common_splits(fits, (method, baseline), depth).values()))
    return Comparison(
        n_datasets=len(means),
        n_fits=n_fits,
        gain_of_means=100 * (fmean(mine) / fmean(base) - 1) if fmean(base) > 0 else math.nan,
        mean_of_gains=fmean(gains) if gains else math.nan,
        difference=fmean(points),
        error=standard_error(points),
        wins=sum(point > _SAME for point in points),
        ties=sum(abs(point) <= _SAME for point in points),
        losses=sum(point < -_SAME for point in points),
        p_value=wilcoxon(points),
    )


def wilcoxon(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of Wilcoxon's test of points; nan with too few of them."""
    sizes = with_ties(np.append(np.abs(differences), 0.0))[:-1]
    if np.count_nonzero(sizes) < _FEWEST_FOR_TEST:
        return math.nan
    unequal = sizes[sizes != 0]
    is_exact = len(unequal) <= _MOST_FOR_EXACT and len(np.unique(unequal)) == len(unequal)
    method = "exact" if is_exact else "approx"
    return float(stats.wilcoxon(np.copysign(sizes, differences), method=method).pvalue)


def with_ties(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make neighbours equal that differ by no more than the rounding of the table of fits."""
    order = np.argsort(points)
    ascending = points[order]
    is_first = np.diff(ascending, prepend=-math.inf) > _SAME
    tied = np.empty_like(points)
    tied[order] = ascending[is_first][np.cumsum(is_first) - 1]
    return tied


def rank(fits: Fits, methods: Sequence[str], depth: int, part: str = "test") -> Ranks | None:
    """Rank the methods on each data set by mean accuracy, ties shared, and average the ranks."""
    means = paired_means(fits, methods, depth, f"{part}_accuracy")
    n, k = len(means), len(methods)
    if n < 2 or k < 2:
        return None
    accuracies = np.array([with_ties(100 * np.array(row)) for row in means.values()])
    mean_ranks = stats.rankdata(-accuracies, axis=1).mean(axis=0)
    order = np.argsort(mean_ranks, kind="stable")
    quantile = float(stats.studentized_range.ppf(1 - LEVEL, k, np.inf)) / math.sqrt(2)
    is_constant = bool((accuracies == accuracies[:, :1]).all())
    p_value = math.nan
    if k > 2 and not is_constant:
        p_value = float(stats.friedmanchisquare(*accuracies.T).pvalue)
    return Ranks(
        methods=tuple(methods[i] for i in order),
        mean_ranks=tuple(float(mean_ranks[i]) for i in order),
        n_datasets=n,
        n_splits=min(map(len, common_splits(fits, methods, depth).values())),
        critical_difference=quantile * math.sqrt(k * (k + 1) / (6 * n)),
        p_value=p_value,
    )


def times(fits: Fits, method: str, depth: int) -> list[tuple[int, float]]:
    """Return (training rows, mean seconds) of each data set, by rows."""
    return sorted(
        (next(iter(splits.values())).n_train, _mean(splits.values(), "seconds"))
        for splits in fits.of(method, depth).values()
    )


def slope(fits: Fits, method: str, depth: int, least_rows: int) -> Slope | None:
    """Fit log seconds against log rows by least squares over data sets that are large enough."""
    points = [(n, s) for n, s in times(fits, method, depth) if n >= least_rows and s > 0]
    if len(points) < _FEWEST_FOR_SLOPE:
        return None
    rows, seconds = np.log10(np.array(points)).T
    exponent, intercept = np.polyfit(rows, seconds, 1)
    return Slope(float(exponent), float(intercept), len(points))


def speed_ups(fits: Fits, method: str, baseline: str) -> list[tuple[int, int, float]]:
    """Return (training rows, depth, baseline's seconds / seconds) of each fit that both have."""
    found = []
    for depth in fits.depths:
        for dataset, numbers in common_splits(fits, (method, baseline), depth).items():
            for number in numbers:
                fit = fits.of(method, depth)[dataset][number]
                other = fits.of(baseline, depth)[dataset][number]
                found.append((fit.n_train, depth, other.seconds / max(fit.seconds, 1e-9)))
    return sorted(found)
