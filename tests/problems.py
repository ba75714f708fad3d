"""Small training problems for the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from horizontree import (
    CARTClassifier,
    DEOCTClassifier,
    HorizonTreeClassifier,
    LSOCTClassifier,
    MHDEOCTClassifier,
    QuantBnBClassifier,
    RSOCTClassifier,
)
from horizontree.encoding import SampleSet, rank_samples
from horizontree.search import closing, pair_histograms

Data = tuple[NDArray[np.float64], NDArray[np.intp]]


def make_data(
    n_samples: int,
    n_features: int = 3,
    n_classes: int = 2,
    *,
    n_values: int | None = None,
    seed: int = 0,
) -> Data:
    """Return features and classes that have something to do with each other.

    ``n_values`` makes each feature an integer below it, so that values are tied.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    signal = X @ rng.normal(size=(n_features, n_classes)) + rng.normal(size=(n_samples, n_classes))
    y = signal.argmax(axis=1)
    if n_values is not None:
        X = np.clip(np.floor((X + 2.5) * n_values / 5), 0, n_values - 1)
    return X, y


def make_samples(
    n_samples: int,
    n_features: int = 3,
    n_classes: int = 2,
    *,
    n_values: int | None = None,
    seed: int = 0,
) -> SampleSet:
    X, y = make_data(n_samples, n_features, n_classes, n_values=n_values, seed=seed)
    return rank_samples(X, y, n_classes)


def random_trees(
    samples: SampleSet, depth: int, n_trees: int, seed: int = 0
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return splits in heap order with every kind among them: none, all left, any other."""
    rng = np.random.default_rng(seed)
    shape = (n_trees, 2**depth - 1)
    feature = rng.integers(-1, samples.n_features, size=shape)
    n_left = np.zeros(shape, dtype=np.int64)
    for f in range(samples.n_features):
        is_f = feature == f
        n_left[is_f] = rng.choice(samples.starts(f), size=int(is_f.sum()))
    feature[n_left == 0] = -1
    return feature, n_left


@st.composite
def small_data(
    draw: Any, *, max_samples: int = 30, max_features: int = 4, max_classes: int = 4
) -> Data:
    """Draw any small training problem with at least two classes."""
    n = draw(st.integers(2, max_samples))
    p = draw(st.integers(1, max_features))
    k = draw(st.integers(2, min(n, max_classes)))
    n_values = draw(st.sampled_from([1, 2, 3, 7, 1000]))
    X = draw(arrays(np.float64, (n, p), elements=st.integers(0, n_values - 1).map(float)))
    y = draw(arrays(np.intp, n, elements=st.integers(0, k - 1)))
    y[:k] = np.arange(k)  # every class is there
    return X, y


KINDS = (
    CARTClassifier,
    DEOCTClassifier,
    MHDEOCTClassifier,
    HorizonTreeClassifier,
    LSOCTClassifier,
    QuantBnBClassifier,
    RSOCTClassifier,
)


DEEPEST = {QuantBnBClassifier: 2, RSOCTClassifier: 3}
"""Depths whose search is short."""


def quick(kind: type, **changes: Any) -> Any:
    """Make a classifier whose search is short, for tests in which quality is not the point.

    The depth is at most one whose search is short.
    """
    options: dict[str, Any] = {"max_depth": 3, "random_state": 0}
    if kind in (DEOCTClassifier, MHDEOCTClassifier):
        options |= {"population_size": 20, "generations": 20}
    if kind is HorizonTreeClassifier:
        options |= {"effort": "quick"}
    if kind is LSOCTClassifier:
        options |= {"n_starts": 3}
    if kind in (QuantBnBClassifier, RSOCTClassifier):
        options |= {"max_boxes": 50}
    if kind is RSOCTClassifier:
        options |= {"group_size": 0}
    options |= changes
    if kind in DEEPEST and isinstance(options["max_depth"], int):
        options["max_depth"] = min(options["max_depth"], DEEPEST[kind])
    return kind(**options)


def planted_tree(seed: int, n_samples: int = 60, n_features: int = 4) -> tuple[Any, Any]:
    """Draw rows that a tree of depth two with an uneven root explains, but for some noise."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n_samples, n_features)).astype(float)
    X[:, 0] = rng.permutation(n_samples)
    edge = int(rng.integers(1, 8))
    is_first = X[:, 0] < edge if seed % 2 else X[:, 0] >= n_samples - edge
    y = np.where(is_first, X[:, 1], X[:, 2]).astype(int)
    return X, y ^ (rng.random(n_samples) < 0.03 * (seed % 3)).astype(int)


def stopping_after(n_questions: int) -> Callable[[], bool]:
    """Return what says to stop from some question on."""
    asked = count()
    return lambda: next(asked) >= n_questions


@contextmanager
def small_pieces() -> Iterator[None]:
    """Ask whether to stop as often as trees of depth two can."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_histograms, "_PAIRS_PER_TASK", 1)
        patch.setattr(pair_histograms, "_COUNTS_BETWEEN_STOPS", 1)
        patch.setattr(closing, "_CUTS_BETWEEN_STOPS", 1)
        yield
