"""GOSDT, called here or run as a program of its own, which can be stopped at any moment.

As a program it reads a ``.npz`` file with the samples and the settings from standard input, and
writes what was found to standard output, as JSON. It loads no more than the package's compiled
part: the package itself imports pandas and scikit-learn, for two seconds that a short time limit
does not have.
"""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Any

import numpy as np

Solver = Callable[..., dict[str, Any]]

_DEFAULTS = {
    "cancellation": True,
    "look_ahead": True,
    "similar_support": True,
    "rule_list": False,
    "non_binary": False,
    "diagnostics": False,
    "verbose": False,
    "model_limit": 1,
    "worker_limit": 1,
}
"""What ``gosdt.GOSDTClassifier`` tells the compiled part."""


def solve(answers: Any, y: Any, guessed: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the trees that the package found, its iterations, and whether its time was up."""
    solver = import_module("gosdt").GOSDTClassifier(**settings)
    solver.fit(answers, y, y_ref=guessed)
    result = solver.get_result()
    return {
        "models": json.loads(result["models_string"]),
        "n_iterations": int(result["n_iterations"]),
        "was_stopped": result["status"].name == "TIMEOUT",
    }


def solve_directly(
    library: Any, answers: Any, y: Any, guessed: Any, settings: dict[str, Any]
) -> dict[str, Any]:
    """Do what ``solve`` does, with the compiled part of the package alone.

    Parameters
    ----------
    library : module
        The compiled part.
    answers : bool array of shape (n_samples, n_questions)
        The samples.
    y : integer array of shape (n_samples,)
        Classes ``0..n_classes-1``, each of them at least once.
    guessed : integer array of shape (n_samples,), or None
        What a reference model says; every class is among it.
    settings : dict
        ``regularization`` (at least one sample), ``depth_budget`` and ``time_limit``.

    Returns
    -------
    dict
        As of ``solve``.
    """
    n_samples, n_questions = answers.shape
    classes = np.arange(y.max() + 1)
    configuration = library.Configuration()
    for name, value in _DEFAULTS.items():
        setattr(configuration, name, value)
    configuration.regularization = settings["regularization"]
    configuration.depth_budget = settings["depth_budget"] + 1  # it counts the levels of nodes
    if settings["time_limit"] is not None:
        configuration.time_limit = settings["time_limit"]
    samples = _filled(library.BoolMatrix, np.hstack([answers, y[:, None] == classes]))
    cost = _filled(library.FloatMatrix, (classes[:, None] != classes) / n_samples)
    features = [{column} for column in range(n_questions)]
    labels = [] if guessed is None else [_filled(library.BoolMatrix, guessed[:, None] == classes)]
    found = library.gosdt_fit(library.Dataset(configuration, samples, cost, features, *labels))
    status = found.status.name
    if status in ("UNINITIALIZED", "FALSE_CONVERGENCE"):
        raise RuntimeError(f"the search ended without a tree: {status}")
    return {
        "models": json.loads(found.model),
        "n_iterations": int(found.n_iterations),
        "was_stopped": status == "TIMEOUT",
    }


def _filled(kind: Any, values: Any) -> Any:
    """Return a matrix of the package's."""
    matrix = kind(*values.shape)
    view = np.asarray(matrix)
    if not np.shares_memory(view, np.asarray(matrix)):  # a copy
        raise TypeError("the package's matrices cannot be written to")
    np.copyto(view, values)
    return matrix


def compiled_part() -> Any:
    """Load the package's compiled part alone; None where that cannot be done."""
    package = find_spec("gosdt")
    folders = None if package is None else package.submodule_search_locations
    spec = PathFinder.find_spec("gosdt._libgosdt", folders)
    if spec is None or spec.loader is None:
        return None
    try:
        library = module_from_spec(spec)
        spec.loader.exec_module(library)
    except ImportError:  # what it needs, the package's own import may find
        return None
    return library


def quick_solver() -> Solver:
    """Return what solves without the package's own import where that can be done."""
    library = compiled_part()
    if library is None:
        import_module("gosdt")  # while the samples are made ready
        return solve

    def solve_quickly(*asked: Any) -> dict[str, Any]:
        try:
            return solve_directly(library, *asked)
        except (
            AttributeError,
            TypeError,
            ValueError,
        ):  # in another version the parts may be others
            return solve(*asked)

    return solve_quickly


def main() -> None:
    """Solve what comes in, and say what came out."""
    solver = quick_solver()
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # what the package prints is not the answer
        with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as sent:
            settings = json.loads(str(sent["settings"]))
            found = solver(sent["answers"], sent["y"], sent.get("guessed"), settings)
        json.dump(found, out)


if __name__ == "__main__":
    main()
