"""The report of a study: the paper's tables and figures from a table of fits.

Sections about methods that have no fits are left out; what was asked for and is not there, or
failed, is said at the top.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from horizontree.bench.document import (
    Block,
    Figure,
    Heading,
    Listing,
    Paragraph,
    to_html,
    to_markdown,
)
from horizontree.bench.methods import (
    METHODS,
)
from horizontree.bench.report_data import appendix, by_dataset, times_by_size
from horizontree.bench.report_methods import (
    against_the_paper,
    comparison,
    gains_over_cart,
    mean_ranks,
    tuned_comparison,
)
from horizontree.bench.report_parts import (
    Study,
    grid_of,
)
from horizontree.bench.report_variants import ablation, binarised, engines, horizons
from horizontree.bench.results_file import FitKey, FitResult, Run, write_text
from horizontree.bench.statistics import (
    Fits,
)

_MOST_FAILURES = 20


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
        head,
        comparison,
        gains_over_cart,
        against_the_paper,
        mean_ranks,
        tuned_comparison,
        ablation,
        horizons,
        binarised,
        by_dataset,
        times_by_size,
        engines,
        appendix,
    )
    return [block for section in sections for block in section(study)]


def _is_possible(key: FitKey) -> bool:
    method = METHODS.get(key.method)
    return method is None or method.applies_to(key.depth)


def head(study: Study) -> list[Block]:
    """Return the title, the protocol, what it was run on, and what did not finish."""
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
    shallow = [
        f"{method} above depth {METHODS[method].depths[1]}"
        for method in study.fits.methods
        if method in METHODS and METHODS[method].depths[1] < max(study.fits.depths, default=0)
    ]
    if shallow:
        facts.append(f"Not run: {', '.join(shallow)}")
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
    if len({run.machine for run in study.runs}) > 1:
        blocks.append(
            Paragraph(
                "The fits are of several machines: seconds, and ratios of seconds, of methods that "
                "were run on different ones do not compare."
            )
        )
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
    text = (
        "Fits that the time limit ended; their best tree so far counts in the tables. Where GOSDT "
        "gave none that is the greedy tree over its questions."
    )
    return [Paragraph(text), grid_of(["method", "depth", "stopped"], rows)]
