"""Near-optimal, readable classification trees on continuous features."""

from horizontree._version import __version__
from horizontree.estimators import CARTClassifier, DEOCTClassifier, MHDEOCTClassifier

__all__ = ["CARTClassifier", "DEOCTClassifier", "MHDEOCTClassifier", "__version__"]
