"""``horizontree doctor``: which backends work here, whether they agree, how fast they are."""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree import DEOCTClassifier, HorizonTreeClassifier, MHDEOCTClassifier
from horizontree._version import __version__
from horizontree.backends import Backend, DeviceError, get_backend
from horizontree.backends.roofline import BIT, Device, device_of, measured_processor
from horizontree.cli.console import CommandError, note, say, say_json, table
from horizontree.cli.devices import keep_programs
from horizontree.encoding import SampleSet, rank_samples

_PACKAGES = ("numpy", "numba", "scikit-learn", "polars", "jax", "jaxlib")
_N_TREES = 100
_DEPTH = 2
_N_FEATURES = 20
_N_VALUES = 200  # of a feature: a code is one byte
_SIZES = {"small": 500, "large": 200_000}
_ROWS_TO_COUNT = {False: 1_000_000, True: 100_000}
_COUNTING = f"counting: {_N_TREES} trees of depth {_DEPTH}, {_N_FEATURES} features, 1-byte codes"
_BAD, _FAILED = "DIFFERENT TREES", "failed"
_TREE_ARRAYS = ("feature", "threshold", "left", "right", "class_counts")


def run(arguments: argparse.Namespace) -> None:
    """Run the command."""
    keep_programs()
    is_quiet = bool(arguments.json)

    def tell(what: str) -> None:
        if not is_quiet:
            note(f"horizontree doctor: {what} ...")

    tell("looking for backends")
    backends, missing = _backends()
    report: dict[str, dict[str, Any]] = {
        "versions": _versions(),
        "machine": _machine(),
        "backends": {name: _describe(backend) for name, backend in backends.items()} | missing,
        "agreement": _agreement(backends, quick=arguments.quick, tell=tell),
        "throughput": _throughput(backends, _ROWS_TO_COUNT[arguments.quick], tell),
    }
    if arguments.json:
        say_json(report)
    else:
        say(_text(report))
    if any(_BAD in str(fact) or _FAILED in str(fact) for fact in _facts(report)):
        raise CommandError("a backend does not do what it should; see above, and use another")


def _facts(report: dict[str, dict[str, Any]]) -> list[Any]:
    return [*report["agreement"].values(), *report["throughput"].values()]


def _try(work: Callable[[], Any]) -> Any:
    """Do something on a backend; a failure is a finding, too."""
    try:
        return work()
    except Exception as error:
        return (
            f"{_FAILED}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        )


def _versions() -> dict[str, str]:
    found = {"horizontree": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def _machine() -> dict[str, str]:
    return {
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": str(os.cpu_count()),
        "memory": _gigabytes(_memory()),
    }


def _memory() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on this system
        return None


def _gigabytes(n_bytes: int | None) -> str:
    return "unknown" if n_bytes is None else f"{n_bytes / 2**30:.1f} GB"


# -------------------------------------------------------------------------------- backends


def _backends() -> tuple[dict[str, Backend], dict[str, str]]:
    """Return the backends that work, and why others do not."""
    found: dict[str, Backend] = {}
    missing: dict[str, str] = {}
    for name in ("cpu", "jax"):
        try:
            found[name] = get_backend(name, 1)
        except (ImportError, DeviceError) as error:
            missing[name] = f"not there: {error}"
    return found, missing


def _devices(backend: Backend) -> list[Any]:
    return list(getattr(backend, "devices", ()))


def _describe(backend: Backend) -> str:
    devices = _devices(backend)
    if not devices:
        return "works: Numba kernels"
    n_bytes = backend.memory()  # type: ignore[attr-defined]
    memory = f", {_gigabytes(n_bytes)} each" if n_bytes is not None else ""
    kind = f"{devices[0].platform} ({devices[0].device_kind})"
    return f"works: {len(devices)} x {kind}{memory}"


# ------------------------------------------------------------------------------- agreement


def _agreement(
    backends: dict[str, Backend], *, quick: bool, tell: Callable[[str], None]
) -> dict[str, str]:
    """Fit the same problems on every backend, and compare the trees bit for bit."""
    others = [name for name in backends if name != "cpu"]
    if not others:
        return {}
    result = {}
    for size, n_rows in _SIZES.items():
        if quick and size == "large":
            continue
        X, y = _problem(n_rows)
        for make in (DEOCTClassifier, MHDEOCTClassifier, HorizonTreeClassifier):
            options: dict[str, Any] = {"max_depth": 3 if size == "small" else _DEPTH}
            if make is not HorizonTreeClassifier:
                options |= {"generations": 30, "population_size": 40, "random_state": 0}
            expected = make(backend="cpu", **options).fit(X, y)
            for name in others:
                tell(f"{make.__name__} on {n_rows:,} rows, {name}")
                key = f"{make.__name__}, {n_rows:,} x {X.shape[1]}, {name}"
                model = make(backend=name, **options)
                result[key] = _try(partial(_compared, model, expected, X, y))
    return result


def _compared(model: Any, expected: Any, X: NDArray[np.float64], y: NDArray[np.intp]) -> str:
    """Fit a model, and tell whether it is the expected one."""
    started = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    verdict = "same tree" if _is_same(model, expected) else _BAD
    return f"{verdict} ({seconds:.1f} s with compiling)"


def _is_same(model: Any, other: Any) -> bool:
    return all(
        np.array_equal(getattr(model.tree_, name), getattr(other.tree_, name), equal_nan=True)
        for name in _TREE_ARRAYS
    )


def _problem(n_rows: int) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Make integers with an interaction of two features."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, _N_VALUES, size=(n_rows, _N_FEATURES)).astype(np.float64)
    middle = _N_VALUES / 2
    y = (X[:, 0] > middle) ^ (X[:, 1] > middle) ^ (rng.random(n_rows) < 0.1)
    return X, y.astype(np.intp)


# ------------------------------------------------------------------------------ throughput


def _throughput(
    backends: dict[str, Backend], n_rows: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Count 100 trees on each backend, and compare with the roofline model."""
    X, y = _problem(n_rows)
    samples = rank_samples(X, y, 2)
    trees = _trees(samples)
    result = {}
    for name, backend in backends.items():
        tell(f"counting {_N_TREES} trees on {n_rows:,} rows, {name}")
        result[name] = _try(partial(_rates, backend, samples, trees))
    return result


def _rates(
    backend: Backend, samples: SampleSet, trees: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> dict[str, float]:
    """Time the counting of trees."""
    counter = backend.load(samples, _DEPTH)
    counter.count(*trees)  # compiled, and on the device
    seconds = []
    for _ in range(3):
        started = time.perf_counter()
        counter.count(*trees)
        seconds.append(time.perf_counter() - started)
    rates = {"sample_trees_per_second": samples.n_samples * _N_TREES / min(seconds)}
    model = _model_of(backend)
    if model is not None:
        rates["roofline"] = model.sample_trees(_DEPTH, 1 if _devices(backend) else BIT)
    return rates


def _model_of(backend: Backend) -> Device | None:
    devices = _devices(backend)
    if not devices or devices[0].platform == "cpu":
        return measured_processor()
    one = device_of(devices[0].device_kind)
    n = len(devices)
    return None if one is None else Device(n * one.bandwidth, n * one.operations)


def _trees(samples: SampleSet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Make random complete trees."""
    rng = np.random.default_rng(1)
    feature = rng.integers(0, samples.n_features, size=(_N_TREES, 2**_DEPTH - 1))
    n_left = np.empty_like(feature)
    for f in range(samples.n_features):
        n_left[feature == f] = rng.choice(samples.starts(f)[1:-1], size=(feature == f).sum())
    return feature, n_left


# -------------------------------------------------------------------------------- the page


def _text(report: dict[str, dict[str, Any]]) -> str:
    parts = []
    for title in ("versions", "machine", "backends", "agreement"):
        facts = report[title] or {"-": "there is nothing to compare the CPU backend with"}
        parts.append("\n".join([title, *(f"  {name}: {fact}" for name, fact in facts.items())]))
    rows = [(_COUNTING, "sample-trees/s", "roofline", "share")]
    for name, figures in report["throughput"].items():
        if isinstance(figures, str):
            parts.append(f"counting on {name} {figures}")
            continue
        reached, most = figures["sample_trees_per_second"], figures.get("roofline")
        bound = ("-", "-") if most is None else (f"{most:.2e}", f"{100 * reached / most:.0f} %")
        rows.append((f"  {name}", f"{reached:.2e}", *bound))
    parts.append(table(rows))
    return "\n\n".join(parts)
