"""Backends count the samples at the nodes of many trees at once."""

from __future__ import annotations

from horizontree.backends.base import Backend
from horizontree.backends.cpu import CPUBackend
from horizontree.backends.reference import ReferenceBackend

BACKENDS = ("auto", "cpu", "reference")


def get_backend(name: str, n_threads: int) -> Backend:
    """Return a backend by name.

    Parameters
    ----------
    name : {"auto", "cpu", "reference"}
        ``"auto"`` chooses; the result's ``name`` says what it chose.
    n_threads : int
        Threads that the backend may use.

    Returns
    -------
    Backend
        Ready to load samples.
    """
    if name in ("auto", "cpu"):
        return CPUBackend(n_threads)
    if name == "reference":
        return ReferenceBackend()
    raise ValueError(
        f"backend={name!r} is not one of {', '.join(map(repr, BACKENDS))}; "
        f'use "auto" unless you need a particular one.'
    )


__all__ = ["BACKENDS", "Backend", "CPUBackend", "ReferenceBackend", "get_backend"]
