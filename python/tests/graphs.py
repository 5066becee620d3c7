"""Random graphs, in NetworkX and in Evergraph."""

import random
from collections.abc import Iterable

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
