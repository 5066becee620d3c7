"""History, differences and streams as Python has them."""

import asyncio
import random
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

import evergraph as eg


def edges_of(view: eg.Snapshot) -> set[tuple[object, object]]:
    table = view.edges()
    return set(zip(table["src"].to_list(), table["dst"].to_list(), strict=True))


@pytest.mark.parametrize("on_disk", [True, False])
def test_every_version_and_every_difference_is_as_it_was(tmp_path: Path, on_disk: bool) -> None:
    path = tmp_path / "net.eg" if on_disk else None
    chance = random.Random(5)
    db = eg.open(path, retain="all")
    seen: dict[int, set[tuple[object, object]]] = {0: set()}
    edges: set[tuple[int, int]] = set()
    for step in range(120):
        src, dst = chance.randrange(12), chance.randrange(12)
        if chance.random() < 0.3 and edges:
            edge = chance.choice(sorted(edges))
            db.delete_edge(edge[0], edge[1], "edge")
            edges.discard(edge)
        elif chance.random() < 0.1:
            db.delete_vertex(src)
            edges = {edge for edge in edges if src not in edge}
        else:
            db.put_edge(src, dst, "edge")
            edges.add((src, dst))
        seen[db.snapshot().version] = set(edges)
        if step % 40 == 39:
            db.checkpoint()
    if on_disk:
        db.close()
        db = eg.open(path)
    assert db.retained == range(max(seen) + 1)
    versions = [version for version in seen if version > 0]
    for one, two in zip(chance.sample(versions, 20), chance.sample(versions, 20), strict=True):
        before, after = db.snapshot(at=one), db.snapshot(at=two)
        assert edges_of(before) == seen[one]
        assert db.snapshot(at=before.time).time == before.time
        change = eg.diff(before, after)
        added = set(zip(change.added["src"].to_list(), change.added["dst"].to_list(), strict=True))
        removed = set(zip(change.removed["src"].to_list(), change.removed["dst"].to_list(), strict=True))
        assert (added, removed) == (seen[two] - seen[one], seen[one] - seen[two])
        assert bool(change) == (
            seen[one] != seen[two]
            or change.added_vertices.to_list() != []
            or change.removed_vertices.to_list() != []
        )
    assert db.snapshot(stale=True).version in seen
    db.close()


def test_what_is_not_retained_is_named() -> None:
    with eg.open() as db:
        db.put_edge(1, 2, "edge")
        db.put_edge(2, 3, "edge")
        with pytest.raises(eg.NotRetainedError) as caught:
            db.snapshot(at=1)
        assert (caught.value.first, caught.value.last) == (2, 2)
        with pytest.raises(eg.NotRetainedError):
            db.snapshot(at=datetime(2001, 1, 1))
        assert db.snapshot(at=datetime.now(timezone.utc) + timedelta(1)).version == 2
        for wrong in ("yesterday", True):
            with pytest.raises(TypeError):
                db.snapshot(at=wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="both"):
            db.snapshot(at=1, stale=True)
    for retain in ("7 parsecs", "-3", -3):
        with pytest.raises(ValueError, match="retain"):
            eg.open(retain=retain)


def test_a_stream_gives_commits_with_the_state_they_lead_to() -> None:
    with eg.open(retain=1000) as db:
        with db.stream(stateful=True, batch_size=2, timeout=0) as stream:
            db.put_vertex("alice", age=30)
            for amount in (1.0, 2.0, 3.0):
                db.put_edge("alice", "bob", "pays", amount=amount)
            db.delete_vertex("bob")
            batches = list(stream)
        assert [batch.version for batch in batches] == [3, 5]
        first, second = batches
        assert first.edges.column_names == ["src", "dst", "amount", "version", "time"]
        assert first.edges["amount"].to_list() == [1.0, 2.0]
        assert first.edges["version"].to_list() == [2, 3]
        assert first.snapshot is not None
        assert first.snapshot.edge("alice", "bob", "pays")["amount"] == 2.0
        assert set(first.changed_vertices.to_list()) == {"alice", "bob"}
        assert second.deleted["dst"].to_list() == ["bob"]
        assert second.snapshot is not None
        assert "bob" not in second.snapshot
        assert second.after == first.version


def test_a_named_stream_goes_on_after_what_it_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "net.eg"
    with eg.open(path) as db:
        stream = db.stream(name="copy", batch_size=1, timeout=0)
        with pytest.raises(eg.LockedError):
            db.stream(name="copy")
        for dst in range(5):
            db.put_edge(100, dst, "edge")
        assert next(stream).edges["dst"].to_list() == [0]
        assert next(stream).edges["dst"].to_list() == [1]
        db.checkpoint()
    with eg.open(path) as db:
        assert db.cursors() == {"copy": 1}
        with db.stream(name="copy", batch_size=1, timeout=0) as again:
            assert [batch.edges["dst"].to_list() for batch in again] == [[1], [2], [3], [4]]
        assert db.drop_cursor("copy")
        with pytest.raises(ValueError, match="no name"):
            db.stream(name="no/name")
        with pytest.raises(ValueError, match="ahead"):
            db.stream(from_version=99)


def test_a_stream_of_some_types_passes_over_the_others() -> None:
    with eg.open() as db:
        db.create_edge_type("pays", properties={"amount": "float64"}, multi=True)
        with pytest.raises(eg.SchemaError):
            db.stream(["owes"])
        stream = db.stream(["pays"], timeout=0)
        db.put_edge("a", "b", "knows")
        db.put_edge("a", "b", "pays", amount=1.0)
        db.put_edge("a", "b", "pays", amount=1.0)
        assert [len(batch.edges) for batch in stream] == [2]
    with pytest.raises(eg.ClosedError):
        next(stream)


def test_async_iteration() -> None:
    async def read(db: eg.Database) -> list[int]:
        return [batch.version async for batch in db.stream(from_version=0, timeout=0.2)]

    with eg.open(retain="all") as db:
        db.put_edge(1, 2, "edge")
        db.put_edge(1, 3, "edge")
        assert asyncio.run(read(db)) == [2]


def test_a_reader_that_is_cancelled_loses_no_batch() -> None:
    async def read(db: eg.Database) -> list[object]:
        found: list[object] = []
        with db.stream(batch_size=1, timeout=0.5) as stream:
            for dst in range(30):
                pull = asyncio.ensure_future(anext(stream))
                await asyncio.sleep(0.001 * (dst % 4))
                db.put_edge(100, dst, "edge")
                await asyncio.sleep(0.001 * (dst % 3))
                pull.cancel()
                try:
                    found += (await pull).edges["dst"].to_list()
                except asyncio.CancelledError:
                    stream.acknowledge()
            async for batch in stream:
                found += batch.edges["dst"].to_list()
        return found

    with eg.open() as db:
        assert asyncio.run(read(db)) == list(range(30))


def test_what_was_dropped_or_renamed_in_between_is_told_once() -> None:
    with eg.open() as db:
        db.create_edge_type("pays", properties={"amount": "float64", "note": "string"})
        db.create_vertex_type("Person", properties={"age": "int32"})
        db.put_vertex("alice", type="Person", age=30)
        db.put_edge("alice", "bob", "pays", amount=1.0, note="rent")
        db.put_edge("alice", "carol", "pays", amount=2.0, note="rent")
        db.put_edge("alice", "bob", "knows", since=3)
        before = db.snapshot()
        db.rename_edge_type("pays", "owes")
        db.rename_property("amount", "sum", edge_type="owes")
        db.drop_property("note", edge_type="owes")
        db.drop_vertex_type("Person")
        assert not eg.diff(before, db.snapshot())
        db.drop_edge_type("knows")
        db.put_edge("alice", "carol", "owes", sum=5.0)
        after = db.snapshot()
        change = eg.diff(before, after)
        assert change.removed.column_names == ["src", "dst", "type", "sum", "since"]
        assert list(change.removed.rows()) == [("alice", "bob", "knows", None, 3)]
        assert [change.changed_from["sum"].to_list(), change.changed_to["sum"].to_list()] == [[2.0], [5.0]]
        assert (len(change.added), len(change.changed_vertices)) == (0, 0)
        assert len(eg.diff(after, before).added) == 1
        assert not eg.diff(before.with_edge_types(["pays"]), after.with_edge_types(["owes"])).removed
        with eg.open() as other:
            other.put_edge(1, 2, "edge")
            with pytest.raises(ValueError, match="two databases"):
                eg.diff(before, other.snapshot())
        with eg.open() as empty, pytest.raises(ValueError, match="two databases"):
            eg.diff(before, empty.snapshot())


def test_a_batch_that_was_not_acknowledged_comes_again_after_a_crash(tmp_path: Path) -> None:
    script = f"""
import os
import evergraph as eg
db = eg.open({str(tmp_path / "net.eg")!r})
stream = db.stream(name="copy", batch_size=2, timeout=0)
for dst in range(6):
    db.put_edge(100, dst, "edge")
print(next(stream).edges["dst"].to_list(), flush=True)
print(next(stream).edges["dst"].to_list(), flush=True)
os.kill(os.getpid(), 9)
"""
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (killed.stdout, killed.returncode) == ("[0, 1]\n[2, 3]\n", -9), killed.stderr
    with eg.open(tmp_path / "net.eg") as db, db.stream(name="copy", batch_size=2, timeout=0) as stream:
        assert [batch.edges["dst"].to_list() for batch in stream] == [[2, 3], [4, 5]]


def test_two_processes_with_one_cursor(tmp_path: Path) -> None:
    script = f"""
import evergraph as eg
try:
    eg.open({str(tmp_path / "net.eg")!r}).stream(name="copy")
except eg.LockedError as error:
    print("locked")
"""
    with eg.open(tmp_path / "net.eg") as db, db.stream(name="copy"):
        other = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        assert other.stdout == "locked\n", other.stderr


def test_who_asks_for_what_the_log_no_longer_has_is_told(tmp_path: Path) -> None:
    with eg.open(tmp_path / "net.eg") as db:
        db.put_edge(1, 2, "edge")
        db.put_edge(1, 3, "edge")
        db.checkpoint()
        with pytest.raises(eg.NotRetainedError) as caught:
            db.stream(from_version=1)
        assert caught.value.first == db.retained.start + 1
        with db.stream(from_version=db.retained.start, timeout=0) as stream:
            assert list(stream) == []


def test_batches_by_time_gather_commits() -> None:
    with eg.open() as db:
        stream = db.stream(every="1s", timeout=0)
        db.put_edge(1, 2, "edge")
        db.put_edge(1, 3, "edge")
        batch = next(stream)
        assert len(batch.edges) == 2
        assert "edges=2" in repr(batch)
