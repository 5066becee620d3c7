"""Algorithms that weigh vertices: who matters how much."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

from evergraph._registry import registered, run, weight_of
from evergraph._results import (
    BetweennessResult,
    CentralityResult,
    DegreeResult,
    HitsResult,
    PageRankResult,
    VertexResult,
)
from evergraph._snapshot import Snapshot
from evergraph._types import Key, Weights


@registered
def pagerank(
    view: Snapshot,
    alpha: float = 0.85,
    personalization: Weights | None = None,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Weights | None = None,
    weight: str | None = None,
    dangling: Weights | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
) -> PageRankResult:
    """Find the share of time that a random surfer spends at each vertex.

    Parallel edges count each. A personalization gives weights by vertex, brought to sum 1; vertices that are
    not named get none. So do ``nstart`` and ``dangling``.

    Returns
    -------
    PageRankResult
        From vertex to score, as ``networkx.pagerank`` has it; all add up to 1. It has ``iterations``,
        ``error`` and ``converged``; reaching ``max_iter`` is no error, ``converged`` is then false.

    Raises
    ------
    ValueError
        If an argument is out of range, no edge has the property, or a weight is negative or no number.
    NotFoundError
        If a vertex that is named is not in the view.

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
    arguments = {
        "alpha": alpha,
        "personalization": personalization,
        "max_iter": max_iter,
        "tol": tol,
        "nstart": nstart,
        "weight": weight_of(weight, usual=None),
        "dangling": dangling,
    }
    return PageRankResult(*run("pagerank", view, arguments, verify=verify, progress=progress))


@registered
def eigenvector_centrality(
    view: Snapshot,
    max_iter: int = 100,
    tol: float = 1e-6,
    nstart: Weights | None = None,
    weight: str | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
) -> CentralityResult:
    """Find how much those that point to each vertex matter together.

    Parallel edges count each.

    Returns
    -------
    CentralityResult
        From vertex to score, as ``networkx.eigenvector_centrality`` has it; the squares add up to 1. It has
        ``iterations``, ``error`` and ``converged``; reaching ``max_iter`` is no error, ``converged`` is then
        false.

    Raises
    ------
    ValueError
        If an argument is out of range, no edge has the property, or a weight is negative or no number.
    NotFoundError
        If a vertex of ``nstart`` is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> db.create_edge_type("edge", symmetric=True)
    >>> added = db.add_edges(["a", "b"], ["b", "c"])
    >>> scores = eg.eigenvector_centrality(db.snapshot())
    >>> scores.converged, round(scores["b"], 3)
    (True, 0.707)
    """
    arguments = {
        "max_iter": max_iter,
        "tol": tol,
        "nstart": nstart,
        "weight": weight_of(weight, usual=None),
    }
    return CentralityResult(*run("eigenvector_centrality", view, arguments, verify=verify, progress=progress))


@registered
def katz_centrality(
    view: Snapshot,
    alpha: float = 0.1,
    beta: float | Weights = 1.0,
    max_iter: int = 1000,
    tol: float = 1e-6,
    nstart: Weights | None = None,
    normalized: bool = True,
    weight: str | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
) -> CentralityResult:
    """Count the walks that lead to each vertex, longer ones less.

    Parallel edges count each.

    Returns
    -------
    CentralityResult
        From vertex to score, as ``networkx.katz_centrality`` has it. It has ``iterations``, ``error`` and
        ``converged``; reaching ``max_iter`` is no error, ``converged`` is then false.

    Raises
    ------
    ValueError
        If an argument is out of range, ``alpha`` is so large that scores grow without a limit, no edge has
        the property, or a weight is no number.
    NotFoundError
        If a vertex of ``beta`` or ``nstart`` is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b"], ["c", "c"])
    >>> dict(eg.katz_centrality(db.snapshot(), normalized=False))
    {'a': 1.0, 'b': 1.0, 'c': 1.2}
    """
    arguments = {
        "alpha": alpha,
        "beta": beta,
        "max_iter": max_iter,
        "tol": tol,
        "nstart": nstart,
        "normalized": normalized,
        "weight": weight_of(weight, usual=None),
    }
    return CentralityResult(*run("katz_centrality", view, arguments, verify=verify, progress=progress))


@registered
def hits(
    view: Snapshot,
    max_iter: int = 100,
    tol: float = 1e-8,
    nstart: Weights | None = None,
    normalized: bool = True,
    *,
    weight: str | None = "weight",
    verify: bool = False,
    progress: bool = False,
) -> HitsResult:
    """Find how well each vertex points to others, and how well it is pointed to.

    Parallel edges count each.

    Returns
    -------
    HitsResult
        The pair ``(hubs, authorities)``, each from vertex to score, as ``networkx.hits`` has them. Each has
        ``iterations``, ``error`` and ``converged``; reaching ``max_iter`` is no error, ``converged`` is then
        false. Its table has both.

    Raises
    ------
    ValueError
        If an argument is out of range, no edge has the property, or a weight is negative or no number.
    NotFoundError
        If a vertex of ``nstart`` is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "a"], ["b", "c"])
    >>> hubs, authorities = eg.hits(db.snapshot())
    >>> hubs["a"], authorities["b"]
    (1.0, 0.5)
    """
    arguments = {
        "max_iter": max_iter,
        "tol": tol,
        "nstart": nstart,
        "normalized": normalized,
        "weight": weight_of(weight, usual="weight"),
    }
    return HitsResult.of(*run("hits", view, arguments, verify=verify, progress=progress))


@registered
def betweenness_centrality(
    view: Snapshot,
    k: int | None = None,
    normalized: bool = True,
    weight: str | None = None,
    endpoints: bool = False,
    seed: int = 0,
    *,
    sources: Iterable[Key] | None = None,
    verify: bool = False,
    progress: bool = False,
) -> BetweennessResult:
    """Find the share of shortest paths that lead through each vertex.

    Paths are shortest by hops, or by weight; parallel edges count once, by the lightest. Exact from all
    vertices, which takes long on large graphs; an estimate from ``k`` of them.

    Returns
    -------
    BetweennessResult
        From vertex to betweenness, as ``networkx.betweenness_centrality`` has it. A single source, without
        ``endpoints``, is on no path of others, and is left out.

    Raises
    ------
    NotFoundError
        If a source is not in the view.
    ValueError
        If ``k`` is 0 or there are fewer vertices, no edge has the property, or a weight is not above 0.

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
        "weight": weight_of(weight, usual=None),
        "endpoints": endpoints,
        "seed": seed,
        "sources": sources,
    }
    return BetweennessResult(
        *run("betweenness_centrality", view, arguments, verify=verify, progress=progress)
    )


@overload
def closeness_centrality(  # type: ignore[overload-overlap]
    view: Snapshot,
    u: Key,
    distance: str | None = None,
    wf_improved: bool = True,
    *,
    verify: bool = False,
    progress: bool = False,
) -> float: ...
@overload
def closeness_centrality(
    view: Snapshot,
    u: Iterable[Key] | None = None,
    distance: str | None = None,
    wf_improved: bool = True,
    *,
    verify: bool = False,
    progress: bool = False,
) -> VertexResult[float]: ...
@registered
def closeness_centrality(
    view: Snapshot,
    u: Key | Iterable[Key] | None = None,
    distance: str | None = None,
    wf_improved: bool = True,
    *,
    verify: bool = False,
    progress: bool = False,
) -> VertexResult[float] | float:
    """Find how near each vertex is to those that reach it: the reciprocal of the mean distance.

    Distances are in hops, or by the lengths of edges if their property is named.

    Returns
    -------
    VertexResult or float
        From vertex to closeness, of all vertices or of those in ``u``; the closeness of a single ``u``. As
        ``networkx.closeness_centrality`` has it.

    Raises
    ------
    NotFoundError
        If ``u`` is not in the view.
    ValueError
        If no edge has the property, or a length is negative or no number.

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
    arguments = {"u": u, "distance": distance, "wf_improved": wf_improved}
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
        From vertex to degree: edges in both directions together, parallel ones each, those of symmetric types
        once, as ``graph.degree`` of NetworkX has it but for loops, which count as one edge out and one in, of
        symmetric types as one. It has ``mean``, ``smallest``, ``median``, ``largest``, ``isolated`` and
        ``self_loops``.

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
