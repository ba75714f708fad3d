"""The scikit-learn classes: validate, encode, search, keep the tree."""

from horizontree.estimators.cart import CARTClassifier
from horizontree.estimators.deoct import DEOCTClassifier
from horizontree.estimators.horizon import HorizonTreeClassifier
from horizontree.estimators.mhdeoct import MHDEOCTClassifier

__all__ = ["CARTClassifier", "DEOCTClassifier", "HorizonTreeClassifier", "MHDEOCTClassifier"]
