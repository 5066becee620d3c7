"""The types that signatures speak in."""

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Union

if TYPE_CHECKING:
    import numpy

Key: TypeAlias = int | str
"""What users call a vertex. A store has one kind of key, that of the first vertex."""

Scalar: TypeAlias = bool | int | float | str | bytes | date | datetime | None
Value: TypeAlias = Scalar | list[Scalar]
"""A property. Times without a time zone are taken as UTC; all times come back in UTC."""

Duration: TypeAlias = float | timedelta | str
"""A span of time: seconds, a ``timedelta``, or text such as ``"5s"`` (us, ms, s, m, min, h, d)."""

Isolation: TypeAlias = Literal["snapshot", "serializable"]
Durability: TypeAlias = Literal["sync", "interval", "none"]
ListFormat: TypeAlias = Literal["fast", "compact"]
KeyKind: TypeAlias = Literal["int64", "string", "dense"]
PropertyType: TypeAlias = Literal[
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "string",
    "bytes",
    "date",
    "timestamp",
    "list<bool>",
    "list<int8>",
    "list<int16>",
    "list<int32>",
    "list<int64>",
    "list<uint8>",
    "list<uint16>",
    "list<uint32>",
    "list<uint64>",
    "list<float32>",
    "list<float64>",
    "list<string>",
    "list<bytes>",
    "list<date>",
    "list<timestamp>",
]
"""The type of a property; `list<T>` holds any number of T and nulls."""
FileFormat: TypeAlias = Literal["edgelist", "csv", "tsv"]


class ArrowArray(Protocol):
    """A column that others can take over through Arrow's C data interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Give the schema and the data."""


class ArrowStream(Protocol):
    """A column in pieces, likewise."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the stream."""


ColumnLike: TypeAlias = Union["numpy.ndarray[Any, Any]", ArrowArray, ArrowStream, Iterable[Value]]
"""What can be a column of keys or properties: numpy, Arrow, pandas, polars, lists."""
