"""Proofs against brute force: thousands of random problems through the public estimator."""

from __future__ import annotations

import numpy as np
import pytest

import naive
from horizontree import HorizonTreeClassifier
from horizontree.objective import COST_SCALE, Objective
from horizontree.search import depth_two, pair_histograms

N_GROUPS = 40
N_PER_GROUP = 75
SCREENS = ((2,), (3,), (2, 4), (8, 32))  # bins of the passes that rule out pairs


def random_problem(rng):
    """Draw rows with ties and, mostly, some structure; and settings for the tree."""
    depth = int(rng.integers(2, 4))
    n_samples = int(rng.integers(6, 26 if depth == 2 else 16))
    n_features = int(rng.integers(1, 5 if depth == 2 else 4))
    n_values = int(rng.integers(2, n_samples + 1))
    X = rng.integers(0, n_values, (n_samples, n_features)).astype(float)
    if rng.random() < 0.4:
        y = rng.integers(0, rng.integers(2, 4), n_samples)
    else:  # a tree of depth two with some wrong labels
        root, left, right = rng.integers(0, n_features, 3)
        is_high = np.median(X, axis=0) < X
        edge = np.quantile(X[:, root], rng.random())
        y = np.where(X[:, root] <= edge, is_high[:, left], is_high[:, right]).astype(int)
        y ^= rng.random(n_samples) < 0.1
    y[:2] = 0, 1
    settings = {
        "max_depth": depth,
        "ccp_alpha": float(rng.choice([0, 0, 0.03, 0.1])),
        "min_samples_leaf": int(rng.choice([1, 1, 2, 3])),
    }
    return X, y, settings


@pytest.mark.parametrize("group", range(N_GROUPS))
def test_no_proof_and_no_bound_is_ever_wrong(group, monkeypatch):
    for number in range(N_PER_GROUP):
        rng = np.random.default_rng([group, number])
        monkeypatch.setattr(depth_two, "_MANY_FEATURES", int(rng.choice([1, 12])))
        monkeypatch.setattr(depth_two, "_COARSE_BINS", SCREENS[rng.integers(len(SCREENS))])
        monkeypatch.setattr(pair_histograms, "_SAMPLES_PER_BIN", int(rng.choice([1, 4, 16])))
        X, y, settings = random_problem(rng)
        objective = Objective.from_ccp_alpha(
            settings["ccp_alpha"], settings["min_samples_leaf"], len(y)
        )
        optimum = naive.optimal_cost(X, y, settings["max_depth"], objective) / COST_SCALE
        proven = HorizonTreeClassifier(**settings, effort="thorough").fit(X, y)
        assert proven.status_ == "optimal"
        assert proven.lower_bound_ == proven.objective_ == optimum
        hasty = HorizonTreeClassifier(**settings, effort="quick").fit(X, y)
        assert hasty.lower_bound_ <= optimum <= hasty.objective_
        if hasty.status_ == "optimal":
            assert hasty.objective_ == optimum
