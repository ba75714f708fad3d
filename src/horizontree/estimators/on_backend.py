"""Searching with the backend that the user asked for, or that suits the problem."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

from horizontree.backends import Backend, DeviceError, get_backend
from horizontree.estimators.base import Found, Problem


def search_on(
    name: str, problem: Problem, search: Callable[[Backend, Problem], Found]
) -> tuple[Found, str]:
    """Search with a backend; return what was found, and the backend's name.

    Only ``"auto"`` may turn to the processor when a device fails, and it says so.
    """
    backend = get_backend(name, problem.n_threads, problem.samples)
    if getattr(backend, "n_processes", 1) > 1:
        if problem.watch.has_limit:
            raise ValueError(
                "time_limit does not work over several processes: their clocks would disagree. "
                "Leave it out, or choose less effort or fewer generations."
            )
        problem = replace(problem, run=map, n_threads=1)  # all must ask in the same order
    try:
        return search(backend, problem), backend.name
    except DeviceError as error:
        if name != "auto":
            raise
        warnings.warn(
            f"{error} This fit goes on with the CPU backend.", RuntimeWarning, stacklevel=4
        )
    return search(get_backend("cpu", problem.n_threads), problem), "cpu"
