"""Algorithms of one's own, in Ligra's style: functions over numpy arrays on the edges of a frontier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any

from evergraph import _native, _text
from evergraph._errors import NotFoundError
from evergraph._partners import numpy
from evergraph._progress import bar
from evergraph._snapshot import Snapshot
from evergraph._types import Key

_EDGES_PER_BATCH = 1 << 20


class VertexSubset:
    """A set of vertices of one snapshot: what `edge_map` goes out from, and what it gives.

    Vertices are rows: row ``i`` is the vertex in row ``i`` of `Snapshot.vertices`, so an array of length
    ``view.num_vertices`` has a place for each. ``len``, ``in``, iteration, ``==`` and the operators ``|``,
    ``&`` and ``-`` are those of a set of keys.

    Parameters
    ----------
    view : Snapshot
        The graph.
    vertices : key, or several, optional
        The members; all vertices by default.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "b", "c"], ["b", "c", "d"])
    >>> some = eg.VertexSubset(db.snapshot(), ["c", "a"])
    >>> some, some.rows, "b" in some
    (VertexSubset({'a', 'c'}), array([0, 2]), False)
    >>> eg.VertexSubset(db.snapshot()) - some
    VertexSubset({'b', 'd'})
    """

    __slots__ = ("_frontiers", "_rows", "_view")

    def __init__(self, view: Snapshot, vertices: Key | Iterable[Key] | None = None) -> None:
        """Look up the vertices."""
        import numpy

        if not isinstance(view, Snapshot):
            message = f"a subset is one of a snapshot (db.snapshot()), not of {type(view).__name__}"
            raise TypeError(message)
        # A named view sees the newest version; its rows are those of one.
        self._view = view if type(view) is Snapshot else Snapshot(view._native)
        self._frontiers = _native.Frontiers(self._view._native)
        if vertices is None:
            self._rows = numpy.arange(self._view.num_vertices)
            self._rows.setflags(write=False)
            return
        # A string, or bytes, is no list of its parts.
        given: Any = vertices
        if isinstance(given, str | bytes | bytearray) or not isinstance(given, Iterable):
            given = [given]
        self._rows = numpy.unique(numpy.array([self._frontiers.row(key) for key in given], dtype="int64"))
        self._rows.setflags(write=False)

    @classmethod
    def from_rows(cls, view: Snapshot, rows: Iterable[int] | numpy.ndarray[Any, Any]) -> VertexSubset:
        """Make a subset of the vertices in these rows; repeats count once.

        Raises
        ------
        ValueError
            If a row is not one of a vertex.
        TypeError
            If a row is not a whole number.
        """
        return cls(view, [])._with(rows)

    @classmethod
    def from_mask(cls, view: Snapshot, mask: numpy.ndarray[Any, Any]) -> VertexSubset:
        """Make a subset of the vertices for which an array of booleans, one for each vertex, is true."""
        import numpy

        mask, none = numpy.asarray(mask), cls(view, [])
        vertices = none._view.num_vertices
        if mask.dtype != bool or mask.shape != (vertices,):
            message = f"a mask is an array of {vertices} booleans, not of {mask.shape} {mask.dtype}"
            raise ValueError(message)
        return none._of(numpy.flatnonzero(mask))

    @property
    def view(self) -> Snapshot:
        """The graph."""
        return self._view

    @property
    def rows(self) -> numpy.ndarray[Any, Any]:
        """The rows of the members, int64, ascending; they cannot be written to."""
        return self._rows

    def mask(self) -> numpy.ndarray[Any, Any]:
        """Give an array of booleans, one for each vertex of the view: whether it is a member."""
        import numpy

        mask = numpy.zeros(self._view.num_vertices, dtype=bool)
        mask[self._rows] = True
        return mask

    def keys(self) -> list[Key]:
        """Give the keys of the members."""
        return self._frontiers.keys(self._rows)

    def __len__(self) -> int:
        """Count the members."""
        return len(self._rows)

    def __iter__(self) -> Iterator[Key]:
        """Go through the keys of the members, in the order of `Snapshot.vertices`."""
        return iter(self.keys())

    def __contains__(self, key: Key) -> bool:
        """Tell whether the vertex is a member."""
        import numpy

        try:
            row = self._frontiers.row(key)
        # What no vertex can be called is no member.
        except (NotFoundError, TypeError, ValueError):
            return False
        at = int(numpy.searchsorted(self._rows, row))
        return at < len(self._rows) and bool(self._rows[at] == row)

    def __eq__(self, other: object) -> bool:
        """Tell whether another subset of the same version has the same members."""
        import numpy

        if not isinstance(other, VertexSubset):
            return NotImplemented
        return self._has_rows_of(other) and numpy.array_equal(self._rows, other._rows)

    __hash__ = None  # type: ignore[assignment]

    def __or__(self, other: VertexSubset) -> VertexSubset:
        """Give the members of either."""
        import numpy

        return self._of(numpy.union1d(self._rows, self._same(other)))

    def __and__(self, other: VertexSubset) -> VertexSubset:
        """Give the members of both."""
        import numpy

        return self._of(numpy.intersect1d(self._rows, self._same(other), assume_unique=True))

    def __sub__(self, other: VertexSubset) -> VertexSubset:
        """Give the members of this one that are not members of the other."""
        import numpy

        return self._of(numpy.setdiff1d(self._rows, self._same(other), assume_unique=True))

    def __repr__(self) -> str:
        """Show the first and last members."""
        if not len(self):
            return "VertexSubset()"
        places = _text.shown(len(self))
        shown = iter(self._frontiers.keys(self._rows[[at for at in places if at is not None]]))
        return (
            f"VertexSubset({{{', '.join(_text.GAP if at is None else repr(next(shown)) for at in places)}}})"
        )

    def _has_rows_of(self, other: VertexSubset) -> bool:
        """Tell whether a row is the same vertex here and there: edge types may differ, vertices may not."""
        return self._view is other._view or self._frontiers.has_rows_of(other._frontiers)

    def _same(self, other: VertexSubset) -> numpy.ndarray[Any, Any]:
        """Give the rows of another subset, of the same vertices."""
        if not isinstance(other, VertexSubset):
            message = f"a VertexSubset is wanted, not {type(other).__name__}"
            raise TypeError(message)
        if not self._has_rows_of(other):
            message = (
                "the subsets are of different versions, stores, windows, or views with other vertices; "
                "make both from one snapshot"
            )
            raise ValueError(message)
        return other._rows

    def _of(self, rows: numpy.ndarray[Any, Any]) -> VertexSubset:
        """Make a subset of the same view from rows that ascend."""
        subset = object.__new__(VertexSubset)
        subset._view, subset._frontiers, subset._rows = self._view, self._frontiers, rows
        rows.setflags(write=False)
        return subset

    def _with(self, rows: Iterable[int] | numpy.ndarray[Any, Any]) -> VertexSubset:
        """Make a subset of the same view from any rows."""
        import numpy

        given = numpy.asarray(rows if isinstance(rows, numpy.ndarray) else list(rows))
        if given.size and given.dtype.kind not in "iu":
            message = f"rows are whole numbers, not {given.dtype}; VertexSubset.from_mask takes booleans"
            raise TypeError(message)
        subset = self._of(numpy.unique(given.astype("int64")))
        if len(subset) and not 0 <= subset._rows[0] <= subset._rows[-1] < self._view.num_vertices:
            message = f"rows are from 0 to {self._view.num_vertices - 1}"
            raise ValueError(message)
        return subset


def edge_map(
    view: Snapshot,
    frontier: VertexSubset | Key | Iterable[Key],
    update: Callable[..., numpy.ndarray[Any, Any] | None],
    cond: Callable[[numpy.ndarray[Any, Any]], numpy.ndarray[Any, Any]] | None = None,
    *,
    reverse: bool = False,
    weight: str | None = None,
    progress: bool = False,
) -> VertexSubset:
    """Apply a function to the edges that leave a set of vertices, and give the next set.

    The edges come as arrays of rows, a million or so at a time: ``update(src, dst)`` is called for as many
    batches as there are, and works on arrays of its own, with a place for each vertex. The same ``dst`` may
    come several times in a batch, so functions such as ``numpy.minimum.at`` and ``numpy.add.at`` are right.

    Parameters
    ----------
    view : Snapshot
        The graph.
    frontier : VertexSubset, key, or several keys
        The vertices to go out from. A subset may be one of other edge types of the version: the edges are
        those of ``view``.
    update : function
        Called as ``update(src, dst)``, or ``update(src, dst, weight)`` if a weight is named, with arrays of
        equal length. It gives an array of booleans, which of the ``dst`` are in the next set, or ``None`` for
        all.
    cond : function, optional
        Called as ``cond(dst)`` before; edges for which it gives false are left out.
    reverse : bool
        Go against the edges.
    weight : str, optional
        The property of edges that is their weight, 1 where an edge has none.
    progress : bool
        Show a bar, on a terminal or in a notebook.

    Returns
    -------
    VertexSubset
        The vertices for which ``update`` gave true, each once.

    Raises
    ------
    NotFoundError
        If a vertex of the frontier is not in the view.
    ValueError
        If no edge has the property, a weight is infinite or not a number, a function gives something else
        than a boolean for each edge, or the frontier is of another version, or of a view with other
        vertices.

    Examples
    --------
    Breadth-first search:

    >>> import evergraph as eg, numpy as np
    >>> db = eg.open()
    >>> added = db.add_edges(["a", "a", "b", "c"], ["b", "c", "d", "d"])
    >>> view = db.snapshot()
    >>> hops = np.full(view.num_vertices, -1)
    >>> frontier = eg.VertexSubset(view, "a")
    >>> level = 0
    >>> while frontier:
    ...     hops[frontier.rows] = level
    ...     level += 1
    ...     frontier = eg.edge_map(
    ...         view, frontier, update=lambda src, dst: None, cond=lambda dst: hops[dst] < 0
    ...     )
    >>> dict(zip(view, hops.tolist()))
    {'a': 0, 'b': 1, 'c': 1, 'd': 2}
    """
    import numpy

    members = _members(view, frontier)
    rows = numpy.ascontiguousarray(members._rows)
    cuts = members._frontiers.batches(rows, reverse, _EDGES_PER_BATCH)
    reached = numpy.zeros(members._view.num_vertices, dtype=bool)
    with bar("edge_map", wanted=progress) as report:
        for begin, end in pairwise(cuts):
            src, dst, weights = members._frontiers.edges(rows[begin:end], reverse, weight)
            if cond is not None:
                wanted = _mask(cond(dst), dst, "cond")
                src, dst = src[wanted], dst[wanted]
                weights = None if weights is None else weights[wanted]
            given = update(src, dst) if weights is None else update(src, dst, weights)
            reached[dst if given is None else dst[_mask(given, dst, "update")]] = True
            if report is not None:
                report(end, len(rows))
    return members._of(numpy.flatnonzero(reached))


def vertex_map(
    subset: VertexSubset, function: Callable[[numpy.ndarray[Any, Any]], numpy.ndarray[Any, Any] | None]
) -> VertexSubset:
    """Apply a function to the members of a set of vertices, and give those that it keeps.

    Parameters
    ----------
    subset : VertexSubset
        The vertices.
    function : function
        Called as ``function(rows)`` with the rows of the members. It gives an array of booleans, which of
        them to keep, or ``None`` for all.

    Returns
    -------
    VertexSubset
        The members that were kept.

    Raises
    ------
    ValueError
        If the function gives something else than a boolean for each member.

    Examples
    --------
    >>> import evergraph as eg, numpy as np
    >>> db = eg.open()
    >>> added = db.add_edges([1, 1, 2], [2, 3, 3])
    >>> degrees = np.diff(db.snapshot().to_csr().indptr)
    >>> eg.vertex_map(eg.VertexSubset(db.snapshot()), lambda rows: degrees[rows] > 0)
    VertexSubset({1, 2})
    """
    if not isinstance(subset, VertexSubset):
        message = f"vertex_map goes over a VertexSubset, not {type(subset).__name__}"
        raise TypeError(message)
    given = function(subset.rows)
    return subset if given is None else subset._of(subset._rows[_mask(given, subset._rows, "function")])


def _members(view: Snapshot, frontier: VertexSubset | Key | Iterable[Key]) -> VertexSubset:
    """Give a frontier as a subset of the view whose edges are asked for."""
    if not isinstance(frontier, VertexSubset):
        return VertexSubset(view, frontier)
    if frontier._view is view:
        return frontier
    members = VertexSubset(view, [])
    if not members._has_rows_of(frontier):
        message = (
            "the frontier is of another version than the view, of another store or window, or of a view with "
            "other vertices; make it from this view"
        )
        raise ValueError(message)
    return members._of(frontier._rows)


def _mask(given: Any, of: numpy.ndarray[Any, Any], name: str) -> numpy.ndarray[Any, Any]:
    import numpy

    mask: numpy.ndarray[Any, Any] = numpy.asarray(given)
    if mask.dtype != bool or mask.shape != of.shape:
        message = f"{name} gives a boolean for each of {len(of)}, not {mask.shape} of {mask.dtype}"
        raise ValueError(message)
    return mask
