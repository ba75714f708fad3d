"""Data for the tests of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars

LABELS = {"text": ["no", "yes"], "integer": [3, 7], "float": [0.0, 1.0], "boolean": [False, True]}


def make_frame(labels: list[Any], n_rows: int = 60) -> Any:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=n_rows).round(3), rng.integers(0, 9, size=n_rows)
    codes = ((a > 0) & (b > 4)).astype(int)
    return polars.DataFrame({"a": a, "b": b, "y": [labels[code] for code in codes]})


def write(text: str, name: str = "bad.csv") -> str:
    Path(name).write_text(text)
    return name
