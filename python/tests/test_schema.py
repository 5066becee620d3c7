"""Declaring and altering the schema: by itself, inside transactions, against others, and after reopening."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import evergraph as eg


@pytest.fixture
def db(tmp_path: Path) -> eg.Database:
    db = eg.open(tmp_path / "schema.eg")
    db.create_edge_type("pays", {"amount": "float32", "note": "string"}, multi=True, time="at")
    db.create_edge_type("knows", {"since": "date"}, symmetric=True)
    db.create_edge_type("follows", reverse=False)
    db.create_vertex_type("Person", {"age": "uint8", "name": "string"})
    with db.begin() as tx:
        tx.put_vertex("alice", type="Person", age=30, name="Alice")
        tx.put_edge("alice", "bob", "pays", amount=1.5, note="rent")
        tx.put_edge("alice", "carol", "knows")
        tx.put_edge("bob", "carol", "follows")
        tx.put_edge("alice", "carol", "follows")
    return db


def reopened(db: eg.Database) -> eg.Database:
    path = db.path
    db.close()
    assert path is not None
    assert not eg.check(path).problems
    return eg.open(path)


def test_the_schema_tells_what_was_declared(db: eg.Database) -> None:
    for schema in (db.schema, db.snapshot().schema, db.begin().schema):
        assert schema.keys == "string"
        assert schema.vertex_types == ["Person"]
        assert schema.vertex_properties == {"age": "uint8", "name": "string"}
        assert list(schema.edge_types) == ["pays", "knows", "follows"]
        pays = schema.edge_types["pays"]
        assert pays.properties == {"amount": "float32", "note": "string", "at": "timestamp"}
        assert (pays.multi, pays.time, pays.reverse) == (True, "at", True)
        assert not schema.edge_types["follows"].reverse
    assert "'pays' (multi, time 'at'): amount float32, note string, at timestamp" in repr(db.schema)


def test_a_dropped_edge_type_is_gone_and_its_name_is_free(db: eg.Database) -> None:
    before = db.snapshot()
    db.drop_edge_type("pays")
    assert before.num_edges == 4
    assert before.edge("alice", "bob", "pays")["note"] == "rent"
    assert db.snapshot().num_edges == 3
    assert "pays" not in db.schema.edge_types
    with pytest.raises(eg.SchemaError, match="pays"):
        db.drop_edge_type("pays")
    db.put_edge("bob", "alice", "pays", amount="another type")
    for _ in range(2):
        view = db.snapshot()
        assert view.out_neighbors("alice", "pays") == []
        assert dict(view.edge("bob", "alice", "pays")) == {"amount": "another type"}
        db.checkpoint()
        db = reopened(db)


def test_properties_are_added_renamed_and_dropped(db: eg.Database) -> None:
    db.checkpoint()
    db.add_property("city", "string")
    db.rename_property("age", "years")
    db.drop_property("name")
    db.add_property("rate", "float64", edge_type="pays")
    db.rename_property("at", "when", edge_type="pays")
    db.drop_property("note", edge_type="pays")
    db.put_vertex("bob", city="Rome")
    db.put_edge("alice", "bob", "pays", rate=0.5)
    for _ in range(2):
        view = db.snapshot()
        assert dict(view.vertex("alice")) == {"years": 30}
        assert dict(view.vertex("bob")) == {"city": "Rome"}
        assert db.schema.edge_types["pays"].time == "when"
        payments = db.snapshot(edge_types=["pays"]).out_edges("alice")
        assert payments.column_names == ["src", "dst", "amount", "when", "rate"]
        db.compact()
        db = reopened(db)
    db.add_property("note", "int8", edge_type="pays")
    assert dict(db.snapshot().edge("alice", "bob", "pays")).get("note") is None


def test_alterations_that_make_no_sense_are_refused(db: eg.Database) -> None:
    before = db.schema
    calls: list[Callable[[], object]] = [
        lambda: db.rename_edge_type("pays", "knows"),
        lambda: db.rename_edge_type("nothing", "something"),
        lambda: db.rename_property("amount", "note", edge_type="pays"),
        lambda: db.drop_property("at", edge_type="pays"),
        lambda: db.drop_property("nothing"),
        lambda: db.add_property("age", "int8"),
        lambda: db.add_property("x", "int8", edge_type="nothing"),
        lambda: db.rename_vertex_type("Person", ""),
        lambda: db.drop_vertex_type("Firm"),
        lambda: db.create_edge_type("follows", reverse=True),
    ]
    for call in calls:
        with pytest.raises(eg.SchemaError):
            call()
    with pytest.raises(ValueError, match="no property type"):
        db.add_property("x", "int7")  # type: ignore[arg-type]
    for argument in ("multi", "symmetric", "reverse"):
        with pytest.raises(TypeError, match=f"argument {argument} is True or False, not int"):
            db.create_edge_type("k", **{argument: 1})  # type: ignore[arg-type]
    assert db.schema == before


def test_a_transaction_sees_its_own_alterations_and_rolls_them_back(db: eg.Database) -> None:
    with db.begin() as tx:
        savepoint = tx.savepoint()
        tx.drop_edge_type("knows")
        tx.rename_vertex_type("Person", "Human")
        assert "knows" not in tx.schema.edge_types
        assert tx.vertex("alice").type == "Human"
        tx.rollback_to(savepoint)
        assert tx.has_edge("alice", "carol", "knows")
        tx.rename_edge_type("knows", "met")
        assert tx.has_edge("carol", "alice", "met")
    assert list(db.schema.edge_types) == ["pays", "met", "follows"]


def test_writes_to_what_another_dropped_conflict_and_others_do_not(db: eg.Database) -> None:
    late, fine = db.begin(), db.begin()
    late.put_edge("alice", "dave", "pays")
    fine.put_edge("alice", "dave", "knows")
    db.drop_edge_type("pays")
    with pytest.raises(eg.ConflictError, match="schema"):
        late.commit()
    fine.commit()
    assert db.snapshot().out_neighbors("alice", "knows") == ["carol", "dave"]
    first, second = db.begin(), db.begin()
    first.rename_property("age", "years")
    second.rename_property("name", "label")
    first.commit()
    with pytest.raises(eg.ConflictError, match="schema"):
        second.commit()


def test_a_dropped_vertex_type_leaves_its_vertices(db: eg.Database) -> None:
    db.drop_vertex_type("Person")
    db.put_vertex("bob", type="Firm")
    view = reopened(db).snapshot()
    assert view.vertex("alice").type is None
    assert view.vertex("bob").type == "Firm"
    assert list(view.vertices()["type"]) == [None, "Firm", None]


def test_a_type_without_reverse_answers_all_the_same(db: eg.Database) -> None:
    view = db.snapshot()
    assert view.in_neighbors("carol", "follows") == ["alice", "bob"]
    assert view.in_degree("carol", "follows") == 2
    assert view.in_edges("carol", "follows").num_rows == 2
    assert eg.pagerank(view.with_edge_types(["follows"]))["carol"] > 0.4
    db.delete_vertex("carol")
    assert db.snapshot().with_edge_types(["follows"]).num_edges == 0
    assert db.stats().edge_types["follows"] == 0
    db = reopened(db)
    assert db.snapshot().out_neighbors("bob", "follows") == []


def test_a_strict_database_takes_what_was_declared(db: eg.Database) -> None:
    path = db.path
    db.close()
    uses: list[tuple[Callable[[eg.Database], object], str]] = [
        (
            lambda db: db.put_edge("alice", "bob", "pay"),
            'no edge type "pay"; .*, and "pays" may be meant. create',
        ),
        (
            lambda db: db.put_edge("alice", "bob", "pays", nota="x"),
            'pays has no property "nota"; .*"note" may be meant',
        ),
        (lambda db: db.put_vertex("alice", "Persom"), 'no vertex type "Persom"; .*"Person" may be meant'),
        (
            lambda db: db.put_vertex("alice", weight=3),
            r'vertex has no property "weight"; it has \["age", "name"\]$',
        ),
        (lambda db: db.add_edges(["a"], ["b"], "pays", sum=[1]), 'pays has no property "sum"'),
        (lambda db: db.put_edge("a", "b", "pays", sum=None), 'pays has no property "sum"'),
        (lambda db: db.add_edges(["a"], ["b"], "pays", sum=[None]), 'pays has no property "sum"'),
        (lambda db: db.add_edges(["a"], ["b"], "pays", sum=[[]]), 'pays has no property "sum"'),
        (lambda db: db.add_edges(["a"], ["b"], "pay", sum=[None]), 'no edge type "pay"'),
        (lambda db: db.begin().put_edge("a", "b", "pay"), 'no edge type "pay"'),
    ]
    with eg.open(path, strict=True) as strict:
        version = strict.snapshot().version
        for use, told in uses:
            with pytest.raises(eg.SchemaError, match=told):
                use(strict)
        assert strict.snapshot().version == version
        strict.create_edge_type("lends", {"sum": "float64"})
        strict.put_edge("alice", "bob", "lends", sum=3)
        strict.add_edges(["a"], ["b"], "pays", note=["x"])
        strict.add_edges(["a"], ["b"], "pays", note=[None])
    with eg.open(path) as loose:
        loose.put_edge("alice", "bob", "pay")
