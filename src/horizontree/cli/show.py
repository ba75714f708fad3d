"""``horizontree show``: draw a saved tree, and tell how it was made."""

from __future__ import annotations

import argparse
from typing import Any

from horizontree.cli.console import percent, plural, say, say_json
from horizontree.cli.labels import as_text
from horizontree.cli.models import facts, open_model
from horizontree.terminal import visible


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    saved = open_model(arguments.model)
    known = facts(saved.estimator, saved.method)
    if arguments.json:
        say_json({"model": arguments.model, "created_with": saved.created_with,
                  "target": saved.target, **known})  # fmt: skip
        return
    rows = _fact_rows(known, saved.estimator.get_params(deep=False))
    if saved.target is not None:
        rows.insert(0, ("target", saved.target))
    rows.append(("created with", saved.created_with))
    width = max(len(name) for name, _ in rows)
    say(known["tree_text"])
    say()
    for name, value in rows:
        say(f"{name.ljust(width)}  {visible(value)}")


def _fact_rows(known: dict[str, Any], parameters: dict[str, Any]) -> list[tuple[str, object]]:
    training = known["training"]
    right = training["rows"] - training["errors"]
    errors, n_rows = plural(training["errors"], "error"), plural(training["rows"], "row")
    given = {name: value for name, value in parameters.items() if value is not None}
    return [
        ("method", known["method"]),
        ("classes", ", ".join(as_text(label) for label in known["classes"])),
        ("size", f"depth {known['depth']}, {plural(known['leaves'], 'leaf')}"),
        ("features", f"{known['n_features_used']} used of {known['n_features']}"),
        ("training", f"{errors} in {n_rows}, accuracy {percent(right, training['rows'])}"),
        ("objective", _number(known["objective"])),
        ("lower bound", _number(known["lower_bound"])),
        ("status", known["status"]),
        ("fit time", f"{known['fit_time']:.2f} s"),
        ("seed", parameters.get("random_state")),
        ("parameters", ", ".join(f"{name}={value!r}" for name, value in given.items())),
    ]


def _number(value: object) -> str:
    if isinstance(value, dict):  # the model file's way to write inf and nan
        return str(value["float"])
    return f"{value:.10g}" if isinstance(value, int | float) else "unknown"
