"""Data sets in Parquet files: the same rules as in CSV."""

from __future__ import annotations

import datetime
import sys

import numpy as np
import polars
import pytest
from test_study import InlineLane

from horizontree.bench import corpus, study
from horizontree.bench.corpus import CorpusError, load_dataset
from horizontree.bench.results_file import read_results
from horizontree.cli.main import main

FRAME = polars.DataFrame(
    {
        "x1": [1, 2, 3, 4, 5, 6],
        "x2__cat": ["red", "blue", "green", "green", "red", "10"],
        "x3": [0.1 + 0.2, None, -1e3, 7.0, 8.0, 9.0],
        "class": ["b", "c", "a", None, "b", "a"],
    }
)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_rows_with_a_null_are_dropped_and_categories_become_columns(tmp_path, kind):
    getattr(FRAME, f"write_{kind}")(tmp_path / f"tiny.{kind}")
    data = load_dataset(tmp_path, "tiny")
    # with the second row goes the class "c", with the fourth nothing
    assert data.feature_names == ("x1", "x2=10", "x2=green", "x2=red", "x3")
    assert data.X.tolist() == [
        [1, 0, 0, 1, 0.1 + 0.2],
        [3, 0, 1, 0, -1000],
        [5, 0, 0, 1, 8],
        [6, 1, 0, 0, 9],
    ]
    assert data.class_names == ("a", "b")
    assert data.y.tolist() == [1, 0, 1, 0]
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    (info,) = corpus.list_datasets(tmp_path)
    assert (info.name, info.n_samples, info.n_features, info.n_classes) == ("tiny", 6, 3, 4)


@pytest.mark.parametrize(
    "values",
    [
        polars.Series([True, False, True]),
        polars.Series([1, 0, 1], dtype=polars.UInt8),
        polars.Series([1.0, 0.0, 1.0], dtype=polars.Float32),
        polars.Series(["1.00", "0.00", "1.00"]).cast(polars.Decimal(5, 2)),
    ],
    ids=lambda values: str(values.dtype),
)
def test_numbers_of_any_type_and_booleans_become_float64(tmp_path, values):
    frame = polars.DataFrame({"a": values, "class": ["p", "q", "p"]})
    frame.write_parquet(tmp_path / "typed.parquet")
    assert load_dataset(tmp_path, "typed").X.tolist() == [[1.0], [0.0], [1.0]]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (polars.Series([10, 9, 10]), ("10", "9")),
        (polars.Series([True, False, True]), ("false", "true")),
        (polars.Series(["v", "u", "v"], dtype=polars.Categorical), ("u", "v")),
        (polars.Series(["v", "u", "v"], dtype=polars.Enum(["v", "u"])), ("u", "v")),
        (polars.Series([1.5, 0.25, 1.5]), ("0.25", "1.5")),
    ],
    ids=lambda values: str(getattr(values, "dtype", "")),
)
def test_classes_and_categories_are_text_in_the_order_of_text(tmp_path, values, texts):
    frame = polars.DataFrame({"a__cat": values, "class": values})
    frame.write_parquet(tmp_path / "typed.parquet")
    data = load_dataset(tmp_path, "typed")
    assert data.class_names == texts
    assert data.feature_names == tuple(f"a={text}" for text in texts)
    first = texts.index(data.class_names[data.y[0]])
    assert data.y.tolist() == [first, 1 - first, first]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["1", "2"], "class": [0, 1]}, "column 'a' holds String, not numbers"),
        ({"a": [datetime.date(2020, 1, 1)] * 2, "class": [0, 1]}, "holds Date, not numbers"),
        ({"a__cat": [[1], [2]], "class": [0, 1]}, r"column 'a__cat' holds List.*, not text"),
        ({"a": [1, 2], "class": [b"0", b"1"]}, "column 'class' holds Binary, not text"),
        ({"a": [1.0, np.nan], "class": [0, 1]}, "column 'a' holds nan or inf; leave the cell"),
        ({"a": [1.0, np.inf], "class": [0, 1]}, "column 'a' holds nan or inf"),
        ({"a": [1.0, 2.0], "class": [0.0, np.nan]}, "column 'class' holds nan or inf"),
        ({"a": [None, None], "class": [0, 1]}, "no row is free of missing values"),
        ({"a": [], "class": []}, "no row is free of missing values"),
        ({"class": [0, 1]}, "no columns of features"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_explained(tmp_path, columns, message):
    polars.DataFrame(columns).write_parquet(tmp_path / "bad.parquet")
    with pytest.raises(CorpusError, match=rf"^bad.parquet: .*{message}.*Expected Parquet") as error:
        load_dataset(tmp_path, "bad")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"no parquet at all", None], ids=["no", "text", "cut"])
def test_a_file_that_only_says_that_it_is_parquet_is_explained(tmp_path, content):
    path = tmp_path / "bad.parquet"
    FRAME.write_parquet(path)
    path.write_bytes(path.read_bytes()[:200] if content is None else content)
    for look in (corpus.list_datasets, lambda folder: load_dataset(folder, "bad")):
        with pytest.raises(CorpusError, match=r"^bad.parquet: .*Expected Parquet"):
            look(tmp_path)


def test_names_are_no_patterns_and_differ_from_those_of_csv_files(tmp_path):
    for name in ("a[1]", "a1", "*"):
        FRAME.with_columns(x1=len(name)).write_parquet(tmp_path / f"{name}.parquet")
    for name in ("a[1]", "a1", "*"):
        assert load_dataset(tmp_path, name).X[0, 0] == len(name)
    FRAME.write_csv(tmp_path / "a1.csv")
    with pytest.raises(CorpusError, match=r"a1.csv and a1.parquet have the same name"):
        corpus.list_datasets(tmp_path)


def test_without_polars_the_error_says_what_to_install(tmp_path, monkeypatch):
    FRAME.write_parquet(tmp_path / "tiny.parquet")
    FRAME.write_csv(tmp_path / "other.csv")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(CorpusError, match=r"^tiny.parquet: .*pip install \"horizontree\[cli\]\""):
        load_dataset(tmp_path, "tiny")
    assert load_dataset(tmp_path, "other").class_names == ("a", "b")


def test_a_study_of_a_parquet_file_is_that_of_the_csv_file(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "Lane", InlineLane)
    rng = np.random.default_rng(0)
    frame = polars.DataFrame({"a": rng.random(40), "b": rng.random(40), "y": np.arange(40) % 2})
    tables = []
    for kind in ("csv", "parquet"):
        study._dataset.cache_clear()
        (tmp_path / kind).mkdir()
        getattr(frame, f"write_{kind}")(tmp_path / kind / f"one.{kind}")
        results = tmp_path / f"{kind}-fits.csv"
        asked = ["--data", str(tmp_path / kind), "--results", str(results), "--methods", "cart"]
        assert main(["bench", "study", *asked, "--depths", "2", "3", "--splits", "2"]) == 0
        tables.append([(row.key, row.size, row.test_accuracy) for row in read_results(results)])
    assert len(tables[0]) == 4
    assert tables[0] == tables[1]
