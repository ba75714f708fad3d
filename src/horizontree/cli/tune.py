"""``horizontree tune``: the price of a split by validation, then a tree of all rows."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from horizontree.cli.console import CommandError, note, plural, say, say_json, table
from horizontree.cli.devices import check_jax, keep_programs
from horizontree.cli.models import check_output, ending, facts, tree_text
from horizontree.cli.training import (
    Samples,
    check_options,
    described,
    fit_on,
    is_quiet,
    make_estimator,
    next_steps,
    read_samples,
    refuse_idle_options,
    save,
    seed_of,
)
from horizontree.estimators import AlphaSearchCV
from horizontree.plotting import (
    PLOT_ENDINGS,
    MissingPlotsError,
    require_matplotlib,
    save_alpha_path,
)
from horizontree.terminal import visible


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    if arguments.output is not None:
        check_output(arguments.output, arguments.data)
    refuse_idle_options(arguments, [arguments.method])
    estimator = make_estimator(arguments, arguments.method)
    check_options(estimator)
    if arguments.plot is not None:
        _check_plot(arguments.plot)
        check_output(arguments.plot, arguments.data)
        if arguments.output is not None and _is_same(arguments.plot, arguments.output):
            raise CommandError("--plot and --output name the same file; choose two")
    keep_programs()
    if arguments.backend == "jax":
        check_jax()
    samples = read_samples(arguments)
    search = AlphaSearchCV(
        estimator,
        n_alphas=arguments.alphas,
        cv=arguments.cv,
        selection=arguments.selection,
        random_state=seed_of(arguments),
    )
    if not is_quiet(arguments):
        note(f"fitting {arguments.method} a few times for {arguments.alphas} prices of a split ...")
    fit_on(search, samples)
    model = search.best_estimator_
    model.feature_names_in_ = np.array(samples.names, dtype=object)
    if arguments.output is not None:
        save(model, samples.names, arguments)
    if arguments.plot is not None:
        save_alpha_path(search, arguments.plot)
    if arguments.json:
        say_json(_summary(arguments, samples, search))
    else:
        say(_text(arguments, samples, search))


def _is_same(path: str, other: str) -> bool:
    return Path(path).resolve() == Path(other).resolve()


def _check_plot(path: str) -> None:
    """Refuse a plot that cannot be drawn, before the search."""
    if Path(path).suffix.lower() not in PLOT_ENDINGS:
        raise CommandError(f"--plot {path}: expected a name that ends in .svg, .png or .pdf")
    try:
        require_matplotlib()
    except MissingPlotsError as error:
        raise CommandError(str(error).rstrip(".")) from None


def _summary(
    arguments: argparse.Namespace, samples: Samples, search: AlphaSearchCV
) -> dict[str, Any]:
    return {
        "data": arguments.data,
        "target": arguments.target,
        "rows": len(samples.matrix),
        "path": {name: column.tolist() for name, column in search.cv_results_.items()},
        "best_alpha": search.best_alpha_,
        "best_score": search.best_score_,
        "fits": search.n_fits_,
        **facts(search.best_estimator_, arguments.method),
        "output": arguments.output,
        "plot": arguments.plot,
    }


def _text(arguments: argparse.Namespace, samples: Samples, search: AlphaSearchCV) -> str:
    results = search.cv_results_
    rows = [["ccp_alpha", "validation accuracy", "training accuracy", "splits", ""]]
    for i, alpha in enumerate(results["ccp_alpha"]):
        rows.append(
            [
                f"{alpha:.6g}",
                f"{100 * results['mean_test_score'][i]:.2f} %",
                f"{100 * results['mean_train_score'][i]:.2f} %",
                f"{results['mean_n_splits'][i]:.1f}",
                "<- chosen" if alpha == search.best_alpha_ else "",
            ]
        )
    model = search.best_estimator_
    tree = model.tree_
    half_a_row = 0.5 / len(samples.matrix)
    is_highest = search.best_score_ > results["mean_test_score"].max() - half_a_row
    return "\n".join(
        [
            described(arguments, samples),
            "",
            table(rows),
            *([] if is_highest else ["(a few more rows right at another price may be luck)"]),
            "",
            f"{arguments.method} with ccp_alpha {search.best_alpha_:.6g} on all rows: depth "
            f"{tree.max_depth}, {plural(tree.n_leaves, 'leaf')}, "
            f"{plural(model.n_errors_, 'training error')} ({plural(search.n_fits_, 'fit')} in all)",
            *ending(model),
            "",
            tree_text(model),
            "",
            *next_steps(arguments),
            *([] if arguments.plot is None else [f"plot saved to {visible(arguments.plot)}"]),
        ]
    )
