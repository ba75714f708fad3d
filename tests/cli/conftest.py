"""A data file, its model, and ways to run a command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_samples import make_frame

from horizontree.cli.main import main


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A data file in the current folder; ``model.json`` beside it is its model."""
    monkeypatch.chdir(tmp_path)
    make_frame(["no", "yes"]).write_csv("data.csv")
    return "data.csv"


@pytest.fixture
def model(data: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["fit", data, "--target", "y", "--method", "cart", "--output", "model.json"]) == 0
    capsys.readouterr()
    return "model.json"


@pytest.fixture
def output_of(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must succeed; return its stdout."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return captured.out

    return run


@pytest.fixture
def refusal_of(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that must fail; return what its one line says."""

    def run(*arguments: str) -> str:
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        assert code == 2
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert captured.err.startswith("horizontree: error: ")
        return captured.err

    return run
