"""Events: what handlers in Python are told, and what becomes of those that raise, write or go on."""

import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import evergraph as eg


def sensors(db: eg.Database) -> eg.View:
    """Put five sensors, three of them on road A, and give these as a view."""
    for key in range(5):
        db.put_vertex(key, "Sensor", road="A" if key < 3 else "B", speed=100)
    return db.create_view("road a", where="road = 'A'")


def test_a_handler_is_told_what_changes_in_its_view() -> None:
    db = eg.open()
    view = sensors(db)
    seen: list[eg.Event] = []
    watch = view.on_update(seen.append, name="watch")
    start = datetime.now(timezone.utc)
    db.put_vertex(0, speed=60)
    db.put_vertex(3, speed=60)
    db.put_vertex(3, road="A")
    db.put_edge(0, 3, "next", length=5)
    db.put_edge(0, 3, "next", length=7)
    db.put_edge(0, 4, "next")
    db.delete_vertex(3)
    assert watch.wait(db.put_vertex(1, road=None))
    told = [
        (event.kind, event.change, event.vertex, event.edge, event.property, event.old, event.new)
        for event in seen
    ]
    edge = (0, 3, "next")
    assert told == [
        ("property", "changed", 0, None, "speed", 100, 60),
        ("vertex", "added", 3, None, None, None, None),
        ("edge", "added", None, edge, None, None, None),
        ("property", "changed", None, edge, "length", 5, 7),
        ("vertex", "removed", 3, None, None, None, None),
        ("edge", "removed", None, edge, None, None, None),
        ("vertex", "removed", 1, None, None, None, None),
    ]
    assert [event.version for event in seen] == sorted(event.version for event in seen)
    assert abs((seen[0].time - start).total_seconds()) < 60
    status = watch.status
    assert (status.view, status.name, status.state, status.handled) == ("road a", "watch", "live", 7)
    assert db.handlers() == [status]
    watch.stop()
    assert not watch.is_running


def test_kinds_properties_and_batches() -> None:
    db = eg.open()
    view = sensors(db)
    batches: list[list[eg.Event]] = []
    options = {"kinds": {"property"}, "properties": ["speed"], "batch_size": 10}
    watch = view.on_update(batches.append, name="speeds", **options)  # type: ignore[arg-type]
    with db.begin() as tx:
        for key in range(5):
            tx.put_vertex(key, speed=key, lanes=2)
    assert watch.wait(db.snapshot().version)
    assert [[event.new for event in batch] for batch in batches] == [[0, 1, 2]]


def test_what_is_written_with_exactly_once_counts_once() -> None:
    db = eg.open()
    view = sensors(db)
    db.put_vertex(100, count=0)
    calls = []

    def count(event: eg.Event, tx: eg.Transaction) -> None:
        calls.append(event)
        counted: Any = tx.vertex(100)["count"]
        tx.put_vertex(100, count=counted + 1)
        if len(calls) % 3 == 1:
            message = "after writing"
            raise RuntimeError(message)

    watch = view.on_update(count, name="count", exactly_once=True, backoff="1ms", kinds=["property"])
    for speed in range(20):
        db.put_vertex(0, speed=speed)
    assert watch.wait(db.snapshot().version)
    assert db.snapshot().vertex(100)["count"] == 20
    assert len(calls) > 20
    assert watch.status.failures > 0


def test_dead_letters() -> None:
    db = eg.open()
    view = sensors(db)

    def picky(event: eg.Event) -> None:
        if event.new == 13:
            message = "thirteen"
            raise ValueError(message)

    watch = view.on_update(picky, name="picky", retries=1, backoff=0.001)
    for speed in (12, 13, 14):
        db.put_vertex(0, speed=speed)
    assert watch.wait(db.snapshot().version)
    (letter,) = view.dead_letters("picky")
    assert (letter.error, letter.tries, letter.event.old, letter.event.new) == (
        "ValueError: thirteen",
        2,
        12,
        13,
    )
    assert (watch.status.handled, watch.status.dead) == (2, 1)
    assert view.discard_dead_letters("picky") == 1
    assert view.dead_letters("picky") == []


def test_a_handler_goes_on_where_it_was(tmp_path: Path) -> None:
    seen: list[object] = []
    for process in range(3):
        with eg.open(tmp_path / "net.eg") as db:
            view = sensors(db) if process == 0 else db.view("road a")
            db.put_vertex(0, speed=10 * process)
            db.checkpoint()
            watch = view.on_update(lambda event: seen.append(event.new), name="watch")
            assert watch.wait(db.put_vertex(0, speed=10 * process + 1))
    assert seen == [1, 10, 11, 20, 21]
    assert eg.check(tmp_path / "net.eg")


def test_a_handler_that_does_not_return_harms_nobody() -> None:
    db = eg.open()
    view = sensors(db)
    release = threading.Event()
    seen: list[eg.Event] = []
    stuck = view.on_update(lambda _: release.wait(60), name="stuck")
    quick = view.on_update(seen.append, name="quick")
    start = time.monotonic()
    for speed in range(50):
        db.put_vertex(0, speed=speed)
    assert quick.wait(db.snapshot().version)
    assert time.monotonic() - start < 30
    assert len(seen) == 50
    assert stuck.status.handled == 0
    release.set()
    assert stuck.wait(db.snapshot().version)


def test_ends_and_wrong_arguments(tmp_path: Path) -> None:
    db = eg.open()
    view = sensors(db)
    watch = view.on_update(lambda _: view.drop(), name="watch")
    with pytest.raises(eg.HandlerInUseError, match="watch"):
        view.on_update(print, name="watch")
    for wrong in (
        {"name": ""},
        {"name": "a/b"},
        {"name": "x", "kinds": ["vertices"]},
        {"name": "x", "batch_size": 0},
    ):
        with pytest.raises(ValueError, match=r"name|kinds|batch_size"):
            view.on_update(print, **wrong)
    with pytest.raises(TypeError, match="callable"):
        view.on_update(3, name="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no name"):
        (view | view).on_update(print, name="x")
    db.put_vertex(0, speed=1)
    for _ in range(1000):
        if watch.status.state == "dropped":
            break
        time.sleep(0.01)
    assert watch.status.state == "dropped"
    with pytest.raises(eg.NotFoundError):
        view.on_update(print, name="y")
    other = db.create_view("other", where="road = 'B'")
    last = other.on_update(print, name="z")
    db.close()
    assert last.status.state == "stopped"
    with eg.open(tmp_path / "net.eg") as stored:
        sensors(stored)
    with eg.open(tmp_path / "net.eg", read_only=True) as stored, pytest.raises(eg.ReadOnlyError):
        stored.view("road a").on_update(print, name="w")


def test_the_transaction_of_a_handler_is_not_its_own_to_end() -> None:
    db = eg.open()
    view = sensors(db)

    def ends(event: eg.Event, tx: eg.Transaction) -> None:
        ways: dict[Any, Callable[[], object]] = {0: tx.commit, 1: tx.rollback, 2: tx.submit}
        ways[event.vertex]()

    watch = view.on_update(ends, name="ends", exactly_once=True, retries=1, backoff=0)
    db.put_vertex(0, speed=1)
    db.put_vertex(1, speed=1)
    assert watch.wait(db.put_vertex(2, speed=1))
    letters = view.dead_letters("ends")
    assert [letter.event.vertex for letter in letters] == [0, 1, 2]
    assert all("committed when the handler returns" in letter.error for letter in letters)


def test_an_async_handler_is_refused() -> None:
    db = eg.open()
    view = sensors(db)

    async def handler(event: eg.Event) -> None:
        raise AssertionError(event)

    class Called:
        async def __call__(self, event: eg.Event) -> None:
            raise AssertionError(event)

    for refused in (handler, Called()):
        with pytest.raises(TypeError, match="a handler is called, not awaited"):
            view.on_update(refused, name="h")


def test_a_view_that_is_gone_can_be_shown() -> None:
    db = eg.open()
    view, other = sensors(db), db.create_view("other", where="speed > 1")
    other.drop()
    assert repr(other).startswith("View('other': no longer to be had, there is no view")
    db.close()
    assert repr(view).startswith("View('road a': no longer to be had, ")
