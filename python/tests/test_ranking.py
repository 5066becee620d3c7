"""Centralities and degrees: the answers of NetworkX on random graphs."""

import math
from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np
import pytest
from graphs import oracle, random_edges, random_pairs, stored, weighted

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
    assert set(eg.betweenness_centrality(view, sources=[], verify=True).values()) == {0.0}
    single = eg.betweenness_centrality(view, sources=["v3"], verify=True)
    assert single.keys() == set(graph) - {"v3"}
    for k in (0, len(graph) + 1):
        with pytest.raises(ValueError, match=f"k: {k} is not from 1 to the number of vertices, {len(graph)}"):
            eg.betweenness_centrality(view, k=k)
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
    assert dict(eg.closeness_centrality(view, [])) == {}
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


# ---- by weight


@pytest.fixture(params=GRAPHS, ids=lambda kind: f"{kind[0]}-{'symmetric' if kind[1] else 'directed'}")
def heavy(request: pytest.FixtureRequest) -> Both:
    """Graphs with weights above 0."""
    seed, symmetric = request.param
    edges = [(src, dst, weight + 0.5) for src, dst, weight in random_edges(seed, 60, 150)]
    return weighted(edges, symmetric=symmetric)


def near(found: Mapping[eg.Key, float], expected: Mapping[eg.Key, float], tolerance: float) -> bool:
    same = all(math.isclose(found[key], value, abs_tol=tolerance) for key, value in expected.items())
    return found.keys() == expected.keys() and same


def test_pagerank_with_weights(heavy: Both) -> None:
    view, graph = heavy
    ranks = eg.pagerank(view, tol=1e-11, weight="weight", verify=True)
    assert near(ranks, nx.pagerank(graph, tol=1e-11, max_iter=1000), 1e-8)
    hops = eg.pagerank(view, tol=1e-11, verify=True)
    assert near(hops, nx.pagerank(graph, tol=1e-11, max_iter=1000, weight=None), 1e-8)
    first, second, *_ = graph
    options: dict[str, Any] = {"nstart": {first: 3.0, second: 1.0}, "dangling": {second: 1.0}}
    ranks = eg.pagerank(view, 0.6, tol=1e-11, weight="weight", verify=True, **options)
    assert near(ranks, nx.pagerank(graph, 0.6, tol=1e-11, max_iter=1000, **options), 1e-8)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_eigenvector_centrality(heavy: Both, weight: str | None) -> None:
    view, graph = heavy
    found = eg.eigenvector_centrality(view, 5000, 1e-9, weight=weight, verify=True)
    expected = nx.eigenvector_centrality(graph, 5000, 1e-9, weight=weight)
    assert near(found, expected, 1e-7)
    start = {vertex: place + 1.0 for place, vertex in enumerate(graph)}
    found = eg.eigenvector_centrality(view, 5000, 1e-9, start, weight)
    assert near(found, nx.eigenvector_centrality(graph, 5000, 1e-9, start, weight), 1e-7)
    few = eg.eigenvector_centrality(view, max_iter=2, tol=0)
    assert (few.iterations, few.converged) == (2, False)
    assert repr(few).startswith(f"Scores of {len(graph)} vertices: not converged after 2 iterations\n")


@pytest.mark.parametrize("normalized", [True, False])
def test_katz_centrality(heavy: Both, normalized: bool) -> None:
    view, graph = heavy
    for weight, alpha in ((None, 0.05), ("weight", 0.005)):
        found = eg.katz_centrality(
            view, alpha, 2.0, tol=1e-12, normalized=normalized, weight=weight, verify=True
        )
        expected = nx.katz_centrality(graph, alpha, 2.0, tol=1e-12, normalized=normalized, weight=weight)
        assert near(found, expected, 1e-9)
    beta = {vertex: position / 10 for position, vertex in enumerate(graph)}
    found = eg.katz_centrality(view, 0.05, beta, tol=1e-12, normalized=normalized, verify=True)
    assert near(found, nx.katz_centrality(graph, 0.05, beta, tol=1e-12, normalized=normalized), 1e-9)
    with pytest.raises(TypeError, match="beta is a number, or a mapping from vertex to number"):
        eg.katz_centrality(view, beta="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="alpha: with 5 the scores grow without a limit"):
        eg.katz_centrality(stored([(1, 2), (2, 1)]), 5.0)


def test_hits(heavy: Both) -> None:
    view, graph = heavy
    hubs, authorities = found = eg.hits(view, 10_000, 1e-13, verify=True)
    expected = nx.hits(graph)
    assert near(hubs, expected[0], 1e-6)
    assert near(authorities, expected[1], 1e-6)
    assert hubs is found.hubs
    assert hubs.converged
    assert [table["vertex"][0] for table in found.top(1)] == [
        hubs.top(1)["vertex"][0],
        authorities.top(1)["vertex"][0],
    ]
    assert repr(found) == f"Hubs. {hubs!r}\n\nAuthorities. {authorities!r}"
    assert authorities.top(3).column_names == ["vertex", "authority"]
    raw = eg.hits(view, 10_000, 1e-13, normalized=False, verify=True)
    assert math.isclose(sum(value**2 for value in raw.authorities.values()), 1)
    ones = eg.hits(view, 10_000, 1e-13, weight=None)
    unweighted = nx.Graph(graph.edges) if not graph.is_directed() else nx.DiGraph(graph.edges)
    assert near(ones.hubs, nx.hits(unweighted)[0], 1e-6)


@pytest.mark.parametrize("endpoints", [True, False])
def test_betweenness_centrality_by_weight(heavy: Both, endpoints: bool) -> None:
    view, graph = heavy
    found = eg.betweenness_centrality(view, weight="weight", endpoints=endpoints, verify=True)
    assert close(found, nx.betweenness_centrality(graph, weight="weight", endpoints=endpoints))


def test_betweenness_counts_the_lightest_of_parallel_edges() -> None:
    with eg.open() as db:
        db.create_edge_type("road", multi=True, symmetric=True)
        db.add_edges([1, 1, 2, 2, 1], [2, 2, 3, 3, 3], "road", weight=[5.0, 1.0, 1.0, 1.0, 2.5])
        found = eg.betweenness_centrality(db.snapshot(), weight="weight", verify=True)
        graph = nx.MultiGraph(db.snapshot().to_networkx())
    assert close(found, nx.betweenness_centrality(graph, weight="weight"))
    assert found[2] == 1


@pytest.mark.parametrize("wf_improved", [True, False])
def test_closeness_centrality_by_distance(heavy: Both, wf_improved: bool) -> None:
    view, graph = heavy
    found = eg.closeness_centrality(view, None, "weight", wf_improved, verify=True)
    assert close(found, nx.closeness_centrality(graph, None, "weight", wf_improved))
    vertex = next(iter(graph))
    assert math.isclose(eg.closeness_centrality(view, vertex, "weight", wf_improved), found[vertex])


def test_weights_that_make_no_sense_are_refused() -> None:
    view, _ = weighted([("a", "b", 0.0), ("b", "c", -1.0)])
    with pytest.raises(ValueError, match='the edge from vertex "a" to "b" has weight 0'):
        eg.betweenness_centrality(view, weight="weight")
    with pytest.raises(ValueError, match='the edge from vertex "b" to "c" has a negative weight'):
        eg.hits(view)
    with pytest.raises(ValueError, match="no edge type"):
        eg.closeness_centrality(view, distance="length")
    with pytest.raises(eg.NotFoundError, match="zoe"):
        eg.eigenvector_centrality(view, nstart={"zoe": 1.0})


# ---- what is refused


def test_a_wrong_number_is_named_by_the_key_of_its_vertex(db: eg.Database) -> None:
    db.add_edges(["x", "y"], ["y", "z"])
    view = db.snapshot()
    wrong: dict[eg.Key, float] = {"y": -1.0, "z": 2.0}
    for name in ("personalization", "nstart", "dangling"):
        with pytest.raises(ValueError, match=f'{name}: weight -1 is not 0 or above, at vertex "y"'):
            eg.pagerank(view, **{name: wrong})  # type: ignore[arg-type]
    for scores in (eg.hits, eg.eigenvector_centrality):
        with pytest.raises(ValueError, match='nstart: weight -1 is not 0 or above, at vertex "y"'):
            scores(view, nstart=wrong)
    with pytest.raises(ValueError, match='nstart: inf is not a finite number, at vertex "z"'):
        eg.katz_centrality(view, nstart={"z": math.inf})


def test_counts_that_are_too_large_are_refused(db: eg.Database) -> None:
    db.add_edges([1, 2], [2, 3])
    view = db.snapshot()
    with pytest.raises(ValueError, match="length: 1000000000000 is more than 2\\^32 - 1"):
        eg.random_walks(view, 1, length=10**12)
    with pytest.raises(ValueError, match="more than 2\\^32 - 1; ask for fewer or shorter walks"):
        eg.random_walks(view, 1, length=10**6, walks=10**6)
    with pytest.raises(ValueError, match="sweeps: 1000000000000 is more than"):
        eg.diameter(view, sweeps=10**12)
    assert eg.diameter(view, sweeps=2**32 - 1).lower_bound == 2


def test_pagerank_goes_by_proportions_of_numbers_of_any_size() -> None:
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("c", "d"), ("a", "c")]
    plain = dict(eg.pagerank(stored(pairs)))
    for size in (1e308, 1e-310, 5e-324):
        view, _ = weighted([(src, dst, size) for src, dst in pairs])
        assert dict(eg.pagerank(view, weight="weight", verify=True)) == pytest.approx(plain)
        one = {"a": size}
        for given in ({"personalization": one}, {"dangling": one}, {"nstart": one}):
            arguments: Any = given
            wanted: Any = {name: {"a": 1.0} for name in given}
            found = eg.pagerank(view, verify=True, **arguments)
            assert dict(found) == pytest.approx(dict(eg.pagerank(view, **wanted)))


def test_distances_too_small_for_closeness_are_refused() -> None:
    view, _ = weighted([("a", "b", 1e-310), ("b", "a", 1e-310)])
    with pytest.raises(ValueError, match="argument distance: distances are so small"):
        eg.closeness_centrality(view, distance="weight")
