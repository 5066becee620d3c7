"""Algorithms about ways through the graph: who is how far from whom."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone

from evergraph._registry import registered, run, weight_of
from evergraph._results import (
    ArrivalResult,
    BfsResult,
    DiameterResult,
    DistanceResult,
    KHopResult,
    MultiSourceResult,
    PathResult,
    WalksResult,
)
from evergraph._snapshot import Snapshot
from evergraph._types import Key


@registered
def bfs(
    view: Snapshot,
    source: Key | Iterable[Key],
    *,
    reverse: bool = False,
    depth_limit: int | None = None,
    verify: bool = False,
    progress: bool = False,
) -> BfsResult:
    """Find the hops from the nearest source to each vertex that it reaches, and a tree of shortest paths.

    Returns
    -------
    BfsResult
        From vertex to ``distance``, for vertices that are reached, as
        ``networkx.single_source_shortest_path_length`` has it; the table has ``parent`` too, a neighbor one
        hop nearer (a source's is itself).

    Raises
    ------
    NotFoundError
        If a source is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "d"], ["b", "c", "a"])
    >>> hops = eg.bfs(db.snapshot(), "a")
    >>> hops
    BFS: 3 vertices reached, depth 2
    vertex  distance  parent
    ------  --------  ------
    a              0  a
    b              1  a
    c              2  b
    >>> hops["c"], "d" in hops
    (2, False)
    """
    arguments = {"source": source, "reverse": reverse, "depth_limit": depth_limit}
    return BfsResult(*run("bfs", view, arguments, verify=verify, progress=progress))


@registered
def sssp(
    view: Snapshot,
    source: Key | Iterable[Key],
    *,
    cutoff: float | None = None,
    weight: str | None = "weight",
    reverse: bool = False,
    delta: float | None = None,
    verify: bool = False,
    progress: bool = False,
) -> DistanceResult:
    """Find the length of a shortest path from the nearest source to each vertex that it reaches.

    Returns
    -------
    DistanceResult
        From vertex to ``distance``, for vertices that are reached, as
        ``networkx.multi_source_dijkstra_path_length`` has it.

    Raises
    ------
    NotFoundError
        If a source is not in the view.
    ValueError
        If no edge has the property, or a weight is negative or no number.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "a"], ["b", "c", "c"], weight=[1.0, 1.5, 5.0])
    >>> eg.sssp(db.snapshot(), "a")["c"], eg.sssp(db.snapshot(), "a", weight=None)["c"]
    (2.5, 1.0)
    """
    arguments = {
        "source": source,
        "cutoff": cutoff,
        "weight": weight_of(weight, usual="weight"),
        "reverse": reverse,
        "delta": delta,
    }
    return DistanceResult(*run("sssp", view, arguments, verify=verify, progress=progress))


@registered
def bellman_ford(
    view: Snapshot,
    source: Key | Iterable[Key],
    weight: str | None = "weight",
    *,
    verify: bool = False,
    progress: bool = False,
) -> DistanceResult:
    """Find the length of a shortest path from the nearest source to each vertex, weights of any sign.

    Where all weights are from 0, `sssp` is faster. An edge of a symmetric type with a negative weight is a
    cycle of negative weight.

    Returns
    -------
    DistanceResult
        From vertex to ``distance``, for vertices that are reached, as
        ``networkx.single_source_bellman_ford_path_length`` has it; the table has ``parent`` too, the vertex
        before on a shortest path (a source's is itself).

    Raises
    ------
    CycleError
        If a source reaches a cycle of negative weight.
    NotFoundError
        If a source is not in the view.
    ValueError
        If no edge has the property, or a weight is no number.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "a"], ["b", "c", "c"], weight=[4.0, -3.0, 2.0])
    >>> dict(eg.bellman_ford(db.snapshot(), "a"))
    {'a': 0.0, 'b': 4.0, 'c': 1.0}
    """
    arguments = {"source": source, "weight": weight_of(weight, usual="weight")}
    return DistanceResult(*run("bellman_ford", view, arguments, verify=verify, progress=progress))


@registered
def multi_source_bfs(
    view: Snapshot,
    sources: Key | Iterable[Key],
    *,
    reverse: bool = False,
    depth_limit: int | None = None,
    verify: bool = False,
    progress: bool = False,
) -> MultiSourceResult:
    """Find the hops from each of several sources to every vertex that it reaches.

    For the hops from the nearest of several sources there is `bfs`.

    Returns
    -------
    MultiSourceResult
        From source to a dictionary from vertex to hops, the nearest first, as
        ``networkx.all_pairs_shortest_path_length`` has them for all vertices. The table has the columns
        ``source``, ``vertex`` and ``distance``.

    Raises
    ------
    NotFoundError
        If a source is not in the view.
    ValueError
        If there would be more than 2^32 - 1 rows.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b"], ["b", "c"])
    >>> dict(eg.multi_source_bfs(db.snapshot(), ["b", "a"]))
    {'b': {'b': 0, 'c': 1}, 'a': {'a': 0, 'b': 1, 'c': 2}}
    """
    arguments = {"sources": sources, "reverse": reverse, "depth_limit": depth_limit}
    return MultiSourceResult(*run("multi_source_bfs", view, arguments, verify=verify, progress=progress))


@registered
def temporal_reachability(
    view: Snapshot,
    source: Key | Iterable[Key],
    time: str | None = None,
    *,
    start: float | date | datetime | None = None,
    end: float | date | datetime | None = None,
    strict: bool = False,
    verify: bool = False,
    progress: bool = False,
) -> ArrivalResult:
    """Find the earliest time at which news from a source can be at each vertex, over edges in order of time.

    Each edge is there at one time only: that of its property ``time``, by default the one that its type was
    created with. Edges without a time are not there. Times are numbers; a timestamp is the number of its
    microseconds since 1970, a date that of its midnight in UTC, and a ``datetime`` or ``date`` for ``start``
    or ``end`` is that number. Whole numbers of 64 bits are compared exactly, among edges; ``start``, ``end``
    and the arrivals given are floats, so beyond 2^53 the nearest ones.

    Returns
    -------
    ArrivalResult
        From vertex to ``arrival``, for vertices that are reached; that of a source is the start, or the
        earliest time of any edge. The table has ``parent`` too, the vertex before (a source's is itself).

    Raises
    ------
    NotFoundError
        If a source is not in the view.
    ValueError
        If no property is known to be the time, or it is neither a number nor a time.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "b"], ["b", "c", "d"], day=[3, 5, 1])
    >>> dict(eg.temporal_reachability(db.snapshot(), "a", "day"))
    {'a': 1.0, 'b': 3.0, 'c': 5.0}
    """
    arguments = {
        "source": source,
        "time": time,
        "start": _number(start),
        "end": _number(end),
        "strict": strict,
    }
    return ArrivalResult(*run("temporal_reachability", view, arguments, verify=verify, progress=progress))


def _number(time: float | date | datetime | None) -> float | None:
    """Give a time as a number: the microseconds since 1970 of a datetime, which is in UTC unless it says."""
    if not isinstance(time, date):
        return time
    if not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day)
    known = time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    return (known - datetime(1970, 1, 1, tzinfo=timezone.utc)) / timedelta(microseconds=1)


@registered
def shortest_path(
    view: Snapshot,
    source: Key,
    target: Key,
    weight: str | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
) -> PathResult:
    """Find a shortest path from one vertex to another, without a look at the rest of the graph.

    Returns
    -------
    PathResult
        The vertices from source to target, as ``networkx.shortest_path`` has them, with their ``length``.

    Raises
    ------
    NoPathError
        If there is no path.
    NotFoundError
        If the source or the target is not in the view.
    ValueError
        If no edge has the property, or a weight is negative or no number.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "a"], ["b", "c", "c"], weight=[1.0, 1.5, 5.0])
    >>> eg.shortest_path(db.snapshot(), "a", "c")
    PathResult(['a', 'c'], length=1)
    >>> path = eg.shortest_path(db.snapshot(), "a", "c", weight="weight")
    >>> list(path), path.length
    (['a', 'b', 'c'], 2.5)
    """
    arguments = {"source": source, "target": target, "weight": weight_of(weight, usual=None)}
    return PathResult(*run("shortest_path", view, arguments, verify=verify, progress=progress))


@registered
def k_hop(
    view: Snapshot,
    source: Key,
    k: int = 1,
    *,
    reverse: bool = False,
    verify: bool = False,
    progress: bool = False,
) -> KHopResult:
    """Find the vertices at most k hops away, without a look at the rest of the graph.

    Returns
    -------
    KHopResult
        From vertex to hops, the nearest first; the vertices are those of
        ``networkx.ego_graph(graph, source, radius=k)``.

    Raises
    ------
    NotFoundError
        If the source is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "c"], ["b", "c", "d"])
    >>> dict(eg.k_hop(db.snapshot(), "a", 2))
    {'a': 0, 'b': 1, 'c': 2}
    """
    arguments = {"source": source, "k": k, "reverse": reverse}
    return KHopResult(*run("k_hop", view, arguments, verify=verify, progress=progress))


@registered
def diameter(
    view: Snapshot, sweeps: int = 4, *, verify: bool = False, progress: bool = False
) -> DiameterResult:
    """Find two vertices as far from each other as a few searches can find.

    Returns
    -------
    DiameterResult
        The two ends, and the hops between them as ``lower_bound`` of the diameter, as
        ``networkx.approximation.diameter`` has it. Pairs without a path do not count.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> db.create_edge_type("edge", symmetric=True)
    >>> added = db.add_edges(["a", "b", "c"], ["b", "c", "d"])
    >>> eg.diameter(db.snapshot()).lower_bound
    3
    """
    arguments = {"sweeps": sweeps}
    return DiameterResult(*run("diameter", view, arguments, verify=verify, progress=progress))


@registered
def random_walks(
    view: Snapshot,
    source: Key | Iterable[Key],
    length: int = 10,
    walks: int = 1,
    *,
    seed: int = 0,
    verify: bool = False,
    progress: bool = False,
) -> WalksResult:
    """Walk from given vertices along random edges.

    Returns
    -------
    WalksResult
        The walks, each a list of vertices that begins with its source; it is shorter than asked for only if
        it comes to a vertex without edges out.

    Raises
    ------
    NotFoundError
        If a source is not in the view.
    ValueError
        If the walks may have more than 2^32 - 1 vertices in all.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "c"], ["b", "c", "a"])
    >>> list(eg.random_walks(db.snapshot(), ["a", "b"], 3))
    [['a', 'b', 'c', 'a'], ['b', 'c', 'a', 'b']]
    """
    arguments = {"source": source, "length": length, "walks": walks, "seed": seed}
    return WalksResult(*run("random_walks", view, arguments, verify=verify, progress=progress))


@registered
def node2vec_walks(
    view: Snapshot,
    source: Key | Iterable[Key],
    length: int = 80,
    walks: int = 10,
    p: float = 1.0,
    q: float = 1.0,
    *,
    weight: str | None = "weight",
    seed: int = 0,
    verify: bool = False,
    progress: bool = False,
) -> WalksResult:
    """Walk from given vertices as node2vec does: at random, near or far as ``p`` and ``q`` say.

    Returns
    -------
    WalksResult
        The walks, each a list of vertices that begins with its source; it is shorter than asked for only if
        it comes to a vertex without edges out.

    Raises
    ------
    NotFoundError
        If a source is not in the view.
    ValueError
        If the walks may have more than 2^32 - 1 vertices in all, ``p`` or ``q`` is not above 0, no edge has
        the property, or a weight is negative or no number.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "c"], ["b", "c", "a"])
    >>> list(eg.node2vec_walks(db.snapshot(), "a", 3, 1))
    [['a', 'b', 'c', 'a']]
    """
    arguments = {
        "source": source,
        "length": length,
        "walks": walks,
        "p": p,
        "q": q,
        "weight": weight_of(weight, usual="weight"),
        "seed": seed,
    }
    return WalksResult(*run("node2vec_walks", view, arguments, verify=verify, progress=progress))
