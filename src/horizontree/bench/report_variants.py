"""Sections of the report about variants of a method: warm starts, horizons, features, engines."""

from __future__ import annotations

from statistics import median

from horizontree.bench import plots
from horizontree.bench.document import (
    Block,
    Figure,
    Heading,
    Paragraph,
)
from horizontree.bench.methods import (
    ABLATION,
    BINARISED,
    COMPARED,
    ENGINES,
    HORIZONS,
)
from horizontree.bench.report_parts import (
    Study,
    common_grids,
    grid_of,
    lines_figure,
)
from horizontree.bench.statistics import (
    common_splits,
    speed_ups,
)

_ROW_CLASSES = ((0, 1_000), (1_000, 10_000), (10_000, 10**12))


def ablation(study: Study) -> list[Block]:
    """Return the eleven rows of the warm-start ablation."""
    methods = study.present(ABLATION)
    if not any(method not in COMPARED for method in methods):
        return []
    blocks: list[Block] = [
        Heading(2, "Warm starts"),
        Paragraph(
            "What the first generation of each evolution holds: nothing (cold), the CART or the "
            "DEOCT tree over all samples, a CART tree over the samples of the node. The last row "
            "has all three."
        ),
        *common_grids(study, "Warm starts", methods, ABLATION[-1]),
    ]
    return [*blocks, *lines_figure(study, "warm-starts", methods, "Accuracy by warm start")]


def horizons(study: Study) -> list[Block]:
    """Return the influence of the horizon."""
    methods = study.present(HORIZONS)
    if not methods:
        return []
    return [
        Heading(2, "Influence of the horizon"),
        Paragraph("MH-DEOCT with each depth of the subtree that is searched at a node."),
        *common_grids(study, "Horizons", methods, methods[0]),
        *lines_figure(study, "horizons", methods, "Accuracy by horizon"),
    ]


def binarised(study: Study) -> list[Block]:
    """Return searches on binarised and on continuous features."""
    methods = study.present(BINARISED)
    if not any(method.endswith(("-guesses", "-mdlp")) for method in methods):
        return []
    return [
        Heading(2, "Binarised against continuous"),
        Paragraph(
            "The same searches on all thresholds, on those that a boosted reference model uses "
            "(guesses), and on the cuts of the minimum description length principle (mdlp). "
            "Seconds include the binarisation."
        ),
        *common_grids(study, "Binarised", methods, methods[0]),
        *lines_figure(study, "binarised", methods, "Accuracy by kind of feature"),
    ]


def engines(study: Study) -> list[Block]:
    """Return speed-ups over one CPU thread."""
    found = {m: speed_ups(study.fits, m, ENGINES[m]) for m in study.present(ENGINES)}
    points = {method: pairs for method, pairs in found.items() if pairs}
    if not points:
        return []
    rows = []
    for method, pairs in points.items():
        n_equal, n_fits = _equal_trees(study, method, ENGINES[method])
        for low, high in _ROW_CLASSES:
            ratios = [ratio for n, _, ratio in pairs if low <= n < high]
            if ratios:
                size = f"{low:,} to {high:,}" if high < 10**12 else f"{low:,} and more"
                rows.append(
                    [f"{method} against {ENGINES[method]}", size, str(len(ratios))]
                    + [f"{median(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}"]
                    + [f"{n_equal} of {n_fits}"]
                )
    header = ["engines", "training rows", "fits", "median", "least", "greatest"]
    header.append("same errors, splits and test accuracy")
    text = (
        "Seconds on one CPU thread divided by the seconds of the engine, fit by fit. One seed "
        "gives one tree on every engine; the last column counts the fits, of all sizes, in which "
        "nothing that is on record differs."
    )
    svg = plots.speed_ups(points, "times as fast as one CPU thread")
    caption = "Speed-up against training rows."
    return [
        Heading(2, "Engine speed-ups"),
        Paragraph(text),
        grid_of(header, rows),
        Figure("engines", svg, caption),
    ]


def _equal_trees(study: Study, method: str, baseline: str) -> tuple[int, int]:
    """Count the fits of two methods that have the same errors, splits and test accuracy."""
    n_equal = n_fits = 0
    for depth in study.fits.depths:
        for dataset, splits in common_splits(study.fits, (method, baseline), depth).items():
            for split in splits:
                pair = [study.fits.of(m, depth)[dataset][split] for m in (method, baseline)]
                facts = {(f.train_errors, f.n_splits_used, f.test_accuracy) for f in pair}
                n_equal += len(facts) == 1
                n_fits += 1
    return n_equal, n_fits
