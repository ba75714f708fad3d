"""The methods of the study: what each name in its tables stands for."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

import horizontree

EVERY_DEPTH = (1, 12)

_WARM_STARTS = {
    "cold": (),
    "from-cart": ("cart",),
    "from-deoct": ("deoct",),
    "from-local-cart": ("local-cart",),
    "from-cart-deoct": ("cart", "deoct"),
    "from-cart-local-cart": ("cart", "local-cart"),
    "from-deoct-local-cart": ("deoct", "local-cart"),
}
_HORIZONS = (1, 2, 3, 4)
_BINARISED = {
    "cart": "CARTClassifier",
    "mh-deoct": "MHDEOCTClassifier",
    "horizon": "HorizonTreeClassifier",
}


@dataclass(frozen=True)
class Method:
    """A name in the tables.

    Parameters
    ----------
    make : callable
        Makes the estimator from a depth, a seed and a time limit in seconds (None: none).
    package : str
        The package that does the work; its version stands in the table.
    depths : pair of int
        The least and the greatest depth that it can do, or has a hope to do.
    has_limit : bool
        Whether it would search without end on large data, and so gets the time limit.
    """

    make: Callable[[int, int, float | None], Any]
    package: str = "horizontree"
    depths: tuple[int, int] = EVERY_DEPTH
    has_limit: bool = False

    def applies_to(self, depth: int) -> bool:
        """Tell whether it can make trees of this depth."""
        return self.depths[0] <= depth <= self.depths[1]

    @property
    def version(self) -> str:
        """Package and version, for the table."""
        return f"{self.package} {version(self.package)}"


class OnAnswers:
    """A classifier that sees binarised features only.

    Its proofs hold for trees over those features, not for all trees, so that only a tree
    without errors counts as optimal.
    """

    def __init__(self, binarizer: Any, classifier: Any) -> None:
        self.binarizer = binarizer
        self.classifier = classifier

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Binarise, and fit on the answers."""
        self.binarizer.fit(X, y)
        self.classifier.fit(self._answers(X), y)
        self.tree_ = self.classifier.tree_
        self.n_errors_ = self.classifier.n_errors_
        status = self.classifier.status_
        self.status_ = "completed" if status == "optimal" and self.n_errors_ > 0 else status
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the classes of samples."""
        labels: NDArray[Any] = self.classifier.predict(self._answers(X))
        return labels

    def _answers(self, X: ArrayLike) -> NDArray[np.float64]:
        answers = np.asarray(self.binarizer.transform(X), dtype=np.float64)
        if answers.shape[1] == 0:  # nothing to ask: one constant feature makes one leaf
            return np.zeros((len(answers), 1))
        return answers


class Tuned:
    """A classifier whose price of a split is chosen by validation on the training rows."""

    def __init__(self, search: horizontree.AlphaSearchCV) -> None:
        self.search = search

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose the price, and fit."""
        self.search.fit(X, y)
        self.tree_ = self.search.best_estimator_.tree_
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the classes of samples."""
        return self.search.predict(X)


def _estimator(class_name: str, depth: int, seed: int, limit: float | None, **settings: Any) -> Any:
    """Make an estimator of this package; it gets those of the common settings that it has."""
    estimator = getattr(horizontree, class_name)(max_depth=depth)
    common = {"random_state": seed, "n_jobs": 1, "time_limit": limit}
    known = estimator.get_params(deep=False)
    return estimator.set_params(**{k: v for k, v in common.items() if k in known} | settings)


def _ours(
    class_name: str,
    *,
    package: str = "horizontree",
    depths: tuple[int, int] = EVERY_DEPTH,
    has_limit: bool = False,
    **settings: Any,
) -> Method:
    def make(depth: int, seed: int, limit: float | None) -> Any:
        return _estimator(class_name, depth, seed, limit if has_limit else None, **settings)

    return Method(make, package, depths, has_limit)


def _on_answers(binarizer: str, class_name: str) -> Method:
    def make(depth: int, seed: int, limit: float | None) -> Any:
        kind = (
            horizontree.MDLPBinarizer()
            if binarizer == "mdlp"
            else horizontree.ThresholdGuessBinarizer(random_state=seed)
        )
        return OnAnswers(kind, _estimator(class_name, depth, seed, None))

    return Method(make)


def _tuned(class_name: str) -> Method:
    def make(depth: int, seed: int, limit: float | None) -> Any:
        estimator = _estimator(class_name, depth, seed, None)
        return Tuned(horizontree.AlphaSearchCV(estimator, random_state=seed))

    return Method(make)


def _sklearn_cart(depth: int, seed: int, limit: float | None) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(max_depth=depth, random_state=seed)


METHODS: dict[str, Method] = {
    "cart-sklearn": Method(_sklearn_cart, "scikit-learn"),
    "cart": _ours("CARTClassifier"),
    "ls-oct": _ours("LSOCTClassifier"),
    "quant-bnb": _ours("QuantBnBClassifier", depths=(1, 3), has_limit=True),
    "rs-oct": _ours("RSOCTClassifier", depths=(1, 3), has_limit=True),
    "gosdt-guesses": _ours("GOSDTGuessesClassifier", package="gosdt", has_limit=True),
    "contree": _ours("ConTreeClassifier", package="pycontree", depths=(1, 4), has_limit=True),
    "streed": _ours("STreeDClassifier", package="pystreed", depths=(1, 4), has_limit=True),
    "iai-oct": _ours("IAIOCTClassifier", package="interpretableai"),
    "deoct": _ours("DEOCTClassifier"),
    "deoct-long": _ours("DEOCTClassifier", mode="long"),
    "mh-deoct": _ours("MHDEOCTClassifier"),
    "mh-deoct-long": _ours("MHDEOCTClassifier", mode="long"),
    "horizon": _ours("HorizonTreeClassifier"),
    "horizon-quick": _ours("HorizonTreeClassifier", effort="quick"),
    "horizon-thorough": _ours("HorizonTreeClassifier", effort="thorough", has_limit=True),
    "cart-tuned": _tuned("CARTClassifier"),
    "ls-oct-tuned": _tuned("LSOCTClassifier"),
    "mh-deoct-tuned": _tuned("MHDEOCTClassifier"),
    "horizon-tuned": _tuned("HorizonTreeClassifier"),
    "deoct-cold": _ours("DEOCTClassifier", warm_starts=()),
    **{
        f"mh-deoct-{name}": _ours("MHDEOCTClassifier", warm_starts=starts)
        for name, starts in _WARM_STARTS.items()
    },
    **{
        f"mh-deoct-horizon-{horizon}": _ours(
            "MHDEOCTClassifier", depths=(horizon, 12), horizon=horizon
        )
        for horizon in _HORIZONS
    },
    **{
        f"{name}-{binarizer}": _on_answers(binarizer, class_name)
        for name, class_name in _BINARISED.items()
        for binarizer in ("guesses", "mdlp")
    },
    "mh-deoct-1-thread": _ours("MHDEOCTClassifier"),
    "mh-deoct-2-threads": _ours("MHDEOCTClassifier", n_jobs=2),
    "mh-deoct-jax": _ours("MHDEOCTClassifier", backend="jax"),
    "mh-deoct-reference": _ours("MHDEOCTClassifier", backend="reference"),
    "horizon-1-thread": _ours("HorizonTreeClassifier"),
    "horizon-2-threads": _ours("HorizonTreeClassifier", n_jobs=2),
}

COMPARED = ("cart-sklearn", "cart", "ls-oct", "quant-bnb", "rs-oct", "gosdt-guesses", "contree",
            "streed", "iai-oct", "deoct", "deoct-long", "mh-deoct", "mh-deoct-long",
            "horizon-quick", "horizon", "horizon-thorough")  # fmt: skip
"""Rows of the comparison by depth."""
TUNED = {
    "cart-tuned": "cart",
    "ls-oct-tuned": "ls-oct",
    "mh-deoct-tuned": "mh-deoct",
    "horizon-tuned": "horizon",
}
"""A tuned method, and the same without tuning."""
ABLATION = ("cart", "deoct-cold", "deoct", *(f"mh-deoct-{name}" for name in _WARM_STARTS),
            "mh-deoct")  # fmt: skip
"""The eleven rows of the warm-start ablation."""
HORIZONS = tuple(f"mh-deoct-horizon-{horizon}" for horizon in _HORIZONS)
BINARISED = tuple(f"{name}{kind}" for name in _BINARISED for kind in ("", "-guesses", "-mdlp"))
ENGINES = {
    "mh-deoct-reference": "mh-deoct-1-thread",
    "mh-deoct-2-threads": "mh-deoct-1-thread",
    "mh-deoct-jax": "mh-deoct-1-thread",
    "horizon-2-threads": "horizon-1-thread",
}
"""A method on another engine, and the one on one CPU thread: to be run with ``--jobs 1``."""


def limit_of(method: str, time_limit: float) -> float:
    """Return the seconds that a method gets: none of the heuristics needs a limit."""
    return time_limit if METHODS[method].has_limit else math.inf
