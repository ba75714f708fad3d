"""The progress line: redrawn on a terminal, rare in a log."""

from __future__ import annotations

import io

import pytest

from horizontree import RSOCTClassifier, progress
from horizontree.progress import ProgressLine
from problems import KINDS, make_data, quick


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is told to go on."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


def test_a_terminal_shows_one_line_that_is_drawn_again(clock):
    line = ProgressLine("DEOCT", 2, stream := Terminal())
    clock[0] += 1
    line.update("nodes, depth 2", 3, 6, 9, 6)
    clock[0] += 1
    line.update("nodes, depth 3", 6, 6, None, None)
    line.close("done")
    first, second, last = stream.getvalue().split("\r\x1b[K")[1:]
    half = "█" * 5 + "·" * 5
    assert first == f"DEOCT {half} 3/6 nodes, depth 2, cost 4.5, bound 3.0, gap 33.3%, 1.0 s"
    assert second == f"DEOCT {'█' * 10} 6/6 nodes, depth 3, 2.0 s"
    assert last == "DEOCT: done\n"


@pytest.mark.parametrize(("stream", "pause"), [(Terminal, 0.1), (io.StringIO, 10.0)])
def test_the_line_is_not_drawn_more_often_than_it_can_be_read(clock, stream, pause):
    line = ProgressLine("CART", 1, written := stream())
    for step in range(1, 9):
        clock[0] = 100 + step * pause / 4 + 1e-6
        line.update("", step, 8, None, None)
    assert written.getvalue().count("CART") == 2


def test_a_log_gets_whole_lines(clock):
    line = ProgressLine("CART", 1, log := io.StringIO())
    clock[0] += 11
    line.update("nodes", 0, 0, None, None)
    line.close("5 errors")
    assert log.getvalue() == "CART 0 nodes, 11.0 s\nCART: 5 errors\n"


@pytest.mark.parametrize("kind", KINDS)
def test_a_verbose_fit_ends_with_a_summary_on_standard_error(kind, capsys):
    X, y = make_data(80)
    model = quick(kind, max_depth=2, verbose=1).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == ""
    *_, summary = captured.err.splitlines()
    start = f"{kind.__name__}: {model.n_errors_} errors of 80, {model.tree_.n_splits} splits"
    assert summary.startswith(f"{start}, {model.status_}, ")


def test_a_bound_that_is_known_stands_in_the_summary(capsys):
    X, y = make_data(200, 5, 3, seed=2)
    model = RSOCTClassifier(2, max_boxes=3000, verbose=1).fit(X, y)
    assert 0 < model.lower_bound_ < model.objective_
    bound = f"bound {round(model.lower_bound_, 2):,}, gap {model.gap_:.1%}"
    assert f"{model.status_}, {bound}, " in capsys.readouterr().err


def test_a_quiet_fit_says_nothing(capsys):
    quick(KINDS[0]).fit(*make_data(40))
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
