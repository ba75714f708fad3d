"""What is public, and what importing it does to the host: nothing."""

from __future__ import annotations

import doctest
import importlib
import inspect
import json
import pkgutil
import subprocess
import sys

import pytest

import horizontree
from problems import KINDS

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(horizontree.__path__, "horizontree.")
    if not module.name.endswith("__main__")
)
WITH_ALL = [
    name for name in ("horizontree", *MODULES) if hasattr(importlib.import_module(name), "__all__")
]


def test_the_package_offers_what_it_says():
    assert sorted(horizontree.__all__) == [
        "AlphaSearchCV",
        "CARTClassifier",
        "ConTreeClassifier",
        "DEOCTClassifier",
        "GOSDTGuessesClassifier",
        "HorizonTreeClassifier",
        "IAIOCTClassifier",
        "LSOCTClassifier",
        "MDLPBinarizer",
        "MHDEOCTClassifier",
        "QuantBnBClassifier",
        "RSOCTClassifier",
        "STreeDClassifier",
        "ThresholdGuessBinarizer",
        "__version__",
        "load_model",
        "save_model",
    ]


@pytest.mark.parametrize("name", WITH_ALL)
def test_every_name_in_all_exists_once(name):
    module = importlib.import_module(name)
    assert len(set(module.__all__)) == len(module.__all__)
    assert all(hasattr(module, public) for public in module.__all__)


def test_the_public_names_of_the_package_are_those_in_all():
    public = {
        name
        for name, value in vars(horizontree).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public == set(horizontree.__all__) - {"__version__"}


@pytest.mark.parametrize("name", ["encoding", "backends", "estimators"])
def test_a_subpackage_lists_what_it_imports(name):
    module = importlib.import_module(f"horizontree.{name}")
    public = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and not inspect.ismodule(value) and key != "annotations"
    }
    assert public == set(module.__all__)


def public_methods(kind: type) -> list[str]:
    return [name for name, _ in inspect.getmembers(kind) if not name.startswith("_")]


@pytest.mark.parametrize("kind", KINDS)
def test_everything_public_has_a_docstring_and_every_class_an_example(kind):
    assert ">>>" in kind.__doc__
    for name in public_methods(kind):
        member = getattr(kind, name)
        if callable(member) or isinstance(member, property):
            assert inspect.getdoc(member), name


@pytest.mark.parametrize("name", ["horizontree", *MODULES])
def test_every_module_has_a_docstring(name):
    assert importlib.import_module(name).__doc__


@pytest.mark.parametrize("name", ["horizontree", *MODULES])
def test_the_examples_in_the_docstrings_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # an example may write a file
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


def test_there_are_examples_to_run():
    finder = doctest.DocTestFinder()
    tests = [t for name in MODULES for t in finder.find(importlib.import_module(name))]
    with_examples = {test.name for test in tests if test.examples}
    for kind in KINDS:
        assert f"{kind.__module__}.{kind.__name__}" in with_examples


STATE = """
import json, os, random, signal, sys, threading, warnings
import numpy as np, sklearn, scipy.sparse, joblib, numba
import sklearn.base, sklearn.tree, sklearn.utils.validation
from numba import config

def state():
    return {
        "errors": np.geterr(),
        "printing": repr(np.get_printoptions()),
        "numpy generator": repr(np.random.get_state()),
        "generator": repr(random.getstate()),
        "signals": [str(signal.getsignal(s)) for s in sorted(signal.valid_signals())],
        "threads": threading.active_count(),
        "numba threads": config.NUMBA_NUM_THREADS,
        "warnings": [str(f) for f in warnings.filters],
        "scikit-learn": sklearn.get_config(),
        "environment": dict(os.environ),
        "recursion": sys.getrecursionlimit(),
        "folder": os.getcwd(),
        "excepthook": repr(sys.excepthook),
        "path": sys.path,
    }

before = state()
import horizontree
after = state()
print(json.dumps([name for name in before if str(before[name]) != str(after[name])]))
print(json.dumps(sorted({"polars", "pandas", "matplotlib"} & set(sys.modules))))
"""


def test_importing_changes_nothing_global():
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", STATE], capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    changed, _ = (json.loads(line) for line in ended.stdout.splitlines())
    assert changed == []


def test_importing_needs_no_optional_package():
    blocked = "import sys; sys.modules.update(dict.fromkeys(['polars', 'pandas', 'matplotlib']))"
    ended = subprocess.run(
        [sys.executable, "-c", f"{blocked}; import horizontree; print(horizontree.__version__)"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.stdout.strip() == horizontree.__version__, ended.stderr
