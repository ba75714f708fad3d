"""One threshold between two neighbouring values."""

from __future__ import annotations

import math

import numpy as np

_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)


def threshold_between(low: float, high: float) -> float:
    """Return a threshold ``t`` that sends ``low`` left (``low <= t``) and ``high`` right.

    It is their midpoint wherever that also separates them once they, and it, are rounded to
    float32 (as scikit-learn's trees and many deployment formats do), and otherwise the first of a
    few alternatives that does, where float32 can tell the two apart. Then it may be ``low``.

    Parameters
    ----------
    low, high : float
        Neighbouring finite values, ``low < high``.

    Returns
    -------
    float
        The threshold.

    Examples
    --------
    >>> threshold_between(1.0, 2.0)
    1.5
    """
    low32, high32 = _as_float32(low), _as_float32(high)
    middle = low / 2 + high / 2
    inner_low, inner_high = max(low, low32), min(high, high32, _LARGEST_FLOAT32)
    candidates = (
        middle,
        inner_low / 2 + inner_high / 2,
        low32,
        math.nextafter(low, high),
        low,
    )

    def separates_float32(t: float) -> bool:
        return low32 <= t < high32 and low32 <= _as_float32(t) < high32

    strict = [t for t in candidates if low < t < high]
    if low32 < high32:
        return next(filter(separates_float32, strict), low)
    return strict[0] if strict else low


def _as_float32(value: float) -> float:
    """Round to float32; values beyond its range become infinite, whatever the host's errstate."""
    with np.errstate(all="ignore"):
        return float(np.float32(value))
