"""Named views: what they hold, their algebra against NetworkX, and algorithms confined to them."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import evergraph as eg


def town(seed: int) -> tuple[eg.Database, nx.DiGraph]:
    """Give a random graph of people in cities, and the same for NetworkX."""
    chance = random.Random(seed)
    db, graph = eg.open(), nx.DiGraph()
    with db.begin() as tx:
        for key in range(40):
            city, age = chance.choice(["Oslo", "Rome", "Palo Alto"]), chance.randrange(80)
            tx.put_vertex(key, "Person", city=city, age=age)
            graph.add_node(key, city=city, age=age)
        for _ in range(160):
            src, dst, since = chance.randrange(40), chance.randrange(40), chance.randrange(10)
            tx.put_edge(src, dst, "knows", since=since)
            graph.add_edge(src, dst, since=since)
    return db, graph


def chosen(graph: nx.DiGraph, keep: Callable[[dict[str, Any]], bool]) -> set[int]:
    return {key for key, data in graph.nodes(data=True) if keep(data)}


@pytest.mark.parametrize("seed", range(3))
def test_views_and_their_algebra_are_subgraphs(seed: int) -> None:
    db, graph = town(seed)
    oslo = db.create_view("oslo", where="city = 'Oslo'")
    adults = db.create_view("adults", where="type = 'Person' and not age < 18")
    members = random.Random(seed).sample(range(40), 12)
    some = db.create_view("some", vertices=members)
    sets = {
        oslo: chosen(graph, lambda data: data["city"] == "Oslo"),
        adults: chosen(graph, lambda data: data["age"] >= 18),
        some: set(members),
    }
    expected = {
        (oslo - adults) | some: (sets[oslo] - sets[adults]) | sets[some],
        oslo & adults & some: sets[oslo] & sets[adults] & sets[some],
        some - [members[0], 999]: sets[some] - {members[0]},
        **sets,
    }
    for view, keys in expected.items():
        part = graph.subgraph(keys)
        assert set(view) == keys
        assert (view.num_vertices, view.num_edges) == (len(part), part.number_of_edges())
        assert view.to_networkx().edges == part.edges
        components = eg.connected_components(view)
        assert components.count == nx.number_weakly_connected_components(part)
        ranks = eg.pagerank(view, tol=1e-10)
        for key, rank in nx.pagerank(part, tol=1e-12, max_iter=1000).items() if len(part) else []:
            assert ranks[key] == pytest.approx(rank, abs=1e-6)
    for hops in range(3):
        reached = set(members)
        for _ in range(hops):
            reached |= {far for key in reached for far in [*graph.succ[key], *graph.pred[key]]}
        assert set(some.expand(hops)) == reached
    recent = db.create_view("recent", edges_where="since >= 8")
    kept = {(src, dst) for src, dst, since in graph.edges(data="since") if since >= 8}
    assert set(recent.to_networkx().edges) == kept
    both = recent & oslo
    assert set(both.to_networkx().edges) == {
        (src, dst) for src, dst in kept if src in sets[oslo] and dst in sets[oslo]
    }
    assert recent.intersection(oslo, induced=True).num_edges >= both.num_edges


def test_a_view_follows_the_data_and_at_does_not() -> None:
    db, _ = town(1)
    old = db.create_view("old", where="age >= 60")
    frozen = db.create_view("frozen", where="age >= 60", frozen=True)
    snapshot = db.snapshot()
    before = old.at(snapshot)
    count = before.num_vertices
    db.put_vertex(0, age=99)
    db.put_vertex(1, age=None)
    assert set(before) == set(old.at(snapshot)) == set(frozen.at())
    assert 0 in old
    assert 1 not in old
    assert frozen.num_vertices == count
    with pytest.raises(eg.NotFoundError):
        old.vertex(1)
    assert old.vertex(0)["age"] == 99
    assert "age >= 60" in repr(old)


def test_views_last(tmp_path: Path) -> None:
    with eg.open(tmp_path / "net.eg") as db:
        db.add_edges([1, 2, 3], [2, 3, 1])
        db.create_view("pair", vertices=[1, 2])
        db.create_view("way", edges=[(2, 3), (3, 1, "edge")])
        db.create_view("small", where="id <= 2").rename("low")
        db.create_view("gone", vertices=[1]).drop()
        db.checkpoint()
        db.backup(tmp_path / "copy.eg")
    for name in ("net.eg", "copy.eg"):
        with eg.open(tmp_path / name, read_only=name == "copy.eg") as db:
            assert [view.name for view in db.views()] == ["low", "pair", "way"]
            assert [view.num_edges for view in db.views()] == [1, 1, 2]
            assert db.view("way").num_vertices == 3
        assert eg.check(tmp_path / name)


def test_what_is_wrong_is_said() -> None:
    db, _ = town(2)
    with pytest.raises(eg.PredicateError, match="byte 6"):
        db.create_view("v", where="age > ")
    with pytest.raises(eg.PredicateError, match=r'no property "agee".*"age", "city"'):
        db.create_view("v", where="agee > 3")
    with pytest.raises(ValueError, match="in single quotes"):
        db.create_view("v", where="city = 3")
    with pytest.raises(eg.NotFoundError, match="vertex 77"):
        db.create_view("v", vertices=[1, 77])
    with pytest.raises(ValueError, match="a view is made of"):
        db.create_view("v")
    with pytest.raises(ValueError, match="not a usable name"):
        db.create_view("a/b", vertices=[1])
    view = db.create_view("v", vertices=[1])
    with pytest.raises(eg.ViewExistsError):
        db.create_view("v", vertices=[2])
    with pytest.raises(TypeError, match="not with str"):
        _ = view | "abc"
    with pytest.raises(ValueError, match="hops"):
        view.expand(-1)
    with pytest.raises(ValueError, match="direction"):
        view.expand(1, "up")  # type: ignore[arg-type]
    view.drop()
    with pytest.raises(eg.NotFoundError, match="no view"):
        view.num_vertices  # noqa: B018
    with pytest.raises(eg.NotFoundError, match='no view "v"'):
        db.view("v")
    db.close()
    with pytest.raises(eg.ClosedError):
        db.views()


def test_statistics_and_scratch() -> None:
    db, graph = town(3)
    oslo = db.create_view("oslo", where="city = 'Oslo'")
    keys = sorted(chosen(graph, lambda data: data["city"] == "Oslo"))
    statistics = oslo.statistics()
    assert (statistics.num_vertices, statistics.reads) == (len(keys), 0)
    assert statistics.edges == {"knows": graph.subgraph(keys).number_of_edges()}
    set(oslo)
    assert oslo.statistics().reads == 1
    impact = oslo.scratch("impact")
    impact[keys[0]] = 1.5
    assert dict(db.view("oslo").scratch("impact")) == {keys[0]: 1.5}
    outside = next(key for key in graph if key not in keys)
    with pytest.raises(eg.NotFoundError):
        impact[outside] = 1
    del impact[keys[0]]
    assert len(impact) == 0
    assert oslo.scratch_properties == ["impact"]


def test_long_chains_of_views() -> None:
    db = eg.open()
    db.add_edges(list(range(300)), list(range(1, 301)))
    views = [db.create_view(f"v{key}", vertices=[key, key + 1]) for key in range(300)]
    union = views[0]
    for view in views[1:]:
        union = union | view
    assert (union.num_vertices, union.num_edges) == (301, 300)
    nested = views[0]
    with pytest.raises(ValueError, match="nested"):
        for view in views:
            nested = view | nested
