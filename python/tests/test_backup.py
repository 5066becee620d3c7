"""Backups: a store of their own, taken while writing goes on."""

import os
import threading
from pathlib import Path

import pytest

import evergraph as eg


def contents(db: eg.Database) -> tuple[list[object], list[object], list[str]]:
    view = db.snapshot()
    return list(view.vertices().rows()), list(view.edges().rows()), view.edge_types


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_backup_is_the_graph_as_it_was(tmp_path: Path, in_memory: bool) -> None:
    with eg.open(None if in_memory else tmp_path / "store.eg") as db:
        db.create_edge_type("sends", {"bytes": "int64"}, multi=True)
        db.add_edges(["a", "b", "a"], ["b", "c", "b"], "sends", bytes=[1, 2, 3])
        db.put_vertex("a", "Person", age=30)
        db.put_edge("c", "a", "knows", since=2019)
        db.delete_edge("b", "c", "sends")
        before = contents(db)
        assert db.backup(tmp_path / "copy.eg") == db.snapshot().version == 5
        db.put_edge("later", "a", "knows")
    report = eg.check(tmp_path / "copy.eg")
    assert report
    with eg.open(str(tmp_path / "copy.eg")) as copy:
        assert contents(copy) == before
        copy.put_edge("later", "b", "knows")


def test_an_empty_directory_will_do_and_a_store_will_not(tmp_path: Path) -> None:
    with eg.open() as db:
        db.put_vertex(1)
        db.backup(tmp_path)
        with pytest.raises(eg.AlreadyExistsError, match="name a directory") as caught:
            db.backup(tmp_path)
        assert caught.value.path == tmp_path
        assert isinstance(caught.value, FileExistsError)
    with eg.open(tmp_path) as copy:
        assert list(copy.snapshot()) == [1]
        with pytest.raises(eg.AlreadyExistsError):
            copy.backup(tmp_path)


def test_other_directories_and_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "cat.jpg").write_bytes(b"meow")
    with eg.open() as db:
        for path in (tmp_path, tmp_path / "cat.jpg"):
            with pytest.raises(eg.NotAStoreError) as caught:
                db.backup(path)
            assert caught.value.path == path
    assert os.listdir(tmp_path) == ["cat.jpg"]
    assert (tmp_path / "cat.jpg").read_bytes() == b"meow"


def test_a_backup_does_not_lie_in_the_database_itself(tmp_path: Path) -> None:
    with eg.open(tmp_path / "net.eg") as db:
        db.put_vertex(1)
        before = os.listdir(tmp_path / "net.eg")
        with pytest.raises(eg.BackupError, match=r"copy\.eg lies in the store .*net\.eg; name a directory"):
            db.backup(tmp_path / "net.eg" / "copy.eg")
        assert os.listdir(tmp_path / "net.eg") == before
        db.backup(tmp_path / "net.eg.copy")
    assert eg.check(tmp_path / "net.eg.copy")


def test_where_nothing_can_be_written_a_backup_fails_and_the_store_goes_on() -> None:
    with eg.open() as db:
        db.put_vertex(1)
        with pytest.raises(eg.EvergraphError, match="/proc"):
            db.backup("/proc/none/copy.eg")
        assert db.put_vertex(2) == 2


def test_commits_go_on_during_a_backup(tmp_path: Path) -> None:
    with eg.open(tmp_path / "store.eg", durability="none") as db:
        db.add_edges(range(100_000), range(1, 100_001))
        done = threading.Event()

        def work() -> None:
            vertex = -1
            while not done.is_set():
                db.put_vertex(vertex)
                vertex -= 1

        thread = threading.Thread(target=work)
        thread.start()
        try:
            versions = [db.backup(tmp_path / f"copy{turn}.eg") for turn in range(3)]
        finally:
            done.set()
            thread.join()
        assert versions == sorted(set(versions))
    for turn, version in enumerate(versions):
        with eg.open(tmp_path / f"copy{turn}.eg", read_only=True) as copy:
            # Each commit after the first added one vertex.
            assert copy.snapshot().num_vertices == 100_001 + version - 1
            assert copy.snapshot().version == version


@pytest.mark.parametrize("retain", ["all", 5, "7d"])
def test_a_database_in_memory_that_keeps_its_history_is_saved_to_disk(
    tmp_path: Path, retain: str | int
) -> None:
    with eg.open(retain=retain) as db:
        db.put_edge("a", "b", "knows", since=2019)
        before = contents(db)
        assert db.backup(tmp_path / "copy.eg") == 1
    with eg.open(tmp_path / "copy.eg") as copy:
        assert contents(copy) == before


def test_a_store_stays_where_it_was_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ["here", "there"]:
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / "there")
    with eg.open("net.eg") as db:
        db.add_edges([1, 2, 3], [2, 3, 4])
    monkeypatch.chdir(tmp_path / "here")
    db = eg.open("net.eg", retain="all")
    db.put_edge(1, 2)
    monkeypatch.chdir(tmp_path / "there")
    db.checkpoint()
    db.put_edge(2, 3)
    assert db.snapshot(at=1).num_edges == 1
    db.close()
    for folder, edges in [("here", 2), ("there", 3)]:
        with eg.open(tmp_path / folder / "net.eg") as db:
            assert db.snapshot().num_edges == edges
        assert eg.check(tmp_path / folder / "net.eg")


def test_a_store_that_was_moved_writes_to_no_other(tmp_path: Path) -> None:
    path = tmp_path / "net.eg"
    moved = eg.open(path)
    moved.put_edge(1, 2)
    path.rename(tmp_path / "moved.eg")
    with eg.open(path) as other:
        other.add_edges([1, 2, 3], [2, 3, 4])
    with pytest.raises(eg.ArchiveError, match="moved or removed"):
        moved.checkpoint()
    with eg.open(path) as other:
        assert other.snapshot().num_edges == 3
    assert eg.check(path)
