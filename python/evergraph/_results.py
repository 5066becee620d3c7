"""What algorithms give: values by vertex, paths and sets of vertices, each with a table underneath."""

from __future__ import annotations

from collections import Counter
from collections.abc import ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from itertools import groupby
from operator import itemgetter
from typing import Any, ClassVar, NamedTuple, TypeVar, overload

from evergraph import _native, _text
from evergraph._arguments import whole
from evergraph._errors import NotFoundError
from evergraph._table import Table, Tabular
from evergraph._types import Key

V = TypeVar("V")


class _Tabular(Tabular):
    """A result with a table underneath, and values of the whole graph."""

    __slots__ = ("_native", "_scalars")

    def __init__(self, native: _native.VertexTable | None, scalars: Mapping[str, bool | int | float]) -> None:
        """Wrap a native result; the algorithms do this for you."""
        if native is None:
            message = "this algorithm has no rows"
            raise TypeError(message)
        self._native = native
        self._scalars = scalars

    @property
    def table(self) -> Table:
        """All columns."""
        return Table(self._native.table)

    def _column(self, at: int) -> Any:
        return self._native.table.column(at)

    def _row(self, key: object) -> int | None:
        """Find the row of a vertex; none of what no vertex can be called."""
        try:
            return self._native.row(key)
        except (TypeError, ValueError):
            return None

    def _keys(self) -> list[Key]:
        keys: list[Key] = self._column(0).to_list()
        return keys

    def __reduce__(self) -> str:
        """Refuse to be pickled: a result asks its snapshot for the row of a key."""
        message = (
            f"a {type(self).__name__} belongs to its snapshot and cannot be pickled; pickle what it holds: "
            "its to_arrow(), its to_pandas(), or a dict, list or set of it"
        )
        raise TypeError(message)


class VertexResult(_Tabular, Mapping[Key, V]):
    """Values by vertex: a mapping from key to value, with a table underneath.

    The first column of the table is ``vertex``, the second holds the values of the mapping; there may be
    more. Vertices without a value, such as those that are not reached, are not in it.
    """

    __slots__ = ()

    def __getitem__(self, key: Key) -> V:
        """Give the value of a vertex.

        Raises
        ------
        NotFoundError
            If it has none; this is a ``KeyError`` too.
        """
        row = self._row(key)
        if row is None:
            message = f"vertex {_text.quoted(key)} is not in this result"
            raise NotFoundError(message)
        value: V = self._column(1).value(row)
        return value

    def __contains__(self, key: object) -> bool:
        """Tell whether the vertex has a value."""
        return self._row(key) is not None

    def __len__(self) -> int:
        """Count the vertices that have a value."""
        return self._native.table.num_rows

    def __iter__(self) -> Iterator[Key]:
        """Go through the vertices."""
        return iter(self._keys())

    def items(self) -> ItemsView[Key, V]:
        """Give the vertices with their values."""
        return _Items(self)

    def values(self) -> ValuesView[V]:
        """Give the values."""
        return _Values(self)

    def top(self, count: int = 10) -> Table:
        """Give the rows with the largest values as a table, the largest first.

        Raises
        ------
        ValueError
            If ``count`` is below 0.
        """
        return Table(self._native.top(whole("count", count)))

    def _headline(self) -> str:
        return _text.count(len(self), "vertex")

    def __repr__(self) -> str:
        """Say what came out, and show the first and last rows."""
        return f"{self._headline()}\n{_text.as_text(*self.table.shown())}"


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


class DistanceResult(VertexResult[float]):
    """Distances by vertex; see `sssp` and `bellman_ford`."""

    __slots__ = ()

    def _headline(self) -> str:
        return f"Shortest paths: {_text.count(len(self), 'vertex')} reached"


class CentralityResult(VertexResult[float]):
    """Scores by vertex that were iterated; see `eigenvector_centrality`, `katz_centrality` and `hits`."""

    __slots__ = ()
    _NAME: ClassVar[str] = "Scores"

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
        return f"{self._NAME} of {_text.count(len(self), 'vertex')}: {how} after {after}"


class PageRankResult(CentralityResult):
    """Scores by vertex; see `pagerank`."""

    __slots__ = ()
    _NAME = "PageRank"


class _HubsResult(CentralityResult):
    """Hub scores, which have the rows of both kinds of scores too."""

    __slots__ = ("_both",)

    def __init__(self, native: _native.VertexTable | None, scalars: Mapping[str, bool | int | float]) -> None:
        super().__init__(native and native.select(1), scalars)
        self._both: Any = native


class _HubsAndAuthorities(NamedTuple):
    hubs: _HubsResult
    authorities: CentralityResult


class HitsResult(Tabular, _HubsAndAuthorities):
    """Hub and authority scores by vertex; see `hits`. It can be taken apart as a tuple.

    Attributes
    ----------
    hubs : CentralityResult
        How well a vertex points to others.
    authorities : CentralityResult
        How well a vertex is pointed to.
    """

    __slots__ = ()

    @classmethod
    def of(cls, native: _native.VertexTable | None, scalars: Mapping[str, bool | int | float]) -> HitsResult:
        """Wrap a native result; `hits` does this for you."""
        return cls(_HubsResult(native, scalars), CentralityResult(native and native.select(2), scalars))

    @property
    def table(self) -> Table:
        """Both scores of each vertex: ``vertex``, ``hub`` and ``authority``."""
        return Table(self.hubs._both.table)

    def top(self, count: int = 10) -> tuple[Table, Table]:
        """Give the rows with the largest hub scores, and those with the largest authority scores."""
        return self.hubs.top(count), self.authorities.top(count)

    def __repr__(self) -> str:
        """Show both, one below the other."""
        return f"Hubs. {self.hubs!r}\n\nAuthorities. {self.authorities!r}"

    def _parts(self) -> Iterable[str | _text.Grid]:
        return ["Hubs", *self.hubs._parts(), "Authorities", *self.authorities._parts()]


class GroupsResult(VertexResult[Key]):
    """Groups of vertices, each named by one of its vertices: from vertex to group."""

    __slots__ = ()

    def sizes(self) -> dict[Key, int]:
        """Give the number of vertices by group, the largest first."""
        return dict(Counter(self.values()).most_common())

    def groups(self) -> list[set[Key]]:
        """Give the vertices of each group, the largest first."""
        groups: dict[Key, set[Key]] = {group: set() for group in self.sizes()}
        for vertex, group in self.items():
            groups[group].add(vertex)
        return list(groups.values())


class ComponentsResult(GroupsResult):
    """Components by vertex; see `connected_components` and `strongly_connected_components`."""

    __slots__ = ()

    @property
    def count(self) -> int:
        """How many components there are."""
        return int(self._scalars["components"])

    @property
    def largest(self) -> int:
        """How many vertices the largest one has."""
        return int(self._scalars["largest"])

    def _headline(self) -> str:
        parts = _text.count(self.count, "component")
        return f"{parts} of {_text.count(len(self), 'vertex')}, the largest of {self.largest:,}"


class CommunitiesResult(GroupsResult):
    """Communities by vertex; see `label_propagation`."""

    __slots__ = ()

    @property
    def count(self) -> int:
        """How many communities there are."""
        return int(self._scalars["communities"])

    @property
    def iterations(self) -> int:
        """How many iterations were done."""
        return int(self._scalars["iterations"])

    @property
    def converged(self) -> bool:
        """Whether the last iteration changed nothing."""
        return bool(self._scalars["converged"])

    def _headline(self) -> str:
        return f"{_communities(self.count)} of {_text.count(len(self), 'vertex')}"


class LouvainResult(GroupsResult):
    """Communities by vertex; see `louvain` and `leiden`."""

    __slots__ = ()

    @property
    def count(self) -> int:
        """How many communities there are."""
        return int(self._scalars["communities"])

    @property
    def modularity(self) -> float:
        """How much more of the edges is inside than chance would put there, at most 1."""
        return float(self._scalars["modularity"])

    @property
    def levels(self) -> int:
        """How many levels gained something."""
        return int(self._scalars["levels"])

    def _headline(self) -> str:
        vertices = _text.count(len(self), "vertex")
        return f"{_communities(self.count)} of {vertices}, modularity {_text.cell(self.modularity)}"


class ColoringResult(VertexResult[int]):
    """Colors by vertex, numbers from 0; see `greedy_color`."""

    __slots__ = ()

    @property
    def count(self) -> int:
        """How many colors are used."""
        return int(self._scalars["colors"])

    def classes(self) -> list[set[Key]]:
        """Give the vertices of each color, by color."""
        classes: list[set[Key]] = [set() for _ in range(self.count)]
        for vertex, color in self.items():
            classes[color].add(vertex)
        return classes

    def _headline(self) -> str:
        return f"{_text.count(self.count, 'color')} for {_text.count(len(self), 'vertex')}"


class ArrivalResult(VertexResult[float]):
    """Times of arrival by vertex; see `temporal_reachability`."""

    __slots__ = ()

    def _headline(self) -> str:
        return f"Arrivals: {_text.count(len(self), 'vertex')} reached"


class LocalClusterResult(VertexResult[float]):
    """The members of a cluster with their scores, the nearest first; see `local_cluster` and `nibble`."""

    __slots__ = ()

    @property
    def conductance(self) -> float:
        """The share of the members' edge ends that lead out: small if few edges leave."""
        return float(self._scalars["conductance"])

    def _headline(self) -> str:
        return f"Cluster of {_text.count(len(self), 'vertex')}, conductance {_text.cell(self.conductance)}"


class KHopResult(VertexResult[int]):
    """Hops by vertex, the nearest first; see `k_hop`."""

    __slots__ = ()


class BetweennessResult(VertexResult[float]):
    """Betweenness by vertex; see `betweenness_centrality`."""

    __slots__ = ()

    @property
    def sources(self) -> int:
        """How many vertices the counted paths begin at."""
        return int(self._scalars["sources"])

    def _headline(self) -> str:
        vertices = _text.count(len(self), "vertex")
        return f"Betweenness of {vertices}, by the paths from {self.sources:,}"


class DegreeResult(VertexResult[int]):
    """Degrees by vertex; see `degree_statistics`."""

    __slots__ = ()

    @property
    def mean(self) -> float:
        """The mean degree."""
        return float(self._scalars["mean"])

    @property
    def smallest(self) -> int:
        """The smallest degree."""
        return int(self._scalars["smallest"])

    @property
    def median(self) -> int:
        """The degree that half of the vertices do not exceed."""
        return int(self._scalars["median"])

    @property
    def largest(self) -> int:
        """The largest degree."""
        return int(self._scalars["largest"])

    @property
    def isolated(self) -> int:
        """How many vertices have no edges."""
        return int(self._scalars["isolated"])

    @property
    def self_loops(self) -> int:
        """How many edges lead from a vertex to itself."""
        return int(self._scalars["self_loops"])

    def _headline(self) -> str:
        vertices = _text.count(len(self), "vertex")
        span = f"{self.smallest:,} to {self.largest:,}"
        return f"Degrees of {vertices}: {span}, on average {_text.cell(self.mean)}"


class CoreResult(VertexResult[int]):
    """Core numbers by vertex; see `core_number`."""

    __slots__ = ()

    @property
    def largest(self) -> int:
        """The largest core number: the degeneracy of the graph."""
        return int(self._scalars["largest"])

    def _headline(self) -> str:
        return f"Core numbers of {_text.count(len(self), 'vertex')}, the largest {self.largest:,}"


class ClusteringResult(VertexResult[float]):
    """Clustering coefficients by vertex; see `clustering` and `local_clustering_coefficient`."""

    __slots__ = ()

    @property
    def average(self) -> float:
        """The mean of all vertices."""
        return float(self._scalars["average"])

    def _headline(self) -> str:
        vertices = _text.count(len(self), "vertex")
        return f"Clustering coefficients of {vertices}, on average {_text.cell(self.average)}"


class VertexList(_Tabular, Sequence[Key]):
    """Vertices in an order that means something. It equals a list of the same vertices."""

    __slots__ = ()

    @overload
    def __getitem__(self, at: int) -> Key: ...
    @overload
    def __getitem__(self, at: slice) -> list[Key]: ...
    def __getitem__(self, at: int | slice) -> Key | list[Key]:
        """Give the vertex at a position, or a list of those in a slice."""
        key = self._column(0).value
        return [key(row) for row in _rows(self, at)] if isinstance(at, slice) else key(_row(self, at))

    def __len__(self) -> int:
        """Count the vertices."""
        return self._native.table.num_rows

    def __iter__(self) -> Iterator[Key]:
        """Go through the vertices in their order."""
        return iter(self._keys())

    def __eq__(self, other: object) -> bool:
        """Tell whether it has the same vertices in the same order as another sequence."""
        if isinstance(other, Sequence) and not isinstance(other, str):
            return self._keys() == list(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Show the first and last vertices."""
        return f"{type(self).__name__}([{_shown(self)}])"


class PathResult(VertexList):
    """A path, as the list of its vertices; see `shortest_path`."""

    __slots__ = ()

    @property
    def length(self) -> float:
        """The total weight of its edges."""
        return float(self._scalars["length"])

    def __repr__(self) -> str:
        """Show the first and last vertices, and the length."""
        return f"PathResult([{_shown(self)}], length={_text.cell(self.length)})"


class TopologicalOrder(VertexList):
    """All vertices, in an order in which every edge leads forward; see `topological_sort`."""

    __slots__ = ()

    def generations(self) -> list[list[Key]]:
        """Give the vertices by the length of the longest path to them: those without edges in first."""
        generations: list[list[Key]] = []
        for vertex, generation in zip(self._keys(), self._column(1).to_list(), strict=True):
            if generation == len(generations):
                generations.append([])
            generations[-1].append(vertex)
        return generations


class DiameterResult(VertexList):
    """The two ends of a long shortest path; see `diameter`."""

    __slots__ = ()

    @property
    def lower_bound(self) -> int:
        """The hops between the ends: no shortest path is known to be longer."""
        return int(self._scalars["lower_bound"])

    def __repr__(self) -> str:
        """Show the ends and the hops between them."""
        return f"DiameterResult([{_shown(self)}], lower_bound={self.lower_bound})"


class WalksResult(_Tabular, Sequence[list[Key]]):
    """Walks, each a list of vertices; see `random_walks`. The table has a row for each vertex of each."""

    __slots__ = ("_starts",)

    def __init__(self, native: _native.VertexTable | None, scalars: Mapping[str, bool | int | float]) -> None:
        """Find where the rows of each walk begin."""
        super().__init__(native, scalars)
        self._starts = [*self._native.starts(1), self._native.table.num_rows]

    @overload
    def __getitem__(self, at: int) -> list[Key]: ...
    @overload
    def __getitem__(self, at: slice) -> list[list[Key]]: ...
    def __getitem__(self, at: int | slice) -> list[Key] | list[list[Key]]:
        """Give a walk, or a list of those in a slice."""
        if isinstance(at, slice):
            return [self[walk] for walk in _rows(self, at)]
        walk = _row(self, at)
        key = self._column(0).value
        return [key(row) for row in range(self._starts[walk], self._starts[walk + 1])]

    def __len__(self) -> int:
        """Count the walks."""
        return int(self._scalars["walks"])

    def __iter__(self) -> Iterator[list[Key]]:
        """Go through the walks."""
        rows = zip(self._column(1).to_list(), self._keys(), strict=True)
        for _, walk in groupby(rows, key=itemgetter(0)):
            yield [vertex for _, vertex in walk]

    def __repr__(self) -> str:
        """Say how many there are, and show the first and last rows."""
        return f"{_text.count(len(self), 'walk')}\n{_text.as_text(*self.table.shown())}"


class PairsResult(_Tabular, Sequence[tuple[Key, Key, float]]):
    """Pairs of vertices with a number each, in the order they were given; see `jaccard_coefficient`."""

    __slots__ = ()

    @overload
    def __getitem__(self, at: int) -> tuple[Key, Key, float]: ...
    @overload
    def __getitem__(self, at: slice) -> list[tuple[Key, Key, float]]: ...
    def __getitem__(self, at: int | slice) -> tuple[Key, Key, float] | list[tuple[Key, Key, float]]:
        """Give a pair and its number, or a list of those in a slice."""
        if isinstance(at, slice):
            return [self[row] for row in _rows(self, at)]
        row = _row(self, at)
        u, v, score = (self._column(column).value(row) for column in range(3))
        return u, v, score

    def __len__(self) -> int:
        """Count the pairs."""
        return self._native.table.num_rows

    def __iter__(self) -> Iterator[tuple[Key, Key, float]]:
        """Go through the pairs and their numbers."""
        return zip(self._keys(), *(self._column(at).to_list() for at in (1, 2)), strict=True)

    def __repr__(self) -> str:
        """Show the first and last pairs."""
        return f"{_text.count(len(self), 'pair')}\n{_text.as_text(*self.table.shown())}"


class SpanningForestResult(PairsResult):
    """The edges of a spanning forest with their weights, the lightest first; see `minimum_spanning_edges`."""

    __slots__ = ()

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self._scalars["total"])

    def __repr__(self) -> str:
        """Say what they weigh, and show the first and last edges."""
        head = f"{_text.count(len(self), 'edge')} of total weight {_text.cell(self.total)}"
        return f"{head}\n{_text.as_text(*self.table.shown())}"


class MatchingResult(_Tabular, AbstractSet[tuple[Key, Key]]):
    """Edges that share no ends, as a set of pairs; see `maximal_matching`. Operators give plain sets."""

    __slots__ = ()

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> set[Any]:
        return set(it)

    def __eq__(self, other: object) -> bool:
        """Tell whether another set has the same members."""
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, pair: object) -> bool:
        """Tell whether there is an edge between two vertices, in either order."""
        if not (isinstance(pair, tuple) and len(pair) == 2):
            return False
        return any(self._partner(one) == other for one, other in (pair, pair[::-1]))

    def _partner(self, key: object) -> Key | None:
        row = self._row(key)
        partner: Key | None = None if row is None else self._column(1).value(row)
        return partner

    def __len__(self) -> int:
        """Count the edges."""
        return self._native.table.num_rows

    def __iter__(self) -> Iterator[tuple[Key, Key]]:
        """Go through the edges."""
        return zip(self._keys(), self._column(1).to_list(), strict=True)

    def __repr__(self) -> str:
        """Show the first and last edges."""
        return f"{_text.count(len(self), 'edge')}\n{_text.as_text(*self.table.shown())}"


class MultiSourceResult(_Tabular, Mapping[Key, dict[Key, int]]):
    """Hops by source and vertex; see `multi_source_bfs`. The table has a row for each pair."""

    __slots__ = ("_ranges",)

    def __init__(self, native: _native.VertexTable | None, scalars: Mapping[str, bool | int | float]) -> None:
        """Find the rows of each source: they lie together."""
        super().__init__(native, scalars)
        starts, source = self._native.starts(0), self._column(0).value
        ends = [*starts[1:], self._native.table.num_rows]
        self._ranges: dict[Key, range] = {source(a): range(a, b) for a, b in zip(starts, ends, strict=False)}

    def __getitem__(self, source: Key) -> dict[Key, int]:
        """Give the hops from a source to the vertices it reaches, the nearest first.

        Raises
        ------
        NotFoundError
            If it is not a source; this is a ``KeyError`` too.
        """
        rows = self._ranges.get(source)
        if rows is None:
            message = f"{_text.quoted(source)} is not a source of this result"
            raise NotFoundError(message)
        vertices, distances = self._column(1), self._column(2)
        return {vertices.value(row): distances.value(row) for row in rows}

    def __iter__(self) -> Iterator[Key]:
        """Go through the sources."""
        return iter(self._ranges)

    def __len__(self) -> int:
        """Count the sources."""
        return len(self._ranges)

    def __repr__(self) -> str:
        """Say how many pairs there are, and show the first and last."""
        head = f"{_text.count(len(self), 'source')}, {_text.count(self._native.table.num_rows, 'pair')}"
        return f"{head}\n{_text.as_text(*self.table.shown())}"


class VertexSet(_Tabular, AbstractSet[Key]):
    """Vertices as a set, in the order of `Snapshot.vertices`. Operators such as ``&`` give plain sets."""

    __slots__ = ()

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> set[Any]:
        return set(it)

    def __eq__(self, other: object) -> bool:
        """Tell whether another set has the same members."""
        return super().__eq__(other)

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, key: object) -> bool:
        """Tell whether the vertex is a member."""
        return self._row(key) is not None

    def __len__(self) -> int:
        """Count the members."""
        return self._native.table.num_rows

    def __iter__(self) -> Iterator[Key]:
        """Go through the members."""
        return iter(self._keys())

    def __repr__(self) -> str:
        """Show the first and last members."""
        return f"{type(self).__name__}({{{_shown(self)}}})" if len(self) else f"{type(self).__name__}()"


class KCoreResult(VertexSet):
    """The vertices of a core; see `k_core`."""

    __slots__ = ()

    @property
    def k(self) -> int:
        """The least degree asked for, or the largest there is."""
        return int(self._scalars["k"])


def _row(of: Sequence[Any], at: int) -> int:
    """Give the row at a position, which may be a number of numpy and count from the end."""
    try:
        return range(len(of))[at]
    except TypeError:
        message = f"a position is a whole number or a slice, not {type(at).__name__}"
        raise TypeError(message) from None
    except IndexError:
        message = f"there is no position {at} in {len(of)}"
        raise IndexError(message) from None


def _rows(of: Sequence[Any], at: slice) -> range:
    return range(*at.indices(len(of)))


def _shown(vertices: VertexList | VertexSet) -> str:
    column = vertices._column(0)
    rows = _text.shown(len(vertices))
    return ", ".join(_text.GAP if row is None else repr(column.value(row)) for row in rows)


def _communities(count: int) -> str:
    return f"{count:,} {'community' if count == 1 else 'communities'}"
