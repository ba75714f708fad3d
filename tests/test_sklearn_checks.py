"""Every check that scikit-learn has for a classifier, with no exception."""

from __future__ import annotations

import os
import subprocess
import sys

from sklearn.utils.estimator_checks import parametrize_with_checks

from horizontree import (
    CARTClassifier,
    ConTreeClassifier,
    DEOCTClassifier,
    GOSDTGuessesClassifier,
    HorizonTreeClassifier,
    LSOCTClassifier,
    MDLPBinarizer,
    MHDEOCTClassifier,
    QuantBnBClassifier,
    RSOCTClassifier,
    STreeDClassifier,
    ThresholdGuessBinarizer,
)
from horizontree.estimators.base import BaseTreeClassifier

SHORT = {"population_size": 10, "generations": 10}


@parametrize_with_checks(
    [
        CARTClassifier(),
        DEOCTClassifier(**SHORT),
        MHDEOCTClassifier(**SHORT),
        HorizonTreeClassifier(),
        HorizonTreeClassifier(max_depth=6, effort="quick", n_jobs=2),
        MHDEOCTClassifier(max_depth=2, horizon=1, n_jobs=2, random_state=0, **SHORT),
        LSOCTClassifier(n_starts=3),
        QuantBnBClassifier(),
        RSOCTClassifier(max_boxes=3000),
        GOSDTGuessesClassifier(max_depth=2),
        ConTreeClassifier(max_depth=2),
        STreeDClassifier(max_depth=2),
    ]
)
def test_the_classifiers_pass_every_check_of_scikit_learn(estimator, check):
    assert isinstance(estimator, BaseTreeClassifier)
    check(estimator)


@parametrize_with_checks([MDLPBinarizer(), ThresholdGuessBinarizer(5)])
def test_the_binarisers_pass_every_check_of_scikit_learn(estimator, check):
    check(estimator)


def test_nor_is_the_check_left_out_that_needs_an_environment_variable():
    """Without ``SCIPY_ARRAY_API=1`` scikit-learn skips one of its checks."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    ended = subprocess.run(
        [*command, "-k", "array_api"],
        env=os.environ | {"SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout
    assert "14 passed" in ended.stdout
    assert "skipped" not in ended.stdout
