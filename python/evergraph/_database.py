"""A database: one store, on disk or in memory, as a program uses it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta, timezone
from inspect import iscoroutinefunction
from pathlib import Path
from time import perf_counter, sleep
from typing import Literal, TypeVar

from evergraph import _native, _text
from evergraph._arguments import flag, items_of, named, names_of, optional_text, path_of, text, whole
from evergraph._closing import Closing
from evergraph._durations import is_duration, seconds_of
from evergraph._errors import ConflictError
from evergraph._events import HandlerStatus
from evergraph._load import BatchResult, LoadResult
from evergraph._progress import bar
from evergraph._schema import Schematic
from evergraph._snapshot import Snapshot
from evergraph._stats import CheckReport, Problem, Stats
from evergraph._stream import Stream
from evergraph._text import quoted
from evergraph._transaction import Transaction
from evergraph._types import (
    ColumnLike,
    Durability,
    Duration,
    FileFormat,
    Isolation,
    Key,
    KeyKind,
    ListFormat,
    NamedColumns,
    NamedValues,
    PropertyType,
    Value,
)
from evergraph._views import View
from evergraph._window import Window

PropertySpecs = Iterable[str] | Mapping[str, PropertyType | tuple[str | int, PropertyType | None] | None]

T = TypeVar("T")


def open(
    path: str | os.PathLike[str] | None = None,
    *,
    read_only: bool = False,
    durability: Durability = "sync",
    keys: KeyKind | None = None,
    memory_limit: int | None = None,
    retain: int | str | timedelta | None = None,
    format: ListFormat | None = None,
    strict: bool = False,
) -> Database:
    """Open the database in a directory; create it if there is none. It lives in memory without a path, or
    with ``":memory:"``.

    One process writes at a time; any number may have it open with ``read_only``, if none writes. A process
    made by ``os.fork()`` opens it for itself: what its parent opened raises `ForkedError`.

    Parameters
    ----------
    path : path, optional
        A directory.
    read_only : bool
        Refuse every write, and do not create anything.
    durability : {"sync", "interval", "none"}
        When a commit returns: once it is on disk (it survives a loss of power), once it is written (it
        survives the process, and is on disk within 50 ms), or once it is written, with no promise about the
        disk.
    keys : {"int64", "string", "dense"}, optional
        The kind of vertex keys; by default that of the first one. ``dense`` keys are numbers from 0 that are
        used as they are, without a dictionary: for graphs whose vertices are numbered already. What is kept
        for each vertex, and the time of whole-graph work, follow the largest number, not how many there are.
    memory_limit : int, optional
        Bytes of memory for changes that are not archived yet; half of it starts archiving. Loads that take
        more than a part of it go through files of the store. What is kept for each vertex comes on top, and
        what threads and the program need: a load of 1.5 M edges of 200,000 vertices allocated 25 MB in Rust
        with a limit of 8 MiB, ``evergraph load --memory-limit 8`` had 42 MiB in memory at the most, and one
        that keeps what it freed for up to a second, as a Python program does, 84 MiB. It bounds nothing of a
        database in memory, which has no files to go to. Give it for a graph larger than memory: algorithms
        that pass over all lists many times otherwise copy those that
        changes have scattered, 4 bytes an edge and direction, for the time of the call.
    retain : int, str or timedelta, optional
        How much history to keep from now on: a number of versions, a time such as ``"7d"``, ``"all"``, or
        ``"none"``. By default what was said when it was last opened; nothing for a new one. Not with
        ``read_only``.
    format : {"fast", "compact"}, optional
        How neighbor lists are kept from now on: as they are, or in few bits, which takes half the memory or
        less, and longer to scan. By default as the store has it; a new one is fast. Lists that are there
        change when they are written next: all of them with ``compact()``. Not with ``read_only``.
    strict : bool
        Refuse what is put or loaded of a type, or with a property, that was not declared (`create_edge_type`,
        `create_vertex_type`, `add_property`), rather than declare it by that: a slip in a name is an error.
        It holds for as long as the database is open.

    Returns
    -------
    Database

    Raises
    ------
    LockedError
        If another process has it open; the message names it.
    NotFoundError
        With ``read_only``, if it is not there.
    NotAStoreError
        If the path is something else; it is left as it is.
    NewerFormatError
        If a later release wrote it.
    CorruptionError
        If a file is damaged; the message says where.

    Examples
    --------
    >>> import evergraph as eg
    >>> with eg.open() as db:
    ...     version = db.put_edge("alice", "bob", "knows", since=2019)
    ...     db.snapshot().out_neighbors("alice")
    ['bob']
    """
    limit = None if memory_limit is None else whole("memory_limit", memory_limit, least=1)
    for name, setting in (("retain", retain), ("format", format)):
        if flag("read_only", read_only) and setting is not None:
            message = (
                f"{name} is kept in the database, which read_only does not change: leave one of them out"
            )
            raise ValueError(message)
    where = None if path is None or path == ":memory:" else path_of(path)
    modes = (read_only, flag("strict", strict))
    kinds = (optional_text("keys", keys), limit, _retain_text(retain), optional_text("format", format))
    return Database(_native.open(where, modes, text("durability", durability), *kinds))


def _retain_text(retain: int | str | timedelta | None) -> str | None:
    if isinstance(retain, timedelta) or (isinstance(retain, str) and is_duration(retain)):
        return f"{math.ceil(seconds_of('retain', retain))}s"
    return retain if retain is None or isinstance(retain, str) else str(whole("retain", retain))


def _micros(time: datetime) -> int:
    aware = time if time.tzinfo is not None else time.replace(tzinfo=timezone.utc)
    return (aware - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)


def check(path: str | os.PathLike[str]) -> CheckReport:
    """Verify every checksum and invariant of the database in a directory. Changes nothing.

    Parameters
    ----------
    path : path
        The directory.

    Returns
    -------
    CheckReport
        True if all is well; ``problems`` lists what is not, with file and offset.

    Raises
    ------
    NotFoundError, NotAStoreError, NewerFormatError, LockedError
        If there is no database that this release can look at.

    Examples
    --------
    >>> import tempfile
    >>> import evergraph as eg
    >>> with eg.open() as db, tempfile.TemporaryDirectory() as directory:
    ...     added = db.add_edges([1, 2], [2, 3])
    ...     version = db.backup(f"{directory}/copy.eg")
    ...     report = eg.check(f"{directory}/copy.eg")
    ...     bool(report), report.num_edges, report.problems
    (True, 2, [])
    """
    problems, counts = _native.check(path_of(path))
    return CheckReport(path=Path(path), problems=[Problem(*problem) for problem in problems], **counts)


class Database(_text.Shown, Closing, Schematic["_native.Database"]):
    """An open database. Made by `open`; as a context manager it is closed at the end of the block.

    All methods may be called from any number of threads at once.
    """

    __slots__ = ("__weakref__", "_native")

    def __init__(self, native: _native.Database) -> None:
        """Wrap a native database; `open` does this for you."""
        self._native = native

    @property
    def path(self) -> Path | None:
        """The directory; ``None`` in memory."""
        return self._native.path

    @property
    def is_read_only(self) -> bool:
        """Whether every write is refused."""
        return self._native.is_read_only

    @property
    def is_closed(self) -> bool:
        """Whether it was closed, or this process was forked from the one that opened it."""
        return self._native.is_closed

    def close(self) -> None:
        """Wait for commits under way, make them durable, and let another open it. Snapshots stay usable.

        Memory, and files that are read as memory, are let go of with the last snapshot and the database
        object itself.

        A load or a checkpoint in another thread is stopped as Ctrl-C would stop it: it raises
        ``ClosedError``, and nothing of it was done.

        Closing twice is no error; everything else raises `ClosedError` from then on, also in transactions
        and streams of the database. What remains is to let go of them (``rollback()``, ``close()``), and
        the last view of a window. In a process made by ``os.fork()`` closing does nothing: its parent has the
        database open.

        Raises
        ------
        DurabilityError
            If the last writes cannot be made durable.
        """
        self._native.close()

    # ---- bulk

    def load(
        self,
        path: str | os.PathLike[str],
        edge_type: str = "edge",
        *,
        src: str | int | None = None,
        dst: str | int | None = None,
        properties: PropertySpecs | None = None,
        format: FileFormat | None = None,
        delimiter: str | None = None,
        header: bool | None = None,
        keys: KeyKind | None = None,
        on_error: Literal["raise", "skip"] = "raise",
        max_rejects: int = 1000,
        resume: bool = False,
        progress: bool = True,
    ) -> LoadResult:
        """Load a file of edges, in parallel, as one transaction: all of it, or nothing.

        Others commit while a large load goes on, and what they write counts as later. Ctrl-C stops it in any
        phase: if ``KeyboardInterrupt`` is raised, nothing was loaded (with ``resume``, what came before the
        place is). A load that can no longer be stopped, since it is being published, returns its result.

        Reads edge lists as SNAP has them, CSV and TSV, plain or compressed (``.gz``, ``.zst``). What is not
        said is found out from the file's name and first lines.

        Parameters
        ----------
        path : path
            The file.
        edge_type : str
            The type of its edges.
        src, dst : str or int, optional
            The columns of the ends, by name or by position from 0; by default those the header calls ``src``,
            ``source`` or ``from``, and ``dst``, ``target`` or ``to``, else the first two.
        properties : list or dict, optional
            The columns to keep: names; or ``{name: type}``; or ``{name: (column, type)}`` for a column of
            another name or position. The type may be ``None``: it is then found out. By default all other
            columns of a file with a header.
        format : {"edgelist", "csv", "tsv"}, optional
            The format.
        delimiter : str, optional
            The character between fields.
        header : bool, optional
            Whether the first line names the columns. By default it does if columns are asked for by name; in
            CSV and TSV also if no field of it is a number, a truth value or a time; in an edge list if it is
            words over numbers. Of a CSV or TSV file of string keys without a header say ``header=False``, or
            its first edge is taken for one. Lines above it that begin with ``#`` are comments.
        keys : {"int64", "string", "dense"}, optional
            What the vertex keys are; by default numbers if all of them are.
        on_error : {"raise", "skip"}
            Whether a line that is no edge ends the load, or is left out and reported.
        max_rejects : int
            How many of the lines left out to keep; all are counted.
        resume : bool
            Load the file in several transactions, and begin behind the last one that an earlier load of a
            file of this name (its directory does not count) to this edge type was done with: so a load that
            was interrupted goes on, one that was complete adds nothing, whatever was deleted since, and lines
            appended since then are added. A file that has changed before that place is refused, and so is one
            that goes on behind a last line without an end. The place belongs to the edge type: it is kept
            when that is renamed, and gone when it is dropped. Where either happens between two parts, the
            load ends with a `SchemaError`. A load without ``resume`` keeps no place: one
            with it that comes later begins at the start, and a *multi* type has the edges twice. Types that
            are neither said (``keys``, ``properties``) nor known to the database are found out from all of
            the file first, so that nothing of a file with a bad line is loaded; where all are known, the
            parts before that line are.
        progress : bool
            Show a progress bar, on a terminal or in a notebook, once it has taken half a second.

        Returns
        -------
        LoadResult
            ``edges``, ``vertices``, ``rejected``, ``rejects``, ``seconds`` and more.

        Raises
        ------
        LoadError
            If the file cannot be used, with ``path``, ``line`` and ``column``. Nothing was loaded; with
            ``resume``, what came before the place is.
        SchemaError
            If its keys or values do not fit the schema. Nothing was loaded.
        DiskError
            If the system refuses what the load needs on the way, as where the disk is full. Nothing was
            loaded, and the store goes on as before.
        """
        options: dict[str, object] = {
            "src": _column("src", src),
            "dst": _column("dst", dst),
            "properties": properties,
            "format": format,
            "delimiter": delimiter,
            "header": None if header is None else flag("header", header),
            "keys": keys,
            "on_error": on_error,
            "max_rejects": whole("max_rejects", max_rejects),
            "resume": flag("resume", resume),
        }
        file = Path(path_of(path))
        with bar(f"Loading {file.name}", wanted=progress) as report:
            loaded = self._native.load(os.fspath(file), text("edge_type", edge_type), options, report)
        return LoadResult.of(file, loaded)

    def add_edges(
        self,
        src: ColumnLike,
        dst: ColumnLike,
        edge_type: str = "edge",
        *,
        properties: NamedColumns = None,
        **columns: ColumnLike,
    ) -> BatchResult:
        """Add edges from columns, as one transaction. It never conflicts.

        Columns are numpy arrays, lists, or columns of pyarrow, pandas, polars and anything else with Arrow's
        PyCapsule interface; where a numpy array is masked, the value is null. Vertices, types and properties
        that are new are created. While 2^20 edges and more are added, others commit, and what they write
        counts as later. If Ctrl-C raises ``KeyboardInterrupt``, nothing was added. Without rows it makes the
        edge type, if it is not there, and is a version like any other.

        Parameters
        ----------
        src, dst : columns of int or str
            From where to where, as long as each other.
        edge_type : str
            The type of the edges.
        properties : mapping, optional
            Columns of property values by name, where names are those of parameters (``src``, ``edge_type``)
            or not known before.
        **columns : columns of property values
            The same by keyword; each is as long as ``src``.

        Returns
        -------
        BatchResult
            ``(edges, vertices, version)``: how many are new, and the version that has them.

        Raises
        ------
        TypeError, ValueError
            If something is no column, columns differ in length, or one has what no type holds: Arrow data
            that is not valid, times beyond 64 bits; or a property is given twice. Nothing was added.
        SchemaError
            If keys or values do not fit the schema. Nothing was added.

        Examples
        --------
        >>> import evergraph as eg
        >>> import numpy as np
        >>> db = eg.open()
        >>> db.add_edges(np.array([1, 1, 2]), np.array([2, 3, 3]), "pays", amount=[9.5, 0.5, 7.0])
        BatchResult(edges=3, vertices=3, version=1)
        """
        return BatchResult(*self._native.add_edges(src, dst, edge_type, named(properties, columns)))

    def delete_edges(self, src: ColumnLike, dst: ColumnLike, edge_type: str = "edge") -> BatchResult:
        """Delete the edges between these ends, as one transaction. Edges that are not there are passed over.
        If Ctrl-C raises ``KeyboardInterrupt``, nothing was deleted.

        Parameters
        ----------
        src, dst : columns of int or str
            From where to where, as long as each other.
        edge_type : str
            The type of the edges.

        Raises
        ------
        SchemaError
            If there is no such edge type, or keys do not fit.
        """
        return BatchResult(*self._native.delete_edges(src, dst, edge_type))

    # ---- transactions

    def begin(self, *, isolation: Isolation = "snapshot", timeout: Duration | None = None) -> Transaction:
        """Begin a transaction, best in a ``with`` block: it commits at its end and rolls back if it raises.

        Parameters
        ----------
        isolation : {"snapshot", "serializable"}
            With ``snapshot`` it reads one version, and of two transactions that change the same thing the
            first to commit wins; two that each read what the other changes may both commit. With
            ``serializable`` it commits only if all it read is unchanged, as if transactions ran one by one.
        timeout : float, datetime.timedelta or str, optional
            How long it may take: seconds, or text such as ``"5s"`` or ``"500ms"``. Then every write and the
            commit raise `TransactionTimeoutError`.

        Raises
        ------
        ReadOnlyError
            If the database was opened with ``read_only``.

        Examples
        --------
        >>> import evergraph as eg
        >>> db = eg.open()
        >>> with db.begin(isolation="serializable", timeout="5s") as tx:
        ...     if not tx.has_vertex("alice"):
        ...         tx.put_vertex("alice")
        """
        return Transaction(self._native.begin(text("isolation", isolation), _timeout_seconds(timeout)))

    def transact(
        self,
        fn: Callable[[Transaction], T],
        retries: int = 32,
        *,
        isolation: Isolation = "snapshot",
        timeout: Duration | None = None,
    ) -> T:
        """Call ``fn`` with a transaction and commit it; after a conflict wait a moment and do so again.

        Parameters
        ----------
        fn : callable
            Called with a new `Transaction` each time; it should do nothing that cannot be done twice.
        retries : int
            How many times to try again. The random wait before each grows with the time that a try takes and
            with their number, to two seconds at most. The default is enough where dozens of threads change
            the same thing.
        isolation : {"snapshot", "serializable"}
            As for `begin`.
        timeout : float, datetime.timedelta or str, optional
            How long each try may take, as for `begin`; no wait between them is longer.

        Returns
        -------
        object
            What ``fn`` returned.

        Raises
        ------
        ConflictError
            If the last try conflicts too.
        TransactionTimeoutError
            If a try takes too long; it is not tried again.

        Examples
        --------
        >>> import evergraph as eg
        >>> db = eg.open()
        >>> version = db.put_vertex("counter", value=0)
        >>> def count(tx):
        ...     value = tx.vertex("counter")["value"] + 1
        ...     tx.put_vertex("counter", value=value)
        ...     return value
        >>> db.transact(count), db.transact(count)
        (1, 2)
        """
        if any(iscoroutinefunction(called) for called in (fn, type(fn).__call__)):
            message = "fn is called, not awaited: give transact a plain function, not an async one"
            raise TypeError(message)
        retries = whole("retries", retries)
        longest = _timeout_seconds(timeout)
        tried = 0
        while True:
            began = perf_counter()
            try:
                with self.begin(isolation=isolation, timeout=timeout) as transaction:
                    return fn(transaction)
            except ConflictError:
                if tried == retries:
                    raise
            wait = _native.conflict_backoff(tried, perf_counter() - began)
            sleep(wait if longest is None else min(wait, longest))
            tried += 1

    def put_vertex(
        self,
        key: Key,
        type: str | None = None,
        *,
        properties: NamedValues = None,
        **values: Value,
    ) -> int:
        """Do `Transaction.put_vertex` in a transaction of its own. It never conflicts; gives the version."""
        return self._native.put_vertex(key, optional_text("type", type), named(properties, values))

    def put_edge(
        self,
        src: Key,
        dst: Key,
        edge_type: str = "edge",
        *,
        properties: NamedValues = None,
        **values: Value,
    ) -> int:
        """Do `Transaction.put_edge` in a transaction of its own. It never conflicts; gives the version."""
        return self._native.put_edge(src, dst, edge_type, named(properties, values))

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

    # ---- reading

    def snapshot(
        self,
        *,
        edge_types: Iterable[str] | None = None,
        at: int | datetime | None = None,
        stale: bool = False,
    ) -> Snapshot:
        """Take the graph as it is now: at once, whatever its size; it never changes.

        Parameters
        ----------
        edge_types : list of str, optional
            Show these edge types only.
        at : int or datetime, optional
            The graph after this version, or as it was at this time (without a time zone: UTC). It is made
            from what ``retain`` has kept; a version after the last one asked for is made from that one.
        stale : bool
            The graph as it was last archived, without the commits that only the log has.

        Raises
        ------
        SchemaError
            If there is no such type.
        NotRetainedError
            If the version is no longer kept, or not there yet.

        Examples
        --------
        >>> import evergraph as eg
        >>> db = eg.open(retain="all")
        >>> first = db.put_edge("alice", "bob", "knows")
        >>> deleted = db.delete_vertex("bob")
        >>> db.snapshot(at=first).out_neighbors("alice")
        ['bob']
        """
        if stale and at is not None:
            message = "snapshot takes at= or stale=, not both"
            raise ValueError(message)
        if stale:
            view = Snapshot(self._native.archived_snapshot())
        elif at is None:
            view = Snapshot(self._native.snapshot())
        elif isinstance(at, datetime):
            view = Snapshot(self._native.snapshot_at(None, _micros(at)))
        else:
            version = whole("at", at, kind="a version or a datetime")
            view = Snapshot(self._native.snapshot_at(version, None))
        return view if edge_types is None else view.with_edge_types(edge_types)

    @property
    def retained(self) -> range:
        """The versions that ``snapshot(at=)`` can give now."""
        first, _, last = self._native.retained()
        return range(first, last + 1)

    def stream(
        self,
        edge_types: Iterable[str] | None = None,
        *,
        batch_size: int = 65536,
        every: Duration | None = None,
        stateful: bool = False,
        from_version: int | None = None,
        name: str | None = None,
        timeout: Duration | None = None,
    ) -> Stream:
        """Follow the commits: an iterator over batches of edges, in the order of commits and at its own pace.

        The log is kept for a stream until it has passed; commits never wait for it. Where ``retain`` sets a
        limit, a stream that falls behind it gets `NotRetainedError`.

        Parameters
        ----------
        edge_types : list of str, optional
            Give edges of these types only.
        batch_size : int
            A batch ends with the commit that brings it to so many edges.
        every : duration, optional
            Gather commits for so long after the first one of a batch; by default a batch is what is there.
        stateful : bool
            Bring the graph exactly after the batch as ``batch.snapshot``. Behind the newest version that
            takes history; where there is none, batches end at the newest version, however large. Incremental
            algorithms can follow such a stream, which holds the graph where it is for them.
        from_version : int, optional
            Begin with the commit after this version; by default with the next one.
        name : str, optional
            Go on after the last batch this name has acknowledged, also after a crash. Such a cursor keeps the
            log until `drop_cursor`. It is a file of this name: 1 to 100 ASCII letters, digits, ``-``, ``_``
            and ``.``, no dot first.
        timeout : duration, optional
            End the iteration when no batch came for so long.

        Raises
        ------
        NotRetainedError
            If the log does not go back so far.
        LockedError
            If another stream has the name.

        Examples
        --------
        >>> import evergraph as eg
        >>> db = eg.open()
        >>> stream = db.stream(stateful=True, timeout=0)
        >>> added = db.add_edges(["alice", "bob"], ["bob", "carol"], "pays", amount=[10.0, 2.5])
        >>> for batch in stream:
        ...     print(batch.edges["amount"].to_list(), batch.snapshot.num_edges)
        [10.0, 2.5] 2
        """
        after = None if from_version is None else whole("from_version", from_version)
        size = whole("batch_size", batch_size, least=1)
        names = None if edge_types is None else names_of("edge_types", edge_types)
        waits = None if every is None else seconds_of("every", every)
        native = self._native.stream(
            names, size, waits, flag("stateful", stateful), after, optional_text("name", name)
        )
        return Stream(native, None if timeout is None else seconds_of("timeout", timeout))

    def cursors(self) -> dict[str, int]:
        """Give the names of streams, each with the last version it acknowledged."""
        return dict(self._native.cursors())

    def drop_cursor(self, name: str) -> bool:
        """Forget the name of a stream, so that its log is no longer kept; tell whether there was one.

        Parameters
        ----------
        name : str
            The name of the stream.
        """
        return self._native.drop_cursor(text("name", name))

    # ---- views

    def create_view(
        self,
        name: str,
        *,
        vertices: Iterable[Key] | None = None,
        edges: Iterable[tuple[Key, Key] | tuple[Key, Key, str]] | None = None,
        where: str | None = None,
        edges_where: str | None = None,
        frozen: bool = False,
    ) -> View:
        """Make a named view: a part of the graph, kept in the database and found again by `view`.

        With vertices only it has every edge between them; with edges only, the ends of these. A view by
        predicate follows the data: a vertex is in it while the predicate holds. docs/semantics.md has the
        language.

        Parameters
        ----------
        name : str
            Its name.
        vertices : keys, optional
            Its vertices.
        edges : tuples, optional
            Its edges, as ``(src, dst)`` or ``(src, dst, edge_type)``. They bring their ends along.
        where : str, optional
            A predicate for vertices, such as ``"city = 'Palo Alto' and age >= 30"``.
        edges_where : str, optional
            A predicate for edges, such as ``"type = 'pays' and amount > 1000"``.
        frozen : bool
            Keep the vertices that ``where`` finds now, whatever changes.

        Raises
        ------
        PredicateError
            If a predicate does not parse, or does not fit the schema.
        NotFoundError
            If a member is not there.
        ViewExistsError
            If there is a view of this name.
        """
        members = [] if vertices is None else items_of("vertices", "an iterable of keys", vertices)
        given = [] if edges is None else items_of("edges", "an iterable of edges", edges)
        ends = [_edge_member(edge) for edge in given]
        predicates = (optional_text("where", where), optional_text("edges_where", edges_where))
        made = self._native.create_view(text("name", name), members, ends, predicates, flag("frozen", frozen))
        return View(made)

    def view(self, name: str) -> View:
        """Find a view by its name.

        Parameters
        ----------
        name : str
            Its name.

        Raises
        ------
        NotFoundError
            If there is none; the message names those there are.
        """
        return View(self._native.view(text("name", name)))

    def handlers(self) -> list[HandlerStatus]:
        """Tell how the handlers of all views fare that were put to work by this process."""
        return [HandlerStatus(**status) for status in self._native.handlers()]

    def views(self) -> list[View]:
        """Give all views, by name."""
        return [View(self._native.view(name)) for name in self._native.view_names()]

    def window(
        self,
        last: Duration | None = None,
        *,
        edges: int | None = None,
        every: Duration | int | None = None,
        duplicates: Literal["keep", "drop", "count"] = "keep",
        edge_type: str | None = None,
        order: Literal["event", "ingest"] | None = None,
        lateness: Duration = 0,
        from_version: int | None = None,
    ) -> Window:
        """Open a sliding window over the edges of one type: a graph of the recent ones, in memory.

        It is empty until it is advanced, and costs what enters and leaves. Any number may be open. The exact
        rules are in docs/semantics.md.

        Parameters
        ----------
        last : float, datetime.timedelta or str, optional
            Hold the edges of so long, such as ``"5m"``. If the time of the edges is a plain number, a number
            of its units.
        edges : int, optional
            Hold the last so many edges instead.
        every : int, float, datetime.timedelta or str, optional
            How far to move from one view to the next when iterating. For ``edges`` a number of edges, or a
            time such as ``"30s"``: the last edges as of each such time, by the clock, in which one came. As
            much as ``last`` (``edges``) makes windows that tumble. By default each commit gives a view.
        duplicates : str
            What several edges with the same ends are in the window: ``"keep"`` has them all, ``"drop"`` the
            latest, ``"count"`` one with the property ``count``. It is there until the last of them leaves.
        edge_type : str, optional
            The type of the edges; may be left out where there is one type.
        order : str, optional
            Slide by ``"event"`` time, the time property of the type, or by the order of ``"ingest"``. By
            default event time where the type has a time, and for ``edges`` the order of ingest.
        lateness : float, datetime.timedelta or str
            In event time, how much earlier than the newest edge one may be. Later ones are counted and left
            out.
        from_version : int, optional
            Begin after this version; by default with the oldest edge that the log still has.

        Raises
        ------
        ValueError
            If arguments make no sense together.
        SchemaError
            If there is no such edge type, or it has no time and needs one.

        Examples
        --------
        >>> import evergraph as eg
        >>> db = eg.open()
        >>> db.create_edge_type("knows")
        >>> window = db.window(edges=2)
        >>> for friend in ["bob", "carol", "dave"]:
        ...     version = db.put_edge("alice", friend, "knows")
        >>> window.advance().out_neighbors("alice")
        ['carol', 'dave']
        """
        length = None if last is None else seconds_of("last", last)
        by_clock = edges is not None and isinstance(every, (str, timedelta))
        if every is not None and (edges is None or by_clock):
            every = seconds_of("every", every)
        elif every is not None:
            every = whole("every", every, least=1)
        arguments = {
            "edge_type": optional_text("edge_type", edge_type),
            "last": length,
            "edges": None if edges is None else whole("edges", edges, least=1),
            "every": every,
            "by_clock": by_clock,
            "duplicates": text("duplicates", duplicates),
            "order": optional_text("order", order),
            "lateness": seconds_of("lateness", lateness),
            "from_version": None if from_version is None else whole("from_version", from_version),
        }
        return Window(self._native.window(arguments))

    # ---- operations

    def stats(self) -> Stats:
        """Tell what the database holds and how much room it takes, in memory and on disk, by purpose.

        While ``settled`` is false, the background has work left, or memory to give back: that comes half a
        second after the last write.
        """
        return Stats(**self._native.stats())

    def checkpoint(self) -> None:
        """Archive what is in memory only, and trim the log. Nothing to do in memory. Ctrl-C stops it;
        everything is then as it was.

        Raises
        ------
        ArchiveError
            If the disk refuses; nothing is lost.
        """
        self._native.checkpoint()

    def compact(self) -> None:
        """Rewrite everything as one segment, where reading is fastest.

        A database in memory has no segments: its lists are brought together where they are. It does that by
        itself as well, some time after changes have scattered them. Ctrl-C stops it, and all that is in the
        database stays as it was.

        Raises
        ------
        ArchiveError
            If the disk refuses; nothing is lost.
        """
        self._native.compact()

    def backup(self, path: str | os.PathLike[str]) -> int:
        """Write the graph as it is now to a new database, compact and durable, while commits go on here.

        A database in memory is saved to disk this way. Ctrl-C stops it; what is in the directory is then no
        database, and another backup may be written there.

        Parameters
        ----------
        path : path
            A directory that is empty or absent.

        Returns
        -------
        int
            The version that was written.

        Raises
        ------
        AlreadyExistsError
            If there is a database already.
        NotAStoreError, LockedError
            If the path is something else, or another process writes there; it is left as it is.
        BackupError
            If the path lies in the database itself. Or if the backup could not be written to its end; the
            directory can be removed then.

        Examples
        --------
        >>> import tempfile
        >>> import evergraph as eg
        >>> with eg.open() as db, tempfile.TemporaryDirectory() as directory:
        ...     added = db.add_edges([1, 2], [2, 3])
        ...     version = db.backup(f"{directory}/copy.eg")
        ...     with eg.open(f"{directory}/copy.eg", read_only=True) as copy:
        ...         version, copy.snapshot().num_edges
        (1, 2)
        """
        return self._native.backup(path_of(path))

    def __repr__(self) -> str:
        """Say where it is and how it is open."""
        where = "in memory" if self.path is None else repr(str(self.path))
        notes = [
            note for note, holds in (("closed", self.is_closed), ("read-only", self.is_read_only)) if holds
        ]
        return f"Database({', '.join([where, *notes])})"

    def _parts(self) -> Iterable[str | _text.Grid]:
        return [repr(self), *(() if self.is_closed else self.snapshot()._parts())]


def _edge_member(edge: tuple[Key, Key] | tuple[Key, Key, str]) -> tuple[Key, Key, str | None]:
    parts = () if isinstance(edge, str | bytes) or not isinstance(edge, Iterable) else tuple(edge)
    if not 2 <= len(parts) <= 3:
        message = f"edges are (src, dst) or (src, dst, edge_type), not {quoted(edge)}"
        raise TypeError(message)
    edge_type = parts[2] if len(parts) == 3 else None
    return parts[0], parts[1], None if edge_type is None else text("edge_type", edge_type)


def _column(name: str, column: str | int | None) -> str | int | None:
    if column is None or isinstance(column, str):
        return column
    return whole(name, column, kind="a name or a position from 0")


def _timeout_seconds(timeout: Duration | None) -> float | None:
    return None if timeout is None else seconds_of("timeout", timeout)
