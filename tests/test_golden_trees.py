"""Whole trees of fixed seeds, kept in files: a change of the search shows up here.

After a change that is meant, write them anew and look at the difference::

    UPDATE_GOLDEN=1 python -m pytest tests/test_golden_trees.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from horizontree import (
    CARTClassifier,
    DEOCTClassifier,
    HorizonTreeClassifier,
    MHDEOCTClassifier,
)
from horizontree.datasets import load_banknote

FOLDER = Path(__file__).parent / "golden"
IS_UPDATE = os.environ.get("UPDATE_GOLDEN") == "1"

DATA = {
    "iris": load_iris,
    "wine": load_wine,
    "breast-cancer": load_breast_cancer,
    "banknote": lambda return_X_y: load_banknote()[:2],
}
SHORT = {"population_size": 30, "generations": 40}
MODELS = {
    "cart": CARTClassifier(max_depth=4, min_samples_leaf=2),
    "cart-misclassification": CARTClassifier(max_depth=3, criterion="misclassification"),
    "cart-pruned": CARTClassifier(max_depth=None, ccp_alpha=0.01),
    "deoct": DEOCTClassifier(max_depth=3, random_state=1, **SHORT),
    "deoct-from-nothing": DEOCTClassifier(max_depth=2, random_state=2**40 + 1, warm_starts=()),
    "mh-deoct": MHDEOCTClassifier(max_depth=4, random_state=1, **SHORT),
    "mh-deoct-priced": MHDEOCTClassifier(
        max_depth=4, horizon=2, random_state=2, ccp_alpha=0.005, min_samples_leaf=3, **SHORT
    ),
    "horizon": HorizonTreeClassifier(max_depth=4),
    "horizon-quick": HorizonTreeClassifier(max_depth=5, horizon=2, effort="quick"),
    "horizon-priced": HorizonTreeClassifier(
        max_depth=4, ccp_alpha=0.005, min_samples_leaf=3, effort="quick"
    ),
}


def describe(model: Any) -> dict[str, Any]:
    """Return the whole tree; JSON keeps every bit of a float."""
    tree = model.tree_
    return {
        "n_errors": model.n_errors_,
        "objective": model.objective_,
        "n_iter": model.n_iter_,
        "feature": tree.feature.tolist(),
        "threshold": [None if t != t else t for t in tree.threshold.tolist()],
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "class_counts": tree.class_counts.tolist(),
    }


SMALL = ("iris", "wine")
TOO_LONG = ("wine", "horizon")  # minutes with the compiler off; its quick effort is there
CASES = [
    pytest.param(
        data,
        method,
        marks=[pytest.mark.nojit] if data in SMALL and (data, method) != TOO_LONG else [],
    )
    for data in DATA
    for method in MODELS
]


@pytest.mark.parametrize(("data", "method"), CASES)
def test_a_fixed_seed_gives_the_tree_on_file(data, method):
    X, y = DATA[data](return_X_y=True)
    found = describe(MODELS[method].fit(X, y))
    path = FOLDER / f"{data}-{method}.json"
    if IS_UPDATE:
        FOLDER.mkdir(exist_ok=True)
        lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in found.items()]
        path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8")) == found


def test_no_file_is_left_over_from_a_test_that_is_gone():
    expected = {f"{data}-{method}.json" for data in DATA for method in MODELS}
    assert {path.name for path in FOLDER.iterdir()} == expected
