"""Rows of a study that were made up."""

import math

from horizontree.bench.results_file import FitResult


def made_up(method, dataset, split, depth, train=0.5, test=0.5, seconds=1.0, **changes):
    row = {
        "n_train": 100,
        "n_features": 4,
        "n_classes": 2,
        "train_errors": 0,
        "n_splits_used": 3,
        "time_limit": math.inf,
        "status": "completed",
        "note": "",
        "seed": split,
        "version": "horizontree 0.1.0",
        **changes,
    }
    return FitResult(
        method=method,
        dataset=dataset,
        split=split,
        depth=depth,
        train_accuracy=train,
        test_accuracy=test,
        seconds=seconds,
        **row,
    )
