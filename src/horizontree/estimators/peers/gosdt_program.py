"""GOSDT, called here or run as a program of its own, which can be stopped at any moment.

As a program it reads a ``.npz`` file with the samples and the settings from standard input, and
writes what was found to standard output, as JSON.
"""

from __future__ import annotations

import io
import json
import os
import sys
from importlib import import_module
from typing import Any

import numpy as np


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


def main() -> None:
    """Solve what comes in, and say what came out."""
    import_module("gosdt")  # takes a second or two, while the samples are made ready
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(2, 1)  # what the package prints is not the answer
        with np.load(io.BytesIO(sys.stdin.buffer.read()), allow_pickle=False) as sent:
            settings = json.loads(str(sent["settings"]))
            found = solve(sent["answers"], sent["y"], sent.get("guessed"), settings)
        json.dump(found, out)


if __name__ == "__main__":
    main()
