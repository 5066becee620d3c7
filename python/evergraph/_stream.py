"""Streams of commits, and differences of versions."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

from evergraph import _native, _text
from evergraph._closing import Closing
from evergraph._snapshot import Snapshot, native_of
from evergraph._table import Column, Table
from evergraph._types import Self

_Pulled: TypeAlias = tuple[
    int, int, datetime, _native.Table, _native.Table, _native.Column, _native.Snapshot | None
]

# How long a thread waits for a batch before an event loop may end it.
_SLICE_SECONDS = 0.05


class Batch(_text.Shown):
    """The edges of some commits, whole commits in order.

    A put may repeat an edge that was there, and a delete may name one that was not: it is told what was asked
    for.
    """

    __slots__ = ("after", "changed_vertices", "deleted", "edges", "snapshot", "time", "version")

    after: int
    """The last version before the batch."""
    version: int
    """The version it ends with."""
    time: datetime
    """When that was committed."""
    edges: Table
    """Edges put: ``src``, ``dst``, ``type`` (if there are several), properties, ``version``, ``time``."""
    deleted: Table
    """Edges deleted, those of deleted vertices included."""
    changed_vertices: Column
    """The keys of the ends of all these edges, each once; of a stream of all edge types, also of the vertices
    put or deleted."""
    snapshot: Snapshot | None
    """The graph exactly after the batch, with ``stateful=True``."""

    def __init__(
        self,
        native: _Pulled,
    ) -> None:
        """Wrap a native batch; streams do this for you."""
        self.after, self.version, self.time, edges, deleted, changed, snapshot = native
        self.edges, self.deleted, self.changed_vertices = Table(edges), Table(deleted), Column(changed)
        self.snapshot = None if snapshot is None else Snapshot(snapshot)

    def __repr__(self) -> str:
        """Show how much there is."""
        return (
            f"Batch(version={self.version}, edges={len(self.edges)}, deleted={len(self.deleted)}, "
            f"changed_vertices={len(self.changed_vertices)})"
        )

    def _parts(self) -> Iterable[str | _text.Grid]:
        return [repr(self), "Edges put", *self.edges._parts(), "Edges deleted", *self.deleted._parts()]


class Stream(_text.Shown, Closing):
    """Batches of the commits of a database, pulled one after the other. Made by `Database.stream`.

    Iterating waits for the next batch; ``async for`` does so without blocking the event loop. Pulling a batch
    acknowledges the one before, and brings along the algorithms that follow the stream, such as
    `incremental_bfs`. Close it, or use it as a context manager, so that the log is no longer kept
    for it; a named one keeps its place.
    """

    __slots__ = ("_native", "_timeout")

    def __init__(self, native: _native.Stream, timeout_seconds: float | None) -> None:
        """Wrap a native stream; `Database.stream` does this for you."""
        self._native = native
        self._timeout = timeout_seconds

    @property
    def position(self) -> int | None:
        """The last version given out; ``None`` once it is closed."""
        return self._native.position

    def acknowledge(self) -> None:
        """Say now that what was given out has been dealt with, rather than with the next pull."""
        self._native.acknowledge()

    def close(self) -> None:
        """Let go of the log."""
        self._native.close()

    def __iter__(self) -> Self:
        """Go on with the next batch."""
        return self

    def __next__(self) -> Batch:
        """Wait for the next batch; the iteration ends when none came within ``timeout``."""
        batch = self._native.next(self._timeout)
        if batch is None:
            raise StopIteration
        return Batch(batch)

    def __aiter__(self) -> Self:
        """Go on with the next batch."""
        return self

    async def __anext__(self) -> Batch:
        """Wait for the next batch on a thread of its own.

        One who is cancelled leaves it to the next one; algorithms that follow the stream are there already.
        """
        # Not needed by those who do not await, and slow to import.
        import asyncio

        left, is_gathering = self._timeout, False
        while True:
            wait = _SLICE_SECONDS if left is None or is_gathering else min(left, _SLICE_SECONDS)
            is_ready, is_gathering = await asyncio.to_thread(self._native.pull, wait)
            # Another task may have been faster.
            batch = self._native.take() if is_ready else None
            if batch is not None:
                return Batch(batch)
            if left is not None:
                left = max(left - wait, 0.0)
                if left == 0 and not is_gathering:
                    raise StopAsyncIteration

    def __repr__(self) -> str:
        """Say where it is."""
        position = self.position
        return "Stream(closed)" if position is None else f"Stream(position={position})"


class Diff(_text.Shown):
    """What changed from one snapshot to another. Made by `diff`."""

    __slots__ = (
        "added",
        "added_vertices",
        "changed_from",
        "changed_to",
        "changed_vertices",
        "removed",
        "removed_vertices",
    )

    added: Table
    """Edges only the second has, with their properties."""
    removed: Table
    """Edges only the first has."""
    changed_from: Table
    """Edges of both whose properties differ, as the first has them. Parallel edges count as removed and
    added."""
    changed_to: Table
    """The same edges, row by row, as the second has them."""
    added_vertices: Column
    """Keys of vertices only the second has."""
    removed_vertices: Column
    """Keys of vertices only the first has."""
    changed_vertices: Column
    """Keys of vertices of both whose type or properties differ."""

    def __init__(self, before: Snapshot, after: Snapshot) -> None:
        """Compare two snapshots; `diff` does this for you."""
        parts = _native.diff(native_of("before", before), native_of("after", after))
        self.added, self.removed, self.changed_from, self.changed_to = map(Table, parts[:4])
        self.added_vertices, self.removed_vertices, self.changed_vertices = map(Column, parts[4:])

    def __bool__(self) -> bool:
        """Tell whether anything differs."""
        return any(len(getattr(self, part)) > 0 for part in self.__slots__)

    def __repr__(self) -> str:
        """Show how much differs."""
        counts = ", ".join(f"{part}={len(getattr(self, part))}" for part in self.__slots__)
        return f"Diff({counts})"

    def _parts(self) -> Iterable[str | _text.Grid]:
        return ["Diff", _text.counts("part", {part: len(getattr(self, part)) for part in self.__slots__})]


def diff(before: Snapshot, after: Snapshot) -> Diff:
    """Tell what changed between two snapshots of one database, in time that grows with the change.

    Types and properties may have been renamed in between; names are those of the newer snapshot. An edge type
    that one of the snapshots leaves out is left out.

    Raises
    ------
    ValueError
        If they are of two databases, or confined to a view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 2], [2, 3])
    >>> before = db.snapshot()
    >>> version = db.put_edge(3, 4, "edge")
    >>> deleted = db.delete_edges([1], [2])
    >>> change = eg.diff(before, db.snapshot())
    >>> change.added["dst"].to_list(), change.removed["src"].to_list(), change.added_vertices.to_list()
    ([4], [1], [4])
    """
    return Diff(before, after)
