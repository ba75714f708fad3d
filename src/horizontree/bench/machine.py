"""What a reader of figures must know: the processor and the versions."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

from horizontree import __version__


def machine() -> str:
    """Return the processor and its cores."""
    model = platform.processor() or platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


def versions() -> tuple[str, ...]:
    """Return the versions that matter to the figures."""
    packages = [f"{name} {version(name)}" for name in ("numpy", "numba", "scikit-learn")]
    return (f"horizontree {__version__}", f"Python {platform.python_version()}", *packages)


def describe_machine() -> str:
    """Return machine and versions as one sentence."""
    return f"{machine()}; {', '.join(versions())}."
