"""GOSDTGuessesClassifier: an adapter to ``gosdt``."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from horizontree.estimators.base import BaseTreeClassifier, Found, Problem
from horizontree.estimators.parameters import check_choice, check_integer, seed_of
from horizontree.estimators.peers.common import BINARIZERS, Questions, package, quiet
from horizontree.search.splits import Split


class GOSDTGuessesClassifier(BaseTreeClassifier):
    """GOSDT with guesses, through the package ``gosdt`` (McTavish et al. 2022).

    Features are binarised first, and the package finds the sparse tree over the answers that
    costs least; the labels of the reference model bound what is worth looking at.

    Parameters
    ----------
    max_depth : int, default=4
        Depth of the tree, at least 1.
    ccp_alpha : float, default=0.0
        Price of a split, as a share of all training samples. Below one training sample it is
        one sample, the least that the package recommends.
    binarizer : {"guesses", "mdlp"}, default="guesses"
        Where the thresholds come from.
    time_limit : float or None, default=None
        Seconds for the package; a tree found by then is kept, otherwise a single leaf.
    random_state : int, RandomState instance or None, default=None
        Seed of the reference model.
    verbose : int, default=0
        1 reports the end of the fit on standard error.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names, when ``X`` had names that are all strings.
    objective_ : float
        Training errors plus the price of the splits.
    n_errors_ : int
        Training errors.
    lower_bound_, gap_ : float
        A bound that no tree of this depth can beat, and the relative distance to it. What the
        package proves holds for its binarised features only, so this is 0.
    status_ : str
        ``"completed"``, ``"time_limit"``, or ``"optimal"`` for a tree without errors.
    fit_time_ : float
        Seconds.
    n_iter_ : int
        Iterations of the package.
    """

    max_depth: int

    def __init__(
        self,
        max_depth: int = 4,
        *,
        ccp_alpha: float = 0.0,
        binarizer: str = "guesses",
        time_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.ccp_alpha = ccp_alpha
        self.binarizer = binarizer
        self.time_limit = time_limit
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_depth", self.max_depth, at_least=1)
        check_choice("binarizer", self.binarizer, BINARIZERS)
        seed_of(self.random_state)

    def _search(self, problem: Problem) -> Found:
        gosdt = package("gosdt", 'pip install "horizontree[gosdt]"')
        questions = Questions(problem, self.binarizer, seed_of(self.random_state))
        n_samples = len(problem.y)
        leaf = problem.tree_of(None)
        if questions.answers.shape[1] == 0 or self.ccp_alpha * n_samples >= leaf.n_errors:
            return Found([leaf], n_iter=0)  # at such prices the package crashes
        left = problem.watch.seconds_left
        solver = gosdt.GOSDTClassifier(
            regularization=max(float(self.ccp_alpha), 1 / n_samples),
            depth_budget=int(self.max_depth),
            time_limit=None if left is None else max(1, math.floor(left)),
        )
        guessed = questions.guessed_labels()
        if guessed is not None and len(np.unique(guessed)) < problem.samples.n_classes:
            guessed = None  # the package wants every class among them
        with quiet():
            solver.fit(questions.answers, problem.y, y_ref=guessed)
        problem.watch.should_stop()
        result = solver.get_result()
        models = json.loads(result["models_string"])

        def read(node: dict[str, Any]) -> Split | None:
            if "prediction" in node:
                return None
            return questions.split(node["feature"], read(node["true"]), read(node["false"]))

        root = read(models[0]) if models else None
        return Found([problem.tree_of(root)], n_iter=int(result["n_iterations"]))
