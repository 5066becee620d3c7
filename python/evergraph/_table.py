"""Tables: Arrow underneath, and a way out to every package that works with columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, overload

from evergraph import _native, _text
from evergraph._partners import numpy, pandas, partner, polars, pyarrow
from evergraph._types import Value

_NUMERIC = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}


class Column:
    """One column of a table: a sequence of values of one type, or ``None``.

    It can be handed as it is to whatever takes Arrow data: ``pyarrow.array(column)``,
    ``polars.Series(column)``, `Database.add_edges`.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Column) -> None:
        """Wrap a native column; tables do this for you."""
        self._native = native

    @property
    def name(self) -> str:
        """The name."""
        return self._native.name

    @property
    def type(self) -> str:
        """The type, as in the schema: ``int64``, ``string``, ``list<float32>``, ..."""
        return self._native.type_name

    def __len__(self) -> int:
        """Count the values."""
        return len(self._native)

    @overload
    def __getitem__(self, row: int) -> Value: ...

    @overload
    def __getitem__(self, row: slice) -> list[Value]: ...

    def __getitem__(self, row: int | slice) -> Value | list[Value]:
        """Give the value of a row, counted from the end if negative, or those of a slice of the rows."""
        if isinstance(row, slice):
            return [self._native.value(at) for at in range(len(self))[row]]
        at = row + len(self) if row < 0 else row
        if not 0 <= at < len(self):
            message = f"there is no row {row}: column {self.name!r} has {len(self)}"
            raise IndexError(message)
        return self._native.value(at)

    def __iter__(self) -> Iterator[Value]:
        """Go through the values."""
        return iter(self._native.to_list())

    def to_list(self) -> list[Value]:
        """Give all values as Python objects."""
        return self._native.to_list()

    def to_numpy(self) -> numpy.ndarray[Any, Any]:
        """Give the values as an array of shape ``(len(column),)``.

        Numbers and times without nulls share memory with the table and are read-only. With nulls, numbers
        become float64 with NaN and times NaT; strings, and truth values with nulls, are Python objects.
        Times are ``datetime64[us]`` in UTC.
        """
        return self._native.to_numpy()

    def to_arrow(self) -> pyarrow.Array:
        """Give the column to pyarrow, without a copy."""
        return partner("pyarrow", "arrow").array(self)

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Offer the data to others, as Arrow's PyCapsule interface says."""
        return self._native.__arrow_c_array__(requested_schema)

    def __repr__(self) -> str:
        """Show the first and last values."""
        values = [
            _text.GAP if row is None else _text.cell(self._native.value(row))
            for row in _text.shown(len(self))
        ]
        return f"Column({self.name!r}, {self.type}, {_text.count(len(self), 'row')}: [{', '.join(values)}])"


class Table(_text.Shown):
    """Columns of one length.

    ``len(table)`` counts rows, ``table["name"]`` is a `Column`, iterating gives column names.

    Examples
    --------
    >>> import evergraph as eg
    >>> with eg.open() as db:
    ...     added = db.add_edges(["a", "a", "b"], ["b", "c", "c"], weight=[0.5, 1.5, 2.0])
    ...     edges = db.snapshot().edges()
    >>> edges
    src  dst  weight
    ---  ---  ------
    a    b       0.5
    a    c       1.5
    b    c         2
    [3 rows, 3 columns]
    >>> edges["weight"].to_numpy()
    array([0.5, 1.5, 2. ])
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Table) -> None:
        """Wrap a native table; the database does this for you."""
        self._native = native

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return self._native.num_rows

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
        return self._native.column_names

    def __len__(self) -> int:
        """Count the rows."""
        return self._native.num_rows

    def __bool__(self) -> bool:
        """Tell whether there is a row."""
        return self._native.num_rows > 0

    def __iter__(self) -> Iterator[str]:
        """Go through the names of the columns."""
        return iter(self._native.column_names)

    def keys(self) -> list[str]:
        """Give the names of the columns, so that ``dict(table)`` works."""
        return self._native.column_names

    def __contains__(self, name: object) -> bool:
        """Tell whether there is a column of this name."""
        return name in self._native.column_names

    def __getitem__(self, name: str) -> Column:
        """Give the column of this name.

        Raises
        ------
        KeyError
            If there is none.
        """
        names = self._native.column_names
        if name not in names:
            message = f"there is no column {_text.quoted(name)}; there are {names}"
            raise KeyError(message)
        return Column(self._native.column(names.index(name)))

    def _columns(self) -> list[Column]:
        return [Column(self._native.column(at)) for at in range(len(self._native.column_names))]

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """Go through the rows as tuples of Python values."""
        return zip(*(column.to_list() for column in self._columns()), strict=True)

    def to_numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """Give the columns by name as arrays; see `Column.to_numpy`."""
        return {column.name: column.to_numpy() for column in self._columns()}

    def to_arrow(self) -> pyarrow.Table:
        """Give the table to pyarrow, without a copy. Needs pyarrow."""
        return partner("pyarrow", "arrow").table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """Give the table to pandas. Needs pandas and pyarrow."""
        partner("pandas", "pandas")
        frame: pandas.DataFrame = partner("pyarrow", "pandas").table(self).to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Give the table to polars, without a copy where polars allows. Needs polars."""
        frame: polars.DataFrame = partner("polars", "polars").DataFrame(self)
        return frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Offer the data to others, as Arrow's PyCapsule interface says."""
        return self._native.__arrow_c_stream__(requested_schema)

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        """Offer the data to others as one struct array."""
        return self._native.__arrow_c_array__(requested_schema)

    def shown(self) -> _text.Grid:
        """Give the names, which columns are numbers, and the cells of the rows that a repr shows."""
        columns = self._columns()
        cells = [
            [_text.GAP if row is None else _text.cell(column._native.value(row)) for column in columns]
            for row in _text.shown(len(self))
        ]
        return self.column_names, [column.type in _NUMERIC for column in columns], cells

    def _extent(self) -> str:
        return f"[{_text.count(len(self), 'row')}, {_text.count(len(self.column_names), 'column')}]"

    def __repr__(self) -> str:
        """Show the first and last rows."""
        return f"{_text.as_text(*self.shown())}\n{self._extent()}"

    def _parts(self) -> Iterable[str | _text.Grid]:
        return [self.shown(), self._extent()]


class Tabular(_text.Shown):
    """What has a table underneath, and is handed on to other packages as that table is."""

    __slots__ = ()

    @property
    def table(self) -> Table:
        """All columns."""
        raise NotImplementedError

    def to_numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """Give the columns by name as arrays."""
        return self.table.to_numpy()

    def to_arrow(self) -> pyarrow.Table:
        """Give the table to pyarrow."""
        return self.table.to_arrow()

    def to_pandas(self) -> pandas.DataFrame:
        """Give the table to pandas."""
        return self.table.to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """Give the table to polars."""
        return self.table.to_polars()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Offer the table to others, as Arrow's PyCapsule interface says."""
        return self.table.__arrow_c_stream__(requested_schema)

    def _headline(self) -> str:
        return repr(self).partition("\n")[0]

    def _parts(self) -> Iterable[str | _text.Grid]:
        return [self._headline(), self.table.shown()]
