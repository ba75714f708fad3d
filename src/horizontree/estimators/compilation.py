"""Saying so when a first fit has to compile the kernels."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import event

from horizontree.terminal import is_terminal


class _Notice(event.Listener):
    """Writes one line when the first kernel is compiled."""

    def __init__(self) -> None:
        self.is_written = False

    def on_start(self, event: Any) -> None:
        if not self.is_written:
            self.is_written = True
            print(
                "HorizonTree: compiling for this processor, once (about 15 s) ...",
                file=sys.stderr,
                flush=True,
            )

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def announce_compilation() -> Iterator[None]:
    """Tell a person at a terminal why the first fit takes so long; logs stay clean.

    Kernels that come from the cache are loaded without a word.
    """
    if not is_terminal(sys.stderr):
        yield
        return
    with event.install_listener("numba:compile", _Notice()):
        yield
