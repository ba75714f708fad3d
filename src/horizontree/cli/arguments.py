"""The options of each command."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from horizontree._version import __version__
from horizontree.cli.console import CommandError

METHOD_NAMES = (
    "horizon", "mh-deoct", "deoct", "cart", "ls-oct", "quant-bnb", "rs-oct",
    "gosdt-guesses", "iai-oct", "contree", "streed",
)  # fmt: skip
DEFAULT_SEED = 0


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are `CommandError`, shown as one line."""

    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message} (see {self.prog} --help)")


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; ``run`` of the result is the command's function."""
    parser = _Parser(
        prog="horizontree",
        description="Train, apply and read small, accurate classification trees.",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"horizontree {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    for add in (
        _add_fit, _add_predict, _add_evaluate, _add_show, _add_tune, _add_compare, _add_bench,
        _add_doctor,
    ):  # fmt: skip
        add(commands)
    arguments = parser.parse_args(argv)
    if arguments.command is None:
        raise CommandError(
            f"no command given; expected one of {', '.join(commands.choices)} "
            "(see horizontree --help)"
        )
    return arguments


_Commands = argparse._SubParsersAction  # the type of add_subparsers(); it has no public name


def _add_fit(commands: _Commands[_Parser]) -> None:
    fit = commands.add_parser(
        "fit",
        help="train a tree on a data file",
        description="Train a tree, show it next to CART, and save it.",
        allow_abbrev=False,
    )
    _add_data(fit)
    _add_method(fit)
    _add_tree(fit)
    _add_search(fit)
    result = fit.add_argument_group("the result")
    result.add_argument("--test-fraction", type=_fraction, default=0.0, metavar="F",
                        help="share of the rows held out to test the tree")  # fmt: skip
    result.add_argument("--output", metavar="MODEL.json", help="where to save the model")
    result.add_argument("--json", action="store_true", help="print one JSON object")
    result.add_argument("--quiet", action="store_true", help="no progress on stderr")
    fit.set_defaults(run=_later("fit"))


def _add_data(parser: _Parser) -> None:
    parser.add_argument("data", metavar="DATA", help="CSV, CSV.gz or Parquet, one row a sample")
    parser.add_argument("--target", required=True, metavar="NAME", help="the column to predict")
    parser.add_argument("--drop", nargs="+", action="extend", default=[], metavar="COL",
                     help="columns to leave out")  # fmt: skip


def _add_method(parser: _Parser) -> None:
    parser.add_argument("--method", choices=METHOD_NAMES, default="horizon",
                     help="default: %(default)s")  # fmt: skip


def _add_tree(parser: _Parser, *, has_price: bool = True) -> None:
    tree = parser.add_argument_group("the tree")
    tree.add_argument("--depth", type=_integer(1), metavar="N",
                      help="levels of questions (default: 4; exact methods 2 or 3)")  # fmt: skip
    tree.add_argument("--min-samples-leaf", type=_integer(1), metavar="N",
                      help="fewest rows in a leaf (default: 1)")  # fmt: skip
    if not has_price:
        parser.set_defaults(ccp_alpha=None)
        return
    tree.add_argument("--ccp-alpha", type=_number(0), metavar="A",
                      help="price of a split, as a share of the rows (default: 0)")  # fmt: skip


def _add_search(parser: _Parser) -> None:
    search = parser.add_argument_group("the search")
    search.add_argument("--effort", choices=("quick", "normal", "thorough"),
                        help="of --method horizon (default: normal)")  # fmt: skip
    search.add_argument("--mode", choices=("normal", "long"),
                        help="of --method mh-deoct and deoct (default: normal)")  # fmt: skip
    search.add_argument("--horizon", type=_horizon, metavar="N",
                        help="levels looked ahead, or auto (default: auto)")  # fmt: skip
    search.add_argument("--time-limit", type=_number(0, is_open=True), metavar="SECONDS",
                        help="of each fit: keep the best tree found by then")  # fmt: skip
    search.add_argument("--seed", type=_integer(0, 2**32 - 1), metavar="N",
                        help="same seed, same tree (default: 0)")  # fmt: skip
    search.add_argument("--jobs", type=_jobs, metavar="N", help="threads; -1 for all (default: 1)")
    search.add_argument("--backend", choices=("auto", "cpu", "jax"),
                        help="where to count; jax is for GPUs (default: auto)")  # fmt: skip


def _add_tune(commands: _Commands[_Parser]) -> None:
    tune = commands.add_parser(
        "tune",
        help="choose the price of a split by validation",
        description="Choose --ccp-alpha by validation, and train with it on all rows.",
        allow_abbrev=False,
    )
    _add_data(tune)
    _add_method(tune)
    _add_tree(tune, has_price=False)
    _add_search(tune)
    choice = tune.add_argument_group("the choice")
    choice.add_argument("--cv", type=_cv, default=5, metavar="N",
                        help="a number of folds, or holdout for a third of the rows "
                             "(default: 5)")  # fmt: skip
    choice.add_argument("--alphas", type=_integer(2), default=21, metavar="N",
                        help="prices to choose from (default: 21)")  # fmt: skip
    choice.add_argument("--selection", choices=("auto", "best"), default="auto",
                        help="best: the highest score, of equal ones the smallest trees; auto: "
                             "unless a few rows may be luck (default: auto)")  # fmt: skip
    result = tune.add_argument_group("the result")
    result.add_argument("--output", metavar="MODEL.json", help="where to save the model")
    result.add_argument("--plot", metavar="FILE",
                        help="accuracy and size against the price: .svg, .png or .pdf")  # fmt: skip
    result.add_argument("--json", action="store_true", help="print one JSON object")
    result.add_argument("--quiet", action="store_true", help="no progress on stderr")
    tune.set_defaults(run=_later("tune"), test_fraction=0.0)


def _add_compare(commands: _Commands[_Parser]) -> None:
    compare = commands.add_parser(
        "compare",
        help="compare methods on a data file",
        description="Cross-validate several methods on a data file, side by side.",
        allow_abbrev=False,
    )
    _add_data(compare)
    compare.add_argument("--methods", nargs="+", choices=METHOD_NAMES, metavar="METHOD",
                         default=["cart", "mh-deoct", "horizon"],
                         help="default: cart mh-deoct horizon")  # fmt: skip
    compare.add_argument("--folds", type=_integer(2), default=5, metavar="N",
                         help="parts that the rows are divided into (default: 5)")  # fmt: skip
    _add_tree(compare)
    _add_search(compare)
    compare.add_argument("--json", action="store_true", help="print one JSON object")
    compare.add_argument("--quiet", action="store_true", help="no progress on stderr")
    compare.set_defaults(run=_later("compare"), test_fraction=0.0)


def _add_bench(commands: _Commands[_Parser]) -> None:
    bench = commands.add_parser(
        "bench",
        help="compare methods on a folder of data sets",
        description="The study of the paper: run it, and write its report.",
        allow_abbrev=False,
    )
    steps = bench.add_subparsers(metavar="STEP", dest="step", required=True)
    study = steps.add_parser(
        "study",
        help="fit methods on data sets, one row a fit",
        description=(
            "Fit each method at each depth on random splits (75 % training rows) of each data "
            "set, and keep a row for each fit. It can be stopped at any moment; the same command "
            "goes on."
        ),
        allow_abbrev=False,
    )
    study.add_argument("--data", metavar="FOLDER",
                       help="of CSV and Parquet files, the class in the last column of each "
                       "(default: the environment variable HORIZONTREE_SHARED)")  # fmt: skip
    study.add_argument("--results", default="study.csv", metavar="FILE.csv",
                       help="the table of fits (default: study.csv)")  # fmt: skip
    study.add_argument("--methods", nargs="+", metavar="METHOD",
                       default=["cart-sklearn", "cart", "mh-deoct", "horizon"],
                       help="names of the tables; see docs/study.md (default: cart-sklearn cart "
                       "mh-deoct horizon)")  # fmt: skip
    study.add_argument("--depths", nargs="+", type=_integer(1, 12), default=[2, 3, 4, 8],
                       metavar="N", help="default: 2 3 4 8")  # fmt: skip
    study.add_argument("--splits", type=_integer(1), default=10, metavar="N",
                       help="random splits of each data set (default: 10)")  # fmt: skip
    study.add_argument("--splits-at", nargs="+", type=_splits_at, default=[], metavar="DEPTH=N",
                       help="another number of random splits at one depth")  # fmt: skip
    study.add_argument("--first-split", type=_integer(0), default=10, metavar="N",
                       help="its number; choices were made on 0 to 9 (default: 10)")  # fmt: skip
    study.add_argument("--datasets", nargs="+", metavar="NAME", help="only these (default: all)")
    study.add_argument("--time-limit", type=_number(0, is_open=True), default=60.0,
                       metavar="SECONDS", help="of an exact fit (default: 60)")  # fmt: skip
    study.add_argument("--jobs", type=_integer(1), default=1, metavar="N",
                       help="fits at a time, one thread each (default: 1)")  # fmt: skip
    study.set_defaults(run=_later("bench", "run_study_step"))
    report = steps.add_parser(
        "report",
        help="write tables and figures of a study",
        description=(
            "Write the report of a study as Markdown with figures, and as one HTML page that "
            "needs no other file."
        ),
        allow_abbrev=False,
    )
    report.add_argument("results", metavar="FILE.csv", help="the table of fits")
    report.add_argument("--output", metavar="FILE.md",
                        help="the report (default: beside the table)")  # fmt: skip
    report.set_defaults(run=_later("bench", "run_report_step"))


def _add_predict(commands: _Commands[_Parser]) -> None:
    predict = commands.add_parser(
        "predict",
        help="predict the class of each row",
        description="Predict the class of each row. Columns are matched by name.",
        allow_abbrev=False,
    )
    predict.add_argument("model", metavar="MODEL", help="a model that fit saved")
    predict.add_argument("data", metavar="DATA", help="CSV, CSV.gz or Parquet")
    predict.add_argument("--output", metavar="FILE", help=".csv or .parquet (default: stdout)")
    predict.add_argument("--proba", action="store_true",
                         help="add a column probability_CLASS for each class")  # fmt: skip
    predict.add_argument("--json", action="store_true", help="print one JSON object")
    predict.set_defaults(run=_later("predict"))


def _add_evaluate(commands: _Commands[_Parser]) -> None:
    evaluate = commands.add_parser(
        "evaluate",
        help="compare predictions with known classes",
        description="Accuracy, precision, recall and confusion matrix of a model on a data file.",
        allow_abbrev=False,
    )
    evaluate.add_argument("model", metavar="MODEL", help="a model that fit saved")
    evaluate.add_argument("data", metavar="DATA", help="CSV, CSV.gz or Parquet")
    evaluate.add_argument("--target", metavar="NAME",
                          help="the column of true classes (default: as at fit)")  # fmt: skip
    evaluate.add_argument("--json", action="store_true", help="print one JSON object")
    evaluate.set_defaults(run=_later("evaluate"))


def _add_show(commands: _Commands[_Parser]) -> None:
    show = commands.add_parser(
        "show",
        help="show a saved tree",
        description="Draw a saved tree, and tell how it was made.",
        allow_abbrev=False,
    )
    show.add_argument("model", metavar="MODEL", help="a model that fit saved")
    show.add_argument("--json", action="store_true", help="print one JSON object")
    show.set_defaults(run=_later("show"))


def _add_doctor(commands: _Commands[_Parser]) -> None:
    doctor = commands.add_parser(
        "doctor",
        help="check the backends of this machine",
        description="Which backends work here, whether they agree, and how fast they are.",
        allow_abbrev=False,
    )
    doctor.add_argument("--quick", action="store_true", help="little data; a few seconds")
    doctor.add_argument("--json", action="store_true", help="print one JSON object")
    doctor.set_defaults(run=_later("doctor"))


def _later(module: str, function: str = "run") -> Callable[[argparse.Namespace], None]:
    """Return a command that is imported when it runs.

    The commands import numba and scikit-learn; a mistyped option need not wait for them.
    """

    def run(arguments: argparse.Namespace) -> None:
        getattr(import_module(f"horizontree.cli.{module}"), function)(arguments)

    return run


class _integer:  # noqa: N801  (argparse shows the name of a type in its messages)
    """Accept an integer in a range."""

    def __init__(self, least: int, most: int | None = None) -> None:
        self.least, self.most = least, most

    def __call__(self, text: str) -> int:
        upper = f" and at most {self.most}" if self.most is not None else ""
        try:
            value = int(text)
        except ValueError:
            value = self.least - 1
        if value < self.least or (self.most is not None and value > self.most):
            raise argparse.ArgumentTypeError(
                f"expected an integer of at least {self.least}{upper}, got {text!r}"
            )
        return value


class _number:  # noqa: N801
    """Accept a finite number of at least, or above, a limit."""

    def __init__(self, least: float, *, is_open: bool = False) -> None:
        self.least, self.is_open = least, is_open

    def __call__(self, text: str) -> float:
        value = _float(text)
        is_low = value <= self.least if self.is_open else value < self.least
        if is_low or not math.isfinite(value):
            relation = "above" if self.is_open else "of at least"
            raise argparse.ArgumentTypeError(
                f"expected a number {relation} {self.least}, got {text!r}"
            )
        return value


def _fraction(text: str) -> float:
    value = _float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to below 1, got {text!r}")
    return value


def _horizon(text: str) -> int | str:
    if text == "auto":
        return text
    try:
        return _integer(1)(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"expected auto or an integer of at least 1, got {text!r}"
        ) from None


def _cv(text: str) -> int | str:
    if text == "holdout":
        return text
    try:
        return _integer(2)(text)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"expected holdout or an integer of at least 2, got {text!r}"
        ) from None


def _splits_at(text: str) -> tuple[int, int]:
    depth, _, number = text.partition("=")
    if not (depth.isdecimal() and number.isdecimal() and int(number) > 0):
        raise argparse.ArgumentTypeError(
            f"expected DEPTH=N with N of at least 1, for example 8=1, got {text!r}"
        )
    return int(depth), int(number)


def _jobs(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value == 0:
        raise argparse.ArgumentTypeError(
            f"expected a number of threads, or -1 for all, got {text!r}"
        )
    return value


def _float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan
