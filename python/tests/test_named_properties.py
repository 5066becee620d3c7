"""Properties in a mapping: those that are called as parameters are, beside others by keyword."""

from collections import ChainMap
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import evergraph as eg

# What parameters are called, and what no keyword can be.
EDGE = {
    "src": "a",
    "dst": "b",
    "edge_type": "c",
    "properties": "d",
    "self": "e",
    "type": "f",
    "v": "g",
    "a b": "h",
}
VERTEX = {"key": 1, "type": 2, "properties": 3, "self": 4, "vertex": 5, "values": 6, "class": 7}


def test_an_edge_has_properties_of_any_name(db: eg.Database) -> None:
    db.create_edge_type("pays", {**dict.fromkeys(EDGE, "string"), "amount": "float64"}, multi=True)
    db.put_edge(1, 2, "pays", properties=EDGE, amount=9.5)
    with db.begin() as tx:
        tx.put_edge(1, 2, "pays", amount=9.5, properties=EDGE)
        assert tx.edge(1, 2, "pays") == {**EDGE, "amount": 9.5}
    added = db.add_edges(
        [1], [2], "pays", properties={name: [value] for name, value in EDGE.items()}, amount=[9.5]
    )
    assert added.edges == 1
    found = db.snapshot().edges_between(1, 2, "pays")
    assert [dict(edge) for edge in found] == [{**EDGE, "amount": 9.5}] * 3


def test_a_vertex_has_properties_of_any_name(db: eg.Database) -> None:
    db.create_vertex_type("T", dict.fromkeys(VERTEX, "int64"))
    db.put_vertex("x", "T", properties=VERTEX)
    with db.begin() as tx:
        tx.put_vertex("y", "T", properties=VERTEX)
    for key in ("x", "y"):
        vertex = db.snapshot().vertex(key)
        assert (vertex.type, dict(vertex)) == ("T", VERTEX)
    db.put_vertex("x", properties={"key": None})
    assert "key" not in db.snapshot().vertex("x")


def test_any_mapping_will_do_and_is_left_as_it_is(db: eg.Database) -> None:
    given = {"type": "gift"}
    for mapping in (given, MappingProxyType(given), ChainMap(given), {}):
        db.put_edge(1, 2, "pays", properties=mapping, amount=1)
    db.put_edge(1, 2, "pays", properties=None, amount=1)
    db.add_edges([1], [2], "pays", properties={"type": np.array(["gift"])}, amount=[1])
    assert given == {"type": "gift"}
    assert db.snapshot().edge(1, 2, "pays") == {"type": "gift", "amount": 1}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"properties": {"x": 1}, "x": 2},
            "properties: 'x' is also given as a keyword; leave one of them out",
        ),
        ({"properties": {"x": 1}, "x": 1}, "'x' is also given"),
        (
            {"properties": [("x", 1)]},
            "properties is a mapping from name to value, not list; a property that is",
        ),
        ({"properties": "x"}, "properties is a mapping from name to value, not str"),
        ({"properties": {1: 2}}, "the name of a property is a str, not int"),
    ],
)
def test_a_name_is_given_once_and_as_a_name(db: eg.Database, given: dict[str, Any], told: str) -> None:
    db.put_edge(1, 2)
    before = db.snapshot().version
    with db.begin() as tx:
        for put in (db.put_vertex, tx.put_vertex):
            with pytest.raises(TypeError, match=told):
                put(1, **given)
        for put_edge in (db.put_edge, tx.put_edge):
            with pytest.raises(TypeError, match=told):
                put_edge(1, 2, "edge", **given)
        with pytest.raises(TypeError, match=told):
            db.add_edges([1], [2], "edge", **given)
    assert db.snapshot().edge(1, 2) == {}
    assert db.snapshot().version == before


def test_a_value_that_does_not_fit_is_told_by_its_name(db: eg.Database) -> None:
    db.create_edge_type("pays", {"type": "string"})
    with pytest.raises(eg.SchemaError, match='property "type" of pays is string, but 3 was given'):
        db.put_edge(1, 2, "pays", properties={"type": 3})
    with pytest.raises(eg.SchemaError, match='"type" of pays'):
        db.add_edges([1], [2], "pays", properties={"type": [3]})
