"""What algorithms give: values by vertex, as a dict and as a table at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import TYPE_CHECKING, Any, TypeVar

from evergraph import _native, _text
from evergraph._errors import NotFoundError
from evergraph._table import Table
from evergraph._types import Key

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow

V = TypeVar("V")


class VertexResult(Mapping[Key, V]):
    """Values by vertex: a mapping from key to value, with a table underneath.

    The first column of the table is ``vertex``, the second holds the values of the mapping; there may be
    more.
    """

    __slots__ = ("_native", "_scalars")

    def __init__(self, native: _native.VertexTable | None, scalars: Mapping[str, bool | int | float]) -> None:
        """Wrap a native result; the algorithms do this for you."""
        if native is None:
            message = "this algorithm has no values by vertex"
            raise TypeError(message)
        self._native = native
        self._scalars = scalars

    @property
    def table(self) -> Table:
        """All columns, a row for each vertex."""
        return Table(self._native.table)

    def _column(self, at: int) -> Any:
        return self._native.table.column(at)

    def __getitem__(self, key: Key) -> V:
        """Give the value of a vertex.

        Raises
        ------
        NotFoundError
            If it has none; this is a ``KeyError`` too.
        """
        row = self._native.row(key)
        if row is None:
            message = f"vertex {key!r} is not in this result"
            raise NotFoundError(message)
        value: V = self._column(1).value(row)
        return value

    def __contains__(self, key: object) -> bool:
        """Tell whether the vertex has a value."""
        return self._native.row(key) is not None

    def __len__(self) -> int:
        """Count the vertices that have a value."""
        return self._native.table.num_rows

    def __iter__(self) -> Iterator[Key]:
        """Go through the vertices."""
        return iter(self._column(0).to_list())

    def items(self) -> ItemsView[Key, V]:
        """Give the vertices with their values."""
        return _Items(self)

    def values(self) -> ValuesView[V]:
        """Give the values."""
        return _Values(self)

    def top(self, count: int = 10) -> Table:
        """Give the rows with the largest values as a table, the largest first."""
        return Table(self._native.top(count))

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
        return self._native.table.__arrow_c_stream__(requested_schema)

    def _headline(self) -> str:
        return _text.count(len(self), "vertex")

    def __repr__(self) -> str:
        """Say what came out, and show the first and last rows."""
        return f"{self._headline()}\n{_text.as_text(*self.table.shown())}"

    def _repr_html_(self) -> str:
        return f"<p>{self._headline()}</p>{_text.as_html(*self.table.shown())}"


class _Items(ItemsView[Key, V]):
    """Items column by column, rather than key by key."""

    _mapping: VertexResult[V]

    def __iter__(self) -> Iterator[tuple[Key, V]]:
        columns = self._mapping._column
        return zip(columns(0).to_list(), columns(1).to_list(), strict=True)


class _Values(ValuesView[V]):
    """Values likewise."""

    _mapping: VertexResult[V]

    def __iter__(self) -> Iterator[V]:
        return iter(self._mapping._column(1).to_list())


class BfsResult(VertexResult[int]):
    """Hops by vertex; see `bfs`."""

    __slots__ = ()

    @property
    def depth(self) -> int:
        """The largest distance."""
        return int(self._scalars["depth"])

    def _headline(self) -> str:
        return f"BFS: {_text.count(len(self), 'vertex')} reached, depth {self.depth}"


class PageRankResult(VertexResult[float]):
    """Scores by vertex; see `pagerank`."""

    __slots__ = ()

    @property
    def iterations(self) -> int:
        """How many iterations were done."""
        return int(self._scalars["iterations"])

    @property
    def error(self) -> float:
        """How much the last iteration changed the scores, in all."""
        return float(self._scalars["error"])

    @property
    def converged(self) -> bool:
        """Whether the error fell below the tolerance."""
        return bool(self._scalars["converged"])

    def _headline(self) -> str:
        how = "converged" if self.converged else "not converged"
        after = _text.count(self.iterations, "iteration")
        return f"PageRank of {_text.count(len(self), 'vertex')}: {how} after {after}"


class ComponentsResult(VertexResult[Key]):
    """Components by vertex; see `connected_components`."""

    __slots__ = ()

    @property
    def count(self) -> int:
        """How many components there are."""
        return int(self._scalars["components"])

    @property
    def largest(self) -> int:
        """How many vertices the largest one has."""
        return int(self._scalars["largest"])

    def sizes(self) -> dict[Key, int]:
        """Give the number of vertices by component, the largest first."""
        return dict(Counter(self.values()).most_common())

    def _headline(self) -> str:
        parts = _text.count(self.count, "component")
        return f"{parts} of {_text.count(len(self), 'vertex')}, the largest of {self.largest:,}"
