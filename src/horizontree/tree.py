"""The fitted tree: flat, immutable arrays, and what can be read off them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from horizontree._tree_kernels import leaf_of_rows
from horizontree.terminal import visible

LEAF = -1
"""``feature``, ``left`` and ``right`` of a leaf."""

_ROWS_PER_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class Tree:
    """A binary classification tree.

    Nodes are numbered in preorder; node 0 is the root. A row goes left at an inner node
    when ``x[feature] <= threshold``.

    Parameters
    ----------
    feature : int32 array of shape (n_nodes,)
        The feature that the node tests; -1 at a leaf.
    threshold : float64 array of shape (n_nodes,)
        The threshold of that test; NaN at a leaf.
    left, right : int32 array of shape (n_nodes,)
        The children; -1 at a leaf.
    class_counts : int64 array of shape (n_nodes, n_classes)
        Training samples (a sum of integer weights) of each class at the node.

    Examples
    --------
    >>> import numpy as np
    >>> from horizontree import CARTClassifier
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 1, 1]
    >>> tree = CARTClassifier(max_depth=1).fit(X, y).tree_
    >>> print(tree.to_text(feature_names=["size"]))
    size <= 2.5
    ├── yes: 0  (2 of 2)
    └── no:  1  (2 of 2)
    """

    feature: NDArray[np.int32]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    class_counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        for name, dtype in _DTYPES.items():
            array = np.array(getattr(self, name), dtype=dtype, order="C")
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __reduce__(self) -> tuple[type[Tree], tuple[Any, ...]]:
        return Tree, tuple(getattr(self, name) for name in _DTYPES)  # read-only again

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, name), getattr(other, name), equal_nan=name == "threshold")
            for name in _DTYPES
        )

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equality is by value

    @property
    def n_nodes(self) -> int:
        """Number of nodes, leaves included."""
        return len(self.feature)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.class_counts.shape[1])

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Whether each node is a leaf."""
        is_leaf: NDArray[np.bool_] = self.left == LEAF
        return is_leaf

    @cached_property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.is_leaf.sum())

    @property
    def n_splits(self) -> int:
        """Number of inner nodes."""
        return self.n_nodes - self.n_leaves

    @property
    def predicted_class(self) -> NDArray[np.intp]:
        """The majority class of each node (equal counts: the lowest class)."""
        majority: NDArray[np.intp] = self.class_counts.argmax(axis=1)
        return majority

    @cached_property
    def n_errors(self) -> int:
        """Training samples that the leaves classify wrongly."""
        leaves = self.class_counts[self.is_leaf]
        return int(leaves.sum() - leaves.max(axis=1).sum())

    @property
    def depth_of(self) -> NDArray[np.intp]:
        """Depth of each node; the root has depth 0."""
        depth = np.zeros(self.n_nodes, dtype=np.intp)
        for node in range(self.n_nodes):  # preorder: a parent comes before its children
            if self.left[node] != LEAF:
                depth[[self.left[node], self.right[node]]] = depth[node] + 1
        return depth

    @property
    def max_depth(self) -> int:
        """Depth of the deepest leaf."""
        return int(self.depth_of.max())

    def apply(self, X: NDArray[np.floating]) -> NDArray[np.intp]:
        """Return the leaf that each row of ``X`` reaches."""
        out = np.empty(len(X), dtype=np.intp)
        for start in range(0, len(X), _ROWS_PER_CHUNK):  # so that a conversion never copies all
            rows = slice(start, start + _ROWS_PER_CHUNK)
            chunk = np.ascontiguousarray(X[rows], dtype=np.float64)
            leaf_of_rows(chunk, self.feature, self.threshold, self.left, self.right, out[rows])
        return out

    def to_text(
        self,
        feature_names: Sequence[str] | NDArray[Any] | None = None,
        class_names: Sequence[object] | NDArray[Any] | None = None,
    ) -> str:
        """Draw the tree as text, one line a leaf.

        Parameters
        ----------
        feature_names : sequence of str, optional
            Names in column order; ``x[0], x[1], ...`` when absent.
        class_names : sequence, optional
            Labels in class order; ``0, 1, ...`` when absent.

        Returns
        -------
        str
            Each leaf shows its class and how many of its training samples have that class.
            Control characters in names are written as escapes.
        """
        names = feature_names if feature_names is not None else _BracketNames()
        labels = class_names if class_names is not None else range(self.n_classes)

        def title(node: int) -> str:
            if self.left[node] == LEAF:
                counts = self.class_counts[node]
                best = int(counts.argmax())
                return f"{visible(labels[best])}  ({counts[best]} of {counts.sum()})"
            return f"{visible(names[self.feature[node]])} <= {shortest(self.threshold[node])}"

        lines = [title(0)]
        stack: list[tuple[int, str, str, bool]] = []

        def push_children(node: int, indent: str) -> None:
            if self.left[node] != LEAF:
                stack.append((int(self.right[node]), indent, "no:  ", True))
                stack.append((int(self.left[node]), indent, "yes: ", False))

        push_children(0, "")
        while stack:
            node, indent, answer, is_last = stack.pop()
            lines.append(f"{indent}{'└──' if is_last else '├──'} {answer}{title(node)}")
            push_children(node, indent + ("    " if is_last else "│   "))
        return "\n".join(lines)


def shortest(value: float) -> str:
    """Write a threshold as briefly as reads back to six significant digits."""
    return f"{value:.6g}"


class _BracketNames:
    """Stand-in names ``x[0], x[1], ...``."""

    def __getitem__(self, feature: int) -> str:
        return f"x[{feature}]"


_DTYPES = {
    "feature": np.int32,
    "threshold": np.float64,
    "left": np.int32,
    "right": np.int32,
    "class_counts": np.int64,
}
