"""Columns of other packages: what is wrong in them is refused, and what they call null is null."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evergraph as eg

NO_TEXT = pa.array([b"fine", b"\xff\xfe"])
SMALL = NO_TEXT.cast(pa.string(), safe=False)
LARGE = NO_TEXT.cast(pa.large_binary()).cast(pa.large_string(), safe=False)
VIEW = NO_TEXT.cast(pa.binary_view()).view(pa.string_view())
INVALID: dict[str, Any] = {
    "string": SMALL,
    "large string": LARGE,
    "string view": VIEW,
    "slice": SMALL[1:].take(pa.array([0, 0])),
    "chunks": pa.chunked_array([["a"], SMALL[1:]]),
    "table": pa.table({"x": SMALL}),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1]), SMALL),
    "list": pa.ListArray.from_arrays([0, 1, 2], SMALL),
    "large list": pa.LargeListArray.from_arrays([0, 1, 2], LARGE),
    "list of fixed size": pa.FixedSizeListArray.from_arrays(SMALL, 1),
    "pandas": pd.Series(SMALL, dtype=pd.ArrowDtype(pa.string())),
    "offsets that fall": pa.Array.from_buffers(
        pa.string(), 2, [None, pa.py_buffer(np.array([0, 5, 3], "int32")), pa.py_buffer(b"abcde")]
    ),
    "items beyond the end": pa.ListArray.from_buffers(
        pa.list_(pa.int8()),
        2,
        [None, pa.py_buffer(np.array([0, 9, 1], "int32"))],
        children=[pa.array([1], pa.int8())],
    ),
    "keys beyond the end": pa.DictionaryArray.from_arrays(pa.array([0, 7]), pa.array(["a"]), safe=False),
}


def masked(values: Any, dtype: Any = None, *, mask: Any = False) -> Any:
    return np.ma.array(values, dtype, mask=mask)


@pytest.mark.parametrize("kind", INVALID)
def test_invalid_data_is_refused_whole(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "valid.eg"
    with eg.open(path) as db:
        db.put_edge("a", "b", p="x")
        for edge_type in ("edge", "other"):
            with pytest.raises(ValueError, match='column "p": the Arrow data is not valid: '):
                db.add_edges(["a", "a"], ["c", "d"], edge_type, p=INVALID[kind])
        assert list(db.snapshot().edges().rows()) == [("a", "b", "x")]
        assert db.snapshot().version == 1
    with eg.open(path) as db:
        assert list(db.snapshot()) == ["a", "b"]


@pytest.mark.parametrize("keys", [SMALL, LARGE, VIEW], ids=["string", "large string", "string view"])
def test_keys_are_text(db: eg.Database, keys: Any) -> None:
    with pytest.raises(ValueError, match=r'column "src": the Arrow data is not valid.*UTF-?8.*index 1'):
        db.add_edges(keys, ["c", "d"])
    with pytest.raises(ValueError, match='column "dst": the Arrow data is not valid'):
        db.delete_edges(["c", "d"], keys)
    assert db.snapshot().version == 0


def test_a_consumed_stream_is_told(db: eg.Database) -> None:
    class Once:
        def __init__(self) -> None:
            self.capsule = pa.chunked_array([[1, 2]]).__arrow_c_stream__()

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            return self.capsule

    column = Once()
    with pytest.raises(ValueError, match='column "dst": the Arrow stream was already taken'):
        db.add_edges(column, column)


def test_a_stream_that_fails_says_why(db: eg.Database) -> None:
    def batches() -> Any:
        yield pa.record_batch({"x": [1]})
        message = "out of paper"
        raise RuntimeError(message)

    stream = pa.RecordBatchReader.from_batches(pa.schema([("x", pa.int64())]), batches())
    with pytest.raises(TypeError, match=r'column "src": the Arrow data cannot be read.*out of paper'):
        db.add_edges(stream, [1])


NULLS: dict[str, Any] = {
    "Series": pl.Series([None, None], dtype=pl.Null),
    "Series of chunks": pl.Series([None], dtype=pl.Null).append(pl.Series([None], dtype=pl.Null)),
    "DataFrame": pl.DataFrame({"x": [None, None]}),
    "struct": pl.Series([{"x": None}, {"x": None}]),
    "pyarrow": pa.nulls(2),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.nulls(1)),
}


@pytest.mark.parametrize("kind", NULLS)
def test_nulls_are_columns(db: eg.Database, kind: str) -> None:
    db.add_edges([1, 2], [3, 4], p=NULLS[kind])
    assert db.schema.edge_types["edge"].properties == {}
    db.create_edge_type("typed", {"p": "int8"})
    db.add_edges([1, 2], [3, 4], "typed", p=NULLS[kind])
    assert db.snapshot(edge_types=["typed"]).edges()["p"].to_list() == [None, None]
    with pytest.raises(ValueError, match='column "dst", row 0: a vertex key cannot be null'):
        db.add_edges([1, 2], NULLS[kind])


LARGE_INTEGER = 2**53 + 1
NULLABLE: dict[str, tuple[Any, list[Any], str]] = {
    "Int64": (pd.array([LARGE_INTEGER, None], dtype="Int64"), [LARGE_INTEGER, None], "int64"),
    "UInt8": (pd.array([7, None], dtype="UInt8"), [7, None], "uint8"),
    "Index": (pd.Index([LARGE_INTEGER, None], dtype="Int64"), [LARGE_INTEGER, None], "int64"),
    "Float64": (pd.array([0.5, None], dtype="Float64"), [0.5, None], "float64"),
    "boolean": (pd.array([True, None], dtype="boolean"), [True, None], "bool"),
    "string": (pd.array(["a", None], dtype="string"), ["a", None], "string"),
    "category": (pd.Categorical(["a", None]), ["a", None], "string"),
    "pyarrow": (pd.array([LARGE_INTEGER, None], dtype="int64[pyarrow]"), [LARGE_INTEGER, None], "int64"),
    "list": ([LARGE_INTEGER, pd.NA], [LARGE_INTEGER, None], "int64"),
    "without nulls": (pd.array([LARGE_INTEGER, 1], dtype="Int64"), [LARGE_INTEGER, 1], "int64"),
}


@pytest.mark.parametrize("kind", NULLABLE)
def test_what_pandas_says_is_null_is_null(db: eg.Database, kind: str) -> None:
    column, values, found = NULLABLE[kind]
    db.add_edges([1, 2], [3, 4], p=column)
    assert db.schema.edge_types["edge"].properties == {"p": found}
    assert db.snapshot().edges()["p"].to_list() == values
    if None in values:
        with pytest.raises(ValueError, match='column "dst", row 1: a vertex key cannot be null'):
            db.add_edges([1, 2], column)


def test_objects_of_polars_are_no_column(db: eg.Database) -> None:
    with pytest.raises(TypeError, match='column "p": a column of Python objects cannot be stored'):
        db.add_edges([1], [2], p=pl.Series([{"a"}], dtype=pl.Object))


def test_empty_columns_of_nulls_are_empty(db: eg.Database) -> None:
    empty = pl.Series([], dtype=pl.Null)
    assert db.add_edges(empty, empty, p=empty).edges == 0
    assert db.add_edges(pl.DataFrame({"x": []}), pl.DataFrame({"x": empty})).edges == 0


@pytest.mark.parametrize("items", [pl.List(pl.Null), pl.Array(pl.Null, 1)], ids=str)
def test_lists_of_nulls_are_lists(db: eg.Database, items: Any) -> None:
    db.create_edge_type("edge", {"p": "list<int8>"})
    db.add_edges([1, 2], [3, 4], p=pl.Series([[None], None], dtype=items))
    assert db.snapshot().edges()["p"].to_list() == [[None], None]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (masked([1, 2, 3], mask=[0, 1, 0]), [1, None, 3]),
        (masked([1, 2, 3]), [1, 2, 3]),
        (masked([0.5, np.nan, 2], mask=[0, 1, 1]), [0.5, None, None]),
        (masked([True, False, True], mask=[1, 0, 0]), [None, False, True]),
        (masked(["a", "b", "c"], mask=[1, 0, 0]), [None, "b", "c"]),
        (masked(["a", 1, "c"], object, mask=[0, 1, 0]), ["a", None, "c"]),
        (
            masked([[1, 2], [3, 4], [5, 6]], mask=[[0, 1], [0, 0], [1, 1]]),
            [[1, None], [3, 4], [None, None]],
        ),
        ([np.ma.masked, 2, 3], [None, 2, 3]),
        (
            pa.StructArray.from_arrays([pa.array([1, None, 3])], ["x"], mask=pa.array([True, False, False])),
            [None, None, 3],
        ),
        (
            pa.StructArray.from_arrays(
                [pa.array(["a", "b", "c"])], ["x"], mask=pa.array([False, True, False])
            )[1:].take(pa.array([1, 0, 1])),
            ["c", None, "c"],
        ),
        (pl.Series([{"x": 1}, None, {"x": 3}]), [1, None, 3]),
    ],
    ids=lambda value: (
        f"{type(value).__module__} {getattr(value, 'dtype', '')}" if not isinstance(value, list) else ""
    ),
)
def test_what_is_masked_is_null(db: eg.Database, column: Any, expected: list[eg.Value]) -> None:
    db.add_edges([1, 2, 3], [4, 5, 6], p=column)
    assert db.snapshot().edges()["p"].to_list() == expected


def test_masked_times_are_null(db: eg.Database) -> None:
    days = np.array(["2024-01-01", "2024-01-02", "NaT"], "datetime64[D]")
    db.add_edges([1, 2, 3], [4, 5, 6], p=masked(days, mask=[1, 0, 0]))
    assert db.snapshot().edges()["p"].to_list() == [None, days[1].item(), None]
    # Of what is masked, nothing is read.
    times = masked(np.array([2**62, 0], "datetime64[s]"), mask=[1, 0])
    db.add_edges([1, 2], [4, 5], "times", p=times)
    assert db.snapshot(edge_types=["times"]).edges()["p"].to_list()[0] is None


@pytest.mark.parametrize(
    "keys",
    [
        masked([1, 2], mask=[0, 1]),
        masked(["a", "b"], mask=[0, 1]),
        pa.StructArray.from_arrays([pa.array([1, 2])], ["x"], mask=pa.array([False, True])),
        pl.Series([{"x": "a"}, None]),
    ],
    ids=["numpy int", "numpy str", "pyarrow", "polars"],
)
def test_a_masked_key_is_null(db: eg.Database, keys: Any) -> None:
    with pytest.raises(ValueError, match='column "src", row 1: a vertex key cannot be null'):
        db.add_edges(keys, keys)
    assert db.snapshot().version == 0
