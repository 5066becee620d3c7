"""Sliding windows: the recent edges of a store as a graph of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from evergraph import _native, _text
from evergraph._closing import Closing
from evergraph._durations import seconds_of
from evergraph._errors import ClosedError
from evergraph._snapshot import Snapshot
from evergraph._types import Duration


class WindowStats(NamedTuple):
    """What a window has seen and done so far."""

    entered: int
    """Edges that entered."""
    left: int
    """Edges that left."""
    late: int
    """Events left out because they came too late."""
    untimed: int
    """Events left out because they have no time."""


class Window(_text.Shown, Closing):
    """The recent edges of one type; see `Database.window`.

    The log is kept for it until it has passed. Close it, or use it as a context manager, so that it no longer
    is; so it is too when nobody has the window any more.

    Iterating gives one snapshot after the other, for ever, and waits for each: with ``every``, the window at
    each of its steps once that is over, else the window after each commit.
    """

    __slots__ = ("_open",)

    def __init__(self, native: _native.Window) -> None:
        """Wrap a native window; `Database.window` does this for you."""
        self._open: _native.Window | None = native

    @property
    def _native(self) -> _native.Window:
        if self._open is None:
            message = "the window is closed"
            raise ClosedError(message)
        return self._open

    def close(self) -> None:
        """Let go of the log, and of the edges but for those in views that were taken. Twice is no error.

        Everything else raises `ClosedError` from then on, also in algorithms that follow the window.
        """
        self._open = None

    def advance(self) -> Snapshot:
        """Move the end to the newest event, or to now if the window slides by the clock.

        Costs what enters and leaves. Algorithms that follow the window follow.

        Returns
        -------
        Snapshot
            The window then.

        Raises
        ------
        ClosedError
            If the database, or the window, was closed.
        EvergraphError
            If the log no longer holds what the window needs.
        """
        self._native.advance()
        return self.latest()

    def latest(self) -> Snapshot:
        """Give the window as it was left: a snapshot like any other, at once."""
        return Snapshot(self._native.latest())

    def next(self, timeout: Duration | None = None) -> Snapshot | None:
        """Wait for the next view, at most this long; ``None`` if there is none by then."""
        seconds = None if timeout is None else seconds_of("timeout", timeout)
        native = self._native.next(seconds)
        return None if native is None else Snapshot(native)

    def __iter__(self) -> Iterator[Snapshot]:
        """Give the window itself: a second loop goes on where the first was left."""
        return self

    def __next__(self) -> Snapshot:
        """Wait for the next view."""
        view = self.next()
        if view is None:
            raise StopIteration
        return view

    @property
    def end(self) -> int | None:
        """The last place in the window, ``None`` before the first event.

        It is a time, in microseconds since 1970-01-01 UTC or as the time property has it, or the number of an
        edge.
        """
        return self._native.end

    @property
    def stats(self) -> WindowStats:
        """What the window has seen and done so far."""
        return WindowStats(*self._native.stats)

    @property
    def memory_bytes(self) -> int:
        """How many bytes it takes up in memory."""
        return self._native.memory_bytes

    def __repr__(self) -> str:
        """Say what is in it."""
        if self._open is None:
            return "Window(closed)"
        view = self.latest()
        return f"Window({_text.count(view.num_vertices, 'vertex')}, {_text.count(view.num_edges, 'edge')})"

    def _parts(self) -> Iterable[str | _text.Grid]:
        return [repr(self), *([_text.counts("events", self.stats._asdict())] if self._open else ())]
