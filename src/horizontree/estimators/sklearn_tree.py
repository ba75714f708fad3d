"""From our tree to a genuine scikit-learn one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree as SklearnTree

from horizontree.tree import Tree

_SKLEARN_LEAF_FEATURE = -2


def gini_of(class_counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the gini impurity of each node."""
    share = class_counts / class_counts.sum(axis=1, keepdims=True)
    impurity: NDArray[np.float64] = 1.0 - (share**2).sum(axis=1)
    return impurity


def importances_of(tree: Tree, n_features: int) -> NDArray[np.float64]:
    """Return each feature's share of the total decrease in gini impurity."""
    weighted = gini_of(tree.class_counts) * tree.class_counts.sum(axis=1)
    inner = np.flatnonzero(~tree.is_leaf)
    gain = weighted[inner] - weighted[tree.left[inner]] - weighted[tree.right[inner]]
    importance = np.zeros(n_features)
    np.add.at(importance, tree.feature[inner], gain)
    total = importance.sum()
    return importance / total if total > 0 else importance


def to_sklearn_classifier(
    tree: Tree, classes: NDArray[Any], n_features: int, feature_names: NDArray[Any] | None
) -> DecisionTreeClassifier:
    """Build a fitted ``DecisionTreeClassifier`` with the same nodes and predictions.

    It compares samples that are rounded to float32. Rounded as well, a threshold still has every
    sample on its left that it had there: what is not above it is not above it then.
    """
    n_samples = tree.class_counts.sum(axis=1)
    inside = SklearnTree(n_features, np.array([len(classes)], dtype=np.intp), 1)
    state = inside.__getstate__()
    nodes = np.zeros(tree.n_nodes, dtype=state["nodes"].dtype)
    nodes["left_child"] = tree.left
    nodes["right_child"] = tree.right
    nodes["feature"] = np.where(tree.is_leaf, _SKLEARN_LEAF_FEATURE, tree.feature)
    with np.errstate(over="ignore"):
        threshold = tree.threshold.astype(np.float32).astype(np.float64)
    threshold = np.where(np.isfinite(threshold), threshold, tree.threshold)
    nodes["threshold"] = np.where(tree.is_leaf, _SKLEARN_LEAF_FEATURE, threshold)
    nodes["impurity"] = gini_of(tree.class_counts)
    nodes["n_node_samples"] = n_samples
    nodes["weighted_n_node_samples"] = n_samples
    state.update(
        max_depth=tree.max_depth,
        node_count=tree.n_nodes,
        nodes=nodes,
        values=(tree.class_counts / n_samples[:, None])[:, None, :],
    )
    inside.__setstate__(state)
    model = DecisionTreeClassifier(max_depth=max(1, tree.max_depth))
    model.tree_ = inside
    model.classes_ = classes.copy()
    model.n_classes_ = len(classes)
    model.n_outputs_ = 1
    model.n_features_in_ = n_features
    model.max_features_ = n_features
    if feature_names is not None:
        model.feature_names_in_ = feature_names.copy()
    return model
