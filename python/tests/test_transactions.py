"""Transactions: all or nothing, own reads, conflicts, and what is left after the end."""

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evergraph as eg


def test_a_block_commits_at_its_end(db: eg.Database) -> None:
    with db.begin() as tx:
        tx.put_edge("alice", "bob", "pays", amount=10.0)
        assert db.snapshot().num_edges == 0
    assert db.snapshot().edge("alice", "bob", "pays") == {"amount": 10.0}


def test_a_block_that_raises_leaves_nothing(db: eg.Database) -> None:
    with pytest.raises(RuntimeError, match="stop"), db.begin() as tx:
        tx.put_edge("alice", "bob", "pays", amount=10.0)
        raise RuntimeError("stop")
    view = db.snapshot()
    assert (view.num_vertices, view.num_edges, view.version) == (0, 0, 0)


def test_a_transaction_reads_its_own_writes_over_its_version(db: eg.Database) -> None:
    db.put_vertex("alice", age=30)
    db.put_edge("alice", "carol", "pays", amount=1.0)
    tx = db.begin()
    db.put_vertex("later")
    tx.put_vertex("alice", type="Person", city="Bern")
    tx.put_edge("alice", "bob", "pays", amount=2.0)
    assert not tx.has_vertex("later")
    assert tx.vertex("alice") == {"age": 30, "city": "Bern"}
    assert tx.vertex("alice").type == "Person"
    assert sorted(map(str, tx.out_neighbors("alice", "pays"))) == ["bob", "carol"]
    assert tx.in_neighbors("bob", "pays") == ["alice"]
    assert tx.edge("alice", "bob", "pays") == {"amount": 2.0}
    assert tx.delete_edge("alice", "carol", "pays")
    assert not tx.delete_edge("alice", "carol", "pays")
    assert not tx.has_edge("alice", "carol", "pays")
    assert tx.delete_vertex("bob")
    assert not tx.has_vertex("bob")
    assert tx.out_neighbors("alice", "pays") == []
    tx.commit()
    view = db.snapshot()
    assert sorted(map(str, view)) == ["alice", "carol", "later"]
    assert view.num_edges == 0


def test_what_is_not_there_is_told(db: eg.Database) -> None:
    tx = db.begin()
    for ask in (lambda: tx.vertex("x"), lambda: tx.out_neighbors("x"), lambda: tx.edge("x", "y")):
        with pytest.raises(eg.NotFoundError, match="'x'"):
            ask()
    assert not tx.delete_vertex("x")


def test_simple_edges_are_changed_and_multi_edges_added(db: eg.Database) -> None:
    db.create_edge_type("sends", {"bytes": "int64"}, multi=True)
    with db.begin() as tx:
        for size in (1, 2):
            tx.put_edge(1, 2, "knows", weight=size, seen=True)
            tx.put_edge(1, 2, "sends", bytes=size)
        tx.put_edge(1, 2, "knows", weight=3)
        assert [edge["bytes"] for edge in tx.edges_between(1, 2, "sends")] == [1, 2]
        assert tx.edge(1, 2, "sends") == {"bytes": 2}
    view = db.snapshot()
    assert view.edge(1, 2, "knows") == {"weight": 3, "seen": True}
    assert [edge["bytes"] for edge in view.edges_between(1, 2, "sends")] == [1, 2]
    assert view.out_degree(1) == 3


def test_the_first_committer_wins(db: eg.Database) -> None:
    db.put_vertex("counter", value=0)
    first, second = db.begin(), db.begin()
    first.put_vertex("counter", value=1)
    second.put_vertex("counter", value=2)
    first.commit()
    with pytest.raises(eg.ConflictError, match=r"counter.*run the transaction again"):
        second.commit()
    assert db.snapshot().vertex("counter") == {"value": 1}


def test_a_conflict_says_what_it_is_about(db: eg.Database) -> None:
    db.create_edge_type("sends", multi=True)
    db.put_edge("a", "b", "sends")

    def conflict(
        first: Callable[[eg.Transaction], object], second: Callable[[eg.Transaction], object]
    ) -> dict[str, object]:
        with pytest.raises(eg.ConflictError) as caught, db.begin() as late:
            second(late)
            with db.begin() as other:
                first(other)
        error = caught.value
        assert error.version == db.snapshot().version
        assert str(error).startswith(f"commit {error.version} changed ")
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), vars(again)) == (str(error), vars(error))
        names = ("kind", "key", "src", "dst", "edge_type", "names")
        return {name: getattr(error, name) for name in names if getattr(error, name) not in (None, ())}

    assert conflict(lambda tx: tx.put_vertex("a", n=1), lambda tx: tx.put_vertex("a", n=2)) == {
        "kind": "vertex",
        "key": "a",
    }
    edge = conflict(
        lambda tx: tx.delete_edge("a", "b", "sends"), lambda tx: tx.delete_edge("a", "b", "sends")
    )
    assert edge == {"kind": "edge", "src": "a", "dst": "b", "edge_type": "sends"}
    edges = conflict(lambda tx: tx.put_edge("b", "c", "sends"), lambda tx: tx.delete_vertex("b"))
    assert edges == {"kind": "edges", "key": "b", "edge_type": "sends"}
    schema = conflict(lambda tx: tx.put_vertex("b", "Person", age=3), lambda tx: tx.put_vertex("c", size=2))
    assert schema == {"kind": "schema", "names": ("Person", "age")}


def test_transact_lets_all_through_by_default(tmp_path: Path) -> None:
    with eg.open(tmp_path / "counter.eg", durability="sync") as db:
        db.put_vertex("counter", value=0)

        def count(tx: eg.Transaction) -> None:
            value = tx.vertex("counter")["value"]
            assert isinstance(value, int)
            tx.put_vertex("counter", value=value + 1)

        with ThreadPoolExecutor(16) as pool:
            for done in [pool.submit(db.transact, count) for _ in range(320)]:
                done.result()
        assert db.snapshot().vertex("counter") == {"value": 320}


def test_transact_counts_right_under_contention(db: eg.Database) -> None:
    db.put_vertex("counter", value=0)

    def count(tx: eg.Transaction) -> int:
        value = tx.vertex("counter")["value"]
        assert isinstance(value, int)
        tx.put_vertex("counter", value=value + 1)
        return value

    seen: list[int] = []

    def work() -> None:
        for _ in range(100):
            seen.append(db.transact(count, retries=1000))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(400))
    assert db.snapshot().vertex("counter") == {"value": 400}


def test_transact_gives_up_and_passes_errors_on(db: eg.Database) -> None:
    calls = []

    def conflict(tx: eg.Transaction) -> None:
        calls.append(tx)
        tx.put_vertex("x", n=len(calls))
        db.put_vertex("x", n=-1)

    with pytest.raises(eg.ConflictError):
        db.transact(conflict, retries=2)
    assert len(calls) == 3
    assert not any(tx.is_open for tx in calls)

    def fail(tx: eg.Transaction) -> None:
        tx.put_vertex("never")
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        db.transact(fail)
    assert "never" not in db.snapshot()
    with pytest.raises(ValueError, match="retries"):
        db.transact(fail, retries=-1)


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_transaction_that_is_over_is_closed(db: eg.Database, end: str) -> None:
    tx = db.begin()
    tx.put_vertex("alice")
    getattr(tx, end)()
    assert not tx.is_open
    for use in (
        lambda: tx.put_vertex("x"),
        lambda: tx.delete_edge("x", "y"),
        lambda: tx.vertex("alice"),
        lambda: tx.out_neighbors("alice"),
        lambda: tx.version,
        tx.commit,
        tx.rollback,
    ):
        with pytest.raises(eg.ClosedError, match="begin another"):
            use()
    assert ("alice" in db.snapshot()) == (end == "commit")


def test_the_end_by_hand_inside_a_block_is_respected(db: eg.Database) -> None:
    with db.begin() as tx:
        tx.put_vertex("kept")
        tx.commit()
    with db.begin() as tx:
        tx.put_vertex("dropped")
        tx.rollback()
    assert list(db.snapshot()) == ["kept"]


def test_versions_count_commits(db: eg.Database) -> None:
    assert db.put_vertex(1) == 1
    tx = db.begin()
    assert tx.version == 1
    tx.put_vertex(2)
    assert tx.commit() == 2
    assert db.snapshot().version == 2
    assert db.snapshot().time <= datetime.now(timezone.utc)


def test_values_come_back_as_they_were(db: eg.Database) -> None:
    noon = datetime(2024, 5, 17, 12, 0, 0, 123456, tzinfo=timezone.utc)
    values: dict[str, Any] = {
        "flag": True,
        "number": -(2**63),
        "float": 0.1,
        "text": "Zürich ✓ \x00 \n",
        "empty": "",
        "time": noon,
    }
    db.put_vertex("v", **values)
    db.put_edge("v", "w", "e", **values)
    assert db.snapshot().vertex("v") == values
    assert db.snapshot().edge("v", "w") == values
    assert type(db.snapshot().vertex("v")["flag"]) is bool


def test_times_keep_their_instant(db: eg.Database) -> None:
    local = datetime(2024, 5, 17, 12, tzinfo=timezone(timedelta(hours=2)))
    naive = datetime(1969, 12, 31, 23, 59, 59, 999_999)
    db.put_vertex("v", local=local, naive=naive, first=datetime.min, last=datetime.max)
    got = db.snapshot().vertex("v")
    assert got["local"] == local
    assert got["naive"] == naive.replace(tzinfo=timezone.utc)
    assert got["first"] == datetime.min.replace(tzinfo=timezone.utc)
    assert got["last"] == datetime.max.replace(tzinfo=timezone.utc)


def test_times_that_python_has_no_year_for_are_those_of_numpy(db: eg.Database) -> None:
    before = datetime.min.replace(tzinfo=timezone(timedelta(hours=1)))
    db.put_vertex("v", at=before, day=date(1, 1, 1), days=[date(1, 1, 1)])
    day: Any = np.datetime64(-1_000_000, "D")
    db.put_vertex("v", day=-1_000_000, days=[day])
    expected: dict[str, Any] = {
        "at": np.datetime64("0000-12-31T23:00", "us"),
        "day": day,
        "days": [day],
    }
    vertices = db.snapshot().vertices()
    assert dict(db.snapshot().vertex("v")) == expected
    assert next(iter(vertices.rows())) == ("v", *expected.values())
    assert vertices["at"].to_list() == [expected["at"]]
    assert "0000-12-31T23:00" in repr(vertices)
    db.put_vertex("w", **expected)
    assert db.snapshot().vertex("w") == db.snapshot().vertex("v")


def test_none_removes_a_value(db: eg.Database) -> None:
    db.put_vertex("v", a=1, b=2)
    db.put_vertex("v", a=None)
    assert db.snapshot().vertex("v") == {"b": 2}


def test_scalars_of_numpy_and_pandas_are_values_and_keys(db: eg.Database) -> None:
    import numpy as np
    import pandas as pd

    key: Any = np.int64(7)
    scalars: dict[str, Any] = {
        "a": np.int32(1),
        "b": np.float32(0.5),
        "c": np.bool_(True),
        "d": np.str_("x"),
        "e": np.datetime64("2024-01-01T00:00:01"),
        "f": pd.Timestamp("2024-01-01", tz="UTC"),
        "g": pd.NaT,
        "h": np.datetime64("NaT"),
    }
    db.put_vertex(key, **scalars)
    first = datetime(2024, 1, 1, tzinfo=timezone.utc)
    expected = {"a": 1, "b": 0.5, "c": True, "d": "x", "e": first + timedelta(seconds=1), "f": first}
    assert db.snapshot().vertex(7) == expected


@pytest.mark.parametrize("value", [{"a": 1}, 1j, object(), timedelta(1), [[1]], [{"a": 1}]])
def test_other_values_are_refused_by_name(db: eg.Database, value: object) -> None:
    with pytest.raises(TypeError, match='property "p": a '):
        db.put_vertex("v", p=value)  # type: ignore[arg-type]
    assert db.snapshot().num_vertices == 0


@pytest.mark.parametrize("key", [1.0, None, True, b"x", ("a", "b")])
def test_other_keys_are_refused(db: eg.Database, key: object) -> None:
    with pytest.raises(TypeError, match="a vertex key is an int or a str"):
        db.put_vertex(key)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a vertex key is an int or a str"):
        key in db.snapshot()  # type: ignore[operator]  # noqa: B015


def test_numbers_beyond_64_bits_are_refused(db: eg.Database) -> None:
    with pytest.raises(ValueError, match="int64"):
        db.put_vertex(2**63)
    with pytest.raises(ValueError, match="int64"):
        db.put_vertex(1, n=-(2**63) - 1)
    db.put_vertex(-(2**63), n=2**63 - 1)
    assert db.snapshot().vertex(-(2**63)) == {"n": 2**63 - 1}


def test_text_that_is_no_unicode_is_refused(db: eg.Database) -> None:
    with pytest.raises(ValueError, match="surrogates"):
        db.put_vertex("\ud800")


def test_many_threads_write_at_once(db: eg.Database) -> None:
    def work(thread: int) -> None:
        for i in range(200):
            db.put_edge(thread, 1000 * thread + i + 10, "e", n=i)

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    view = db.snapshot()
    assert view.num_edges == 800
    assert all(view.out_degree(thread) == 200 for thread in range(4))


def test_a_dropped_transaction_leaves_nothing(db: eg.Database) -> None:
    db.begin().put_vertex("ghost")
    assert "ghost" not in db.snapshot()


def test_after_a_conflict_a_transaction_is_over(db: eg.Database) -> None:
    first, second = db.begin(), db.begin()
    for tx, age in ((first, 1), (second, 2)):
        tx.put_vertex("alice", age=age)
        tx.put_vertex(f"of {age}")
    first.commit()
    with pytest.raises(eg.ConflictError, match="alice"):
        second.commit()
    for again in (second.commit, second.rollback, lambda: second.put_vertex("late")):
        with pytest.raises(eg.ClosedError, match="begin another"):
            again()
    found = db.snapshot()
    assert found.vertex("alice") == {"age": 1}
    assert "of 1" in found
    assert "of 2" not in found
    assert "late" not in found


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise LookupError", "os._exit(4)"])
def test_a_transaction_left_open_at_exit_leaves_nothing(tmp_path: Path, end: str) -> None:
    path = tmp_path / "net.eg"
    script = f"""if True:
        import evergraph as eg, os, sys, threading
        db = eg.open({str(path)!r})
        db.put_vertex("kept")
        tx = db.begin()
        tx.put_edge("ghost", "kept")
        other = eg.open().begin()
        threading.Thread(target=lambda: other.put_vertex("x")).start()
        {end}
        """
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert run.returncode == {"": 0, "sys.exit(3)": 3, "raise LookupError": 1, "os._exit(4)": 4}[end]
    assert "panicked" not in run.stderr
    with eg.open(path) as db:
        assert db.snapshot().num_vertices == 1
    assert eg.check(path)


def test_shared_by_threads_a_transaction_keeps_all_writes(db: eg.Database) -> None:
    tx = db.begin()

    def work(base: int) -> None:
        for i in range(500):
            tx.put_vertex(base + i)

    threads = [threading.Thread(target=work, args=(base,)) for base in (0, 1000, 2000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tx.commit()
    assert db.snapshot().num_vertices == 1500


def test_what_is_handed_in_is_committed_together(tmp_path: Path) -> None:
    with eg.open(tmp_path / "net.eg") as db:
        db.put_edge(0, 0, n=0)
        pending = []
        for dst in range(1, 40):
            tx = db.begin()
            tx.put_edge(0, dst, n=dst)
            pending.append(tx.submit())
            with pytest.raises(eg.ClosedError):
                tx.commit()
        assert db.snapshot().num_edges == 1
        assert not pending[0].is_done
        assert repr(pending[0]) == "PendingCommit(waits)"
        assert [commit.wait() for commit in pending] == list(range(2, 41))
        assert pending[3].wait() == 5
        assert repr(pending[3]) == "PendingCommit(version=5)"
        rivals = [db.begin(), db.begin()]
        for tx, n in zip(rivals, (100, 200), strict=True):
            tx.put_edge(0, 1, n=n)
        first, second = [tx.submit() for tx in rivals]
        with pytest.raises(eg.ConflictError):
            second.wait()
        assert first.is_done
        tx = db.begin()
        tx.put_edge(8, 9)
        tx.submit()
        assert db.snapshot().has_edge(8, 9), "what is let go of is waited for"
        tx = db.begin()
        tx.put_edge(9, 10)
        last = tx.submit()
    assert last.is_done
    with eg.open(tmp_path / "net.eg") as db:
        assert db.snapshot().num_edges == 42
        assert db.snapshot().edge(0, 1)["n"] == 100


def told_to_all(pending: eg.PendingCommit) -> list[object]:
    """What each of some threads is told that wait for it at once."""
    starts = threading.Barrier(5)

    def wait(_: int) -> object:
        starts.wait()
        try:
            return pending.wait()
        except eg.EvergraphError as error:
            return error
        finally:
            assert pending.is_done

    with ThreadPoolExecutor(5) as threads:
        return list(threads.map(wait, range(5)))


def test_all_who_wait_for_a_commit_are_told_the_same(tmp_path: Path) -> None:
    with eg.open(tmp_path / "net.eg") as db:
        for turn in range(1, 30):
            tx = db.begin()
            tx.put_edge(turn, turn + 1)
            pending = tx.submit()
            assert not pending.is_done
            assert told_to_all(pending) == [turn] * 5
            assert pending.wait() == pending.wait() == turn
            assert repr(pending) == f"PendingCommit(version={turn})"
    assert pending.is_done and pending.wait() == 29, "the database is closed, and the answer the same"


def test_all_who_wait_for_a_commit_that_is_refused_are_told_why(db: eg.Database) -> None:
    db.put_edge(0, 1, n=0)
    for n in range(10):
        first, second = db.begin(), db.begin()
        first.put_edge(0, 1, n=n)
        second.put_edge(0, 1, n=-n)
        first.commit()
        pending = second.submit()
        errors = [*told_to_all(pending), *told_to_all(pending)]
        assert {str(error) for error in errors} == {str(errors[0])}
        for error in errors:
            assert isinstance(error, eg.ConflictError)
            assert (error.kind, error.src, error.dst, error.version) == ("edge", 0, 1, n + 2)
        assert len({id(error) for error in errors}) == 10, "each has a traceback of its own"
        assert pending.is_done and repr(pending) == "PendingCommit(done)"


def versions_of(handed_in: list[eg.PendingCommit]) -> set[int]:
    return {pending.wait() for pending in handed_in}


def test_other_threads_run_while_some_wait_for_a_commit(tmp_path: Path) -> None:
    with eg.open(tmp_path / "net.eg") as db, ThreadPoolExecutor(16) as threads:
        for turn in range(20):
            handed_in = []
            for vertex in range(4):
                tx = db.begin()
                tx.put_edge(turn, vertex)
                handed_in.append(tx.submit())
            # All wait for all, in other orders, and some commit beside them.
            orders = [handed_in, handed_in[::-1], handed_in[1:] + handed_in[:1]]
            waits = [threads.submit(versions_of, order) for order in orders]
            writes = [threads.submit(db.put_vertex, -turn - 1) for _ in range(4)]
            versions = [wait.result(60) for wait in waits]
            assert versions[0] == versions[1] == versions[2] and len(versions[0]) == 4
            assert not versions[0] & {write.result(60) for write in writes}
