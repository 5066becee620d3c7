"""Snapshots: what they answer, against NetworkX, and that they never change."""

import random
import re
import sys
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

import networkx as nx
import pytest
from graphs import oracle, random_pairs, stored

import evergraph as eg

KINDS = [(symmetric, multi) for symmetric in (False, True) for multi in (False, True)]


@pytest.mark.parametrize(("symmetric", "multi"), KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_neighbors_and_degrees_are_those_of_networkx(seed: int, symmetric: bool, multi: bool) -> None:
    pairs = random_pairs(seed, 60, 400)
    view, graph = (
        stored(pairs, symmetric=symmetric, multi=multi),
        oracle(pairs, symmetric=symmetric, multi=multi),
    )
    assert (view.num_vertices, view.num_edges) == (len(graph), graph.number_of_edges())
    assert view.is_symmetric == symmetric
    assert set(view) == set(graph)
    predecessors, successors = (graph.adj, graph.adj) if symmetric else (graph.pred, graph.succ)

    def repeated(adjacency: nx.Graph, key: object) -> Counter[object]:
        return Counter({n: len(edges) if multi else 1 for n, edges in adjacency[key].items()})

    for key in graph:
        assert Counter(view.out_neighbors(key)) == repeated(successors, key)
        assert Counter(view.in_neighbors(key)) == repeated(predecessors, key)
        assert view.out_degree(key) == len(view.out_neighbors(key)) == len(view.out_edges(key))
        assert view.in_degree(key) == len(view.in_neighbors(key)) == len(view.in_edges(key))
    for src in graph:
        for dst in graph:
            assert view.has_edge(src, dst) == graph.has_edge(src, dst)
            assert len(view.edges_between(src, dst)) == graph.number_of_edges(src, dst)


def test_a_snapshot_never_changes() -> None:
    pairs = random_pairs(7, 40, 200)
    with eg.open() as db:
        db.add_edges([src for src, _ in pairs], [dst for _, dst in pairs])
        view = db.snapshot()
        before = {key: (view.out_neighbors(key), view.in_neighbors(key)) for key in view}
        source = random.Random(7)
        for step in range(1000):
            src, dst = source.randrange(50), source.randrange(50)
            if step % 10 == 0:
                db.delete_vertex(src)
            elif step % 3 == 0:
                db.delete_edge(src, dst)
            else:
                db.put_edge(src, dst, n=step)
        assert db.snapshot().version == view.version + 1000 or db.snapshot().version > view.version
        assert {key: (view.out_neighbors(key), view.in_neighbors(key)) for key in view} == before
        assert view.num_edges == len(set(pairs))
    # Closing the database does not change that.
    assert {key: (view.out_neighbors(key), view.in_neighbors(key)) for key in view} == before


def test_it_is_a_collection_of_vertices(db: eg.Database) -> None:
    assert not db.snapshot()
    db.add_edges(["a", "b"], ["b", "c"])
    view = db.snapshot()
    assert bool(view)
    assert len(view) == view.num_vertices == 3
    assert list(view) == ["a", "b", "c"] == view.vertices()["id"].to_list()
    assert "a" in view
    assert "z" not in view
    assert 1 not in view


def test_what_is_not_there_is_told_with_the_version(db: eg.Database) -> None:
    db.put_vertex("a")
    view = db.snapshot()
    for ask in (
        view.vertex,
        view.out_neighbors,
        view.in_neighbors,
        view.out_degree,
        view.in_degree,
        view.out_edges,
        view.in_edges,
    ):
        with pytest.raises(eg.NotFoundError, match="no vertex 'zoe' in version 1"):
            ask("zoe")
    with pytest.raises(eg.NotFoundError, match="no edge 'a' -> 'zoe' of type 'pays'"):
        view.edge("a", "zoe", "pays")
    assert not view.has_edge("a", "zoe")
    assert view.edges_between("a", "zoe") == []


def test_edge_types_are_chosen(db: eg.Database) -> None:
    db.put_edge("a", "b", "knows")
    db.put_edge("a", "c", "pays", amount=1.5)
    view = db.snapshot()
    assert view.edge_types == ["knows", "pays"]
    assert view.out_neighbors("a", "pays") == ["c"]
    assert view.out_degree("a", "knows") == 1
    assert view.edges().column_names == ["src", "dst", "type", "amount"]
    pays = db.snapshot(edge_types=["pays"])
    assert (pays.num_vertices, pays.num_edges, pays.edge_types) == (3, 1, ["pays"])
    assert pays.out_neighbors("a") == ["c"]
    assert pays.edges().column_names == ["src", "dst", "amount"]
    assert pays.with_edge_types(["knows"]).out_neighbors("a") == ["b"]
    with pytest.raises(eg.SchemaError, match=r"no edge type \"likes\".*knows"):
        view.with_edge_types(["likes"])
    with pytest.raises(TypeError, match="list of names"):
        view.with_edge_types("pays")


def test_records_are_dicts_with_a_name(db: eg.Database) -> None:
    since = datetime(2020, 1, 1, tzinfo=timezone.utc)
    db.put_vertex("a", type="Person", age=3)
    db.put_edge("a", "b", "knows", since=since)
    view = db.snapshot()
    vertex, edge = view.vertex("a"), view.edge("a", "b")
    assert (vertex.key, vertex.type, dict(vertex)) == ("a", "Person", {"age": 3})
    assert view.vertex("b").type is None
    assert repr(view.vertex("b")) == "Vertex('b')"
    assert (edge.src, edge.dst, edge.type, dict(edge)) == ("a", "b", "knows", {"since": since})
    assert "since=datetime.datetime(2020" in repr(edge)


def test_deleted_vertices_leave_no_hole(db: eg.Database) -> None:
    db.add_edges([0, 1, 2, 3, 4], [1, 2, 3, 4, 0])
    db.delete_vertex(2)
    view = db.snapshot()
    assert list(view) == [0, 1, 3, 4]
    assert view.edges().to_numpy()["src"].tolist() == [0, 3, 4]
    indptr, indices = view.to_csr()
    assert indptr.tolist() == [0, 1, 1, 2, 3]
    assert indices.tolist() == [1, 3, 0]
    assert view.to_scipy().sum() == 3
    assert set(view.to_networkx()) == {0, 1, 3, 4}


def test_dense_keys_are_used_as_they_are() -> None:
    with eg.open(keys="dense") as db:
        db.add_edges([0, 5], [5, 9])
        view = db.snapshot()
        assert list(view) == [0, 5, 9]
        assert view.out_neighbors(5) == [9]
        with pytest.raises(eg.SchemaError, match="-1 is not a dense id"):
            db.put_vertex(-1)
        with pytest.raises(eg.SchemaError, match="dense"):
            db.put_vertex("a")


def free_bytes() -> int:
    told = re.search(r"MemAvailable: *(\d+) kB", Path("/proc/meminfo").read_text())
    return 1024 * int(told[1]) if told else 0


@pytest.mark.skipif(sys.platform != "linux" or free_bytes() > 31 * 2**30, reason="the arrays may fit")
def test_arrays_that_do_not_fit_are_refused() -> None:
    with eg.open(keys="dense") as db:
        last = 2**32 - 3
        db.add_edges([0, last], [last, last - 1])
        view = db.snapshot()
        assert view.num_vertices == 3
        with pytest.raises(MemoryError, match=r"4294967294 vertex ids take 32\.0 GiB of memory"):
            eg.pagerank(view)
        with pytest.raises(MemoryError, match="keep such keys as int64"):
            view.to_csr()
        # What looks at a part of the graph alone makes none.
        assert eg.shortest_path(view, 0, last - 1).length == 2


def test_an_empty_graph_answers_everything(db: eg.Database) -> None:
    view = db.snapshot()
    assert (view.num_vertices, view.num_edges, view.version, view.edge_types) == (0, 0, 0, [])
    assert len(view.vertices()) == len(view.edges()) == 0
    assert view.to_csr().indptr.tolist() == [0]
    assert view.to_scipy().shape == (0, 0)
    assert len(view.to_networkx()) == 0
    assert eg.triangle_count(view) == 0
    assert eg.connected_components(view).count == 0
    assert dict(eg.pagerank(view)) == {}
    assert "0 vertices" in view._repr_html_()


def test_properties_may_be_called_like_columns(db: eg.Database) -> None:
    db.put_vertex("a", "T", id=1)
    db.add_edges(["a"], ["b"], "e", type=["x"], weight=[1.0])
    db.put_edge("a", "b", "f", weight=2.0)
    assert set(db.snapshot().vertices()) == {"id", "type", "vertex.id"}
    assert set(db.snapshot().edges()) == {"src", "dst", "type", "e.type", "weight"}
    assert db.snapshot().edge("a", "b", "e") == {"type": "x", "weight": 1.0}
