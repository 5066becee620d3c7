"""What transactions can ask for: isolation, a timeout, savepoints."""

import time
from datetime import timedelta
from typing import Any, cast

import pytest

import evergraph as eg

# To a type checker many of these are wrong as well.
Untyped = Any


def doctors(db: eg.Database) -> None:
    """Two doctors are on call; at least one must stay."""
    for name in ("alice", "bob"):
        db.put_vertex(name, on_call=True)


def leave(tx: eg.Transaction, name: str) -> None:
    on_call = [doctor for doctor in ("alice", "bob") if tx.vertex(doctor)["on_call"]]
    if len(on_call) > 1:
        tx.put_vertex(name, on_call=False)


def on_call(db: eg.Database) -> int:
    view = db.snapshot()
    return sum(bool(view.vertex(name)["on_call"]) for name in ("alice", "bob"))


def test_snapshot_isolation_allows_write_skew(db: eg.Database) -> None:
    doctors(db)
    first, second = db.begin(), db.begin(isolation="snapshot")
    leave(first, "alice")
    leave(second, "bob")
    first.commit()
    second.commit()
    assert on_call(db) == 0


def test_serializable_does_not(db: eg.Database) -> None:
    doctors(db)
    first, second = (db.begin(isolation="serializable") for _ in range(2))
    leave(first, "alice")
    leave(second, "bob")
    first.commit()
    with pytest.raises(eg.ConflictError, match="alice"):
        second.commit()
    assert on_call(db) == 1


def test_serializable_sees_edges_that_appear(db: eg.Database) -> None:
    db.put_edge("a", "b")
    tx = db.begin(isolation="serializable")
    tx.put_vertex("count", n=len(tx.out_neighbors("a")))
    db.put_edge("a", "c")
    with pytest.raises(eg.ConflictError):
        tx.commit()


def test_transact_is_as_isolated_as_asked_for(db: eg.Database) -> None:
    doctors(db)
    tries = []

    def bob_leaves(tx: eg.Transaction) -> None:
        leave(tx, "bob")
        tries.append(tx)
        if len(tries) == 1:
            db.put_vertex("alice", on_call=False)

    db.transact(bob_leaves, isolation="serializable")
    assert (len(tries), on_call(db)) == (2, 1)


@pytest.mark.parametrize("timeout", [0.05, timedelta(milliseconds=50), "50ms", "0.05 s"])
def test_after_its_timeout_a_transaction_writes_nothing(db: eg.Database, timeout: Any) -> None:
    db.put_vertex("alice")
    tx = db.begin(timeout=timeout)
    tx.put_vertex("bob")
    time.sleep(0.06)
    for write in (lambda: tx.put_vertex("x"), lambda: tx.delete_vertex("alice"), lambda: tx.put_edge(1, 2)):
        with pytest.raises(eg.TransactionTimeoutError, match="longer than its timeout"):
            write()
    assert tx.has_vertex("alice")
    with pytest.raises(TimeoutError):
        tx.commit()
    assert list(db.snapshot()) == ["alice"]
    assert not tx.is_open


def test_a_block_that_takes_too_long_is_not_tried_again(db: eg.Database) -> None:
    tries = []

    def slow(tx: eg.Transaction) -> None:
        tries.append(tx)
        tx.put_vertex("never")
        time.sleep(0.02)

    with pytest.raises(eg.TransactionTimeoutError):
        db.transact(slow, timeout="10ms")
    assert len(tries) == 1
    assert db.snapshot().num_vertices == 0


def test_within_its_timeout_a_transaction_is_like_any_other(db: eg.Database) -> None:
    with db.begin(timeout="1h") as tx:
        tx.put_vertex("alice")
    assert list(db.snapshot()) == ["alice"]
    assert db.transact(lambda tx: tx.has_vertex("alice"), timeout=60, isolation="serializable")


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"isolation": "dirty"}, ValueError, 'isolation: "dirty" is none of "snapshot", "serializable"'),
        ({"isolation": 1}, TypeError, "str"),
        ({"timeout": -1}, ValueError, "timeout: -1 is not 0 or above"),
        ({"timeout": float("nan")}, ValueError, "timeout"),
        ({"timeout": float("inf")}, ValueError, "timeout"),
        ({"timeout": 1e300}, ValueError, "timeout"),
        ({"timeout": "soon"}, ValueError, "timeout: 'soon' is no span of time"),
        ({"timeout": "5 parsecs"}, ValueError, "write a number and one of us, ms, s, m, min, h, d"),
        ({"timeout": timedelta(-1)}, ValueError, "not 0 or above"),
        ({"timeout": [1]}, TypeError, "timeout is a number of seconds, a timedelta or text, not list"),
        ({"timeout": True}, TypeError, "not bool"),
    ],
)
def test_wrong_options_are_refused(
    db: eg.Database, arguments: dict[str, Untyped], error: type[Exception], message: str
) -> None:
    for begin in (db.begin, lambda **options: db.transact(lambda tx: None, **options)):
        with pytest.raises(error, match=message):
            begin(**arguments)


# ---- savepoints


def test_going_back_undoes_every_kind_of_write(db: eg.Database) -> None:
    db.put_edge("a", "b", weight=1)
    with db.begin() as tx:
        tx.put_edge("a", "c", weight=2)
        savepoint = tx.savepoint()
        for _ in range(2):
            tx.put_edge("a", "c", weight=3)
            tx.put_edge("x", "y", "other")
            tx.put_vertex("a", type="Robot", model="X")
            tx.delete_vertex("b")
            savepoint.rollback()
            assert tx.edge("a", "c") == {"weight": 2}
            assert not tx.has_vertex("x")
            assert tx.vertex("a") == {}
            assert tx.has_edge("a", "b")
        tx.put_vertex("after")
    view = db.snapshot()
    assert sorted(map(str, view)) == ["a", "after", "b", "c"]
    assert view.edge_types == ["edge"]


def test_a_block_that_raises_is_undone_and_the_exception_goes_on(db: eg.Database) -> None:
    with db.begin() as tx:
        tx.put_vertex(1)
        with pytest.raises(LookupError, match="mine"), tx.savepoint():
            tx.put_vertex(2)
            raise LookupError("mine")
        with tx.savepoint():
            tx.put_vertex(3)
            with pytest.raises(LookupError), tx.savepoint():
                tx.put_vertex(4)
                raise LookupError
            tx.put_vertex(5)
    assert list(db.snapshot()) == [1, 3, 5]


def test_a_block_that_ends_well_forgets_its_savepoint(db: eg.Database) -> None:
    tx = db.begin()
    with tx.savepoint() as savepoint:
        tx.put_vertex(1)
    with pytest.raises(eg.SavepointError):
        savepoint.rollback()
    assert tx.has_vertex(1)


def test_savepoints_after_one_that_was_gone_back_to_are_gone(db: eg.Database) -> None:
    tx = db.begin()
    first = tx.savepoint()
    second = tx.savepoint()
    tx.rollback_to(first)
    with pytest.raises(eg.SavepointError, match="rolled back"):
        tx.rollback_to(second)
    with pytest.raises(ValueError, match="of another transaction"):
        db.begin().rollback_to(first)
    wrong: Untyped = first._native
    with pytest.raises(TypeError, match="a savepoint is wanted"):
        tx.rollback_to(wrong)


def test_a_block_whose_savepoint_is_gone_still_passes_its_exception_on(db: eg.Database) -> None:
    with db.begin() as tx:
        outer = tx.savepoint()
        with pytest.raises(LookupError), tx.savepoint():
            tx.put_vertex(1)
            outer.rollback()
            raise LookupError
        with tx.savepoint():
            outer.rollback()
        with tx.savepoint():
            tx.rollback()
    assert db.snapshot().num_vertices == 0
    for use in (tx.savepoint, outer.rollback):
        with pytest.raises(eg.ClosedError):
            use()


def test_a_block_that_raises_keeps_nothing(db: eg.Database) -> None:
    with db.begin() as tx:
        outer = tx.savepoint()
        tx.put_vertex(0)
        with pytest.raises(LookupError), tx.savepoint():
            tx.put_vertex(1)
            outer.rollback()
            tx.put_vertex(2)
            raise LookupError
        with outer:
            tx.put_vertex(3)
        with pytest.raises(eg.SavepointError, match="make a new one"), outer:
            tx.put_vertex(4)
        with pytest.raises(eg.SavepointError) as caught, tx.savepoint() as released:
            with released:
                tx.put_vertex(5)
            raise LookupError
        assert isinstance(caught.value.__cause__, LookupError)
    assert list(db.snapshot()) == [3, 5]


def test_a_function_that_is_to_be_awaited_is_no_transaction(db: eg.Database) -> None:
    async def pay(tx: eg.Transaction) -> None:
        tx.put_vertex(1)

    with pytest.raises(TypeError, match="a plain function, not an async one"):
        db.transact(cast("Any", pay))


def test_serializable_sees_counts_and_the_schema_change(db: eg.Database) -> None:
    db.put_edge("a", "b")
    db.put_vertex("result", n=0)
    counting, looking = (db.begin(isolation="serializable") for _ in range(2))
    assert (counting.out_degree("a"), counting.in_degree("a"), counting.in_degree("b", "other")) == (1, 0, 0)
    counting.put_edge("a", "d")
    assert counting.out_degree("a") == 2
    with pytest.raises(eg.NotFoundError, match="nobody"):
        counting.out_degree("nobody")
    looking.put_vertex("result", n=len(looking.schema.edge_types))
    db.create_edge_type("new")
    with pytest.raises(eg.ConflictError) as caught:
        looking.commit()
    assert (caught.value.kind, caught.value.names) == ("schema", ("new",))
    db.put_edge("a", "c")
    with pytest.raises(eg.ConflictError) as caught:
        counting.commit()
    assert (caught.value.kind, caught.value.key, caught.value.edge_type) == ("edges", "a", "edge")


def test_savepoints_and_serializable_go_together(db: eg.Database) -> None:
    db.put_vertex("a", n=1)
    tx = db.begin(isolation="serializable")
    with pytest.raises(LookupError), tx.savepoint():
        tx.put_vertex("b", n=tx.vertex("a")["n"])
        raise LookupError
    tx.put_vertex("c")
    db.put_vertex("a", n=2)
    # What was read in the block may have led to what came after it.
    with pytest.raises(eg.ConflictError):
        tx.commit()
