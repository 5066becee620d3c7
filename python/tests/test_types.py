"""Every type of property, in and out of Python: one by one, as columns, with nulls, at its limits."""

from __future__ import annotations

from datetime import date, datetime, timezone
from pathlib import Path
from typing import Any

import numpy
import pytest

import evergraph as eg

INTEGERS = {f"{sign}int{bits}": (sign, bits) for sign in ("", "u") for bits in (8, 16, 32, 64)}
LIMITS = {
    name: (0, 2**bits - 1) if sign else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for name, (sign, bits) in INTEGERS.items()
}
SCALARS: dict[str, list[Any]] = {
    **{name: [*limits, 1] for name, limits in LIMITS.items()},
    "bool": [True, False, True],
    "float32": [0.5, -1.25, float("inf")],
    "float64": [0.1, -1e300, float("-inf")],
    "string": ["", "\N{SNOWMAN}", "null"],
    "bytes": [b"", b"\x00\xff", b"abc"],
    "date": [date(1, 1, 1), date(1970, 1, 1), date(9999, 12, 31)],
    "timestamp": [
        datetime(1970, 1, 1, tzinfo=timezone.utc),
        datetime(2024, 2, 29, 1, 2, 3, 4, timezone.utc),
        None,
    ],
}
VALUES = SCALARS | {f"list<{name}>": [[], [*values, None], [values[0]]] for name, values in SCALARS.items()}


@pytest.fixture
def typed(tmp_path: Path) -> eg.Database:
    db = eg.open(tmp_path / "typed.eg")
    properties: Any = {name: name for name in VALUES}
    db.create_vertex_type("thing", properties=properties)
    db.create_edge_type("has", properties=properties, multi=True)
    return db


def put(db: eg.Database, properties: dict[str, Any]) -> None:
    db.put_vertex(1, **properties)


def row(position: int) -> dict[str, Any]:
    return {name: values[position] for name, values in VALUES.items()}


def given(position: int) -> dict[str, Any]:
    return {name: value for name, value in row(position).items() if value is not None}


def test_values_come_back_from_memory_log_and_segments(typed: eg.Database, tmp_path: Path) -> None:
    for position in range(3):
        typed.put_vertex(position, **row(position))
        typed.put_edge(position, 9, "has", **row(position))
    for step in ("memory", "log", "segment"):
        if step == "log":
            typed.close()
            typed = eg.open(tmp_path / "typed.eg")
        if step == "segment":
            typed.compact()
        view = typed.snapshot()
        for position in range(3):
            assert dict(view.vertex(position)) == given(position), step
            assert dict(view.edge(position, 9, "has")) == given(position), step
    typed.close()
    assert not eg.check(tmp_path / "typed.eg").problems


def test_columns_come_back_as_they_were_given(typed: eg.Database) -> None:
    columns: Any = {
        name: values for name, values in VALUES.items() if name not in ("list<float32>", "float32")
    }
    typed.add_edges([0, 1, 2], [9, 9, 9], edge_type="has", **columns)
    table = typed.snapshot().edges()
    for name, values in columns.items():
        assert list(table[name]) == values, name
        assert table[name].type == name


@pytest.mark.parametrize("dtype", [*INTEGERS, "float32", "float64", "bool"])
def test_numpy_arrays_keep_their_type(dtype: str) -> None:
    db = eg.open()
    values = numpy.array([1, 0, 1], dtype=dtype)
    db.add_edges([0, 1, 2], [9, 9, 9], edge_type="has", p=values)
    column = db.snapshot().edges()["p"]
    assert column.type == dtype
    back = column.to_numpy()
    assert back.dtype == values.dtype
    assert (back == values).all()
    big_endian = values.astype(values.dtype.newbyteorder(">"))[::-1]
    db.add_edges([3, 4, 5], [9, 9, 9], edge_type="has", p=big_endian)
    assert list(db.snapshot().edges()["p"])[3:] == list(values[::-1])


def test_numpy_dates_and_rows_of_arrays() -> None:
    db = eg.open()
    days = numpy.array(["2024-02-29", "NaT"], dtype="datetime64[D]")
    rows = numpy.array([[1, 2], [3, 4]], dtype="float32")
    db.add_edges([0, 1], [9, 9], edge_type="has", day=days, embedding=rows)
    table = db.snapshot().edges()
    assert (table["day"].type, list(table["day"])) == ("date", [date(2024, 2, 29), None])
    assert numpy.array_equal(table["day"].to_numpy(), days, equal_nan=True)
    assert (table["embedding"].type, list(table["embedding"])) == ("list<float32>", [[1, 2], [3, 4]])
    db.put_vertex(7, embedding=rows[0])
    assert db.snapshot().vertex(7)["embedding"] == [1, 2]


@pytest.mark.parametrize("name", INTEGERS)
def test_integers_out_of_range_are_refused(typed: eg.Database, name: str) -> None:
    least, greatest = LIMITS[name]
    for number in (least - 1, greatest + 1):
        with pytest.raises((eg.SchemaError, ValueError), match=f"{name}|out of the range"):
            put(typed, {name: number})
    with pytest.raises(eg.SchemaError, match=rf"{name}.* is 1\.5|{name}.*1\.5, which is a float, was given"):
        put(typed, {name: 1.5})
    assert typed.snapshot().num_vertices == 0


def test_floats_are_rounded_to_single_and_never_overflow(typed: eg.Database) -> None:
    typed.put_vertex(1, float32=0.1)
    assert typed.snapshot().vertex(1)["float32"] == numpy.float32(0.1)
    typed.put_vertex(1, float32=float("nan"))
    assert str(typed.snapshot().vertex(1)["float32"]) == "nan"
    with pytest.raises(eg.SchemaError, match="float32"):
        typed.put_vertex(1, float32=1e39)
    with pytest.raises(eg.SchemaError, match="float64"):
        typed.put_vertex(1, float64=2**53 + 1)


def test_a_list_takes_scalars_of_its_type_only(typed: eg.Database) -> None:
    put(typed, {"list<int8>": [1, None, 2]})
    for wrong in ([300], ["a"], [1.5], 1):
        with pytest.raises(eg.SchemaError, match="list<int8>"):
            put(typed, {"list<int8>": wrong})
    with pytest.raises(TypeError, match="list of lists"):
        put(typed, {"list<int8>": [[1]]})
    assert typed.snapshot().vertex(1)["list<int8>"] == [1, None, 2]


def test_arrow_types_keep_their_names() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    db = eg.open()
    columns = {
        "small": pyarrow.array([1, None], pyarrow.int8()),
        "unsigned": pyarrow.array([2**64 - 1, None], pyarrow.uint64()),
        "single": pyarrow.array([0.5, None], pyarrow.float32()),
        "blob": pyarrow.array([b"x", None], pyarrow.binary()),
        "day": pyarrow.array([date(2024, 1, 2), None], pyarrow.date32()),
        "items": pyarrow.array([[1, None], None], pyarrow.list_(pyarrow.int16())),
    }
    db.add_edges([0, 1], [9, 9], edge_type="has", **columns)
    table = db.snapshot().edges().to_arrow()
    for name, column in columns.items():
        assert table[name].type == column.type
        assert table[name].to_pylist() == column.to_pylist()
