"""Our own threads: lent for one piece of work, and gone afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

Map = Callable[[Callable[..., Any], Iterable[Any]], Iterable[Any]]
"""What runs independent pieces of work: ``map``, or the ``map`` of a thread pool."""


@contextmanager
def thread_map(n_threads: int) -> Iterator[Map]:
    """Lend a ``map`` over threads; one thread needs no pool."""
    if n_threads == 1:
        yield map
        return
    with ThreadPoolExecutor(n_threads, thread_name_prefix="horizontree") as pool:
        yield pool.map
