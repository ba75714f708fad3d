"""How many samples of a group a box of trees must get wrong, as a mixed-integer programme.

Alone, each sample of the group may find its way to a leaf of its class; together they share the
splits and the labels. The variables are, for the undecided parts of the box: which feature a node
has, which samples go left there (lower codes first), and which class a leaf has. HiGHS, through
SciPy, finds the least number of errors, or a bound of it when its time is up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from horizontree.search._reduced_space_kernels import NO_SPLIT, UNDECIDED
from horizontree.standard_output import muted

_ROUNDING = 1e-6


@dataclass(eq=False)
class _Programme:
    """Minimise ``cost @ x`` over x in [0, 1] with rows ``terms @ x <= most``."""

    cost: list[float] = field(default_factory=list)
    is_integer: list[bool] = field(default_factory=list)
    rows: list[tuple[dict[int, float], float]] = field(default_factory=list)

    def variable(self, *, cost: float = 0.0, is_integer: bool = False) -> int:
        self.cost.append(cost)
        self.is_integer.append(is_integer)
        return len(self.cost) - 1

    def at_most(self, terms: dict[int, float], most: float) -> None:
        self.rows.append((terms, most))

    def exactly(self, terms: dict[int, float], total: float) -> None:
        self.at_most(terms, total)
        self.at_most({v: -factor for v, factor in terms.items()}, -total)

    def least_cost(self, most_nodes: int) -> float:
        """Return a lower bound of the least cost: the least cost unless nodes run out."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        indptr = np.cumsum([0, *(len(terms) for terms, _ in self.rows)])
        indices = np.array([v for terms, _ in self.rows for v in terms], dtype=np.intp)
        factors = np.array([a for terms, _ in self.rows for a in terms.values()])
        matrix = csr_array((factors, indices, indptr), shape=(len(self.rows), len(self.cost)))
        with muted():  # some versions of HiGHS tell of their repairs, whatever they are asked
            solved = milp(
                self.cost,
                integrality=self.is_integer,
                bounds=Bounds(0, 1),
                constraints=LinearConstraint(matrix, ub=[most for _, most in self.rows]),
                options={"node_limit": most_nodes},
            )
        bound = solved.mip_dual_bound
        if bound is None or not np.isfinite(bound):  # nothing is known but the costs themselves
            return float(np.minimum(self.cost, 0).sum())
        return float(bound)


def least_errors(
    code: NDArray[np.int32],
    label: NDArray[np.int32],
    n_classes: int,
    box: NDArray[np.int32],
    most_nodes: int = 200,
) -> int:
    """Return a number of samples that every tree of a box gets wrong at least.

    Parameters
    ----------
    code : int32 array of shape (n_samples, n_features)
        Codes of the samples of the group.
    label : int32 array of shape (n_samples,)
        Their classes.
    n_classes : int
        Number of classes.
    box : int32 array
        The box; see ``_reduced_space_kernels``.
    most_nodes : int
        Nodes of the solver's own search.
    """
    n, n_inner = len(label), (len(box) - 1) // 4
    programme = _Programme()
    goes_left = [_sides(programme, code, box, node, n_inner) for node in range(n_inner)]
    has_label = [
        _labels(programme, n_classes, int(box[3 * n_inner + leaf])) for leaf in range(n_inner + 1)
    ]
    for sample in range(n):
        is_right = []
        for leaf in range(n_inner + 1):
            v = programme.variable(cost=-1.0)  # the sample is in this leaf, which has its class
            is_right.append(v)
            of_class = has_label[leaf].get(int(label[sample]))
            programme.at_most({v: 1.0} if of_class is None else {v: 1.0, of_class: -1.0}, 0.0)
            node = n_inner + leaf
            while node > 0:
                above = (node - 1) // 2
                side = goes_left[above][sample]
                if node == 2 * above + 1:
                    programme.at_most({v: 1.0, side: -1.0}, 0.0)
                else:
                    programme.at_most({v: 1.0, side: 1.0}, 1.0)
                node = above
        programme.at_most(dict.fromkeys(is_right, 1.0), 1.0)
    return max(0, math.ceil(n + programme.least_cost(most_nodes) - _ROUNDING))


def _labels(programme: _Programme, n_classes: int, decided: int) -> dict[int, int]:
    """Add the choice of a leaf's class; return the variables of the classes it may have."""
    allowed = range(n_classes) if decided == UNDECIDED else [decided]
    chosen = {k: programme.variable(is_integer=True) for k in allowed}
    programme.exactly(dict.fromkeys(chosen.values(), 1.0), 1.0)
    return chosen


def _sides(
    programme: _Programme, code: NDArray[np.int32], box: NDArray[np.int32], node: int, n_inner: int
) -> list[int]:
    """Add which samples go left at a node; return the variable of each."""
    decided = int(box[node])
    if decided == NO_SPLIT:
        left = programme.variable()
        programme.exactly({left: 1.0}, 1.0)
        return [left] * len(code)
    if decided != UNDECIDED:
        cuts = int(box[n_inner + node]), int(box[2 * n_inner + node])
        return _cut(programme, code[:, decided], *cuts)
    n_features = code.shape[1]
    sides = [programme.variable() for _ in range(len(code))]
    chosen = [programme.variable(is_integer=True) for _ in range(n_features)]
    programme.exactly(dict.fromkeys(chosen, 1.0), 1.0)
    for f in range(n_features):
        of_feature = _cut(programme, code[:, f], 0, int(code[:, f].max()) + 1)
        for side, left in zip(sides, of_feature, strict=True):  # equal if this is the feature
            programme.at_most({side: 1.0, left: -1.0, chosen[f]: 1.0}, 1.0)
            programme.at_most({side: -1.0, left: 1.0, chosen[f]: 1.0}, 1.0)
    return sides


def _cut(programme: _Programme, codes: NDArray[np.int32], low: int, high: int) -> list[int]:
    """Add a cut from a range of one feature: samples with lower codes go left first."""
    of_code: dict[int, int] = {}
    before = None
    for value in np.unique(codes).tolist():
        is_open = low <= value < high
        left = programme.variable(is_integer=is_open)
        if not is_open:
            programme.exactly({left: 1.0}, float(value < low))
        elif before is not None:
            programme.at_most({left: 1.0, before: -1.0}, 0.0)
        of_code[value] = before = left
    return [of_code[value] for value in codes.tolist()]
