"""What the branch-and-bound classifiers share: limits, progress, the bound."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from horizontree.estimators.base import BaseTreeClassifier, Found, Problem
from horizontree.estimators.parameters import check_integer
from horizontree.search.exact import OnProgress, Solved


class ExactClassifier(BaseTreeClassifier):
    """A classifier that divides boxes of trees until the best tree is proven."""

    max_depth: int
    max_boxes: int | None
    _deepest: int

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_depth", self.max_depth, at_least=1, at_most=self._deepest)
        if self.max_boxes is not None:
            check_integer("max_boxes", self.max_boxes, at_least=1)

    @abstractmethod
    def _solve(self, problem: Problem, stops: Callable[[], bool], report: OnProgress) -> Solved:
        """Search until the end, or until told to stop."""

    def _search(self, problem: Problem) -> Found:
        watch = problem.watch
        n_done = 0

        def stops() -> bool:
            return watch.should_stop() or (self.max_boxes is not None and n_done >= self.max_boxes)

        def report(n_boxes: int, cost: int, bound: int) -> None:
            nonlocal n_done
            n_done = n_boxes
            watch.report("boxes", n_boxes, 0, cost, bound)

        solved = self._solve(problem, stops, report)
        return Found([problem.tree_of(solved.root)], n_iter=solved.n_boxes, bound=solved.bound)
