"""The published statistics of the graphs in tests/data, each found by the algorithm it is about."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evergraph as eg

DATA = Path(__file__).parents[2] / "tests" / "data"
WIKI = "wiki-Vote.txt.gz"
FACEBOOK = "facebook_combined.txt.gz"
MESSAGES = "CollegeMsg.txt.gz"


def largest(find: Callable[[eg.Snapshot], eg.ComponentsResult]) -> Callable[[eg.Snapshot], tuple[int, int]]:
    """Vertices of the largest component, and edges between them."""

    def measure(view: eg.Snapshot) -> tuple[int, int]:
        members = find(view).groups()[0]
        edges = view.edges()
        inside = (
            src in members and dst in members for src, dst in zip(edges["src"], edges["dst"], strict=True)
        )
        return len(members), sum(inside)

    return measure


def closed_triangles(view: eg.Snapshot) -> float:
    """The share of the triangles, of these and of the paths of two edges that no third one closes."""
    degrees = eg.degree_statistics(view).to_numpy()["degree"]
    triangles = eg.triangle_count(view)
    return round(float(triangles / (np.sum(degrees * (degrees - 1)) / 2 - 2 * triangles)), 5)


PUBLISHED: list[tuple[str, bool, Callable[[eg.Snapshot], Any], Any]] = [
    (WIKI, False, len, 7_115),
    (WIKI, False, lambda view: view.num_edges, 103_689),
    (WIKI, False, largest(eg.connected_components), (7_066, 103_663)),
    (WIKI, False, largest(eg.strongly_connected_components), (1_300, 39_456)),
    (WIKI, True, eg.triangle_count, 608_389),
    (WIKI, True, closed_triangles, 0.04564),
    (WIKI, True, lambda view: round(eg.clustering(view).average, 4), 0.1409),
    (WIKI, True, lambda view: eg.diameter(view).lower_bound, 7),
    (FACEBOOK, True, len, 4_039),
    (FACEBOOK, True, lambda view: view.num_edges, 88_234),
    (FACEBOOK, True, largest(eg.connected_components), (4_039, 88_234)),
    (FACEBOOK, True, largest(eg.strongly_connected_components), (4_039, 88_234)),
    (FACEBOOK, True, eg.triangle_count, 1_612_010),
    (FACEBOOK, True, lambda view: round(closed_triangles(view), 4), 0.2647),
    (FACEBOOK, True, lambda view: round(eg.clustering(view).average, 4), 0.6055),
    (FACEBOOK, True, lambda view: eg.diameter(view).lower_bound, 8),
    (MESSAGES, False, len, 1_899),
    (MESSAGES, False, lambda view: view.num_edges, 20_296),
]


@pytest.fixture(scope="module")
def view_of() -> Callable[[str, bool], eg.Snapshot]:
    """Load a graph once."""
    loaded: dict[tuple[str, bool], eg.Snapshot] = {}

    def view_of(name: str, symmetric: bool) -> eg.Snapshot:
        if (name, symmetric) not in loaded:
            with eg.open() as db:
                db.create_edge_type("edge", symmetric=symmetric)
                db.load(DATA / name)
                loaded[name, symmetric] = db.snapshot()
        return loaded[name, symmetric]

    return view_of


@pytest.mark.parametrize(("name", "symmetric", "measure", "published"), PUBLISHED)
def test_published_statistics(
    view_of: Callable[[str, bool], eg.Snapshot],
    name: str,
    symmetric: bool,
    measure: Callable[[eg.Snapshot], Any],
    published: Any,
) -> None:
    assert measure(view_of(name, symmetric)) == published


def test_every_message_is_an_edge_of_its_own(db: eg.Database) -> None:
    db.create_edge_type("message", {"time": "int64"}, multi=True)
    loaded = db.load(DATA / MESSAGES, "message", properties={"time": (2, "int64")})
    assert loaded.edges == db.snapshot().num_edges == 59_835
    times = db.snapshot().edges()["time"].to_numpy()
    assert (times.max() - times.min()) // 86_400 == 193
