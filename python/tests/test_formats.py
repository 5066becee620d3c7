"""Compact and fast neighbor lists hold the same graph, in different room."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

import evergraph as eg


def _edges(count: int) -> tuple[list[int], list[int]]:
    rng = random.Random(5)
    src = [rng.randrange(count // 20) for _ in range(count)]
    dst = [abs(vertex + rng.randrange(-40, 40)) for vertex in src]
    src += [0] * 3000
    dst += list(range(3000))
    return src, dst


def _neighbors(db: eg.Database) -> dict[int, list[eg.Key]]:
    snapshot = db.snapshot()
    return {vertex: snapshot.out_neighbors(vertex) for vertex in range(0, 200, 7)}


@pytest.mark.parametrize("on_disk", [False, True])
def test_both_formats_hold_the_same_graph(tmp_path: Path, on_disk: bool) -> None:
    src, dst = _edges(20_000)
    found = []
    for format_name in ("fast", "compact"):
        path = tmp_path / format_name if on_disk else None
        with eg.open(path, keys="dense", format=format_name) as db:
            db.add_edges(src, dst)
            if on_disk:
                db.compact()
            db.put_edge(0, 5000, "edge")
            db.delete_edge(0, 17, "edge")
            found.append((_neighbors(db), sorted(eg.pagerank(db.snapshot()).top(5))))
            stats = db.stats()
            assert stats.format == format_name
            assert stats.memory["fragments"] + stats.memory["segments"] > 0
    assert found[0] == found[1]


def test_a_store_keeps_its_format_until_told_otherwise(tmp_path: Path) -> None:
    src, dst = _edges(40_000)
    with eg.open(tmp_path / "g", keys="dense", format="compact") as db:
        db.add_edges(src, dst)
        db.compact()
        small = db.stats().segment_bytes
    with eg.open(tmp_path / "g") as db:
        assert db.stats().format == "compact"
        before = _neighbors(db)
    with eg.open(tmp_path / "g", format="fast") as db:
        assert _neighbors(db) == before
        db.put_edge(1, 2, "other")
        db.compact()
        assert db.stats().segment_bytes > 1.5 * small
        assert _neighbors(db)[7] == before[7]
    assert eg.check(tmp_path / "g")


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match=r"format: \"tiny\" is none of \"fast\", \"compact\""):
        eg.open(format="tiny")  # type: ignore[arg-type]


def test_what_a_small_database_takes_is_told(tmp_path: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("the system does not tell")
    program = """
import pathlib, sys, time
import numpy as np
import evergraph as eg

def private_bytes():
    text = pathlib.Path("/proc/self/smaps_rollup").read_text()
    return 1024 * int(text.split("Anonymous:")[1].split()[0])

def settled(db):
    while not db.stats().settled:
        time.sleep(0.01)
    return db.stats().allocator_bytes

rows = np.random.default_rng(1).integers(0, 50_000, (2, 400_000))
with eg.open(sys.argv[1]) as db:
    db.add_edges(rows[0, :1000], rows[1, :1000])
    before = settled(db), private_bytes()
    for first in range(1000, 400_000, 1000):
        db.add_edges(rows[0, first : first + 1000], rows[1, first : first + 1000])
    told = settled(db)
    heap = sum(n for name, n in db.stats().memory.items() if not name.endswith("segments"))
    print(heap, told, told - before[0], private_bytes() - before[1])
"""
    command = [sys.executable, "-c", program, str(tmp_path / "g")]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    heap, told, grown, taken = map(int, output.split())
    assert 0 < heap <= told
    assert abs(taken - grown) < taken / 10 + (1 << 20), output
