"""Single vertices and edges: dicts of their properties, with what they are besides."""

from collections.abc import Mapping

from evergraph._types import Key, Value


class Vertex(dict[str, Value]):
    """The properties of a vertex, those that are not null, with its key and type.

    Examples
    --------
    >>> import evergraph as eg
    >>> with eg.open() as db:
    ...     version = db.put_vertex("alice", type="Person", age=31)
    ...     alice = db.snapshot().vertex("alice")
    >>> alice
    Vertex('alice', type='Person', age=31)
    >>> alice["age"], alice.type
    (31, 'Person')
    >>> alice == {"age": 31}
    True
    """

    __slots__ = ("key", "type")

    def __init__(self, key: Key, type: str | None, properties: Mapping[str, Value]) -> None:
        """Make one; the database does this for you."""
        super().__init__(properties)
        self.key: Key = key
        self.type: str | None = type

    def __repr__(self) -> str:
        """Show everything."""
        kind = [] if self.type is None else [f"type={self.type!r}"]
        parts = [repr(self.key), *kind, *(f"{name}={value!r}" for name, value in self.items())]
        return f"Vertex({', '.join(parts)})"


class Edge(dict[str, Value]):
    """The properties of an edge, those that are not null, with its ends and type.

    Examples
    --------
    >>> import evergraph as eg
    >>> with eg.open() as db:
    ...     version = db.put_edge("alice", "bob", "pays", amount=10.0)
    ...     edge = db.snapshot().edge("alice", "bob")
    >>> edge
    Edge('alice', 'bob', type='pays', amount=10.0)
    >>> edge.src, edge.dst, edge.type, edge["amount"]
    ('alice', 'bob', 'pays', 10.0)
    """

    __slots__ = ("dst", "src", "type")

    def __init__(self, src: Key, dst: Key, type: str, properties: Mapping[str, Value]) -> None:
        """Make one; the database does this for you."""
        super().__init__(properties)
        self.src: Key = src
        self.dst: Key = dst
        self.type: str = type

    def __repr__(self) -> str:
        """Show everything."""
        parts = [repr(self.src), repr(self.dst), f"type={self.type!r}"]
        parts += [f"{name}={value!r}" for name, value in self.items()]
        return f"Edge({', '.join(parts)})"
