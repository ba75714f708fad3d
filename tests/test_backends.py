"""Choosing a backend: an explicit request or an error."""

from __future__ import annotations

import pytest

from horizontree.backends import BACKENDS, CPUBackend, ReferenceBackend, get_backend


@pytest.mark.parametrize(("name", "chosen"), [("auto", "cpu"), ("cpu", "cpu"), ("reference",) * 2])
def test_a_backend_says_what_it_is(name, chosen):
    assert get_backend(name, 3).name == chosen


def test_a_backend_is_given_its_threads():
    assert isinstance(get_backend("cpu", 3), CPUBackend)
    assert get_backend("cpu", 3).n_threads == 3
    assert isinstance(get_backend("reference", 3), ReferenceBackend)


@pytest.mark.parametrize("name", ["gpu", "CPU", "", None, 3])
def test_an_unknown_backend_is_an_error_that_lists_the_known_ones(name):
    with pytest.raises(ValueError) as refusal:
        get_backend(name, 1)
    assert repr(name) in str(refusal.value)
    assert all(repr(known) in str(refusal.value) for known in BACKENDS)
