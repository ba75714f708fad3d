"""Near-optimal, readable classification trees on continuous features."""

from horizontree._version import __version__
from horizontree.estimators import (
    CARTClassifier,
    DEOCTClassifier,
    HorizonTreeClassifier,
    LSOCTClassifier,
    MHDEOCTClassifier,
    QuantBnBClassifier,
    RSOCTClassifier,
)
from horizontree.model_file import load_model, save_model

__all__ = [
    "CARTClassifier",
    "DEOCTClassifier",
    "HorizonTreeClassifier",
    "LSOCTClassifier",
    "MHDEOCTClassifier",
    "QuantBnBClassifier",
    "RSOCTClassifier",
    "__version__",
    "load_model",
    "save_model",
]
