"""The algorithms: arguments and results as NetworkX has them, run in parallel on a snapshot.

All of them let other threads run, and Ctrl-C ends them. ``verify=True`` checks the result with a slow and
simple second method; ``progress=True`` shows a bar on a terminal or in a notebook.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evergraph import _native
from evergraph._progress import bar
from evergraph._results import BfsResult, ComponentsResult, PageRankResult
from evergraph._snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evergraph._types import Key


def _run(
    name: str, view: Snapshot, arguments: Mapping[str, object], *, verify: bool, progress: bool
) -> tuple[_native.VertexTable | None, dict[str, bool | int | float]]:
    if not isinstance(view, Snapshot):
        message = f"{name} runs on a snapshot (db.snapshot()), not on {type(view).__name__}"
        raise TypeError(message)
    with bar(name, wanted=progress) as report:
        return _native.run_algorithm(view._native, name, arguments, verify, report)


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

    Parameters
    ----------
    view : Snapshot
        The graph.
    source : key, or several
        Where to start.
    reverse : bool
        Go against the edges.
    depth_limit : int, optional
        Do not go further than this.
    verify : bool
        Check the result with a slow verifier.
    progress : bool
        Show a bar.

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

    Notes
    -----
    O(V + E), direction-optimizing: Beamer, Asanovic, Patterson, "Direction-Optimizing Breadth-First Search",
    SC 2012.

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
    return BfsResult(*_run("bfs", view, arguments, verify=verify, progress=progress))


def pagerank(
    view: Snapshot,
    alpha: float = 0.85,
    personalization: Mapping[Key, float] | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    *,
    verify: bool = False,
    progress: bool = False,
) -> PageRankResult:
    """Find the share of time that a random surfer spends at each vertex.

    Parameters
    ----------
    view : Snapshot
        The graph. Parallel edges count each.
    alpha : float
        The chance to follow an edge rather than jump, 0 to 1.
    personalization : dict, optional
        Where jumps, and moves from vertices without out-edges, go: weights by vertex, brought to sum 1;
        vertices that are not named get none. By default all vertices alike.
    max_iter : int
        The most iterations. Reaching it is no error: ``converged`` is then false.
    tol : float
        Converged when scores change by less than this per vertex on average.
    verify : bool
        Check the result with a slow verifier.
    progress : bool
        Show a bar.

    Returns
    -------
    PageRankResult
        From vertex to score, as ``networkx.pagerank`` has it; all add up to 1. It has ``iterations``,
        ``error`` and ``converged``.

    Raises
    ------
    ValueError
        If an argument is out of range.
    NotFoundError
        If a vertex of the personalization is not in the view.

    Notes
    -----
    O(V + E) per iteration: Page, Brin, Motwani, Winograd, "The PageRank Citation Ranking", Stanford 1999.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "c"], ["c", "c", "a"])
    >>> ranks = eg.pagerank(db.snapshot())
    >>> ranks.converged, round(ranks["b"], 3)
    (True, 0.05)
    >>> [vertex for vertex, score in ranks.top(2).rows()]
    ['c', 'a']
    """
    arguments = {"alpha": alpha, "personalization": personalization, "max_iter": max_iter, "tol": tol}
    return PageRankResult(*_run("pagerank", view, arguments, verify=verify, progress=progress))


def connected_components(view: Snapshot, *, verify: bool = False, progress: bool = False) -> ComponentsResult:
    """Find which vertices hang together, whatever the direction of edges: the weak components.

    Parameters
    ----------
    view : Snapshot
        The graph.
    verify : bool
        Check the result with a slow verifier.
    progress : bool
        Show a bar.

    Returns
    -------
    ComponentsResult
        From vertex to its component, named by the first of its vertices, in the order of `Snapshot.vertices`.
        It has ``count``, ``largest`` and ``sizes()``.

    Notes
    -----
    O(V + E): Sutton, Ben-Nun, Barak, "Optimizing Parallel Graph Connectivity Computation via Subgraph
    Sampling", IPDPS 2018.

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
    return ComponentsResult(*_run("connected_components", view, {}, verify=verify, progress=progress))


def triangle_count(view: Snapshot, *, verify: bool = False, progress: bool = False) -> int:
    """Count the triangles: sets of three vertices that are all neighbors.

    Directions, parallel edges and loops do not matter.

    Parameters
    ----------
    view : Snapshot
        The graph.
    verify : bool
        Check the result with a slow verifier.
    progress : bool
        Show a bar.

    Returns
    -------
    int
        How many there are; ``sum(networkx.triangles(graph).values()) // 3`` of the undirected graph.

    Notes
    -----
    O(E sqrt(E)): Schank, Wagner, "Finding, Counting and Listing All Triangles in Large Graphs", WEA 2005.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2, 3, 3], [2, 3, 1, 4])
    >>> eg.triangle_count(db.snapshot())
    1
    """
    _, values = _run("triangle_count", view, {}, verify=verify, progress=progress)
    return int(values["triangles"])
