"""How the command line says no: exit code 2 and one clear line."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from cli_samples import make_frame, write

from horizontree import CARTClassifier
from horizontree.cli.main import main

# Refusals: data


BAD_DATA = {
    "a,b,y\n1,2,0\n3,x,1\n": r"row 2 \(line 3\), column 'b': 'x' is not a number; drop the column "
    r"with --drop b or one-hot encode it",
    "a,b,y\n1,2020-01-01,0\n3,2020-01-02,1\n": r"row 1 .*'2020-01-01' is not a number; drop",
    "a,b,y\n1,2,0\n3,,1\n": r"row 2 \(line 3\), column 'b': the value is missing; missing values "
    r"are not supported yet: drop or fill them \(1 missing value in this column\)",
    "a,b,y\n1,?,0\n3,NA,1\n": r"row 1 .*column 'b': the value is missing.*2 missing values",
    "a,b,y\n1,2,0\n3,nan,1\n": r"row 2 .*column 'b': the value is missing",
    "a,b,y\n1,2,0\n3, ,1\n": r"row 2 .*column 'b': the value is missing",
    "a,b,y\n1,2,0\n3,4,\n": r"row 2 \(line 3\), column 'y': the value is missing",
    "a,b,y\n1,2,0\n3,inf,1\n": r"row 2 \(line 3\), column 'b': the value is infinite \(inf\)",
    "a,b,y\n1,2,0\n3,-1e999,1\n": r"row 2 .*column 'b': the value is infinite \(-inf\)",
    "": r"bad.csv is empty",
    "\n\n": r"bad.csv is empty",
    "a,b,y\n": r"bad.csv has a header but no rows",
    "a,b,y": r"bad.csv has a header but no rows",
    "a,b,y\n\n \n": r"bad.csv has a header but no rows",
    "a,b,y\n1,2,no\n3,4,no\n": r"the target 'y' has 1 class \('no'\); a classifier needs at least",
    "y\n0\n1\n": r"no feature columns left beside the target 'y'",
    "a,a,y\n1,2,0\n3,4,1\n": r"two columns named 'a'; column names must differ",
    ",a,y\n0,2,0\n1,4,1\n": r"column 1 has no name \(a row index\?\).*--drop ''",
    "a,b,y\n1,2,0\n3,4,5,1\n": r"line 3 has 4 fields, and the header has 3",
    "a,b,y\n1,2,0,9\n3,4,1\n": r"line 2 has 4 fields, and the header has 3",
    "a,b,y\n1,2,0\n3,4\n": r"line 3 has 2 fields, and the header has 3",
    "a,b,y\n1\n3,4,1\n": r"line 2 has 1 field, and the header has 3",
    "a;b;y\n1;2;0\n": r"seems to be separated by ';'; expected commas",
    'a,b,y\n1,2,0\n3,"4,1\n': r"bad.csv",
    "a,y\n1,0.5\n2,1.5\n": r"the target 'y' holds fractions such as 0.5, so it is a measurement",
    "\n".join(["a,y", *(f"{i},{i}" for i in range(50))]): r"50 different values in 50 rows",
}


@pytest.mark.parametrize("text", BAD_DATA, ids=lambda text: repr(text)[:40])
def test_bad_data_is_refused(text: str, data: str, refusal_of: Callable[..., str]) -> None:
    message = refusal_of("fit", write(text), "--target", "y", "--output", "m.json")
    assert re.search(BAD_DATA[text], message), message
    assert not Path("m.json").exists()


def test_broken_files_are_refused(data: str, refusal_of: Callable[..., str]) -> None:
    packed = gzip.compress(Path(data).read_bytes())
    Path("cut.csv.gz").write_bytes(packed[: len(packed) // 2])
    Path("plain.csv.gz").write_bytes(Path(data).read_bytes())
    Path("flipped.csv.gz").write_bytes(packed[:-8] + b"12345678")
    Path("latin.csv").write_bytes("a,y\n1,é\n2,b\n".encode("latin-1"))
    Path("latin_header.csv").write_bytes("é,y\n1,a\n2,b\n".encode("latin-1"))
    Path("empty.csv.gz").write_bytes(b"")
    for name in ("text.parquet", "empty.parquet"):
        Path(name).write_bytes(b"no parquet at all" if name[0] == "t" else b"")
    make_frame(["no", "yes"]).write_parquet("cut.parquet")
    Path("cut.parquet").write_bytes(Path("cut.parquet").read_bytes()[:100])
    for path in Path().glob("*"):
        if path.name != data:
            assert path.name in refusal_of("fit", path.name, "--target", "y")


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("none.csv", "no such file: none.csv"),
        ("folder", "folder is a folder; expected a data file"),
        ("data.xlsx", r"unknown kind of file '.xlsx'; expected .csv, .csv.gz, .parquet"),
        ("data", r"unknown kind of file ''"),
    ],
)
def test_a_path_that_is_no_data_file_is_refused(
    path: str, pattern: str, data: str, refusal_of: Callable[..., str]
) -> None:
    Path("folder").mkdir()
    Path("data.xlsx").touch()
    Path("data").touch()
    assert re.search(pattern, refusal_of("fit", path, "--target", "y"))


def test_a_missing_column_is_named_with_a_suggestion(
    data: str, refusal_of: Callable[..., str]
) -> None:
    assert "no column 'Y'; did you mean 'y'?" in refusal_of("fit", data, "--target", "Y")
    assert "the columns are 'a', 'b', 'y'" in refusal_of("fit", data, "--target", "class")
    assert "--drop: data.csv has no column 'c'" in refusal_of(
        "fit", data, "--target", "y", "--drop", "c"
    )
    assert "cannot be dropped" in refusal_of("fit", data, "--target", "y", "--drop", "y")
    assert "no feature columns" in refusal_of("fit", data, "--target", "y", "--drop", "a", "b")


def test_parquet_columns_that_are_no_numbers_are_refused(
    data: str, refusal_of: Callable[..., str]
) -> None:
    frame = make_frame(["no", "yes"])
    dates = polars.Series("d", np.arange(60).astype("datetime64[D]"))
    frame.with_columns(dates).write_parquet("d.parquet")
    message = refusal_of("fit", "d.parquet", "--target", "y")
    assert "column 'd' holds Date, not numbers; drop the column with --drop d or" in message
    assert "expected class labels" in refusal_of("fit", "d.parquet", "--target", "d")
    huge = polars.Series("a", [2**53 + i for i in range(frame.height)])
    frame.with_columns(huge).write_parquet("h.parquet")
    assert "float64 cannot tell apart" in refusal_of("fit", "h.parquet", "--target", "y")
    frame.with_columns(a=polars.lit("x")).write_parquet("t.parquet")
    message = refusal_of("fit", "t.parquet", "--target", "y")
    assert "t.parquet: row 1, column 'a': 'x' is not a number" in message
    frame.with_columns(a=polars.lit(None)).write_parquet("n.parquet")
    assert "60 missing values" in refusal_of("fit", "n.parquet", "--target", "y")
    frame.clear().write_parquet("e.parquet")
    assert "no rows" in refusal_of("fit", "e.parquet", "--target", "y")
    labels = polars.Series("y", [0.0, np.inf] * 30)
    frame.with_columns(labels).write_parquet("i.parquet")
    assert "row 2, column 'y'" in refusal_of("fit", "i.parquet", "--target", "y")


# Refusals: models


def test_a_file_that_is_no_model_is_refused(
    model: str, data: str, refusal_of: Callable[..., str]
) -> None:
    document = json.loads(Path(model).read_text())
    newer = write(json.dumps({**document, "format_version": 2}), "newer.json")
    for command in ("predict", "evaluate", "show"):
        rest = [] if command == "show" else [data]
        assert "not a HorizonTree model" in refusal_of(command, data, *rest)
        assert "upgrade with pip install" in refusal_of(command, newer, *rest)
        assert "no such file: none.json" in refusal_of(command, "none.json", *rest)
        assert "is a folder; expected a model file" in refusal_of(command, ".", *rest)


def test_missing_features_are_named(model: str, refusal_of: Callable[..., str]) -> None:
    path = write("b,y\n1,no\n", "less.csv")
    for command in ("predict", "evaluate"):
        message = refusal_of(command, model, path)
        assert "less.csv lacks 1 of the 2 features of model.json: 'a'" in message


def test_text_in_a_feature_of_the_model_is_refused(
    model: str, refusal_of: Callable[..., str]
) -> None:
    path = write("a,b,y\n1,1,no\n1,one,no\n", "words.csv")
    for command in ("predict", "evaluate"):
        message = refusal_of(command, model, path)
        assert "words.csv: row 2 (line 3), column 'b': 'one' is not a number" in message
        assert "--drop" not in message


def test_evaluate_needs_a_target(
    model: str, data: str, refusal_of: Callable[..., str], output_of: Callable[..., str]
) -> None:
    path = write("a,b,why\n1,1,no\n", "other.csv")
    assert "no column 'y' (the target)" in refusal_of("evaluate", model, path)
    assert "is a feature" in refusal_of("evaluate", model, data, "--target", "a")
    document = json.loads(Path(model).read_text())
    nameless = write(json.dumps({**document, "target": None}), "nameless.json")
    assert "add --target NAME" in refusal_of("evaluate", nameless, data)


# Refusals: output and options


def test_output_is_checked_before_the_fit(
    data: str, refusal_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("the fit began")

    monkeypatch.setattr(CARTClassifier, "fit", never)
    Path("folder").mkdir()
    for output, pattern in [
        ("none/m.json", "the folder .*none does not exist"),
        ("folder", "it is a folder"),
        ("data.csv/m.json", "data.csv is a file, not a folder"),
        ("data.csv", "it is the input"),
    ]:
        message = refusal_of("fit", data, "--target", "y", "--output", output)
        assert re.search(f"cannot write {output}: .*{pattern}", message), message


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_one_line(
    data: str, model: str, refusal_of: Callable[..., str]
) -> None:
    arguments = ["fit", data, "--target", "y", "--method", "cart", "--quiet"]
    message = refusal_of(*arguments, "--output", "/dev/full")
    assert "cannot write /dev/full: No space left on device" in message
    Path("full.csv").symlink_to("/dev/full")
    assert "cannot write full.csv" in refusal_of("predict", model, data, "--output", "full.csv")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_folder_without_permission_is_refused(data: str, refusal_of: Callable[..., str]) -> None:
    Path("locked").mkdir(mode=0o500)
    message = refusal_of("fit", data, "--target", "y", "--output", "locked/m.json")
    assert "permission denied" in message


def test_predict_writes_only_what_it_knows(
    model: str, data: str, refusal_of: Callable[..., str]
) -> None:
    assert "ends in .csv or .parquet" in refusal_of("predict", model, data, "--output", "p.txt")
    assert "it is the input" in refusal_of("predict", model, data, "--output", data)
    assert "does not exist" in refusal_of("predict", model, data, "--output", "none/p.csv")


@pytest.mark.parametrize(
    "options",
    [
        "--depth 0",
        "--depth two",
        "--depth 1.5",
        "--min-samples-leaf 0",
        "--ccp-alpha -1",
        "--ccp-alpha nan",
        "--mode fast",
        "--method forest",
        "--horizon 0",
        "--horizon soon",
        "--time-limit 0",
        "--time-limit inf",
        "--seed -1",
        "--seed 4294967296",
        "--jobs 0",
        "--test-fraction 1",
        "--test-fraction -0.1",
        "--test-fraction x",
        "--test-fraction 0.001",
        "--test-fraction 0.999",
        "--method cart --horizon 2",
        "--method cart --mode long",
        "--method deoct --horizon 2",
        "--unknown 3",
        "--dep 3",
    ],
)
def test_bad_options_are_refused(options: str, data: str, refusal_of: Callable[..., str]) -> None:
    message = refusal_of("fit", data, "--target", "y", *options.split())
    assert options.split()[-2] in message


def test_a_training_part_of_one_class_is_refused(data: str, refusal_of: Callable[..., str]) -> None:
    path = write("a,y\n" + "1,no\n" * 9 + "2,yes\n", "rare.csv")
    messages = []
    for seed in range(20):
        if main(["fit", path, "--target", "y", "--test-fraction", "0.5", "--seed", str(seed),
                 "--method", "cart"]) == 2:  # fmt: skip
            messages.append(seed)
    assert messages
    message = refusal_of(
        "fit", path, "--target", "y", "--test-fraction", "0.5", "--seed", str(messages[0])
    )
    assert "5 rows left for training have 1 class" in message


def test_no_command_and_help(refusal_of: Callable[..., str], output_of: Callable[..., str]) -> None:
    assert "expected one of fit, predict, evaluate, show" in refusal_of()
    assert "--target" in refusal_of("fit", "data.csv")
    assert "invalid choice: 'train'" in refusal_of("train")
    assert output_of("--version").startswith("horizontree ")
    for command in ("fit", "predict", "evaluate", "show", "doctor"):
        assert command in output_of("--help")
        assert "--json" in output_of(command, "--help")


def test_without_polars_one_line_says_what_to_install(
    model: str,
    data: str,
    refusal_of: Callable[..., str],
    output_of: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    assert "pip install 'horizontree[cli]'" in refusal_of("fit", data, "--target", "y")
    assert "pip install 'horizontree[cli]'" in refusal_of("predict", model, data)
    assert output_of("show", model)


def test_a_warning_is_one_line(
    data: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import warnings

    fit = CARTClassifier.fit

    def warning_fit(self: Any, X: Any, y: Any) -> Any:
        warnings.simplefilter("always")
        warnings.warn("mind the gap", stacklevel=2)
        return fit(self, X, y)

    monkeypatch.setattr(CARTClassifier, "fit", warning_fit)
    assert main(["fit", data, "--target", "y", "--method", "cart", "--quiet"]) == 0
    assert capsys.readouterr().err == "horizontree: warning: mind the gap\n"


def test_a_million_rows_are_worth_a_word(
    data: str, model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("horizontree.cli.console._ROWS_WORTH_A_WORD", 60)
    assert main(["evaluate", model, data]) == 0
    assert re.fullmatch(r"reading data.csv ... 60 rows in \d+\.\d s\n", capsys.readouterr().err)


def test_a_method_without_its_package_says_what_to_install(
    data: str, refusal_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "gosdt", None)
    message = refusal_of("fit", data, "--target", "y", "--method", "gosdt-guesses", "--quiet")
    assert 'pip install "horizontree[gosdt]"' in message
