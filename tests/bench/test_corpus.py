"""The paper's protocol: which rows, which columns, which split."""

import gzip
import zlib

import numpy as np
import pytest

from horizontree.bench import corpus
from horizontree.bench.corpus import CorpusError, load_dataset, shared_folder, split_rows


@pytest.fixture
def shared(tmp_path):
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "MANIFEST.csv").write_text(
        "name,n_samples,n_features,n_classes,n_missing,n_categorical,group,uci_name,notes\n"
        'tiny,6,3,3,2,1,paper,"Tiny, the first",\n'
        "other,9,2,2,0,0,extra,Other,\n"
    )
    write_dataset(
        tmp_path,
        "tiny",
        "x1,x2__cat,x3,class\n1,red,0.5,b\n2,blue,,c\n3,green,-1e3,a\n4,,7,a\n5,red,8,b\n6,10,9,a\n",
    )
    return tmp_path


def write_dataset(folder, name, text):
    with gzip.open(folder / "datasets" / f"{name}.csv.gz", "wt") as file:
        file.write(text)


def test_rows_with_missing_values_are_dropped_and_categories_become_columns(shared):
    data = load_dataset(shared, "tiny")
    # the rows with x1 = 2 and x1 = 4 have an empty cell; with them go "blue" and the class "c"
    assert data.feature_names == ("x1", "x2=10", "x2=green", "x2=red", "x3")
    assert data.X.tolist() == [
        [1, 0, 0, 1, 0.5],
        [3, 0, 1, 0, -1000],
        [5, 0, 0, 1, 8],
        [6, 1, 0, 0, 9],
    ]
    assert data.class_names == ("a", "b")
    assert data.y.tolist() == [1, 0, 1, 0]
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous


def test_loading_in_chunks_gives_the_same_data(shared, monkeypatch):
    whole = load_dataset(shared, "tiny")
    for n_rows in (1, 2, 5, 6):
        monkeypatch.setattr(corpus, "_ROWS_PER_CHUNK", n_rows)
        data = load_dataset(shared, "tiny")
        assert np.array_equal(data.X, whole.X)
        assert np.array_equal(data.y, whole.y)


@pytest.mark.parametrize("n_samples", [4, 5, 6, 7, 1372])
def test_a_split_parts_the_rows_into_three_quarters_and_the_rest(n_samples):
    train, test = split_rows("iris", n_samples, 3)
    assert sorted([*train, *test]) == list(range(n_samples))
    assert len(train) == n_samples * 3 // 4


def test_a_split_is_always_the_same_and_each_number_and_name_has_its_own():
    train, test = split_rows("iris", 8, 0)
    assert (train.tolist(), test.tolist()) == (
        [0, 7, 2, 5, 6, 3],
        [1, 4],
    )  # recorded: a study depends on it
    again, _ = split_rows("iris", 8, 0)
    assert np.array_equal(train, again)
    others = [split_rows("iris", 1000, 1), split_rows("wine", 1000, 0), split_rows("iris", 1000, 0)]
    assert len({tuple(rows) for rows, _ in others}) == 3


def test_the_manifest_lists_a_group_in_its_order(shared):
    assert [info.name for info in corpus.list_datasets(shared)] == ["tiny"]
    every = corpus.list_datasets(shared, group=None)
    assert [(info.name, info.n_samples) for info in every] == [("tiny", 6), ("other", 9)]
    with pytest.raises(CorpusError, match="no data set of the group 'huge'"):
        corpus.list_datasets(shared, group="huge")


def test_the_option_goes_before_the_environment_and_either_must_be_right(
    shared, tmp_path, monkeypatch
):
    monkeypatch.setenv("HORIZONTREE_SHARED", str(shared))
    assert shared_folder() == shared
    with pytest.raises(CorpusError, match="--data names"):
        shared_folder(tmp_path / "nowhere")
    monkeypatch.setenv("HORIZONTREE_SHARED", str(tmp_path / "nowhere"))
    assert shared_folder(shared) == shared
    with pytest.raises(CorpusError, match="HORIZONTREE_SHARED names"):
        shared_folder()


def test_a_missing_corpus_is_explained(monkeypatch):
    monkeypatch.delenv("HORIZONTREE_SHARED", raising=False)
    with pytest.raises(CorpusError, match="--data FOLDER or the environment variable"):
        shared_folder()


def test_an_unknown_data_set_is_named(shared):
    with pytest.raises(CorpusError, match=r"no none\.csv, none\.csv\.gz or none\.parquet is there"):
        load_dataset(shared, "none")


def test_oracles_have_their_classes_first_and_optima_may_lack_cart(shared):
    folder = shared / "oracles"
    folder.mkdir()
    with gzip.open(folder / "small.txt.gz", "wt") as file:
        file.write("3 0.5 0.25\n1 0 1\n3 1 0\n")
    (folder / "OPTIMA.csv").write_text(
        "dataset,n_samples,n_features,n_classes,depth,optimal_errors,cart_errors,contree_seconds\n"
        "small,3,2,2,2,0,1,0.1\nsmall,3,2,2,4,0,,\n"
    )
    X, y = corpus.load_oracle(shared, "small")
    assert X.tolist() == [[0.5, 0.25], [0, 1], [1, 0]]
    assert y.tolist() == [1, 0, 1]
    assert [(o.depth, o.optimal_errors, o.cart_errors) for o in corpus.load_optima(shared)] == [
        (2, 0, 1),
        (4, 0, None),
    ]


def test_a_plain_folder_of_files_is_a_corpus_too(tmp_path):
    (tmp_path / "one.csv").write_text("a,b__cat,outcome\n1,x,no\n2,y,yes\n3,x,no\n")
    with gzip.open(tmp_path / "two.csv.gz", "wt") as file:
        file.write("a,class\n1,0\n2,1\n")
    assert shared_folder(tmp_path) == tmp_path
    infos = corpus.list_datasets(tmp_path)
    assert [(i.name, i.n_samples, i.n_features, i.n_classes) for i in infos] == [
        ("one", 3, 2, 2),
        ("two", 2, 1, 2),
    ]
    data = load_dataset(tmp_path, "one")
    assert data.feature_names == ("a", "b=x", "b=y")
    assert data.class_names == ("no", "yes")
    assert load_dataset(tmp_path, "two").y.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b,class\n1,red,0\n", "__cat"),
        ("a,b,class\n1,2,0\n1,2\n", "a row has 2 cells, the header 3"),
        ("a,b,class\n1,2,3,0\n1,2,3,0\n", "a row has 4 cells, the header 3"),
        ("class\n1\n", "no columns of features"),
        ("", "no columns of features"),
        ("a,class\n,1\n", "no row is free of missing values"),
        ("a,class\n1,0\nnan,1\n", "column 'a' holds nan or inf"),
        ("caf\xe9,class\n1,0\n", "UTF-8"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_explained(tmp_path, text, message):
    (tmp_path / "bad.csv").write_text(text, encoding="latin-1")
    with pytest.raises(CorpusError, match=rf"^bad.csv: .*{message}"):
        load_dataset(tmp_path, "bad")


def test_a_file_that_only_says_that_it_is_compressed_is_explained(tmp_path):
    (tmp_path / "bad.csv.gz").write_text("a,class\n1,0\n")
    for look in (corpus.list_datasets, lambda folder: load_dataset(folder, "bad")):
        with pytest.raises(CorpusError, match=r"^bad.csv.gz: Not a gzipped file"):
            look(tmp_path)


def test_a_file_whose_compression_is_damaged_is_explained(tmp_path):
    packed = bytearray(gzip.compress(b"a,class\n" + b"".join(b"%d,0\n" % i for i in range(999))))
    packed[20:60] = bytes(40)
    (tmp_path / "bad.csv.gz").write_bytes(packed)
    with pytest.raises(CorpusError, match=r"^bad.csv.gz: .*Expected comma-separated"):
        load_dataset(tmp_path, "bad")


def test_a_checksum_is_of_the_content_not_of_its_compression(tmp_path):
    text = b"a,class\n1,0\n2,1\n"
    (tmp_path / "plain.csv").write_bytes(text)
    for level in (1, 9):
        (tmp_path / f"packed{level}.csv.gz").write_bytes(gzip.compress(text, level))
    (tmp_path / "other.csv").write_bytes(text.replace(b"1,0", b"1,1"))
    (tmp_path / "broken.csv.gz").write_bytes(gzip.compress(text)[:-9])
    (tmp_path / "folder.csv").mkdir()
    found = {
        name: corpus.checksum(tmp_path, name) for name in ("plain", "packed1", "packed9", "other")
    }
    assert found["plain"] == found["packed1"] == found["packed9"] == zlib.crc32(text)
    assert found["other"] != found["plain"]
    for name in ("broken", "folder", "none"):
        assert corpus.checksum(tmp_path, name) is None


def test_names_end_where_the_ending_begins_and_are_no_two_the_same(tmp_path):
    for name in ("a.csv.b.csv", "a.csv"):
        (tmp_path / name).write_text("x,class\n1,0\n")
    assert [info.name for info in corpus.list_datasets(tmp_path)] == ["a", "a.csv.b"]
    (tmp_path / "a.csv.gz").write_bytes(b"")
    with pytest.raises(CorpusError, match=r"a.csv and a.csv.gz have the same name"):
        corpus.list_datasets(tmp_path)


def test_a_manifest_without_a_column_is_explained(shared):
    (shared / "datasets" / "MANIFEST.csv").write_text("name,n_samples\ntiny,6\n")
    with pytest.raises(CorpusError, match="has no column group, n_classes, n_features"):
        corpus.list_datasets(shared)
