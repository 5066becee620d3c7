"""Loading files: what is read, and what bad files do: a clear error, with the place, and nothing changed."""

import gzip
import os
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from conftest import WIKI_VOTE

import evergraph as eg


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_wiki_vote_is_all_there(wiki_vote: eg.Snapshot) -> None:
    with gzip.open(WIKI_VOTE, "rb") as file:
        graph = nx.read_edgelist(file, create_using=nx.DiGraph, nodetype=int)
    assert (wiki_vote.num_vertices, wiki_vote.num_edges) == (7115, 103689) == (len(graph), graph.size())
    assert {*wiki_vote.edges().rows()} == {*graph.edges}


def test_the_result_says_what_was_done(db: eg.Database, tmp_path: Path) -> None:
    path = write(tmp_path / "edges.txt", "# made by hand\n1 2\n2 3\n1 2\n")
    result = db.load(path)
    assert (result.edges, result.vertices, result.lines, result.rejected) == (2, 3, 4, 0)
    assert (result.version, result.path, result.rejects) == (1, path, [])
    assert 0 < result.seconds < 60
    assert repr(result).startswith("LoadResult(edges.txt: 2 edges, 3 vertices, ")
    assert db.load(os.fspath(path)).edges == 0


def test_a_csv_has_names_and_types(db: eg.Database, tmp_path: Path) -> None:
    text = 'when,from,to,amount,note,ok\n2024-05-17T12:00:00Z,a,b,10,"say ""hi"", b",true\n,b,c,2.5,,false\n'
    db.load(write(tmp_path / "pays.csv", text), "pays")
    noon = datetime(2024, 5, 17, 12, tzinfo=timezone.utc)
    view = db.snapshot()
    assert view.edge("a", "b", "pays") == {"when": noon, "amount": 10.0, "note": 'say "hi", b', "ok": True}
    assert view.edge("b", "c", "pays") == {"amount": 2.5, "ok": False}


def test_comments_above_a_header_are_none_of_it(db: eg.Database, tmp_path: Path) -> None:
    result = db.load(write(tmp_path / "pays.csv", "# exported by hand\n\nsrc,dst,amount\na,b,10\n"), "pays")
    assert (result.edges, result.lines) == (1, 4)
    assert db.snapshot().edge("a", "b", "pays") == {"amount": 10}
    with pytest.raises(eg.LoadError, match=r"bad\.csv:3:"):
        db.load(write(tmp_path / "bad.csv", "# exported by hand\nsrc,dst\na,b,10\n"), "pays")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"properties": []}, {}),
        ({"properties": ["x"]}, {"x": 7}),
        ({"properties": {"x": "float64"}}, {"x": 7.0}),
        ({"properties": {"x": None}}, {"x": 7}),
        ({"properties": {"x": "string", "weight": ("y", None)}}, {"x": "7", "weight": 0.5}),
        ({"properties": {"third": (2, "int64")}}, {"third": 7}),
        ({"src": "a", "dst": "b"}, {"x": 7, "y": 0.5}),
        ({"src": 0, "dst": 1}, {"x": 7, "y": 0.5}),
    ],
    ids=str,
)
def test_columns_are_chosen(
    db: eg.Database, tmp_path: Path, options: dict[str, Any], expected: dict[str, eg.Value]
) -> None:
    db.load(write(tmp_path / "e.csv", "a,b,x,y\n1,2,7,0.5\n"), **options)
    got = db.snapshot().edge(1, 2)
    assert got == expected
    assert {name: type(value) for name, value in got.items()} == {
        name: type(value) for name, value in expected.items()
    }


def test_formats_are_told_or_found_out(db: eg.Database, tmp_path: Path) -> None:
    db.load(write(tmp_path / "a.tsv", "1\t2\n"), "a")
    db.load(write(tmp_path / "b.dat", "3;4\n"), "b", delimiter=";", header=False)
    db.load(write(tmp_path / "c.txt", "src,dst\n5,6\n"), "c", format="csv")
    db.load(write(tmp_path / "d.csv.gz", gzip.compress(b"src,dst\n7,8\n")), "d", format="csv", header=True)
    assert [row[:3] for row in db.snapshot().edges().rows()] == [
        (1, 2, "a"),
        (3, 4, "b"),
        (5, 6, "c"),
        (7, 8, "d"),
    ]


def test_keys_are_told_or_found_out(tmp_path: Path) -> None:
    path = write(tmp_path / "e.txt", "1 2\n")
    for keys, expected in ((None, [1, 2]), ("string", ["1", "2"]), ("dense", [1, 2])):
        with eg.open() as db:
            db.load(path, keys=keys)  # type: ignore[arg-type]
            assert list(db.snapshot()) == expected


def test_bad_lines_are_left_out_on_request(db: eg.Database, tmp_path: Path) -> None:
    path = write(tmp_path / "e.txt", "1 2\nx y\n3\n4 5\n6 7 8 9\n\0 1\n")
    result = db.load(path, keys="int64", on_error="skip")
    assert result.edges == 2
    assert result.rejected == len(result.rejects) >= 3
    first = result.rejects[0]
    assert (first.line, first.column, first.text) == (2, 1, "x y")
    assert "not an integer" in first.reason
    assert [reject.line for reject in result.rejects[:2]] == [2, 3]
    assert f"{result.rejected} rejected" in repr(result)
    shown = repr(result.rejects).splitlines()
    assert shown[0].split() == ["line", "column", "reason", "text"]
    assert shown[2].split()[:2] == ["2", "1"]
    assert "<table>" in result.rejects._repr_html_()
    with eg.open() as other:
        assert len(other.load(path, keys="int64", on_error="skip", max_rejects=1).rejects) == 1


BAD_FILES: dict[str, tuple[str | bytes, dict[str, Any], int | None, int | None, str]] = {
    "an empty file": ("", {}, None, None, "no edge"),
    "only comments": ("# nothing\n", {}, None, None, "no edge"),
    "a name that is no number": ("1 2\nalice 3\n", {"keys": "int64"}, 2, 1, '"alice" is not an integer'),
    "a number out of range": (
        "1 2\n9223372036854775808 3\n",
        {"keys": "int64"},
        2,
        1,
        "out of the range of int64",
    ),
    "a dense id out of range": ("0 1\n1 -1\n", {"keys": "dense"}, 2, 3, "no dense id"),
    "a line cut off": ("1 2\n3 4\n5", {}, 3, None, "1 field"),
    "a NUL byte": (b"a b\nc \x00d\n", {}, 2, None, "NUL"),
    "bytes that are no text": (b"a b\n\xff\xfe c\n", {}, 2, None, "UTF-8"),
    "an open quote": ('src,dst\n"a,b\nc,d\n', {"format": "csv"}, 2, 1, "not closed"),
    "a missing column": ("src,dst\n1,2\n", {"properties": ["amount"]}, None, None, 'no column "amount"'),
    "a value of another type": (
        "src,dst,x\n1,2,heavy\n",
        {"properties": {"x": "float64"}},
        2,
        5,
        '"heavy" is no',
    ),
    "too many fields": ("src,dst\n1,2\n1,2,3\n", {}, 3, None, "3 fields"),
    "an empty key": ("src,dst\na,b\n,c\n", {}, 3, 1, "key is empty"),
}


@pytest.mark.parametrize("what", BAD_FILES)
@pytest.mark.parametrize("on_disk", [False, True])
def test_a_bad_file_changes_nothing_and_says_where(tmp_path: Path, what: str, on_disk: bool) -> None:
    content, options, line, column, message = BAD_FILES[what]
    suffix = "csv" if "," in str(content) else "txt"
    path = write(tmp_path / f"bad.{suffix}", content)
    store = tmp_path / "store.eg" if on_disk else None
    with eg.open(store, keys=options.get("keys")) as db:
        db.put_vertex("there before") if not options.get("keys") else db.put_vertex(7)
        with pytest.raises(eg.LoadError) as caught:
            db.load(path, **options)
        error = caught.value
        assert error.path == path
        assert str(path) in str(error)
        assert message in str(error)
        assert error.line == line
        if line is not None:
            assert f"{path}:{line}:" in str(error)
        if column is not None:
            assert error.column == column
        assert db.snapshot().num_vertices == 1
        assert db.snapshot().num_edges == 0
        db.put_vertex("still open") if not options.get("keys") else db.put_vertex(8)
    if store is not None:
        with eg.open(store) as db:
            assert db.snapshot().num_vertices == 2
        assert eg.check(store).is_healthy


def test_a_damaged_archive_says_so(db: eg.Database, tmp_path: Path) -> None:
    whole = gzip.compress("".join(f"{i} {i + 1}\n" for i in range(100_000)).encode())
    path = write(tmp_path / "cut.txt.gz", whole[: len(whole) // 2])
    with pytest.raises(eg.LoadError, match="decompressed beyond line") as caught:
        db.load(path)
    assert caught.value.line is not None
    assert isinstance(caught.value.__cause__, OSError)
    assert db.snapshot().num_vertices == 0


def test_a_missing_file_says_why(db: eg.Database, tmp_path: Path) -> None:
    with pytest.raises(eg.LoadError, match="cannot be opened") as caught:
        db.load(tmp_path / "none.txt")
    assert caught.value.path == tmp_path / "none.txt"
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    with pytest.raises(eg.LoadError):
        db.load(tmp_path)


def test_other_formats_are_named(db: eg.Database, tmp_path: Path) -> None:
    for name, content in (("a.parquet", b"PAR1...."), ("b.xml", b"<?xml version='1.0'?>")):
        with pytest.raises(eg.LoadError, match="not read here"):
            db.load(write(tmp_path / name, content))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"format": "json"}, ValueError, 'format: "json" is none of'),
        ({"delimiter": "::"}, ValueError, "delimiter"),
        ({"on_error": "ignore"}, ValueError, 'on_error: "ignore" is none of'),
        ({"keys": "uuid"}, ValueError, "no kind of vertex keys"),
        ({"properties": {"x": "decimal"}}, ValueError, "no property type; there are bool, int64"),
        ({"properties": "x"}, TypeError, "not a single str"),
        ({"properties": {"x": 3}}, TypeError, 'property "x" is given as'),
        ({"src": 1.5}, TypeError, "a name or a position"),
        ({"src": -1}, ValueError, "src: -1 is not 0 or above"),
    ],
)
def test_wrong_arguments_are_refused(
    db: eg.Database, tmp_path: Path, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    path = write(tmp_path / "e.csv", "a,b,x\n1,2,3\n")
    with pytest.raises(error, match=message):
        db.load(path, **options)


def test_a_file_that_does_not_fit_the_schema_changes_nothing(db: eg.Database, tmp_path: Path) -> None:
    db.put_edge(1, 2, "e", x=1.5)
    with pytest.raises(eg.EvergraphError, match=r"(?s)alice"):
        db.load(write(tmp_path / "e.csv", "src,dst\nalice,bob\n"), "e")
    with pytest.raises(eg.EvergraphError, match=r"(?s)heavy"):
        db.load(write(tmp_path / "f.csv", "src,dst,x\n3,4,heavy\n"), "e")
    assert list(db.snapshot().edges().rows()) == [(1, 2, 1.5)]


def test_a_load_is_resumed(db: eg.Database, tmp_path: Path) -> None:
    path = write(tmp_path / "edges.txt", "1 2\n2 3\n")
    assert (first := db.load(path, resume=True)).edges == 2 and first.resumed_lines == 0
    write(path, "1 2\n2 3\n3 4\n")
    again = db.load(path, resume=True)
    assert (again.edges, again.lines, again.resumed_lines) == (1, 3, 2)
    assert db.load(path, resume=True).edges == 0
    write(path, "1 2\n2 5\n3 4\n4 5\n")
    with pytest.raises(eg.LoadError, match="the first 12 bytes are not those that were loaded"):
        db.load(path, resume=True)
    assert db.load(path).edges == 2
