"""Standard output belongs to the host program: no solver writes there."""

from __future__ import annotations

import ctypes
import os
import threading

import pytest

from horizontree.standard_output import diverted, muted

C_LIBRARY = ctypes.CDLL(None)


@pytest.fixture
def said(capfd):
    """Return what arrived on standard output and standard error, with nothing held back."""

    def all_of_it():
        C_LIBRARY.fflush(None)
        return tuple(capfd.readouterr())

    C_LIBRARY.fflush(None)
    return all_of_it


def test_what_compiled_code_writes_is_dropped(said):
    C_LIBRARY.printf(b"before ")
    with muted():
        C_LIBRARY.printf(b"held back by the C library")
        os.write(1, b"written at once")
    C_LIBRARY.printf(b"after")
    assert said() == ("before after", "")


def test_it_is_dropped_when_the_solver_fails_too(said):
    def solve() -> None:
        with muted():
            C_LIBRARY.printf(b"on the way to an error")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        solve()
    C_LIBRARY.printf(b"after")
    assert said() == ("after", "")


def test_threads_put_standard_output_back(said):
    def solve() -> None:
        with diverted(to=2):
            os.write(1, b".")

    threads = [threading.Thread(target=solve) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    os.write(1, b"after")
    assert said() == ("after", "." * 8)


def test_a_closed_target_changes_nothing(said):
    reading, writing = os.pipe()
    os.close(reading)
    os.close(writing)
    with diverted(to=writing):
        os.write(1, b"said")
    assert said() == ("said", "")
