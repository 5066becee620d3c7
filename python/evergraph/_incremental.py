"""Algorithms that follow a database, a window or a stream: they do what a change asks for, not all anew."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

from evergraph import _native
from evergraph._arguments import whole
from evergraph._database import Database
from evergraph._registry import weight_of
from evergraph._results import (
    BfsResult,
    ComponentsResult,
    CoreResult,
    DegreeResult,
    DistanceResult,
    PageRankResult,
)
from evergraph._snapshot import Snapshot
from evergraph._stream import Stream
from evergraph._table import Table
from evergraph._types import Key
from evergraph._window import Window

R = TypeVar("R")
_Build = Callable[["_native.VertexTable | None", "dict[str, bool | int | float]"], R]


class Incremental(Generic[R]):
    """A result that follows a graph: that of the batch algorithm, after every change.

    One that follows a window is brought along whenever the window moves, one that follows a stream by every
    batch that is pulled, from where the stream was, so that `snapshot` is that of the batch. One that follows
    a database goes on when `update` is called. Any number can follow the same window or stream, which works
    out what changed once for all of them.
    """

    __slots__ = ("_build", "_name", "_native", "_window")

    def __init__(
        self, name: str, native: _native.Incremental, window: Window | None, build: _Build[R]
    ) -> None:
        """Wrap a native algorithm; the ``incremental_`` functions do this for you."""
        self._name = name
        self._native = native
        self._window = window
        self._build = build

    def update(self) -> R:
        """Go on to the newest state, and give the result. Costs what the changes affect, and the result.

        A window is moved. A stream is not: its next batch belongs to whoever pulls it.

        Raises
        ------
        ValueError
            If an earlier update has failed, for example at a negative weight: begin anew.
        """
        if self._window is not None:
            self._window.advance()
        else:
            self._native.update()
        return self.result

    @property
    def result(self) -> R:
        """The result on `snapshot`."""
        return self._build(*self._native.result())

    def top(self, count: int = 10) -> Table:
        """Give the rows of `result` with the largest values as a table, the largest first, ties in order.

        Those of `incremental_degrees` are followed from the first call on, as many as were asked for at most,
        at the cost of what changes; others look at every vertex, which costs less than `result`.

        Raises
        ------
        TypeError
            If the algorithm gives vertices no numbers, as that of triangles.
        ValueError
            If ``count`` is negative, or an earlier update has failed.

        Examples
        --------
        >>> import evergraph as eg
        >>> db = eg.open()
        >>> added = db.add_edges(["a", "b"], ["hub", "hub"])
        >>> degrees = eg.incremental_degrees(db)
        >>> list(degrees.top(1).rows())
        [('hub', 2)]
        """
        return Table(self._native.top(whole("count", count)))

    @property
    def snapshot(self) -> Snapshot:
        """The graph that the result is of."""
        return Snapshot(self._native.snapshot)

    def __repr__(self) -> str:
        """Tell the batch algorithm, and the graph that the result is of."""
        return f"Incremental({self._name}, {self.snapshot!r})"


def incremental_bfs(
    stream: Database | Window | Stream,
    source: Key | Iterable[Key],
    *,
    reverse: bool = False,
    depth_limit: int | None = None,
    edge_type: str | None = None,
) -> Incremental[BfsResult]:
    """Follow the hops from the nearest source to every vertex; see `bfs`.

    Parameters
    ----------
    stream : Database, Window or Stream
        What to follow. A stream must be opened with ``stateful=True``.
    source : key, or several
        The vertices to start from. They must be there; while one is deleted it reaches nothing.
    reverse : bool
        Go against the edges of a directed graph.
    depth_limit : int, optional
        Do not visit vertices more hops away than this.
    edge_type : str, optional
        Of a database, the edges to follow; all types if there is one only, which costs the least.

    Returns
    -------
    Incremental
        Its ``result`` is that of `bfs`.

    Raises
    ------
    NotFoundError
        If a source is not there.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> version = db.put_edge("a", "b")
    >>> hops = eg.incremental_bfs(db, "a")
    >>> version = db.put_edge("b", "c")
    >>> hops.update()["c"]
    2
    """
    arguments = {"source": source, "reverse": reverse, "depth_limit": depth_limit}
    return _follow("bfs", stream, arguments, edge_type, BfsResult)


def incremental_sssp(
    stream: Database | Window | Stream,
    source: Key | Iterable[Key],
    weight: str | None = "weight",
    *,
    reverse: bool = False,
    cutoff: float | None = None,
    edge_type: str | None = None,
) -> Incremental[DistanceResult]:
    """Follow the least total weight of a path from the nearest source to every vertex; see `sssp`.

    Parameters
    ----------
    stream : Database, Window or Stream
        What to follow. A stream must be opened with ``stateful=True``.
    source : key, or several
        The vertices to start from. They must be there; while one is deleted it reaches nothing.
    weight : str, optional
        The property of edges that is their weight, 1 where an edge has none; ``None``: 1 for all.
    reverse : bool
        Go against the edges of a directed graph.
    cutoff : float, optional
        Do not go farther than this.
    edge_type : str, optional
        Of a database, the edges to follow; all types if there is one only, which costs the least.

    Returns
    -------
    Incremental
        Its ``result`` is that of `sssp`.

    Raises
    ------
    NotFoundError
        If a source is not there.
    TypeError
        If ``stream`` is none of these, or has its edge types and ``edge_type`` is given.
    ValueError
        If a stream is not ``stateful``, no edge has the property, or a weight is negative or no number; an
        update says so of what came since.
    SchemaError
        If there is no such edge type.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "a"], ["b", "c"], weight=[1.0, 5.0])
    >>> distances = eg.incremental_sssp(db, "a")
    >>> version = db.put_edge("b", "c", weight=1.5)
    >>> distances.update()["c"]
    2.5
    """
    known = weight_of(weight, usual="weight")
    arguments = {"source": source, "weight": known, "reverse": reverse, "cutoff": cutoff}
    return _follow("sssp", stream, arguments, edge_type, DistanceResult)


def incremental_components(
    stream: Database | Window | Stream, *, edge_type: str | None = None
) -> Incremental[ComponentsResult]:
    """Follow the connected components, while edges come and go; see `connected_components`.

    Parameters
    ----------
    stream : Database, Window or Stream
        What to follow. A stream must be opened with ``stateful=True``.
    edge_type : str, optional
        Of a database, the edges to follow; all types if there is one only, which costs the least.

    Returns
    -------
    Incremental
        Its ``result`` is that of `connected_components`.

    Raises
    ------
    TypeError
        If ``stream`` is none of these, or has its edge types and ``edge_type`` is given.
    ValueError
        If a stream is not ``stateful``.
    SchemaError
        If there is no such edge type.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> version = db.put_edge("a", "b")
    >>> components = eg.incremental_components(db)
    >>> version = db.put_edge("c", "d")
    >>> components.update().count
    2
    """
    return _follow("connected_components", stream, {}, edge_type, ComponentsResult)


def incremental_pagerank(
    stream: Database | Window | Stream,
    alpha: float = 0.85,
    tol: float = 1e-6,
    *,
    edge_type: str | None = None,
) -> Incremental[PageRankResult]:
    """Follow the share of time that a random surfer spends at each vertex; see `pagerank`.

    Scores miss those of `pagerank` by no more than both may miss the truth by their tolerance.

    Parameters
    ----------
    stream : Database, Window or Stream
        What to follow. A stream must be opened with ``stateful=True``.
    alpha : float
        The chance to follow an edge rather than jump.
    tol : float
        How far a score may be from the truth, per vertex on average.
    edge_type : str, optional
        Of a database, the edges to follow; all types if there is one only, which costs the least.

    Returns
    -------
    Incremental
        Its ``result`` is that of `pagerank`.

    Raises
    ------
    TypeError
        If ``stream`` is none of these, or has its edge types and ``edge_type`` is given.
    ValueError
        If an argument is out of range, or a stream is not ``stateful``.
    SchemaError
        If there is no such edge type.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b"], ["b", "a"])
    >>> ranks = eg.incremental_pagerank(db)
    >>> added = db.add_edges(["c", "d"], ["a", "a"])
    >>> [vertex for vertex, score in ranks.update().top(1).rows()]
    ['a']
    """
    arguments = {"alpha": alpha, "tol": tol}
    return _follow("pagerank", stream, arguments, edge_type, PageRankResult)


def incremental_triangles(
    stream: Database | Window | Stream, *, edge_type: str | None = None
) -> Incremental[int]:
    """Follow the number of triangles; see `triangle_count`.

    Parameters
    ----------
    stream : Database, Window or Stream
        What to follow. A stream must be opened with ``stateful=True``.
    edge_type : str, optional
        Of a database, the edges to follow; all types if there is one only, which costs the least.

    Returns
    -------
    Incremental
        Its ``result`` is that of `triangle_count`, a number.

    Raises
    ------
    TypeError
        If ``stream`` is none of these, or has its edge types and ``edge_type`` is given.
    ValueError
        If a stream is not ``stateful``.
    SchemaError
        If there is no such edge type.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2], [2, 3])
    >>> triangles = eg.incremental_triangles(db)
    >>> version = db.put_edge(3, 1)
    >>> triangles.update()
    1
    """
    return _follow("triangle_count", stream, {}, edge_type, _triangles)


def incremental_degrees(
    stream: Database | Window | Stream, *, edge_type: str | None = None
) -> Incremental[DegreeResult]:
    """Follow the degrees of all vertices; see `degree_statistics`.

    `Incremental.top` follows the vertices of the largest degrees.

    Parameters
    ----------
    stream : Database, Window or Stream
        What to follow. A stream must be opened with ``stateful=True``.
    edge_type : str, optional
        Of a database, the edges to follow; all types if there is one only, which costs the least.

    Returns
    -------
    Incremental
        Its ``result`` is that of `degree_statistics`.

    Raises
    ------
    TypeError
        If ``stream`` is none of these, or has its edge types and ``edge_type`` is given.
    ValueError
        If a stream is not ``stateful``.
    SchemaError
        If there is no such edge type.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> stream = db.stream(stateful=True, timeout=0)
    >>> degrees = eg.incremental_degrees(stream)
    >>> added = db.add_edges([1, 2, 3], [2, 3, 2])
    >>> for batch in stream:
    ...     print(batch.version, degrees.result[2], list(degrees.top(2).rows()))
    1 3 [(2, 3), (3, 2)]
    """
    return _follow("degree_statistics", stream, {}, edge_type, DegreeResult)


def incremental_cores(
    stream: Database | Window | Stream, *, edge_type: str | None = None
) -> Incremental[CoreResult]:
    """Follow the core number of every vertex; see `core_number`.

    Parameters
    ----------
    stream : Database, Window or Stream
        What to follow. A stream must be opened with ``stateful=True``.
    edge_type : str, optional
        Of a database, the edges to follow; all types if there is one only, which costs the least.

    Returns
    -------
    Incremental
        Its ``result`` is that of `core_number`.

    Raises
    ------
    TypeError
        If ``stream`` is none of these, or has its edge types and ``edge_type`` is given.
    ValueError
        If a stream is not ``stateful``.
    SchemaError
        If there is no such edge type.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2], [2, 3])
    >>> cores = eg.incremental_cores(db)
    >>> version = db.put_edge(3, 1)
    >>> dict(cores.update())
    {1: 2, 2: 2, 3: 2}
    """
    return _follow("core_number", stream, {}, edge_type, CoreResult)


def _triangles(_: _native.VertexTable | None, values: Mapping[str, bool | int | float]) -> int:
    return int(values["triangles"])


def _follow(
    name: str,
    followed: Database | Window | Stream,
    arguments: Mapping[str, object],
    edge_type: str | None,
    build: _Build[R],
) -> Incremental[R]:
    if isinstance(followed, Window | Stream):
        if edge_type is not None:
            message = "a window or a stream has its edge types: leave edge_type out"
            raise TypeError(message)
        window = followed if isinstance(followed, Window) else None
        return Incremental(name, followed._native.follow(name, dict(arguments)), window, build)
    if isinstance(followed, Database):
        return Incremental(name, followed._native.follow(edge_type, name, dict(arguments)), None, build)
    message = f"an algorithm follows a database, a window or a stream, not {type(followed).__name__}"
    raise TypeError(message)
