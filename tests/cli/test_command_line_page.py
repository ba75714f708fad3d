"""The examples of docs/command-line.md run, and print what the page says.

``UPDATE_PAGES=1 pytest tests/cli/test_command_line_page.py`` writes what they print now.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from horizontree.cli.main import main

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.M | re.S)


def abbreviated(printed: str) -> str:
    """Leave out what differs from run to run, and most of a JSON object."""
    if printed.startswith("{"):
        return "".join(printed.splitlines(keepends=True)[:7]) + "  ...\n}\n"
    return re.sub(r"\d+\.\d\d s$", "... s", printed, flags=re.M)


def test_every_example_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = PAGE.read_text(encoding="utf-8")

    def run(block: re.Match[str]) -> str:
        language, text = block.groups()
        if language == "python":
            exec(compile(text, str(PAGE), "exec"), {})
            return block.group()
        command = text.partition("\n")[0]
        program, *arguments = shlex.split(command.removeprefix("$ "))
        assert program == "horizontree"
        capsys.readouterr()
        assert main(arguments) == 0, capsys.readouterr().err
        return f"```console\n{command}\n{abbreviated(capsys.readouterr().out)}```"

    printed, n_blocks = BLOCK.subn(run, page)
    assert n_blocks >= 6
    if os.environ.get("UPDATE_PAGES"):
        PAGE.write_text(printed, encoding="utf-8")
    assert printed == PAGE.read_text(encoding="utf-8")
