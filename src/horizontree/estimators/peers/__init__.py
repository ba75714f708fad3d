"""Adapters to other packages, so that they stand beside our methods: same data, same tree.

Each hands the samples to the package and turns its answer into a tree of ours; so predictions,
reports and saved models are the same code for all. A package that is not there is an error that
says what to install.
"""

from horizontree.estimators.peers.common import FailedPackageError, MissingPackageError
from horizontree.estimators.peers.contree import ConTreeClassifier
from horizontree.estimators.peers.gosdt import GOSDTGuessesClassifier
from horizontree.estimators.peers.iai import IAIOCTClassifier
from horizontree.estimators.peers.streed import STreeDClassifier

__all__ = [
    "ConTreeClassifier",
    "FailedPackageError",
    "GOSDTGuessesClassifier",
    "IAIOCTClassifier",
    "MissingPackageError",
    "STreeDClassifier",
]
