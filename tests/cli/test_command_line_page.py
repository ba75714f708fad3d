"""The examples of docs/command-line.md run, and print what the page says."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest

from horizontree.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.M | re.S)


def test_every_example_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 6
    for language, text in blocks:
        if language == "python":
            exec(compile(text, str(PAGE), "exec"), {})
            continue
        command, _, expected = text.partition("\n")
        program, *arguments = shlex.split(command.removeprefix("$ "))
        assert program == "horizontree"
        capsys.readouterr()
        assert main(arguments) == 0
        printed = capsys.readouterr().out
        is_same = doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS)
        assert is_same, f"{command}\n{printed}"
