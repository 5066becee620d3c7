"""Snapshots: one version of the graph, that never changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, NamedTuple

from evergraph import _native, _text
from evergraph._arguments import flag, names_of
from evergraph._convert import networkx_graph, scipy_matrix
from evergraph._errors import NotFoundError
from evergraph._partners import numpy, pyarrow
from evergraph._records import Edge, Vertex
from evergraph._schema import Schema, schema_of
from evergraph._table import Table
from evergraph._types import Key


class Csr(NamedTuple):
    """Compressed sparse rows: the neighbors of row ``i`` are ``indices[indptr[i]:indptr[i + 1]]``."""

    indptr: numpy.ndarray[Any, Any]
    """Where each row begins, int64, shape ``(num_vertices + 1,)``."""
    indices: numpy.ndarray[Any, Any]
    """The rows of the neighbors, int32 (int64 beyond 2^31 vertices), shape ``(entries,)``."""


class ArrowGraph(NamedTuple):
    """A graph as two pyarrow tables."""

    vertices: pyarrow.Table
    edges: pyarrow.Table


class Snapshot(_text.Shown):
    """The graph as it was after one commit. Taken at once, whatever the size; it never changes.

    Made by `Database.snapshot`. Readers of a snapshot never wait for writers. It stays usable when the
    database is closed, and keeps its version in memory while it lives.

    ``len(view)`` counts vertices, ``key in view`` asks for one, iterating gives the keys of all.

    Methods that take ``edge_type`` ask for the edges of that type, or with ``None`` of all types selected.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 1, 2], [2, 3, 3])
    >>> view = db.snapshot()
    >>> view
    Snapshot(version=1, num_vertices=3, num_edges=3, edge_types=['edge'])
    >>> view.out_neighbors(1), view.in_degree(3), 4 in view
    ([2, 3], 2, False)
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Snapshot) -> None:
        """Wrap a native snapshot; `Database.snapshot` does this for you."""
        self._native = native

    # ---- the whole

    @property
    def num_vertices(self) -> int:
        """The number of vertices."""
        return self._native.num_vertices

    @property
    def num_edges(self) -> int:
        """The number of edges; one of a symmetric type counts once."""
        return self._native.num_edges

    @property
    def version(self) -> int:
        """The number of the commit it is the state after; 0 is the empty graph."""
        return self._native.version

    @property
    def time(self) -> datetime:
        """When that commit was made, in UTC."""
        return self._native.time

    @property
    def schema(self) -> Schema:
        """The types and properties there are, selected here or not."""
        return schema_of(self._native.schema())

    @property
    def edge_types(self) -> list[str]:
        """The edge types it shows."""
        return [kind[0] for kind in self._native.edge_types]

    @property
    def is_symmetric(self) -> bool:
        """Whether every edge holds in both directions."""
        return self._native.is_symmetric

    def with_edge_types(self, edge_types: Iterable[str]) -> Snapshot:
        """Give the same version with these edge types only; vertices stay, with or without edges.

        Parameters
        ----------
        edge_types : list of str
            Their names.

        Raises
        ------
        SchemaError
            If there is no such type.
        """
        return Snapshot(self._native.with_edge_types(names_of("edge_types", edge_types)))

    def __len__(self) -> int:
        """Count the vertices."""
        return self._native.num_vertices

    def __bool__(self) -> bool:
        """Tell whether there is a vertex."""
        return self._native.num_vertices > 0

    def __contains__(self, key: Key) -> bool:
        """Tell whether the vertex exists; a number or a string that none can be called does not."""
        native = self._native
        try:
            return native.has_vertex(key)
        except ValueError:
            return False

    def __iter__(self) -> Iterator[Key]:
        """Go through the keys of all vertices, in the order of `vertices`."""
        return iter(self._native.keys())

    # ---- points

    def has_vertex(self, key: Key) -> bool:
        """Tell whether the vertex exists.

        Parameters
        ----------
        key : int or str
            The vertex.
        """
        return self._native.has_vertex(key)

    def has_edge(self, src: Key, dst: Key, edge_type: str | None = None) -> bool:
        """Tell whether there is an edge from ``src`` to ``dst``.

        Parameters
        ----------
        src, dst : int or str
            From where to where.
        edge_type : str, optional
            Ask for edges of this type only; by default of all that are shown.
        """
        return self._native.has_edge(src, dst, edge_type)

    def vertex(self, key: Key) -> Vertex:
        """Give a vertex with its type and properties.

        Parameters
        ----------
        key : int or str
            The vertex.

        Raises
        ------
        NotFoundError
            If there is none.
        """
        return Vertex(key, *self._native.vertex(key))

    def edge(self, src: Key, dst: Key, edge_type: str | None = None) -> Edge:
        """Give the edge from ``src`` to ``dst``, the last one if there are several.

        Parameters
        ----------
        src, dst : int or str
            From where to where.
        edge_type : str, optional
            Ask for edges of this type only; by default of all that are shown.

        Raises
        ------
        NotFoundError
            If there is none.
        """
        found = self._native.edges_between(src, dst, edge_type)
        if not found:
            kind = "" if edge_type is None else f" of type {_text.quoted(edge_type)}"
            message = (
                f"there is no edge {_text.quoted(src)} -> {_text.quoted(dst)}{kind} in version {self.version}"
            )
            raise NotFoundError(message)
        return Edge(src, dst, *found[-1])

    def edges_between(self, src: Key, dst: Key, edge_type: str | None = None) -> list[Edge]:
        """Give every edge from ``src`` to ``dst``, of all types and with parallel ones.

        Parameters
        ----------
        src, dst : int or str
            From where to where.
        edge_type : str, optional
            Ask for edges of this type only; by default of all that are shown.
        """
        return [Edge(src, dst, *found) for found in self._native.edges_between(src, dst, edge_type)]

    def out_neighbors(self, key: Key, edge_type: str | None = None) -> list[Key]:
        """Give where the edges of a vertex lead; parallel edges count each.

        Parameters
        ----------
        key : int or str
            The vertex.
        edge_type : str, optional
            Ask for edges of this type only; by default of all that are shown.

        Raises
        ------
        NotFoundError
            If there is no such vertex.
        """
        return self._native.neighbors(key, edge_type, False)

    def in_neighbors(self, key: Key, edge_type: str | None = None) -> list[Key]:
        """Give where edges to a vertex come from; parallel edges count each.

        Parameters
        ----------
        key : int or str
            The vertex.
        edge_type : str, optional
            Ask for edges of this type only; by default of all that are shown.

        Raises
        ------
        NotFoundError
            If there is no such vertex.
        """
        return self._native.neighbors(key, edge_type, True)

    def out_degree(self, key: Key, edge_type: str | None = None) -> int:
        """Count the edges from a vertex.

        Parameters
        ----------
        key : int or str
            The vertex.
        edge_type : str, optional
            Ask for edges of this type only; by default of all that are shown.

        Raises
        ------
        NotFoundError
            If there is no such vertex.
        """
        return self._native.degree(key, edge_type, False)

    def in_degree(self, key: Key, edge_type: str | None = None) -> int:
        """Count the edges to a vertex.

        Parameters
        ----------
        key : int or str
            The vertex.
        edge_type : str, optional
            Ask for edges of this type only; by default of all that are shown.

        Raises
        ------
        NotFoundError
            If there is no such vertex.
        """
        return self._native.degree(key, edge_type, True)

    def out_edges(self, key: Key, edge_type: str | None = None) -> Table:
        """Give the edges from a vertex as a table with the columns of `edges`.

        Parameters
        ----------
        key : int or str
            The vertex.
        edge_type : str, optional
            Ask for edges of this type only; by default of all that are shown.

        Raises
        ------
        NotFoundError
            If there is no such vertex.
        """
        return Table(self._native.edges_of(key, edge_type, False))

    def in_edges(self, key: Key, edge_type: str | None = None) -> Table:
        """Give the edges to a vertex as a table with the columns of `edges`.

        Parameters
        ----------
        key : int or str
            The vertex.
        edge_type : str, optional
            Ask for edges of this type only; by default of all that are shown.

        Raises
        ------
        NotFoundError
            If there is no such vertex.
        """
        return Table(self._native.edges_of(key, edge_type, True))

    # ---- tables

    def vertices(self) -> Table:
        """Give all vertices as a table.

        Returns
        -------
        Table
            ``id``, ``type`` if the store has vertex types, and a column for each property. A property that is
            called like one of the first two is ``vertex.<name>``.
        """
        return Table(self._native.vertices())

    def edges(self) -> Table:
        """Give all edges as a table.

        Returns
        -------
        Table
            ``src``, ``dst``, ``type`` if more than one type is shown, and a column for each property. Where
            two types disagree about a property, or it is called like one of the first three, its column is
            ``<edge type>.<name>``. An edge of a symmetric type is one row.
        """
        return Table(self._native.edges())

    # ---- other packages

    def to_arrow(self) -> ArrowGraph:
        """Give the graph to pyarrow: a table of vertices and one of edges. Needs pyarrow."""
        return ArrowGraph(self.vertices().to_arrow(), self.edges().to_arrow())

    def to_csr(self, *, reverse: bool = False) -> Csr:
        """Give the edges as compressed sparse rows.

        Row ``i`` is the vertex in row ``i`` of `vertices`, which is the ``i``-th when iterating. Parallel
        edges are repeated; an edge of a symmetric type is in the rows of both ends.

        Parameters
        ----------
        reverse : bool
            Rows of edges coming in instead of going out.

        Raises
        ------
        MemoryError
            If ids are so large that arrays for them do not fit: ids of dense keys are the keys themselves.

        Examples
        --------
        >>> import evergraph as eg
        >>> db = eg.open()
        >>> added = db.add_edges([10, 10, 20], [20, 30, 30])
        >>> indptr, indices = db.snapshot().to_csr()
        >>> indptr, indices
        (array([0, 2, 3, 3]), array([1, 2, 2], dtype=int32))
        """
        indptr, indices = self._native.to_csr(flag("reverse", reverse))
        signed = "int32" if self.num_vertices <= 2**31 else "int64"
        return Csr(indptr, indices.view("int32") if signed == "int32" else indices.astype("int64"))

    def to_scipy(self, weight: str | None = None) -> Any:
        """Give the adjacency matrix to SciPy. Needs scipy.

        Parameters
        ----------
        weight : str, optional
            The edge property to use as the value of an edge, 1 where it has none (NaN is one); by default
            every edge is 1. The values of parallel edges add up.

        Returns
        -------
        scipy.sparse.csr_array
            Shape ``(num_vertices, num_vertices)``, float64; rows and columns as in `to_csr`.

        Raises
        ------
        KeyError
            If there is no such property.
        """
        return scipy_matrix(self, weight)

    def to_networkx(self) -> Any:
        """Give the graph to NetworkX, with all properties. Needs networkx.

        Returns
        -------
        networkx.Graph
            A ``DiGraph``, or a ``Graph`` if every type is symmetric; with ``multi`` types, or more than one
            type, a ``MultiDiGraph`` or ``MultiGraph``. With more than one type an edge has its type as
            ``type``, and so has a vertex that has one; properties of that name have longer ones, as in
            `edges` and `vertices`.
        """
        return networkx_graph(self)

    def __repr__(self) -> str:
        """Say what it is of, and how much there is."""
        return (
            f"Snapshot(version={self.version}, num_vertices={self.num_vertices}, "
            f"num_edges={self.num_edges}, edge_types={self.edge_types})"
        )

    def _parts(self) -> Iterable[str | _text.Grid]:
        head = (
            f"Version {self.version}: {_text.count(self.num_vertices, 'vertex')}, "
            f"{_text.count(self.num_edges, 'edge')}"
        )
        kinds = {kind: self.with_edge_types([kind]).num_edges for kind in self.edge_types}
        return [head, _text.counts("edge type", kinds)]


def native_of(name: str, snapshot: Snapshot) -> _native.Snapshot:
    """Give what is behind an argument of this name that is a snapshot."""
    if not isinstance(snapshot, Snapshot):
        message = f"{name} is a Snapshot, not {type(snapshot).__name__}"
        raise TypeError(message)
    return snapshot._native
