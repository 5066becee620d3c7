"""Short lists of records as tables: what the native module tells row by row, such as the rejects of a load.

Invariant: a listed table answers what a native one does, for columns of whole numbers and of texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from evergraph import _native
from evergraph._partners import numpy, partner, polars
from evergraph._table import Table


class _Column:
    def __init__(self, name: str, kind: type, values: Sequence[Any]) -> None:
        self.name = name
        self.type_name = "int64" if kind is int else "string"
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def value(self, row: int) -> Any:
        return self._values[row]

    def to_list(self) -> list[Any]:
        return list(self._values)

    def nulls(self) -> numpy.ndarray[Any, Any]:
        return numpy.zeros(len(self._values), bool)

    def to_numpy(self) -> numpy.ndarray[Any, Any]:
        return numpy.array(self._values, "int64" if self.type_name == "int64" else object)

    def __arrow_c_array__(self, requested_schema: object | None = None) -> Any:
        array = partner("pyarrow", "arrow").array(self._values, self.type_name)
        return array.__arrow_c_array__(requested_schema)


class _Rows:
    def __init__(self, columns: list[_Column]) -> None:
        self._columns = columns
        self.column_names = [column.name for column in columns]
        self.num_rows = len(columns[0])

    def column(self, index: int) -> _Column:
        return self._columns[index]

    def _arrow(self) -> Any:
        pyarrow = partner("pyarrow", "arrow")
        columns = [pyarrow.array(column.to_list(), column.type_name) for column in self._columns]
        return pyarrow.record_batch(columns, self.column_names)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> Any:
        return self._arrow().__arrow_c_stream__(requested_schema)

    def __arrow_c_array__(self, requested_schema: object | None = None) -> Any:
        return self._arrow().__arrow_c_array__(requested_schema)


class _Listed(Table):
    __slots__ = ()

    def to_polars(self) -> polars.DataFrame:
        """Give the table to polars, without a need for pyarrow."""
        package = partner("polars", "polars")
        kinds = {"int64": package.Int64, "string": package.String}
        columns = self._columns()
        values = {column.name: column.to_list() for column in columns}
        schema = {column.name: kinds[column.type] for column in columns}
        frame: polars.DataFrame = package.DataFrame(values, schema=schema)
        return frame


def table_of(columns: dict[str, type], rows: Sequence[Sequence[Any]]) -> Table:
    """Make a table of rows: ``columns`` says what each column is called, and whether it is of int or str.

    >>> table_of({"line": int, "reason": str}, [(3, "one field")]).column_names
    ['line', 'reason']
    """
    listed = [
        _Column(name, kind, [row[at] for row in rows]) for at, (name, kind) in enumerate(columns.items())
    ]
    return _Listed(cast("_native.Table", _Rows(listed)))
