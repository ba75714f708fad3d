"""A study is of the same data from its first fit to its last."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_study import InlineLane

from horizontree.bench import study
from horizontree.bench.results_file import (
    Plan,
    Run,
    known_data,
    read_results,
    read_runs,
    record_run,
)
from horizontree.cli.main import main

PLAN = Plan(("cart",), ("a", "b"), (2,), 1)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Data sets ``one`` and ``two``, and fits in this process."""
    monkeypatch.setattr(study, "Lane", InlineLane)
    study._dataset.cache_clear()
    (tmp_path / "data").mkdir()
    for name in ("one", "two"):
        write(tmp_path / "data" / f"{name}.csv", np.arange(24) % 2)
    return tmp_path / "data"


def write(path, labels):
    rows = (f"{i * 7 % 24},{i * 5 % 24},{label}\n" for i, label in enumerate(labels))
    path.write_text("a,b,class\n" + "".join(rows))


def run(folder, *arguments):
    study._dataset.cache_clear()
    asked = ["--data", str(folder), "--results", str(folder.parent / "fits.csv")]
    return main(["bench", "study", *asked, "--depths", "2", "--splits", "1", *arguments])


def test_other_data_of_the_same_size_are_refused(folder, capsys):
    results = folder.parent / "fits.csv"
    assert run(folder, "--methods", "cart") == 0
    runs = results.with_suffix(".runs.json")
    before = results.read_text(), runs.read_text()
    write(folder / "one.csv", np.arange(24) // 12)
    assert run(folder, "--methods", "cart-sklearn") == 2
    said = capsys.readouterr().err
    assert "one is other data than in the fits that are there: its file has changed" in said
    assert "name another file with --results" in said
    assert (results.read_text(), runs.read_text()) == before
    assert run(folder, "--methods", "cart-sklearn", "--datasets", "two") == 0  # only what is asked
    assert run(folder, "--methods", "cart", "--results", str(folder.parent / "new.csv")) == 0
    write(folder / "one.csv", np.arange(24) % 2)
    assert run(folder, "--methods", "cart-sklearn") == 0


def test_fits_without_checksums_go_by_their_sizes(folder, capsys):
    runs = folder.parent / "fits.runs.json"
    assert run(folder, "--methods", "cart") == 0
    recorded = json.loads(runs.read_text())
    for entry in recorded:
        del entry["data"]  # as earlier versions wrote them
    runs.write_text(json.dumps(recorded))
    assert known_data(read_runs(folder.parent / "fits.csv")) == {}
    write(folder / "one.csv", np.arange(30) % 2)
    assert run(folder, "--methods", "cart-sklearn", "--datasets", "one") == 2
    assert "one is other data than in the fits that are there: training rows" in (
        capsys.readouterr().err
    )
    assert all(row.method == "cart" for row in read_results(folder.parent / "fits.csv"))


def test_data_of_which_no_fit_came_about_may_be_mended(folder, capsys):
    (folder / "one.csv").write_text("a,b,class\n1,red,0\n2,blue,1\n")  # text where numbers belong
    assert run(folder, "--methods", "cart") == 0
    assert "1 fit failed" in capsys.readouterr().err
    write(folder / "one.csv", np.arange(24) % 2)
    assert run(folder, "--methods", "cart") == 0
    assert all(row.is_done for row in read_results(folder.parent / "fits.csv"))
    (folder / "one.csv").write_text("a,b,class\n1,red,0\n2,blue,1\n")
    assert run(folder, "--methods", "cart-sklearn") == 2  # now there is a fit of it


def test_a_file_that_cannot_be_read_costs_its_own_fits_and_no_checksum(folder, capsys):
    assert run(folder, "--methods", "cart") == 0
    (folder / "one.csv").rename(folder / "one.csv.gz")  # compressed by name only
    (folder / "MANIFEST.csv").write_text(
        "name,n_samples,n_features,n_classes,group\none,24,2,2,paper\ntwo,24,2,2,paper\n"
    )
    assert run(folder, "--methods", "cart-sklearn") == 0
    assert "failed: cart-sklearn one 10 2: CorpusError: one.csv.gz: Not a gzipped file" in (
        capsys.readouterr().err
    )
    last = read_runs(folder.parent / "fits.csv")[-1]
    assert [name for name, _ in last.data] == ["two"]


def test_asking_again_changes_nothing_unless_the_data_are_new(tmp_path):
    results = tmp_path / "a.csv"
    path = results.with_suffix(".runs.json")
    old = Run("horizontree bench study", "A processor", ("x 1",), PLAN)
    record_run(results, old)
    of_data = Run(old.command, old.machine, old.versions, PLAN, (("a", 1), ("b", 2)))
    record_run(results, of_data)
    before = path.read_text()
    for again in (old, of_data, Run(old.command, old.machine, old.versions, PLAN, (("b", 2),))):
        record_run(results, again)
        assert path.read_text() == before
    assert read_runs(results) == [old, of_data]
    mended = Run(old.command, old.machine, old.versions, PLAN, (("a", 3), ("b", 2)))
    for run_, known in ((mended, {"a": 3, "b": 2}), (of_data, {"a": 1, "b": 2})):
        record_run(results, run_)
        assert known_data(read_runs(results)) == known
