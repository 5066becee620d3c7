"""Values that no property holds: objects that hold themselves or too much, and times beyond 64 bits."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timezone
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import evergraph as eg


def list_in_itself() -> Any:
    items: list[Any] = []
    items.append(items)
    return items


def array_in_itself() -> Any:
    items = np.empty(1, object)
    items[0] = items
    return items


def deep_list() -> Any:
    items: list[Any] = []
    for _ in range(200_000):
        items = [items]
    return items


class Endless:
    """What is like a scalar of numpy, and has itself as its value."""

    ndim = 0
    dtype = np.dtype("int64")

    def tolist(self) -> Endless:
        return self

    item = tolist


class Named:
    """What has a shape and a type, but no values."""

    ndim = 1
    dtype = np.dtype("int64")


UNFIT: dict[str, tuple[Callable[[], Any], str]] = {
    "longdouble": (lambda: np.longdouble(1.5), "a value is None, bool, .* not numpy.longdouble"),
    "list of longdoubles": (lambda: [np.longdouble(1.5)], "a value is None, .* not numpy.longdouble"),
    "array of longdoubles": (
        lambda: np.array([1.5], np.longdouble),
        "a value is None, .* not numpy.longdouble",
    ),
    "objects": (
        lambda: np.array([np.longdouble(1.5)], object),
        "a value is None, .* not numpy.longdouble",
    ),
    "list in itself": (list_in_itself, "a list of lists cannot be stored"),
    "array in itself": (array_in_itself, "a list of lists cannot be stored"),
    "deep list": (deep_list, "a list of lists cannot be stored"),
    "endless scalar": (Endless, "a value is None, .* not .*Endless"),
    "no values": (Named, "a value is None, .* not .*Named"),
    "memoryview": (lambda: memoryview(b"x"), "a value is None, .* not memoryview"),
    "list of memoryviews": (lambda: [memoryview(b"x")], "a value is None, .* not memoryview"),
    "complex": (lambda: np.complex64(1), "a value is None, .* not numpy.complex64"),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_what_is_no_property_is_a_type_error(db: eg.Database, kind: str) -> None:
    make, message = UNFIT[kind]
    value = make()
    with pytest.raises(TypeError, match=f'property "p": {message}'):
        db.put_vertex(1, p=value)
    with db.begin() as tx, pytest.raises(TypeError, match=f'property "p": {message}'):
        tx.put_edge(1, 2, p=value)
    with pytest.raises(ValueError, match=f'column "p": row 0: {message}'):
        db.add_edges([1], [2], p=[value])
    assert db.snapshot().num_vertices == 0


def test_scalars_of_numpy_are_values(db: eg.Database) -> None:
    values: dict[str, tuple[Any, eg.Value]] = {
        "integer": (np.int8(1), 1),
        "float": (np.float16(0.5), 0.5),
        "bool": (np.bool_(True), True),
        "string": (np.str_("x"), "x"),
        "bytes": (np.bytes_(b"x"), b"x"),
        "array of no dimension": (np.array(2), 2),
        "array": (np.array(["a", "b"]), ["a", "b"]),
        "masked": (np.ma.masked, None),
    }
    db.put_vertex(1, **{name: given for name, (given, _) in values.items()})
    found = db.snapshot().vertex(1)
    assert found == {name: value for name, (_, value) in values.items() if value is not None}


# Beyond 2^63 microseconds, after and before.
BEYOND = [
    ("Y", 2**62),
    ("Y", 292_278),
    ("M", 2**50),
    ("W", 2**40),
    ("D", 2**31),
    ("2D", 2**30),
    ("h", 2**32),
    ("m", 2**40),
    ("s", 2**62),
    ("s", 9_223_372_036_855),
    ("ms", 2**62),
    ("10us", 2**62),
    ("10000000ns", 2**62),
]


@pytest.mark.parametrize(("unit", "count"), BEYOND)
def test_times_do_not_wrap(db: eg.Database, unit: str, count: int) -> None:
    for number in (count, -count - (unit == "D")):
        time: Any = np.array([number]).view(f"datetime64[{unit}]")
        with pytest.raises(ValueError, match=r'property "p": .* out of the range of a (date|timestamp)'):
            db.put_vertex(1, p=time[0])
        with pytest.raises(ValueError, match=r'column "p": row 1: .* out of the range of a (date|timestamp)'):
            db.add_edges([1, 2], [2, 3], p=np.concatenate([np.zeros(1, time.dtype), time]))
    assert db.snapshot().version == 0


@pytest.mark.parametrize(
    "unit", ["Y", "M", "W", "2D", "h", "m", "s", "ms", "us", "7us", "ns", "ps", "fs", "as"]
)
def test_times_that_fit_are_exact(db: eg.Database, unit: str) -> None:
    numbers = np.array([0, 1, -1, 13, -25, 1000, -1001]).astype("int64")
    times = numbers.view(f"datetime64[{unit}]")
    db.add_edges(numbers, numbers, p=times)
    found = dict(zip(db.snapshot().edges()["src"], db.snapshot().edges()["p"].to_numpy(), strict=True))
    assert found == dict(zip(numbers.tolist(), times.astype("datetime64[us]"), strict=True))
    no_time: Any = np.array([np.iinfo("int64").min]).view(times.dtype)[0]
    db.put_vertex(1, p=times[4], none=no_time)
    assert db.snapshot().vertex(1) == {
        "p": times[4].astype("datetime64[us]").item().replace(tzinfo=timezone.utc)
    }


def test_days_beyond_microseconds_are_no_timestamps(db: eg.Database) -> None:
    far = pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32())
    db.create_edge_type("timed", {"at": "timestamp"})
    db.create_vertex_type("timed", {"at": "timestamp"})
    day: Any = np.datetime64(-(2**31), "D")
    with pytest.raises(
        eg.SchemaError,
        match=r'"at" of timed in row 1 is timestamp, but 2147483647, whose microseconds .* beyond 2.63',
    ):
        db.add_edges([1, 2], [2, 3], "timed", at=far)
    with pytest.raises(
        eg.SchemaError, match='"at" of vertex is timestamp, but -2147483648, whose microseconds'
    ):
        db.put_vertex(1, at=day)
    db.add_edges([1], [2], "timed", at=[date(9999, 12, 31)])
    assert db.snapshot().edge(1, 2, "timed")["at"] == datetime(9999, 12, 31, tzinfo=timezone.utc)


def test_far_days_compare_as_they_are(db: eg.Database) -> None:
    db.create_edge_type("e", {"on": "date"})
    db.add_edges([1, 2, 3], [4, 5, 6], "e", on=np.array([-(2**31), 0, 2**31 - 1], "datetime64[D]"))
    for sign, found in (("<", [1, 2]), (">=", [3])):
        view = db.create_view(f"on {sign}", edges_where=f"on {sign} timestamp '2024-01-01T00:00:00Z'")
        assert view.at().edges()["src"].to_list() == found
