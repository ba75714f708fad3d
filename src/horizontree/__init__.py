"""Near-optimal, readable classification trees on continuous features."""

from horizontree._version import __version__
from horizontree.estimators import (
    AlphaSearchCV,
    CARTClassifier,
    ConTreeClassifier,
    DEOCTClassifier,
    GOSDTGuessesClassifier,
    HorizonTreeClassifier,
    IAIOCTClassifier,
    LSOCTClassifier,
    MDLPBinarizer,
    MHDEOCTClassifier,
    QuantBnBClassifier,
    RSOCTClassifier,
    STreeDClassifier,
    ThresholdGuessBinarizer,
)
from horizontree.model_file import load_model, save_model

__all__ = [
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
