"""docs/semantics.md read out: versions and history, then streams, in its order."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

import evergraph as eg


def ends(table: eg.Table) -> list[tuple[object, object]]:
    return list(zip(table["src"].to_list(), table["dst"].to_list(), strict=True))


def test_versions_are_numbered_without_gaps_and_show_one_state_for_ever() -> None:
    with eg.open(retain="all") as db:
        assert [db.put_edge(1, dst, "edge") for dst in range(2, 5)] == [1, 2, 3]
        shown = db.snapshot()
        assert [db.snapshot(at=version).num_edges for version in (3, 0, 1, 2)] == [3, 0, 1, 2]
        db.delete_vertex(1)
        assert (shown.num_edges, db.snapshot().num_edges, db.snapshot(at=3).num_edges) == (3, 0, 3)
        times = [db.snapshot(at=version).time for version in range(1, 5)]
        assert times == sorted(times)


def test_at_is_a_version_or_a_time(tmp_path: Path) -> None:
    with eg.open(tmp_path / "net.eg", retain="all") as db:
        for dst in range(2, 6):
            db.put_edge(1, dst, "edge")
        time = db.snapshot(at=2).time
        newest_then = max(version for version in range(1, 5) if db.snapshot(at=version).time <= time)
        assert db.snapshot(at=time).version == newest_then
        assert db.snapshot(at=time.replace(tzinfo=None)).version == newest_then
        assert db.snapshot(at=time.astimezone(timezone(timedelta(hours=5)))).version == newest_then
        assert db.snapshot(at=time - timedelta(days=1)).version == 0
        later = datetime.now(timezone.utc) + timedelta(days=1)
        assert db.snapshot(at=later).version == 4
        db.put_edge(1, 9, "edge")
        assert db.snapshot(at=later).version == 5
        db.checkpoint()
        db.put_edge(1, 10, "edge")
        assert (db.snapshot(stale=True).version, db.snapshot().version) == (5, 6)
    with eg.open() as db:
        db.put_edge(1, 2, "edge")
        assert db.snapshot(stale=True).version == 1


@pytest.mark.parametrize("is_on_disk", [False, True])
@pytest.mark.parametrize("key", [lambda number: 7 * number, lambda number: f"session {number}"])
def test_a_graph_whose_keys_come_and_go_does_not_grow(
    key: Callable[[int], eg.Key], is_on_disk: bool, tmp_path: Path
) -> None:
    taken, stay = [], set[eg.Key]()
    with eg.open(tmp_path / "net.eg" if is_on_disk else None, durability="none") as db:
        for first in range(0, 20_000, 1000):
            keys = [key(number) for number in range(first, first + 1000)]
            db.add_edges(keys, keys[:1] * 1000)
            shown = db.snapshot()
            with db.begin() as tx:
                assert [tx.delete_vertex(key) for key in keys] == [True] * 1000
            db.compact()
            db.put_edge(key(-1 - first), keys[0])
            # It shows its own keys, though they are gone from the newest version.
            assert {*shown} == {*keys} | stay
            assert {*shown.in_neighbors(keys[0])} == {*keys}
            stay |= {key(-1 - first), keys[0]}
            del shown
            taken.append(db.stats().dictionary_bytes)
    assert max(taken) < 2 * taken[3], taken


def test_others_commit_while_a_load_goes_on_and_see_it_whole_or_not_at_all(tmp_path: Path) -> None:
    loaded = 1 << 20
    with eg.open(tmp_path / "net.eg", durability="interval") as db, ThreadPoolExecutor(1) as pool:
        rows = np.arange(loaded)
        load = pool.submit(db.add_edges, rows % 5000, rows)
        put = 0
        while not load.done():
            put += 1
            db.put_edge(-put, put, "edge")
            assert db.snapshot().num_edges - put in (0, loaded)
        assert load.result().edges == loaded
        assert db.snapshot().num_edges == loaded + put


def test_what_is_retained(tmp_path: Path) -> None:
    path = tmp_path / "net.eg"
    with eg.open(path) as db:
        db.put_edge(1, 2, "edge")
        db.checkpoint()
        db.put_edge(1, 3, "edge")
        db.put_edge(1, 4, "edge")
        # Without it, the versions since the last archive.
        assert db.retained == range(1, 4)
        db.checkpoint()
        assert db.retained == range(3, 4)
        with pytest.raises(eg.NotRetainedError) as caught:
            db.snapshot(at=2)
        assert (caught.value.first, caught.value.last) == (3, 3)
    # From the last archive on, and remembered.
    eg.open(path, retain="7d").close()
    with eg.open(path) as db:
        for dst in range(5, 8):
            db.put_edge(1, dst, "edge")
            db.checkpoint()
        assert db.retained == range(3, 7)
        assert [db.snapshot(at=version).num_edges for version in db.retained] == [3, 4, 5, 6]
        db.backup(tmp_path / "copy.eg")
    with eg.open(tmp_path / "copy.eg") as copy:
        # No history of the past, but from now on.
        assert copy.retained == range(6, 7)
        copy.put_edge(1, 8, "edge")
        copy.checkpoint()
        assert copy.retained == range(6, 8)
    with eg.open(path, retain="none") as db:
        db.put_edge(1, 8, "edge")
        db.checkpoint()
        assert db.retained == range(7, 8)


def test_what_is_deleted_stays_in_the_versions_before() -> None:
    with eg.open(retain="all") as db:
        db.put_vertex("bob", age=31)
        db.put_edge("alice", "bob", "knows", since=2019)
        before = db.put_edge("alice", "bob", "pays", amount=1.0)
        db.delete_vertex("bob")
        db.put_vertex("bob")
        again = db.snapshot()
        assert (again.num_edges, "age" in again.vertex("bob")) == (0, False)
        then = db.snapshot(at=before)
        assert (then.num_edges, then.vertex("bob")["age"]) == (2, 31)
        db.put_edge("alice", "carol", "knows", since=2020)
        with_all = db.snapshot().version
        db.drop_property("since", edge_type="knows")
        db.rename_edge_type("knows", "met")
        db.drop_edge_type("pays")
        assert db.snapshot().edges().column_names == ["src", "dst"]
        assert db.snapshot(at=with_all).edge_types == ["knows", "pays"]
        assert db.snapshot(at=with_all).edge("alice", "carol", "knows")["since"] == 2020


def test_a_difference_is_of_what_versions_hold() -> None:
    with eg.open() as db:
        db.create_edge_type("call", properties={"minutes": "int32"}, multi=True)
        db.create_edge_type("married", symmetric=True)
        db.put_edge(1, 2, "edge", n=1)
        db.put_edge(1, 2, "call", minutes=5)
        before = db.snapshot()
        db.delete_edge(1, 2, "edge")
        db.put_edge(1, 2, "edge", n=1)
        assert not eg.diff(before, db.snapshot())
        db.put_edge(1, 2, "edge", n=2)
        db.put_edge(1, 2, "call", minutes=5)
        db.put_edge(2, 1, "married")
        change = eg.diff(before, db.snapshot())
        assert (change.changed_from["n"].to_list(), change.changed_to["n"].to_list()) == ([1], [2])
        assert sorted(zip(change.added["type"].to_list(), ends(change.added), strict=True)) == [
            ("call", (1, 2)),
            ("married", (1, 2)),
        ]
        back = eg.diff(db.snapshot(), before)
        assert sorted(back.removed.rows()) == sorted(change.added.rows())
        assert list(back.changed_to.rows()) == list(change.changed_from.rows())
        view = db.create_view("some", vertices=[1])
        with pytest.raises(ValueError, match="confined"):
            eg.diff(view.at(), db.snapshot())


def test_a_type_made_again_is_another_one() -> None:
    with eg.open() as db:
        db.put_edge(1, 2, "edge")
        before = db.snapshot()
        db.drop_edge_type("edge")
        db.put_edge(1, 2, "edge")
        change = eg.diff(before, db.snapshot())
        assert (ends(change.removed), ends(change.added)) == ([(1, 2)], [(1, 2)])
        assert change.added["type"].to_list() == ["edge"]


def test_a_stream_tells_what_was_asked_for() -> None:
    with eg.open() as db:
        stream = db.stream(timeout=0)
        db.put_edge("a", "b", "edge", n=1, m=2)
        db.put_edge("a", "b", "edge", n=3)
        db.delete_edges(["a"], ["x"])
        db.put_edge("b", "c", "edge")
        db.delete_vertex("b")
        batch = next(stream)
        assert ends(batch.edges) == [("a", "b"), ("a", "b"), ("b", "c")]
        assert batch.edges["m"].to_list() == [2, None, None]
        assert db.snapshot().num_edges == 0
        assert sorted(ends(batch.deleted)) == [("a", "b"), ("a", "x"), ("b", "c")] or sorted(
            ends(batch.deleted)
        ) == [("a", "b"), ("b", "c")]
        assert set(batch.changed_vertices.to_list()) >= {"a", "b", "c"}


def test_what_is_of_no_interest_is_passed_over() -> None:
    with eg.open() as db:
        db.create_edge_type("pays")
        all_types, one_type = db.stream(timeout=0), db.stream(["pays"], timeout=0)
        db.create_edge_type("knows")
        db.create_view("some", where="id = 7")
        assert list(all_types) == []
        db.put_vertex(7)
        assert next(all_types).changed_vertices.to_list() == [7]
        db.put_edge(7, 8, "knows")
        assert list(one_type) == []
        db.put_edge(7, 8, "pays")
        batch = next(one_type)
        assert (ends(batch.edges), set(batch.changed_vertices.to_list())) == ([(7, 8)], {7, 8})
        db.rename_edge_type("pays", "owes")
        db.put_edge(7, 9, "owes")
        assert ends(next(one_type).edges) == [(7, 9)]
        db.drop_edge_type("owes")
        with pytest.raises(eg.SchemaError, match="dropped"):
            next(one_type)


@pytest.mark.parametrize("retain", [None, "all"])
def test_batches_end_between_commits_with_their_state(retain: str | None) -> None:
    with eg.open(retain=retain) as db:
        stream = db.stream(batch_size=2, stateful=True, timeout=0)
        for start in range(0, 12, 3):
            db.add_edges([1, 1, 1], [start, start + 1, start + 2])
        batches = list(stream)
        # Where there is no history, the batch goes on to the newest version.
        assert [len(batch.edges) for batch in batches] == ([3] * 4 if retain else [12])
        for batch in batches:
            assert batch.snapshot is not None
            assert (batch.snapshot.version, batch.snapshot.num_edges) == (batch.version, batch.version * 3)


def test_readers_hold_the_log_where_no_limit_is_set(tmp_path: Path) -> None:
    path = tmp_path / "net.eg"
    with eg.open(path) as db:
        slow, named = db.stream(batch_size=1, timeout=0), db.stream(name="copy", batch_size=1, timeout=0)
        for dst in range(5):
            db.put_edge(1, dst, "edge")
            db.checkpoint()
        assert [batch.version for batch in slow] == [1, 2, 3, 4, 5]
        assert next(named).version == 1
        named.acknowledge()
        assert db.cursors() == {"copy": 1}
        with pytest.raises(eg.LockedError):
            db.stream(name="copy")
        with pytest.raises(eg.LockedError):
            db.drop_cursor("copy")
    with eg.open(path) as db:
        with db.stream(name="copy", batch_size=1, timeout=0) as named:
            assert [batch.version for batch in named] == [2, 3, 4, 5]
        assert db.drop_cursor("copy") and not db.drop_cursor("copy")
        db.put_edge(1, 9, "edge")
        db.checkpoint()
        with pytest.raises(eg.NotRetainedError):
            db.stream(from_version=1)


@pytest.mark.parametrize("multi", [False, True])
def test_within_one_commit_of_a_batch_deletes_come_before_puts(db: eg.Database, multi: bool) -> None:
    db.create_edge_type("edge", multi=multi)
    db.add_edges([1, 1], [2, 3])
    with db.stream(timeout=0) as stream:
        with db.begin() as tx:
            tx.delete_edge(1, 2)
            tx.put_edge(1, 2)
            tx.put_edge(1, 4)
            tx.put_edge(1, 5)
            tx.delete_edge(1, 5)
        batch = next(stream)
    assert (sorted(ends(batch.edges)), sorted(ends(batch.deleted))) == ([(1, 2), (1, 4)], [(1, 2), (1, 5)])
    left = {(1, 2), (1, 3)} - set(ends(batch.deleted)) | set(ends(batch.edges))
    assert set(ends(db.snapshot().edges())) == left == {(1, 2), (1, 3), (1, 4)}


def test_a_first_line_of_words_is_a_header_unless_told(db: eg.Database, tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text("ann,bob\nbob,cyd\n", encoding="utf-8")
    assert db.load(file).edges == 1
    assert db.load(file, "all", header=False).edges == 2
    file.write_text("ann,5\nbob,6\n", encoding="utf-8")
    assert db.load(file, "numbers", keys="string").edges == 2
    file = tmp_path / "names.txt"
    file.write_text("ann bob\nbob cyd\n", encoding="utf-8")
    assert db.load(file, "list").edges == 2


def test_whole_numbers_are_microseconds_in_a_timestamp(db: eg.Database) -> None:
    db.create_edge_type("seen", {"at": "timestamp"})
    db.put_edge(1, 2, "seen", at=1_500_000)
    assert db.snapshot().edge(1, 2)["at"] == datetime(1970, 1, 1, 0, 0, 1, 500_000, tzinfo=timezone.utc)


@pytest.mark.parametrize("name", ["", ".x", "a/b", "../a", "a b", "ä", "x" * 101])
def test_the_name_of_a_stream_is_that_of_a_file(db: eg.Database, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        db.stream(name=name)
    with db.stream(name="A-z_0.9"):
        assert list(db.cursors()) == ["A-z_0.9"]
