"""Algorithms: the answers of NetworkX, on random graphs and on wiki-Vote; what all of them share."""

import inspect
import math
import pickle
import re
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from graphs import oracle, random_pairs, stored

import evergraph as eg
from evergraph import _native

GRAPHS = [(seed, symmetric) for seed in range(4) for symmetric in (False, True)]


@pytest.fixture(params=GRAPHS, ids=lambda kind: f"{kind[0]}-{'symmetric' if kind[1] else 'directed'}")
def graphs(request: pytest.FixtureRequest) -> tuple[eg.Snapshot, nx.Graph]:
    seed, symmetric = request.param
    # Sparse enough to fall apart, and with vertices that were deleted.
    pairs = random_pairs(seed, 120, 150)
    with eg.open() as db:
        db.create_edge_type("edge", symmetric=symmetric)
        db.add_edges([f"v{src}" for src, _ in pairs], [f"v{dst}" for _, dst in pairs])
        graph = oracle([(f"v{src}", f"v{dst}") for src, dst in pairs], symmetric=symmetric)
        for key in ("v0", "v17", "v30"):
            assert db.delete_vertex(key) == (key in graph)
            graph.remove_nodes_from([key])
        return db.snapshot(), graph


@pytest.fixture(scope="module")
def wiki(wiki_vote: eg.Snapshot) -> nx.DiGraph:
    return wiki_vote.to_networkx()


def test_bfs(graphs: tuple[eg.Snapshot, nx.Graph]) -> None:
    view, graph = graphs
    for source in list(graph)[:10]:
        hops = eg.bfs(view, source, verify=True)
        assert dict(hops) == nx.single_source_shortest_path_length(graph, source)
        assert hops.depth == max(hops.values())
        for vertex, distance, parent in hops.table.rows():
            assert (vertex == parent == source) if distance == 0 else graph.has_edge(parent, vertex)
            assert isinstance(distance, int)
            assert hops[parent] == max(distance - 1, 0)  # type: ignore[index]


def test_bfs_backwards_limited_and_from_several(graphs: tuple[eg.Snapshot, nx.Graph]) -> None:
    view, graph = graphs
    source, other = list(graph)[:2]
    backwards = graph.reverse() if graph.is_directed() else graph
    back = nx.single_source_shortest_path_length(backwards, source)
    assert dict(eg.bfs(view, source, reverse=True, verify=True)) == back
    near = nx.single_source_shortest_path_length(graph, source, cutoff=2)
    assert dict(eg.bfs(view, source, depth_limit=2, verify=True)) == near
    both = nx.multi_source_dijkstra_path_length(graph, {source, other}, weight=None)
    assert dict(eg.bfs(view, [source, other], verify=True)) == both


def test_pagerank(graphs: tuple[eg.Snapshot, nx.Graph]) -> None:
    view, graph = graphs
    ranks = eg.pagerank(view, tol=1e-10, verify=True)
    expected = nx.pagerank(graph, tol=1e-10, max_iter=1000)
    assert ranks.keys() == expected.keys()
    assert all(math.isclose(ranks[key], score, abs_tol=1e-7) for key, score in expected.items())
    assert ranks.converged
    assert ranks.error < 1e-10 * len(graph)
    assert math.isclose(sum(ranks.values()), 1)


def test_pagerank_personalized(graphs: tuple[eg.Snapshot, nx.Graph]) -> None:
    view, graph = graphs
    weights = {key: position + 1.0 for position, key in enumerate(list(graph)[:3])}
    ranks = eg.pagerank(view, 0.7, weights, tol=1e-10, verify=True)
    expected = nx.pagerank(graph, 0.7, weights, tol=1e-10, max_iter=1000)
    assert all(math.isclose(ranks[key], score, abs_tol=1e-7) for key, score in expected.items())


def test_connected_components(graphs: tuple[eg.Snapshot, nx.Graph]) -> None:
    view, graph = graphs
    parts = eg.connected_components(view, verify=True)
    find = nx.weakly_connected_components if graph.is_directed() else nx.connected_components
    expected = sorted(map(sorted, find(graph)))
    groups: dict[eg.Key, list[Any]] = {}
    for vertex, component in parts.items():
        groups.setdefault(component, []).append(vertex)
    assert sorted(map(sorted, groups.values())) == expected
    assert all(component in group for component, group in groups.items())
    assert parts.count == len(expected)
    assert parts.largest == max(map(len, expected))
    assert parts.sizes() == {component: len(group) for component, group in groups.items()}
    assert list(parts.sizes().values()) == sorted(map(len, expected), reverse=True)


def triangles(graph: nx.Graph) -> int:
    simple = nx.Graph(graph.to_undirected())
    simple.remove_edges_from(nx.selfloop_edges(simple))
    return int(sum(nx.triangles(simple).values()) // 3)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("symmetric", [False, True])
def test_triangle_count(seed: int, symmetric: bool) -> None:
    pairs = random_pairs(seed, 60, 500)
    graph = oracle(pairs, symmetric=symmetric)
    assert eg.triangle_count(stored(pairs, symmetric=symmetric), verify=True) == triangles(graph) > 0


def test_wiki_vote(wiki_vote: eg.Snapshot, wiki: nx.DiGraph) -> None:
    assert eg.triangle_count(wiki_vote) == 608_389 == triangles(wiki)
    assert eg.connected_components(wiki_vote).largest == 7066
    assert dict(eg.bfs(wiki_vote, 30)) == nx.single_source_shortest_path_length(wiki, 30)
    expected = nx.pagerank(wiki, tol=1e-10)
    ranks = eg.pagerank(wiki_vote, tol=1e-10)
    assert max(abs(ranks[key] - score) for key, score in expected.items()) < 1e-8
    best = sorted(expected, key=expected.__getitem__, reverse=True)[:10]
    assert ranks.top(10)["vertex"].to_list() == best


def test_several_edge_types_at_once(db: eg.Database) -> None:
    db.create_edge_type("knows", symmetric=True)
    db.put_edge("a", "b", "pays")
    db.put_edge("c", "b", "knows")
    view = db.snapshot()
    assert dict(eg.bfs(view, "a")) == {"a": 0, "b": 1, "c": 2}
    assert dict(eg.bfs(db.snapshot(edge_types=["pays"]), "a")) == {"a": 0, "b": 1}
    expected = nx.pagerank(nx.DiGraph(view.to_networkx()), tol=1e-10, max_iter=1000)
    ranks = eg.pagerank(view, tol=1e-10, verify=True)
    assert all(math.isclose(ranks[key], score, abs_tol=1e-7) for key, score in expected.items())


def test_pagerank_stops_without_raising(wiki_vote: eg.Snapshot) -> None:
    ranks = eg.pagerank(wiki_vote, max_iter=2, tol=1e-12)
    assert (ranks.iterations, ranks.converged) == (2, False)
    assert repr(ranks).startswith("PageRank of 7,115 vertices: not converged after 2 iterations\n")
    assert math.isclose(sum(ranks.values()), 1)


def test_a_result_is_a_dict(db: eg.Database) -> None:
    db.add_edges(["a", "b", "d"], ["b", "c", "a"])
    hops = eg.bfs(db.snapshot(), "a")
    assert hops["c"] == 2
    assert ("c" in hops, "d" in hops, "zoe" in hops, 7 in hops) == (True, False, False, False)
    assert hops.get("d") is None
    assert hops.get("d", -1) == -1
    # What no vertex can be called is not in it, as in a dictionary.
    odd: Any = 1.5
    assert (odd in hops, None in hops, hops.get(odd), hops.get(None, 7)) == (False, False, None, 7)  # type: ignore[call-overload]
    assert len(hops) == 3 == len(hops.items()) == len(hops.values())
    assert list(hops) == ["a", "b", "c"] == list(hops.keys())
    assert list(hops.items()) == [("a", 0), ("b", 1), ("c", 2)]
    assert hops == {"a": 0, "b": 1, "c": 2}
    with pytest.raises(eg.NotFoundError, match="'d' is not in this result"):
        hops["d"]
    with pytest.raises(KeyError):
        hops["zoe"]


def test_a_result_is_a_table(db: eg.Database) -> None:
    db.add_edges([1, 2, 3, 4], [4, 4, 4, 1])
    ranks = eg.pagerank(db.snapshot())
    best = ranks.top(2)
    assert best.column_names == ["vertex", "score"]
    assert best["vertex"].to_list() == [4, 1]
    # Ties stay in order, and there is no more than there is.
    assert ranks.top()["vertex"].to_list() == [4, 1, 2, 3]
    assert len(ranks.top(0)) == 0
    with pytest.raises(ValueError, match="count: -1 is not 0 or above"):
        ranks.top(-1)
    with pytest.raises(TypeError, match="PageRankResult belongs to its snapshot and cannot be pickled"):
        pickle.dumps(ranks)
    frame = ranks.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert frame.set_index("vertex")["score"].to_dict() == dict(ranks)
    arrays = ranks.to_numpy()
    assert arrays["score"].dtype == np.float64
    assert ranks.to_polars().columns == ranks.to_arrow().column_names == ["vertex", "score"]
    assert "4 vertices" in ranks._repr_html_()
    assert eg.bfs(db.snapshot(), 1).top(1)["distance"].to_list() == [1]


# To a type checker most of these are wrong as well.
untyped: Any = eg


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda view: untyped.bfs(view, "zoe"), eg.NotFoundError, "no vertex 'zoe'"),
        (lambda view: untyped.bfs(view, ["a", "zoe"]), eg.NotFoundError, "no vertex 'zoe'"),
        (lambda view: untyped.bfs(view, None), ValueError, "bfs needs it"),
        (lambda view: untyped.bfs(view, 1.5), TypeError, "vertex key"),
        (lambda view: untyped.bfs(view, "a", depth_limit=-1), ValueError, "depth_limit: -1"),
        (
            lambda view: untyped.louvain(view, seed=2**64),
            ValueError,
            r"seed: 18446744073709551616 is not from 0",
        ),
        (lambda view: untyped.k_hop(view, ["a", "b"]), TypeError, "vertex key"),
        (lambda view: untyped.bfs(view, "a", depth_limit=1.5), TypeError, "depth_limit is a whole number"),
        (lambda view: untyped.pagerank(view, alpha=1.5), ValueError, "alpha: 1.5 is not between 0 and 1"),
        (lambda view: untyped.pagerank(view, alpha="x"), TypeError, "alpha is a number, not str"),
        (lambda view: untyped.pagerank(view, tol=-1), ValueError, "tol"),
        (
            lambda view: untyped.pagerank(view, personalization={"zoe": 1}),
            eg.NotFoundError,
            "no vertex 'zoe'",
        ),
        (
            lambda view: untyped.pagerank(view, personalization=[1]),
            TypeError,
            "a mapping from vertex to number",
        ),
        (lambda view: untyped.pagerank(view, personalization={"a": -1}), ValueError, "personalization"),
        (lambda view: untyped.pagerank(view, personalization={"a": 0}), ValueError, "personalization"),
        (
            lambda view: untyped.triangle_count(eg.open()),
            TypeError,
            r"runs on a snapshot \(db.snapshot\(\)\)",
        ),
    ],
)
def test_wrong_arguments_are_refused(
    db: eg.Database, call: Any, error: type[Exception], message: str
) -> None:
    db.put_edge("a", "b")
    with pytest.raises(error, match=message):
        call(db.snapshot())


def test_a_seed_has_64_bits(db: eg.Database) -> None:
    db.add_edges([1, 2, 3], [2, 3, 1])
    assert len(eg.maximal_independent_set(db.snapshot(), seed=2**64 - 1)) == 1


def test_results_outlive_the_database() -> None:
    with eg.open() as db:
        db.add_edges(["a"], ["b"])
        hops = eg.bfs(db.snapshot(), "a")
    del db
    assert hops == {"a": 0, "b": 1}


# ---- the registry


@pytest.mark.parametrize("described", _native.algorithms(), ids=lambda described: described[0])
def test_every_algorithm_of_the_registry_has_a_function_with_its_arguments(described: Any) -> None:
    name, _, _, source, arguments, _ = described
    function = getattr(eg, name)
    assert name in eg.__all__
    parameters = dict(inspect.signature(function).parameters)
    assert next(iter(parameters)) == "view"
    for own in ("view", "verify", "progress"):
        del parameters[own]
    document = function.__doc__
    for part in ("Parameters", "Returns", "Notes", "Examples"):
        assert f"{part}\n{'-' * len(part)}\n" in document
    assert source.split()[0] in document
    if "ebunch" in parameters:
        assert [argument for argument, _, _, _ in arguments] == ["u", "v"]
        return
    assert set(parameters) == {argument for argument, _, _, _ in arguments}
    for argument, _, default, _ in arguments:
        is_required = parameters[argument].default is inspect.Parameter.empty
        assert is_required == (default is None), argument
        if default not in (None, "none") and parameters[argument].default is not None:
            assert str(parameters[argument].default).lower() in (default, str(_number(default))), argument


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def documented() -> dict[str, dict[str, str]]:
    """The arguments of each algorithm in docs/algorithms.md, with what the page says of their defaults."""
    page = (Path(__file__).parents[2] / "docs" / "algorithms.md").read_text(encoding="utf-8")
    found = {}
    for section in page.split("\n## ")[1:]:
        name, _, text = section.partition("\n")
        if hasattr(eg, name):
            rows = re.findall(r"^\| `(\w+)` \|[^|]*\| ([^|]*) \|", text.partition("| result |")[0], re.M)
            found[name] = dict(rows)
            if "In Python it is one argument, `ebunch`" in text:
                found[name] = {"ebunch": found[name]["u"]}
    return found


def test_the_page_of_algorithms_has_the_arguments_of_python() -> None:
    page = documented()
    assert set(page) == {described[0] for described in _native.algorithms()}
    for name, arguments in page.items():
        signature = inspect.signature(getattr(eg, name)).parameters
        own = {key: at.default for key, at in signature.items() if key not in ("view", "verify", "progress")}
        if name == "common_neighbors":
            del own["v"]
        assert set(own) == set(arguments), name
        for argument, default in own.items():
            said = arguments[argument]
            assert (default is inspect.Parameter.empty) == (said == "required"), (name, argument)
            if isinstance(default, bool | str):
                assert said == str(default).lower(), (name, argument)
            elif isinstance(default, int | float):
                assert float(said) == default, (name, argument)


def test_incremental_algorithms_follow_a_stream_by_that_name(db: eg.Database) -> None:
    db.add_edges([1, 2, 3], [2, 3, 1])
    followers = [getattr(eg, name) for name in eg.__all__ if name.startswith("incremental_")]
    assert len(followers) == 7
    for follow in followers:
        given = {"source": 1} if "source" in inspect.signature(follow).parameters else {}
        assert next(iter(inspect.signature(follow).parameters)) == "stream"
        assert follow(stream=db, **given).snapshot.num_edges == 3
        for part in ("Parameters", "Returns", "Raises", "Examples"):
            assert f"\n    {part}\n    ---" in follow.__doc__, (follow.__name__, part)
