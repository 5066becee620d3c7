"""The types that signatures speak in."""

import sys
from collections.abc import ItemsView, Iterable, Mapping
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, ForwardRef, Literal, Protocol, SupportsIndex, TypeAlias, Union

from evergraph._partners import numpy

if sys.version_info >= (3, 11):
    from typing import Self as Self
elif TYPE_CHECKING:
    from typing_extensions import Self as Self
else:
    Self = Any

Key: TypeAlias = int | str
"""What users call a vertex. A store has one kind of key, that of the first vertex."""

Scalar: TypeAlias = bool | int | float | str | bytes | date | datetime | None
Value: TypeAlias = Scalar | list[Scalar]
"""A property. Times without a time zone are taken as UTC; all times come back in UTC."""

NamedValues: TypeAlias = Mapping[str, Value] | Value
"""What ``properties=`` takes: values by name. One alone is refused; it is here as type checkers hold what
``**row`` may have against every keyword there is."""

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


class Weights(Protocol):
    """A number for each of some vertices: a ``dict`` or another mapping, by key; keys of numpy are keys too.

    A ``Mapping[Key, float]`` would take neither a ``dict[str, float]`` nor a ``dict[int, float]``, since the
    keys of mappings are invariant; those of their items are not.
    """

    def items(self) -> ItemsView[str | SupportsIndex, float]:
        """Give the keys with their numbers."""


class ArrowArray(Protocol):
    """A column that others can take over through Arrow's C data interface."""

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Give the schema and the data."""


class ArrowStream(Protocol):
    """A column in pieces, likewise."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Give the stream."""


if TYPE_CHECKING:
    ColumnLike: TypeAlias = numpy.ndarray[Any, Any] | ArrowArray | ArrowStream | Iterable[Value]
else:
    # The reference says where its names are known, so that annotations of any module may have it; before
    # Python 3.14 it has no operator |.
    _ARRAY = ForwardRef("numpy.ndarray[Any, Any]", module=__name__)
    ColumnLike: TypeAlias = Union[_ARRAY, ArrowArray, ArrowStream, Iterable[Value]]  # noqa: UP007
"""What can be a column of keys or properties: numpy, Arrow, pandas, polars, lists."""
NamedColumns: TypeAlias = Union[Mapping[str, ColumnLike], ColumnLike, None]  # noqa: UP007
"""What ``properties=`` takes of columns; see `NamedValues`."""
