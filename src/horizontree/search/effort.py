"""How much work the search of HorizonTree spends, counted in work and never in seconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """How much work is spent.

    Parameters
    ----------
    n_features_tried : int
        Features whose best roots are completed to the full depth, at each node.
    n_neighbours : int
        Neighbours of the best of these roots that are completed too.
    most_bins : int
        Bins of a feature.
    n_tied_bins : int
        The same, at least, where ties between trees of depth two are settled: trees that cut
        between bins are known. On many rows there are more, for the bounds.
    most_features : int
        Features that are paired, those that are purest by themselves. A tree of depth two, one of
        depth three on small data, and a proof, looks at all of them.
    most_rows : int
        Rows of a node that candidates are completed on.
    most_exact_rows : int
        Rows of a node up to which its trees of depth two are exact; beyond, they are the best
        over bins. A tree of depth two, and a proof, is always exact.
    n_solves : int or None
        Sides that the search over depth three solves, up to the end of a round; None for as
        many as a proof takes.
    n_block_solves : int
        The same for a block of a deeper tree; 0 leaves the block as it is.
    most_tied_work : int
        Samples times features times different values, of 60 features at most, up to which a tree
        of depth three is searched for over all features, and the equally cheap ones with it.
    n_repairs : int
        Trials of repair.
    slack : float
        A trial's blocks are searched when its tree costs less than so many times the tree
        that is there.
    n_longer_solves : int
        What a trial of repair may solve in a block that was searched before; 0 for no trial.
    n_perturbations : int
        Subtrees of the finished tree that are torn down and built anew.
    shallow_depths : tuple of int
        Depths that are searched, too, where the tree that was found has no more splits than one
        of that depth, and of depth three at least, can have, on at most ``most_rows`` rows.
    n_shallow_solves : int
        What the search over depth three solves there.
    """

    n_features_tried: int
    n_neighbours: int
    most_bins: int
    n_tied_bins: int
    most_features: int
    most_rows: int
    most_exact_rows: int
    n_solves: int | None
    n_block_solves: int
    most_tied_work: int
    n_repairs: int
    slack: float
    n_longer_solves: int
    n_perturbations: int
    shallow_depths: tuple[int, ...]
    n_shallow_solves: int


EFFORTS = {
    "quick": Effort(
        n_features_tried=2,
        n_neighbours=0,
        most_bins=32,
        n_tied_bins=32,
        most_features=12,
        most_rows=5_000,
        most_exact_rows=5_000,
        n_solves=40,
        n_block_solves=0,
        most_tied_work=0,
        n_repairs=0,
        slack=1.0,
        n_longer_solves=0,
        n_perturbations=0,
        shallow_depths=(),
        n_shallow_solves=0,
    ),
    "normal": Effort(
        n_features_tried=6,
        n_neighbours=6,
        most_bins=64,
        n_tied_bins=128,
        most_features=20,
        most_rows=20_000,
        most_exact_rows=10_000,
        n_solves=500,
        n_block_solves=60,
        most_tied_work=1 << 28,
        n_repairs=24,
        slack=1.0,
        n_longer_solves=0,
        n_perturbations=0,
        shallow_depths=(2, 3, 4),
        n_shallow_solves=200,
    ),
    "thorough": Effort(
        n_features_tried=20,
        n_neighbours=24,
        most_bins=64,
        n_tied_bins=128,
        most_features=40,
        most_rows=50_000,
        most_exact_rows=100_000,
        n_solves=None,
        n_block_solves=400,
        most_tied_work=1 << 28,
        n_repairs=200,
        slack=1.1,
        n_longer_solves=2_000,
        n_perturbations=60,
        shallow_depths=(),  # it starts from a tree of normal effort
        n_shallow_solves=0,
    ),
}
