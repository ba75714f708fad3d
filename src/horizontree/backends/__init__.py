"""Backends count the samples at the nodes of many trees at once."""

from __future__ import annotations

import importlib.util
import warnings

from horizontree.backends.base import Backend, DeviceError
from horizontree.backends.cpu import CPUBackend
from horizontree.backends.reference import ReferenceBackend
from horizontree.encoding import SampleSet as _SampleSet

BACKENDS = ("auto", "cpu", "jax", "reference")

_GPU_PLUGINS = ("jax_cuda12_plugin", "jax_cuda13_plugin", "jax_rocm7_plugin", "jax_rocm60_plugin")

_WORTH_A_DEVICE = 1 << 24
"""Values (rows times features) from which on ``"auto"`` looks for an accelerator."""


def get_backend(name: str, n_threads: int, samples: _SampleSet | None = None) -> Backend:
    """Return a backend by name.

    Parameters
    ----------
    name : {"auto", "cpu", "jax", "reference"}
        ``"auto"`` chooses; the result's ``name`` says what it chose.
    n_threads : int
        Threads that the backend may use.
    samples : SampleSet or None, default=None
        The problem, for ``"auto"`` to choose by; None for a small one.

    Returns
    -------
    Backend
        Ready to load samples.

    Raises
    ------
    ImportError
        When JAX is asked for and not installed.
    DeviceError
        When JAX is asked for and has no device that works.
    """
    if name == "jax":
        return new_jax_backend()
    if name == "auto":
        is_large = samples is not None and samples.order.size >= _WORTH_A_DEVICE
        found = accelerator() if is_large else None
        return CPUBackend(n_threads) if found is None else found
    if name == "cpu":
        return CPUBackend(n_threads)
    if name == "reference":
        return ReferenceBackend()
    raise ValueError(
        f"backend={name!r} is not one of {', '.join(map(repr, BACKENDS))}; "
        f'use "auto" unless you need a particular one.'
    )


def accelerator() -> Backend | None:
    """Return the JAX backend if JAX is there and sees more than the processor."""
    if importlib.util.find_spec("jax") is None:
        return None
    try:
        backend = new_jax_backend()
    except (ImportError, DeviceError) as error:
        warnings.warn(f"{error} The CPU backend is used.", RuntimeWarning, stacklevel=2)
        return None
    return None if backend.platform == "cpu" else backend  # type: ignore[attr-defined]


def new_jax_backend() -> Backend:
    """Return the JAX backend, or say what it needs."""
    try:
        from horizontree.backends.jax_backend import JAXBackend
    except ImportError as error:
        raise ImportError(
            'backend="jax" needs JAX, which cannot be imported '
            f'({error}). Install it with: pip install "horizontree[jax]", '
            'or "horizontree[cuda]" for NVIDIA GPUs.'
        ) from error
    backend = JAXBackend()
    plugins = [name for name in _GPU_PLUGINS if importlib.util.find_spec(name) is not None]
    if plugins and backend.platform == "cpu":
        warnings.warn(
            f"JAX has {plugins[0]} but sees no GPU, and runs on the processor. Check the driver "
            "(nvidia-smi, rocm-smi) and JAX_PLATFORMS.",
            RuntimeWarning,
            stacklevel=2,
        )
    return backend


__all__ = [
    "BACKENDS",
    "Backend",
    "CPUBackend",
    "DeviceError",
    "ReferenceBackend",
    "accelerator",
    "get_backend",
    "new_jax_backend",
]
