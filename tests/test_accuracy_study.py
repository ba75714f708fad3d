"""The accuracy study: resumable, fair, and its report is right."""

import gzip
import io
import os
import signal
import subprocess
import sys
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import accuracy_study
from accuracy_report import gain_at, gains, paper_gain, write_report
from corpus import load_dataset, split_rows
from progress import Forecast, ProgressLine, duration
from results_file import (
    FitKey,
    FitResult,
    Plan,
    ResultsError,
    Run,
    open_results,
    read_results,
    read_runs,
)

PROGRAM = accuracy_study.__file__
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


class InlinePool:
    """Runs a fit when it is submitted, in this process."""

    def submit(self, function, *arguments):
        future = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


@pytest.fixture
def inline(monkeypatch):
    monkeypatch.setattr(accuracy_study, "worker_pool", contextmanager(lambda jobs: iter([POOL])))
    accuracy_study._dataset.cache_clear()
    accuracy_study._warm_up.cache_clear()


POOL = InlinePool()


def run(shared, results, *arguments):
    options = [*ARGUMENTS, "--data", str(shared), "--results", str(results), *arguments]
    return accuracy_study.main(options)


def table_without_seconds(path):
    return sorted((replace(row, seconds=0.0) for row in read_results(path)), key=lambda r: r.key)


def start_program(shared, results, *arguments):
    words = [sys.executable, PROGRAM, *ARGUMENTS]
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
    monkeypatch.setattr(accuracy_study, "fit_one", lambda *_: pytest.fail("fitted again"))
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


def test_a_fit_sees_the_training_rows_only_and_the_test_rows_come_last(shared, monkeypatch):
    seeds = []
    spy = accuracy_study.Method("scikit-learn", lambda depth, seed: seeds.append(seed) or Spy())
    monkeypatch.setitem(accuracy_study.METHODS, "spy", spy)
    monkeypatch.setattr(accuracy_study, "_warm_up", lambda method: None)
    monkeypatch.setattr(Spy, "shown", [])
    row = accuracy_study.fit_one(shared, FitKey("spy", "rings", 1, 2))

    data = load_dataset(shared, "rings")
    train, test = split_rows("rings", 60, 1)
    calls = [(what, X.tolist()) for what, X, _ in Spy.shown]
    assert calls == [
        ("fit", data.X[train].tolist()),
        ("predict", data.X[train].tolist()),
        ("predict", data.X[test].tolist()),
    ]
    assert Spy.shown[0][2].tolist() == data.y[train].tolist()
    assert seeds == [1]
    assert (row.n_train, row.n_features, row.n_classes, row.n_splits_used) == (45, 2, 2, 2)
    assert row.train_errors == np.count_nonzero(data.y[train])
    assert row.test_accuracy == pytest.approx(np.mean(data.y[test] == 0))


def test_an_estimator_that_misreports_its_errors_fails_and_the_rest_goes_on(
    shared, tmp_path, inline, monkeypatch, capsys
):
    class Liar(Spy):
        n_errors_ = -1

    liar = accuracy_study.Method("scikit-learn", lambda depth, seed: Liar())
    monkeypatch.setitem(accuracy_study.METHODS, "cart", liar)
    assert run(shared, tmp_path / "a.csv", "--methods", "cart", "cart-sklearn") == 1
    assert "10 fits failed" in capsys.readouterr().err
    assert {row.method for row in read_results(tmp_path / "a.csv")} == {"cart-sklearn"}
    assert "**Incomplete: 10 fits of 20 asked for.**" in (tmp_path / "a.md").read_text()


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
    assert str(tmp_path) not in (tmp_path / "a.md").read_text()
    assert recorded.plan == Plan(("cart-sklearn",), ("rings", "noise"), (2, 3), 3, ((3, 2),), 10)


def test_mistakes_on_the_command_line_are_explained(shared, tmp_path, capsys):
    assert run(shared, tmp_path / "a.csv", "--datasets", "rings", "ring") == 2
    assert "Not in the manifest: ring." in capsys.readouterr().err
    assert run(tmp_path, tmp_path / "a.csv") == 2
    assert "--data names" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(shared, tmp_path / "a.csv", "--splits-at", "8:1")
    assert "8=1" in capsys.readouterr().err


# ------------------------------------------------------------------ the report


def made_up(method, dataset, split, depth, train=0.5, test=0.5, seconds=1.0, status="completed"):
    numbers = {"n_train": 100, "n_features": 4, "n_classes": 2, "train_errors": 0}
    return FitResult(
        method=method,
        dataset=dataset,
        split=split,
        depth=depth,
        train_accuracy=train,
        test_accuracy=test,
        seconds=seconds,
        n_splits_used=3,
        status=status,
        seed=split,
        version="horizontree 0.1.0",
        **numbers,
    )


MADE_UP = [
    # depth 2. CART: a (0.8 + 0.6) / 2 = 0.7, b 0.5, mean 0.6. Fits of mh-deoct: a 0.9, b 0.6
    made_up("cart-sklearn", "a", 0, 2, train=0.8, test=0.50, seconds=1),
    made_up("cart-sklearn", "a", 1, 2, train=0.6, test=0.50, seconds=3),
    made_up("cart-sklearn", "b", 0, 2, train=0.5, test=0.25, seconds=4),
    made_up("mh-deoct", "a", 0, 2, train=1.0, test=0.75, seconds=10),
    made_up("mh-deoct", "a", 1, 2, train=0.8, test=0.50, seconds=20),
    made_up("mh-deoct", "b", 0, 2, train=0.6, test=0.25, seconds=30, status="optimal"),
    made_up("mh-deoct", "b", 1, 2, train=0.0, test=0.00, seconds=30),  # CART lacks this fit
    # depth 8: CART 0.8, mh-deoct 0.88
    made_up("cart-sklearn", "a", 0, 8, train=0.8, test=0.5),
    made_up("mh-deoct", "a", 0, 8, train=0.88, test=0.5),
]


def test_gains_over_cart_are_those_computed_by_hand():
    table = {row.key: row for row in MADE_UP}
    gain = gain_at(table, "mh-deoct", "cart-sklearn", 2)
    assert gain.n_fits == 3
    # train: (0.9 + 0.6) / 2 = 0.75 against 0.6; a 0.9 / 0.7, b 0.6 / 0.5
    # test: (0.625 + 0.25) / 2 = 0.4375 against 0.375; a 0.625 / 0.5, b equal
    assert gain.of_means == pytest.approx((25.0, 100 / 6))
    assert gain.mean_of_datasets == pytest.approx(((200 / 7 + 20) / 2, 12.5))
    assert list(gains(table, "mh-deoct", "cart-sklearn")) == [2, 8]
    assert gain_at(table, "mh-deoct", "cart", 2) is None


def test_the_gains_of_the_papers_own_table_are_those_computed_by_hand():
    # 81.64 / 79.41, 86.82 / 84.30, 90.24 / 87.62, 97.30 / 95.67 and the same for the test rows
    assert paper_gain("mh-deoct") == pytest.approx((2.623, 1.348), abs=0.001)


def test_the_report_shows_the_figures_computed_by_hand(tmp_path):
    path = tmp_path / "a.md"
    plan = Plan(("cart-sklearn", "mh-deoct"), ("a", "b"), (2,), 2)
    write_report(path, MADE_UP, [Run("python study", "A processor, 2 cores", ("x 1",), plan)])
    lines = path.read_text("utf-8").splitlines()
    # 4 + 4 planned at depth 2, and 2 fits that no plan asked for
    assert any(line.startswith("**Incomplete: 9 fits of 10 asked for.**") for line in lines)
    assert "- Machine: A processor, 2 cores" in lines
    assert (
        "| cart-sklearn | 2 | 1 to 2 | 3 of 4 | 0 | 60.00 | 37.50 | 3 | 79.41 | 76.91 |" in lines
    )  # seconds: a (1 + 3) / 2, b 4
    assert "| mh-deoct | 2 | 2 | 4 of 4 | 1 | 60.00 | 37.50 | 22.5 | 81.64 | 78.21 |" in lines
    # the mean over depths 2 and 8: (25 + 10) / 2, (16.67 + 0) / 2
    train = "| mh-deoct | train | +25.00 | - | - | +10.00 | **+17.50** | +17.14 | 4 |"
    test = "| mh-deoct | test | +16.67 | - | - | +0.00 | **+8.33** | +6.25 | 4 |"
    assert train in lines
    assert test in lines
    assert "| mh-deoct | train | +17.50 | +2.62 | +17.14 | +2.99 | 2, 8 |" in lines
    assert "| a | 100 | 4 | 2 | 2 | 70.00 | 90.00 | 50.00 | 62.50 |" in lines
    assert "| b | 100 | 4 | 2 | 1 | 50.00 | 60.00 | 25.00 | 25.00 |" in lines


def test_the_report_of_nothing_is_a_report(tmp_path):
    assert accuracy_study.main(["--report", "--results", str(tmp_path / "none.csv")]) == 0
    assert "0 fits" in (tmp_path / "none.md").read_text()


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
    assert duration(59.6) == "0:01:00"
