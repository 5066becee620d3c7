"""The types that signatures speak in."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Union

if TYPE_CHECKING:
    import numpy

Key: TypeAlias = int | str
"""What users call a vertex. A store has one kind of key, that of the first vertex."""

Value: TypeAlias = bool | int | float | str | datetime | None
"""A property. Times without a time zone are taken as UTC; all times come back in UTC."""

Duration: TypeAlias = float | timedelta | str
"""A span of time: seconds, a ``timedelta``, or text such as ``"5s"`` (us, ms, s, m, min, h, d)."""

Isolation: TypeAlias = Literal["snapshot", "serializable"]
Durability: TypeAlias = Literal["sync", "interval", "none"]
KeyKind: TypeAlias = Literal["int64", "string", "dense"]
PropertyType: TypeAlias = Literal["bool", "int64", "float64", "string", "timestamp"]
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
