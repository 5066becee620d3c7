"""Topological order and cycles."""

import itertools

import networkx as nx
import pytest
from graphs import oracle, random_pairs, stored

import evergraph as eg


@pytest.mark.parametrize("seed", range(4))
def test_topological_sort(seed: int) -> None:
    pairs = [(min(pair), max(pair)) for pair in random_pairs(seed, 90, 150) if pair[0] != pair[1]]
    view, graph = stored(pairs), oracle(pairs)
    order = eg.topological_sort(view, verify=True)
    place = {vertex: at for at, vertex in enumerate(order)}
    listed = list(order)
    assert [order[0], order[-1], order[2:9:3]] == [listed[0], listed[-1], listed[2:9:3]]
    with pytest.raises(IndexError):
        order[len(order)]
    assert place.keys() == set(graph)
    assert all(place[src] < place[dst] for src, dst in graph.edges)
    generations = [sorted(generation) for generation in nx.topological_generations(graph)]
    assert [sorted(generation, key=int) for generation in order.generations()] == generations
    assert not eg.find_cycle(view, verify=True)
    assert eg.find_cycle(view) == []


@pytest.mark.parametrize("seed", range(4))
def test_a_cycle_is_found_and_has_no_order(seed: int) -> None:
    pairs = random_pairs(seed, 60, 150)
    view, graph = stored(pairs), oracle(pairs)
    cycle = eg.find_cycle(view, verify=True)
    assert all(graph.has_edge(*step) for step in itertools.pairwise([*cycle, cycle[0]]))
    assert len(set(cycle)) == len(cycle)
    with pytest.raises(eg.CycleError, match=r"vertex \d+ is on a cycle") as caught:
        eg.topological_sort(view)
    vertex = caught.value.vertex
    assert any(vertex in nx.descendants(graph, after) | {after} for after in graph.successors(vertex))
    assert isinstance(caught.value, ValueError)


def test_errors_name_vertices_by_key(db: eg.Database) -> None:
    db.add_edges(["x", "a", "b"], ["a", "b", "a"])
    with pytest.raises(eg.CycleError, match=r'vertex "[ab]" is on a cycle') as caught:
        eg.topological_sort(db.snapshot())
    assert caught.value.vertex in ("a", "b")


def test_an_edge_in_both_directions_is_a_cycle(db: eg.Database) -> None:
    db.create_edge_type("knows", symmetric=True)
    db.put_edge("a", "b", "knows")
    assert sorted(eg.find_cycle(db.snapshot()), key=str) == ["a", "b"]


def test_vertices_without_edges_have_an_order(db: eg.Database) -> None:
    assert list(eg.topological_sort(db.snapshot())) == []
    assert eg.topological_sort(db.snapshot()).generations() == []
    db.put_vertex(2)
    db.put_vertex(1)
    assert eg.topological_sort(db.snapshot()).generations() == [[2, 1]]


def test_a_cycle_is_looked_for_where_the_sources_lead(db: eg.Database) -> None:
    db.add_edges([1, 2, 3, 4, 5, 7], [2, 1, 4, 5, 4, 1])
    view, graph = db.snapshot(), db.snapshot().to_networkx()
    for source in graph:
        found = eg.find_cycle(view, source, verify=True)
        assert set(found) == {edge[0] for edge in nx.find_cycle(graph, source)}
    db.put_edge(5, 6)
    assert not eg.find_cycle(db.snapshot(), [6], verify=True)
    assert set(eg.find_cycle(db.snapshot(), [6, 7])) == {1, 2}
    with pytest.raises(eg.NotFoundError, match="no vertex 99"):
        eg.find_cycle(db.snapshot(), 99)
