"""Thresholds: strictly between their neighbours, and right for those who round to float32."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from horizontree.encoding import threshold_between

pytestmark = pytest.mark.nojit

TINIEST = 5e-324
TINIEST_32 = float(np.finfo(np.float32).smallest_subnormal)
LARGEST = sys.float_info.max
LARGEST_32 = float(np.finfo(np.float32).max)

finite = st.floats(allow_nan=False, allow_infinity=False)


def ulps_above(value: float, n_ulps: int) -> float:
    for _ in range(n_ulps):
        value = math.nextafter(value, math.inf)
    return value


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[float, float]:
    """Draw two values that are far apart, a few float64 apart, or a few float32 apart."""
    low = draw(finite)
    distance = draw(st.sampled_from(["any", "float64", "float32"]))
    if distance == "any":
        high = draw(finite)
    elif distance == "float64":
        high = ulps_above(low, draw(st.integers(1, 5)))
    else:
        with np.errstate(all="ignore"):
            high = float(np.nextafter(np.float32(low), np.float32(np.inf)))
        high = ulps_above(high, draw(st.integers(0, 2)))
    low, high = min(low, high), max(low, high)
    assume(low < high and math.isfinite(high))
    return low, high


def to_float32(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(value))


@given(neighbours())
def test_a_threshold_separates_and_lies_strictly_between_where_a_float_does(pair):
    low, high = pair
    t = threshold_between(low, high)
    assert low <= t < high
    if math.nextafter(low, high) < high:
        assert low < t
    else:
        assert t == low


@given(neighbours())
@example((0.0, 1e300))
@example((-1e300, 0.0))
@example((1e39, 2e39))
@example((0.0, TINIEST_32))
@example((-TINIEST_32, 0.0))
@example((1.0, float(np.nextafter(np.float32(1), np.float32(2)))))
def test_a_threshold_separates_what_was_rounded_to_float32_where_any_can(pair):
    low, high = pair
    t = threshold_between(low, high)
    low32, high32 = to_float32(low), to_float32(high)
    lowest = max(math.nextafter(low, high), low32)  # of those that could do
    if low32 < high32 and lowest < min(high, high32):
        assert low32 <= t < high32
        if to_float32(lowest) < high32:
            assert low32 <= to_float32(t) < high32


@given(neighbours())
def test_a_threshold_is_the_midpoint_wherever_that_serves(pair):
    low, high = pair
    middle = low / 2 + high / 2
    low32, high32 = to_float32(low), to_float32(high)
    serves_float32 = low32 <= middle < high32 and low32 <= to_float32(middle) < high32
    if low < middle < high and (serves_float32 or low32 == high32):
        assert threshold_between(low, high) == middle


SIZES = (1.0, 3.0, 0.1, 1e30, LARGEST_32, TINIEST, TINIEST_32, sys.float_info.min)


@pytest.mark.parametrize("low", [*SIZES, *(-size for size in SIZES), -LARGEST, 0.0, -0.0])
def test_one_ulp_neighbours_are_separated_by_the_lower_one(low):
    assert threshold_between(low, ulps_above(low, 1)) == low


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.0, 2.0, 1.5),
        (-3.0, 5.0, 1.0),
        (-1.0, 1.0, 0.0),
        (1e-320, 3e-320, 2e-320),
        (0.0, 2 * TINIEST, TINIEST),
        (-TINIEST, TINIEST, 0.0),
        (-LARGEST, LARGEST, 0.0),  # their difference is not a float
        (1e308, 1.5e308, 1.25e308),
        (-2e40, -1e40, -1.5e40),
        (16777216.0, 16777218.0, 16777217.0),  # ties to even: float32 rounds it to the lower
    ],
)
def test_a_threshold_of_known_neighbours(low, high, expected):
    assert threshold_between(low, high) == expected


def test_a_midpoint_that_float32_would_round_onto_the_higher_value_is_avoided():
    low, high = 16777218.0, 16777220.0  # float32 rounds 16777219 to 16777220, ties to even
    t = threshold_between(low, high)
    assert low < t < high
    assert to_float32(t) == low


@given(neighbours())
def test_a_threshold_does_not_depend_on_how_the_host_handles_floating_point_errors(pair):
    expected = threshold_between(*pair)
    with np.errstate(all="raise"):
        assert threshold_between(*pair) == expected
