"""Transactions: private writes over a version, made part of the graph all at once."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from types import TracebackType

from evergraph import _native, _text
from evergraph._arguments import named, optional_text
from evergraph._errors import ClosedError, NotFoundError, SavepointError
from evergraph._records import Edge, Vertex
from evergraph._schema import Schematic
from evergraph._types import Key, NamedValues, Self, Value


class Transaction(_text.Shown, Schematic["_native.Transaction"]):
    """Reads and writes that become part of the graph together, or not at all.

    Made by `Database.begin`. It reads the version of its beginning and its own writes; others see nothing of
    it before the commit. As a context manager it commits when the block ends and rolls back if the block
    raises.

    With a ``timeout`` every write and the commit raise `TransactionTimeoutError` once it is over.

    After `commit` or `rollback` every call raises `ClosedError`. A transaction that is dropped is rolled
    back.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> with db.begin() as tx:
    ...     tx.put_vertex("alice", type="Person", age=31)
    ...     tx.put_edge("alice", "bob", "pays", amount=10.0)
    ...     tx.out_neighbors("alice", "pays")
    ['bob']
    >>> db.snapshot().num_edges
    1
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Transaction) -> None:
        """Wrap a native transaction; `Database.begin` does this for you."""
        self._native = native

    @property
    def is_open(self) -> bool:
        """Whether it was neither committed nor rolled back."""
        return self._native.is_open

    @property
    def version(self) -> int:
        """The version it reads."""
        return self._native.version

    # ---- writes

    def put_vertex(
        self,
        key: Key,
        type: str | None = None,
        *,
        properties: NamedValues = None,
        **values: Value,
    ) -> None:
        """Create a vertex, or change one: its type if one is given, and the properties given.

        Types and properties that are new are added to the schema.

        Parameters
        ----------
        key : int or str
            The vertex.
        type : str, optional
            Its type; left as it is if not given.
        properties : mapping, optional
            What to set, by name, where names are those of parameters (``key``, ``type``) or not known before.
        **values : bool, int, float, str, bytes, date, datetime, a list of one of these, or None
            What to set, by keyword. ``None`` removes a value. A ``datetime`` without time zone is taken as
            UTC.

        Raises
        ------
        SchemaError
            If the key is of another kind than the store's, or a value of another type than the property's.
        TypeError
            If a property is given twice.

        Examples
        --------
        >>> import evergraph as eg
        >>> with eg.open() as db, db.begin() as tx:
        ...     tx.put_vertex("alice", type="Person", age=31, properties={"key": "A-17"})
        ...     tx.vertex("alice")["key"]
        'A-17'
        """
        self._native.put_vertex(key, optional_text("type", type), named(properties, values))

    def put_edge(
        self,
        src: Key,
        dst: Key,
        edge_type: str = "edge",
        *,
        properties: NamedValues = None,
        **values: Value,
    ) -> None:
        """Put an edge: change the one there is, or add one; with a ``multi`` type, always add one.

        Ends, types and properties that are new are created.

        Parameters
        ----------
        src, dst : int or str
            From where to where.
        edge_type : str
            The type of the edge.
        properties : mapping, optional
            What to set, by name, where names are those of parameters (``src``, ``edge_type``) or not known
            before.
        **values : bool, int, float, str, bytes, date, datetime, a list of one of these, or None
            What to set, by keyword.

        Raises
        ------
        SchemaError
            If a key or a value does not fit.
        TypeError
            If a property is given twice.
        """
        self._native.put_edge(src, dst, edge_type, named(properties, values))

    def delete_vertex(self, key: Key) -> bool:
        """Delete a vertex with all its edges, and tell whether there was one.

        What its key takes is given back by a later archive or `compact`, once nobody holds a version
        that has the vertex.

        Parameters
        ----------
        key : int or str
            The vertex.
        """
        return self._native.delete_vertex(key)

    def delete_edge(self, src: Key, dst: Key, edge_type: str = "edge") -> bool:
        """Delete the edge (all edges of a ``multi`` type) from ``src`` to ``dst``; tell if there was one.

        Parameters
        ----------
        src, dst : int or str
            From where to where.
        edge_type : str
            The type of the edges.

        Raises
        ------
        SchemaError
            If there is no such edge type.
        """
        return self._native.delete_edge(src, dst, edge_type)

    # ---- reads

    def has_vertex(self, key: Key) -> bool:
        """Tell whether the vertex exists.

        Parameters
        ----------
        key : int or str
            The vertex.
        """
        return self._native.has_vertex(key)

    def has_edge(self, src: Key, dst: Key, edge_type: str = "edge") -> bool:
        """Tell whether there is an edge of this type from ``src`` to ``dst``.

        Parameters
        ----------
        src, dst : int or str
            From where to where.
        edge_type : str
            The type of the edges.
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
        found = self._native.vertex(key)
        if found is None:
            raise _no_vertex(key)
        return Vertex(key, *found)

    def edge(self, src: Key, dst: Key, edge_type: str = "edge") -> Edge:
        """Give the edge from ``src`` to ``dst``, the one put last if there are several.

        Parameters
        ----------
        src, dst : int or str
            From where to where.
        edge_type : str
            The type of the edges.

        Raises
        ------
        NotFoundError
            If there is none.
        """
        found = self._native.edges(src, dst, edge_type)
        if not found:
            message = (
                f"there is no edge {_text.quoted(src)} -> {_text.quoted(dst)} "
                f"of type {_text.quoted(edge_type)} in this transaction"
            )
            raise NotFoundError(message)
        return Edge(src, dst, edge_type, found[-1])

    def edges_between(self, src: Key, dst: Key, edge_type: str = "edge") -> list[Edge]:
        """Give every edge of this type from ``src`` to ``dst``, in the order they were put.

        Parameters
        ----------
        src, dst : int or str
            From where to where.
        edge_type : str
            The type of the edges.
        """
        return [Edge(src, dst, edge_type, found) for found in self._native.edges(src, dst, edge_type)]

    def out_neighbors(self, key: Key, edge_type: str = "edge") -> list[Key]:
        """Give where the edges of a vertex lead; parallel edges count each.

        Parameters
        ----------
        key : int or str
            The vertex.
        edge_type : str
            The type of the edges.

        Raises
        ------
        NotFoundError
            If there is no such vertex.
        """
        return self._neighbors(key, edge_type, reverse=False)

    def in_neighbors(self, key: Key, edge_type: str = "edge") -> list[Key]:
        """Give where edges to a vertex come from; parallel edges count each.

        Parameters
        ----------
        key : int or str
            The vertex.
        edge_type : str
            The type of the edges.

        Raises
        ------
        NotFoundError
            If there is no such vertex.
        """
        return self._neighbors(key, edge_type, reverse=True)

    def out_degree(self, key: Key, edge_type: str = "edge") -> int:
        """Count the edges of this type from a vertex. It takes as long as to read its list.

        Parameters
        ----------
        key : int or str
            The vertex.
        edge_type : str
            The type of the edges.

        Raises
        ------
        NotFoundError
            If there is no such vertex.
        """
        return self._degree(key, edge_type, reverse=False)

    def in_degree(self, key: Key, edge_type: str = "edge") -> int:
        """Count the edges of this type to a vertex. It takes as long as to read its list.

        Parameters
        ----------
        key : int or str
            The vertex.
        edge_type : str
            The type of the edges.

        Raises
        ------
        NotFoundError
            If there is no such vertex.
        """
        return self._degree(key, edge_type, reverse=True)

    def _degree(self, key: Key, edge_type: str, *, reverse: bool) -> int:
        found = self._native.degree(key, edge_type, reverse)
        if found is None:
            raise _no_vertex(key)
        return found

    def _neighbors(self, key: Key, edge_type: str, *, reverse: bool) -> list[Key]:
        found = self._native.neighbors(key, edge_type, reverse)
        if found is None:
            raise _no_vertex(key)
        return found

    # ---- points to go back to

    def savepoint(self) -> Savepoint:
        """Mark a point to go back to. It costs as much as the writes so far.

        Returns
        -------
        Savepoint
            To roll back to by hand, or to use as a context manager: a block that raises is undone, and the
            transaction goes on.

        Examples
        --------
        >>> import evergraph as eg
        >>> with eg.open() as db, db.begin() as tx:
        ...     tx.put_edge("alice", "bob")
        ...     savepoint = tx.savepoint()
        ...     deleted = tx.delete_vertex("bob")
        ...     savepoint.rollback()
        ...     try:
        ...         with tx.savepoint():
        ...             tx.put_edge("alice", "carol")
        ...             raise LookupError("carol left")
        ...     except LookupError:
        ...         pass
        ...     tx.out_neighbors("alice")
        ['bob']
        """
        return Savepoint(self, self._native.savepoint())

    def rollback_to(self, savepoint: Savepoint) -> None:
        """Undo every write since the savepoint, which can be gone back to again; later ones are gone.

        Parameters
        ----------
        savepoint : Savepoint
            One of this transaction.

        Raises
        ------
        SavepointError
            If it is gone, or of another transaction.
        """
        if not isinstance(savepoint, Savepoint):
            message = f"a savepoint is wanted, not {type(savepoint).__name__}"
            raise TypeError(message)
        self._native.rollback_to(savepoint._native)

    # ---- the end

    def commit(self) -> int:
        """Make the writes part of the graph, as durable as the store was opened for.

        Returns
        -------
        int
            The version that has them.

        Raises
        ------
        ConflictError
            If another transaction changed the same vertex or edge first, or with ``serializable`` isolation
            anything this one read. Nothing is applied; run it again.
        TransactionTimeoutError
            If its ``timeout`` is over. Nothing is applied.
        DurabilityError
            If the commit could not be written.
        ClosedError
            If the database was closed meanwhile, or this transaction is over.
        """
        return self._native.commit()

    def submit(self) -> PendingCommit:
        """Hand the writes in to be committed, and return at once; the end is waited for later.

        What is handed in is committed in order, and together with all else that was handed in by then, with
        one write and one sync, once somebody waits: for one of them, for a commit of its own, or for the
        database to be closed. So one thread that hands in a hundred transactions and then waits for them does
        what a hundred threads do that each wait for a commit. A transaction that begins before that does not
        see the writes, and conflicts with them where it changes the same.

        Returns
        -------
        PendingCommit
            To wait for. Dropping it waits, too.

        Raises
        ------
        TransactionTimeoutError
            If its ``timeout`` is over. Nothing is applied.
        ClosedError
            If the database was closed meanwhile, or this transaction is over.

        Examples
        --------
        >>> import evergraph as eg
        >>> with eg.open() as db:
        ...     pending = []
        ...     for src, dst in [("alice", "bob"), ("bob", "carol"), ("carol", "alice")]:
        ...         tx = db.begin()
        ...         tx.put_edge(src, dst)
        ...         pending.append(tx.submit())
        ...     [commit.wait() for commit in pending]
        [1, 2, 3]
        """
        return PendingCommit(self._native.submit())

    def rollback(self) -> None:
        """Drop the writes."""
        self._native.rollback()

    def __enter__(self) -> Self:
        """Begin a block at the end of which the transaction is committed."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Commit, or roll back if the block raised; nothing if either was done by hand."""
        if not self._native.is_open:
            return
        if kind is None:
            self._native.commit()
        else:
            self._native.rollback()

    def __repr__(self) -> str:
        """Say what it reads and whether it is over."""
        return f"Transaction(version={self.version})" if self.is_open else "Transaction(over)"

    def _parts(self) -> Iterable[str | _text.Grid]:
        with suppress(ClosedError):
            return [repr(self), *self.schema._parts()]
        return [repr(self)]


class PendingCommit:
    """A commit that was handed in by `Transaction.submit`, and that any number of threads wait for later."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.PendingCommit) -> None:
        """Wrap a native commit; `Transaction.submit` does this for you."""
        self._native = native

    @property
    def is_done(self) -> bool:
        """Whether it is committed, or refused, so that `wait` tells at once."""
        return self._native.is_done

    def wait(self) -> int:
        """Wait until it is committed, as durable as the store was opened for.

        Whoever waits is told the same, however often and from however many threads.

        Returns
        -------
        int
            The version that has it.

        Raises
        ------
        ConflictError, DurabilityError, ClosedError
            As those of `Transaction.commit`.
        """
        return self._native.wait()

    def __repr__(self) -> str:
        """Say how far it is."""
        version = self._native.version
        if version is not None:
            return f"PendingCommit({version=})"
        return f"PendingCommit({'done' if self.is_done else 'waits'})"


class Savepoint:
    """A point of a transaction to go back to; made by `Transaction.savepoint`.

    As a context manager it is rolled back to if the block raises, and the exception goes on; at the end of a
    block that does not raise it is forgotten, and the writes stay.
    """

    __slots__ = ("_native", "_transaction")

    def __init__(self, transaction: Transaction, native: _native.Savepoint) -> None:
        """Wrap a native savepoint; `Transaction.savepoint` does this for you."""
        self._transaction = transaction
        self._native = native

    def rollback(self) -> None:
        """Undo every write since; this can be done again. Savepoints made later are gone.

        Raises
        ------
        SavepointError
            If it is gone.
        """
        self._transaction.rollback_to(self)

    def __enter__(self) -> Self:
        """Begin a block that is undone if it raises.

        Raises
        ------
        SavepointError
            If it is gone, so that the block could not be undone.
        """
        if not self._transaction._native.has_savepoint(self._native):
            message = "the savepoint is gone, so that the block could not be undone: make a new one"
            raise SavepointError(message)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Undo the block if it raised; nothing if the transaction is over.

        Raises
        ------
        SavepointError
            If the block raised and released the savepoint before, so that it cannot be undone.
        """
        if not self._transaction.is_open:
            return
        native = self._transaction._native
        # Of a database that was closed all is gone, which the commit says.
        with suppress(ClosedError):
            if kind is None:
                if native.has_savepoint(self._native):
                    native.release(self._native)
                return
            try:
                native.undo_block(self._native)
            except SavepointError as gone:
                raise gone from error

    def __repr__(self) -> str:
        """Say what it is of."""
        return f"Savepoint(of {self._transaction!r})"


def _no_vertex(key: Key) -> NotFoundError:
    return NotFoundError(f"there is no vertex {_text.quoted(key)} in this transaction")
