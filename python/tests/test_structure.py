"""Components, cores, clusters, communities and independent sets: the answers of NetworkX on random graphs."""

import math
import random

import networkx as nx
import pytest
from graphs import oracle, random_edges, random_pairs, simple, stored, weighted

import evergraph as eg

GRAPHS = [(seed, symmetric) for seed in range(4) for symmetric in (False, True)]
Both = tuple[eg.Snapshot, nx.Graph]


@pytest.fixture(params=GRAPHS, ids=lambda kind: f"{kind[0]}-{'symmetric' if kind[1] else 'directed'}")
def sparse(request: pytest.FixtureRequest) -> Both:
    """Graphs that fall apart."""
    seed, symmetric = request.param
    pairs = random_pairs(seed, 120, 150)
    return stored(pairs, symmetric=symmetric), oracle(pairs, symmetric=symmetric)


@pytest.fixture(params=GRAPHS, ids=lambda kind: f"{kind[0]}-{'symmetric' if kind[1] else 'directed'}")
def dense(request: pytest.FixtureRequest) -> Both:
    """Graphs with many triangles."""
    seed, symmetric = request.param
    pairs = random_pairs(seed, 60, 500)
    return stored(pairs, symmetric=symmetric), oracle(pairs, symmetric=symmetric)


def test_strongly_connected_components(sparse: Both) -> None:
    view, graph = sparse
    parts = eg.strongly_connected_components(view, verify=True)
    directed = graph if graph.is_directed() else graph.to_directed()
    expected = list(nx.strongly_connected_components(directed))
    assert sorted(map(sorted, parts.groups())) == sorted(map(sorted, expected))
    assert [len(group) for group in parts.groups()] == sorted(map(len, expected), reverse=True)
    assert (parts.count, parts.largest) == (len(expected), max(map(len, expected)))
    assert all(vertex in group for vertex, group in zip(parts.sizes(), parts.groups(), strict=True))


def test_core_number(dense: Both) -> None:
    view, graph = dense
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    cores = eg.core_number(view, verify=True)
    assert dict(cores) == nx.core_number(graph)
    assert cores.largest == max(cores.values())
    assert f"the largest {cores.largest}" in repr(cores)


def test_k_core(dense: Both) -> None:
    view, graph = dense
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    for k in (None, 0, 3, 7, 1000):
        core = eg.k_core(view, k, verify=True)
        assert core == set(nx.k_core(graph, k)), k
        assert k is None or core.k == k
    assert eg.k_core(view).k == eg.core_number(view).largest


def test_clustering(dense: Both) -> None:
    view, graph = dense
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    found = eg.clustering(view, verify=True)
    expected = nx.clustering(graph)
    assert found.keys() == expected.keys()
    assert all(math.isclose(found[key], value, abs_tol=1e-12) for key, value in expected.items())
    assert math.isclose(found.average, nx.average_clustering(graph))
    some = list(graph)[3:17]
    assert dict(eg.clustering(view, some, verify=True)) == pytest.approx(nx.clustering(graph, some))
    assert math.isclose(eg.clustering(view, some).average, nx.average_clustering(graph, some))
    assert math.isclose(eg.clustering(view, some[0]), nx.clustering(graph, some[0]))
    assert dict(eg.clustering(view, [])) == {}
    with pytest.raises(eg.NotFoundError, match="no vertex 999"):
        eg.clustering(view, [999])


@pytest.mark.parametrize("symmetric", [True, False])
def test_clustering_by_weight(symmetric: bool) -> None:
    seed = 7
    graph = nx.gnm_random_graph(60, 500, seed=seed, directed=not symmetric)
    rng = random.Random(seed)
    for src, dst in graph.edges:
        if rng.random() < 0.9:
            graph[src][dst]["cost"] = rng.choice([0.0, 0.25, rng.random(), 7.5])
    graph.add_edge(3, 3, cost=9.0)
    db = eg.open()
    db.create_edge_type("edge", symmetric=symmetric)
    rows = [(src, dst, data.get("cost")) for src, dst, data in graph.edges(data=True)]
    src, dst, cost = zip(*rows, strict=True)
    db.add_edges(list(src), list(dst), cost=list(cost))
    view = db.snapshot()
    expected = nx.clustering(graph, weight="cost")
    found = eg.clustering(view, weight="cost", verify=True)
    assert dict(found) == pytest.approx(expected, abs=1e-12)
    assert math.isclose(found.average, nx.average_clustering(graph, weight="cost"))
    some = list(graph)[3:17]
    assert dict(eg.clustering(view, some, "cost", verify=True)) == pytest.approx(
        nx.clustering(graph, some, weight="cost"), abs=1e-12
    )
    assert math.isclose(eg.clustering(view, some[0], "cost"), nx.clustering(graph, some[0], weight="cost"))
    with pytest.raises(ValueError, match="color"):
        eg.clustering(view, weight="color")


def test_local_clustering_coefficient(dense: Both) -> None:
    view, graph = dense
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    directed = graph if graph.is_directed() else graph.to_directed()
    found = eg.local_clustering_coefficient(view, verify=True)
    for vertex in graph:
        around = set(directed.successors(vertex)) | set(directed.predecessors(vertex))
        possible = len(around) * (len(around) - 1)
        expected = directed.subgraph(around).number_of_edges() / possible if possible else 0.0
        assert math.isclose(found[vertex], expected, abs_tol=1e-12)
    if not graph.is_directed():
        assert math.isclose(found.average, nx.average_clustering(graph))


def test_maximal_independent_set(sparse: Both, dense: Both) -> None:
    for view, graph in (sparse, dense):
        plain = simple(graph)
        for seed in range(3):
            chosen = eg.maximal_independent_set(view, seed=seed, verify=True)
            assert not plain.subgraph(chosen).edges
            assert all(vertex in chosen or not chosen.isdisjoint(plain.adj[vertex]) for vertex in plain)
            assert list(chosen) == list(eg.maximal_independent_set(view, seed=seed))
            out = next(vertex for vertex in plain if vertex not in chosen)
            asked = eg.maximal_independent_set(view, [out], seed, verify=True)
            assert out in asked
            assert not plain.subgraph(asked).edges
        u, v = next(iter(plain.edges))
        with pytest.raises(ValueError, match=f"nodes: vertices {u} and {v} are neighbors"):
            eg.maximal_independent_set(view, [u, v])


def test_a_set_of_vertices_is_a_set(db: eg.Database) -> None:
    db.add_edges(["a", "b", "c", "c"], ["b", "c", "a", "d"])
    core = eg.k_core(db.snapshot(), 2)
    assert core == {"a", "b", "c"}
    assert list(core) == ["a", "b", "c"]
    assert core & {"a", "z"} == {"a"}
    assert type(core | {"z"}) is set
    assert core <= {"a", "b", "c", "d"}
    assert ("a" in core, "d" in core, "z" in core, len(core)) == (True, False, False, 3)
    assert repr(core) == "KCoreResult({'a', 'b', 'c'})"
    assert repr(eg.k_core(db.snapshot(), 9)) == "KCoreResult()"
    assert 1.5 not in core
    assert core.to_arrow().column_names == ["vertex"]
    assert core.to_numpy()["vertex"].tolist() == ["a", "b", "c"]
    assert db.snapshot().to_networkx().subgraph(core).number_of_edges() == 3


def test_graphs_without_edges_or_vertices() -> None:
    with eg.open() as db:
        for vertices in (0, 2):
            for vertex in range(vertices):
                db.put_vertex(vertex)
            view = db.snapshot()
            assert dict(eg.core_number(view)) == dict.fromkeys(range(vertices), 0)
            assert eg.strongly_connected_components(view).count == vertices
            assert eg.maximal_independent_set(view) == set(range(vertices))
            assert len(eg.clustering(view)) == len(eg.label_propagation(view)) == vertices
            assert eg.clustering(view).average == 0


def test_greedy_color(dense: Both) -> None:
    view, graph = dense
    colors = eg.greedy_color(view, verify=True)
    # The loop over vertices in the order of the view.
    theirs = nx.MultiGraph()
    theirs.add_nodes_from(view)
    theirs.add_edges_from(graph.edges)
    expected = nx.greedy_color(theirs)
    assert dict(colors) == expected
    assert colors.count == max(expected.values()) + 1 == len(colors.classes())
    assert repr(colors).startswith(f"{colors.count} colors for {len(graph)} vertices\n")
    last = eg.greedy_color(view, "smallest_last", verify=True)
    assert all(last[u] != last[v] for u, v in simple(graph).edges)
    assert last.count <= eg.core_number(view).largest + 1
    drawn = eg.greedy_color(view, "random_sequential", seed=3, verify=True)
    assert all(drawn[u] != drawn[v] for u, v in simple(graph).edges)
    with pytest.raises(ValueError, match='strategy: "smallest" is not largest_first, smallest_last'):
        eg.greedy_color(view, "smallest")  # type: ignore[arg-type]


def test_maximal_matching(sparse: Both) -> None:
    view, graph = sparse
    for seed in range(3):
        matching = eg.maximal_matching(view, seed=seed, verify=True)
        assert nx.is_maximal_matching(simple(graph), set(matching))
        u, v = next(iter(matching))
        assert (u, v) in matching
        assert (v, u) in matching
        assert (u, u) not in matching
        assert matching == set(matching) == eg.maximal_matching(view, seed=seed)
    assert matching.to_pandas().columns.to_list() == ["u", "v"]
    assert repr(matching).startswith(f"{len(matching)} edges\n")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("symmetric", [False, True])
def test_minimum_spanning_edges(seed: int, symmetric: bool) -> None:
    edges = [(src, dst, weight - 3) for src, dst, weight in random_edges(seed, 80, 200)]
    view, graph = weighted(edges, symmetric=symmetric)
    plain = nx.MultiGraph()
    plain.add_weighted_edges_from(graph.edges(data="weight"))
    forest = eg.minimum_spanning_edges(view, verify=True)
    expected = list(nx.minimum_spanning_edges(plain, keys=False))
    assert len(forest) == len(expected)
    assert forest.total == sum(data["weight"] for _, _, data in expected)
    assert nx.is_forest(nx.Graph([(u, v) for u, v, _ in forest]))
    assert [weight for _, _, weight in forest] == sorted(data["weight"] for _, _, data in expected)
    assert repr(forest).startswith(f"{len(forest)} edges of total weight ")
    assert eg.minimum_spanning_edges(view, None).total == len(forest)


def test_an_empty_directed_type_changes_nothing(db: eg.Database) -> None:
    db.create_edge_type("knows", symmetric=True)
    db.add_edges([1, 2, 3, 4, 5], [2, 3, 4, 5, 1], edge_type="knows")
    alone = db.snapshot()
    db.create_edge_type("pays")
    for view in (alone, db.snapshot()):
        assert dict(eg.core_number(view, verify=True)) == dict.fromkeys(range(1, 6), 2)
        assert eg.degree_statistics(view, verify=True).mean == 2.0
        assert eg.local_cluster(view, 1, verify=True).conductance == 0.5
    assert eg.louvain(db.snapshot(), verify=True) == eg.louvain(alone)
