"""The study: resumable, fair, and never lost."""

from __future__ import annotations

import gzip
import io
import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest
from fits import made_up

from horizontree.bench import methods, study
from horizontree.bench.corpus import load_dataset, split_rows
from horizontree.bench.methods import METHODS, Method
from horizontree.bench.progress import Forecast, ProgressLine, duration
from horizontree.bench.results_file import (
    FitKey,
    Plan,
    ResultsError,
    open_results,
    read_results,
    read_runs,
)
from horizontree.cli.main import main

ARGUMENTS = ["--methods", "cart-sklearn", "--depths", "2", "3", "--splits", "3", "--splits-at"]
ARGUMENTS += ["3=2", "--jobs", "1"]
N_FITS = 2 * (3 + 2)  # two data sets; three splits at depth 2, two at depth 3


@pytest.fixture
def shared(tmp_path):
    folder = tmp_path / "shared" / "datasets"
    folder.mkdir(parents=True)
    (folder / "MANIFEST.csv").write_text(
        "name,n_samples,n_features,n_classes,n_missing,n_categorical,group,uci_name,notes\n"
        "rings,60,2,2,0,0,paper,,\nnoise,40,2,3,0,0,paper,,\n"
    )
    generator = np.random.default_rng(0)
    for name, n_samples, n_classes in (("rings", 60, 2), ("noise", 40, 3)):
        X = generator.normal(size=(n_samples, 2))
        y = (np.hypot(*X.T) > 1).astype(int) if n_classes == 2 else np.arange(n_samples) % 3
        with gzip.open(folder / f"{name}.csv.gz", "wt") as file:
            file.write("x1,x2,class\n")
            file.writelines(f"{a!r},{b!r},{k}\n" for (a, b), k in zip(X.tolist(), y, strict=True))
    return folder.parent


class InlineLane:
    """Runs a fit when it is submitted, in this process."""

    def submit(self, *arguments):
        future = Future()
        try:
            future.set_result(study.fit_one(*arguments))
        except BaseException as error:
            future.set_exception(error)
        return future

    def end(self):
        pass


@pytest.fixture
def inline(monkeypatch):
    monkeypatch.setattr(study, "Lane", InlineLane)
    study._dataset.cache_clear()
    study._warm_up.cache_clear()


def run(shared, results, *arguments):
    options = [*ARGUMENTS, "--data", str(shared), "--results", str(results), *arguments]
    return main(["bench", "study", *options])


def table_without_seconds(path):
    return sorted((replace(row, seconds=0.0) for row in read_results(path)), key=lambda r: r.key)


def start_program(shared, results, *arguments):
    words = [sys.executable, "-m", "horizontree", "bench", "study", *ARGUMENTS]
    words += ["--data", str(shared), "--results", str(results), *arguments]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# ------------------------------------------------------------------ stopping and going on


def test_a_killed_study_goes_on_to_the_same_table(shared, tmp_path, inline):
    run(shared, tmp_path / "whole.csv")
    whole = table_without_seconds(tmp_path / "whole.csv")
    assert len(whole) == N_FITS

    results = tmp_path / "killed.csv"
    with start_program(shared, results, "--splits", "4000") as program:
        assert program.stderr.readline().startswith("1/")  # the first row is on disk
        program.kill()
    assert 1 <= len(read_results(results)) < 2 * (4000 + 2)

    lines = results.read_bytes().splitlines(keepends=True)
    results.write_bytes(b"".join(lines[:2]) + lines[1][:25])  # a torn second row
    assert run(shared, results) == 0
    assert table_without_seconds(results) == whole


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_leaves_whole_lines_and_says_so(shared, tmp_path):
    results = tmp_path / "stopped.csv"
    with start_program(shared, results, "--splits", "4000") as program:
        program.stderr.readline()
        program.send_signal(signal.SIGINT)
        _, errors = program.communicate()
    assert program.returncode == 130
    assert "the same command goes on" in errors
    assert "Traceback" not in errors
    assert results.read_bytes().endswith(b"\n")


def test_rows_that_are_there_are_not_fitted_again(shared, tmp_path, inline, monkeypatch):
    results = tmp_path / "a.csv"
    run(shared, results)
    before = results.read_bytes()
    monkeypatch.setattr(study, "fit_one", lambda *_: pytest.fail("fitted again"))
    assert run(shared, results) == 0
    assert results.read_bytes() == before


def test_a_line_torn_at_any_byte_is_discarded(tmp_path):
    path = tmp_path / "a.csv"
    rows = [made_up("cart", "iris", split, 2) for split in range(2)]
    with open_results(path) as writer:
        for row in rows:
            writer.append(row)
    whole = path.read_bytes()
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        n_lines = whole[:size].count(b"\n")
        assert read_results(path) == rows[: max(n_lines - 1, 0)]
        with open_results(path) as writer:
            for row in rows[len(writer.done) :]:
                writer.append(row)
        assert path.read_bytes() == whole


def test_a_damaged_or_foreign_file_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("name,age\nAda,36\n")
    with pytest.raises(ResultsError, match="not a results file"), open_results(path):
        pass
    assert path.read_text() == "name,age\nAda,36\n"
    path.unlink()
    with open_results(path) as writer:
        writer.append(made_up("cart", "iris", 0, 2))
    path.write_text(path.read_text() + "half,a,line\n")
    with pytest.raises(ResultsError, match=r"line 3 is damaged \(3 cells instead of 17\)"):
        read_results(path)


@pytest.mark.parametrize(("split", "depth"), [(-10, 2), (0, 0), (0, -1)])
@pytest.mark.parametrize("status", ["completed", "failed"])
def test_a_row_of_no_split_or_no_depth_is_refused(split, depth, status, tmp_path):
    path = tmp_path / "a.csv"
    with open_results(path) as writer:
        writer.append(made_up("cart", "iris", split, depth, status=status))
    with pytest.raises(ResultsError, match=r"line 2 is damaged \((split|depth) is -?\d+\)"):
        read_results(path)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00bad\n", b'"' + b"x" * 200_000 + b'"\n'])
def test_what_is_no_table_is_refused(content, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(ResultsError, match="not a results file"):
        read_results(path)


@pytest.mark.parametrize(
    "figures", [{"train": 7.5}, {"test": -3.0}, {"test": math.nan}, {"seconds": math.inf}]
)
def test_figures_that_no_fit_has_are_refused_unless_it_failed(figures, tmp_path):
    path = tmp_path / "a.csv"
    with open_results(path) as writer:
        writer.append(made_up("cart", "iris", 0, 2, status="failed", **figures))
    assert len(read_results(path)) == 1
    with open_results(path) as writer:
        writer.append(made_up("cart", "iris", 0, 2, **figures))
    with pytest.raises(ResultsError, match="line 3 is damaged"):
        read_results(path)


@pytest.mark.skipif(os.name == "nt", reason="locks of POSIX")
def test_two_studies_cannot_write_to_one_file(tmp_path):
    with open_results(tmp_path / "a.csv"):  # noqa: SIM117
        with pytest.raises(ResultsError, match="Another study"), open_results(tmp_path / "a.csv"):
            pass


# ------------------------------------------------------------------ the protocol


class Spy:
    """An estimator that keeps what it was shown."""

    shown = []  # noqa: RUF012

    class tree_:  # noqa: N801
        n_leaves = 3

    def fit(self, X, y):
        self.shown.append(("fit", X, y))
        return self

    def predict(self, X):
        self.shown.append(("predict", X, None))
        return np.zeros(len(X), dtype=int)


def spied(monkeypatch, spy, name="spy"):
    monkeypatch.setitem(METHODS, name, Method(spy, "scikit-learn"))
    monkeypatch.setattr(study, "_warm_up", lambda method: None)
    monkeypatch.setattr(Spy, "shown", [])


def test_a_fit_sees_the_training_rows_only_and_the_test_rows_come_last(shared, monkeypatch):
    seeds = []
    spied(monkeypatch, lambda depth, seed, limit: seeds.append((depth, seed, limit)) or Spy())
    row = study.fit_one(shared, FitKey("spy", "rings", 1, 2), 5.0)

    data = load_dataset(shared, "rings")
    train, test = split_rows("rings", 60, 1)
    calls = [(what, X.tolist()) for what, X, _ in Spy.shown]
    assert calls == [
        ("fit", data.X[train].tolist()),
        ("predict", data.X[train].tolist()),
        ("predict", data.X[test].tolist()),
    ]
    assert Spy.shown[0][2].tolist() == data.y[train].tolist()
    assert seeds == [(2, 1, None)]  # a heuristic gets no limit
    assert (row.n_train, row.n_features, row.n_classes, row.n_splits_used) == (45, 2, 2, 2)
    assert row.train_errors == np.count_nonzero(data.y[train])
    assert row.test_accuracy == pytest.approx(np.mean(data.y[test] == 0))
    assert math.isinf(row.time_limit)


def test_a_method_that_would_search_without_end_gets_the_limit(shared, monkeypatch):
    limits = []
    spied(monkeypatch, None)
    make = lambda depth, seed, limit: limits.append(limit) or Spy()  # noqa: E731
    monkeypatch.setitem(METHODS, "spy", Method(make, "scikit-learn", has_limit=True))
    assert study.fit_one(shared, FitKey("spy", "rings", 1, 2), 5.0).time_limit == 5.0
    assert limits == [5.0]


def test_a_fit_that_fails_becomes_a_row_that_says_why_and_is_tried_again(
    shared, tmp_path, inline, monkeypatch, capsys
):
    class Liar(Spy):
        n_errors_ = -1

    original = METHODS["cart"]
    spied(monkeypatch, lambda depth, seed, limit: Liar(), "cart")
    results = tmp_path / "a.csv"
    assert run(shared, results, "--methods", "cart", "cart-sklearn") == 0
    assert "10 fits failed" in capsys.readouterr().err
    rows = read_results(results)
    assert {row.method for row in rows if row.is_done} == {"cart-sklearn"}
    notes = [row.note for row in rows if not row.is_done]
    assert len(notes) == N_FITS
    assert all("n_errors_ is -1, but the predictions make" in note for note in notes)

    monkeypatch.setitem(METHODS, "cart", original)
    assert run(shared, results, "--methods", "cart", "cart-sklearn") == 0
    assert all(row.is_done for row in read_results(results))
    assert len(read_results(results)) == 2 * N_FITS


def test_a_data_set_that_cannot_be_read_costs_its_own_fits(tmp_path, inline, capsys):
    data, results = tmp_path / "data", tmp_path / "a.csv"
    data.mkdir()
    (data / "good.csv").write_text("a,class\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    (data / "bad.csv").write_text("a,b,class\n1,red,0\n2,blue,1\n")
    assert run(data, results) == 0
    rows = read_results(results)
    assert {row.dataset: row.is_done for row in rows} == {"good": True, "bad": False}
    assert any("__cat" in row.note for row in rows)
    assert "5 fits failed" in capsys.readouterr().err
    assert run(data, data / "study.csv") == 2
    assert "would be taken for a data set" in capsys.readouterr().err
    assert run(data, results, "--datasets", "bad") == 2
    assert "all 5 fits failed" in capsys.readouterr().err


def test_rows_of_other_data_are_not_mixed(shared, tmp_path, inline, capsys):
    results = tmp_path / "a.csv"
    assert run(shared, results) == 0
    before = results.read_text()
    with gzip.open(shared / "datasets" / "noise.csv.gz", "at") as file:
        file.writelines(f"{i},{i},{i % 3}\n" for i in range(20))
    study._dataset.cache_clear()
    assert run(shared, results, "--datasets", "noise", "--methods", "cart") == 2
    assert "noise is other data than in the fits that are there" in capsys.readouterr().err
    assert results.read_text() == before


def test_another_time_limit_does_fits_again_that_it_would_change(shared, tmp_path, inline):
    results = tmp_path / "a.csv"
    limited = {"time_limit": 1.0, "seconds": 0.9, "n_train": 45, "n_features": 2, "n_classes": 2}
    rows = [
        made_up("quant-bnb", "rings", 10, 2, **limited, status="time_limit"),
        made_up("quant-bnb", "rings", 11, 2, **limited, status="optimal"),
        made_up("quant-bnb", "rings", 12, 2, **limited | {"seconds": 70.0}, status="optimal"),
    ]
    with open_results(results) as writer:
        for row in rows:
            writer.append(row)
    asked = ["--methods", "quant-bnb", "--depths", "2", "--splits-at", "2=3"]
    asked += ["--datasets", "rings"]
    assert run(shared, results, *asked, "--time-limit", "1") == 0
    assert read_results(results) == rows
    assert run(shared, results, *asked, "--time-limit", "60") == 0
    limits = [row.time_limit for row in sorted(read_results(results), key=lambda row: row.split)]
    assert limits == [60.0, 1.0, 60.0]


def test_a_process_that_dies_or_overstays_costs_one_fit(shared, monkeypatch):
    """The other fits go on in a new process."""
    monkeypatch.setattr(study, "_patience", lambda limit: 3.0)
    monkeypatch.setattr(study.Lane, "submit", _submit_doomed)
    keys = [FitKey("cart", "rings", split, 2) for split in range(4)]
    results = {
        row.split: row
        for row in study.fits_of(keys, shared=shared, time_limit=1.0, lanes=[study.Lane()])
    }
    assert [results[split].is_done for split in range(4)] == [True, False, False, True]
    assert "the process died" in results[1].note
    assert "did not heed its time limit" in results[2].note


def _submit_doomed(lane, shared, key, time_limit):
    if lane._pool is None:
        context = study.multiprocessing.get_context("spawn")
        lane._pool = study.ProcessPoolExecutor(1, mp_context=context)
        lane._pool.submit(int).result()  # the process has started
    doom = {1: (os.abort,), 2: (time.sleep, 60)}.get(key.split)
    if doom is None:
        future = Future()
        future.set_result(made_up("cart", "rings", key.split, 2))
        return future
    return lane._pool.submit(*doom)


def test_methods_are_asked_only_for_depths_that_they_can_do(shared, tmp_path, inline, capsys):
    results = tmp_path / "a.csv"
    asked = ["--methods", "mh-deoct-horizon-3", "quant-bnb", "--depths", "2", "3", "4"]
    assert run(shared, results, *asked, "--splits", "1", "--splits-at", "3=1") == 0
    rows = read_results(results)
    assert sorted({(row.method, row.depth) for row in rows}) == [
        ("mh-deoct-horizon-3", 3),
        ("mh-deoct-horizon-3", 4),
        ("quant-bnb", 2),
        ("quant-bnb", 3),
    ]
    assert all(row.is_done for row in rows)
    left_out = "left out: mh-deoct-horizon-3 at depth 2, quant-bnb at depth 4 (they make no trees"
    assert left_out in capsys.readouterr().err
    assert run(shared, results, "--methods", "quant-bnb") == 0
    assert "left out" not in capsys.readouterr().err


@pytest.mark.parametrize("method", [name for name in METHODS if name != "iai-oct"])
def test_every_method_of_the_study_fits(shared, method):
    if method in ("mh-deoct-jax", "gosdt-guesses", "contree", "streed"):
        pytest.importorskip({"mh-deoct-jax": "jax"}.get(method, METHODS[method].package))
    depth = max(2, METHODS[method].depths[0])
    made = METHODS[method].make(depth, 0, 5.0)
    for estimator in (made, getattr(made, "classifier", None), getattr(made, "search", None)):
        if hasattr(getattr(estimator, "estimator", estimator), "generations"):
            getattr(estimator, "estimator", estimator).set_params(generations=20)
    data = load_dataset(shared, "rings")
    made.fit(data.X, data.y)
    assert made.tree_.n_leaves >= 1
    assert np.mean(made.predict(data.X) == data.y) >= np.bincount(data.y).max() / len(data.y)


def test_the_sections_of_the_report_name_methods_that_there_are():
    named = [*methods.COMPARED, *methods.TUNED, *methods.ABLATION, *methods.HORIZONS]
    named += [*methods.BINARISED, *methods.ENGINES, *methods.ENGINES.values()]
    assert set(named) == set(METHODS)
    assert len(methods.ABLATION) == 11


def test_a_plan_goes_split_by_split_and_respects_the_number_at_a_depth():
    fits = list(Plan(("cart",), ("a", "b"), (2, 8), 2, ((8, 1),), first_split=5).fits())
    assert [(key.dataset, key.split, key.depth) for key in fits] == [
        ("a", 5, 2),
        ("a", 5, 8),
        ("b", 5, 2),
        ("b", 5, 8),
        ("a", 6, 2),
        ("b", 6, 2),
    ]


def test_the_recorded_command_names_no_folder_and_is_recorded_once(shared, tmp_path, inline):
    for _ in range(2):
        run(shared, tmp_path / "a.csv")
    (recorded,) = read_runs(tmp_path / "a.csv")
    assert str(tmp_path) not in recorded.command
    assert "--splits 3 --first-split 10 --splits-at 3=2" in recorded.command
    assert recorded.plan == Plan(("cart-sklearn",), ("rings", "noise"), (2, 3), 3, ((3, 2),), 10)


def test_mistakes_on_the_command_line_are_explained(shared, tmp_path, capsys):
    assert run(shared, tmp_path / "a.csv", "--datasets", "rings", "ring") == 2
    assert "there is no 'ring' in the data folder; did you mean 'rings'?" in (
        capsys.readouterr().err
    )
    assert run(shared, tmp_path / "a.csv", "--methods", "kart") == 2
    assert "there is no 'kart'; did you mean 'cart'" in capsys.readouterr().err
    too_deep = ["--methods", "quant-bnb", "--depths", "8", "--splits-at", "8=1"]
    assert run(shared, tmp_path / "a.csv", *too_deep) == 2
    assert "none of these methods makes trees of these depths" in capsys.readouterr().err
    (tmp_path / "a.runs.json").write_text("[{")
    assert run(shared, tmp_path / "a.csv") == 2
    assert "a.runs.json is damaged" in capsys.readouterr().err
    assert run(shared, tmp_path / "a.txt") == 2
    assert "must be a .csv file" in capsys.readouterr().err
    assert run(tmp_path / "nowhere", tmp_path / "a.csv") == 2
    assert "--data names" in capsys.readouterr().err
    for wrong in ("8:1", "2=0", "2=-1"):
        assert run(shared, tmp_path / "a.csv", "--splits-at", wrong) == 2
        said = capsys.readouterr().err
        assert f"N of at least 1, for example 8=1, got '{wrong}'" in said
    assert run(shared, tmp_path / "a.csv", "--splits-at", "2=1", "8=5") == 2
    said = capsys.readouterr().err
    assert "--splits-at 8=5: 8 is none of the depths (2, 3); add it to --depths" in said


# ------------------------------------------------------------------ the progress line


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stream", "n_returns"), [(io.StringIO(), 0), (Terminal(), 1)])
def test_the_progress_line_is_rewritten_only_on_a_terminal(stream, n_returns):
    line = ProgressLine(0, 1, stream)
    line.advance(1, lambda: 61.0)
    line.note("failed")
    line.close()
    text = stream.getvalue()
    assert text.count("\r") == n_returns
    assert text.lstrip("\r").splitlines() == ["1/1 fits, elapsed 0:00:00, left 0:01:01", "failed"]


def test_a_forecast_prefers_the_same_data_set_and_else_scales_by_work():
    forecast = Forecast(lambda key: 10.0**key.depth)
    assert forecast.seconds_left([FitKey("cart", "a", 0, 2)], jobs=1) is None
    forecast.learn(made_up("cart", "a", 0, 2, seconds=4.0))
    assert forecast.seconds(FitKey("cart", "a", 1, 2)) == 4.0
    assert forecast.seconds(FitKey("cart", "b", 0, 3)) == pytest.approx(40.0)
    left = [FitKey("cart", "a", 1, 2), FitKey("cart", "b", 0, 3)]
    assert forecast.seconds_left(left, jobs=2) == pytest.approx(22.0)


def test_a_method_that_only_fails_takes_no_time_in_a_forecast():
    forecast = Forecast(lambda key: 1.0)
    forecast.learn(made_up("cart", "a", 0, 2, seconds=4.0))
    forecast.learn(made_up("iai-oct", "a", 0, 2, seconds=math.nan, status="failed"))
    left = [FitKey("cart", "a", 1, 2), FitKey("iai-oct", "b", 0, 3)]
    assert forecast.seconds_left(left, jobs=1) == 4.0
    assert forecast.seconds_left([*left, FitKey("horizon", "a", 0, 2)], jobs=1) is None
    assert duration(59.6) == "0:01:00"
