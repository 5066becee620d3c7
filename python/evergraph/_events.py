"""Events: what changes in a view, and the handlers that are told of it."""

from __future__ import annotations

import atexit
from datetime import datetime
from typing import Literal, NamedTuple

from evergraph import _native
from evergraph._arguments import whole
from evergraph._durations import seconds_of
from evergraph._types import Duration, Key, Value


class Event(NamedTuple):
    """Something that changed in a view."""

    version: int
    """The commit that changed it."""
    place: int
    """The place among the events of that commit, from 0."""
    time: datetime
    """When the commit was made, in UTC."""
    kind: Literal["vertex", "edge", "property"]
    """What it is about."""
    change: Literal["added", "removed", "changed"]
    """What became of it."""
    vertex: Key | None
    """The vertex, if it is of one."""
    edge: tuple[Key, Key, str] | None
    """The edge, if it is of one: source, destination, edge type."""
    property: str | None
    """The property, of property events."""
    old: Value
    """Its value before."""
    new: Value
    """Its value after."""


class HandlerStatus(NamedTuple):
    """How a handler fares."""

    view: str
    """Its view."""
    name: str
    """Its name."""
    state: Literal["live", "behind", "stopped", "dropped", "failed"]
    """Told of events as they are made; reading older ones; stopped; its view dropped; unable to go on."""
    error: str | None
    """Why it cannot go on."""
    version: int
    """The last commit it has dealt with as a whole."""
    handled: int
    """Events dealt with in this process."""
    failures: int
    """Calls that raised in this process."""
    dead: int
    """Events given up in this process."""
    waiting: int
    """Events that wait in memory."""


class DeadLetter(NamedTuple):
    """An event that a handler could not deal with."""

    event: Event
    """The event."""
    error: str
    """What the handler raised the last time."""
    tries: int
    """How often it was called."""


class Subscription:
    """A handler at work; made by `View.on_update`. It goes on when this object is gone."""

    __slots__ = ("_native",)

    def __init__(self, native: _native.Subscription) -> None:
        """Wrap a native subscription; `View.on_update` does this for you."""
        self._native = native
        _at_work.difference_update([other for other in _at_work if not other.is_running])
        _at_work.add(self)

    @property
    def status(self) -> HandlerStatus:
        """How it fares."""
        return HandlerStatus(**self._native.status())

    @property
    def is_running(self) -> bool:
        """Whether it is told of events."""
        return self._native.status()["state"] in ("live", "behind")

    def stop(self) -> None:
        """End it after the call under way. A handler of the same name goes on where it was."""
        self._native.stop()
        _at_work.discard(self)

    def wait(self, version: int, timeout: Duration = 60.0) -> bool:
        """Wait until it has dealt with all up to a version; tell if it has, within ``timeout`` seconds."""
        return self._native.wait(whole("version", version), seconds_of("timeout", timeout))

    def __repr__(self) -> str:
        """Say whose it is and how it fares."""
        status = self.status
        return f"Subscription({status.view!r}, {status.name!r}, {status.state}, version={status.version})"


_at_work: set[Subscription] = set()


@atexit.register
def _stop_all() -> None:
    # Handlers are Python code, which cannot run when the interpreter has ended.
    for subscription in list(_at_work):
        subscription.stop()
