"""Imports go downwards only."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import horizontree
from horizontree import encoding
from horizontree.objective import COST_SCALE

PACKAGE = Path(horizontree.__file__).parent
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts): path
    for path in sorted(PACKAGE.rglob("*.py"))
}

# a module may import from its own layer and from those after it
LAYERS = (
    ("cli", "demo", "__main__"),
    ("bench",),
    ("plotting",),
    ("__init__",),
    ("model_file", "model_schema"),
    ("estimators",),
    ("search",),
    ("backends",),
    ("tree", "_tree_kernels", "objective"),
    ("encoding",),
    ("progress", "atomic_file", "datasets", "threads", "terminal", "standard_output", "_version"),
)
LAYER_OF = {name: height for height, names in enumerate(reversed(LAYERS)) for name in names}


def top_of(module: str) -> str:
    """Return the folder or file right below the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports_of(path: Path) -> set[str]:
    """Return every module that a file imports, wherever in the file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}: a relative import"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            modules = {name for name in whole if is_ours(name)}
            found |= modules if modules == whole else modules | {node.module}
    return found


def is_ours(name: str) -> bool:
    return name in MODULES or f"{name}.__init__" in MODULES


def own_imports_of(path: Path) -> set[str]:
    return {name for name in imports_of(path) if name.split(".")[0] == "horizontree"}


def test_every_module_has_its_layer():
    assert {top_of(module.removesuffix(".__init__")) for module in MODULES} == set(LAYER_OF)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_from_its_own_layer_and_below(module):
    height = LAYER_OF[top_of(module)]
    for imported in own_imports_of(MODULES[module]):
        is_root = imported == "horizontree"
        below = LAYER_OF["__init__" if is_root else top_of(imported)]
        assert below <= height, f"{module} imports {imported}"
        same_layer_apart = below == height and top_of(imported) != top_of(module)
        assert not (same_layer_apart and top_of(module) in ("estimators", "search", "backends"))


@pytest.mark.parametrize("module", [name for name in MODULES if ".search." in name])
def test_a_search_never_imports_a_concrete_backend(module):
    backends = {name for name in own_imports_of(MODULES[module]) if ".backends" in name}
    assert backends <= {
        "horizontree.backends.base",
        "horizontree.backends.base.Backend",
    }


KERNELS = [name for name in MODULES if name.endswith("_kernels")]


@pytest.mark.parametrize("module", KERNELS)
def test_a_kernel_file_imports_numpy_numba_and_typing_only(module):
    roots = {name.split(".")[0] for name in imports_of(MODULES[module])}
    assert roots <= {"numpy", "numba", "typing"}


SHARED_CONSTANTS = {"TIED": encoding.TIED, "SAMPLE": encoding.SAMPLE, "COST_SCALE": COST_SCALE}


@pytest.mark.parametrize("module", KERNELS)
def test_a_kernel_files_own_copy_of_a_constant_is_the_constant(module):
    kernels = vars(importlib.import_module(module))
    for name, value in SHARED_CONSTANTS.items():
        assert kernels.get(name, value) == value


def test_there_are_kernels_to_look_at():
    assert len(KERNELS) >= 4


@pytest.mark.parametrize("module", [name for name in MODULES if name not in KERNELS])
def test_only_kernel_files_compile(module):
    """A cached kernel does not notice edits in other files, so all of it lives in one."""
    of_numba = {name for name in imports_of(MODULES[module]) if name.split(".")[0] == "numba"}
    assert of_numba <= {"numba.core"}  # its events; ``njit`` and the like come from ``numba``


def test_the_optional_parts_are_not_imported_by_the_core():
    optional = {"polars", "pandas", "matplotlib", "jax", "dask"}
    on_jax = {"horizontree.backends._jax_programs", "horizontree.backends.jax_backend"}
    for module, path in MODULES.items():
        if top_of(module) not in ("cli", "demo") and module not in on_jax:
            assert not {name.split(".")[0] for name in imports_of(path)} & optional, module


def test_the_parts_that_need_jax_are_imported_only_when_asked_for():
    code = (
        "import sys, horizontree; from sklearn.datasets import load_iris; "
        "horizontree.HorizonTreeClassifier(2).fit(*load_iris(return_X_y=True)); "
        "sys.exit('jax' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
