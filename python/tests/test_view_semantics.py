"""docs/semantics.md read out: views and events, in its order, but for what the tests of these have."""

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evergraph as eg


def before_long(is_so: Callable[[], bool]) -> bool:
    for _ in range(2000):
        if is_so():
            return True
        time.sleep(0.01)
    return False


def road(db: eg.Database) -> eg.View:
    """Put three sensors on road A, and give them as a view."""
    for key in range(3):
        db.put_vertex(key, "Sensor", road="A", speed=100)
    return db.create_view("road a", where="road = 'A'")


def test_the_definition_is_the_present_one_on_older_snapshots_too() -> None:
    db = eg.open()
    db.add_edges([1, 2, 3], [2, 3, 1])
    old = db.snapshot()
    db.put_edge(3, 4, "edge")
    db.create_view("v", vertices=[1, 2])
    db.view("v").drop()
    db.create_view("v", vertices=[3, 4])
    # It has what the snapshot has, and nothing committed after it.
    assert set(db.view("v").at(old)) == {3}
    assert set(db.view("v")) == {3, 4}


def test_members_that_are_deleted_and_put_again_are_members_again() -> None:
    db = eg.open()
    db.add_edges([1, 2, 3], [2, 3, 1])
    vertices = db.create_view("vertices", vertices=[1, 2])
    way = db.create_view("way", edges=[(2, 3)])
    frozen = db.create_view("frozen", where="id <= 2", frozen=True)
    db.delete_vertex(2)
    assert (set(vertices), set(way), set(frozen)) == ({1}, set(), {1})
    db.put_edge(2, 3, "edge")
    assert (set(vertices), set(way), set(frozen)) == ({1, 2}, {2, 3}, {1, 2})
    db.delete_edge(2, 3)
    assert (way.num_vertices, way.num_edges) == (0, 0)


def test_of_a_multi_type_every_edge_between_the_two_ends() -> None:
    db = eg.open()
    db.create_edge_type("pays", multi=True)
    db.put_edge(1, 2, "pays")
    way = db.create_view("way", edges=[(1, 2)])
    db.put_edge(1, 2, "pays")
    db.put_edge(2, 1, "pays")
    assert way.num_edges == 2


def test_a_schema_that_a_predicate_no_longer_fits() -> None:
    db = eg.open()
    view = road(db)
    watch = view.on_update(print, name="watch")
    db.rename_property("road", "street")
    assert before_long(lambda: watch.status.state == "failed")
    assert '"road"' in (watch.status.error or "")
    with pytest.raises(eg.PredicateError, match='"road"'):
        set(view)
    assert [known.name for known in db.views()] == ["road a"]
    db.rename_property("street", "road")
    assert set(view) == {0, 1, 2}


def test_what_tells_nothing() -> None:
    db = eg.open()
    db.create_edge_type("pays", properties={"amount": "int64"}, multi=True)
    view = road(db)
    seen: list[eg.Event] = []
    watch = view.on_update(seen.append, name="watch")
    db.put_vertex(0, speed=100)
    db.put_edge(0, 1, "pays", amount=1)
    # An event of its own, and no change of the first.
    db.put_edge(0, 1, "pays", amount=2)
    db.put_edge(0, 9, "pays", amount=3)
    # The vertex stands for its edges, and for what it brings along.
    db.put_vertex(9, "Sensor", road="A", speed=7)
    assert watch.wait(db.put_vertex(9, road="B"))
    assert [(event.kind, event.change, event.vertex) for event in seen] == [
        ("edge", "added", None),
        ("edge", "added", None),
        ("vertex", "added", 9),
        ("vertex", "removed", 9),
    ]


def test_of_a_view_by_a_predicate_of_edges_alone() -> None:
    db = eg.open()
    db.put_edge(1, 2, "road", length=1)
    long = db.create_view("long", edges_where="length > 5")
    seen: list[eg.Event] = []
    watch = long.on_update(seen.append, name="watch")
    db.put_edge(1, 2, "road", length=7)
    db.put_edge(1, 2, "road", length=8)
    assert watch.wait(db.put_edge(1, 2, "road", length=2))
    assert [(event.kind, event.change, event.new) for event in seen] == [
        ("edge", "added", None),
        ("property", "changed", 8),
        ("edge", "removed", None),
    ]


KILLED = """
import os, sys
import evergraph as eg
db = eg.open(sys.argv[1], durability="sync")
view = db.view("road a") if db.views() else None
if view is None:
    db.put_vertex(0, "Sensor", road="A", speed=0)
    db.put_vertex(100, count=0)
    view = db.create_view("road a", where="road = 'A'")
calls = 0
def count(event, tx):
    global calls
    calls += 1
    print(event.new, flush=True)
    tx.put_vertex(100, count=tx.vertex(100)["count"] + 1)
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), 9)
watch = view.on_update(count, name="count", exactly_once=True, kinds=["property"])
start = db.snapshot().vertex(0)["speed"]
for speed in range(start + 1, 31):
    db.put_vertex(0, speed=speed)
watch.wait(db.snapshot().version)
print("count", db.snapshot().vertex(100)["count"])
db.close()
"""


def test_with_exactly_once_a_crash_between_event_and_place_counts_once(tmp_path: Path) -> None:
    """A process is killed inside its handler, which may have been given several events in one transaction."""
    told: list[int] = []
    for calls in (3, 7, 12):
        arguments = [sys.executable, "-c", KILLED, str(tmp_path / "net.eg")]
        killed = subprocess.run([*arguments, str(calls)], capture_output=True, text=True, check=False)
        assert killed.returncode == -9, killed.stderr
        told += map(int, killed.stdout.split())
    ended = subprocess.run([*arguments, "0"], capture_output=True, text=True, check=True)
    *rest, word, count = ended.stdout.split()
    told += map(int, rest)
    # At least once and in order, again from where its place was; and counted once.
    assert sorted(set(told)) == list(range(1, 31))
    assert len(told) > 30
    assert (word, count) == ("count", "30")


def test_dead_letters_last(tmp_path: Path) -> None:
    def bad(_: eg.Event) -> None:
        message = "never"
        raise ValueError(message)

    with eg.open(tmp_path / "net.eg") as db:
        watch = road(db).on_update(bad, name="bad", retries=0, backoff=0.001)
        assert watch.wait(db.put_vertex(0, speed=1))
    with eg.open(tmp_path / "net.eg") as db:
        (letter,) = db.view("road a").dead_letters("bad")
        assert (letter.error, letter.event.new) == ("ValueError: never", 1)


def test_a_conflict_is_no_failure() -> None:
    db = eg.open()
    view = road(db)
    db.put_vertex(100, count=0)
    conflicts = iter([True] * 3 + [False] * 100)

    def count(_: eg.Event, tx: eg.Transaction) -> None:
        counted: Any = tx.vertex(100)["count"]
        if next(conflicts):
            db.put_vertex(100, count=counted)
        tx.put_vertex(100, count=counted + 1)

    watch = view.on_update(count, name="count", exactly_once=True, retries=0, kinds=["property"])
    assert watch.wait(db.put_vertex(0, speed=1))
    assert before_long(lambda: watch.status.handled == 1)
    assert (watch.status.failures, watch.status.dead) == (0, 0)
    assert db.snapshot().vertex(100)["count"] == 1


def test_closing_leaves_a_call_under_way_and_its_event_comes_again(tmp_path: Path) -> None:
    called, release = threading.Event(), threading.Event()

    def endless(_: eg.Event) -> None:
        called.set()
        release.wait(60)

    with eg.open(tmp_path / "net.eg") as db:
        watch = road(db).on_update(endless, name="watch")
        db.put_vertex(0, speed=1)
        assert called.wait(30)
        start = time.monotonic()
    assert time.monotonic() - start < 30
    assert watch.status.state == "stopped"
    seen: list[object] = []
    with eg.open(tmp_path / "net.eg") as db:
        again = db.view("road a").on_update(lambda event: seen.append(event.new), name="watch")
        assert again.wait(db.put_vertex(0, speed=2))
    release.set()
    assert seen == [1, 2]


def test_handlers_of_one_view_are_each_told_what_they_want() -> None:
    db = eg.open()
    view = road(db)
    seen: dict[str, list[object]] = {"speed": [], "lanes": [], "late": []}
    watches = {
        name: view.on_update(
            lambda event, name=name: seen[name].append(event.new), name=name, properties=[name]
        )
        for name in ("speed", "lanes")
    }
    version = db.put_vertex(0, speed=1, lanes=2)
    assert all(watch.wait(version) for watch in watches.values())
    watches["speed"].stop()
    late = view.on_update(lambda event: seen["late"].append(event.new), name="late", kinds=["property"])
    version = db.put_vertex(0, speed=3, lanes=4)
    assert watches["lanes"].wait(version)
    assert late.wait(version)
    assert seen == {"speed": [1], "lanes": [2, 4], "late": [3, 4]}
