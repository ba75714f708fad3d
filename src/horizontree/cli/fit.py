"""``horizontree fit``: train a tree, show it next to CART, save it."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from horizontree.cli.console import (
    note,
    percent,
    plural,
    ratio,
    say,
    say_json,
    table,
)
from horizontree.cli.devices import check_jax, keep_programs
from horizontree.cli.evaluate import Comparison, compare
from horizontree.cli.labels import Labels
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


def _on_interrupt(estimator: Any) -> str:
    """Say what Ctrl-C does; packages of others do not hear it."""
    is_ours = ".peers" not in type(estimator).__module__
    return " (Ctrl-C keeps the best tree so far)" if is_ours else " (--time-limit ends it)"


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    if arguments.output is not None:
        check_output(arguments.output, arguments.data)
    refuse_idle_options(arguments, [arguments.method])
    estimator = make_estimator(arguments, arguments.method)
    check_options(estimator)
    if not is_quiet(arguments):
        estimator.set_params(verbose=1)
    keep_programs()
    if arguments.backend == "jax":
        check_jax()
    samples = read_samples(arguments)
    fitted = {}
    if arguments.method != "cart":
        cart = make_estimator(arguments, "cart").set_params(max_depth=estimator.max_depth)
        fitted["cart"] = fit_on(cart, samples)
        if not is_quiet(arguments):
            errors = plural(fitted["cart"].n_errors_, "training error")
            note(f"CART: {errors}; now {arguments.method}{_on_interrupt(estimator)}")
    fitted[arguments.method] = fit_on(estimator, samples).set_params(verbose=0)
    if arguments.output is not None:  # at once: what follows may be interrupted
        save(estimator, samples.names, arguments)
    tests = {name: _test(model, samples) for name, model in fitted.items() if samples.n_test}
    estimator.feature_names_in_ = np.array(samples.names, dtype=object)
    if arguments.json:
        say_json(_summary(arguments, samples, fitted, tests))
    else:
        say(_text(arguments, samples, fitted, tests))


def _test(estimator: Any, samples: Samples) -> Comparison:
    held_out = Labels(
        samples.labels.values, samples.labels.texts, samples.labels.codes[samples.n_train :]
    )
    return compare(estimator, samples.matrix[samples.n_train :], held_out)


def _summary(
    arguments: argparse.Namespace,
    samples: Samples,
    fitted: dict[str, Any],
    tests: dict[str, Comparison],
) -> dict[str, Any]:
    methods = {}
    for name, model in fitted.items():
        right = samples.n_train - model.n_errors_
        methods[name] = {
            "train": {"rows": samples.n_train, "errors": int(model.n_errors_),
                      "accuracy": ratio(right, samples.n_train)},
            "test": {"rows": tests[name].n_rows,
                     "errors": tests[name].n_rows - tests[name].n_right,
                     "accuracy": ratio(tests[name].n_right, tests[name].n_rows)}
                    if name in tests else None,
        }  # fmt: skip
    return {
        "data": arguments.data,
        "target": arguments.target,
        "rows": len(samples.matrix),
        "class_rows": [
            {"label": label, "rows": count} for label, count in samples.labels.counts().items()
        ],
        "results": methods,
        **facts(fitted[arguments.method], arguments.method),
        "output": arguments.output,
    }


def _text(
    arguments: argparse.Namespace,
    samples: Samples,
    fitted: dict[str, Any],
    tests: dict[str, Comparison],
) -> str:
    lines = [described(arguments, samples)]
    if samples.n_test:
        lines.append(
            f"trained on {plural(samples.n_train, 'row')}, tested on "
            f"{plural(samples.n_test, 'row')} (seed {seed_of(arguments)})"
        )
    model = fitted[arguments.method]
    lines += ["", _results(samples, fitted, tests), "", _verdict(arguments.method, model)]
    lines += ending(model)
    return "\n".join([*lines, "", tree_text(model), "", *next_steps(arguments)])


def _results(samples: Samples, fitted: dict[str, Any], tests: dict[str, Comparison]) -> str:
    rows = [["", "training errors", "training accuracy"] + ["test accuracy"] * bool(tests)]
    for name, model in fitted.items():
        right = samples.n_train - model.n_errors_
        row = [name, f"{model.n_errors_:,}", percent(right, samples.n_train)]
        if name in tests:
            row.append(percent(tests[name].n_right, tests[name].n_rows))
        rows.append(row)
    return table(rows)


def _verdict(method: str, model: Any) -> str:
    tree = model.tree_
    return (
        f"{method}: depth {tree.max_depth}, {plural(tree.n_leaves, 'leaf')}, "
        f"objective {model.objective_:.10g}, {model.status_}, {model.fit_time_:.2f} s"
    )
