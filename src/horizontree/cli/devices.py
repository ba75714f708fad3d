"""Accelerators from the command line."""

from __future__ import annotations

import os
from pathlib import Path

from horizontree.backends import DeviceError, get_backend
from horizontree.cli.console import CommandError


def keep_programs() -> None:
    """Let JAX keep compiled programs for the next run, unless the user has said where.

    The process is ours, so this setting is; as a library we leave it alone.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(cache / "horizontree" / "jax"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.5")


def check_jax() -> None:
    """Refuse a request for JAX that cannot be met, before any data is read."""
    try:
        get_backend("jax", 1)
    except (ImportError, DeviceError) as error:
        raise CommandError(str(error)) from None
