"""Shortest paths: the answers of NetworkX on random graphs with weights."""

import itertools
import math
from typing import Any

import networkx as nx
import numpy as np
import pytest
from graphs import random_edges, stored, weighted

import evergraph as eg

GRAPHS = [(seed, symmetric) for seed in range(4) for symmetric in (False, True)]
Both = tuple[eg.Snapshot, nx.Graph]


@pytest.fixture(params=GRAPHS, ids=lambda kind: f"{kind[0]}-{'symmetric' if kind[1] else 'directed'}")
def graphs(request: pytest.FixtureRequest) -> Both:
    seed, symmetric = request.param
    return weighted(random_edges(seed, 100, 160), symmetric=symmetric)


def test_sssp(graphs: Both) -> None:
    view, graph = graphs
    for source in list(graph)[:10]:
        distances = eg.sssp(view, source, verify=True)
        assert dict(distances) == nx.single_source_dijkstra_path_length(graph, source)
        hops = eg.sssp(view, source, weight=None, verify=True)
        assert dict(hops) == nx.single_source_shortest_path_length(graph, source)
        near = eg.sssp(view, source, cutoff=6.5, verify=True)
        assert dict(near) == nx.single_source_dijkstra_path_length(graph, source, cutoff=6.5)


def test_sssp_backwards_and_from_several(graphs: Both) -> None:
    view, graph = graphs
    sources = list(graph)[:3]
    backwards = graph.reverse() if graph.is_directed() else graph
    found = eg.sssp(view, sources, reverse=True, delta=0.75, verify=True)
    assert dict(found) == nx.multi_source_dijkstra_path_length(backwards, set(sources))


def test_shortest_path(graphs: Both) -> None:
    view, graph = graphs
    vertices = list(graph)
    for source, target in zip(vertices[:30], vertices[20:], strict=False):
        for weight in (None, "weight"):
            if not nx.has_path(graph, source, target):
                with pytest.raises(eg.NoPathError, match=f"no path from '{source}' to '{target}'"):
                    eg.shortest_path(view, source, target, weight)
                continue
            path = eg.shortest_path(view, source, target, weight, verify=True)
            assert (path[0], path[-1]) == (source, target)
            assert nx.is_path(graph, list(path))
            assert path.length == nx.shortest_path_length(graph, source, target, weight)
            weights = [graph.edges[pair][weight] if weight else 1 for pair in itertools.pairwise(path)]
            assert sum(weights) == path.length


def test_a_weight_may_have_another_name() -> None:
    view, graph = weighted(random_edges(7, 50, 90), weight="minutes")
    source = next(iter(graph))
    expected = nx.single_source_dijkstra_path_length(graph, source, weight="minutes")
    assert dict(eg.sssp(view, source, weight="minutes")) == expected
    # As in NetworkX, edges that have no `weight` weigh 1.
    assert dict(eg.sssp(view, source)) == nx.single_source_shortest_path_length(graph, source)


def test_edges_without_a_weight_weigh_1(db: eg.Database) -> None:
    db.put_edge("a", "b", weight=0.25)
    db.put_edge("b", "c")
    db.put_edge("c", "d", "other")
    view = db.snapshot()
    assert dict(eg.sssp(view, "a")) == {"a": 0, "b": 0.25, "c": 1.25, "d": 2.25}
    assert eg.shortest_path(view, "a", "d", weight="weight").length == 2.25


def test_parallel_edges_the_lightest_counts(db: eg.Database) -> None:
    db.create_edge_type("pays", multi=True)
    for amount in (3.0, 1.0, 2.0):
        db.put_edge("a", "b", "pays", amount=amount)
    view = db.snapshot()
    assert dict(eg.sssp(view, "a", weight="amount", verify=True)) == {"a": 0, "b": 1}
    assert eg.shortest_path(view, "a", "b", "amount", verify=True).length == 1


def test_a_path_is_a_list(db: eg.Database) -> None:
    db.add_edges([1, 2, 3], [2, 3, 4])
    path = eg.shortest_path(db.snapshot(), 1, 4)
    assert path == [1, 2, 3, 4]
    assert path != [1, 4]
    assert path != "1234"
    assert list(reversed(path)) == [4, 3, 2, 1]
    assert (path[1:3], len(path), path.index(3), 9 in path) == ([2, 3], 4, 2, False)
    assert repr(path) == "PathResult([1, 2, 3, 4], length=3)"
    assert path.to_pandas()["vertex"].tolist() == path.to_polars()["vertex"].to_list() == [1, 2, 3, 4]
    assert eg.shortest_path(db.snapshot(), 2, 2) == [2]
    with pytest.raises(TypeError):
        hash(path)


def test_long_paths_are_shown_in_short(db: eg.Database) -> None:
    db.add_edges(range(100), range(1, 101))
    path = eg.shortest_path(db.snapshot(), 0, 100)
    assert repr(path) == "PathResult([0, 1, 2, 3, 4, …, 96, 97, 98, 99, 100], length=100)"


NEGATIVE = 'from vertex "a" to "b" has a negative weight'

# To a type checker most of these are wrong as well.
untyped: Any = eg


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda view: eg.sssp(view, "zoe"), eg.NotFoundError, "no vertex 'zoe'"),
        (lambda view: eg.sssp(view, "a", weight="speed"), ValueError, "no edge type .* 'speed'|\"speed\""),
        (lambda view: eg.sssp(view, "a", weight="name"), ValueError, "name"),
        (lambda view: eg.sssp(view, "a", weight="debt"), ValueError, 'from vertex "a" to "b" has a negative'),
        (lambda view: eg.sssp(view, "a", cutoff=-1), ValueError, "cutoff"),
        (lambda view: eg.sssp(view, "a", cutoff=math.nan), ValueError, "cutoff"),
        (lambda view: untyped.sssp(view, "a", weight=5), TypeError, "argument weight is a string, not int"),
        (lambda view: eg.shortest_path(view, "a", "zoe"), eg.NotFoundError, "no vertex 'zoe'"),
        (lambda view: untyped.shortest_path(view, ["a", "b"], "b"), TypeError, "vertex key is .* not list"),
        (lambda view: eg.shortest_path(view, "b", "a"), eg.NoPathError, "no path from 'b' to 'a'"),
        (
            lambda view: eg.shortest_path(view, "a", "b", "debt"),
            ValueError,
            'from vertex "a" to "b" has a negative',
        ),
    ],
)
def test_wrong_arguments_are_refused(
    db: eg.Database, call: Any, error: type[Exception], message: str
) -> None:
    db.put_edge("a", "b", length=2, debt=-1, name="x")
    with pytest.raises(error, match=message):
        call(db.snapshot())


def test_k_hop(graphs: Both) -> None:
    view, graph = graphs
    for source in list(graph)[:8]:
        for k in (0, 1, 2, 5):
            around = eg.k_hop(view, source, k, verify=True)
            expected = nx.single_source_shortest_path_length(graph, source, cutoff=k)
            assert dict(around) == expected
            assert set(around) == set(nx.ego_graph(graph, source, radius=k))
            assert list(around.values()) == sorted(around.values())
            assert all(around[vertex] == hops for vertex, hops in expected.items())
        backwards = graph.reverse() if graph.is_directed() else graph
        assert set(eg.k_hop(view, source, 2, reverse=True, verify=True)) == set(
            nx.ego_graph(backwards, source, radius=2)
        )
    assert "zoe" not in around
    assert len(around.to_arrow()) == len(around)


def test_diameter(graphs: Both) -> None:
    view, graph = graphs
    found = eg.diameter(view, sweeps=6, verify=True)
    source, target = found
    assert nx.shortest_path_length(graph, source, target) == found.lower_bound
    longest = max(max(far.values()) for _, far in nx.all_pairs_shortest_path_length(graph))
    assert longest / 2 <= found.lower_bound <= longest
    assert repr(found) == f"DiameterResult([{source!r}, {target!r}], lower_bound={found.lower_bound})"


def test_the_diameter_of_a_path_is_exact(db: eg.Database) -> None:
    db.create_edge_type("edge", symmetric=True)
    db.add_edges(range(50), range(1, 51))
    assert eg.diameter(db.snapshot()).lower_bound == 50


def test_random_walks(graphs: Both) -> None:
    view, graph = graphs
    sources = list(graph)[:10]
    walks = eg.random_walks(view, sources, 6, 3, seed=1, verify=True)
    assert len(walks) == 30 == len(list(walks))
    assert sorted(walk[0] for walk in walks) == sorted(3 * sources, key=str)
    for walk in walks:
        assert all(graph.has_edge(*step) for step in itertools.pairwise(walk))
        assert len(walk) == 7 or not graph.out_degree(walk[-1])
    assert list(walks) == list(eg.random_walks(view, sources, 6, 3, seed=1))
    assert [walks[at] for at in range(len(walks))] == list(walks)
    assert (walks[-1], walks[1:7:2]) == (list(walks)[-1], list(walks)[1:7:2])
    with pytest.raises(IndexError):
        walks[len(walks)]
    assert list(walks) != list(eg.random_walks(view, sources, 6, 3, seed=2))
    assert walks.table.column_names == ["vertex", "walk", "step"]
    assert walks[0] == next(iter(walks)) == walks[:1][0]
    assert repr(walks).startswith("30 walks\n")


def test_bellman_ford(graphs: Both) -> None:
    view, graph = graphs
    for source in list(graph)[:5]:
        found = eg.bellman_ford(view, source, verify=True)
        assert dict(found) == nx.single_source_bellman_ford_path_length(graph, source)
        assert found.table.column_names == ["vertex", "distance", "parent"]


@pytest.mark.parametrize("seed", range(8))
def test_bellman_ford_with_negative_weights(seed: int) -> None:
    # An edge weighs what its ends' heights say more than something from 0: no cycle is negative.
    height = {f"v{at}": at * 37 % 11 for at in range(100)}
    edges = [(u, v, weight + height[u] - height[v]) for u, v, weight in random_edges(seed, 100, 160)]  # type: ignore[index]
    view, graph = weighted(edges)
    source = next(iter(graph))
    expected = nx.single_source_bellman_ford_path_length(graph, source)
    assert dict(eg.bellman_ford(view, source, verify=True)) == expected
    lost = [(u, v, weight - 3) for u, v, weight in edges]
    view, graph = weighted(lost)
    try:
        expected = nx.single_source_bellman_ford_path_length(graph, source)
    except nx.NetworkXUnbounded:
        with pytest.raises(eg.CycleError, match="on a cycle of negative weight") as raised:
            eg.bellman_ford(view, source)
        assert any(raised.value.vertex in cycle for cycle in nx.strongly_connected_components(graph))
    else:
        assert dict(eg.bellman_ford(view, source)) == expected


def test_multi_source_bfs(graphs: Both) -> None:
    view, graph = graphs
    found = eg.multi_source_bfs(view, graph, verify=True)
    assert found == dict(nx.all_pairs_shortest_path_length(graph))
    assert list(found) == list(graph)
    near = eg.multi_source_bfs(view, list(graph)[:3], depth_limit=2)
    assert near == {key: nx.single_source_shortest_path_length(graph, key, 2) for key in list(graph)[:3]}
    assert repr(near).startswith("3 sources, ")
    assert near.to_pandas().columns.to_list() == ["source", "vertex", "distance"]
    again = eg.multi_source_bfs(view, [*list(graph)[:3], *list(graph)[:2]], depth_limit=2)
    assert list(again.items()) == list(near.items())
    with pytest.raises(eg.NotFoundError, match="'zoe' is not a source"):
        near["zoe"]


def arrivals(edges: Any, source: eg.Key, *, strict: bool) -> dict[eg.Key, float]:
    """The earliest arrivals: all edges over and over."""
    found = {source: -math.inf}
    changed = True
    while changed:
        changed = False
        for u, v, time in edges:
            leaves = u in found and (found[u] < time or (found[u] == time and not strict))
            if leaves and time < found.get(v, math.inf):
                found[v] = time
                changed = True
    return found | {source: min(time for _, _, time in edges)}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_temporal_reachability(seed: int, strict: bool) -> None:
    edges = random_edges(seed, 60, 200)
    with eg.open() as db:
        db.create_edge_type("meets", multi=True, time="at", properties={"at": "float64"})
        u, v, times = zip(*edges, strict=True)
        db.add_edges(u, v, "meets", at=times)
        view = db.snapshot()
    for source in u[:5]:
        found = eg.temporal_reachability(view, source, strict=strict, verify=True)
        assert dict(found) == arrivals(edges, source, strict=strict)
    late = eg.temporal_reachability(view, source, "at", start=4, end=8)
    between = [edge for edge in edges if 4 <= edge[2] <= 8]
    assert dict(late) == arrivals(between, source, strict=False) | {source: 4}


def test_temporal_reachability_over_timestamps() -> None:
    from datetime import datetime, timezone

    days = [datetime(2024, 1, day, tzinfo=timezone.utc) for day in (1, 2, 3)]
    with eg.open() as db:
        db.create_edge_type("mail", multi=True, time="ts", properties={"ts": "timestamp"})
        for u, v, day in (("a", "b", days[1]), ("b", "c", days[2]), ("b", "d", days[0])):
            db.put_edge(u, v, "mail", ts=day)
        db.put_edge("b", "e", "mail")
        view = db.snapshot()
    found = eg.temporal_reachability(view, "a", verify=True)
    assert {key: time / 1e6 for key, time in found.items()} == {
        "a": days[0].timestamp(),
        "b": days[1].timestamp(),
        "c": days[2].timestamp(),
    }
    assert set(eg.temporal_reachability(view, "a", end=days[1])) == {"a", "b"}
    assert set(eg.temporal_reachability(view, "a", start=days[2].replace(tzinfo=None))) == {"a"}
    plain, _ = weighted([("a", "b", 1.0)])
    with pytest.raises(ValueError, match="time: the edge types do not say"):
        eg.temporal_reachability(plain, "a")


def test_node2vec_walks(graphs: Both) -> None:
    view, graph = graphs
    sources = list(graph)[:6]
    for p, q, weight in ((1.0, 1.0, None), (0.01, 10.0, None), (5.0, 0.1, "weight")):
        found = eg.node2vec_walks(view, sources, 12, 3, p, q, weight=weight, seed=4, verify=True)
        assert [walk[0] for walk in found] == [source for source in sources for _ in range(3)]
        assert all(graph.has_edge(*step) for walk in found for step in itertools.pairwise(walk))
        assert list(found) == list(eg.node2vec_walks(view, sources, 12, 3, p, q, weight=weight, seed=4))
    with pytest.raises(ValueError, match="p: 0 is not a number above 0"):
        eg.node2vec_walks(view, sources, p=0.0)


def test_a_time_that_is_no_number_is_named(db: eg.Database) -> None:
    db.put_edge(1, 2, label="noon")
    with pytest.raises(ValueError, match="an integer, a float, a timestamp or a date is wanted"):
        eg.temporal_reachability(db.snapshot(), 1, "label")


def test_times_are_compared_to_the_last_digit() -> None:
    # Nanoseconds since 1970, of which a float keeps one in 256.
    start = 1_700_000_000_000_000_000
    edges = [("a", "b", 100), ("b", "c", 0), ("b", "d", 101), ("d", "e", 101)]
    for kind in ("int64", "uint64", "timestamp"):
        with eg.open() as db:
            db.create_edge_type("meets", time="ns", properties={"ns": kind})
            u, v, times = zip(*edges, strict=True)
            given = np.array([start + time for time in times])
            db.add_edges(u, v, "meets", ns=given.astype("M8[us]" if kind == "timestamp" else kind))
            view = db.snapshot()
        found = eg.temporal_reachability(view, "a", verify=True)
        assert dict(found) == {key: float(start) for key in "abde"}, kind
        assert set(eg.temporal_reachability(view, "a", strict=True, verify=True)) == set("abd"), kind


def test_times_of_whole_numbers_and_floats_are_of_one_order() -> None:
    large = 2**53
    with eg.open() as db:
        db.create_edge_type("counted", time="at", properties={"at": "int64"})
        db.create_edge_type("measured", time="at", properties={"at": "float64"})
        db.put_edge("a", "b", "counted", at=large + 1)
        db.put_edge("b", "c", "measured", at=float(large))
        db.put_edge("b", "d", "measured", at=float(large + 2))
        view = db.snapshot()
    assert set(eg.temporal_reachability(view, "a", verify=True)) == set("abd")
    assert set(eg.temporal_reachability(view, "a", end=large, verify=True)) == {"a"}


def test_temporal_reachability_over_dates() -> None:
    from datetime import date, datetime, timezone

    with eg.open() as db:
        db.create_edge_type("visits", time="day", properties={"day": "date"})
        db.put_edge("a", "b", "visits", day=date(2024, 1, 2))
        db.put_edge("b", "c", "visits", day=date(2024, 1, 3))
        db.put_edge("b", "d", "visits", day=date(2024, 1, 1))
        view = db.snapshot()
    found = eg.temporal_reachability(view, "a", verify=True)
    assert set(found) == {"a", "b", "c"}
    assert found["c"] == datetime(2024, 1, 3, tzinfo=timezone.utc).timestamp() * 1e6
    assert set(eg.temporal_reachability(view, "a", end=date(2024, 1, 2))) == {"a", "b"}


def test_bytes_are_no_list_of_sources() -> None:
    view = stored([(97, 98), (98, 99)])
    untyped: Any = eg
    calls = (untyped.bfs, untyped.k_hop, untyped.random_walks, untyped.sssp, untyped.VertexSubset)
    for call in calls:
        for key in (b"a", bytearray(b"ab")):
            with pytest.raises(TypeError, match="a vertex key is an int or a str, not byte"):
                call(view, key)
    with pytest.raises(TypeError, match="not bytes"):
        untyped.betweenness_centrality(view, sources=b"ab")


def test_lists_are_indexed_by_whole_numbers_of_any_kind() -> None:
    view = stored([(1, 2), (2, 3), (3, 4)])
    untyped: Any = eg
    results = [
        eg.shortest_path(view, 1, 4),
        eg.topological_sort(view),
        eg.random_walks(view, [1, 2], 2),
        eg.common_neighbors(view, [(1, 3), (2, 4)]),
    ]
    for result in results:
        found: Any = result
        assert found[np.int64(1)] == found[1]
        assert found[np.int8(-1)] == found[-1] == found[:][-1]
        for at in ("x", None, 1.5):
            with pytest.raises(TypeError, match=f"a position is a whole number .* not {type(at).__name__}"):
                found[at]
        with pytest.raises(IndexError, match="no position 9"):
            found[9]
    assert untyped.shortest_path(view, 1, 4)[True] == 2


def test_what_no_vertex_can_be_called_is_in_no_result(db: eg.Database) -> None:
    db.put_edge(1, 2)
    view = db.snapshot()
    ranks: Any = eg.pagerank(view)
    for key in (2**70, -(2**63) - 1, "\ud800", None, 1.5, b"a"):
        for members in (ranks, eg.k_core(view), eg.VertexSubset(view)):
            untyped: Any = members
            assert key not in untyped
        assert ranks.get(key) is None
        assert (1, key) not in eg.maximal_matching(view)
        with pytest.raises(eg.NotFoundError, match="is not in this result"):
            ranks[key]
    assert 2**70 not in view
    assert "\ud800" not in view


def test_paths_longer_than_any_number_are_refused() -> None:
    view, _ = weighted([("a", "b", 1e308), ("b", "c", 1e308)])
    for search in (
        lambda: eg.sssp(view, "a"),
        lambda: eg.bellman_ford(view, "a"),
        lambda: eg.shortest_path(view, "a", "c", "weight"),
    ):
        with pytest.raises(ValueError, match="argument weight: sums of weights are beyond all numbers"):
            search()
    with pytest.raises(ValueError, match="argument distance: sums of weights are beyond all numbers"):
        eg.closeness_centrality(view, distance="weight")
