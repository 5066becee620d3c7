"""Algorithms that find groups of vertices with many edges inside and few out of them."""

from __future__ import annotations

from evergraph._registry import registered, run, weight_of
from evergraph._results import CommunitiesResult, LocalClusterResult, LouvainResult
from evergraph._snapshot import Snapshot
from evergraph._types import Key


@registered
def label_propagation(
    view: Snapshot, max_iter: int = 10, *, verify: bool = False, progress: bool = False
) -> CommunitiesResult:
    """Find communities by labels that spread: each vertex takes the one that most of its neighbors have.

    All change at once, and of several labels that are equally frequent the first is taken, so the result is
    always the same. Of a directed graph, neighbors in both directions count.

    Returns
    -------
    CommunitiesResult
        From vertex to the vertex that stands for its community; it has ``count``, ``sizes()``, ``groups()``,
        ``iterations`` and ``converged``.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> db.create_edge_type("edge", symmetric=True)
    >>> added = db.add_edges([1, 2, 3, 3, 4, 5, 6], [2, 3, 1, 4, 5, 6, 4])
    >>> eg.label_propagation(db.snapshot()).groups()
    [{1, 2, 3}, {4, 5, 6}]
    """
    arguments = {"max_iter": max_iter}
    return CommunitiesResult(*run("label_propagation", view, arguments, verify=verify, progress=progress))


@registered
def louvain(
    view: Snapshot,
    weight: str | None = "weight",
    resolution: float = 1.0,
    threshold: float = 1e-7,
    max_level: int | None = None,
    *,
    seed: int = 0,
    verify: bool = False,
    progress: bool = False,
) -> LouvainResult:
    """Find communities with many more edges inside than chance would put there.

    Edges count in both directions, and parallel ones each.

    Returns
    -------
    LouvainResult
        From vertex to its community, named by the first of its vertices; it has ``count``, ``sizes()``,
        ``groups()``, such as ``networkx.community.louvain_communities`` gives, ``modularity`` and ``levels``.

    Raises
    ------
    ValueError
        If an argument is out of range, no edge has the property, or a weight is negative or no number.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3, 3, 4, 5, 6], [2, 3, 1, 4, 5, 6, 4])
    >>> found = eg.louvain(db.snapshot())
    >>> found.groups(), round(found.modularity, 3)
    ([{1, 2, 3}, {4, 5, 6}], 0.357)
    """
    arguments = {
        "weight": weight_of(weight, usual="weight"),
        "resolution": resolution,
        "threshold": threshold,
        "max_level": max_level,
        "seed": seed,
    }
    return LouvainResult(*run("louvain", view, arguments, verify=verify, progress=progress))


@registered
def leiden(
    view: Snapshot,
    weight: str | None = "weight",
    resolution: float = 1.0,
    threshold: float = 1e-7,
    max_level: int | None = None,
    *,
    seed: int = 0,
    verify: bool = False,
    progress: bool = False,
) -> LouvainResult:
    """Find communities with many more edges inside than chance would put there, each of them connected.

    Edges count in both directions, and parallel ones each.

    Returns
    -------
    LouvainResult
        From vertex to its community, named by the first of its vertices; it has ``count``, ``sizes()``,
        ``groups()``, ``modularity`` and ``levels``.

    Raises
    ------
    ValueError
        If an argument is out of range, no edge has the property, or a weight is negative or no number.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3, 3, 4, 5, 6], [2, 3, 1, 4, 5, 6, 4])
    >>> found = eg.leiden(db.snapshot())
    >>> found.groups(), round(found.modularity, 3)
    ([{1, 2, 3}, {4, 5, 6}], 0.357)
    """
    arguments = {
        "weight": weight_of(weight, usual="weight"),
        "resolution": resolution,
        "threshold": threshold,
        "max_level": max_level,
        "seed": seed,
    }
    return LouvainResult(*run("leiden", view, arguments, verify=verify, progress=progress))


@registered
def local_cluster(
    view: Snapshot,
    source: Key,
    alpha: float = 0.15,
    epsilon: float = 1e-6,
    *,
    verify: bool = False,
    progress: bool = False,
) -> LocalClusterResult:
    """Find a set of vertices around a seed that few edges leave, without a look at the rest of the graph.

    Edges of both directions count, parallel ones each, symmetric ones once.

    Returns
    -------
    LocalClusterResult
        From member to its approximate personalized PageRank, the nearest to the seed first; and the
        ``conductance``.

    Raises
    ------
    NotFoundError
        If the seed is not in the view.
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3, 3, 4, 5, 6], [2, 3, 1, 4, 5, 6, 4])
    >>> cluster = eg.local_cluster(db.snapshot(), 1)
    >>> sorted(cluster), round(cluster.conductance, 3)
    ([1, 2, 3], 0.143)
    """
    arguments = {"source": source, "alpha": alpha, "epsilon": epsilon}
    return LocalClusterResult(*run("local_cluster", view, arguments, verify=verify, progress=progress))


@registered
def nibble(
    view: Snapshot,
    source: Key,
    steps: int = 20,
    epsilon: float = 1e-6,
    *,
    verify: bool = False,
    progress: bool = False,
) -> LocalClusterResult:
    """Find a set of vertices around a seed that few edges leave, by a random walk that ends where it is thin.

    The walk stays where it is half of the time. Edges count in both directions, parallel ones each.
    `local_cluster` does the same by personalized PageRank.

    Returns
    -------
    LocalClusterResult
        From member to what the last step of the walk leaves there, the nearest to the seed first; and the
        ``conductance``.

    Raises
    ------
    NotFoundError
        If the seed is not in the view.
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3, 3, 4, 5, 6], [2, 3, 1, 4, 5, 6, 4])
    >>> cluster = eg.nibble(db.snapshot(), 1, steps=5)
    >>> sorted(cluster), round(cluster.conductance, 3)
    ([1, 2, 3], 0.143)
    """
    arguments = {"source": source, "steps": steps, "epsilon": epsilon}
    return LocalClusterResult(*run("nibble", view, arguments, verify=verify, progress=progress))
