"""Named views: parts of the graph that are kept by name and follow it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MutableMapping
from inspect import iscoroutinefunction
from typing import Any, Literal, NamedTuple

from evergraph import _native, _text
from evergraph._arguments import flag, names_of, text, whole
from evergraph._durations import seconds_of
from evergraph._errors import EvergraphError
from evergraph._events import DeadLetter, Subscription
from evergraph._snapshot import ArrowGraph, Csr, Snapshot, native_of
from evergraph._types import Duration, Key, Value


class ViewStatistics(NamedTuple):
    """How much there is in a view."""

    version: int
    """The version it was counted on."""
    num_vertices: int
    """Vertices."""
    num_edges: int
    """Edges; those of symmetric types count once."""
    edges: dict[str, int]
    """Edges by type."""
    reads: int
    """How often the view was evaluated in this process, for a reader or an algorithm."""


class View(Snapshot):
    """A part of the graph: by members or by predicate, kept by name, or made of other views.

    Made by `Database.create_view` and found by `Database.view`. It is used as a `Snapshot` is, by algorithms
    too; each call sees the newest version then. `at` gives the view on one version, which never changes.

    ``a | b``, ``a & b`` and ``a - b`` are views too, and so is what `expand` gives; the right side may be an
    iterable of vertex keys. If both sides have every edge between their vertices, so has the result;
    otherwise it has only edges that its operands have.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> for key, city in [("ann", "Oslo"), ("bob", "Oslo"), ("cyd", "Rome")]:
    ...     version = db.put_vertex(key, city=city)
    >>> added = db.add_edges(["ann", "bob", "cyd"], ["bob", "cyd", "ann"])
    >>> oslo = db.create_view("oslo", where="city = 'Oslo'")
    >>> oslo.num_vertices, oslo.num_edges
    (2, 1)
    >>> version = db.put_vertex("cyd", city="Oslo")
    >>> sorted(oslo - ["ann"])
    ['bob', 'cyd']
    >>> eg.connected_components(oslo).count
    1
    """

    __slots__ = ("_view",)

    def __init__(self, view: _native.View) -> None:
        """Wrap a native view; `Database.create_view` does this for you."""
        self._view = view

    # Whatever a snapshot answers, it asks of this.
    @property
    def _native(self) -> _native.Snapshot:  # type: ignore[override]
        return self._view.at(None)

    @property
    def name(self) -> str | None:
        """The name; ``None`` for a view made of others."""
        return self._view.name

    @property
    def definition(self) -> str:
        """What it is made of, in words.

        Raises
        ------
        NotFoundError
            If it was dropped.
        ValueError
            If it is made of other views.
        """
        return self._view.definition()

    def at(self, snapshot: Snapshot | None = None) -> Snapshot:
        """Give the view on a snapshot, by default on the newest version; it never changes.

        The snapshot may be older than the view.

        Parameters
        ----------
        snapshot : Snapshot, optional
            A snapshot of the same database.

        Raises
        ------
        NotFoundError
            If the view, or one it is made of, was dropped.
        PredicateError
            If a predicate does not fit the schema of the snapshot.
        ValueError
            If the snapshot is of another database, or of a window.
        """
        return Snapshot(self._view.at(None if snapshot is None else native_of("snapshot", snapshot)))

    def statistics(self, snapshot: Snapshot | None = None) -> ViewStatistics:
        """Count what is in it, on a snapshot or on the newest version. Counting is no read.

        Parameters
        ----------
        snapshot : Snapshot, optional
            A snapshot of the same database.
        """
        native = None if snapshot is None else native_of("snapshot", snapshot)
        return ViewStatistics(**self._view.statistics(native))

    # ---- other views

    def union(self, other: View | Iterable[Key], *, induced: bool | None = None) -> View:
        """Give what is in either view.

        Parameters
        ----------
        other : View or keys
            A view, or vertices, of which those are left out that are not there.
        induced : bool, optional
            Whether the result has every edge between its vertices, or only those of the operands. By default
            the former if both operands are like that.
        """
        return self._combined("union", other, induced)

    def intersection(self, other: View | Iterable[Key], *, induced: bool | None = None) -> View:
        """Give what is in both views; arguments as for `union`."""
        return self._combined("intersection", other, induced)

    def difference(self, other: View | Iterable[Key], *, induced: bool | None = None) -> View:
        """Give what is in this view and not in the other; arguments as for `union`."""
        return self._combined("difference", other, induced)

    def __or__(self, other: View | Iterable[Key]) -> View:
        """Give what is in either view."""
        return self._combined("union", other, None)

    def __and__(self, other: View | Iterable[Key]) -> View:
        """Give what is in both views."""
        return self._combined("intersection", other, None)

    def __sub__(self, other: View | Iterable[Key]) -> View:
        """Give what is in this view and not in the other."""
        return self._combined("difference", other, None)

    def expand(self, hops: int = 1, direction: Literal["out", "in", "both"] = "both") -> View:
        """Give the view and all vertices up to ``hops`` edges away, with every edge between them.

        Parameters
        ----------
        hops : int
            How far to go.
        direction : {"out", "in", "both"}
            Along edges, against them, or both.
        """
        return View(self._view.expand(whole("hops", hops), text("direction", direction)))

    def _combined(self, operation: str, other: View | Iterable[Key], induced: bool | None) -> View:
        if isinstance(other, View):
            right = other._view
        elif isinstance(other, str | bytes) or not isinstance(other, Iterable):
            message = f"a view is combined with a view or with vertex keys, not with {type(other).__name__}"
            raise TypeError(message)
        else:
            right = self._view.of_keys(list(other))
        mode = None if induced is None else flag("induced", induced)
        return View(self._view.combine(operation, right, mode))

    # ---- events

    def on_update(
        self,
        handler: Callable[..., object],
        *,
        name: str,
        kinds: Iterable[Literal["vertex", "edge", "property"]] = ("vertex", "edge", "property"),
        properties: Iterable[str] = (),
        exactly_once: bool = False,
        batch_size: int | None = None,
        retries: int = 5,
        backoff: Duration = 0.01,
    ) -> Subscription:
        """Have a handler told of what changes in the view, on a thread of its own.

        It is told of every commit after this returns; or, if a handler of this name was at work before, of
        every commit after the last one that it dealt with, also after a crash; docs/semantics.md has the
        rules.

        Parameters
        ----------
        handler : callable
            Called with an `Event`; with ``exactly_once`` with a `Transaction` as well. With ``batch_size``,
            with a list of events instead.
        name : str
            The name under which its place is kept.
        kinds : set of {"vertex", "edge", "property"}
            Only events of these kinds.
        properties : list of str
            Of the events of properties, only those of these; by default of all.
        exactly_once : bool
            Commit what the handler writes through its transaction together with its place, or not at all.
        batch_size : int, optional
            Hand over up to so many events in one call.
        retries : int
            How often a call that raises is made again before its event becomes a dead letter.
        backoff : float, datetime.timedelta or str
            The pause before the first of these; it doubles up to 10 seconds.

        Raises
        ------
        HandlerInUseError
            If a handler of this name is at work on the view.
        NotFoundError
            If the view was dropped, or the version that the handler had come to is not kept any more.
        ReadOnlyError
            If the database was opened with ``read_only``.

        Examples
        --------
        >>> import evergraph as eg
        >>> db = eg.open()
        >>> version = db.put_vertex("pump", site="north", pressure=3)
        >>> north = db.create_view("north", where="site = 'north'")
        >>> seen = []
        >>> watch = north.on_update(seen.append, name="watch", properties=["pressure"])
        >>> watch.wait(db.put_vertex("pump", pressure=9))
        True
        >>> [(event.vertex, event.property, event.old, event.new) for event in seen]
        [('pump', 'pressure', 3, 9)]
        >>> watch.stop()
        """
        if isinstance(kinds, str) or isinstance(properties, str):
            message = "kinds and properties are several names, not a single str"
            raise TypeError(message)
        if not callable(handler):
            message = f"a handler is callable, {type(handler).__name__} is not"
            raise TypeError(message)
        if any(iscoroutinefunction(called) for called in (handler, type(handler).__call__)):
            message = "a handler is called, not awaited: give it a plain function, not an async one"
            raise TypeError(message)
        size = None if batch_size is None else whole("batch_size", batch_size, least=1)
        failure = (whole("retries", retries, most=2**32 - 1), seconds_of("backoff", backoff))
        native = self._view.on_update(
            handler,
            text("name", name),
            names_of("kinds", kinds),
            names_of("properties", properties),
            flag("exactly_once", exactly_once),
            size,
            failure,
        )
        return Subscription(native)

    def dead_letters(self, handler: str) -> list[DeadLetter]:
        """Give the events that the handler of this name could not deal with, oldest first.

        Parameters
        ----------
        handler : str
            The name of the handler.
        """
        return [DeadLetter(*letter) for letter in self._view.dead_letters(text("handler", handler))]

    def forget_handler(self, handler: str) -> bool:
        """Forget how far a handler had come, so that the log is not kept for it; tell whether there was one.

        Parameters
        ----------
        handler : str
            The name of the handler.

        Raises
        ------
        HandlerInUseError
            If it is at work.
        """
        return self._view.forget_handler(text("handler", handler))

    def discard_dead_letters(self, handler: str) -> int:
        """Discard the dead letters of a handler; tell how many there were.

        Parameters
        ----------
        handler : str
            The name of the handler.
        """
        return self._view.discard_dead_letters(text("handler", handler))

    # ---- the view itself

    def drop(self) -> None:
        """Drop the view; the graph stays as it is.

        Raises
        ------
        NotFoundError
            If it was dropped before.
        """
        self._view.drop()

    def rename(self, name: str) -> None:
        """Give the view another name.

        Parameters
        ----------
        name : str
            The new name.

        Raises
        ------
        ViewExistsError
            If there is one of that name.
        """
        self._view.rename(text("name", name))

    def scratch(self, property: str) -> Scratch:
        """Give a scratch property: values for members, beside the graph and in memory only.

        Parameters
        ----------
        property : str
            Its name; it is made by its first value.

        Examples
        --------
        >>> import evergraph as eg
        >>> db = eg.open()
        >>> version = db.put_vertex("ann", city="Oslo")
        >>> oslo = db.create_view("oslo", where="city = 'Oslo'")
        >>> oslo.scratch("impact")["ann"] = 0.5
        >>> dict(oslo.scratch("impact"))
        {'ann': 0.5}
        """
        return Scratch(self._view, text("property", property))

    @property
    def scratch_properties(self) -> list[str]:
        """The names of the scratch properties there are."""
        return self._view.scratch_names()

    # ---- what a snapshot does in more than one step, on one version

    def __iter__(self) -> Iterator[Key]:
        """Go through the keys of all vertices."""
        return iter(self.at())

    def to_arrow(self) -> ArrowGraph:
        """Do `Snapshot.to_arrow`."""
        return self.at().to_arrow()

    def to_csr(self, *, reverse: bool = False) -> Csr:
        """Do `Snapshot.to_csr`."""
        return self.at().to_csr(reverse=reverse)

    def to_scipy(self, weight: str | None = None) -> Any:
        """Do `Snapshot.to_scipy`."""
        return self.at().to_scipy(weight)

    def to_networkx(self) -> Any:
        """Do `Snapshot.to_networkx`."""
        return self.at().to_networkx()

    def __repr__(self) -> str:
        """Say its name and what it is made of."""
        if self.name is None:
            return "View(of other views)"
        try:
            definition = self.definition
        except EvergraphError as error:
            # It was dropped, or its database closed.
            definition = f"no longer to be had, {error}"
        return f"View({self.name!r}: {definition})"

    def _parts(self) -> Iterable[str | _text.Grid]:
        return self.at()._parts()


class Scratch(MutableMapping["Key", "Value"]):
    """A scratch property of a view: a mapping from member to value, gone when the process ends."""

    __slots__ = ("_property", "_view")

    def __init__(self, view: _native.View, property: str) -> None:
        """Use `View.scratch`."""
        self._view = view
        self._property = property

    def __getitem__(self, key: Key) -> Value:
        """Give the value of a member."""
        return self._view.scratch(self._property)[key]

    def __setitem__(self, key: Key, value: Value) -> None:
        """Set the value of a member; ``None`` takes it away.

        Raises
        ------
        NotFoundError
            If the vertex is not in the view.
        """
        self._view.scratch_set(self._property, key, value)

    def __delitem__(self, key: Key) -> None:
        """Take the value of a member away."""
        self[key]  # A KeyError if there is none.
        self._view.scratch_set(self._property, key, None)

    def __iter__(self) -> Iterator[Key]:
        """Go through the members that have a value."""
        return iter(self._view.scratch(self._property))

    def __len__(self) -> int:
        """Count the members that have a value."""
        return len(self._view.scratch(self._property))

    def clear(self) -> None:
        """Take all values away."""
        self._view.scratch_clear(self._property)

    def __repr__(self) -> str:
        """Show the values."""
        return f"Scratch({self._view.scratch(self._property)})"
