"""Long work: other threads run meanwhile, Ctrl-C ends it, and progress is told on the calling thread."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import evergraph as eg
from evergraph import _native

# PageRank that never converges on its own: alpha is 1 on two vertices that hand their rank to each other.
ENDLESS = {"alpha": 1.0, "personalization": {1: 1.0}, "max_iter": 2**32 - 1, "tol": 0.0}


def endless(view: eg.Snapshot, progress: object = None) -> None:
    run: Any = _native.run_algorithm
    run(view._native, "pagerank", ENDLESS, False, progress)


@pytest.fixture
def pair(db: eg.Database) -> eg.Snapshot:
    db.add_edges([1, 2], [2, 1])
    return db.snapshot()


def test_ctrl_c_ends_an_algorithm() -> None:
    script = f"""if True:
        import signal
        import evergraph as eg
        db = eg.open()
        db.add_edges([1, 2], [2, 1])
        view = db.snapshot()
        print("running", flush=True)
        try:
            eg.pagerank(view, **{ENDLESS})
        except KeyboardInterrupt:
            print("interrupted", eg.pagerank(view).converged)
        """
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        time.sleep(0.2)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "interrupted True\n"
        assert time.monotonic() - begin < 10
    assert process.returncode == 0


def test_other_threads_run_meanwhile(pair: eg.Snapshot) -> None:
    class StopError(Exception):
        pass

    stop = threading.Event()
    turns = 0

    def report(done: int, total: int) -> None:
        if stop.is_set():
            raise StopError

    def count() -> None:
        nonlocal turns
        begin = time.monotonic()
        while time.monotonic() - begin < 0.3:
            turns += 1
        stop.set()

    thread = threading.Thread(target=count)
    thread.start()
    with pytest.raises(StopError):
        endless(pair, report)
    thread.join()
    # In 0.3 s an interpreter that is free takes hundreds of thousands of turns, one that waits a few.
    assert turns > 1000


def test_progress_is_told_on_the_calling_thread_and_may_stop_the_work(pair: eg.Snapshot) -> None:
    seen: list[tuple[int, int, int]] = []

    def report(done: int, total: int) -> None:
        seen.append((done, total, threading.get_ident()))
        if len(seen) == 5:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        endless(pair, report)
    assert len(seen) == 5
    done = [entry[0] for entry in seen]
    assert done == sorted(done)
    assert done[-1] > 0
    assert {entry[1:] for entry in seen[1:]} == {(2**32 - 1, threading.get_ident())}


def test_progress_of_a_load_counts_bytes(db: eg.Database, tmp_path: Path) -> None:
    path = tmp_path / "edges.txt"
    path.write_text("".join(f"{i} {i + 1}\n" for i in range(300_000)))
    seen: list[tuple[int, int]] = []
    db._native.load(path, "edge", {}, lambda done, total: seen.append((done, total)))
    size = path.stat().st_size
    # Each byte counts when it is read, and when it is committed.
    assert seen[-1] == (2 * size, 2 * size)
    done = [entry[0] for entry in seen]
    assert done == sorted(done)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.6, 0.8])
@pytest.mark.parametrize("memory_limit", [None, 8 << 20])
def test_a_load_that_is_stopped_leaves_nothing(
    tmp_path: Path, share: float, memory_limit: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "edges.txt"
    path.write_text("".join(map("{0} {0}\n".format, range(1_100_000))))
    in_vain: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", in_vain.append)

    def report(done: int, total: int) -> None:
        if done >= share * total:
            raise RuntimeError("stop")

    with eg.open(tmp_path / "net.eg", memory_limit=memory_limit) as db:
        try:
            db._native.load(path, "edge", {}, report)
        except RuntimeError:
            assert (db.snapshot().num_edges, db.snapshot().version) == (0, 0)
        else:
            # It was told too late, which is said where Python says what it cannot raise.
            assert db.snapshot().num_edges == 1_100_000
            assert in_vain
        db.put_edge(1, 2)
    assert eg.check(tmp_path / "net.eg").is_healthy


def test_ctrl_c_ends_what_writes_or_comes_too_late(tmp_path: Path) -> None:
    script = f"""if True:
        import os
        import shutil
        import signal
        import threading
        import time
        import numpy as np
        import evergraph as eg
        db = eg.open({os.fspath(tmp_path / "net.eg")!r}, durability="none")
        copy = {os.fspath(tmp_path / "copy.eg")!r}
        numbers = np.random.default_rng(0).integers(0, 1 << 18, (2, 2_000_000))
        is_working = False

        def interrupt(*_: object) -> None:
            if is_working:
                raise KeyboardInterrupt

        signal.signal(signal.SIGINT, interrupt)
        for delay in (0.01, 0.1, 0.3, 5.0):
            before, added = db.snapshot(), 0
            timer = threading.Timer(delay, signal.raise_signal, (signal.SIGINT,))
            is_working = True
            try:
                timer.start()
                added = db.add_edges(numbers[0] + before.version, numbers[1]).edges
                db.compact()
                db.backup(copy)
            except KeyboardInterrupt:
                pass
            is_working = False
            timer.cancel()
            timer.join()
            assert db.snapshot().num_edges == before.num_edges + added
            if not os.path.exists(os.path.join(copy, "MANIFEST")):
                db.backup(copy)
            shutil.rmtree(copy)
        db.close()
        print("done")
        """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
    assert eg.check(tmp_path / "net.eg").is_healthy


def test_algorithms_run_in_many_threads_at_once(wiki_vote: eg.Snapshot) -> None:
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda: results.append(eg.triangle_count(wiki_vote))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [608_389] * 8


def test_writers_and_readers_at_once(tmp_path: Path) -> None:
    """A snapshot is one version: each commit adds a cycle, so every vertex has in- and out-degree 1."""
    stop = threading.Event()
    failures: list[str] = []
    with eg.open(tmp_path / "store.eg", durability="none") as db:

        def write(start: int) -> None:
            for base in range(start, start + 150 * 3, 3):
                with db.begin() as tx:
                    for i in range(3):
                        tx.put_edge(base + i, base + (i + 1) % 3)

        def read() -> None:
            while not stop.is_set():
                view = db.snapshot()
                if view.num_edges != view.num_vertices or view.num_edges % 3:
                    failures.append(repr(view))
                parts = eg.connected_components(view)
                if parts.count * 3 != view.num_vertices:
                    failures.append(repr(parts))

        writers = [threading.Thread(target=write, args=(start,)) for start in (0, 10_000)]
        readers = [threading.Thread(target=read) for _ in range(2)]
        for thread in writers + readers:
            thread.start()
        for thread in writers:
            thread.join()
        stop.set()
        for thread in readers:
            thread.join()
        assert db.snapshot().num_edges == 900
    assert failures == []


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the limit counts otherwise")
@pytest.mark.parametrize("is_at_work", [False, True])
def test_a_system_that_has_no_threads_to_give(is_at_work: bool) -> None:
    script = f"""if True:
        import os, resource
        import numpy
        import evergraph as eg
        eg.pagerank
        if {is_at_work}:
            eg.open().add_edges([1], [2])
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        if os.geteuid() == 0:
            # Nobody: the limit is none of root's.
            os.setuid(65534)
        try:
            db = eg.open()
            db.add_edges(numpy.arange(100_000), numpy.arange(1, 100_001))
            print(len(eg.connected_components(db.snapshot())))
        except OSError as error:
            print("ulimit -u" in str(error))
    """
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout) == (0, "100001\n" if is_at_work else "True\n"), ended.stderr
