"""Communities and local clusters."""

from collections import Counter
from typing import Any

import networkx as nx
import pytest
from graphs import oracle, random_edges, random_pairs, stored, weighted

import evergraph as eg

GRAPHS = [(seed, symmetric, edges) for seed in range(3) for symmetric in (False, True) for edges in (90, 500)]
Both = tuple[eg.Snapshot, nx.Graph]


@pytest.fixture(
    params=GRAPHS, ids=lambda kind: f"{kind[0]}-{'symmetric' if kind[1] else 'directed'}-{kind[2]}"
)
def graphs(request: pytest.FixtureRequest) -> Both:
    seed, symmetric, edges = request.param
    pairs = random_pairs(seed, 70, edges)
    return stored(pairs, symmetric=symmetric), oracle(pairs, symmetric=symmetric)


def spread(graph: nx.Graph, order: dict[eg.Key, int], max_iter: int) -> dict[eg.Key, eg.Key]:
    """Label propagation as LDBC Graphalytics defines it."""
    labels = {vertex: vertex for vertex in graph}
    for _ in range(max_iter):
        before = dict(labels)
        for vertex in graph:
            counts = Counter(before[neighbor] for neighbor in graph.adj[vertex])
            if graph.is_directed():
                counts.update(before[neighbor] for neighbor in graph.pred[vertex])
            if counts:
                labels[vertex] = min(counts, key=lambda label: (-counts[label], order[label]))
    return labels


def test_label_propagation(graphs: Both) -> None:
    view, graph = graphs
    order = {key: row for row, key in enumerate(view)}
    for max_iter in (0, 1, 3, 10):
        found = eg.label_propagation(view, max_iter, verify=True)
        assert dict(found) == spread(graph, order, max_iter)
        assert found.iterations <= max_iter
        assert found.count == len(set(found.values())) == len(found.groups())
    if found.converged:
        assert dict(eg.label_propagation(view, 1000)) == dict(found)


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("seed", range(3))
def test_louvain(symmetric: bool, weight: str | None, seed: int) -> None:
    view, graph = weighted(random_edges(seed, 80, 250), symmetric=symmetric)
    plain = nx.MultiGraph()
    plain.add_weighted_edges_from(graph.edges(data="weight"))
    for resolution in (0.7, 1.0, 1.5):
        found = eg.louvain(view, weight, resolution, seed=seed, verify=True)
        groups = found.groups()
        modularity = nx.community.modularity(plain, groups, weight, resolution)
        assert found.modularity == pytest.approx(modularity)
        theirs = nx.community.louvain_communities(plain, weight, resolution, seed=seed)
        assert modularity > 0.9 * nx.community.modularity(plain, theirs, weight, resolution)
        assert found.count == len(groups) == len(set(found.values()))
        assert dict(found) == dict(eg.louvain(view, weight, resolution, seed=seed))
    assert repr(found).startswith(f"{found.count} communities of {len(graph)} vertices, modularity 0.")


def test_louvain_finds_cliques() -> None:
    cliques = nx.connected_caveman_graph(20, 10)
    found = eg.louvain(stored(cliques.edges, symmetric=True), verify=True)
    assert sorted(map(sorted, found.groups())) == [list(range(at, at + 10)) for at in range(0, 200, 10)]
    assert eg.louvain(stored(cliques.edges), max_level=1).levels == 1


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_leiden(symmetric: bool, seed: int) -> None:
    view, graph = weighted(random_edges(seed, 80, 250), symmetric=symmetric)
    plain = nx.MultiGraph()
    plain.add_weighted_edges_from(graph.edges(data="weight"))
    for weight in (None, "weight"):
        found = eg.leiden(view, weight, seed=seed, verify=True)
        groups = found.groups()
        modularity = nx.community.modularity(plain, groups, weight)
        assert found.modularity == pytest.approx(modularity)
        theirs = nx.community.louvain_communities(plain, weight, seed=seed)
        assert modularity > 0.9 * nx.community.modularity(plain, theirs, weight)
        assert all(nx.is_connected(plain.subgraph(group)) for group in groups)
        assert dict(found) == dict(eg.leiden(view, weight, seed=seed))


def test_local_cluster(graphs: Both) -> None:
    view, graph = graphs
    plain = nx.MultiGraph(graph.edges)
    for source in list(graph)[:5]:
        cluster = eg.local_cluster(view, source, verify=True)
        assert source in cluster
        assert repr(cluster).startswith(f"Cluster of {len(cluster)} vert")
        if 0 < nx.volume(plain, cluster) < 2 * plain.number_of_edges():
            assert cluster.conductance == pytest.approx(nx.conductance(plain, set(cluster)))
        cluster = eg.nibble(view, source, 7, verify=True)
        if 0 < nx.volume(plain, cluster) < 2 * plain.number_of_edges():
            assert cluster.conductance == pytest.approx(nx.conductance(plain, set(cluster)))


def test_a_local_cluster_is_the_clique_around_its_seed() -> None:
    cliques = nx.connected_caveman_graph(20, 10)
    view = stored(cliques.edges, symmetric=True)
    cluster = eg.local_cluster(view, 3, epsilon=1e-4, verify=True)
    assert set(cluster) >= set(range(10))
    assert len(cluster) % 10 == 0
    assert cluster.conductance < 0.05
    assert cluster.top(1)["vertex"].to_list() == [next(iter(cluster))]
    assert set(eg.nibble(view, 3, 10, 1e-4, verify=True)) == set(range(10))
    with pytest.raises(ValueError, match="epsilon"):
        eg.nibble(view, 3, epsilon=0.0)


@pytest.mark.parametrize(("name", "value"), [("alpha", 0.0), ("alpha", 1.5), ("epsilon", -1.0)])
def test_wrong_arguments_are_refused(name: str, value: float) -> None:
    arguments: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=name):
        eg.local_cluster(stored([(1, 2)]), 1, **arguments)
