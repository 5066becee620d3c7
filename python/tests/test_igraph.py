"""Algorithms: the answers of igraph, an oracle that shares nothing with NetworkX, on graphs of every kind."""

import math
import random
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import igraph
import pytest
from graphs import random_edges

import evergraph as eg


class Kind(NamedTuple):
    """A kind of graphs."""

    vertices: int
    edges: int
    symmetric: bool = False
    multi: bool = False


KINDS = {
    "directed": Kind(120, 300),
    "directed-dense": Kind(60, 700),
    "undirected": Kind(120, 200, symmetric=True),
    "undirected-dense": Kind(60, 500, symmetric=True),
    "multi": Kind(40, 400, multi=True),
    "undirected-multi": Kind(40, 300, symmetric=True, multi=True),
    "no-vertex": Kind(0, 0),
    "one-vertex": Kind(1, 0),
    "one-loop": Kind(1, 1, symmetric=True),
    "repeated-loop": Kind(1, 3, multi=True),
    "isolated": Kind(7, 0, symmetric=True),
    "mostly-isolated": Kind(50, 6),
}
Both = tuple[eg.Snapshot, igraph.Graph]


def both(kind: Kind, seed: int, *, loops: bool = True) -> Both:
    """The same random graph here and there, vertices from 0, with weights above 0."""
    ends = random_edges(seed, max(kind.vertices, 1), kind.edges)
    edges = [(int(str(src)[1:]), int(str(dst)[1:]), weight + 0.5) for src, dst, weight in ends]
    edges = [edge for edge in edges if loops or edge[0] != edge[1]]
    with eg.open() as db:
        db.create_edge_type("edge", {"weight": "float64"}, symmetric=kind.symmetric, multi=kind.multi)
        for vertex in range(kind.vertices):
            db.put_vertex(vertex)
        src, dst, weights = zip(*edges, strict=True) if edges else ((), (), ())
        db.add_edges(list(src), list(dst), weight=list(weights))
        view = db.snapshot()
    if not kind.multi:
        last = {(min(edge[:2]), max(edge[:2])) if kind.symmetric else edge[:2]: edge[2] for edge in edges}
        edges = [(*ends, weight) for ends, weight in last.items()]
    graph = igraph.Graph(kind.vertices, [edge[:2] for edge in edges], directed=not kind.symmetric)
    graph.es["weight"] = [weight for _, _, weight in edges]
    return view, graph


@pytest.fixture(
    params=[(name, seed) for name in KINDS for seed in range(2)], ids=lambda it: f"{it[0]}-{it[1]}"
)
def kind(request: pytest.FixtureRequest) -> tuple[Kind, int]:
    name, seed = request.param
    return KINDS[name], seed


@pytest.fixture
def graphs(kind: tuple[Kind, int]) -> Both:
    return both(*kind)


@pytest.fixture
def loopless(kind: tuple[Kind, int]) -> Both:
    """For measures on whose meaning for loops the two differ."""
    return both(*kind, loops=False)


def simple(graph: igraph.Graph) -> igraph.Graph:
    """Without loops, and with the lightest of parallel edges."""
    return graph.copy().simplify(combine_edges={"weight": "min"})


def agree(found: Mapping[eg.Key, float], expected: Iterable[float], within: float = 1e-9) -> bool:
    expected = list(expected)
    close = (math.isclose(found[vertex], value, abs_tol=within) for vertex, value in enumerate(expected))
    return len(found) == len(expected) and all(close)


def partition(groups: Iterable[Iterable[eg.Key]]) -> set[frozenset[eg.Key]]:
    return {frozenset(group) for group in groups}


def test_components(graphs: Both) -> None:
    view, graph = graphs
    weak = graph.connected_components(mode="weak")
    assert partition(eg.connected_components(view).groups()) == partition(weak)
    strong = graph.connected_components(mode="strong")
    assert partition(eg.strongly_connected_components(view).groups()) == partition(strong)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_pagerank(loopless: Both, weight: str | None) -> None:
    view, graph = loopless
    ranks = eg.pagerank(view, weight=weight, tol=1e-12, max_iter=1000)
    assert agree(ranks, graph.pagerank(weights=weight), 1e-8)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_betweenness(graphs: Both, weight: str | None) -> None:
    view, graph = graphs
    found = eg.betweenness_centrality(view, normalized=False, weight=weight)
    assert agree(found, simple(graph).betweenness(weights=weight), 1e-6)


@pytest.mark.parametrize("distance", [None, "weight"])
def test_closeness(graphs: Both, distance: str | None) -> None:
    view, graph = graphs
    found = eg.closeness_centrality(view, distance=distance, wf_improved=False)
    expected = graph.closeness(mode="in", weights=distance)
    assert agree(found, (0.0 if math.isnan(value) else value for value in expected))


def test_core_numbers(loopless: Both) -> None:
    view, graph = loopless
    assert list(eg.core_number(view).values()) == graph.coreness(mode="all")


def test_triangles_and_clustering(graphs: Both) -> None:
    view, graph = graphs
    plain = simple(graph.as_undirected(combine_edges="min"))
    assert eg.triangle_count(view) == len(plain.list_triangles())
    if not graph.is_directed():
        found = eg.clustering(view)
        assert agree(found, plain.transitivity_local_undirected(mode="zero"))
        if len(view):
            assert math.isclose(found.average, plain.transitivity_avglocal_undirected(mode="zero"))


@pytest.mark.parametrize("name", ["louvain", "leiden"])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_communities_are_as_good(loopless: Both, name: str, weight: str | None) -> None:
    view, graph = loopless
    plain = graph.as_undirected(mode="each")
    found = getattr(eg, name)(view, weight)
    if not plain.ecount():
        assert found.count == len(view)
        return
    modularity = plain.modularity(list(map(hash, found.values())), weights=weight)
    assert math.isclose(found.modularity, modularity, abs_tol=1e-9)
    random.seed(0)  # igraph draws from there
    theirs = {
        "louvain": lambda: plain.community_multilevel(weights=weight),
        "leiden": lambda: plain.community_leiden("modularity", weights=weight),
    }[name]()
    assert modularity > plain.modularity(theirs, weights=weight) - 0.02


def test_minimum_spanning_forest(graphs: Both) -> None:
    view, graph = graphs
    forest = eg.minimum_spanning_edges(view)
    theirs = graph.as_undirected(mode="each").spanning_tree(weights="weight")
    assert len(forest) == theirs.ecount()
    assert forest.total == sum(theirs.es["weight"])


@pytest.mark.parametrize("weight", [None, "weight"])
def test_shortest_paths(graphs: Both, weight: str | None) -> None:
    view, graph = graphs
    for source in range(min(10, len(view))):
        for reverse, mode in ((False, "out"), (True, "in")):
            (expected,) = graph.distances(source, weights=weight, mode=mode)
            reached = {vertex: length for vertex, length in enumerate(expected) if length < math.inf}
            assert dict(eg.sssp(view, source, weight=weight, reverse=reverse)) == reached
            if weight is None:
                assert dict(eg.bfs(view, source, reverse=reverse)) == reached
