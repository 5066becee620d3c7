"""The schema: which types and properties there are, and how they are declared and altered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from evergraph import _native, _text
from evergraph._arguments import optional_text, text
from evergraph._types import PropertyType

Native = TypeVar("Native", "_native.Database", "_native.Transaction")


@dataclass(frozen=True)
class EdgeType:
    """An edge type.

    Attributes
    ----------
    name : str
        Its name.
    properties : dict
        The type of each property.
    multi : bool
        Every put adds an edge of its own; otherwise there is one edge between two vertices.
    symmetric : bool
        An edge holds in both directions.
    reverse : bool
        Lists in the in direction are kept.
    time : str or None
        The property that is the time of an event.
    """

    name: str
    properties: dict[str, str] = field(default_factory=dict)
    multi: bool = False
    symmetric: bool = False
    reverse: bool = True
    time: str | None = None

    def __str__(self) -> str:
        """Describe it in a line."""
        return f"{self.name!r} ({self._traits()}): {_columns(self.properties)}"

    def _traits(self) -> str:
        plain = self.reverse or self.symmetric
        traits = [
            "multi" if self.multi else "simple",
            *(["symmetric"] if self.symmetric else []),
            *([] if plain else ["no reverse"]),
            *([f"time {self.time!r}"] if self.time else []),
        ]
        return ", ".join(traits)


@dataclass(frozen=True)
class Schema(_text.Shown):
    """What a database, a transaction or a snapshot knows about the shape of its data.

    Attributes
    ----------
    keys : str or None
        The kind of vertex keys: ``int64``, ``string`` or ``dense``; ``None`` before the first vertex.
    edge_types : dict
        The edge types by name.
    vertex_types : list
        The names of the vertex types.
    vertex_properties : dict
        The type of each property of vertices, which all vertex types share.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> db.create_edge_type("pays", {"amount": "float32"}, multi=True, time="at")
    >>> db.create_vertex_type("Person", {"age": "uint8"})
    >>> db.schema
    Schema
      vertices (keys not known yet): age uint8
        types: 'Person'
      edges
        'pays' (multi, time 'at'): amount float32, at timestamp
    """

    keys: str | None = None
    edge_types: dict[str, EdgeType] = field(default_factory=dict)
    vertex_types: list[str] = field(default_factory=list)
    vertex_properties: dict[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Describe it in a few lines."""
        keys = f"{self.keys} keys" if self.keys else "keys not known yet"
        lines = ["Schema", f"  vertices ({keys}): {_columns(self.vertex_properties)}"]
        if self.vertex_types:
            lines.append(f"    types: {', '.join(map(repr, self.vertex_types))}")
        lines.append("  edges" if self.edge_types else "  edges: no type yet")
        lines.extend(f"    {kind}" for kind in self.edge_types.values())
        return "\n".join(lines)

    def _parts(self) -> Iterable[str | _text.Grid]:
        head, *vertices = repr(self).partition("\n  edges")[0].split("\n")
        kinds = self.edge_types.values()
        rows = [[kind.name, kind._traits(), _columns(kind.properties)] for kind in kinds]
        return [head, *map(str.strip, vertices), (["edge type", "is", "properties"], [False] * 3, rows)]


def _declared(properties: Mapping[str, PropertyType] | None) -> dict[str, PropertyType]:
    try:
        return dict(properties or {})
    except (TypeError, ValueError):
        message = f"properties is a mapping from name to type, not {type(properties).__name__}"
    raise TypeError(message)


def _columns(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in properties.items()) or "no properties"


def schema_of(native: Any) -> Schema:
    """Take over what the native module tells."""
    keys, vertex_types, vertex_properties, edge_types = native
    kinds = [
        EdgeType(name, dict(properties), multi, symmetric, reverse, time)
        for name, properties, multi, symmetric, reverse, time in edge_types
    ]
    return Schema(keys, {kind.name: kind for kind in kinds}, vertex_types, dict(vertex_properties))


class Schematic(Generic[Native]):
    """What declares and alters a schema: a database, each call a transaction of its own, or a transaction."""

    __slots__ = ()

    _native: Native

    @property
    def schema(self) -> Schema:
        """The types and properties there are, own changes included."""
        return schema_of(self._native.schema())

    def create_edge_type(
        self,
        name: str,
        properties: Mapping[str, PropertyType] | None = None,
        *,
        multi: bool = False,
        time: str | None = None,
        reverse: bool = True,
        symmetric: bool = False,
    ) -> None:
        """Declare an edge type. Without this, a type is made by its first edge: directed, and not ``multi``.

        It is no error if it exists with the same options.

        Parameters
        ----------
        name : str
            Its name.
        properties : dict, optional
            The type of each property: ``bool``, ``int8`` to ``int64``, ``uint8`` to ``uint64``, ``float32``,
            ``float64``, ``string``, ``bytes``, ``date``, ``timestamp``, or ``list<T>`` of one of them. A
            column of edges takes as many bytes as its type says. An integer given to a ``timestamp`` counts
            in microseconds since 1970. What is called as a parameter of `Transaction.put_edge` is set by
            ``properties={"src": ...}``.
        multi : bool
            Every put adds an edge of its own, as payments or messages are; otherwise there is one edge
            between two vertices, and a put changes it.
        time : str, optional
            The property that is the time of an event; a ``timestamp`` unless declared otherwise.
        reverse : bool
            Keep lists in the in direction too. Without them the type takes half the memory, and what needs
            them (``in_neighbors``, most algorithms) makes them from the out lists, once for each version that
            is asked; deleting a vertex reads all lists of the type.
        symmetric : bool
            An edge holds in both directions, as friendships do.

        Raises
        ------
        SchemaError
            If it exists with other options, or a name cannot be used.
        """
        for argument, value in (("multi", multi), ("symmetric", symmetric), ("reverse", reverse)):
            if not isinstance(value, bool):
                message = f"argument {argument} is True or False, not {type(value).__name__}"
                raise TypeError(message)
        traits = (multi, symmetric, reverse)
        declared = _declared(properties)
        self._native.create_edge_type(text("name", name), declared, traits, optional_text("time", time))

    def create_vertex_type(self, name: str, properties: Mapping[str, PropertyType] | None = None) -> None:
        """Declare a vertex type, and properties that vertices of any type may have.

        It is no error if they exist with the same types.

        Raises
        ------
        SchemaError
            If a property exists with another type, or a name cannot be used.
        """
        self._native.create_vertex_type(text("name", name), _declared(properties))

    def drop_edge_type(self, name: str) -> None:
        """Drop an edge type with all its edges.

        Snapshots taken before keep them. Transactions under way that put edges of the type will conflict.

        Raises
        ------
        SchemaError
            If there is no such type.

        Examples
        --------
        >>> import evergraph as eg
        >>> db = eg.open()
        >>> _ = db.put_edge("alice", "bob", "pays")
        >>> db.drop_edge_type("pays")
        >>> (db.snapshot().num_edges, db.snapshot().num_vertices)
        (0, 2)
        """
        self._alter("drop_edge_type", name)

    def rename_edge_type(self, name: str, new_name: str) -> None:
        """Give an edge type another name."""
        self._alter("rename_edge_type", name, text("new_name", new_name))

    def drop_vertex_type(self, name: str) -> None:
        """Drop a vertex type. Its vertices stay, without a type."""
        self._alter("drop_vertex_type", name)

    def rename_vertex_type(self, name: str, new_name: str) -> None:
        """Give a vertex type another name."""
        self._alter("rename_vertex_type", name, text("new_name", new_name))

    def add_property(self, name: str, type: PropertyType, *, edge_type: str | None = None) -> None:
        """Add a property, null everywhere, to an edge type, or to vertices if none is given.

        Raises
        ------
        SchemaError
            If there is one of this name, or no such edge type.
        """
        if not isinstance(type, str):
            message = f"type is the name of a property type such as 'int64', not {type!r}"
            raise TypeError(message)
        self._alter("add_property", name, type, edge_type)

    def drop_property(self, name: str, *, edge_type: str | None = None) -> None:
        """Drop a property of an edge type, or of vertices if none is given, with all its values.

        Raises
        ------
        SchemaError
            If there is no such property, or it is the time of the edges.
        """
        self._alter("drop_property", name, None, edge_type)

    def rename_property(self, name: str, new_name: str, *, edge_type: str | None = None) -> None:
        """Give a property of an edge type, or of vertices if none is given, another name."""
        self._alter("rename_property", name, text("new_name", new_name), edge_type)

    def _alter(
        self, action: str, name: str, argument: str | None = None, edge_type: str | None = None
    ) -> None:
        self._native.alter(action, optional_text("edge_type", edge_type), text("name", name), argument)
