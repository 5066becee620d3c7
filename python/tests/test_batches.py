"""Columns in: whatever calls itself a column, and what is refused."""

from collections import OrderedDict
from datetime import datetime, timezone
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphs import random_pairs

import evergraph as eg

INTS: dict[str, Any] = {
    "list": [1, 2, 3],
    "tuple": (1, 2, 3),
    "range": range(1, 4),
    "generator": (number for number in (1, 2, 3)),
    "dict keys": OrderedDict.fromkeys([1, 2, 3]).keys(),
    "numpy": np.array([1, 2, 3]),
    "numpy int8": np.array([1, 2, 3], np.int8),
    "numpy uint64": np.array([1, 2, 3], np.uint64),
    "numpy big-endian": np.array([1, 2, 3], ">i4"),
    "numpy strided": np.arange(7)[1::2][::-1][::-1] // 2 + 1,
    "numpy reversed": np.array([3, 2, 1])[::-1],
    "numpy objects": np.array([1, 2, 3], object),
    "pandas": pd.Series([1, 2, 3]),
    "pandas Int64": pd.Series([1, 2, 3], dtype="Int64"),
    "pandas index": pd.Index([1, 2, 3]),
    "polars": pl.Series([1, 2, 3]),
    "polars uint8": pl.Series([1, 2, 3], dtype=pl.UInt8),
    "pyarrow": pa.array([1, 2, 3]),
    "pyarrow int16": pa.array([1, 2, 3], pa.int16()),
    "pyarrow slice": pa.array([0, 1, 2, 3])[1:],
    "pyarrow chunks": pa.chunked_array([[1], [], [2, 3]]),
    "pyarrow dictionary": pa.array([1, 2, 3]).dictionary_encode(),
    "pyarrow one-column table": pa.table({"x": [1, 2, 3]}),
}
INTS["numpy strided"] = np.array([1, 9, 2, 9, 3])[::2]

TEXTS: dict[str, Any] = {
    "list": ["a", "ü", ""],
    "numpy": np.array(["a", "ü", ""]),
    "numpy objects": np.array(["a", "ü", ""], object),
    "pandas": pd.Series(["a", "ü", ""]),
    "pandas category": pd.Series(["a", "ü", ""], dtype="category"),
    "polars": pl.Series(["a", "ü", ""]),
    "polars category": pl.Series(["a", "ü", ""], dtype=pl.Categorical),
    "pyarrow": pa.array(["a", "ü", ""]),
    "pyarrow large": pa.array(["a", "ü", ""], pa.large_string()),
    "pyarrow view": pa.array(["a", "ü", ""], pa.string_view()),
    "pyarrow dictionary": pa.array(["a", "ü", ""]).dictionary_encode(),
}


@pytest.mark.parametrize("kind", INTS)
def test_numbers_are_keys_and_values(db: eg.Database, kind: str) -> None:
    column = INTS[kind] if kind != "generator" else [*INTS[kind]]
    assert db.add_edges(column, column, n=column) == (3, 3, 1)
    assert list(db.snapshot().edges().rows()) == [(1, 1, 1), (2, 2, 2), (3, 3, 3)]


def test_an_iterator_is_a_column(db: eg.Database) -> None:
    assert db.add_edges(iter([1, 2]), (key for key in (3, 4))).edges == 2


@pytest.mark.parametrize("kind", TEXTS)
def test_texts_are_keys_and_values(db: eg.Database, kind: str) -> None:
    db.add_edges(TEXTS[kind], TEXTS[kind], what=TEXTS[kind])
    # New keys of a batch get their places in order.
    assert list(db.snapshot().edges().rows()) == [(key, key, key) for key in ("", "a", "ü")]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ([0.5, None, 2], [0.5, None, 2.0]),
        ([1, 2.5, None], [1.0, 2.5, None]),
        ([True, None, False], [True, None, False]),
        (np.array([0.5, 1, 2], np.float32), [0.5, 1.0, 2.0]),
        (np.array([True, False, True]), [True, False, True]),
        (pd.Series([1.5, None, 2]), [1.5, None, 2.0]),
        (pd.Series([True, None, False], dtype="boolean"), [True, None, False]),
        (pa.array([1, None, 3], pa.uint32()), [1, None, 3]),
        (pa.nulls(3, pa.int8()), [None, None, None]),
        (pa.array(["x", None, "x"]).dictionary_encode(), ["x", None, "x"]),
        (pa.chunked_array([[1], [None, 3]]), [1, None, 3]),
        (pl.Series([None, "b", None]), [None, "b", None]),
    ],
    ids=str,
)
def test_nulls_and_types(db: eg.Database, column: Any, expected: list[eg.Value]) -> None:
    db.add_edges([1, 2, 3], [4, 5, 6], p=column)
    assert db.snapshot().edges()["p"].to_list() == expected


@pytest.mark.parametrize(
    "column", [[None, None], pa.nulls(2), pd.Series([None, None], dtype=object)], ids=str
)
def test_nulls_alone_declare_nothing(db: eg.Database, column: Any) -> None:
    db.add_edges([1, 2], [4, 5], p=column)
    db.put_vertex(1, p=None)
    assert db.schema.edge_types["edge"].properties == {} == db.schema.vertex_properties
    db.add_edges([1, 2], [4, 5], p=[1, 2])
    db.put_vertex(1, p=1.5)
    assert db.schema.edge_types["edge"].properties == {"p": "int64"}
    # Where there is one, they are its values.
    db.add_edges([1], [4], p=column[:1])
    assert db.snapshot().edges()["p"].to_list() == [None, 2]


@pytest.mark.parametrize("column", [[[], None], [[None], []], pa.array([[], None])], ids=str)
def test_lists_of_nothing_need_a_declared_type(db: eg.Database, column: Any) -> None:
    with pytest.raises(
        eg.SchemaError, match=r'edge has no property "p", and \[.*\] does not tell its type: declare'
    ):
        db.add_edges([1, 2], [4, 5], p=column)
    with pytest.raises(
        eg.SchemaError, match=r'vertex has no property "p", and \[\] does not tell its type: declare'
    ):
        db.put_vertex(1, p=[])
    assert db.schema.edge_types == {}
    db.create_edge_type("edge", {"p": "list<int8>"})
    db.add_edges([1, 2], [4, 5], p=column)
    assert db.snapshot().edges()["p"].to_list() == list(
        column if isinstance(column, list) else column.to_pylist()
    )
    db.create_edge_type("other", {"p": "int8"})
    with pytest.raises(eg.SchemaError, match=r'"p".* of other in row 0 is int8, but'):
        db.add_edges([1, 2], [4, 5], "other", p=column)


FIRST = datetime(2024, 1, 1, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "column",
    [
        [FIRST, None],
        np.array(["2024-01-01", "NaT"], "datetime64[ns]"),
        pd.Series([pd.Timestamp("2024-01-01"), pd.NaT]),
        pd.Series([pd.Timestamp("2024-01-01 01:00", tz="Europe/Berlin"), pd.NaT]),
        pl.Series([datetime(2024, 1, 1), None]),
        pa.array([FIRST, None], pa.timestamp("s")),
        pa.array([FIRST, None], pa.timestamp("ms", "UTC")),
        pa.array([FIRST, None], pa.timestamp("ns", "Europe/Berlin")),
    ],
    ids=lambda column: f"{type(column).__module__} {getattr(column, 'dtype', getattr(column, 'type', ''))}",
)
def test_times(db: eg.Database, column: Any) -> None:
    db.add_edges([1, 2], [3, 4], at=column)
    assert db.snapshot().edges()["at"].to_list() == [FIRST, None]


@pytest.mark.parametrize(
    "column",
    [
        [FIRST.date(), None],
        np.array(["2024-01-01", "NaT"], "datetime64[D]"),
        pl.Series([FIRST.date(), None]),
        pa.array([FIRST.date(), None], pa.date32()),
        pa.array([FIRST.date(), None], pa.date64()),
    ],
    ids=lambda column: f"{type(column).__module__} {getattr(column, 'dtype', getattr(column, 'type', ''))}",
)
def test_dates(db: eg.Database, column: Any) -> None:
    db.add_edges([1, 2], [3, 4], on=column)
    assert db.snapshot().edges()["on"].to_list() == [FIRST.date(), None]


def test_times_before_1970_round_down(db: eg.Database) -> None:
    db.add_edges([1], [2], at=np.array([-1], "datetime64[ns]"))
    got = db.snapshot().edge(1, 2)["at"]
    assert got == datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=timezone.utc)


def test_numbers_fill_columns_that_exist(db: eg.Database) -> None:
    db.create_edge_type("e", {"x": "float64", "at": "timestamp"})
    db.add_edges([1], [2], "e", x=[3], at=[1_000_000])
    expected = {"x": 3.0, "at": datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)}
    assert db.snapshot().edge(1, 2, "e") == expected


def test_a_batch_is_the_same_as_its_edges_one_by_one() -> None:
    pairs = random_pairs(11, 50, 500)
    weights = list(range(500))
    with eg.open() as one, eg.open() as many:
        many.add_edges([src for src, _ in pairs], [dst for _, dst in pairs], weight=weights)
        with one.begin() as tx:
            for (src, dst), weight in zip(pairs, weights, strict=True):
                tx.put_edge(src, dst, weight=weight)
        expected = {(src, dst): weight for src, dst, weight in one.snapshot().edges().rows()}
        got = {(src, dst): weight for src, dst, weight in many.snapshot().edges().rows()}
        assert got == expected == dict(zip(pairs, weights, strict=True))


def test_deleting_passes_over_what_is_not_there(db: eg.Database) -> None:
    db.add_edges([1, 2, 3], [2, 3, 4])
    assert db.delete_edges([1, 1, 9], [2, 7, 9]).edges == 1
    assert db.delete_edges([1], [2]).edges == 0
    assert list(db.snapshot().edges().rows()) == [(2, 3), (3, 4)]
    with pytest.raises(eg.SchemaError, match="no edge type"):
        db.delete_edges([1], [2], "other")


def test_an_empty_batch_is_no_error(db: eg.Database) -> None:
    assert db.add_edges([], []).edges == 0
    assert db.add_edges(np.array([], np.float64), pa.array([], pa.string())).edges == 0
    assert db.snapshot().num_vertices == 0


def test_results_count_what_is_new(db: eg.Database) -> None:
    assert db.add_edges([1, 1, 2], [2, 2, 3]) == (2, 3, 1)
    assert db.add_edges([1, 3], [2, 4]) == (1, 1, 2)


@pytest.mark.parametrize(
    ("src", "dst", "columns", "error", "message"),
    [
        ([1, 2], [3], {}, ValueError, 'column "dst" has 1 row, but src has 2'),
        ([1, 2], [3, 4], {"w": [1.0]}, ValueError, 'column "w" has 1 row, but src has 2'),
        ([1, "a"], [3, 4], {}, TypeError, r'column "src": row 1: "a" among values of type int64'),
        ([1, 2], [3, "b"], {"w": [1, 2]}, TypeError, r'column "dst": row 1'),
        ([1.5], [2], {}, TypeError, 'column "src": vertex keys are integers or strings, not float64'),
        ([1, None], [2, 3], {}, ValueError, 'column "src", row 1: a vertex key cannot be null'),
        (np.array([[1, 2]]), [1], {}, TypeError, 'column "src": vertex keys .* not list<int64>'),
        (np.array([[[1, 2]]]), [1], {}, ValueError, 'column "src": an array of one dimension'),
        (np.array([1j]), [1], {}, TypeError, 'column "src": numpy arrays of complex128'),
        (np.array([2**63], np.uint64), [1], {}, ValueError, 'column "src": a vertex key is out of the range'),
        (np.array([b"x"]), [1], {}, TypeError, 'column "src"'),
        (
            pa.array([2**63], pa.uint64()),
            [1],
            {},
            ValueError,
            'column "src": a vertex key is out of the range',
        ),
        (pa.array([[1]]), [1], {}, TypeError, 'column "src": vertex keys .* not list<int64>'),
        (pa.table({"a": [1], "b": [2]}), [1], {}, TypeError, 'not a table of \\["a", "b"\\]'),
        ("abc", ["d", "e", "f"], {}, TypeError, 'column "src": a column is wanted, not a single str'),
        (3, [1], {}, TypeError, 'column "src": a column is a numpy array.*not int'),
        ([1], [2], {"w": 3.0}, TypeError, 'column "w": a column is a numpy array.*not float'),
        ([1], [2], {"w": [object()]}, ValueError, 'column "w": row 0: a value is'),
        ([2**64], [2], {}, ValueError, 'column "src": row 0: 18446744073709551616 is out of the range'),
        (pa.array([2**62], pa.timestamp("s")), [1], {}, ValueError, "out of the range"),
    ],
)
def test_what_is_no_column_is_refused(
    db: eg.Database,
    src: Any,
    dst: Any,
    columns: dict[str, Any],
    error: type[Exception],
    message: str,
) -> None:
    with pytest.raises(error, match=message):
        db.add_edges(src, dst, **columns)
    assert db.snapshot().version == 0


@pytest.mark.parametrize(
    ("src", "columns", "message"),
    [
        (["a"], {}, '"a" is not of the kind this store holds'),
        ([1], {"w": ["heavy"]}, '"w" of edge in row 0 is float64'),
        ([1], {"": [1]}, "not a usable name"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused_whole(
    db: eg.Database, src: Any, columns: dict[str, Any], message: str
) -> None:
    db.put_edge(1, 2, "edge", w=1.0)
    with pytest.raises(eg.SchemaError, match=message):
        db.add_edges(src, src, **columns)
    assert db.snapshot().version == 1
    assert db.snapshot().num_vertices == 2


def test_a_consumed_arrow_stream_is_told(db: eg.Database) -> None:
    class Once:
        def __init__(self) -> None:
            self.capsules = pa.array([1, 2]).__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
            return self.capsules  # type: ignore[no-any-return]

    column = Once()
    with pytest.raises(ValueError, match="already taken"):
        db.add_edges(column, column)


def test_a_large_batch_is_quick_and_whole(db: eg.Database) -> None:
    source = np.random.default_rng(1)
    src, dst = source.integers(0, 100_000, 1_000_000), source.integers(0, 100_000, 1_000_000)
    db.add_edges(src, dst)
    view = db.snapshot()
    pairs = np.unique(np.stack([src, dst]), axis=1)
    assert view.num_edges == pairs.shape[1]
    edges = view.edges().to_numpy()
    order = np.lexsort((edges["dst"], edges["src"]))
    assert (edges["src"][order] == pairs[0]).all()
    assert (edges["dst"][order] == pairs[1]).all()
