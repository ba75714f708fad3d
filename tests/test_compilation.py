"""The notice that the first fit has to compile: for people, once, and only when it is true."""

from __future__ import annotations

import io

import pytest
from numba.core import event

from horizontree.estimators import compilation
from horizontree.estimators.compilation import announce_compilation


def compile_something() -> None:
    with event.trigger_event("numba:compile"):
        pass


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def make_terminal(monkeypatch) -> Terminal:
    """Make standard error a terminal; in the test itself, for pytest sets it before each."""
    stream = Terminal()
    monkeypatch.setattr(compilation.sys, "stderr", stream)
    return stream


def test_a_terminal_is_told_once(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with announce_compilation():
        assert terminal.getvalue() == ""
        compile_something()
        compile_something()
    compile_something()
    assert terminal.getvalue().count("compiling") == 1


def test_a_log_stays_clean(capsys):
    with announce_compilation():
        compile_something()
    assert capsys.readouterr().err == ""


def test_nothing_is_said_when_nothing_is_compiled(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with announce_compilation():
        pass
    assert terminal.getvalue() == ""


def test_no_listener_is_left_behind_after_an_error(monkeypatch):
    terminal = make_terminal(monkeypatch)
    with pytest.raises(ZeroDivisionError), announce_compilation():
        raise ZeroDivisionError
    compile_something()
    assert terminal.getvalue() == ""
