"""Sections of the report that compare methods."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from horizontree.bench import paper, plots
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
    averages_grid,
    comparisons,
    differences_grid,
    gain_header,
    gain_rows,
    grid_of,
    lines_figure,
    p_text,
    percent,
    signed,
)
from horizontree.bench.statistics import (
    PARTS,
    average,
    common_splits,
    paired_means,
    rank,
)


def comparison(study: Study) -> list[Block]:
    """Return the averages of all methods by depth."""
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
        blocks += [Heading(3, f"Depth {depth}"), averages_grid(study, methods, depth)]
    shown = study.present((study.baseline, "deoct", "mh-deoct", OURS))
    return [*blocks, *lines_figure(study, "accuracy-by-depth", shown, "Mean accuracy by depth")]


def gains_over_cart(study: Study) -> list[Block]:
    """Return relative gains over CART, and paired differences with tests."""
    baseline = study.baseline
    methods = study.present(COMPARED)
    blocks: list[Block] = []
    rows = gain_rows(study, methods, baseline)
    if rows:
        blocks += [
            Heading(2, f"Relative gain over {baseline}, %"),
            Paragraph(
                f"At a depth: (mean accuracy - mean accuracy of {baseline}) / mean accuracy of "
                f"{baseline}, both over the same fits; then the mean over the depths that are "
                "there. The next column averages the relative gains of the single data sets "
                "instead."
            ),
            grid_of(gain_header(study), rows),
        ]
    pairs = [(method, baseline) for method in methods if method != baseline]
    pairs += [(OURS, method) for method in methods if method not in (OURS, baseline)]
    pairs = [(a, b) for a, b in pairs if {a, b} <= set(methods)]
    if pairs:
        blocks += [
            Heading(2, "Paired differences"),
            Paragraph(
                "Differences in points over data sets, with their standard errors, how many data "
                "sets are better, equal and worse, and the two-sided p-value of Wilcoxon's "
                "signed-rank test."
            ),
            differences_grid(study, pairs, PARTS),
        ]
    return blocks


def against_the_paper(study: Study) -> list[Block]:
    """Return our figures beside the paper's."""
    rows = []
    for method in study.present(COMPARED):
        figures = paper.ACCURACY.get("cart" if method == study.baseline else method)
        for depth in study.fits.depths:
            mean = average(study.fits, method, depth)
            if figures is None or mean is None or depth not in figures:
                continue
            seconds = paper.SECONDS.get(method, {}).get(depth)
            rows.append(
                [method, str(depth), percent(mean.train), f"{figures[depth][0]:.2f}"]
                + [percent(mean.test), f"{figures[depth][1]:.2f}", f"{mean.seconds:.3g}"]
                + ["-" if seconds is None else f"{seconds:g}"]
            )
    if not rows:
        return []
    header = ["method", "depth", "train %", "paper", "test %", "paper", "seconds", "paper"]
    blocks: list[Block] = [
        Heading(2, "Compared with the paper"),
        Paragraph(
            "The paper's figures are over its 65 data sets on its own random splits, its seconds "
            "are those of an A100 GPU. The data sets here are those at the end of this page."
        ),
        grid_of(header, rows),
    ]
    gains = []
    for method, stated in paper.STATED_GAIN.items():
        for part, name in enumerate(PARTS):
            found = comparisons(study, method, study.baseline, name)
            if found:
                gains.append(
                    [method, name, signed(fmean(c.gain_of_means for c in found.values()))]
                    + [signed(paper.gain_of_table(method)[part])]
                    + [signed(fmean(c.mean_of_gains for c in found.values()))]
                    + [signed(stated[part])]
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
            grid_of(header, gains),
        ]
    return blocks


def mean_ranks(study: Study) -> list[Block]:
    """Return critical-difference plots of mean ranks."""
    blocks: list[Block] = []
    for depth in study.fits.depths:
        methods = _complete_at(study, study.present(COMPARED), depth)
        ranks = rank(study.fits, methods, depth) if len(methods) > 1 else None
        if ranks is None:
            continue
        caption = (
            f"Mean ranks of the test accuracy at depth {depth} over {ranks.n_datasets} data sets "
            f"and the random splits that all have (at least {ranks.n_splits}); methods joined by "
            f"a bar are not distinguishable (Nemenyi, 5 %). Friedman p {p_text(ranks.p_value)}."
        )
        svg = plots.critical_difference(ranks, f"depth {depth}")
        blocks.append(Figure(f"ranks-depth-{depth}", svg, caption))
    return [Heading(2, "Ranks"), *blocks] if blocks else []


def _complete_at(study: Study, methods: Sequence[str], depth: int) -> list[str]:
    """Leave out methods without fits on most data sets, and the second implementation of CART."""
    others = [m for m in methods if m == study.baseline or m != "cart"]
    most = max((len(study.fits.of(method, depth)) for method in others), default=0)
    chosen = [m for m in others if 2 * len(study.fits.of(m, depth)) > most]
    return chosen if chosen and common_splits(study.fits, chosen, depth) else []


def tuned_comparison(study: Study) -> list[Block]:
    """Return methods with a tuned price of a split, beside those without."""
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
        blocks += [Heading(3, f"Tuned, depth {depth}"), averages_grid(study, methods, depth)]
    pairs = [(name, TUNED[name]) for name in tuned if TUNED[name] in study.fits.methods]
    pairs += [(name, "cart-tuned") for name in tuned if name != "cart-tuned"]
    rows = []
    for name, baseline in pairs:
        for row in gain_rows(study, [name], baseline, ("test",)):
            rows.append([f"{name} over {baseline}", *row[2:], _cost(study, name, baseline)])
    rows += _gains_in_the_paper(study)
    header = gain_header(study)
    blocks += [
        Paragraph(
            "Relative gains in test accuracy, %. The cost is the time of all of these fits as a "
            "multiple of the other's. The paper's gains by depth are those of its tables of "
            "averages; what it states is more, most likely the mean of the data sets' gains."
        ),
        grid_of([header[0], *header[2:], "cost"], rows),
        differences_grid(study, pairs),
    ]
    in_paper = [
        [name, *(f"{figures[depth]:.2f}" for depth in paper.DEPTHS)]
        for name, figures in paper.TUNED_TEST.items()
    ]
    blocks += [
        Paragraph(
            "Tuned test accuracy in the paper, %. A public draft of its authors' code takes, of "
            "the tree that was fitted again with the chosen price and the one from half of the "
            "rows, the better on the test rows, for CART and MH-DEOCT alike; no fit here looks at "
            "them."
        ),
        grid_of(["method", *(f"depth {depth}" for depth in paper.DEPTHS)], in_paper),
    ]
    title = "Mean accuracy with and without a tuned price of a split"
    return [*blocks, *lines_figure(study, "tuned", methods, title)]


def _gains_in_the_paper(study: Study) -> list[list[str]]:
    """Return the paper's gains by tuning, as rows below ours."""
    rows = []
    for (method, baseline), stated in paper.STATED_TUNED_GAIN.items():
        by_depth = paper.tuned_gains_of_table(method, baseline)
        rows.append(
            [f"paper: {method} over {baseline}"]
            + [signed(by_depth.get(depth)) for depth in study.fits.depths]
            + [signed(fmean(by_depth.values())), f"{signed(stated)} as stated", "-", "-"]
        )
    return rows


def _cost(study: Study, method: str, baseline: str) -> str:
    totals = [0.0, 0.0]
    for depth in study.fits.depths:
        for mine, base in paired_means(study.fits, (method, baseline), depth, "seconds").values():
            totals[0] += mine
            totals[1] += base
    return f"{totals[0] / totals[1]:.1f}" if totals[1] > 0 else "-"
