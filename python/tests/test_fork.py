"""Processes made by ``os.fork()``: what the parent opened is the parent's, all else is there in the child."""

import itertools
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

import evergraph as eg

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")


def in_child(run: Callable[[], object], *, ends: Callable[[], object] = lambda: None) -> str:
    """Calls it in a child, and gives what it returned, or raised, as text."""
    reads, writes = os.pipe()
    with warnings.catch_warnings():
        # Python knows of the threads, and that they are why this is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reads)
        signal.alarm(60)
        try:
            told = str(run())
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        ends()
        os.write(writes, told.encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as told_by_child:
        told = told_by_child.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child ended by signal {status}"
    return told


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.eg"


def names(path: Path) -> set[object]:
    with eg.open(path) as db:
        return set(db.snapshot())


@pytest.mark.parametrize("durability", ["sync", "interval", "none"])
def test_a_child_writes_nothing_to_what_its_parent_opened(path: Path, durability: eg.Durability) -> None:
    db = eg.open(path, durability=durability)
    db.put_edge("a", "b", "e", w=1)
    tx = db.begin()
    tx.put_vertex("c")
    stream, view = db.stream(name="reader"), db.create_view("v", vertices=["a"])
    begun = db.begin()
    begun.put_vertex("d")
    pending = begun.submit()
    calls: list[Callable[[], object]] = [
        lambda: pending.wait(),
        lambda: db.put_edge("c", "d"),
        lambda: db.put_vertex("c"),
        lambda: db.delete_vertex("a"),
        lambda: db.add_edges(["c"], ["d"]),
        lambda: db.delete_edges(["a"], ["b"], "e"),
        lambda: db.create_edge_type("f"),
        lambda: db.begin(),
        lambda: db.transact(lambda tx: tx.put_vertex("c")),
        lambda: db.snapshot(),
        lambda: db.snapshot(at=1),
        lambda: db.checkpoint(),
        lambda: db.compact(),
        lambda: db.backup(path.with_suffix(".copy")),
        lambda: db.stream(),
        lambda: db.window(edges=1),
        lambda: db.view("v"),
        lambda: db.stats(),
        lambda: db.cursors(),
        lambda: db.drop_cursor("reader"),
        lambda: db.retained,
        lambda: db.schema,
        lambda: tx.put_vertex("d"),
        lambda: tx.has_vertex("a"),
        lambda: tx.savepoint(),
        lambda: tx.commit(),
        lambda: next(stream),
        lambda: view.at(),
        lambda: view.on_update(print, name="handler"),
    ]

    def tell(call: Callable[[], object]) -> str | None:
        try:
            return f"gave {call()}"
        except eg.ForkedError as error:
            return None if "'spawn'" in str(error) else str(error)

    def end() -> None:
        nonlocal db, tx, stream, view
        db.close()
        del db, tx, stream, view

    told = in_child(lambda: [(n, tell(call)) for n, call in enumerate(calls) if tell(call)], ends=end)
    assert told == "[]"
    assert db.put_vertex("parent") > pending.wait()
    tx.rollback()
    stream.close()
    db.close()
    assert names(path) == {"a", "b", "d", "parent"}
    assert eg.check(path)


def test_a_child_cannot_open_what_its_parent_has_open(path: Path) -> None:
    with eg.open(path) as db:
        db.put_edge("a", "b")
        assert f"LockedError: {path}" in in_child(lambda: eg.open(path))
        # Nor does the end of the child give the parent's lock back.
        assert "LockedError" in in_child(lambda: eg.open(path))
        db.put_edge("b", "c")
    assert names(path) == {"a", "b", "c"}


def test_a_store_that_was_closed_is_not_kept_locked_by_a_child(path: Path) -> None:
    db = eg.open(path)
    reads, writes = os.pipe()
    ready, told = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.write(told, b".")
        os.read(reads, 1)
        os._exit(0)
    try:
        os.read(ready, 1)
        db.close()
        assert names(path) == set()
    finally:
        os.write(writes, b".")
        os.waitpid(child, 0)


def test_snapshots_and_algorithms_go_on_in_a_child(db: eg.Database, wiki_vote: eg.Snapshot) -> None:
    db.add_edges([1, 2, 3], [2, 3, 1], w=[1.0, 2.0, 3.0])
    view = db.snapshot()
    # Its threads are there, in the parent.
    ranks = eg.pagerank(wiki_vote).top(3)
    assert len(eg.connected_components(view)) == 3

    def run() -> object:
        again = eg.pagerank(wiki_vote).top(3)
        rows = wiki_vote.edges().num_rows
        return (again, rows, view.out_neighbors(1), bool(eg.diff(view, view)), len(wiki_vote.vertices()))

    assert in_child(run) == str((ranks, 103_689, [2], False, 7_115))
    assert in_child(lambda: in_child(run)) == in_child(run)


def test_a_child_has_stores_of_its_own(path: Path, db: eg.Database) -> None:
    db.add_edges(range(100_000), range(1, 100_001))
    eg.connected_components(db.snapshot())

    def run() -> object:
        with eg.open(path) as own:
            own.add_edges(range(100_000), range(1, 100_001))
            own.put_edge(1, 3)
            own.checkpoint()
            return len(eg.connected_components(own.snapshot())), own.snapshot().num_edges

    assert in_child(run) == "(100001, 100001)"
    with eg.open(path) as own:
        assert own.snapshot().num_edges == 100_001


def test_a_child_does_long_work_while_threads_of_its_parent_wait(tmp_path: Path) -> None:
    opened = [eg.open(tmp_path / f"{number}.eg", durability="none") for number in range(40)]
    for store in opened:
        store.put_edge("a", "b")

    def run() -> int:
        with eg.open(tmp_path / f"{os.getpid()}.eg", durability="none") as own:
            for _ in range(20):
                own.put_edge("a", "b")
                own.checkpoint()
                own.compact()
            return own.snapshot().num_edges

    # What the parent's threads wait with, the child has a copy of, in memory that threads of its own get.
    assert [in_child(run) for _ in range(8)] == ["1"] * 8
    for store in opened:
        store.close()


def _rank(number: int) -> float:
    with eg.open() as db:
        db.add_edges([number, 1], [1, number])
        return eg.pagerank(db.snapshot())[number]


@pytest.mark.skipif(sys.platform == "darwin", reason="its own libraries do not allow for forks")
def test_a_pool_of_processes_may_be_forked(db: eg.Database) -> None:
    db.add_edges([1, 2], [2, 1])
    eg.pagerank(db.snapshot())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(_rank, range(2, 6)) == pytest.approx([0.5] * 4)


def test_a_child_lets_go_of_a_snapshot_while_its_parent_commits() -> None:
    db = eg.open()
    db.add_edges(list(range(20_000)), list(range(1, 20_001)))
    held, over = [db.snapshot()], threading.Event()

    def commit(first: int) -> None:
        for row in itertools.count(first):
            if over.is_set():
                return
            db.put_edge(row % 20_000, row)

    committing = [threading.Thread(target=commit, args=(first,)) for first in (0, 7919)]
    for thread in committing:
        thread.start()
    while db.snapshot().version < 300:
        time.sleep(0.01)
    # A lock that somebody had when the child was made, nobody gives back there.
    told = [in_child(held.clear) for _ in range(40)]
    over.set()
    for thread in committing:
        thread.join()
    assert told == ["None"] * 40
