"""What stands in somebody's files cannot command the terminal, nor forge lines."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars
import pytest

from horizontree.bench.progress import ProgressLine
from horizontree.cli import console
from horizontree.cli.main import main
from horizontree.terminal import visible

TITLE, OVERWRITE, FORGED = "\x1b]0;gotcha\x07", "fine\r\x1b[2K", "yes\nmodel saved to /etc"
TURNED, UP = "\u202egnp.exe", "\x9b1A"
HOSTILE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A data file whose name, columns and classes are no good."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).random((60, 2)).round(3)
    labels = [FORGED if x > 0.5 else TURNED for x in X[:, 0]]
    frame = polars.DataFrame({TITLE: X[:, 0], UP: X[:, 1], OVERWRITE: labels})
    name = f"data{TITLE}\n.parquet"
    frame.write_parquet(name)
    return name


def check(text: str) -> None:
    assert not HOSTILE.search(text), text
    assert "\nmodel saved to /etc" not in text


@pytest.mark.parametrize(
    "code", [*range(32), 127, *range(128, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A)]
)
def test_a_control_character_is_written_as_an_escape(code: int) -> None:
    text = visible(f"a{chr(code)}b")
    assert text.isascii()
    assert text.isprintable()
    assert json.loads(f'"{text}"'.replace(r"\x", r"\u00")) == f"a{chr(code)}b"


@pytest.mark.parametrize("name", ["größe", "数据", "naïve\xa0b", "🌳", "a b|c\\d", "שם", ""])
def test_other_names_stay_as_they_are(name: str) -> None:
    assert visible(name) == name


def test_every_command_shows_names_without_their_controls(
    hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = ("--target", OVERWRITE, "--depth", "2")
    for command in (
        ("fit", hostile, *target, "--output", f"m{UP}\n.json"),
        ("tune", hostile, *target, "--method", "cart", "--output", "t.json"),
        ("compare", hostile, *target, "--methods", "cart", "ls-oct", "--folds", "2"),
        ("show", f"m{UP}\n.json"),
        ("evaluate", f"m{UP}\n.json", hostile),
        ("predict", f"m{UP}\n.json", hostile, "--output", f"p{TITLE}\n.csv"),
    ):
        assert main(command) == 0
        out, err = capsys.readouterr()
        check(out)
        check(err)
        if command[0] in ("fit", "tune", "show"):
            assert r"\x1b]0;gotcha\x07 <= " in out
        if command[0] != "predict":
            assert r"yes\nmodel saved to /etc" in out
            assert r"\u202egnp.exe" in out


def test_an_error_and_a_warning_show_names_without_their_controls(
    hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ("fit", f"none{TITLE}{UP}{TURNED}.csv", "--target", "y"),
        ("fit", hostile, "--target", TITLE),
        ("bench", "report", f"none{TITLE}.csv"),
    ):
        assert main(command) == 2
        check(capsys.readouterr().err)
    console.note(f"warning: {TITLE}\nthe next line")
    assert capsys.readouterr().err == "warning: \\x1b]0;gotcha\\x07 the next line\n"


def test_what_programs_read_has_the_names_as_they_are(
    hostile: str, output_of: Callable[..., str]
) -> None:
    output_of("fit", hostile, "--target", OVERWRITE, "--method", "cart", "--output", "m.json")
    classes = json.loads(output_of("show", "m.json", "--json"))["classes"]
    assert sorted(classes) == sorted([FORGED, TURNED])
    out = output_of("predict", "m.json", hostile)
    labels = polars.read_parquet(hostile, glob=False)[OVERWRITE].to_list()
    assert polars.read_csv(io.StringIO(out))["prediction"].to_list() == labels


def test_the_last_defence_lets_only_the_ends_of_lines_pass(
    capsys: pytest.CaptureFixture[str],
) -> None:
    console.say("one\ntwo\r\x1b[2K\tthree")
    assert capsys.readouterr().out == "one\ntwo\\r\\x1b[2K\\tthree\n"


def test_a_terminal_hears_the_visible_name_of_the_file_that_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    with console.ReadingProgress(f"data{TITLE}.csv", is_wanted=True):
        pass
    check(sys.stderr.getvalue())
    assert r"reading data\x1b]0;gotcha\x07.csv ... " in sys.stderr.getvalue()


def test_a_study_tells_of_failures_without_controls() -> None:
    stream = io.StringIO()
    ProgressLine(0, 1, stream).note(f"failed: cart {TITLE}\n{FORGED}")
    check(stream.getvalue())
    assert stream.getvalue().count("\n") == 1
