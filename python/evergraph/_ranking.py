"""Algorithms that weigh vertices: who matters how much."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, overload

from evergraph._registry import registered, run
from evergraph._results import BetweennessResult, DegreeResult, PageRankResult, VertexResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evergraph._snapshot import Snapshot
    from evergraph._types import Key


@registered
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

    Parallel edges count each. A personalization gives weights by vertex, brought to sum 1; vertices that are
    not named get none.

    Returns
    -------
    PageRankResult
        From vertex to score, as ``networkx.pagerank`` has it; all add up to 1. It has ``iterations``,
        ``error`` and ``converged``; reaching ``max_iter`` is no error, ``converged`` is then false.

    Raises
    ------
    ValueError
        If an argument is out of range.
    NotFoundError
        If a vertex of the personalization is not in the view.

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
    return PageRankResult(*run("pagerank", view, arguments, verify=verify, progress=progress))


@registered
def betweenness_centrality(
    view: Snapshot,
    k: int | None = None,
    normalized: bool = True,
    *,
    endpoints: bool = False,
    seed: int = 0,
    sources: Iterable[Key] | None = None,
    verify: bool = False,
    progress: bool = False,
) -> BetweennessResult:
    """Find the share of shortest paths that lead through each vertex.

    Paths are shortest by hops, and parallel edges count once. Exact from all vertices, which takes long on
    large graphs; an estimate from ``k`` of them.

    Returns
    -------
    BetweennessResult
        From vertex to betweenness, as ``networkx.betweenness_centrality`` has it.

    Raises
    ------
    NotFoundError
        If a source is not in the view.
    ValueError
        If there are fewer than ``k`` vertices.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> db.create_edge_type("edge", symmetric=True)
    >>> added = db.add_edges(["a", "b", "c"], ["b", "c", "d"])
    >>> round(eg.betweenness_centrality(db.snapshot())["b"], 3)
    0.667
    """
    arguments = {
        "k": k,
        "normalized": normalized,
        "endpoints": endpoints,
        "seed": seed,
        "sources": sources,
    }
    return BetweennessResult(
        *run("betweenness_centrality", view, arguments, verify=verify, progress=progress)
    )


@overload
def closeness_centrality(  # type: ignore[overload-overlap]
    view: Snapshot, u: Key, *, wf_improved: bool = True, verify: bool = False, progress: bool = False
) -> float: ...
@overload
def closeness_centrality(
    view: Snapshot,
    u: Iterable[Key] | None = None,
    *,
    wf_improved: bool = True,
    verify: bool = False,
    progress: bool = False,
) -> VertexResult[float]: ...
@registered
def closeness_centrality(
    view: Snapshot,
    u: Key | Iterable[Key] | None = None,
    *,
    wf_improved: bool = True,
    verify: bool = False,
    progress: bool = False,
) -> VertexResult[float] | float:
    """Find how near each vertex is to those that reach it: the reciprocal of the mean distance.

    Distances are in hops.

    Returns
    -------
    VertexResult or float
        From vertex to closeness, of all vertices or of several ``u``; the closeness of a single ``u``. As
        ``networkx.closeness_centrality`` has it.

    Raises
    ------
    NotFoundError
        If ``u`` is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> db.create_edge_type("edge", symmetric=True)
    >>> added = db.add_edges(["a", "b", "c"], ["b", "c", "d"])
    >>> dict(eg.closeness_centrality(db.snapshot(), ["a", "b"]))
    {'a': 0.5, 'b': 0.75}
    >>> eg.closeness_centrality(db.snapshot(), "b")
    0.75
    """
    arguments = {"u": u, "wf_improved": wf_improved}
    found = VertexResult[float](
        *run("closeness_centrality", view, arguments, verify=verify, progress=progress)
    )
    if u is None or (isinstance(u, Iterable) and not isinstance(u, str)):
        return found
    return found[u]


@registered
def degree_statistics(view: Snapshot, *, verify: bool = False, progress: bool = False) -> DegreeResult:
    """Count the edges of each vertex, and tell what the degrees are like as a whole.

    Returns
    -------
    DegreeResult
        From vertex to degree: edges in both directions together, parallel ones each, as ``graph.degree`` of
        NetworkX has it but for loops, which count as one edge out and one in, of symmetric types as one. It
        has ``mean``, ``smallest``, ``median``, ``largest``, ``isolated`` and ``self_loops``.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "c"], ["b", "c", "d"])
    >>> degrees = eg.degree_statistics(db.snapshot())
    >>> degrees["b"], degrees.mean, degrees.largest
    (2, 1.5, 2)
    """
    return DegreeResult(*run("degree_statistics", view, {}, verify=verify, progress=progress))
