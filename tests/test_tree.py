"""The finished tree: what can be read off its arrays."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from horizontree import CARTClassifier, tree
from horizontree.tree import Tree
from problems import make_data


def stump(threshold: float = 0.5, counts=((3, 1), (0, 1), (3, 0))) -> Tree:
    return Tree(
        feature=[1, -1, -1],
        threshold=[threshold, np.nan, np.nan],
        left=[1, -1, -1],
        right=[2, -1, -1],
        class_counts=counts,
    )


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    """Draw a tree of any shape over three features."""
    arrays = {name: [] for name in ("feature", "threshold", "left", "right")}

    def grow(depth: int) -> int:
        node = len(arrays["left"])
        is_leaf = depth == 0 or draw(st.booleans())
        arrays["feature"].append(-1 if is_leaf else draw(st.integers(0, 2)))
        arrays["threshold"].append(np.nan if is_leaf else draw(st.integers(-3, 3)) / 2)
        for side in ("left", "right"):
            arrays[side].append(-1)
        if not is_leaf:
            arrays["left"][node] = grow(depth - 1)
            arrays["right"][node] = grow(depth - 1)
        return node

    grow(4)
    n_nodes = len(arrays["left"])
    counts = [[draw(st.integers(0, 9)) for _ in range(3)] for _ in range(n_nodes)]
    return Tree(**arrays, class_counts=counts)


@pytest.mark.nojit
@given(trees(), st.integers(0, 2**32))
def test_every_row_reaches_the_leaf_that_the_naive_walk_finds(grown, seed):
    X = np.random.default_rng(seed).integers(-4, 5, size=(20, 3)) / 2  # on thresholds, too
    assert grown.apply(X).tolist() == [naive.leaf_of_row(grown, x) for x in X]


@pytest.mark.parametrize("n_rows", [0, 1, 7, 8, 9, 16, 17])
def test_rows_are_applied_across_the_edges_of_chunks(monkeypatch, n_rows):
    monkeypatch.setattr(tree, "_ROWS_PER_CHUNK", 8)
    X, y = make_data(60)
    grown = CARTClassifier(max_depth=3).fit(X, y).tree_
    leaves = [naive.leaf_of_row(grown, x) for x in X[:n_rows]]
    assert grown.apply(X[:n_rows]).tolist() == leaves


@pytest.mark.parametrize("layout", [np.asfortranarray, np.float32, lambda X: X[::-1][::-1]])
def test_any_layout_of_the_rows_is_applied_alike(layout):
    X, y = make_data(60, n_values=9)
    grown = CARTClassifier(max_depth=3).fit(X, y).tree_
    assert np.array_equal(grown.apply(layout(X)), grown.apply(X))


@given(trees())
def test_the_figures_of_a_tree_agree_with_its_nodes(grown):
    is_leaf = [left == -1 for left in grown.left]
    depths = {0: 0}
    for node in range(grown.n_nodes):
        if not is_leaf[node]:
            depths[int(grown.left[node])] = depths[int(grown.right[node])] = depths[node] + 1
    assert grown.is_leaf.tolist() == is_leaf
    assert grown.n_leaves == sum(is_leaf)
    assert grown.n_splits == grown.n_leaves - 1
    assert grown.depth_of.tolist() == [depths[node] for node in range(grown.n_nodes)]
    assert grown.max_depth == max(depths.values())
    leaf_counts = [grown.class_counts[t] for t in range(grown.n_nodes) if is_leaf[t]]
    assert grown.n_errors == sum(int(c.sum()) - int(c.max()) for c in leaf_counts)


def test_equal_counts_predict_the_lowest_class():
    grown = Tree([-1], [np.nan], [-1], [-1], [[0, 2, 2]])
    assert grown.predicted_class.tolist() == [1]


def test_trees_are_equal_by_value():
    assert stump() == stump()
    assert stump() != stump(threshold=0.25)
    assert stump() != stump(counts=((3, 1), (1, 1), (2, 0)))
    assert stump() != "a tree"
    with pytest.raises(TypeError):
        hash(stump())


COPIES = {
    "itself": lambda grown: grown,
    "a deep copy": copy.deepcopy,
    "a pickled one": lambda grown: pickle.loads(pickle.dumps(grown)),
}


@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_the_arrays_of_a_tree_cannot_be_changed(copied):
    grown = copied(stump())
    assert grown == stump()
    for name in ("feature", "threshold", "left", "right", "class_counts"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(grown, name)[0] = 0


def test_a_tree_keeps_nothing_of_the_arrays_it_was_made_of():
    feature = np.array([1, -1, -1], dtype=np.int32)
    made = Tree(feature, [0.5, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [[1, 0]] * 3)
    feature[0] = 0
    assert made.feature[0] == 1
    assert feature.flags.writeable


def test_the_drawing_names_every_test_and_every_leaf():
    X = np.array([[0.0, 5.0], [1.0, 5.0], [1.0, 5.0], [3.0, 5.0], [3.0, 5.0]])
    grown = CARTClassifier(max_depth=2).fit(X, [0, 1, 1, 2, 2]).tree_
    assert grown.to_text(["age", "dose"], ["lo", "mid", "hi"]).splitlines() == [
        "age <= 2",
        "├── yes: age <= 0.5",
        "│   ├── yes: lo  (1 of 1)",
        "│   └── no:  mid  (2 of 2)",
        "└── no:  hi  (2 of 2)",
    ]
    assert stump().to_text().splitlines() == [
        "x[1] <= 0.5",
        "├── yes: 1  (1 of 1)",
        "└── no:  0  (3 of 3)",
    ]


def test_no_name_can_forge_a_line_of_the_drawing():
    names = ["age", "dose\n└── no:  \x1b[2Jhi\t"]
    assert stump().to_text(names, ["lo\u202e", "hö\xa0中"]).splitlines() == [
        r"dose\n└── no:  \x1b[2Jhi\t <= 0.5",
        "├── yes: hö\xa0中  (1 of 1)",
        r"└── no:  lo\u202e  (3 of 3)",
    ]


def test_a_single_leaf_is_drawn_as_one_line():
    assert Tree([-1], [np.nan], [-1], [-1], [[1, 4]]).to_text() == "1  (4 of 5)"


def test_a_chain_deeper_than_the_recursion_limit_works():
    n = 1300  # alternating classes: each split peels off one end
    X, y = np.arange(float(n))[:, None], np.arange(n) % 2
    model = CARTClassifier(max_depth=None).fit(X, y)
    assert model.n_errors_ == 0
    assert model.get_depth() == n - 1
    assert model.tree_.to_text().count("\n") == 2 * n - 2
    assert pickle.loads(pickle.dumps(model)).tree_ == model.tree_
    n_visited = model.decision_path(X).sum(axis=1)
    assert (n_visited.min(), n_visited.max()) == (2, n)
