"""Centralities and degrees: the answers of NetworkX on random graphs."""

import math
from collections.abc import Mapping

import networkx as nx
import numpy as np
import pytest
from graphs import oracle, random_pairs, stored

import evergraph as eg

GRAPHS = [(seed, symmetric) for seed in range(4) for symmetric in (False, True)]
Both = tuple[eg.Snapshot, nx.Graph]


@pytest.fixture(params=GRAPHS, ids=lambda kind: f"{kind[0]}-{'symmetric' if kind[1] else 'directed'}")
def graphs(request: pytest.FixtureRequest) -> Both:
    seed, symmetric = request.param
    pairs = [(f"v{src}", f"v{dst}") for src, dst in random_pairs(seed, 70, 130)]
    return stored(pairs, symmetric=symmetric), oracle(pairs, symmetric=symmetric)


def close(found: Mapping[eg.Key, float], expected: Mapping[eg.Key, float]) -> bool:
    same = all(
        math.isclose(found[key], value, rel_tol=1e-9, abs_tol=1e-12) for key, value in expected.items()
    )
    return found.keys() == expected.keys() and same


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("endpoints", [True, False])
def test_betweenness_centrality(graphs: Both, normalized: bool, endpoints: bool) -> None:
    view, graph = graphs
    found = eg.betweenness_centrality(view, normalized=normalized, endpoints=endpoints, verify=True)
    assert close(found, nx.betweenness_centrality(graph, normalized=normalized, endpoints=endpoints))
    assert found.sources == len(graph)


def test_betweenness_centrality_from_some(graphs: Both) -> None:
    view, graph = graphs
    sampled = eg.betweenness_centrality(view, k=20, seed=5, verify=True)
    assert sampled.sources == 20
    assert dict(sampled) == dict(eg.betweenness_centrality(view, 20, seed=5))
    everything = eg.betweenness_centrality(view, sources=list(graph), verify=True)
    assert close(everything, nx.betweenness_centrality(graph))


@pytest.mark.parametrize("wf_improved", [True, False])
def test_closeness_centrality(graphs: Both, wf_improved: bool) -> None:
    view, graph = graphs
    expected = nx.closeness_centrality(graph, wf_improved=wf_improved)
    assert close(eg.closeness_centrality(view, wf_improved=wf_improved, verify=True), expected)


def test_closeness_centrality_of_some(graphs: Both) -> None:
    view, graph = graphs
    expected = nx.closeness_centrality(graph)
    some = list(graph)[3:8]
    assert close(eg.closeness_centrality(view, some), {key: expected[key] for key in some})
    one = eg.closeness_centrality(view, some[0], verify=True)
    assert isinstance(one, float)
    assert math.isclose(one, expected[some[0]])
    assert eg.closeness_centrality(view, []) is not None
    with pytest.raises(eg.NotFoundError, match="zoe"):
        eg.closeness_centrality(view, "zoe")


def test_degree_statistics(graphs: Both) -> None:
    view, graph = graphs
    found = eg.degree_statistics(view, verify=True)
    loops = nx.number_of_selfloops(graph)
    expected = dict(graph.degree)
    if not graph.is_directed():
        # A loop of a symmetric type is one entry of the list of its vertex; NetworkX counts both its ends.
        expected = {key: degree - graph.has_edge(key, key) for key, degree in expected.items()}
    assert dict(found) == expected
    degrees = sorted(expected.values())
    assert (found.smallest, found.largest) == (degrees[0], degrees[-1])
    assert found.median == degrees[(len(degrees) - 1) // 2]
    assert math.isclose(found.mean, float(np.mean(degrees)))
    assert (found.isolated, found.self_loops) == (0, loops)
    assert repr(found).startswith(
        f"Degrees of {len(graph)} vertices: {degrees[0]} to {degrees[-1]}, on average"
    )


def test_isolated_vertices_are_counted(db: eg.Database) -> None:
    for vertex in range(3):
        db.put_vertex(vertex)
    db.put_edge(0, 3)
    degrees = eg.degree_statistics(db.snapshot(), verify=True)
    assert dict(degrees) == {0: 1, 1: 0, 2: 0, 3: 1}
    assert degrees.isolated == 2
