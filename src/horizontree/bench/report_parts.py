"""What the sections of the report are made of: words, numbers, tables over the same fits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from horizontree.bench import plots
from horizontree.bench.document import (
    Block,
    Figure,
    Grid,
    Heading,
    Paragraph,
)
from horizontree.bench.results_file import FitKey, FitResult, Run
from horizontree.bench.statistics import (
    PARTS,
    Comparison,
    Fits,
    average,
    common_splits,
    compare,
    paired_means,
    standard_error,
    wilcoxon,
)

OURS = "horizon"


@dataclass(frozen=True)
class Study:
    """All that a section can speak of."""

    fits: Fits
    failed: list[FitResult]
    planned: set[FitKey]
    runs: Sequence[Run]

    @property
    def baseline(self) -> str:
        """CART: scikit-learn's, or ours where that has no fits."""
        has_only_ours = "cart" in self.fits.methods and "cart-sklearn" not in self.fits.methods
        return "cart" if has_only_ours else "cart-sklearn"

    def present(self, methods: Iterable[str]) -> list[str]:
        """Return those of the methods that have fits, in their order."""
        have = set(self.fits.methods)
        return [method for method in methods if method in have]


def percent(fraction: float, error: float | None = None) -> str:
    """Write a fraction in per cent, with its standard error."""
    text = "-" if math.isnan(fraction) else f"{100 * fraction:.2f}"
    return text if error is None or math.isnan(error) else f"{text} ± {100 * error:.2f}"


def signed(number: float | None) -> str:
    """Write a number with its sign; a dash for none."""
    return "-" if number is None or math.isnan(number) else f"{number:+.2f}"


def p_text(value: float) -> str:
    """Write a p-value."""
    if math.isnan(value):
        return "-"
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def span(numbers: tuple[int, int]) -> str:
    """Write two numbers as a range, or as one."""
    return str(numbers[0]) if numbers[0] == numbers[1] else f"{numbers[0]} to {numbers[1]}"


def grid_of(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Grid:
    """Make a table."""
    return Grid(tuple(header), tuple(tuple(row) for row in rows))


def averages_grid(study: Study, methods: Sequence[str], depth: int) -> Grid:
    """Tabulate the averages of methods at a depth, each over the fits that it has."""
    rows = []
    for method in methods:
        mean = average(study.fits, method, depth)
        if mean is None:
            continue
        n_planned = sum((k.method, k.depth) == (method, depth) for k in study.planned)
        rows.append(
            [method, str(mean.n_datasets), span(mean.n_splits)]
            + [f"{mean.n_fits} of {n_planned}", str(mean.n_proven), str(mean.n_stopped)]
            + [percent(mean.train, mean.train_error), percent(mean.test, mean.test_error)]
            + [f"{mean.n_splits_used:.1f}", f"{mean.seconds:.3g}"]
        )
    header = ["method", "data sets", "random splits", "fits", "proven", "stopped", "train %"]
    return grid_of([*header, "test %", "size", "seconds"], rows)


def common_lines(study: Study, methods: Sequence[str]) -> dict[str, dict[str, dict[int, float]]]:
    """Return training and test accuracy by depth, over the fits that all methods there have."""
    panels: dict[str, dict[str, dict[int, float]]] = {}
    for part in PARTS:
        lines: dict[str, dict[int, float]] = {method: {} for method in methods}
        for depth in study.fits.depths:
            here = [method for method in methods if study.fits.of(method, depth)]
            if not here:
                continue
            means = paired_means(study.fits, here, depth, f"{part}_accuracy").values()
            for method, *values in zip(here, *means, strict=True):
                if values:
                    lines[method][depth] = 100 * fmean(values)
        name = "training" if part == "train" else part
        panels[f"{name} accuracy, %"] = {m: line for m, line in lines.items() if line}
    return panels


def lines_figure(study: Study, name: str, methods: Sequence[str], title: str) -> list[Block]:
    """Draw accuracy by depth, over the fits that all methods there have."""
    panels = common_lines(study, methods)
    if not all(panels.values()):
        return []
    caption = f"{title}, over the fits that all of these methods have at a depth."
    return [Figure(name, plots.lines_by_depth(panels), caption)]


def comparisons(study: Study, method: str, baseline: str, part: str) -> dict[int, Comparison]:
    """Compare two methods at every depth where both have fits."""
    found = {d: compare(study.fits, method, baseline, d, part) for d in study.fits.depths}
    return {depth: comparison for depth, comparison in found.items() if comparison is not None}


def gain_header(study: Study) -> list[str]:
    """Return the titles of `gain_rows`."""
    depths = [f"depth {depth}" for depth in study.fits.depths]
    return ["method", "rows", *depths, "mean", "mean of data sets' gains", "fits compared"]


def gain_rows(
    study: Study, methods: Sequence[str], baseline: str, parts: Sequence[str] = PARTS
) -> list[list[str]]:
    """Return relative gains over a baseline by depth."""
    rows = []
    for method in methods:
        for part in parts:
            found = comparisons(study, method, baseline, part)
            if method == baseline or not found:
                continue
            rows.append(
                [method, part]
                + [
                    signed(found[depth].gain_of_means if depth in found else None)
                    for depth in study.fits.depths
                ]
                + [signed(fmean(c.gain_of_means for c in found.values()))]
                + [signed(fmean(c.mean_of_gains for c in found.values()))]
                + [str(sum(c.n_fits for c in found.values()))]
            )
    return rows


def differences_grid(
    study: Study, pairs: Sequence[tuple[str, str]], parts: Sequence[str] = ("test",)
) -> Grid:
    """Tabulate paired differences with standard errors and tests."""
    rows = []
    for method, baseline in pairs:
        for part in parts:
            for depth, found in comparisons(study, method, baseline, part).items():
                rows.append(
                    [f"{method} - {baseline}", part, str(depth), str(found.n_datasets)]
                    + [f"{signed(found.difference)} ± {found.error:.2f}"]
                    + [f"{found.wins} / {found.ties} / {found.losses}", p_text(found.p_value)]
                )
    header = ["difference", "rows", "depth", "data sets", "points"]
    return grid_of([*header, "better / equal / worse", "Wilcoxon p"], rows)


def common_grids(study: Study, title: str, methods: Sequence[str], baseline: str) -> list[Block]:
    """Tables over the fits that all of these methods have."""
    blocks: list[Block] = []
    for depth in study.fits.depths:
        here = [method for method in methods if study.fits.of(method, depth)]
        if len(here) < 2:
            continue
        n_fits = sum(map(len, common_splits(study.fits, here, depth).values()))
        columns = {
            name: paired_means(study.fits, here, depth, name)
            for name in ("train_accuracy", "test_accuracy", "seconds", "n_splits_used")
        }
        rows = []
        for number, method in enumerate(here):
            of_method = [[values[number] for values in each.values()] for each in columns.values()]
            train, test, seconds, size = (fmean(each) if each else math.nan for each in of_method)
            errors = [standard_error(each) for each in of_method[:2]]
            p_value = math.nan
            if baseline in here and method != baseline:
                base = here.index(baseline)
                tested = columns["test_accuracy"].values()
                points = [100 * (values[number] - values[base]) for values in tested]
                p_value = wilcoxon(points)
            rows.append(
                [method, percent(train, errors[0]), percent(test, errors[1])]
                + [f"{size:.1f}", f"{seconds:.3g}", p_text(p_value)]
            )
        header = ["method", "train %", "test %", "size", "seconds"]
        blocks += [
            Heading(3, f"{title}, depth {depth}"),
            Paragraph(f"Fits that all rows have: {n_fits}. p is against {baseline}."),
            grid_of([*header, "Wilcoxon p, test"], rows),
        ]
    return blocks
