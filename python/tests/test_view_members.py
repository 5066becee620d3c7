"""Handlers of views whose members come and go with something else: with given edges, or the schema."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evergraph as eg

Act = Callable[[eg.Database], object]


def told(events: list[eg.Event]) -> list[tuple[Any, ...]]:
    return [(event.kind, event.change, event.vertex or event.edge) for event in events]


GIVEN = [("a", "b", "e")]


@pytest.mark.parametrize("others", [{}, {"vertices": ["c"]}, {"where": "x >= 1"}], ids=str)
def test_the_ends_of_given_edges_come_and_go_with_them(others: dict[str, Any]) -> None:
    db = eg.open()
    for key in "abcd":
        db.put_vertex(key, x=0 if key in "ab" else 1)
    db.put_edge("a", "b", "e")
    db.put_edge("c", "d", "e")
    view = db.create_view("v", edges=GIVEN, **others)
    events: list[eg.Event] = []
    watch = view.on_update(events.append, name="watch")
    known: set[Any] = set(view)

    def after(act: Act) -> list[tuple[Any, ...]]:
        before = len(events)
        act(db)
        assert watch.wait(db.snapshot().version)
        new = events[before:]
        for event in new:
            if event.kind == "vertex":
                (known.add if event.change == "added" else known.remove)(event.vertex)
        assert known == set(view)
        places = [event.place for event in new]
        assert places == sorted(set(places))
        return told(new)

    ends = [("vertex", "removed", "a"), ("vertex", "removed", "b")]
    assert after(lambda db: db.put_vertex("a", y=1)) == [("property", "changed", "a")]
    assert after(lambda db: db.delete_edge("a", "b", "e")) == [*ends, ("edge", "removed", ("a", "b", "e"))]
    assert after(lambda db: db.put_vertex("a", y=2)) == []
    back = [("vertex", "added", "a"), ("vertex", "added", "b"), ("edge", "added", ("a", "b", "e"))]
    assert after(lambda db: db.put_edge("a", "b", "e")) == back
    assert after(lambda db: db.delete_vertex("a")) == [*ends, ("edge", "removed", ("a", "b", "e"))]
    assert after(lambda db: db.put_edge("a", "b", "e")) == back

    def instead(db: eg.Database) -> None:
        with db.begin() as tx:
            tx.delete_vertex("a")
            tx.put_edge("a", "c", "e")

    assert after(instead) == [*ends, ("edge", "removed", ("a", "b", "e"))]
    after(lambda db: db.put_edge("a", "b", "e"))
    assert after(lambda db: db.drop_edge_type("e")) == ends


def swap(db: eg.Database) -> None:
    with db.begin() as tx:
        tx.rename_property("a", "t")
        tx.rename_property("b", "a")
        tx.rename_property("t", "b")


def drop_and_add(db: eg.Database) -> None:
    with db.begin() as tx:
        tx.drop_property("a")
        tx.add_property("a", "int64")


def drop_and_make_type(db: eg.Database) -> None:
    with db.begin() as tx:
        tx.drop_vertex_type("P")
        tx.create_vertex_type("P")


@pytest.mark.parametrize(
    ("where", "alter"),
    [
        ("type = 'P'", lambda db: db.drop_vertex_type("P")),
        ("type is null", lambda db: db.drop_vertex_type("P")),
        ("type = 'P'", lambda db: db.rename_vertex_type("P", "Q")),
        ("type = 'Q'", lambda db: db.rename_vertex_type("P", "Q")),
        ("type = 'P'", drop_and_make_type),
        ("a = 0", swap),
        ("a = 1", swap),
        ("a is null", drop_and_add),
        ("a = 1", drop_and_add),
    ],
)
@pytest.mark.parametrize("is_behind", [False, True])
def test_a_schema_that_is_altered_changes_who_is_in_a_view(
    where: str, alter: Act, is_behind: bool, tmp_path: Path
) -> None:
    with eg.open(tmp_path / "db.eg", durability="none") as db:
        db.create_vertex_type("P", {"a": "int64", "b": "int64"})
        for key in (1, 2):
            db.put_vertex(key, type="P", a=1, b=0)
        db.put_vertex(3)
        view = db.create_view("v", where=where)
        events: list[eg.Event] = []
        watch = view.on_update(events.append, name="watch")
        known: set[Any] = set(view)
        if is_behind:
            watch.stop()
        alter(db)
        in_between = set(view)
        version = db.put_vertex(1, b=77, a=5)
        if is_behind:
            watch = view.on_update(events.append, name="watch")
        assert watch.wait(version)
        changed = [event for event in events if event.kind == "vertex" and event.version < version]
        assert known != in_between
        for event in events:
            if event.kind == "vertex":
                (known.add if event.change == "added" else known.remove)(event.vertex)
        assert known == set(view)
        assert {event.vertex for event in changed} <= {1, 2}
        assert [event.vertex for event in changed] == sorted(event.vertex for event in changed)  # type: ignore[type-var]


def test_a_view_is_not_evaluated_on_what_is_of_another_database() -> None:
    db, other = eg.open(), eg.open()
    db.create_edge_type("e")
    for key in ("alice", "bob", "carol"):
        db.put_vertex(key)
    other.put_vertex("zoe")
    window = db.window(edges=10, edge_type="e")
    db.put_edge("carol", "alice", "e")
    view = db.create_view("v", vertices=["alice", "bob"])
    foreign = other.create_view("o", vertices=["zoe"])
    acts: list[Callable[[], object]] = [
        lambda: view.at(other.snapshot()),
        lambda: view.at(window.advance()),
        lambda: view.statistics(other.snapshot()),
        lambda: list(view | foreign),
        lambda: (view - ["bob"]).at(other.snapshot()),
    ]
    for act in acts:
        with pytest.raises(ValueError, match="of another database"):
            act()
    assert set(view.at(db.snapshot())) == {"alice", "bob"}


def test_a_stream_called_events_is_none_of_the_handlers(tmp_path: Path) -> None:
    path = tmp_path / "db.eg"
    with eg.open(path, durability="none") as db:
        db.put_vertex(1)
        view = db.create_view("v", where="id >= 0")
        with db.stream(name="events", timeout=0) as stream:
            watch = view.on_update(print, name="h")
            assert watch.wait(db.put_vertex(2))
            assert [batch.version for batch in stream] == [db.snapshot().version]
            stream.acknowledge()
        assert list(db.cursors()) == ["events"]
        assert db.drop_cursor("events")
        assert db.cursors() == {}
        for reserved in (".handlers", ".events"):
            with pytest.raises(ValueError, match="no name for a cursor"):
                db.drop_cursor(reserved)
            with pytest.raises(ValueError, match="no name for a cursor"):
                db.stream(name=reserved)


def test_handlers_keep_the_place_that_they_had_in_the_cursor_events(tmp_path: Path) -> None:
    path = tmp_path / "db.eg"
    with eg.open(path, durability="none") as db:
        db.put_vertex(1)
        watch = db.create_view("v", where="id >= 0").on_update(print, name="h")
        assert watch.wait(db.put_vertex(2))
        watch.stop()
        db.stream(name="events", timeout=0).close()
    # As it was before handlers had a name of their own.
    (path / "cursors" / ".handlers.cursor").unlink()
    with eg.open(path, durability="none") as db:
        assert db.cursors() == {}
        for key in range(10, 15):
            db.put_vertex(key)
        db.checkpoint()
        db.compact()
        seen: list[Any] = []
        watch = db.view("v").on_update(lambda event: seen.append(event.vertex), name="h")
        assert watch.wait(db.snapshot().version)
    assert seen == [10, 11, 12, 13, 14]
    assert sorted(file.name for file in (path / "cursors").iterdir()) == [".handlers.cursor"]
