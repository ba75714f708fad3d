"""What the evolutionary classifiers share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from sklearn.base import clone

from horizontree.backends import BACKENDS, Backend
from horizontree.estimators.base import SHORT_FITS, BaseTreeClassifier, Found, Problem
from horizontree.estimators.on_backend import search_on
from horizontree.estimators.parameters import (
    check_choice,
    check_integer,
    check_real,
    check_warm_starts,
)
from horizontree.search.differential_evolution import Evolution

MODES = {
    "normal": Evolution(population_size=100, generations=600),
    "long": Evolution(population_size=200, generations=4000),
}
"""The paper's two settings."""

MOST_GENERATIONS = 10**7
"""Each generation has a counter of its own in memory."""

DEEPEST = 12
"""An individual encodes a complete tree: each level doubles the genes."""


class EvolutionaryClassifier(BaseTreeClassifier):
    """A classifier whose search is differential evolution."""

    max_depth: int
    mode: str
    population_size: int | None
    generations: int | None
    crossover: float
    warm_starts: Any
    backend: str

    _warm_start_names: tuple[str, ...] = ()

    def _draft(self) -> tuple[Self, int]:
        draft: Self = clone(self).set_params(population_size=40, generations=100)
        whole, short = self._evolution(), draft._evolution()
        is_short = 10 * short.population_size * short.generations <= (
            whole.population_size * whole.generations
        )
        return (draft, SHORT_FITS) if is_short else super()._draft()

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer("max_depth", self.max_depth, at_least=1, at_most=DEEPEST)
        check_choice("mode", self.mode, MODES)
        if self.population_size is not None:
            check_integer("population_size", self.population_size, at_least=4)
        if self.generations is not None:
            check_integer("generations", self.generations, at_least=0, at_most=MOST_GENERATIONS)
        check_real("crossover", self.crossover, at_most=1.0)
        check_warm_starts(self.warm_starts, self._warm_start_names)
        check_choice("backend", self.backend, BACKENDS)

    def _search(self, problem: Problem) -> Found:
        found, self.backend_ = search_on(self.backend, problem, self._search_with)
        return found

    @abstractmethod
    def _search_with(self, backend: Backend, problem: Problem) -> Found:
        """Search for trees with a backend."""

    def _evolution(self) -> Evolution:
        """Return the settings of the mode, with the user's own on top."""
        mode = MODES[self.mode]
        return Evolution(
            population_size=int(self.population_size or mode.population_size),
            generations=int(mode.generations if self.generations is None else self.generations),
            crossover=float(self.crossover),
        )
