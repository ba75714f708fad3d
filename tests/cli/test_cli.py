"""The command line: what it prints and what it writes."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest
from cli_samples import LABELS, make_frame, write

from horizontree import CARTClassifier
from horizontree.cli.main import main
from horizontree.model_file import load_model, read_model, save_model

# fit


def test_fit_shows_cart_the_tree_the_model_and_what_to_type_next(
    data: str, output_of: Callable[..., str]
) -> None:
    out = output_of("fit", data, "--target", "y", "--depth", "2", "--quiet", "--output", "m.json")
    assert "data.csv: 60 rows, 2 features, 2 classes (" in out
    assert re.search(r"^cart +\d+ +\d+\.\d\d %$", out, re.M)
    assert re.search(r"^horizon +\d+ +\d+\.\d\d %$", out, re.M)
    assert load_model("m.json").tree_.to_text(["a", "b"], ["no", "yes"]) in out
    assert "model saved to m.json" in out
    assert "next: horizontree show m.json" in out


def test_fit_without_output_says_that_nothing_is_saved(
    data: str, output_of: Callable[..., str]
) -> None:
    assert "add --output" in output_of("fit", data, "--target", "y", "--method", "cart")
    assert os.listdir() == ["data.csv"]


def test_fit_saves_the_estimator_that_python_would_fit(
    data: str, output_of: Callable[..., str]
) -> None:
    options = ["--depth", "3", "--min-samples-leaf", "4", "--ccp-alpha", "0.01", "--seed", "9"]
    output_of("fit", data, "--target", "y", "--method", "cart", *options, "--output", "m.json")
    saved = read_model("m.json")
    frame = polars.read_csv(data)
    expected = CARTClassifier(max_depth=3, min_samples_leaf=4, ccp_alpha=0.01)
    expected.fit(frame.select("a", "b").to_numpy(), frame["y"].to_numpy())
    assert saved.estimator.tree_ == expected.tree_
    assert saved.estimator.feature_names_in_.tolist() == ["a", "b"]
    assert (saved.target, saved.method) == ("y", "cart")
    assert saved.estimator.get_params()["min_samples_leaf"] == 4
    assert saved.estimator.get_params()["verbose"] == 0


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".CSV"])
def test_every_kind_of_file_gives_the_same_tree(
    suffix: str, data: str, model: str, output_of: Callable[..., str]
) -> None:
    frame = make_frame(["no", "yes"])
    if suffix == ".parquet":
        frame.write_parquet("other.parquet")
    elif suffix == ".csv.gz":
        Path("other.csv.gz").write_bytes(gzip.compress(Path(data).read_bytes()))
    else:
        frame.write_csv(f"other{suffix}")
    output_of("fit", f"other{suffix}", "--target", "y", "--method", "cart", "--output", "o.json")
    assert load_model("o.json").tree_ == load_model(model).tree_
    assert "0 errors" in output_of("evaluate", "o.json", f"other{suffix}")


def test_the_name_of_a_file_is_no_pattern(
    data: str, model: str, output_of: Callable[..., str]
) -> None:
    for suffix in (".csv", ".parquet"):
        name = f"data[1]{suffix}"
        frame = make_frame(["no", "yes"])
        frame.write_csv(name) if suffix == ".csv" else frame.write_parquet(name)
        output_of("fit", name, "--target", "y", "--method", "cart", "--output", "o.json")
        assert load_model("o.json").tree_ == load_model(model).tree_


def test_cart_is_shown_at_the_depth_of_the_method(data: str, output_of: Callable[..., str]) -> None:
    shown = json.loads(output_of("fit", data, "--target", "y", "--method", "quant-bnb", "--json"))
    arguments = ("--target", "y", "--method", "cart", "--depth", "2", "--json")
    alone = json.loads(output_of("fit", data, *arguments))
    assert shown["parameters"]["max_depth"] == 2
    assert shown["results"]["cart"] == alone["results"]["cart"]


def test_fit_leaves_out_dropped_columns(data: str, output_of: Callable[..., str]) -> None:
    frame = polars.read_csv(data).with_columns(name=polars.lit("Ann"), other=polars.lit("x,y"))
    frame.write_csv("wide.csv")
    arguments = ["--target", "y", "--method", "cart", "--drop", "name", "a", "--drop", "other"]
    output_of("fit", "wide.csv", *arguments, "--output", "m.json")
    assert load_model("m.json").feature_names_in_.tolist() == ["b"]


def test_fit_tests_on_rows_that_it_did_not_train_on(
    data: str, output_of: Callable[..., str]
) -> None:
    arguments = ("fit", data, "--target", "y", "--method", "cart", "--test-fraction", "0.25")
    out = output_of(*arguments)
    assert "trained on 45 rows, tested on 15 rows (seed 0)" in out
    assert "test accuracy" in out
    results = json.loads(output_of(*arguments, "--json"))["results"]["cart"]
    assert (results["train"]["rows"], results["test"]["rows"]) == (45, 15)
    assert output_of(*arguments, "--json", "--seed", "1") != output_of(*arguments, "--json")


def test_fit_as_json_prints_one_object_and_no_progress(
    data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fit", data, "--target", "y", "--depth", "2", "--json"]) == 0
    captured = capsys.readouterr()
    result = json.loads(captured.out)
    assert captured.err == ""
    assert result["rows"] == 60
    assert result["method"] == "horizon"
    cart, ours = (result["results"][name]["train"]["errors"] for name in ("cart", "horizon"))
    assert ours <= cart
    assert result["training"]["errors"] == ours
    assert result["parameters"]["max_depth"] == 2
    assert result["output"] is None


def test_fit_tells_progress_on_stderr(data: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", data, "--target", "y", "--method", "deoct", "--depth", "1"]) == 0
    assert "CART: " in capsys.readouterr().err


def test_the_same_seed_gives_the_same_file(data: str, output_of: Callable[..., str]) -> None:
    for name in ("one.json", "two.json"):
        output_of("fit", data, "--target", "y", "--depth", "2", "--quiet", "--output", name)
    assert load_model("one.json").tree_ == load_model("two.json").tree_


def test_an_interrupted_fit_saves_the_best_tree(
    data: str, output_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = CARTClassifier.fit

    def interrupted_fit(self: Any, X: Any, y: Any) -> Any:
        fit(self, X, y)
        self.status_ = "interrupted"
        return self

    monkeypatch.setattr(CARTClassifier, "fit", interrupted_fit)
    arguments = ["--target", "y", "--method", "cart", "--output", "m.json"]
    out = output_of("fit", data, *arguments)
    assert "The search was interrupted; this is the best tree so far." in out
    assert "model saved to m.json" in out
    assert load_model("m.json").status_ == "interrupted"


def test_an_interrupt_elsewhere_is_one_line(
    data: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted_fit(self: Any, X: Any, y: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(CARTClassifier, "fit", interrupted_fit)  # CART comes first
    assert main(["fit", data, "--target", "y", "--output", "m.json"]) == 130
    assert capsys.readouterr().err == "horizontree: interrupted\n"
    assert not Path("m.json").exists()


# Labels


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_labels_keep_their_type_through_every_command(
    kind: str, suffix: str, data: str, output_of: Callable[..., str]
) -> None:
    frame = make_frame(LABELS[kind])
    path = f"typed{suffix}"
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    output_of("fit", path, "--target", "y", "--method", "cart", "--output", "m.json")
    assert load_model("m.json").classes_.tolist() == LABELS[kind]
    kinds = {"text": "U", "integer": "i", "float": "f", "boolean": "b"}
    assert load_model("m.json").classes_.dtype.kind == kinds[kind]
    output_of("predict", "m.json", path, "--output", "p.parquet")
    assert polars.read_parquet("p.parquet")["prediction"].to_list() == frame["y"].to_list()
    output_of("predict", "m.json", path, "--output", "p.csv")
    assert polars.read_csv("p.csv")["prediction"].to_list() == frame["y"].to_list()
    predicted = json.loads(output_of("predict", "m.json", path, "--json"))["predictions"]
    assert predicted == frame["y"].to_list()
    assert json.loads(output_of("evaluate", "m.json", path, "--json"))["errors"] == 0


def test_labels_with_leading_zeros_stay_text(data: str, output_of: Callable[..., str]) -> None:
    make_frame(["007", "12"]).write_csv("codes.csv")
    output_of("fit", "codes.csv", "--target", "y", "--method", "cart", "--output", "m.json")
    assert load_model("m.json").classes_.tolist() == ["007", "12"]


def test_labels_are_matched_across_files_that_write_them_differently(
    data: str, output_of: Callable[..., str]
) -> None:
    make_frame(["1", "b"]).write_csv("mixed.csv")
    make_frame(["1", "b"]).filter(y="1").write_csv("only_1.csv")  # reads as integers by itself
    output_of("fit", "mixed.csv", "--target", "y", "--method", "cart", "--output", "m.json")
    assert ", 0 errors," in output_of("evaluate", "m.json", "only_1.csv")
    make_frame([0, 1]).write_csv("int.csv")
    make_frame(["0.0", "1.0"]).write_csv("float.csv")
    output_of("fit", "int.csv", "--target", "y", "--method", "cart", "--output", "m.json")
    assert ", 0 errors," in output_of("evaluate", "m.json", "float.csv")


def test_a_categorical_target_is_text(data: str, output_of: Callable[..., str]) -> None:
    frame = make_frame(["no", "yes"]).with_columns(polars.col("y").cast(polars.Categorical))
    frame.write_parquet("c.parquet")
    output_of("fit", "c.parquet", "--target", "y", "--method", "cart", "--output", "m.json")
    assert load_model("m.json").classes_.tolist() == ["no", "yes"]


# predict, evaluate, show


def test_predict_prints_csv(model: str, data: str, output_of: Callable[..., str]) -> None:
    lines = output_of("predict", model, data).splitlines()
    assert lines == ["prediction", *polars.read_csv(data)["y"]]


def test_predict_adds_probabilities(model: str, data: str, output_of: Callable[..., str]) -> None:
    output_of("predict", model, data, "--proba", "--output", "p.csv")
    frame = polars.read_csv("p.csv")
    assert frame.columns == ["prediction", "probability_no", "probability_yes"]
    assert (frame["probability_no"] + frame["probability_yes"]).to_list() == [1.0] * 60
    result = json.loads(output_of("predict", model, data, "--proba", "--json"))
    assert np.array_equal(result["probabilities"], frame.drop("prediction").to_numpy())


def test_predict_matches_columns_by_name(
    model: str, data: str, output_of: Callable[..., str]
) -> None:
    frame = polars.read_csv(data)
    frame.select("b", "a").with_columns(note=polars.lit("x")).write_csv("shuffled.csv")
    assert output_of("predict", model, "shuffled.csv") == output_of("predict", model, data)


def test_predict_says_what_it_wrote(model: str, data: str, output_of: Callable[..., str]) -> None:
    assert output_of("predict", model, data, "--output", "p.csv") == (
        "60 predictions written to p.csv\n"
    )
    result = json.loads(output_of("predict", model, data, "--output", "p.csv", "--json"))
    assert result["output"] == "p.csv"
    assert sum(entry["rows"] for entry in result["predicted"]) == 60


def test_evaluate_counts_what_it_shows(
    model: str, data: str, output_of: Callable[..., str]
) -> None:
    rows = ["a,b,y", "-1,0,no", "-1,0,no", "-1,0,yes", "1,8,yes", "1,8,maybe"]
    path = write("\n".join(rows), "other.csv")
    result = json.loads(output_of("evaluate", model, path, "--json"))
    assert (result["rows"], result["errors"], result["accuracy"]) == (5, 2, 0.6)
    assert result["unknown_labels"] == ["maybe"]
    assert result["confusion"]["actual"] == ["no", "yes", "maybe"]
    assert result["confusion"]["counts"] == [[2, 0], [1, 1], [0, 1]]
    no, yes = result["classes"]
    assert no == {"label": "no", "precision": 2 / 3, "recall": 1.0, "support": 2}
    assert yes == {"label": "yes", "precision": 0.5, "recall": 0.5, "support": 2}
    out = output_of("evaluate", model, path)
    assert "5 rows, 2 errors, accuracy 60.00 %" in out
    assert "1 row with labels that the model does not know ('maybe'), counted as errors" in out
    assert re.search(r"^no +66\.67 % +100\.00 % +2$", out, re.M)
    assert re.search(r"^yes +1 +1$", out, re.M)


def test_evaluate_of_a_class_without_rows_has_no_ratio(
    model: str, data: str, output_of: Callable[..., str]
) -> None:
    path = write("a,b,y\n-1,0,no\n", "one.csv")
    result = json.loads(output_of("evaluate", model, path, "--json"))
    assert result["classes"][1] == {"label": "yes", "precision": None, "recall": None, "support": 0}
    assert re.search(r"^yes +- +- +0$", output_of("evaluate", model, path), re.M)


def test_evaluate_takes_another_target(
    model: str, data: str, output_of: Callable[..., str]
) -> None:
    polars.read_csv(data).rename({"y": "truth"}).write_csv("renamed.csv")
    assert ", 0 errors," in output_of("evaluate", model, "renamed.csv", "--target", "truth")


def test_show_draws_the_tree_and_tells_how_it_was_made(
    model: str, output_of: Callable[..., str]
) -> None:
    out = output_of("show", model)
    assert load_model(model).tree_.to_text(["a", "b"], ["no", "yes"]) in out
    for fact in ("method        cart", "seed          0", "training      0 errors in 60 rows"):
        assert fact in out
    result = json.loads(output_of("show", model, "--json"))
    assert (result["method"], result["target"]) == ("cart", "y")
    assert result["training"]["errors"] == 0
    assert result["tree"]["nodes"] == json.loads(Path(model).read_text())["nodes"]


def test_a_model_saved_in_python_without_names_can_be_shown(
    data: str, output_of: Callable[..., str], refusal_of: Callable[..., str]
) -> None:
    save_model(CARTClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1]), "m.json")
    assert output_of("show", "m.json").startswith("x[0] <= 0.5")
    assert "does not name its 1 features" in refusal_of("predict", "m.json", data)
    json.loads(output_of("show", "m.json", "--json"))


def test_show_draws_in_ascii_where_the_terminal_has_no_other_characters(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert main(["show", model]) == 0
    assert b"|-- yes: " in raw.getvalue()
    assert b"`-- no:  " in raw.getvalue()


# CSV as it is found in the wild


def test_csv_oddities_are_read_as_meant(data: str, output_of: Callable[..., str]) -> None:
    text = Path(data).read_text()
    variants = {
        "crlf": text.replace("\n", "\r\n"),
        "no last newline": text.rstrip("\n"),
        "blank lines": "\n" + text.replace("\n", "\n\n", 5) + "\n\n",
        "blanks around fields": text.replace(",", " , "),
        "byte order mark": "\ufeff" + text,
        "quotes": re.sub(r"([^,\n]+)", r'"\1"', text),
    }
    output_of("fit", data, "--target", "y", "--method", "cart", "--output", "m.json")
    expected = load_model("m.json").tree_
    for name, variant in variants.items():
        Path("odd.csv").write_text(variant, newline="")
        output_of("fit", "odd.csv", "--target", "y", "--method", "cart", "--output", "m.json")
        assert load_model("m.json").tree_ == expected, name
        assert load_model("m.json").classes_.tolist() == ["no", "yes"], name


def test_numbers_that_change_kind_far_down_are_read(
    data: str, output_of: Callable[..., str]
) -> None:
    rows = [f"{i},true,{i % 2}" for i in range(3_000)]
    rows += ["0.5,False,1", " 7 ,TRUE,0", "1e3,false,1"]
    path = write("\n".join(["a,flag,y", *rows]), "long.csv")
    arguments = ["--target", "y", "--method", "cart", "--depth", "2", "--output", "m.json"]
    output_of("fit", path, *arguments)
    assert load_model("m.json").tree_.class_counts[0].sum() == 3_003
    assert load_model("m.json").classes_.tolist() == [0, 1]


def test_boolean_features_become_0_and_1(data: str, output_of: Callable[..., str]) -> None:
    frame = polars.DataFrame({"flag": [True, False] * 5, "y": ["t", "f"] * 5})
    frame.write_csv("flags.csv")
    frame.write_parquet("flags.parquet")
    for path in ("flags.csv", "flags.parquet"):
        output_of("fit", path, "--target", "y", "--method", "cart", "--output", "m.json")
        assert load_model("m.json").tree_.threshold[0] == 0.5
        assert ", 0 errors," in output_of("evaluate", "m.json", path)


def test_a_quoted_newline_does_not_shift_the_line_that_is_named(
    data: str, refusal_of: Callable[..., str]
) -> None:
    path = write('a,note,y\n1,"two\nlines",0\n\n2,x,1\nbad,y,0\n')
    message = refusal_of("fit", path, "--target", "y", "--drop", "note")
    assert "bad.csv: row 3 (line 6), column 'a': 'bad' is not a number" in message


# The program as a process


def test_the_program_runs_as_a_module(data: str) -> None:
    arguments = ["--target", "y", "--method", "cart", "--quiet", "--output", "m.json"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "horizontree", "fit", data, *arguments],
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"model saved to m.json" in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX pipes")
def test_a_closed_pipe_is_no_traceback(model: str, data: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "horizontree", "predict", model, data],
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")
