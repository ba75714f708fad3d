"""The report of a study: the paper's tables and figures from a table of fits.

Sections about methods that have no fits are left out; what was asked for and is not there, or
failed, is said at the top.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

from horizontree.bench import paper, plots
from horizontree.bench.document import (
    Block,
    Figure,
    Grid,
    Heading,
    Listing,
    Paragraph,
    to_html,
    to_markdown,
)
from horizontree.bench.methods import (
    ABLATION,
    BINARISED,
    COMPARED,
    ENGINES,
    HORIZONS,
    METHODS,
    TUNED,
)
from horizontree.bench.results_file import FitKey, FitResult, Run, write_text
from horizontree.bench.statistics import (
    PARTS,
    Comparison,
    Fits,
    average,
    common_splits,
    compare,
    paired_means,
    rank,
    slope,
    speed_ups,
    times,
    wilcoxon,
)

BASELINE = "cart-sklearn"
OURS = "horizon"
LEAST_ROWS_OF_SLOPES = 500
_MOST_FAILURES = 20
_ROW_CLASSES = ((0, 1_000), (1_000, 10_000), (10_000, 10**12))


@dataclass(frozen=True)
class Study:
    """All that a section can speak of."""

    fits: Fits
    failed: list[FitResult]
    planned: set[FitKey]
    runs: Sequence[Run]

    def present(self, methods: Iterable[str]) -> list[str]:
        """Return those of the methods that have fits, in their order."""
        have = set(self.fits.methods)
        return [method for method in methods if method in have]


def write_report(path: Path, results: Sequence[FitResult], runs: Sequence[Run]) -> list[Path]:
    """Write the report as Markdown with its figures, and as one HTML page.

    Parameters
    ----------
    path : pathlib.Path
        ``NAME.md``; the page is ``NAME.html``, the figures are in ``NAME-figures/``.
    results : sequence of FitResult
        The fits.
    runs : sequence of Run
        What was asked for.

    Returns
    -------
    list of pathlib.Path
        The files that were written.
    """
    blocks = report(results, runs)
    folder = path.with_name(f"{path.stem}-figures")
    figures = [block for block in blocks if isinstance(block, Figure)]
    files = {folder / f"{figure.name}.svg": figure.svg + "\n" for figure in figures}
    files[path] = to_markdown(blocks, folder.name)
    files[path.with_suffix(".html")] = to_html(blocks)
    for target, text in files.items():
        write_text(target, text)
    return [path, path.with_suffix(".html")]


def report(results: Sequence[FitResult], runs: Sequence[Run]) -> list[Block]:
    """Return the report as blocks."""
    planned = {result.key for result in results}
    for run in runs:
        planned |= {key for key in run.plan.fits() if _is_possible(key)}
    failed = [result for result in results if not result.is_done]
    study = Study(Fits(results), failed, planned, runs)
    sections = (
        _head,
        _comparison,
        _gains,
        _against_the_paper,
        _ranks,
        _tuned,
        _ablation,
        _horizons,
        _binarised,
        _by_dataset,
        _times,
        _engines,
        _appendix,
    )
    return [block for section in sections for block in section(study)]


def _is_possible(key: FitKey) -> bool:
    method = METHODS.get(key.method)
    return method is None or method.applies_to(key.depth)


# ------------------------------------------------------------------ words and numbers


def _percent(fraction: float, error: float | None = None) -> str:
    text = "-" if math.isnan(fraction) else f"{100 * fraction:.2f}"
    return text if error is None or math.isnan(error) else f"{text} ± {100 * error:.2f}"


def _signed(number: float | None) -> str:
    return "-" if number is None or math.isnan(number) else f"{number:+.2f}"


def _p(value: float) -> str:
    if math.isnan(value):
        return "-"
    return "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def _span(numbers: tuple[int, int]) -> str:
    return str(numbers[0]) if numbers[0] == numbers[1] else f"{numbers[0]} to {numbers[1]}"


def _grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> Grid:
    return Grid(tuple(header), tuple(tuple(row) for row in rows))


# ------------------------------------------------------------------ the sections


def _head(study: Study) -> list[Block]:
    done = list(study.fits)
    n_done, n_planned = len(done), len(study.planned)
    state = f"Complete: {n_done:,} fits of {n_planned:,} asked for."
    if n_done < n_planned:
        state = (
            f"Incomplete: {n_done:,} fits of {n_planned:,} asked for, {len(study.failed):,} of "
            "the others failed. Averages are over the fits that are there."
        )
    facts = []
    for title, values in (
        ("Machine", [run.machine for run in study.runs]),
        ("Versions", [", ".join(run.versions) for run in study.runs]),
        ("Packages of the fits", [", ".join(sorted({fit.version for fit in done}))]),
        ("Seeds", ["the number of the split"]),
        ("Time limits", [_limits(done)]),
        ("Commands", [f"`{run.command}`" for run in study.runs]),
    ):
        facts += [f"{title}: {value}" for value in dict.fromkeys(values) if value]
    absent = [method for method in METHODS if method not in study.fits.methods]
    if absent:
        facts.append(f"No fits of: {', '.join(absent)}")
    blocks: list[Block] = [
        Heading(1, "Study of near-optimal classification trees"),
        Paragraph(
            "Written by `horizontree bench report` from the table of fits beside it; not edited "
            "by hand."
        ),
        Paragraph(state),
        Paragraph(
            "Protocol: rows with missing values dropped, categories one-hot encoded, 75 % "
            "training and 25 % test rows by plain random permutation, at least 1 sample a leaf, "
            "no price of a split unless tuned. Split s of a data set is always the same rows, "
            "and s is also the seed of its fits. No fit sees its test rows. Averages are plain, "
            "over splits and then over data sets; ± is the standard error over data sets. "
            "Seconds are those of the fit alone, one thread, kernels already compiled."
        ),
        Listing(tuple(facts)),
    ]
    if stopped := _stopped(done):
        blocks += [Heading(2, "What did not finish"), *stopped]
    if study.failed:
        if not stopped:
            blocks.append(Heading(2, "What did not finish"))
        reasons = Counter((fit.method, fit.note) for fit in study.failed)
        blocks.append(
            Listing(
                tuple(
                    f"{method}: {number} fits failed: {note}"
                    for (method, note), number in reasons.most_common(_MOST_FAILURES)
                )
            )
        )
    return blocks


def _limits(done: Sequence[FitResult]) -> str:
    limits = {(fit.method, fit.time_limit) for fit in done if not math.isinf(fit.time_limit)}
    listed = ", ".join(f"{method} {limit:g} s" for method, limit in sorted(limits))
    return f"{listed}; the others end by themselves" if listed else "none"


def _stopped(done: Sequence[FitResult]) -> list[Block]:
    totals = Counter((fit.method, fit.depth) for fit in done)
    stopped = Counter((fit.method, fit.depth) for fit in done if fit.status == "time_limit")
    rows = [
        [method, str(depth), f"{number} of {totals[method, depth]}"]
        for (method, depth), number in sorted(stopped.items())
    ]
    if not rows:
        return []
    text = "Fits that the time limit ended; their best tree so far counts in the tables."
    return [Paragraph(text), _grid(["method", "depth", "stopped"], rows)]


def _averages_grid(study: Study, methods: Sequence[str], depth: int) -> Grid:
    rows = []
    for method in methods:
        mean = average(study.fits, method, depth)
        if mean is None:
            continue
        n_planned = sum((k.method, k.depth) == (method, depth) for k in study.planned)
        rows.append(
            [method, str(mean.n_datasets), _span(mean.n_splits)]
            + [f"{mean.n_fits} of {n_planned}", str(mean.n_proven), str(mean.n_stopped)]
            + [_percent(mean.train, mean.train_error), _percent(mean.test, mean.test_error)]
            + [f"{mean.n_splits_used:.1f}", f"{mean.seconds:.3g}"]
        )
    header = ["method", "data sets", "random splits", "fits", "proven", "stopped", "train %"]
    return _grid([*header, "test %", "size", "seconds"], rows)


def _common_lines(study: Study, methods: Sequence[str]) -> dict[str, dict[str, dict[int, float]]]:
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


def _comparison(study: Study) -> list[Block]:
    methods = study.present(COMPARED)
    if not methods:
        return []
    blocks: list[Block] = [
        Heading(2, "Comparison by depth"),
        Paragraph(
            "Size is the mean number of splits of a tree; proven counts trees that are proven "
            "optimal, stopped those that a time limit ended. Rows with different data sets or "
            "random splits do not compare with each other: see the gains, which are over the "
            "same fits."
        ),
    ]
    for depth in study.fits.depths:
        blocks += [Heading(3, f"Depth {depth}"), _averages_grid(study, methods, depth)]
    shown = study.present((BASELINE, "deoct", "mh-deoct", OURS))
    return [*blocks, *_lines_figure(study, "accuracy-by-depth", shown, "Mean accuracy by depth")]


def _lines_figure(study: Study, name: str, methods: Sequence[str], title: str) -> list[Block]:
    panels = _common_lines(study, methods)
    if not all(panels.values()):
        return []
    caption = f"{title}, over the fits that all of these methods have at a depth."
    return [Figure(name, plots.lines_by_depth(panels), caption)]


def _gain_rows(
    study: Study, methods: Sequence[str], baseline: str, parts: Sequence[str] = PARTS
) -> list[list[str]]:
    rows = []
    for method in methods:
        for part in parts:
            found = _comparisons(study, method, baseline, part)
            if method == baseline or not found:
                continue
            rows.append(
                [method, part]
                + [
                    _signed(found[depth].gain_of_means if depth in found else None)
                    for depth in study.fits.depths
                ]
                + [_signed(fmean(c.gain_of_means for c in found.values()))]
                + [_signed(fmean(c.mean_of_gains for c in found.values()))]
                + [str(sum(c.n_fits for c in found.values()))]
            )
    return rows


def _comparisons(study: Study, method: str, baseline: str, part: str) -> dict[int, Comparison]:
    found = {d: compare(study.fits, method, baseline, d, part) for d in study.fits.depths}
    return {depth: comparison for depth, comparison in found.items() if comparison is not None}


def _gain_header(study: Study) -> list[str]:
    depths = [f"depth {depth}" for depth in study.fits.depths]
    return ["method", "rows", *depths, "mean", "mean of data sets' gains", "fits compared"]


def _tests_grid(
    study: Study, pairs: Sequence[tuple[str, str]], parts: Sequence[str] = ("test",)
) -> Grid:
    rows = []
    for method, baseline in pairs:
        for part in parts:
            for depth, found in _comparisons(study, method, baseline, part).items():
                rows.append(
                    [f"{method} - {baseline}", part, str(depth), str(found.n_datasets)]
                    + [f"{_signed(found.difference)} ± {found.error:.2f}"]
                    + [f"{found.wins} / {found.ties} / {found.losses}", _p(found.p_value)]
                )
    header = ["difference", "rows", "depth", "data sets", "points"]
    return _grid([*header, "better / equal / worse", "Wilcoxon p"], rows)


def _gains(study: Study) -> list[Block]:
    methods = study.present(COMPARED)
    blocks: list[Block] = []
    rows = _gain_rows(study, methods, BASELINE)
    if rows:
        blocks += [
            Heading(2, f"Relative gain over {BASELINE}, %"),
            Paragraph(
                f"At a depth: (mean accuracy - mean accuracy of {BASELINE}) / mean accuracy of "
                f"{BASELINE}, both over the same fits; then the mean over the depths that are "
                "there. The next column averages the relative gains of the single data sets "
                "instead."
            ),
            _grid(_gain_header(study), rows),
        ]
    pairs = [(method, BASELINE) for method in methods if method != BASELINE]
    pairs += [(OURS, method) for method in methods if method not in (OURS, BASELINE)]
    pairs = [(a, b) for a, b in pairs if {a, b} <= set(methods)]
    if pairs:
        blocks += [
            Heading(2, "Paired differences"),
            Paragraph(
                "Differences in points over data sets, with their standard errors, how many data "
                "sets are better, equal and worse, and the two-sided p-value of Wilcoxon's "
                "signed-rank test."
            ),
            _tests_grid(study, pairs, PARTS),
        ]
    return blocks


def _against_the_paper(study: Study) -> list[Block]:
    rows = []
    for method in study.present(COMPARED):
        figures = paper.ACCURACY.get("cart" if method == BASELINE else method)
        for depth in study.fits.depths:
            mean = average(study.fits, method, depth)
            if figures is None or mean is None or depth not in figures:
                continue
            seconds = paper.SECONDS.get(method, {}).get(depth)
            rows.append(
                [method, str(depth), _percent(mean.train), f"{figures[depth][0]:.2f}"]
                + [_percent(mean.test), f"{figures[depth][1]:.2f}", f"{mean.seconds:.3g}"]
                + ["-" if seconds is None else f"{seconds:g}"]
            )
    if not rows:
        return []
    header = ["method", "depth", "train %", "paper", "test %", "paper", "seconds", "paper"]
    blocks: list[Block] = [
        Heading(2, "Compared with the paper"),
        Paragraph(
            "The paper's figures are over its 65 data sets on its own random splits, its seconds "
            "are those of an A100 GPU. One of its data sets is not in the corpus used here."
        ),
        _grid(header, rows),
    ]
    gains = []
    for method, stated in paper.STATED_GAIN.items():
        for part, name in enumerate(PARTS):
            found = _comparisons(study, method, BASELINE, name)
            if found:
                gains.append(
                    [method, name, _signed(fmean(c.gain_of_means for c in found.values()))]
                    + [_signed(paper.gain_of_table(method)[part])]
                    + [_signed(fmean(c.mean_of_gains for c in found.values()))]
                    + [_signed(stated[part])]
                )
    if gains:
        header = ["method", "rows", "here, of means", "paper's table, of means"]
        header += ["here, mean of data sets' gains", "paper, as stated"]
        blocks += [
            Paragraph(
                "Gains over CART in %. The paper's own table of averages gives less than the "
                "paper states, so that the statement must have been computed differently; both "
                "are shown."
            ),
            _grid(header, gains),
        ]
    return blocks


def _ranks(study: Study) -> list[Block]:
    blocks: list[Block] = []
    for depth in study.fits.depths:
        methods = _complete_at(study, study.present(COMPARED), depth)
        ranks = rank(study.fits, methods, depth) if len(methods) > 1 else None
        if ranks is None:
            continue
        caption = (
            f"Mean ranks of the test accuracy at depth {depth} over {ranks.n_datasets} data sets "
            f"and the random splits that all have (at least {ranks.n_splits}); methods joined by "
            f"a bar are not distinguishable (Nemenyi, 5 %). Friedman p {_p(ranks.p_value)}."
        )
        svg = plots.critical_difference(ranks, f"depth {depth}")
        blocks.append(Figure(f"ranks-depth-{depth}", svg, caption))
    return [Heading(2, "Ranks"), *blocks] if blocks else []


def _complete_at(study: Study, methods: Sequence[str], depth: int) -> list[str]:
    """Leave out methods without fits on most data sets, and the second implementation of CART."""
    most = max((len(study.fits.of(method, depth)) for method in methods), default=0)
    chosen = [m for m in methods if 2 * len(study.fits.of(m, depth)) > most and m != "cart"]
    return chosen if chosen and common_splits(study.fits, chosen, depth) else []


def _tuned(study: Study) -> list[Block]:
    tuned = study.present(TUNED)
    if not tuned:
        return []
    methods = [method for name in tuned for method in (TUNED[name], name)]
    blocks: list[Block] = [
        Heading(2, "Tuned comparison"),
        Paragraph(
            "The price of a split chosen by validation on the training rows only "
            "(`AlphaSearchCV`), then a fit on all training rows. Seconds are those of the whole "
            "search."
        ),
    ]
    for depth in study.fits.depths:
        blocks += [Heading(3, f"Tuned, depth {depth}"), _averages_grid(study, methods, depth)]
    pairs = [(name, TUNED[name]) for name in tuned if TUNED[name] in study.fits.methods]
    pairs += [(name, "cart-tuned") for name in tuned if name != "cart-tuned"]
    rows = []
    for name, baseline in pairs:
        for row in _gain_rows(study, [name], baseline, ("test",)):
            rows.append([f"{name} over {baseline}", *row[2:], _cost(study, name, baseline)])
    header = _gain_header(study)
    blocks += [
        Paragraph(
            "Relative gains in test accuracy, %. The cost is the time of all of these fits as a "
            "multiple of the other's."
        ),
        _grid([header[0], *header[2:], "cost"], rows),
        _tests_grid(study, pairs),
    ]
    in_paper = [
        [name, *(f"{figures[depth]:.2f}" for depth in paper.DEPTHS)]
        for name, figures in paper.TUNED_TEST.items()
    ]
    blocks += [
        Paragraph("Tuned test accuracy in the paper, %:"),
        _grid(["method", *(f"depth {depth}" for depth in paper.DEPTHS)], in_paper),
    ]
    title = "Mean accuracy with and without a tuned price of a split"
    return [*blocks, *_lines_figure(study, "tuned", methods, title)]


def _cost(study: Study, method: str, baseline: str) -> str:
    totals = [0.0, 0.0]
    for depth in study.fits.depths:
        for mine, base in paired_means(study.fits, (method, baseline), depth, "seconds").values():
            totals[0] += mine
            totals[1] += base
    return f"{totals[0] / totals[1]:.1f}" if totals[1] > 0 else "-"


def _common_grids(study: Study, title: str, methods: Sequence[str], baseline: str) -> list[Block]:
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
            train, test, seconds, size = (
                fmean(values[number] for values in column.values()) if column else math.nan
                for column in columns.values()
            )
            p_value = math.nan
            if baseline in here and method != baseline:
                base = here.index(baseline)
                tested = columns["test_accuracy"].values()
                p_value = wilcoxon([values[number] - values[base] for values in tested])
            rows.append(
                [method, _percent(train), _percent(test), f"{size:.1f}", f"{seconds:.3g}"]
                + [_p(p_value)]
            )
        header = ["method", "train %", "test %", "size", "seconds"]
        blocks += [
            Heading(3, f"{title}, depth {depth}"),
            Paragraph(f"Fits that all rows have: {n_fits}. p is against {baseline}."),
            _grid([*header, "Wilcoxon p, test"], rows),
        ]
    return blocks


def _ablation(study: Study) -> list[Block]:
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
        *_common_grids(study, "Warm starts", methods, ABLATION[-1]),
    ]
    return [*blocks, *_lines_figure(study, "warm-starts", methods, "Accuracy by warm start")]


def _horizons(study: Study) -> list[Block]:
    methods = study.present(HORIZONS)
    if not methods:
        return []
    return [
        Heading(2, "Influence of the horizon"),
        Paragraph("MH-DEOCT with each depth of the subtree that is searched at a node."),
        *_common_grids(study, "Horizons", methods, methods[0]),
        *_lines_figure(study, "horizons", methods, "Accuracy by horizon"),
    ]


def _binarised(study: Study) -> list[Block]:
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
        *_common_grids(study, "Binarised", methods, methods[0]),
        *_lines_figure(study, "binarised", methods, "Accuracy by kind of feature"),
    ]


def _by_dataset(study: Study) -> list[Block]:
    blocks: list[Block] = []
    for depth in study.fits.depths:
        for method in study.present((OURS, "mh-deoct")):
            means = paired_means(study.fits, (method, BASELINE), depth, "test_accuracy")
            gains = {name: 100 * (m / b - 1) for name, (m, b) in means.items() if b > 0}
            if not gains:
                continue
            title = f"{method} relative to {BASELINE}, test accuracy, %, depth {depth}"
            svg = plots.bars_by_dataset(gains, title)
            blocks.append(Figure(f"gains-{method}-depth-{depth}", svg, title))
    return [Heading(2, "Relative difference to CART by data set"), *blocks] if blocks else []


def _times(study: Study) -> list[Block]:
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
    grid = _grid(["method", "depth", "slope", "data sets"], rows)
    return [Heading(2, "Time against data size"), Paragraph(text), *blocks, grid]


def _engines(study: Study) -> list[Block]:
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
        _grid(header, rows),
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


def _appendix(study: Study) -> list[Block]:
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
            cells = [
                f"{100 * fmean(f.train_accuracy for f in fits.values()):.1f} / "
                f"{100 * fmean(f.test_accuracy for f in fits.values()):.1f}"
                if fits
                else "-"
                for fits in known
            ]
            rows.append([dataset, *map(str, (first.n_train, first.n_features, first.n_classes))])
            rows[-1] += cells
        if rows:
            header = ["data set", "training rows", "features", "classes", *here]
            blocks += [Heading(3, f"Data sets at depth {depth}"), _grid(header, rows)]
    if not blocks:
        return []
    text = "Training / test accuracy in %, mean over the random splits that the method has."
    return [Heading(2, "Appendix: every data set"), Paragraph(text), *blocks]
