"""Every error class, brought about the way it would be, and a store that opens again after each."""

import errno
import os
import pickle
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import xxhash

import evergraph as eg

CLASSES = [
    eg.AlreadyExistsError,
    eg.ArchiveError,
    eg.BackupError,
    eg.ClosedError,
    eg.ConflictError,
    eg.CorruptionError,
    eg.CycleError,
    eg.DiskError,
    eg.DurabilityError,
    eg.LoadError,
    eg.LockedError,
    eg.NewerFormatError,
    eg.NoPathError,
    eg.NotAStoreError,
    eg.NotFoundError,
    eg.ReadOnlyError,
    eg.SavepointError,
    eg.SchemaError,
    eg.TransactionTimeoutError,
    eg.VerifyError,
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A closed store with a segment and a log behind it: 300 edges archived, 100 in the log."""
    path = tmp_path / "store.eg"
    with eg.open(path) as db:
        db.add_edges(range(300), range(1, 301), weight=[i / 2 for i in range(300)])
        db.put_vertex(0, "First", name="zero")
        db.checkpoint()
        for i in range(100):
            db.put_edge(1000 + i, i)
    return path


def files(path: Path) -> dict[str, bytes]:
    """The bytes of all files below a directory, but for the lock."""
    found = (file for file in path.rglob("*") if file.is_file() and file.name != "LOCK")
    return {str(file.relative_to(path)): file.read_bytes() for file in found}


def the_only(path: Path, pattern: str) -> Path:
    [found] = path.glob(pattern)
    return found


@pytest.mark.parametrize("kind", CLASSES)
def test_all_are_evergraph_errors_and_can_be_pickled(kind: type[eg.EvergraphError]) -> None:
    assert issubclass(kind, eg.EvergraphError)
    assert kind.__module__ == "evergraph"
    error = kind("what happened")
    error.path = Path("x")  # type: ignore[attr-defined]
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.path) == (kind, "what happened", Path("x"))


def test_a_second_process_is_told_who_has_it(path: Path) -> None:
    script = f"""if True:
        import evergraph as eg, sys
        for arguments in ({{}}, {{"read_only": True}}):
            try:
                eg.open({str(path)!r}, **arguments)
            except eg.LockedError as error:
                print(error.path, error.holder, error, sep="|")
        """
    with eg.open(path):
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    lines = run.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        lock, holder, message = line.split("|")
        assert Path(lock) == path / "LOCK"
        assert holder.startswith(f"process {os.getpid()} (")
        assert holder in message
    with eg.open(path) as db:
        assert db.snapshot().num_edges == 400


def test_a_second_handle_is_told_too(path: Path) -> None:
    with eg.open(path), pytest.raises(eg.LockedError, match=f"process {os.getpid()} .*this one"):
        eg.open(path)
    with eg.open(path, read_only=True) as one, eg.open(path, read_only=True) as other:
        assert one.snapshot().num_edges == other.snapshot().num_edges == 400
        with pytest.raises(eg.LockedError, match="reads it"):
            eg.open(path)


def test_a_killed_process_leaves_no_lock_and_all_it_acknowledged(path: Path) -> None:
    script = f"""if True:
        import evergraph as eg
        db = eg.open({str(path)!r})
        for i in range(1_000_000):
            db.put_edge(5000 + i, 7)
            print(i, flush=True)
        """
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) >= 50:
                process.send_signal(signal.SIGKILL)
                break
        acknowledged = int((process.stdout.read().split() or [line])[-1])
    with eg.open(path) as db:
        view = db.snapshot()
        assert all(view.has_edge(5000 + i, 7) for i in range(acknowledged + 1))
        assert view.num_edges <= 400 + acknowledged + 2


def test_read_only_refuses_every_write(path: Path) -> None:
    before = files(path)
    with eg.open(path, read_only=True) as db:
        assert db.is_read_only
        writes: list[Callable[[], object]] = [
            lambda: db.put_vertex(1),
            lambda: db.put_edge(1, 2),
            lambda: db.delete_vertex(1),
            lambda: db.delete_edge(1, 2),
            lambda: db.add_edges([1], [2]),
            lambda: db.delete_edges([1], [2]),
            lambda: db.create_edge_type("x"),
            lambda: db.create_vertex_type("x"),
            lambda: db.load(__file__),
            db.begin,
            db.checkpoint,
            db.compact,
        ]
        for write in writes:
            with pytest.raises(eg.ReadOnlyError, match="read-only"):
                write()
        assert db.snapshot().num_edges == 400
    assert files(path) == before


def test_read_only_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(eg.NotFoundError, match="no store at"):
        eg.open(tmp_path / "none.eg", read_only=True)
    assert not (tmp_path / "none.eg").exists()
    with pytest.raises(ValueError, match="in memory"):
        eg.open(read_only=True)


def test_closed_is_closed(path: Path) -> None:
    db = eg.open(path)
    view, tx, stream = db.snapshot(), db.begin(), db.stream(name="reader")
    tx.put_vertex(7)
    savepoint = tx.savepoint()
    db.close()
    db.close()
    assert db.is_closed
    assert "closed" in repr(db)
    uses: list[Callable[[], object]] = [
        db.snapshot,
        db.begin,
        lambda: db.put_vertex(1),
        lambda: db.add_edges([1], [2]),
        lambda: db.delete_vertex(1),
        lambda: db.create_edge_type("x"),
        lambda: db.transact(lambda tx: None),
        db.checkpoint,
        db.compact,
        lambda: db.backup(path.parent / "copy.eg"),
        db.stats,
        db.cursors,
        lambda: db.drop_cursor("reader"),
        lambda: db.retained,
        lambda: db.schema,
        db.handlers,
        lambda: next(stream),
        lambda: tx.put_vertex(8),
        lambda: tx.put_edge(7, 8),
        lambda: tx.delete_vertex(7),
        lambda: tx.has_vertex(7),
        lambda: tx.out_neighbors(1000),
        lambda: tx.schema,
        tx.savepoint,
        savepoint.rollback,
        tx.commit,
    ]
    for use in uses:
        with pytest.raises(eg.ClosedError, match="closed"):
            use()
    with eg.open() as in_memory:
        pass
    for use in (in_memory.stats, in_memory.cursors, lambda: in_memory.drop_cursor("reader")):
        with pytest.raises(eg.ClosedError, match="closed"):
            use()
    # What was taken before stays, and can be let go of.
    stream.close()
    assert view.out_neighbors(1000) == [0]
    assert dict(eg.bfs(view, 298)) == {298: 0, 299: 1, 300: 2}


def test_other_directories_and_files_are_left_alone(tmp_path: Path) -> None:
    directory = tmp_path / "photos"
    directory.mkdir()
    (directory / "cat.jpg").write_bytes(b"meow")
    file = tmp_path / "notes.txt"
    file.write_text("remember")
    for path in (directory, file):
        for use in (eg.open, eg.check, lambda path: eg.open(path, read_only=True)):
            with pytest.raises(eg.NotAStoreError) as caught:
                use(path)
            assert caught.value.path == path
            assert str(path) in str(caught.value)
    assert files(tmp_path) == {"photos/cat.jpg": b"meow", "notes.txt": b"remember"}
    with pytest.raises(eg.NotFoundError):
        eg.check(tmp_path / "none")


def test_an_empty_directory_becomes_a_store(tmp_path: Path) -> None:
    with eg.open(tmp_path) as db:
        db.put_vertex(1)
    with eg.open(str(tmp_path)) as db:
        assert 1 in db.snapshot()


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells of its memory in /proc")
def test_memory_goes_back_to_the_system_with_the_database() -> None:
    program = """
import time
import numpy as np
import evergraph as eg

def taken():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))

ends = np.random.default_rng(1).integers(0, 300_000, (2, 1_000_000))
before = taken()
db = eg.open()
db.add_edges(*ends)
held = taken()
del db
for _ in range(100):
    time.sleep(0.05)
    if taken() - before < (held - before) / 3:
        break
else:
    raise SystemExit(f"{before}, {held}, {taken()} KiB")
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_store_in_memory_makes_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in [None, ":memory:"]:
        with eg.open(path) as db:
            db.put_vertex(1)
            assert 1 in db.snapshot()
            with pytest.raises(ValueError, match="name a directory"):
                db.backup("")
    with pytest.raises(ValueError, match="name a directory"):
        eg.open("")
    with pytest.raises(ValueError, match="name a directory"):
        eg.check("")
    assert not list(tmp_path.iterdir())


def newer_manifest(path: Path) -> Path:
    file = path / "MANIFEST"
    body = bytearray(file.read_bytes()[:-8])
    # That of a store is 2 once it has let go of keys.
    assert body[8] == 1
    body[8] = 3
    file.write_bytes(body + xxhash.xxh3_64_intdigest(bytes(body)).to_bytes(8, "little"))
    return file


def newer_header(file: Path, checked: int) -> Path:
    content = bytearray(file.read_bytes())
    content[8] += 1
    content[checked : checked + 8] = xxhash.xxh3_64_intdigest(bytes(content[:checked])).to_bytes(8, "little")
    file.write_bytes(content)
    return file


@pytest.mark.parametrize(
    "make",
    [
        newer_manifest,
        lambda path: newer_header(the_only(path, "log/*"), 56),
        lambda path: newer_header(the_only(path, "segments/*"), 120),
    ],
    ids=["manifest", "log", "segment"],
)
def test_a_newer_format_is_refused_and_kept(path: Path, make: Callable[[Path], Path]) -> None:
    file = make(path)
    before = files(path)
    newer = file.read_bytes()[8]
    message = rf"format .*version {newer}\b.* up to {newer - 1}\b"
    for use in (eg.open, lambda path: eg.open(path, read_only=True), eg.check):
        with pytest.raises(eg.NewerFormatError, match=message) as caught:
            use(path)
        assert caught.value.path == file
    assert files(path) == before


def flip(at: float) -> Callable[[bytes], bytes]:
    def damage(content: bytes) -> bytes:
        changed = bytearray(content)
        changed[int(at * (len(content) - 1))] ^= 0x10
        return bytes(changed)

    return damage


DAMAGES: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "a bit of the manifest": ("MANIFEST", flip(0.5)),
    "the end of the manifest": ("MANIFEST", lambda content: content[:-1]),
    "an empty manifest": ("MANIFEST", lambda content: b""),
    "the first bit of the segment": ("segments/*", flip(0)),
    "a bit in the segment": ("segments/*", flip(0.5)),
    "the last bit of the segment": ("segments/*", flip(1)),
    "the end of the segment": ("segments/*", lambda content: content[:-1]),
    "half of the segment": ("segments/*", lambda content: content[: len(content) // 2]),
    "an empty segment": ("segments/*", lambda content: b""),
    "the first bit of the log": ("log/*", flip(0)),
    "a bit in the log": ("log/*", flip(0.5)),
}


@pytest.mark.parametrize("what", DAMAGES)
def test_damage_is_named_never_used_and_changed_by_nobody(path: Path, what: str) -> None:
    pattern, damage = DAMAGES[what]
    file = the_only(path, pattern)
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    before = files(path)
    for arguments in ({}, {"read_only": True}):
        with pytest.raises(eg.CorruptionError, match="damaged at byte") as caught:
            eg.open(path, **arguments)  # type: ignore[arg-type]
        assert caught.value.path == file
        assert caught.value.offset is not None
        assert 0 <= caught.value.offset <= len(whole)
        assert str(file) in str(caught.value)
    report = eg.check(path)
    assert not report
    assert file in [problem.path for problem in report.problems]
    assert str(file) in repr(report)
    assert files(path) == before
    # With the bytes as they were it opens again, with everything in it.
    file.write_bytes(whole)
    assert eg.check(path)
    with eg.open(path) as db:
        assert db.snapshot().num_edges == 400
        db.put_vertex(9999)


def test_a_log_cut_off_in_its_last_record_is_a_crash_and_no_damage(path: Path) -> None:
    log = the_only(path, "log/*")
    log.write_bytes(log.read_bytes()[:-1])
    with eg.open(path) as db:
        assert db.snapshot().num_edges == 400
    assert eg.check(path)


def test_a_missing_file_is_damage(path: Path) -> None:
    the_only(path, "segments/*").unlink()
    with pytest.raises(eg.EvergraphError, match="segment"):
        eg.open(path)
    assert not eg.check(path)


def test_random_damage_never_goes_unnoticed(path: Path) -> None:
    source = random.Random(5)
    for file in (path / "MANIFEST", the_only(path, "segments/*")):
        whole = file.read_bytes()
        for _ in range(40):
            changed = bytearray(whole)
            changed[source.randrange(len(whole))] ^= 1 << source.randrange(8)
            file.write_bytes(changed)
            # Any of them, since a flipped version says that the format is newer; never a store that opens.
            with pytest.raises(eg.EvergraphError):
                eg.open(path, read_only=True)
        file.write_bytes(whole)
    assert eg.check(path)


def test_check_reports_what_is_there(path: Path) -> None:
    report = eg.check(path)
    assert report.is_healthy
    assert bool(report)
    assert (report.problems, report.segments, report.num_edges) == ([], 1, 400)
    assert report.path == path
    assert "healthy" in repr(report)
    with eg.open(path), pytest.raises(eg.LockedError):
        eg.check(path)


def test_a_full_disk_is_told_and_what_was_acknowledged_stays(tmp_path: Path) -> None:
    # A limit on the size of files stands in for a full disk.
    script = f"""if True:
        import resource, signal
        import evergraph as eg
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        db = eg.open({str(tmp_path / "full.eg")!r})
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, resource.RLIM_INFINITY))
        done = 0
        try:
            while True:
                db.put_vertex(done, text="x" * 100)
                done += 1
        except eg.DurabilityError as error:
            print(done, type(error).__name__)
        try:
            db.put_vertex(-1)
        except eg.DurabilityError as error:
            print("still refused:", error)
        assert len(db.snapshot()) == done
        db.close()
        """
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    first, second = run.stdout.splitlines()
    assert first.endswith(" DurabilityError")
    assert second.startswith("still refused: the store takes no more commits")
    with eg.open(tmp_path / "full.eg") as db:
        # The commit that failed may be there, whole; nothing that was acknowledged is missing.
        assert len(db.snapshot()) - int(first.split()[0]) in (0, 1)
        db.put_vertex(-1)


def test_a_refusing_system_is_a_disk_error(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 300)
    with pytest.raises(eg.DiskError, match="xxx") as caught:
        eg.open(path)
    assert caught.value.path is not None
    assert caught.value.path.is_relative_to(tmp_path)
    assert isinstance(caught.value.__cause__, OSError)
    assert caught.value.__cause__.errno == errno.ENAMETOOLONG


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda db: db.put_vertex("alice"), '"alice" is not of the kind this store holds'),
        (lambda db: db.put_edge(1, "bob"), '"bob" is not of the kind'),
        (lambda db: db.put_vertex(1, name=7), 'property "name" of vertex is string, but 7'),
        (lambda db: db.put_edge(1, 2, weight="heavy"), 'property "weight" of edge is float64, but "heavy"'),
        (lambda db: db.put_edge(1, 2, ""), "not a usable name"),
        (lambda db: db.put_vertex(1, "a\nb"), "not a usable name"),
        (lambda db: db.delete_edge(1, 2, "knows"), 'no edge type "knows"; the store has'),
        (lambda db: db.create_edge_type("edge", multi=True), 'type "edge" exists already'),
        (
            lambda db: db.create_vertex_type("First", {"name": "int64"}),
            'property "name" of vertex is string already, and int64 was asked for',
        ),
        (lambda db: db.snapshot(edge_types=["knows"]), 'no edge type "knows"'),
    ],
)
def test_what_does_not_fit_the_schema(path: Path, use: Callable[[eg.Database], object], message: str) -> None:
    with eg.open(path) as db:
        version = db.snapshot().version
        with pytest.raises(eg.SchemaError, match=message):
            use(db)
        assert db.snapshot().version == version


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"durability": "always"}, ValueError, 'durability: "always" is none of'),
        ({"keys": "uuid"}, ValueError, "no kind of vertex keys; there are int64, string, dense"),
        ({"memory_limit": -1}, ValueError, "memory_limit: -1 is not 1 or above"),
        ({"memory_limit": "1 GB"}, TypeError, "memory_limit is a whole number, not str"),
    ],
)
def test_wrong_arguments_to_open(
    tmp_path: Path, arguments: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        eg.open(tmp_path / "new.eg", **arguments)  # type: ignore[arg-type]
    assert not (tmp_path / "new.eg").exists()


def test_another_kind_of_keys_than_the_store_has(path: Path) -> None:
    with pytest.raises(eg.SchemaError, match="string"):
        eg.open(path, keys="string")
    with eg.open(path, keys="int64") as db:
        assert db.snapshot().num_edges == 400


@pytest.mark.parametrize("durability", ["sync", "interval", "none"])
def test_every_durability_keeps_what_was_closed(tmp_path: Path, durability: eg.Durability) -> None:
    path = tmp_path / "store.eg"
    with eg.open(path, durability=durability) as db:
        assert db.stats().durability == durability
        for i in range(100):
            db.put_edge(i, i + 1)
    with eg.open(path) as db:
        assert db.snapshot().num_edges == 100


def test_stats_add_up(path: Path) -> None:
    with eg.open(path) as db:
        stats = db.stats()
        assert (stats.num_vertices, stats.num_edges, stats.edge_types) == (401, 400, {"edge": 400})
        assert stats.segments == 1
        assert stats.disk_bytes >= stats.segment_bytes + stats.log_bytes > 0
        assert stats.disk_bytes == sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        assert stats.disk_bytes == sum(stats.disk.values()) and stats.disk["log"] == stats.log_bytes
        assert stats.memory["history"] == stats.memory["older_segments"] == 0
        assert stats.settled
        assert "settled" in repr(stats) and "True" in repr(stats)
        assert stats.failure is None
        assert "num_edges" in repr(stats)
        db.compact()
        again = db.stats()
        assert (again.segments, again.num_edges) == (1, 400)
        assert db.path == path
        assert repr(db) == f"Database('{path}')"


def test_time_goes_on_after_reopening(path: Path) -> None:
    before = time.time() + 1
    with eg.open(path) as db:
        view = db.snapshot()
        assert view.version == 102
        assert view.time.timestamp() < before
        assert db.put_vertex(1) == 103
