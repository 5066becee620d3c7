"""Tables out: to Arrow, pandas, polars, numpy, SciPy and NetworkX, and back in again."""

import gc
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphs import oracle, random_pairs, stored

import evergraph as eg

NOON = datetime(2024, 5, 17, 12, tzinfo=timezone.utc)


@pytest.fixture
def payments(db: eg.Database) -> eg.Snapshot:
    """Three edges with every type of property, the last without any."""
    with db.begin() as tx:
        tx.put_vertex("alice", "Person", age=31)
        tx.put_edge("alice", "bob", "pays", n=1, x=0.5, ok=True, what="rent, “cash”", at=NOON)
        tx.put_edge("alice", "carol", "pays", n=-(2**60), x=float("inf"), ok=False, what="", at=NOON)
        tx.put_edge("bob", "carol", "pays")
    return db.snapshot()


ROWS = [
    ("alice", "bob", 1, 0.5, True, "rent, “cash”", NOON),
    ("alice", "carol", -(2**60), float("inf"), False, "", NOON),
    ("bob", "carol", None, None, None, None, None),
]


def test_rows_are_python_values(payments: eg.Snapshot) -> None:
    edges = payments.edges()
    assert edges.column_names == ["src", "dst", "n", "x", "ok", "what", "at"] == list(edges)
    assert list(edges.rows()) == ROWS
    assert list(payments.vertices().rows()) == [
        ("alice", "Person", 31),
        ("bob", None, None),
        ("carol", None, None),
    ]
    assert (len(edges), edges.num_rows, bool(edges), "n" in edges, "m" in edges) == (3, 3, True, True, False)
    with pytest.raises(KeyError, match=r"no column 'm'; there are \['src'"):
        edges["m"]


def test_columns_are_sequences(payments: eg.Snapshot) -> None:
    column = payments.edges()["n"]
    assert (column.name, column.type, len(column)) == ("n", "int64", 3)
    assert list(column) == [1, -(2**60), None]
    assert (column[0], column[-1], column[-3]) == (1, None, 1)
    assert (column[:2], column[::-2], column[3:]) == ([1, -(2**60)], [None, 1], [])
    for row in (3, -4):
        with pytest.raises(IndexError, match=f"no row {row}"):
            column[row]
    types = {column: payments.edges()[column].type for column in payments.edges()}
    assert types == {
        "src": "string",
        "dst": "string",
        "n": "int64",
        "x": "float64",
        "ok": "bool",
        "what": "string",
        "at": "timestamp",
    }


def test_arrow_gets_the_types_and_values(payments: eg.Snapshot) -> None:
    vertices, edges = payments.to_arrow()
    assert edges.schema.types == [
        pa.string(),
        pa.string(),
        pa.int64(),
        pa.float64(),
        pa.bool_(),
        pa.string(),
        pa.timestamp("us", "UTC"),
    ]
    edges.validate(full=True)
    assert [tuple(row.values()) for row in edges.to_pylist()] == ROWS
    assert vertices.column_names == ["id", "type", "age"]
    one = payments.edges()["what"].to_arrow()
    assert isinstance(one, pa.StringArray)
    assert one.to_pylist() == [row[5] for row in ROWS]


def test_arrow_data_outlives_everything() -> None:
    with eg.open() as db:
        db.add_edges(np.arange(1000), np.arange(1000) + 1, x=np.arange(1000) / 2)
        arrow, array = db.snapshot().edges().to_arrow(), db.snapshot().edges()["x"].to_numpy()
    del db
    gc.collect()
    assert arrow["x"].to_pylist() == array.tolist() == [i / 2 for i in range(1000)]


def test_numpy_shares_memory_and_cannot_write(payments: eg.Snapshot) -> None:
    view = stored([(1, 2), (2, 3)])
    column = view.edges()["src"]
    first, second = column.to_numpy(), column.to_numpy()
    assert np.shares_memory(first, second)
    assert not first.flags.writeable
    with pytest.raises(ValueError, match=r"WRITEABLE|read-only"):
        first[0] = 9
    with pytest.raises(ValueError, match="WRITEABLE"):
        first.flags.writeable = True
    arrow = pa.array(column)
    assert arrow.buffers()[1].address == first.ctypes.data


def test_numpy_gets_nulls_as_it_can(payments: eg.Snapshot) -> None:
    columns = payments.edges().to_numpy()
    assert columns["src"].tolist() == ["alice", "alice", "bob"]
    assert columns["n"].dtype == np.float64
    assert np.isnan(columns["n"][2])
    assert columns["ok"].tolist() == [True, False, None]
    assert columns["at"].dtype == np.dtype("datetime64[us]")
    assert np.isnat(columns["at"][2])
    assert columns["at"][0] == np.datetime64("2024-05-17T12:00")


def test_pandas_and_polars(payments: eg.Snapshot) -> None:
    frame = payments.edges().to_pandas()
    assert frame["src"].tolist() == ["alice", "alice", "bob"]
    assert frame["at"][0] == pd.Timestamp(NOON)
    assert payments.edges().to_polars().rows() == ROWS
    assert pl.Series(payments.edges()["n"]).to_list() == [1, -(2**60), None]


FRAMES: dict[str, Any] = {
    "evergraph": lambda table: table,
    "pyarrow": lambda table: table.to_arrow(),
    "polars": lambda table: table.to_polars(),
    "pandas": lambda table: table.to_pandas(),
    "numpy": lambda table: {name: table[name].to_numpy() for name in table if name not in ("n", "ok")},
    "lists": lambda table: {name: table[name].to_list() for name in table},
}


@pytest.mark.parametrize("package", FRAMES)
def test_edges_go_out_and_come_back(payments: eg.Snapshot, package: str) -> None:
    frame = FRAMES[package](payments.edges())
    names = (
        frame.column_names
        if package == "pyarrow"
        else frame.columns
        if package in ("polars", "pandas")
        else frame
    )
    with eg.open() as db:
        db.add_edges(edge_type="pays", **{name: frame[name] for name in names})
        again = db.snapshot()
    edges: Any = [(src, dst) for src, dst, *_ in ROWS]
    for src, dst in edges:
        expected = {name: value for name, value in payments.edge(src, dst).items() if name in names}
        # A null that went through numpy is a NaN.
        got = {name: value for name, value in again.edge(src, dst).items() if value == value}
        assert got == expected


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("multi", [False, True])
def test_networkx_gets_the_same_graph(symmetric: bool, multi: bool) -> None:
    pairs = random_pairs(3, 40, 200)
    view = stored(pairs, symmetric=symmetric, multi=multi)
    graph, expected = view.to_networkx(), oracle(pairs, symmetric=symmetric, multi=multi)
    assert type(graph) is type(expected)
    assert nx.utils.graphs_equal(graph, expected)


def test_networkx_gets_the_properties(payments: eg.Snapshot, db: eg.Database) -> None:
    graph = payments.to_networkx()
    assert graph.nodes["alice"] == {"type": "Person", "age": 31}
    assert graph.nodes["bob"] == {}
    assert graph.edges["alice", "bob"] == {
        "n": 1,
        "x": 0.5,
        "ok": True,
        "what": "rent, “cash”",
        "at": NOON,
    }
    db.create_edge_type("knows", symmetric=True)
    db.put_edge("alice", "bob", "knows")
    both = db.snapshot().to_networkx()
    assert type(both) is nx.MultiDiGraph
    assert [data["type"] for data in both["bob"]["alice"].values()] == ["knows"]
    assert sorted(data["type"] for data in both["alice"]["bob"].values()) == ["knows", "pays"]


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("multi", [False, True])
def test_scipy_gets_the_same_matrix(symmetric: bool, multi: bool) -> None:
    pairs = random_pairs(5, 50, 300)
    view, graph = (
        stored(pairs, symmetric=symmetric, multi=multi),
        oracle(pairs, symmetric=symmetric, multi=multi),
    )
    expected = nx.to_scipy_sparse_array(graph, nodelist=list(view)).toarray()
    assert (view.to_scipy().toarray() == expected).all()


@pytest.mark.parametrize("symmetric", [False, True])
def test_scipy_gets_weights(db: eg.Database, symmetric: bool) -> None:
    db.create_edge_type("w", {"weight": "float64"}, multi=True, symmetric=symmetric)
    db.add_edges(["a", "a", "b", "c"], ["b", "b", "c", "c"], "w", weight=[1.5, 2.0, None, 4.0])
    view = db.snapshot()
    expected = np.array([[0, 3.5, 0], [0, 0, 1], [0, 0, 4]])
    if symmetric:
        expected = expected + np.triu(expected, 1).T
    assert (view.to_scipy("weight").toarray() == expected).all()
    with pytest.raises(KeyError, match="amount"):
        view.to_scipy("amount")


def test_scipy_gets_nan_as_it_is(db: eg.Database) -> None:
    db.add_edges([1, 1, 2], [2, 3, 3], "w", weight=[float("nan"), None, 2.0], count=[None, 5, 7])
    view = db.snapshot()
    expected = np.array([[0, np.nan, 1], [0, 0, 2], [0, 0, 0]])
    assert np.array_equal(view.to_scipy("weight").toarray(), expected, equal_nan=True)
    assert (view.to_scipy("count").toarray() == [[0, 1, 5], [0, 0, 7], [0, 0, 0]]).all()


def test_csr_is_the_adjacency(wiki_vote: eg.Snapshot) -> None:
    keys = np.array(list(wiki_vote))
    indptr, indices = wiki_vote.to_csr()
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int32)
    edges = wiki_vote.edges().to_numpy()
    assert (np.repeat(keys, np.diff(indptr)) == edges["src"]).all()
    assert (keys[indices] == edges["dst"]).all()
    back = wiki_vote.to_csr(reverse=True)
    assert (np.diff(back.indptr) == [wiki_vote.in_degree(int(key)) for key in keys]).all()


def test_a_long_table_shows_its_ends(wiki_vote: eg.Snapshot) -> None:
    shown = repr(wiki_vote.edges()).splitlines()
    assert len(shown) == 14
    assert shown[0].split() == ["src", "dst"]
    assert shown[7].split() == ["…", "…"]
    assert shown[-1] == "[103,689 rows, 2 columns]"
    assert repr(wiki_vote.edges()["src"]).startswith("Column('src', int64, 103,689 rows: [")


def test_columns_stand_below_each_other_in_any_script(db: eg.Database) -> None:
    db.add_edges(["東京", "e\u0301"], ["大阪市", "b"], "to")
    names, rule, *rows = repr(db.snapshot().edges()).splitlines()[:4]
    assert (names, rule) == ("src   dst", "----  ------")
    assert {*rows} == {"東京  大阪市", "e\u0301     b"}


def test_html_is_escaped(db: eg.Database) -> None:
    db.put_vertex("<b>", note="a & b")
    html = db.snapshot().vertices()._repr_html_()
    assert "&lt;b&gt;" in html
    assert "a &amp; b" in html
    assert "[1 row, 2 columns]" in html


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("pyarrow", lambda view: view.edges().to_arrow()),
        ("pandas", lambda view: view.edges().to_pandas()),
        ("polars", lambda view: view.edges().to_polars()),
        ("networkx", lambda view: view.to_networkx()),
        ("scipy.sparse", lambda view: view.to_scipy()),
    ],
)
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, module: str, call: Any) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    name = module.partition(".")[0]
    with pytest.raises(ImportError, match=rf"needs {name}, which is not installed: pip install 'evergraph\["):
        call(stored([(1, 2)]))


def test_every_result_with_rows_is_handed_on(payments: eg.Snapshot) -> None:
    key = next(iter(payments))
    results: list[Any] = [
        eg.hits(payments),
        eg.jaccard_coefficient(payments, [("alice", "bob")]),
        eg.random_walks(payments, key),
        eg.minimum_spanning_edges(payments),
        eg.maximal_matching(payments),
        eg.multi_source_bfs(payments, [key]),
        eg.maximal_independent_set(payments),
        eg.k_core(payments),
        eg.shortest_path(payments, "alice", "bob"),
        eg.diameter(payments),
    ]
    for result in results:
        names, rows = result.table.column_names, list(result.table.rows())
        assert rows, result
        assert list(zip(*result.to_arrow().to_pydict().values(), strict=True)) == rows
        assert list(result.to_pandas().columns) == list(result.to_numpy()) == names
        assert result.to_polars().rows() == rows
        assert pa.RecordBatchReader.from_stream(result).schema.names == names


def test_hits_has_one_table_of_both_scores(payments: eg.Snapshot) -> None:
    found = eg.hits(payments)
    hubs, authorities = found
    assert list(found.table.rows()) == [(key, hubs[key], authorities[key]) for key in payments]
    assert found.to_pandas()["authority"].tolist() == list(authorities.values())


def test_rejects_are_a_table(db: eg.Database, tmp_path: Path) -> None:
    file = tmp_path / "edges.csv"
    file.write_text("1,2\nx\n3,4\ny,z,w\n", encoding="utf-8")
    rejects = db.load(file, on_error="skip").rejects
    rows = [tuple(reject) for reject in rejects]
    assert [row[0] for row in rows] == [2, 4] and rows == list(rejects.table.rows())
    assert rejects.to_arrow().schema == pa.schema(
        [("line", pa.int64()), ("column", pa.int64()), ("reason", pa.string()), ("text", pa.string())]
    )
    assert rejects.to_polars().rows() == rows
    assert rejects.to_pandas()["line"].tolist() == rejects.to_numpy()["line"].tolist() == [2, 4]
    assert rejects.table["text"].to_arrow().to_pylist() == ["x", "y,z,w"]
    none = db.load(file, "other", on_error="skip", max_rejects=0).rejects
    assert none.to_arrow().num_rows == none.to_polars().height == len(none.to_numpy()["line"]) == 0
    assert none.to_arrow().schema == rejects.to_arrow().schema


def test_rejects_need_no_pyarrow_for_polars(
    db: eg.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "edges.csv"
    file.write_text("1,2\nx\n", encoding="utf-8")
    rejects = db.load(file, on_error="skip").rejects
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert rejects.to_polars()["text"].to_list() == ["x"]


def test_a_weight_is_the_property_of_that_name(db: eg.Database, tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("u,v,foo.src,src,e.src,type\np,q,7.0,1.5,3.0,2\n")
    db.load(tmp_path / "edges.csv", "e", src="u", dst="v")
    for several in (False, True):
        if several:
            db.create_edge_type("f", properties={"dst": "float64"})
        view = db.snapshot()
        weights = {name: view.to_scipy(name).max() for name in ("foo.src", "src", "e.src", "type")}
        assert weights == {"foo.src": 7.0, "src": 1.5, "e.src": 3.0, "type": 2.0}
        assert eg.sssp(view, "p", weight="src")["q"] == 1.5


def test_a_property_called_type_stays_beside_the_type(db: eg.Database) -> None:
    db.put_edge("p", "q", "call", type="urgent")
    assert list(db.snapshot().to_networkx().edges(data=True)) == [("p", "q", {"type": "urgent"})]
    db.put_edge("p", "q", "mail", subject="hi", properties={"call.type": "none"})
    view = db.snapshot()
    named = {"type": "call", "call.call.type": "urgent"}
    assert [attributes for _, _, attributes in view.to_networkx().edges(data=True)] == [
        named,
        {"type": "mail", "subject": "hi", "call.type": "none"},
    ]
    assert set(named) <= set(view.edges().column_names)
