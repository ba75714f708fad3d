"""Sections of the report about single data sets and their sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean

from horizontree.bench import plots
from horizontree.bench.document import (
    Block,
    Figure,
    Heading,
    Paragraph,
)
from horizontree.bench.methods import (
    COMPARED,
    TUNED,
)
from horizontree.bench.report_parts import (
    OURS,
    Study,
    grid_of,
)
from horizontree.bench.results_file import FitResult
from horizontree.bench.statistics import (
    paired_means,
    slope,
    standard_error,
    times,
)

LEAST_ROWS_OF_SLOPES = 500


def by_dataset(study: Study) -> list[Block]:
    """Return the relative difference to CART of each data set, as bars."""
    blocks: list[Block] = []
    for depth in study.fits.depths:
        for method in study.present((OURS, "mh-deoct")):
            means = paired_means(study.fits, (method, study.baseline), depth, "test_accuracy")
            gains = {name: 100 * (m / b - 1) for name, (m, b) in means.items() if b > 0}
            if not gains:
                continue
            title = f"{method} relative to {study.baseline}, test accuracy, %, depth {depth}"
            svg = plots.bars_by_dataset(gains, title)
            blocks.append(Figure(f"gains-{method}-depth-{depth}", svg, title))
    return [Heading(2, "Relative difference to CART by data set"), *blocks] if blocks else []


def times_by_size(study: Study) -> list[Block]:
    """Return time against rows, with slopes."""
    blocks: list[Block] = []
    rows = []
    for depth in study.fits.depths:
        methods = [m for m in study.present(COMPARED) if study.fits.of(m, depth)]
        if not methods:
            continue
        points = {method: times(study.fits, method, depth) for method in methods}
        found = {m: slope(study.fits, m, depth, LEAST_ROWS_OF_SLOPES) for m in methods}
        slopes = {method: line for method, line in found.items() if line is not None}
        rows += [
            [method, str(depth), f"{line.exponent:.2f}", str(line.n_datasets)]
            for method, line in slopes.items()
        ]
        title = f"seconds of a fit at depth {depth}"
        caption = f"Time against training rows at depth {depth}, a point for each data set."
        svg = plots.times_by_rows(points, slopes, title)
        blocks.append(Figure(f"times-depth-{depth}", svg, caption))
    if not blocks:
        return []
    text = (
        "The slope is the exponent of the rows in the time, by least squares over the data sets "
        f"of {LEAST_ROWS_OF_SLOPES} training rows and more. Data sets differ in features and "
        "classes too, and a time limit bends the line of those that it stops."
    )
    grid = grid_of(["method", "depth", "slope", "data sets"], rows)
    return [Heading(2, "Time against data size"), Paragraph(text), *blocks, grid]


def appendix(study: Study) -> list[Block]:
    """Return every data set with every method."""
    methods = study.present([*COMPARED, *TUNED])
    blocks: list[Block] = []
    for depth in study.fits.depths:
        here = [method for method in methods if study.fits.of(method, depth)]
        rows = []
        for dataset in study.fits.datasets:
            known = [study.fits.of(method, depth).get(dataset, {}) for method in here]
            first = next((fit for fits in known for fit in fits.values()), None)
            if first is None:
                continue
            rows.append([dataset, *map(str, (first.n_train, first.n_features, first.n_classes))])
            rows[-1] += [_accuracies(fits) for fits in known]
        if rows:
            header = ["data set", "training rows", "features", "classes", *here]
            blocks += [Heading(3, f"Data sets at depth {depth}"), grid_of(header, rows)]
    if not blocks:
        return []
    text = (
        "Training / test accuracy in %, mean over the random splits that the method has; ± is the "
        "standard error over these splits."
    )
    return [Heading(2, "Appendix: every data set"), Paragraph(text), *blocks]


def _accuracies(fits: Mapping[int, FitResult]) -> str:
    """Write the mean training and test accuracy of some splits; a dash for none."""
    if not fits:
        return "-"
    test = [fit.test_accuracy for fit in fits.values()]
    train = fmean(fit.train_accuracy for fit in fits.values())
    error = standard_error(test)
    known_error = "" if math.isnan(error) else f" ± {100 * error:.1f}"
    return f"{100 * train:.1f} / {100 * fmean(test):.1f}{known_error}"
