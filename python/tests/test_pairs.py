"""Measures of pairs: the answers of NetworkX on random graphs."""

import itertools
import math
import random
import threading
from typing import Any

import networkx as nx
import numpy as np
import pytest
from graphs import oracle, random_pairs, stored

import evergraph as eg

MEASURES = [
    "jaccard_coefficient",
    "adamic_adar_index",
    "resource_allocation_index",
    "preferential_attachment",
    "common_neighbors",
]


def common_neighbors(graph: nx.Graph, pairs: list[tuple[int, int]]) -> Any:
    return ((u, v, len(set(nx.common_neighbors(graph, u, v)))) for u, v in pairs)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_pairs(name: str, symmetric: bool, seed: int) -> None:
    edges = random_pairs(seed, 60, 300)
    graph = nx.Graph(oracle(edges, symmetric=symmetric).to_undirected())
    view = stored(edges, symmetric=symmetric)
    pairs = random.Random(seed).choices(list(itertools.permutations(graph, 2)), k=200)
    measure = common_neighbors if name == "common_neighbors" else getattr(nx, name)
    found = getattr(eg, name)(view, iter(pairs), verify=True)
    expected = list(measure(graph, pairs))
    assert [(u, v) for u, v, _ in found] == pairs
    for (_, _, score), (_, _, wanted) in zip(found, expected, strict=True):
        assert math.isclose(score, wanted, rel_tol=1e-12)


def test_scores_of_pairs_are_a_list_and_a_table(db: eg.Database) -> None:
    db.add_edges(["a", "a", "b", "b"], ["c", "d", "c", "d"])
    view = db.snapshot()
    found = eg.jaccard_coefficient(view, [("a", "b"), ("c", "a")])
    assert list(found) == [("a", "b", 1.0), ("c", "a", 0.0)]
    assert (found[0], found[-1:], len(found)) == (("a", "b", 1.0), [("c", "a", 0.0)], 2)
    assert found.table.column_names == ["u", "v", "score"]
    assert found.to_pandas()["score"].tolist() == [1.0, 0.0]
    assert repr(found).startswith("2 pairs\n")
    arrays: Any = np.array([["a", "b"], ["a", "c"]])
    assert len(eg.common_neighbors(view, arrays)) == 2
    assert list(eg.common_neighbors(view, [])) == []


@pytest.mark.parametrize(
    ("pairs", "error"),
    [
        ([("a", "zoe")], eg.NotFoundError),
        ([("a",)], ValueError),
        ([("a", "b", "c")], ValueError),
        (["ab"], TypeError),
        ([5], TypeError),
        ([(1.5, "a")], TypeError),
    ],
)
def test_what_are_no_pairs_is_refused(db: eg.Database, pairs: Any, error: type[Exception]) -> None:
    db.put_edge("a", "b")
    with pytest.raises(error, match="a pair of vertices is wanted" if error is ValueError else None):
        eg.jaccard_coefficient(db.snapshot(), pairs)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("symmetric", [False, True])
def test_without_pairs_all_that_have_no_edge_are_measured(name: str, symmetric: bool) -> None:
    edges = random_pairs(1, 30, 90)
    graph = nx.Graph(oracle(edges, symmetric=symmetric).to_undirected())
    found = getattr(eg, name)(stored(edges, symmetric=symmetric), verify=True)
    pairs = list(nx.non_edges(graph))
    measure = common_neighbors if name == "common_neighbors" else getattr(nx, name)
    expected = {frozenset((u, v)): score for u, v, score in measure(graph, pairs)}
    assert len(found) == len(expected) == len(pairs)
    assert {frozenset((u, v)): score for u, v, score in found} == pytest.approx(expected)


def test_too_many_pairs_are_an_error(db: eg.Database) -> None:
    db.put_edge(0, 5_000)
    db.add_edges(range(5_000), range(1, 5_001))
    with pytest.raises(
        ValueError, match="argument ebunch: without pairs, all that have no edge are measured"
    ):
        eg.jaccard_coefficient(db.snapshot())


@pytest.mark.parametrize("symmetric", [False, True])
def test_common_neighbors_of_two_vertices(symmetric: bool) -> None:
    edges = random_pairs(2, 25, 150)
    view = stored(edges, symmetric=symmetric)
    graph = nx.Graph(oracle(edges, symmetric=symmetric).to_undirected())
    for u, v in itertools.permutations(graph, 2):
        assert eg.common_neighbors(view, u, v) == set(nx.common_neighbors(graph, u, v))
    with pytest.raises(eg.NotFoundError):
        eg.common_neighbors(view, 0, 99)


def test_common_neighbors_of_two_vertices_are_those_of_one_version(db: eg.Database) -> None:
    with db.begin() as tx:
        tx.put_vertex("y")
        for end in "uv":
            tx.put_edge(end, "x")
    live = db.create_view("all", vertices=["u", "v", "x", "y"])
    is_over = threading.Event()

    def swap() -> None:
        old, new = "xy"
        while not is_over.is_set():
            with db.begin() as tx:
                for end in "uv":
                    tx.delete_edge(end, old)
                    tx.put_edge(end, new)
            old, new = new, old

    writer = threading.Thread(target=swap)
    writer.start()
    try:
        found = {frozenset(eg.common_neighbors(live, "u", "v")) for _ in range(500)}
    finally:
        is_over.set()
        writer.join()
    assert found <= {frozenset("x"), frozenset("y")}


def test_common_neighbors_of_two_vertices_take_what_the_others_take(db: eg.Database) -> None:
    db.add_edges(["a", "b", "c"], ["b", "c", "a"])
    untyped: Any = eg
    assert eg.common_neighbors(db.snapshot(), "a", "b", verify=True, progress=True) == {"c"}
    with pytest.raises(TypeError, match=r"common_neighbors runs on a snapshot .*, not on Database"):
        untyped.common_neighbors(db, "a", "b")
    with pytest.raises(TypeError, match="argument verify is True or False, not str"):
        untyped.common_neighbors(db.snapshot(), "a", "b", verify="yes")
    with pytest.raises(TypeError, match="argument ebunch: pairs of vertices are wanted, not 3"):
        untyped.jaccard_coefficient(db.snapshot(), 3)
