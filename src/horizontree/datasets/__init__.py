"""A small real data set, bundled so that the examples run without a download."""

from __future__ import annotations

import gzip
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BundledDataset", "load_banknote"]


class BundledDataset(NamedTuple):
    """What a loader of this module returns; unpacks as ``X, y, feature_names, class_names``."""

    X: NDArray[np.float64]
    y: NDArray[np.intp]
    feature_names: list[str]
    class_names: list[str]


def load_banknote() -> BundledDataset:
    """Load the banknote authentication data: 1,372 rows, 4 features, 2 classes.

    Features of the wavelet transformed images of genuine and forged banknotes (V. Lohweg,
    UCI Machine Learning Repository, 2012, CC BY 4.0; ``README.md`` beside the file has the
    provenance). The source does not name the classes; 0 = genuine is the common reading.

    Returns
    -------
    BundledDataset
        ``X`` of shape (1372, 4), ``y`` of 0 and 1, ``feature_names`` and ``class_names``.

    Examples
    --------
    >>> from horizontree.datasets import load_banknote
    >>> X, y, feature_names, class_names = load_banknote()
    >>> X.shape, feature_names, class_names
    ((1372, 4), ['variance', 'skewness', 'kurtosis', 'entropy'], ['genuine', 'forged'])
    """
    content = files(__name__).joinpath("banknote-authentication.csv.gz").read_bytes()
    header, *rows = gzip.decompress(content).decode("ascii").splitlines()
    table = np.array([row.split(",") for row in rows], dtype=np.float64)
    return BundledDataset(
        X=np.ascontiguousarray(table[:, :-1]),
        y=table[:, -1].astype(np.intp),
        feature_names=header.split(",")[:-1],
        class_names=["genuine", "forged"],
    )
