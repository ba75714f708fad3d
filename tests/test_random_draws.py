"""Random numbers by counter: the same for everyone, in any order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from horizontree.backends import _bitset_kernels as kernels
from horizontree.search.random_draws import draws, high_half, low_half, stream_of

pytestmark = pytest.mark.nojit

any_stream = st.integers(0, 2**64 - 1)
any_counter = st.one_of(st.integers(0, 100), st.integers(0, 2**63 - 1))


def test_the_draws_are_those_of_splitmix64():
    # the first outputs of the published generator for the seed 1234567
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert draws(1234567, np.arange(3)).tolist() == expected


@given(any_stream, st.lists(any_counter, min_size=1, max_size=8))
def test_numpy_the_kernel_and_plain_integers_draw_the_same(stream, counters):
    expected = [naive.draw(stream, counter) for counter in counters]
    assert draws(stream, np.array(counters, dtype=np.int64)).tolist() == expected
    assert [int(kernels._draw(np.uint64(stream), counter)) for counter in counters] == expected


@given(any_stream)
def test_the_halves_make_up_the_whole(bits):
    array = np.array([bits], dtype=np.uint64)
    high, low = int(high_half(array)[0]), int(low_half(array)[0])
    assert (high << 32) | low == bits
    assert high == kernels._high(array[0])
    assert low == kernels._low(array[0])


def test_the_order_of_drawing_does_not_matter():
    counters = np.arange(1000)
    backwards = draws(5, counters[::-1])[::-1]
    assert np.array_equal(draws(5, counters), backwards)
    assert np.array_equal(draws(5, counters.reshape(10, 100)).ravel(), backwards)


def test_seeds_and_paths_have_streams_of_their_own():
    paths = [(), *((a,) for a in range(300)), *((a, b) for a in range(20) for b in range(20))]
    streams = [stream_of(seed, *path) for seed in range(30) for path in paths]
    assert len(set(streams)) == len(streams)
    assert all(0 <= stream < 2**64 for stream in streams)


@pytest.mark.parametrize("bit", range(64))
def test_every_bit_is_fair_and_flips_when_the_stream_or_the_counter_moves_on(bit):
    n = 1 << 12
    first, other = draws(stream_of(0, 1), np.arange(n)), draws(stream_of(0, 2), np.arange(n))
    five_sigma = 5 * np.sqrt(n) / 2
    for bits in (first, first ^ other, first[1:] ^ first[:-1]):
        n_set = np.count_nonzero(bits >> np.uint64(bit) & np.uint64(1))
        assert abs(n_set - len(bits) / 2) < five_sigma
