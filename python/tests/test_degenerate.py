"""Every algorithm on graphs with next to nothing in them: results that verify, print and become tables."""

from typing import Any

import pytest

import evergraph as eg
from evergraph import _native


def empty(db: eg.Database) -> None:
    """Nothing at all."""


def one_vertex(db: eg.Database) -> None:
    db.put_vertex(0)


def loop(db: eg.Database) -> None:
    db.put_edge(0, 0, "edge", weight=2.0, at=1.0)


def isolated(db: eg.Database) -> None:
    for vertex in (0, 1, 2):
        db.put_vertex(vertex)


def repeated(db: eg.Database) -> None:
    db.create_edge_type("edge", multi=True)
    db.add_edges([0, 0, 1, 2], [1, 1, 0, 2], weight=[1.0, 2.0, 3.0, 1.0], at=[1.0, 2.0, 3.0, 4.0])


def mixed(db: eg.Database) -> None:
    db.create_edge_type("knows", symmetric=True)
    db.put_edge(0, 1, "knows", weight=2.0)
    db.put_edge(1, 2, "pays", weight=0.5, at=1.0)
    db.put_vertex(9)
    db.delete_vertex(9)


FILLINGS = [empty, one_vertex, loop, isolated, repeated, mixed]


@pytest.mark.parametrize("fill", FILLINGS, ids=lambda fill: fill.__name__)
@pytest.mark.parametrize("described", _native.algorithms(), ids=lambda described: described[0])
def test_degenerate_graphs(described: Any, fill: Any, db: eg.Database) -> None:
    name, arguments = described[0], described[4]
    fill(db)
    view = db.snapshot()
    given: dict[str, Any] = {}
    for argument, kind, default, _ in arguments:
        if default is None:
            if not view:
                return
            assert kind in ("key", "key, or several")
            given[argument] = 0
    if {"u", "v"} <= {argument for argument, *_ in arguments} and view:
        given = {"ebunch": [(0, 0)]}
    if name == "temporal_reachability":
        if fill not in (loop, repeated, mixed):
            return
        given["time"] = "at"
    try:
        found = getattr(eg, name)(view, **given, verify=True, progress=True)
    except eg.CycleError:
        assert name == "topological_sort"
        return
    assert repr(found)
    for part in found if name == "hits" else [found]:
        if hasattr(part, "to_pandas"):
            assert len(part.to_pandas()) == len(part.table)
        if hasattr(part, "top"):
            assert len(part.top(2)) <= 2
