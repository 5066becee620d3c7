"""Algorithms written over numpy: subsets of vertices, edge_map and vertex_map."""

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
from graphs import oracle, random_edges, random_pairs, stored, weighted

import evergraph as eg
from evergraph import _frontier

GRAPHS = [(seed, symmetric) for seed in range(3) for symmetric in (False, True)]
Both = tuple[eg.Snapshot, nx.Graph]


@pytest.fixture(params=GRAPHS, ids=lambda kind: f"{kind[0]}-{'symmetric' if kind[1] else 'directed'}")
def graphs(request: pytest.FixtureRequest) -> Both:
    """Graphs with vertices that were deleted, so that rows are not ids."""
    seed, symmetric = request.param
    pairs = [(f"v{src}", f"v{dst}") for src, dst in random_pairs(seed, 120, 200)]
    with eg.open() as db:
        db.create_edge_type("edge", symmetric=symmetric)
        db.add_edges([src for src, _ in pairs], [dst for _, dst in pairs])
        graph = oracle(pairs, symmetric=symmetric)
        for key in ("v0", "v17", "v30"):
            db.delete_vertex(key)
            graph.remove_nodes_from([key])
        return db.snapshot(), graph


@pytest.fixture(params=[1, 7, 1 << 20])
def batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(_frontier, "_EDGES_PER_BATCH", request.param)
    return int(request.param)


@pytest.mark.parametrize("reverse", [False, True])
def test_breadth_first_search(graphs: Both, batches: int, reverse: bool) -> None:
    view, graph = graphs
    hops = np.full(view.num_vertices, -1)
    source = next(iter(graph))
    frontier = eg.VertexSubset(view, source)
    level = 0
    while frontier:
        hops[frontier.rows] = level
        level += 1
        frontier = eg.edge_map(
            view, frontier, lambda src, dst: None, lambda dst: hops[dst] < 0, reverse=reverse
        )
    directed = graph.reverse() if reverse and graph.is_directed() else graph
    found = {key: hop for key, hop in zip(view, hops.tolist(), strict=True) if hop >= 0}
    assert found == nx.single_source_shortest_path_length(directed, source)


def test_bellman_ford_over_weights(batches: int) -> None:
    view, graph = weighted(random_edges(3, 100, 300))
    source = next(iter(graph))
    distances = np.full(view.num_vertices, np.inf)
    frontier = eg.VertexSubset(view, source)
    distances[frontier.rows] = 0

    def relax(src: Any, dst: Any, weight: Any) -> Any:
        before = distances[dst]
        np.minimum.at(distances, dst, distances[src] + weight)
        return distances[dst] < before

    while frontier:
        frontier = eg.edge_map(view, frontier, relax, weight="weight")
    found = {key: far for key, far in zip(view, distances.tolist(), strict=True) if far < np.inf}
    assert found == nx.single_source_dijkstra_path_length(graph, source)


def test_a_subset_is_a_set(graphs: Both) -> None:
    view, graph = graphs
    keys = list(graph)
    some, others = eg.VertexSubset(view, keys[:9] * 2), eg.VertexSubset(view, keys[5:20])
    assert set(some) == set(keys[:9])
    assert len(some) == 9
    assert set(some | others) == set(keys[:20])
    assert set(some & others) == set(keys[5:9])
    assert set(some - others) == set(keys[:5])
    assert keys[0] in some
    assert keys[12] not in some
    assert "zoe" not in some
    assert some == eg.VertexSubset.from_mask(view, some.mask()) == eg.VertexSubset.from_rows(view, some.rows)
    assert some != others
    assert set(eg.VertexSubset(view)) == set(graph)
    assert not eg.VertexSubset(view, [])
    assert [view.vertices()["id"].to_list()[row] for row in some.rows] == list(some)
    assert repr(eg.VertexSubset(view, keys[0])) == f"VertexSubset({{{keys[0]!r}}})"
    assert "…" in repr(eg.VertexSubset(view))


def test_vertex_map_keeps_what_it_is_told(graphs: Both) -> None:
    view, graph = graphs
    degrees = np.diff(view.to_csr().indptr)
    many = eg.vertex_map(eg.VertexSubset(view), lambda rows: degrees[rows] > 2)
    outgoing = graph.out_degree if graph.is_directed() else graph.degree
    loops = set(nx.nodes_with_selfloops(graph)) if not graph.is_directed() else set()
    assert set(many) == {key for key, degree in outgoing if degree - (key in loops) > 2}
    seen: list[int] = []
    assert eg.vertex_map(many, lambda rows: seen.extend(rows)) == many
    assert seen == many.rows.tolist()


def test_edges_are_those_of_the_view_given(db: eg.Database) -> None:
    db.create_edge_type("pays", properties={"amount": "int64"})
    db.create_edge_type("knows")
    db.put_edge("a", "b", "knows")
    db.put_edge("a", "c", "pays", amount=1)
    db.put_edge("a", "d", "pays", amount=9)
    db.put_edge("b", "c", "knows")
    large = db.create_view("large", edges_where="type = 'knows' or amount > 5")
    full, pays = db.snapshot(), db.snapshot(edge_types=["pays"])

    def reached(view: eg.Snapshot, frontier: Any) -> set[Any]:
        return set(eg.edge_map(view, frontier, lambda src, dst: None))

    for frontier in ("a", *(eg.VertexSubset(view, "a") for view in (full, pays, large))):
        assert reached(full, frontier) == {"b", "c", "d"}
        assert reached(pays, frontier) == {"c", "d"}
        assert reached(large, frontier) == {"b", "d"}
    # What is reached is a subset of the view, to go on from there.
    assert eg.edge_map(pays, eg.VertexSubset(full, "a"), lambda src, dst: None).view is pays


def test_views_with_other_vertices_have_other_rows(db: eg.Database) -> None:
    db.add_edges(["a", "b", "c"], ["b", "c", "d"])
    first = db.create_view("first", vertices=["a", "b", "c"])
    last = db.create_view("last", vertices=["b", "c", "d"])
    subset = eg.VertexSubset(last, ["b"])
    assert first.num_vertices == last.num_vertices
    assert subset != eg.VertexSubset(first, ["a"])
    assert subset == eg.VertexSubset(last, ["b"])
    with pytest.raises(ValueError, match="a view with other vertices"):
        eg.edge_map(first, subset, lambda src, dst: None)
    with pytest.raises(ValueError, match="views with other vertices"):
        assert subset | eg.VertexSubset(first, ["a"])


def test_rows_of_a_window_are_those_of_no_other_graph(db: eg.Database) -> None:
    for name in ("a", "b"):
        db.create_edge_type(name)
    windows = [db.window(edges=2, edge_type=name) for name in ("a", "b")]
    db.put_edge("x1", "x2", "a")
    db.put_edge("y1", "y2", "b")
    one, other = (window.advance() for window in windows)
    some = eg.VertexSubset(one, "x1")
    assert some != eg.VertexSubset(other, "y1")
    with pytest.raises(ValueError, match="windows, or views with other vertices"):
        assert some | eg.VertexSubset(other, "y1")
    with pytest.raises(ValueError, match="of another store or window"):
        eg.edge_map(other, some, lambda src, dst: None)
    # The same window as it was left, with no event since.
    assert some == eg.VertexSubset(windows[0].latest(), "x1")
    assert set(eg.edge_map(windows[0].latest(), some, lambda src, dst: None)) == {"x2"}


def test_rows_stay_while_a_store_tidies_up(db: eg.Database) -> None:
    db.add_edges(range(100), range(1, 101))
    before = eg.VertexSubset(db.snapshot(), [1, 2])
    db.compact()
    assert before == eg.VertexSubset(db.snapshot(), [1, 2])


untyped: Any = eg


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda view: untyped.VertexSubset(view, ["zoe"]), eg.NotFoundError, "no vertex 'zoe'"),
        (lambda view: untyped.VertexSubset(7), TypeError, "not of int"),
        (lambda view: untyped.VertexSubset.from_rows(view, [3]), ValueError, "rows are from 0 to 1"),
        (lambda view: untyped.VertexSubset.from_rows(view, [0.7]), TypeError, "whole numbers, not float64"),
        (lambda view: untyped.VertexSubset.from_rows(view, [True]), TypeError, "not bool; .*from_mask"),
        (lambda view: untyped.vertex_map(view, len), TypeError, "a VertexSubset, not Snapshot"),
        (lambda view: untyped.VertexSubset.from_mask(view, np.ones(3)), ValueError, "array of 2 booleans"),
        (lambda view: untyped.VertexSubset.from_mask(7, np.ones(3, bool)), TypeError, "not of int"),
        (lambda view: untyped.VertexSubset(view) | {1}, TypeError, "VertexSubset is wanted, not set"),
        (
            lambda view: untyped.edge_map(view, "a", lambda src, dst: None, reverse="x"),
            TypeError,
            "argument reverse is True or False, not str",
        ),
        (
            lambda view: untyped.edge_map(view, "a", lambda src, dst, weight: None, weight=3),
            TypeError,
            "argument weight is a string, not int",
        ),
        (
            lambda view: untyped.edge_map(view, "a", lambda src, dst: np.ones(len(dst))),
            ValueError,
            "update gives a boolean for each of 1, not .* of float64",
        ),
        (
            lambda view: untyped.edge_map(view, "a", lambda src, dst: None, lambda dst: True),
            ValueError,
            "cond gives a boolean for each of 1",
        ),
        (
            lambda view: untyped.edge_map(view, "a", lambda src, dst: None, weight="cost"),
            ValueError,
            'no edge type of this view has a property "cost"',
        ),
        (
            lambda view: untyped.vertex_map(eg.VertexSubset(view), lambda rows: [True]),
            ValueError,
            "function gives a boolean for each of 2",
        ),
        (
            lambda view: untyped.edge_map(stored([(1, 2)]), eg.VertexSubset(view), lambda src, dst: None),
            ValueError,
            "of another version than the view",
        ),
    ],
)
def test_wrong_arguments_are_refused(
    db: eg.Database, call: Callable[[eg.Snapshot], object], error: type[Exception], message: str
) -> None:
    db.put_edge("a", "b")
    db.put_edge("a", "b")
    with pytest.raises(error, match=message):
        call(db.snapshot())


def test_rows_cannot_be_written_to(db: eg.Database) -> None:
    db.put_edge("a", "b")
    every = eg.VertexSubset(db.snapshot())
    for some in (
        every,
        eg.VertexSubset(db.snapshot(), "a"),
        every - every,
        eg.VertexSubset.from_rows(every.view, [1]),
    ):
        with pytest.raises(ValueError, match="read-only"):
            some.rows[:] = 1
    assert repr(every - every) == "VertexSubset()"
    assert len(eg.VertexSubset.from_rows(every.view, [])) == 0
    assert (1.5 in every, "a" in every) == (False, True)  # type: ignore[operator]
