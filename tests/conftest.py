"""Settings of the whole suite: hypothesis without chance, NumPy integers with the JIT off."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import numba
import numpy as np
import pytest
from hypothesis import settings

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=4")  # see test_jax.py

settings.register_profile("horizontree", deadline=None, derandomize=True, database=None)
settings.load_profile("horizontree")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a suite in the background hears no Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def wrapping_integers() -> Iterator[None]:
    """Let uint64 arithmetic wrap around in silence when the kernels are plain Python.

    The random draws rely on it. Compiled code and NumPy arrays wrap without a word; only
    NumPy's scalars, which the kernels meet with the JIT off, warn.
    """
    if not numba.config.DISABLE_JIT:
        yield
        return
    with np.errstate(over="ignore"):
        yield
