"""``horizontree bench``: the study of the paper on a folder of data sets, and its report."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from horizontree.bench.corpus import CorpusError, list_datasets, shared_folder
from horizontree.bench.methods import METHODS
from horizontree.bench.report import write_report
from horizontree.bench.results_file import Plan, ResultsError, read_results, read_runs
from horizontree.bench.study import StudyError, planned_fits, run_study
from horizontree.cli.console import CommandError, note, plural, say, suggestion
from horizontree.plotting import MissingPlotsError
from horizontree.terminal import visible


def run_study_step(arguments: argparse.Namespace) -> None:
    """Run ``horizontree bench study``."""
    for method in arguments.methods:
        if method not in METHODS:
            raise CommandError(
                f"--methods: there is no {method!r}; {suggestion(method, list(METHODS), 'methods')}"
            )
    results = Path(arguments.results)
    _check_name(results)
    previous = signal.signal(signal.SIGTERM, signal.default_int_handler)  # a kill like a Ctrl-C
    try:
        shared = shared_folder(arguments.data)
        if results.resolve().parent in (shared.resolve(), (shared / "datasets").resolve()):
            raise CommandError(
                f"{results} lies in the data folder, and would be taken for a data set; choose "
                "another folder with --results"
            )
        plan = _plan(arguments, shared)
        if not planned_fits(plan):
            raise CommandError(
                "none of these methods makes trees of these depths; choose others with --methods "
                "or --depths"
            )
        _note_left_out(plan)
        n_failed, n_fitted = run_study(
            plan,
            shared=shared,
            results=results,
            time_limit=arguments.time_limit,
            jobs=arguments.jobs,
            command=_command(arguments),
        )
    except KeyboardInterrupt:
        note("The finished fits are kept; the same command goes on.")
        raise
    except (CorpusError, ResultsError, StudyError) as error:
        raise CommandError(str(error).rstrip(".")) from None
    finally:
        signal.signal(signal.SIGTERM, previous)
    if n_failed and n_failed == n_fitted:
        raise CommandError(f"all {plural(n_failed, 'fit')} failed; {results} says why, each")
    if n_failed:
        note(f"{plural(n_failed, 'fit')} failed; the same command tries them again")
    name = visible(results)
    say(f"{name} holds the fits; next: horizontree bench report {name}")


def run_report_step(arguments: argparse.Namespace) -> None:
    """Run ``horizontree bench report``."""
    results = Path(arguments.results)
    _check_name(results)
    if not results.is_file():
        raise CommandError(f"there is no {results}; make it with horizontree bench study")
    target = results.with_suffix(".md") if arguments.output is None else Path(arguments.output)
    try:
        written = write_report(target.with_suffix(".md"), read_results(results), read_runs(results))
    except (ResultsError, MissingPlotsError) as error:
        raise CommandError(str(error).rstrip(".")) from None
    say("\n".join(f"written: {visible(path)}" for path in written))


def _check_name(results: Path) -> None:
    if results.suffix != ".csv":
        raise CommandError(f"{results}: the table of fits must be a .csv file")


def _plan(arguments: argparse.Namespace, shared: Path) -> Plan:
    names = [info.name for info in list_datasets(shared)]
    if arguments.datasets:
        known = [info.name for info in list_datasets(shared, group=None)]
        for name in arguments.datasets:
            if name not in known:
                raise CommandError(
                    f"--datasets: there is no {name!r} in the data folder; "
                    f"{suggestion(name, known, 'data sets')}"
                )
        names = list(dict.fromkeys(arguments.datasets))
    depths = tuple(dict.fromkeys(arguments.depths))
    for depth, n in arguments.splits_at:
        if depth not in depths:
            raise CommandError(
                f"--splits-at {depth}={n}: {depth} is none of the depths "
                f"({', '.join(map(str, depths))}); add it to --depths, or leave this out"
            )
    methods = tuple(dict.fromkeys(arguments.methods))
    return Plan(
        methods=methods,
        datasets=tuple(names),
        depths=depths,
        n_splits=arguments.splits,
        splits_at=tuple(arguments.splits_at),
        first_split=arguments.first_split,
    )


def _note_left_out(plan: Plan) -> None:
    """Say which methods are not run at some of the depths."""
    left_out = []
    for method in plan.methods:
        depths = [str(depth) for depth in plan.depths if not METHODS[method].applies_to(depth)]
        if depths:
            left_out.append(f"{method} at depth {' and '.join(depths)}")
    if left_out:
        which = "it makes" if len(left_out) == 1 else "they make"
        note(f"left out: {', '.join(left_out)} ({which} no trees of that depth)")


def _command(arguments: argparse.Namespace) -> str:
    """Write the command without the folders of this machine."""
    words = ["horizontree bench study --data FOLDER --methods", *arguments.methods]
    words += ["--depths", *map(str, arguments.depths), f"--splits {arguments.splits}"]
    words.append(f"--first-split {arguments.first_split}")
    if arguments.splits_at:
        words += ["--splits-at", *(f"{depth}={number}" for depth, number in arguments.splits_at)]
    if arguments.datasets:
        words += ["--datasets", *arguments.datasets]
    return " ".join([*words, f"--time-limit {arguments.time_limit:g}", f"--jobs {arguments.jobs}"])
