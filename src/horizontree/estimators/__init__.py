"""The scikit-learn classes: validate, encode, search, keep the tree."""

from horizontree.estimators.alpha_search import AlphaSearchCV
from horizontree.estimators.binarizers import MDLPBinarizer, ThresholdGuessBinarizer
from horizontree.estimators.cart import CARTClassifier
from horizontree.estimators.deoct import DEOCTClassifier
from horizontree.estimators.horizon import HorizonTreeClassifier
from horizontree.estimators.lsoct import LSOCTClassifier
from horizontree.estimators.mhdeoct import MHDEOCTClassifier
from horizontree.estimators.peers import (
    ConTreeClassifier,
    GOSDTGuessesClassifier,
    IAIOCTClassifier,
    STreeDClassifier,
)
from horizontree.estimators.quantbnb import QuantBnBClassifier
from horizontree.estimators.rsoct import RSOCTClassifier

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
]
