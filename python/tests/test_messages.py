"""What messages say of values and arguments: which one, why not, and never more of it than fits a line."""

import gzip
import sys
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import evergraph as eg

LONG = "long" * 250_000
TYPES: dict[str, Any] = {
    "tiny": "uint8",
    "small": "int32",
    "whole": "int64",
    "large": "uint64",
    "single": "float32",
    "double": "float64",
    "day": "date",
    "text": "string",
    "tinies": "list<int8>",
}


@pytest.fixture
def typed(db: eg.Database) -> eg.Database:
    db.create_vertex_type("T", TYPES)
    db.create_edge_type("e", TYPES)
    db.put_edge(1, 2, "e")
    return db


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("tiny", 256, "256, which is not from 0 to 255, was given"),
        ("large", 2**64, "18446744073709551616, which is not from 0 to 18446744073709551615, was given"),
        (
            "large",
            -(2**70),
            "-1180591620717411303424, which is not from 0 to 18446744073709551615, was given",
        ),
        (
            "whole",
            2**64,
            "18446744073709551616, which is not from -9223372036854775808 to 9223372036854775807, was",
        ),
        (
            "double",
            2**64,
            "18446744073709551616, which is beyond 2.53, where a float64 is not exact, was given",
        ),
        (
            "double",
            2**53 + 1,
            "9007199254740993, which is beyond 2.53, where a float64 is not exact, was given",
        ),
        ("single", 2**24 + 1, "16777217, which is beyond 2.24, where a float32 is not exact, was given"),
        ("single", 1e300, r"1e300, which is not from -3.4028235e38 to 3.4028235e38, was given"),
        ("day", datetime(2020, 1, 1, 3, tzinfo=timezone.utc), "2020-01-01T03:00:00Z was given"),
        ("text", date(2020, 1, 2), "2020-01-02 was given"),
        (
            "tinies",
            [1, 300, 2],
            r"\[1, 300, 2\], with 300, which is not from -128 to 127, among its items, was given",
        ),
        ("tinies", ["x"], r'\["x"\], with "x" among its items, was given'),
    ],
)
def test_a_value_that_does_not_fit_is_told_with_its_reason(
    typed: eg.Database, name: str, value: Any, told: str
) -> None:
    with pytest.raises(eg.SchemaError, match=f'property "{name}" of vertex is {TYPES[name]}, but {told}'):
        typed.put_vertex(1, **{name: value})
    with pytest.raises(eg.SchemaError, match=f'property "{name}" of e is {TYPES[name]}, but {told}'):
        typed.put_edge(1, 2, "e", **{name: value})
    with typed.begin() as tx, pytest.raises(eg.SchemaError, match=f'property "{name}" of e is .* but {told}'):
        tx.put_edge(1, 2, "e", **{name: value})


def test_a_row_is_told_beside_the_name(typed: eg.Database) -> None:
    with pytest.raises(eg.SchemaError, match='property "tiny" of e in row 1 is uint8, but 300, which is'):
        typed.add_edges([1, 2], [2, 3], "e", tiny=[1, 300])
    with pytest.raises(
        ValueError, match='column "new": row 1: 18446744073709551616 is out of the range of int64'
    ):
        typed.add_edges([1, 2], [2, 3], "e", new=[1, 2**64])
    with pytest.raises(
        ValueError, match='property "new": 18446744073709551616 is out of the range of int64 and uint64'
    ):
        typed.put_vertex(1, new=2**64)


@pytest.mark.parametrize(
    "use",
    [
        lambda db: db.put_vertex(LONG),
        lambda db: db.put_vertex(1, tiny=LONG),
        lambda db: db.put_vertex(1, tinies=["x"] * 100_000),
        lambda db: db.put_vertex(1, tinies=[LONG]),
        lambda db: db.put_vertex(1, LONG),
        lambda db: db.put_vertex(1, **{LONG: 1}),
        lambda db: db.put_edge(1, 2, LONG),
        lambda db: db.add_edges([LONG], [LONG], "e"),
        lambda db: db.add_edges([1], [2], "e", tiny=[LONG]),
        lambda db: db.add_edges([1, 2], [2, 3], "e", new=[1, LONG]),
        lambda db: db.delete_edge(1, 2, LONG),
        lambda db: db.snapshot(edge_types=[LONG]),
        lambda db: db.snapshot().vertex(LONG),
        lambda db: db.snapshot().edge(LONG, LONG, LONG),
        lambda db: db.snapshot().vertices()[LONG],
        lambda db: db.begin().vertex(LONG),
        lambda db: db.begin().edge(LONG, LONG, LONG),
        lambda db: db.begin(timeout=1e300),
        lambda db: db.begin(timeout=LONG),
        lambda db: db.create_view("v", where=f"text = 1 and tiny = '{LONG}'"),
        lambda db: db.put_vertex(2**5000),
        lambda db: db.put_vertex(1, tiny=2**5000),
        lambda db: eg.open(memory_limit=2**5000),
    ],
)
def test_no_message_is_longer_than_some_lines(
    typed: eg.Database, use: Callable[[eg.Database], object]
) -> None:
    with pytest.raises((eg.EvergraphError, ValueError, TypeError, LookupError)) as caught:
        use(typed)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("use", "kind", "told"),
    [
        (lambda db: eg.open(memory_limit=2**70), ValueError, "memory_limit: 1180591620717411303424 is not"),
        (lambda db: eg.open(memory_limit=True), TypeError, "memory_limit is a whole number, not bool"),
        (lambda db: eg.open(retain=2**70), ValueError, "retain: 1180591620717411303424 is not"),
        (lambda db: eg.open(retain=timedelta(-1)), ValueError, "retain: .* is not 0 or above"),
        (lambda db: db.snapshot(at=2**70), ValueError, "at: 1180591620717411303424 is not"),
        (lambda db: db.snapshot(at=True), TypeError, "at is a version or a datetime, not bool"),
        (lambda db: db.stream(batch_size=2**70), ValueError, "batch_size: 1180591620717411303424 is not"),
        (lambda db: db.stream(from_version=-1), ValueError, "from_version: -1 is not 0 or above"),
        (lambda db: db.window(edges=2**70), ValueError, "edges: 1180591620717411303424 is not"),
        (lambda db: db.transact(print, "x"), TypeError, "retries is a whole number, not str"),
        (lambda db: db.load("f.csv", max_rejects=-1), ValueError, "max_rejects: -1 is not 0 or above"),
        (lambda db: db.load("f.csv", resume="no"), TypeError, "resume is True or False, not str"),
        (lambda db: db.load("f.csv", header="no"), TypeError, "header is True or False, not str"),
        (lambda db: db.load("f.csv", src=-1), ValueError, "src: -1 is not 0 or above"),
        (lambda db: db.load("f.csv", dst=1.5), TypeError, "dst is a name or a position from 0, not float"),
        (lambda db: db.add_property("g", None), TypeError, "type is the name of a property type .* not None"),
        (lambda db: db.create_vertex_type("A", {"p": None}), TypeError, 'property "p": its type is a name'),
        (lambda db: db.put_vertex("\ud800"), ValueError, "a vertex key: 'utf-8' codec can't encode"),
        (lambda db: db.put_vertex(1, x="\ud800"), ValueError, "property \"x\": 'utf-8' codec can't encode"),
        (lambda db: db.put_vertex(1, x=["\ud800"]), ValueError, "property \"x\": 'utf-8' codec can't encode"),
    ],
)
def test_a_wrong_argument_is_named(
    db: eg.Database, use: Callable[[eg.Database], object], kind: type[Exception], told: str
) -> None:
    with pytest.raises(kind, match=told):
        use(db)


@pytest.mark.parametrize(
    ("arguments", "kind", "told"),
    [
        (
            {"personalization": {"a": None}},
            TypeError,
            r"argument personalization\['a'\] is a number, not None",
        ),
        ({"personalization": {"a": "x"}}, TypeError, r"argument personalization\['a'\] is a number, not str"),
        ({"nstart": {"a": 10**400}}, ValueError, r"argument nstart\['a'\]: 1000.* is too large for a float"),
        ({"alpha": 10**400}, ValueError, "argument alpha: 1000.* is too large for a float"),
        ({"alpha": "x"}, TypeError, "argument alpha is a number, not str"),
        ({"verify": "yes"}, TypeError, "argument verify is True or False, not str"),
        ({"weight": 3}, TypeError, "argument weight is a string, not int"),
        ({"max_iter": -1}, ValueError, r"argument max_iter: -1 is not from 0 to 2\^32 - 1"),
    ],
)
def test_a_wrong_argument_of_an_algorithm_is_named(
    db: eg.Database, arguments: dict[str, Any], kind: type[Exception], told: str
) -> None:
    db.put_edge("a", "b")
    with pytest.raises(kind, match=told):
        eg.pagerank(db.snapshot(), **arguments)


def test_nothing_adds_up_to_0(db: eg.Database) -> None:
    view = db.snapshot()
    assert repr(eg.clustering(view).average) == repr(eg.clustering(view, weight="weight").average) == "0.0"
    assert repr(eg.minimum_spanning_edges(view)).startswith("0 edges of total weight 0\n")


def test_numbers_of_numpy_are_numbers() -> None:
    with eg.open(memory_limit=np.int64(1 << 30), retain=np.int32(5)) as db:
        version = db.put_edge(1, 2)
        db.put_edge(2, 3)
        assert db.snapshot(at=np.uint64(version)).num_edges == 1


def test_history_and_timeouts_have_the_same_units(tmp_path: Path) -> None:
    for span in ("2w", "90 min", "1.5h", "500ms", timedelta(days=3)):
        with eg.open(retain=span) as db, db.begin(timeout=span) as tx:
            tx.put_vertex(1)
    with eg.open(tmp_path / "a.eg") as db:
        db.put_vertex(1)
    for setting in ({"retain": "7d"}, {"format": "compact"}):
        with pytest.raises(
            ValueError, match=f"{next(iter(setting))} is kept in the database, which read_only"
        ):
            eg.open(tmp_path / "a.eg", read_only=True, **setting)  # type: ignore[arg-type]


def test_times_are_told_as_dates(db: eg.Database) -> None:
    year = datetime.now(timezone.utc).year
    db.put_vertex(1)
    db.put_vertex(2)
    with pytest.raises(
        eg.NotRetainedError, match=rf"version 1 is not retained: .* \(of {year}-\d\d-\d\dT.*Z\) to 2"
    ):
        db.snapshot(at=1)
    with pytest.raises(eg.NotRetainedError, match="the time 2001-02-03T00:00:00Z is not retained"):
        db.snapshot(at=datetime(2001, 2, 3))


def test_what_is_wrong_with_a_value_can_be_seen(db: eg.Database, tmp_path: Path) -> None:
    db.put_edge(1, 2, n=1)
    for wrong in (lambda: db.put_edge(1, 2, n=2.0), lambda: db.add_edges([1], [2], n=np.array([2.0]))):
        with pytest.raises(eg.SchemaError, match=r"is int64, but 2\.0, which is a float, was given"):
            wrong()
    with pytest.raises(eg.SchemaError, match=r'\[1, "a"\] is to give property "new" of vertex its type'):
        db.put_vertex(1, new=[1, "a"])
    for wrong in (lambda: db.put_vertex(10**5000), lambda: db.put_vertex(1, n=10**5000)):
        with pytest.raises(ValueError, match="a number of 16610 bits is out of the range"):
            wrong()
    with pytest.raises(eg.NotRetainedError, match=r"^version 7 is ahead: there are the versions .* to 1$"):
        db.snapshot(at=7)
    (tmp_path / "file").touch()
    with pytest.raises(eg.NotAStoreError, match="it is a file, and a store is a directory"):
        eg.open(tmp_path / "file")


def test_declarations_that_do_not_go_together_are_told_of_what_they_are(typed: eg.Database) -> None:
    with pytest.raises(
        eg.SchemaError, match='property "tiny" of vertex is uint8 already, and string was asked for'
    ):
        typed.create_vertex_type("B", {"tiny": "string"})
    with pytest.raises(
        eg.SchemaError, match='property "tiny" of e is uint8 already, and string was asked for'
    ):
        typed.create_edge_type("e", {"tiny": "string"})
    with pytest.raises(eg.SchemaError, match='"e" exists already, without property "new": add'):
        typed.create_edge_type("e", {"new": "string"})
    with pytest.raises(eg.SchemaError, match='with multi=false, time=none, and multi=true, time="at" was'):
        typed.create_edge_type("e", multi=True, time="at")
    typed.create_edge_type("f")
    with pytest.raises(eg.SchemaError, match='there is already edge type "e"; choose'):
        typed.rename_edge_type("f", "e")


@pytest.mark.parametrize("kind", ["bool", "string", "bytes", "list<int8>"])
def test_only_what_has_an_order_of_time_is_a_time(db: eg.Database, kind: Any) -> None:
    with pytest.raises(eg.SchemaError, match=f'property "at" of e is {kind}, which can be no time'):
        db.create_edge_type("e", {"at": kind}, time="at")
    for fits in ("int8", "uint64", "float64", "date", "timestamp"):
        db.create_edge_type(fits, {"at": fits}, time="at")


def test_a_released_savepoint_is_told(db: eg.Database) -> None:
    with db.begin() as tx:
        with tx.savepoint() as savepoint:
            tx.put_vertex(1)
        with pytest.raises(eg.SavepointError, match="it was released, or one before it was"):
            savepoint.rollback()


def test_what_is_not_there_is_told_without_arguments_of_another_call(tmp_path: Path) -> None:
    for call in (eg.check, lambda path: eg.open(path, read_only=True)):
        with pytest.raises(eg.NotFoundError) as caught:
            call(tmp_path / "none.eg")
        assert (
            str(caught.value) == f"there is no store at {tmp_path / 'none.eg'}; opening it to write makes one"
        )
    with eg.open(tmp_path / "a.eg"):
        pass
    with (
        eg.open(tmp_path / "a.eg", read_only=True),
        pytest.raises(eg.LockedError, match="this one or another"),
    ):
        eg.open(tmp_path / "a.eg")


def test_a_damaged_file_is_damaged_from_its_start(db: eg.Database, tmp_path: Path) -> None:
    file = tmp_path / "edges.csv.gz"
    file.write_bytes(gzip.compress(b"1,2\n")[:12] + b"damage")
    with pytest.raises(eg.LoadError, match="cannot be decompressed from its start") as caught:
        db.load(file)
    assert caught.value.line is None


def test_streams_say_where_they_are(db: eg.Database) -> None:
    stream = db.stream(timeout=0)
    db.put_vertex(1)
    next(stream)
    assert repr(stream) == "Stream(position=1)"
    stream.close()
    assert repr(stream) == "Stream(closed)"


@pytest.mark.parametrize("wrong", [b"x.eg", 5, b""])
def test_a_path_is_a_text(db: eg.Database, wrong: Any) -> None:
    uses: list[Callable[[Any], object]] = [eg.open, eg.check, db.load, db.backup]
    for use in uses:
        with pytest.raises(TypeError, match=r"a path is a str or a path of str.*, not (bytes|int)"):
            use(wrong)


def test_one_name_is_not_several(db: eg.Database) -> None:
    db.create_edge_type("p")
    for use in (db.stream, lambda edge_types: db.snapshot(edge_types=edge_types)):
        with pytest.raises(TypeError, match="edge_types is a list of names, not a single str"):
            use("pays")


def test_transact_takes_a_function_called_fn(db: eg.Database) -> None:
    assert db.transact(fn=lambda tx: tx.version, retries=8) == 0


@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda db, _: db.stream(every=1e20), ValueError, "every: 1e\\+20 is longer than any time"),
        (lambda db, _: db.stream(timeout="99999999999999999999d"), ValueError, "timeout: '9+d' is longer"),
        (lambda db, _: db.stream(timeout="9" * 400 + "d"), ValueError, "timeout: '9+"),
        (lambda db, _: db.begin(timeout=1e20), ValueError, "timeout: 1e\\+20 is longer"),
        (lambda db, _: db.window(1, edge_type="e").next(1e20), ValueError, "timeout: 1e\\+20 is longer"),
        (
            lambda db, _: db.window(10**400, edge_type="e"),
            ValueError,
            "last: a number of 1329 bits is longer",
        ),
        (
            lambda db, _: db.window(-(10**400), edge_type="e"),
            ValueError,
            "last: a number of 1329 bits is not 0",
        ),
        (lambda db, _: db.window(1, edge_type="e", order=1), TypeError, "order is a str, not int"),
        (
            lambda db, _: db.window(1, edge_type="e", duplicates=None),
            TypeError,
            "duplicates is a str, not None",
        ),
        (lambda db, _: db.window(1, edge_type=5), TypeError, "edge_type is a str, not int"),
        (lambda _, view: view.on_update(print, name="h", retries=-1), ValueError, "retries: -1 is not 0"),
        (
            lambda _, view: view.on_update(print, name="h", retries=2**32),
            ValueError,
            "retries: 4294967296 is",
        ),
        (
            lambda _, view: view.on_update(print, name="h", batch_size=-1),
            ValueError,
            "batch_size: -1 is not 1",
        ),
        (
            lambda _, view: view.on_update(print, name="h", backoff=1e20),
            ValueError,
            "backoff: 1e\\+20 is longer",
        ),
        (lambda _, view: view.on_update(print, name=5), TypeError, "name is a str, not int"),
        (
            lambda _, view: view.on_update(print, name="h").wait(1, 1e20),
            ValueError,
            "timeout: 1e\\+20 is longer",
        ),
        (lambda _, view: view.on_update(print, name="h").wait(-1), ValueError, "version: -1 is not 0"),
        (lambda _, view: view.at(5), TypeError, "snapshot is a Snapshot, not int"),
        (lambda _, view: view.statistics(5), TypeError, "snapshot is a Snapshot, not int"),
        (
            lambda db, _: eg.diff(cast(Any, None), db.snapshot()),
            TypeError,
            "before is a Snapshot, not NoneType",
        ),
        (
            lambda db, _: db.snapshot(at=date(2024, 1, 1)),
            TypeError,
            "at is a version or a datetime, not date",
        ),
        (lambda db, _: db.create_view("a", edges=[(1, 2, "e", 9)]), TypeError, "not \\(1, 2, 'e', 9\\)"),
        (lambda db, _: db.create_view("a", edges=[(1,)]), TypeError, "not \\(1,\\)"),
        (lambda db, _: db.create_view("a", edges=[1]), TypeError, "or \\(src, dst, edge_type\\), not 1"),
    ],
)
def test_arguments_of_what_follows_a_database(
    typed: eg.Database, call: Callable[..., object], error: type[Exception], told: str
) -> None:
    view = typed.create_view("v", where="id > 0")
    with pytest.raises(error, match=told):
        call(typed, view)


WRONG = object()
VIEW_CALLS: dict[str, Callable[[eg.View], object]] = {
    "name": lambda view: view.rename(cast("str", WRONG)),
    "direction": lambda view: view.expand(1, cast("Any", WRONG)),
    "hops": lambda view: view.expand(cast("int", WRONG)),
    "induced": lambda view: view.union([1], induced=cast("bool", WRONG)),
    "handler": lambda view: view.dead_letters(cast("str", WRONG)),
    "property": lambda view: view.scratch(cast("str", WRONG)),
    "reverse": lambda view: view.to_csr(reverse=cast("bool", WRONG)),
    "exactly_once": lambda view: view.on_update(print, name="h", exactly_once=cast("bool", WRONG)),
    "kinds": lambda view: view.on_update(print, name="h", kinds=cast("Any", {WRONG})),
    "properties": lambda view: view.on_update(print, name="h", properties=cast("Any", WRONG)),
}
READS = ("has_edge", "edge", "edges_between", "out_neighbors", "in_neighbors", "out_degree", "in_degree")


def refusal(call: Callable[[], object]) -> str:
    """The message, and the notes that Python 3.11 adds to it."""
    with pytest.raises(TypeError) as caught:
        call()
    return "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


@pytest.mark.parametrize("name", VIEW_CALLS)
def test_an_argument_of_a_view_is_named_as_its_method_has_it(db: eg.Database, name: str) -> None:
    db.put_vertex(1)
    view = db.create_view("v", vertices=[1])
    assert name in refusal(lambda: VIEW_CALLS[name](view))


@pytest.mark.parametrize(
    ("method", "arguments", "name"),
    [
        ("put_vertex", {"key": 1, "type": WRONG}, "type"),
        ("begin", {"isolation": WRONG}, "isolation"),
        ("create_edge_type", {"name": WRONG}, "name"),
        ("create_edge_type", {"name": "t", "time": WRONG}, "time"),
        ("create_vertex_type", {"name": WRONG}, "name"),
        ("drop_edge_type", {"name": WRONG}, "name"),
        ("rename_edge_type", {"name": "t", "new_name": WRONG}, "new_name"),
        ("rename_vertex_type", {"name": "t", "new_name": WRONG}, "new_name"),
        ("rename_property", {"name": "p", "new_name": WRONG}, "new_name"),
        ("drop_property", {"name": "p", "edge_type": WRONG}, "edge_type"),
        ("snapshot", {"edge_types": [WRONG]}, "edge_types"),
        ("snapshot", {"edge_types": WRONG}, "edge_types"),
        ("stream", {"stateful": WRONG}, "stateful"),
        ("stream", {"name": WRONG}, "name"),
        ("drop_cursor", {"name": WRONG}, "name"),
        ("view", {"name": WRONG}, "name"),
        ("create_view", {"name": WRONG, "vertices": [1]}, "name"),
        ("create_view", {"name": "v", "where": WRONG}, "where"),
        ("create_view", {"name": "v", "vertices": WRONG}, "vertices"),
        ("create_view", {"name": "v", "edges": WRONG}, "edges"),
        ("create_edge_type", {"name": "t", "properties": WRONG}, "properties"),
        ("create_vertex_type", {"name": "t", "properties": ["p", "q"]}, "properties"),
        ("create_view", {"name": "v", "edges_where": WRONG}, "edges_where"),
        ("create_view", {"name": "v", "vertices": [1], "frozen": WRONG}, "frozen"),
        ("load", {"path": "f.csv", "edge_type": WRONG}, "edge_type"),
        ("load", {"path": "f.csv", "format": WRONG}, "format"),
        ("load", {"path": "f.csv", "keys": WRONG}, "keys"),
        ("load", {"path": "f.csv", "on_error": WRONG}, "on_error"),
        ("load", {"path": "f.csv", "properties": WRONG}, "properties"),
        ("load", {"path": "f.csv", "properties": [WRONG]}, "properties"),
        ("load", {"path": "f.csv", "properties": {"a": (1, 2)}}, 'property "a"'),
    ],
)
def test_an_argument_is_named_as_the_method_has_it(
    db: eg.Database, method: str, arguments: dict[str, Any], name: str
) -> None:
    told = refusal(lambda: getattr(db, method)(**arguments))
    # As a word of its own, and no other argument is.
    assert name in told.replace("'", " ").replace(":", " ").split() or name in told.splitlines()[0], told
    assert "r#" not in told and "vertex_type" not in told and "names" not in told.split()[:1], told


@pytest.mark.parametrize("name", ["durability", "keys", "format", "retain", "read_only", "strict"])
def test_an_argument_of_open_is_named(name: str) -> None:
    assert refusal(lambda: eg.open(**{name: WRONG})).startswith(f"{name} is ")  # type: ignore[arg-type]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="notes come with Python 3.11")
def test_an_edge_type_is_named_by_reads(db: eg.Database) -> None:
    db.put_edge(1, 2)
    with db.begin() as tx:
        for view in (db.snapshot(), tx):
            for method in READS:
                ends = (1, 2) if "edge" in method else (1,)
                assert "edge_type" in refusal(lambda: getattr(view, method)(*ends, WRONG)), method  # noqa: B023


@pytest.mark.parametrize(
    "measure",
    ["jaccard_coefficient", "adamic_adar_index", "resource_allocation_index", "preferential_attachment"],
)
def test_pairs_are_called_as_the_functions_call_them(db: eg.Database, measure: str) -> None:
    db.add_edges(range(0, 6_000, 2), range(1, 6_001, 2))
    view = db.snapshot()
    function: Callable[..., object] = getattr(eg, measure)
    with pytest.raises(
        ValueError, match=r"^argument ebunch: without pairs, all that have no edge .* name the"
    ):
        function(view)
    with pytest.raises(TypeError, match=r"^argument ebunch: pairs of vertices are wanted, not 3"):
        function(view, 3)
    with pytest.raises(ValueError, match=r"^argument ebunch: a pair of vertices is wanted, not \(1, 2, 3\)"):
        function(view, [(1, 2, 3)])
