"""Compact and fast neighbor lists hold the same graph, in different room."""

import random
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
