"""Algorithms about what hangs together, and how densely."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, overload

from evergraph._registry import registered, run, weight_of
from evergraph._results import (
    ClusteringResult,
    ColoringResult,
    ComponentsResult,
    CoreResult,
    KCoreResult,
    MatchingResult,
    SpanningForestResult,
    TopologicalOrder,
    VertexList,
    VertexSet,
)
from evergraph._snapshot import Snapshot
from evergraph._types import Key


@registered
def connected_components(view: Snapshot, *, verify: bool = False, progress: bool = False) -> ComponentsResult:
    """Find which vertices hang together, whatever the direction of edges: the weak components.

    Returns
    -------
    ComponentsResult
        From vertex to its component, named by the first of its vertices, in the order of `Snapshot.vertices`.
        It has ``count``, ``largest``, ``sizes()`` and ``groups()``.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 7], [2, 3, 8])
    >>> parts = eg.connected_components(db.snapshot())
    >>> parts.count, parts.largest, parts[3] == parts[1], parts[7] == parts[1]
    (2, 3, True, False)
    >>> parts.sizes()
    {1: 3, 7: 2}
    """
    return ComponentsResult(*run("connected_components", view, {}, verify=verify, progress=progress))


@registered
def strongly_connected_components(
    view: Snapshot, *, verify: bool = False, progress: bool = False
) -> ComponentsResult:
    """Find which vertices reach each other along the edges.

    Returns
    -------
    ComponentsResult
        From vertex to its component, named by the first of its vertices, in the order of `Snapshot.vertices`.
        It has ``count``, ``largest``, ``sizes()``, and ``groups()``, which are those of
        ``networkx.strongly_connected_components``.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3, 3], [2, 3, 1, 4])
    >>> eg.strongly_connected_components(db.snapshot()).groups()
    [{1, 2, 3}, {4}]
    """
    name = "strongly_connected_components"
    return ComponentsResult(*run(name, view, {}, verify=verify, progress=progress))


@registered
def topological_sort(view: Snapshot, *, verify: bool = False, progress: bool = False) -> TopologicalOrder:
    """Put the vertices in an order in which every edge leads forward.

    Returns
    -------
    TopologicalOrder
        The vertices in such an order, as ``networkx.topological_sort`` has it, and by ``generations()``, as
        ``networkx.topological_generations`` has them; within one they are in the order of
        `Snapshot.vertices`.

    Raises
    ------
    CycleError
        If there is a cycle; `find_cycle` shows one.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["socks", "shirt", "tie"], ["shoes", "tie", "jacket"])
    >>> order = eg.topological_sort(db.snapshot())
    >>> order.index("shirt") < order.index("tie") < order.index("jacket")
    True
    >>> order.generations()
    [['shirt', 'socks'], ['shoes', 'tie'], ['jacket']]
    """
    return TopologicalOrder(*run("topological_sort", view, {}, verify=verify, progress=progress))


@registered
def find_cycle(
    view: Snapshot,
    source: Key | Iterable[Key] | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
) -> VertexList:
    """Find a cycle along the edges.

    An edge of a symmetric type is a cycle of two vertices.

    Returns
    -------
    VertexList
        The vertices of a cycle in order: each has an edge to the next, and the last to the first. Empty, and
        so false, if there is no cycle, or none that a source reaches.

    Raises
    ------
    NotFoundError
        If a source is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3, 3], [2, 3, 2, 4])
    >>> eg.find_cycle(db.snapshot())
    VertexList([2, 3])
    >>> eg.find_cycle(db.snapshot(), 4)
    VertexList([])
    """
    return VertexList(*run("find_cycle", view, {"source": source}, verify=verify, progress=progress))


@registered
def core_number(view: Snapshot, *, verify: bool = False, progress: bool = False) -> CoreResult:
    """Find the largest k of a subgraph of degrees k or more that each vertex is in.

    Degrees count edges of both directions, parallel ones each, symmetric ones once, and no loops.

    Returns
    -------
    CoreResult
        From vertex to core number, as ``networkx.core_number`` has it, with the ``largest``.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3, 3], [2, 3, 1, 4])
    >>> dict(eg.core_number(db.snapshot()))
    {1: 2, 2: 2, 3: 2, 4: 1}
    """
    return CoreResult(*run("core_number", view, {}, verify=verify, progress=progress))


@registered
def k_core(
    view: Snapshot, k: int | None = None, *, verify: bool = False, progress: bool = False
) -> KCoreResult:
    """Find the vertices of the largest subgraph in which all have degree k or more.

    Returns
    -------
    KCoreResult
        The vertices of ``networkx.k_core`` as a set, with their ``k``.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3, 3], [2, 3, 1, 4])
    >>> core = eg.k_core(db.snapshot())
    >>> core, core.k, 4 in core
    (KCoreResult({1, 2, 3}), 2, False)
    """
    return KCoreResult(*run("k_core", view, {"k": k}, verify=verify, progress=progress))


@registered
def triangle_count(view: Snapshot, *, verify: bool = False, progress: bool = False) -> int:
    """Count the triangles: sets of three vertices that are all neighbors.

    Directions, parallel edges and loops do not matter.

    Returns
    -------
    int
        How many there are; ``sum(networkx.triangles(graph).values()) // 3`` of the undirected graph.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3, 3], [2, 3, 1, 4])
    >>> eg.triangle_count(db.snapshot())
    1
    """
    _, values = run("triangle_count", view, {}, verify=verify, progress=progress)
    return int(values["triangles"])


@overload
def clustering(  # type: ignore[overload-overlap]
    view: Snapshot, nodes: Key, weight: str | None = None, *, verify: bool = False, progress: bool = False
) -> float: ...
@overload
def clustering(
    view: Snapshot,
    nodes: Iterable[Key] | None = None,
    weight: str | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
) -> ClusteringResult: ...
@registered
def clustering(
    view: Snapshot,
    nodes: Key | Iterable[Key] | None = None,
    weight: str | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
) -> ClusteringResult | float:
    """Find how many of the pairs of neighbors of each vertex are neighbors themselves.

    Parallel edges and loops do not matter. With a ``weight``, a property of edges, a triangle counts by the
    geometric mean of its edges' weights over the largest weight. Parallel edges weigh what all weigh
    together, loops only count for the largest weight, and an edge without a value weighs 1.

    Returns
    -------
    ClusteringResult or float
        From vertex to coefficient, as ``networkx.clustering`` has it, of directed graphs too; and the
        ``average``. Of all vertices or of several ``nodes``; the coefficient of a single one.

    Raises
    ------
    NotFoundError
        If one of the ``nodes`` is not in the view.
    ValueError
        If the edges have no such property, or a weight is negative or not finite.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> db.create_edge_type("edge", symmetric=True)
    >>> added = db.add_edges([1, 2, 3, 3], [2, 3, 1, 4])
    >>> coefficients = eg.clustering(db.snapshot())
    >>> coefficients[1], round(coefficients[3], 3), round(coefficients.average, 3)
    (1.0, 0.333, 0.583)
    >>> eg.clustering(db.snapshot(), 1)
    1.0
    """
    found = ClusteringResult(
        *run("clustering", view, {"nodes": nodes, "weight": weight}, verify=verify, progress=progress)
    )
    if nodes is None or (isinstance(nodes, Iterable) and not isinstance(nodes, str)):
        return found
    return found[nodes]


@registered
def local_clustering_coefficient(
    view: Snapshot, *, verify: bool = False, progress: bool = False
) -> ClusteringResult:
    """Find how many of the edges that there could be among the neighbors of each vertex there are.

    The definition of LDBC Graphalytics, which for directed graphs is another than that of `clustering`:
    neighbors are those in either direction, and both directions between them count.

    Returns
    -------
    ClusteringResult
        From vertex to coefficient; and the ``average``.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3, 3], [2, 3, 1, 4])
    >>> eg.local_clustering_coefficient(db.snapshot())[1]
    0.5
    """
    name = "local_clustering_coefficient"
    return ClusteringResult(*run(name, view, {}, verify=verify, progress=progress))


@registered
def maximal_independent_set(
    view: Snapshot,
    nodes: Key | Iterable[Key] | None = None,
    seed: int = 0,
    *,
    verify: bool = False,
    progress: bool = False,
) -> VertexSet:
    """Find vertices of which no two are neighbors, and to which none can be added.

    Directions of edges and loops do not matter.

    Returns
    -------
    VertexSet
        Such vertices as ``networkx.maximal_independent_set`` gives, as a set.

    Raises
    ------
    NotFoundError
        If one of the ``nodes`` is not in the view.
    ValueError
        If two of them are neighbors.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 1, 1], [2, 3, 4])
    >>> chosen = eg.maximal_independent_set(db.snapshot())
    >>> chosen == {1} or chosen == {2, 3, 4}
    True
    >>> eg.maximal_independent_set(db.snapshot(), [2])
    VertexSet({2, 3, 4})
    """
    arguments = {"nodes": nodes, "seed": seed}
    return VertexSet(*run("maximal_independent_set", view, arguments, verify=verify, progress=progress))


@registered
def maximal_matching(
    view: Snapshot, *, seed: int = 0, verify: bool = False, progress: bool = False
) -> MatchingResult:
    """Find edges of which no two share an end, and to which none can be added.

    Directions of edges and loops do not matter.

    Returns
    -------
    MatchingResult
        Such edges as ``networkx.maximal_matching`` gives, as a set of pairs; ``(u, v) in`` asks in either
        order.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3], [2, 3, 4])
    >>> matching = eg.maximal_matching(db.snapshot())
    >>> matching == {(1, 2), (3, 4)} or matching == {(2, 3)}
    True
    """
    return MatchingResult(*run("maximal_matching", view, {"seed": seed}, verify=verify, progress=progress))


@registered
def greedy_color(
    view: Snapshot,
    strategy: Literal["largest_first", "smallest_last", "random_sequential"] = "largest_first",
    *,
    seed: int = 0,
    verify: bool = False,
    progress: bool = False,
) -> ColoringResult:
    """Give vertices colors such that neighbors have different ones.

    Each vertex in turn takes the first color that none of its neighbors has. Directions of edges and loops do
    not matter.

    Returns
    -------
    ColoringResult
        From vertex to color, a number from 0, as ``networkx.greedy_color`` has it for ``largest_first`` with
        the vertices in the order of `Snapshot.vertices`; it has ``count`` and ``classes()``. With
        ``smallest_last`` there are at most one more than the largest core number.

    Raises
    ------
    ValueError
        If there is no such strategy.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3], [2, 3, 4])
    >>> colors = eg.greedy_color(db.snapshot())
    >>> colors.count, colors.classes()
    (2, [{2, 4}, {1, 3}])
    """
    arguments = {"strategy": strategy, "seed": seed}
    return ColoringResult(*run("greedy_color", view, arguments, verify=verify, progress=progress))


@registered
def minimum_spanning_edges(
    view: Snapshot, weight: str | None = "weight", *, verify: bool = False, progress: bool = False
) -> SpanningForestResult:
    """Find a minimum spanning forest: the lightest edges that keep together what hangs together.

    Directions of edges and loops do not matter.

    Returns
    -------
    SpanningForestResult
        The edges as ``(u, v, weight)``, the lightest first, such as ``networkx.minimum_spanning_edges``
        gives, and their ``total`` weight.

    Raises
    ------
    ValueError
        If no edge has the property, or a weight is no number.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "c"], ["b", "c", "a"], weight=[1.0, 3.0, 2.0])
    >>> forest = eg.minimum_spanning_edges(db.snapshot())
    >>> list(forest), forest.total
    ([('a', 'b', 1.0), ('a', 'c', 2.0)], 3.0)
    """
    arguments = {"weight": weight_of(weight, usual="weight")}
    name = "minimum_spanning_edges"
    return SpanningForestResult(*run(name, view, arguments, verify=verify, progress=progress))
