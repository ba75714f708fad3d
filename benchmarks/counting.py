"""Sample-trees a second of every way to count, on one core; printed as JSON.

    python benchmarks/counting.py [ROWS]

A process of its own, because the core is chosen for all threads, XLA's included.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from horizontree.backends import CPUBackend
from horizontree.backends._traversal_kernels import count_by_traversal
from horizontree.backends.jax_backend import JAXBackend
from horizontree.encoding import SampleSet, rank_samples

SEED = 0
N_FEATURES, N_TREES, DEPTH = 20, 100, 2
N_VALUES = {"1-byte codes": 200, "3-byte codes": None}


def make_samples(n_rows: int, n_values: int | None) -> SampleSet:
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(n_rows, N_FEATURES))
    if n_values is not None:
        X = rng.integers(0, n_values, size=X.shape).astype(np.float64)
    return rank_samples(X, rng.integers(0, 2, n_rows), 2)


def make_trees(samples: SampleSet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    rng = np.random.default_rng(SEED)
    feature = rng.integers(0, N_FEATURES, size=(N_TREES, 2**DEPTH - 1))
    n_left = np.empty_like(feature)
    for f in range(N_FEATURES):
        n_left[feature == f] = rng.choice(samples.starts(f)[1:-1], size=(feature == f).sum())
    return feature, n_left


def rate_of(count: Callable[[], object], n_rows: int) -> float:
    """Return the median rate of five runs, the first one apart."""
    count()
    seconds = []
    for _ in range(5):
        started = time.perf_counter()
        count()
        seconds.append(time.perf_counter() - started)
    return n_rows * N_TREES / statistics.median(seconds)


def by_traversal(samples: SampleSet, trees: tuple[NDArray, NDArray]) -> Callable[[], object]:
    feature, n_left = trees
    threshold = np.zeros(feature.shape)
    for at in np.ndindex(feature.shape):
        threshold[at] = samples.value_at(int(feature[at]), int(n_left[at]) - 1)
    Z = np.zeros((N_TREES, 2**DEPTH, samples.n_classes), dtype=np.int64)
    X = samples.X[samples.rows]
    labels = samples.labels.astype(np.int64)
    return lambda: count_by_traversal(X, labels, feature, threshold, Z)


def main() -> None:
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    rates: dict[str, dict[str, float]] = {}
    for name, n_values in N_VALUES.items():
        samples = make_samples(n_rows, n_values)
        trees = make_trees(samples)
        on_device, on_cpu = (
            backend.load(samples, DEPTH) for backend in (JAXBackend(), CPUBackend())
        )
        assert np.array_equal(on_device.count(*trees), on_cpu.count(*trees))
        rates[name] = {
            "traversal": rate_of(by_traversal(samples, trees), n_rows),
            "Numba": rate_of(lambda count=on_cpu.count, trees=trees: count(*trees), n_rows),
            "XLA": rate_of(lambda count=on_device.count, trees=trees: count(*trees), n_rows),
        }
    print(json.dumps(rates))


if __name__ == "__main__":
    main()
