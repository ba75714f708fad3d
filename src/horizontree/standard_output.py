"""Keeping compiled code of other packages away from the standard output of the host program."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_one_at_a_time = threading.Lock()


@contextmanager
def diverted(to: int) -> Iterator[None]:
    """Send what compiled code writes to standard output to another file descriptor.

    Such code writes to the file itself, so that for a moment the file is another one; one
    thread at a time, or the wrong one would be put back.
    """
    with _one_at_a_time:
        try:
            saved = os.dup(1)
        except OSError:  # a host without standard output has nothing to protect
            yield
            return
        try:
            _flush()
            with suppress(OSError):  # where that is closed, it stays as it is
                os.dup2(to, 1)
            yield
        finally:
            _flush()
            os.dup2(saved, 1)
            os.close(saved)


@contextmanager
def muted() -> Iterator[None]:
    """Drop what compiled code writes to standard output."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        with diverted(nowhere):
            yield
    finally:
        os.close(nowhere)


def _flush() -> None:
    """Write out what the C library holds back: it would come after the file is put back."""
    with suppress(OSError, AttributeError, TypeError):  # where the library has no such name
        ctypes.CDLL(None).fflush(None)
