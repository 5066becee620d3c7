"""Random graphs, in NetworkX and in Evergraph."""

import random
from collections.abc import Iterable
from typing import Any

import networkx as nx

import evergraph as eg

Pairs = list[tuple[int, int]]


def random_pairs(seed: int, vertices: int, edges: int) -> Pairs:
    """Pairs with repeats, loops, and hubs: the lower the number, the more often it comes."""
    source = random.Random(seed)

    def vertex() -> int:
        return min(source.randrange(vertices), source.randrange(vertices))

    return [(vertex(), vertex()) for _ in range(edges)]


def stored(
    pairs: Iterable[tuple[eg.Key, eg.Key]], *, symmetric: bool = False, multi: bool = False
) -> eg.Snapshot:
    """The snapshot of a new database that has these edges."""
    pairs = list(pairs)
    with eg.open() as db:
        db.create_edge_type("edge", symmetric=symmetric, multi=multi)
        db.add_edges([src for src, _ in pairs], [dst for _, dst in pairs])
        return db.snapshot()


def oracle(
    pairs: Iterable[tuple[eg.Key, eg.Key]], *, symmetric: bool = False, multi: bool = False
) -> nx.Graph:
    """The same in NetworkX."""
    name = f"{'Multi' if multi else ''}{'Graph' if symmetric else 'DiGraph'}"
    graph = getattr(nx, name)()
    graph.add_edges_from(pairs)
    return graph


Edges = list[tuple[eg.Key, eg.Key, float]]


def random_edges(seed: int, vertices: int, edges: int) -> Edges:
    """Edges with weights: halves from 0 to 10, so that sums are exact."""
    source = random.Random(seed)
    return [
        (f"v{src}", f"v{dst}", source.randrange(21) / 2) for src, dst in random_pairs(seed, vertices, edges)
    ]


def weighted(
    edges: Edges, *, symmetric: bool = False, weight: str = "weight"
) -> tuple[eg.Snapshot, nx.Graph]:
    """A snapshot with these weights, and the same in NetworkX."""
    ends = [src for src, _, _ in edges], [dst for _, dst, _ in edges]
    columns: dict[str, Any] = {weight: [value for _, _, value in edges]}
    with eg.open() as db:
        db.create_edge_type("edge", symmetric=symmetric)
        db.add_edges(*ends, **columns)
        view = db.snapshot()
    graph = nx.Graph() if symmetric else nx.DiGraph()
    graph.add_weighted_edges_from(edges, weight=weight)
    return view, graph


def simple(graph: nx.Graph) -> nx.Graph:
    """The graph without directions, parallel edges and loops."""
    plain = nx.Graph(graph.to_undirected())
    plain.remove_edges_from(list(nx.selfloop_edges(plain)))
    return plain
