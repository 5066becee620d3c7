"""Snapshots as graphs of NetworkX and matrices of SciPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evergraph import _text
from evergraph._partners import partner

if TYPE_CHECKING:
    import numpy

    from evergraph._snapshot import Snapshot
    from evergraph._table import Column, Table


def networkx_graph(view: Snapshot) -> Any:
    """Make a NetworkX graph; `Snapshot.to_networkx` says of which class."""
    networkx = partner("networkx", "networkx")
    kinds = view._native.edge_types
    several = len(kinds) > 1 or any(multi for _, multi, _, _ in kinds)
    name = f"{'Multi' if several else ''}{'Graph' if view.is_symmetric else 'DiGraph'}"
    graph = getattr(networkx, name)()
    graph.add_nodes_from((key, attributes) for (key,), attributes in _records(view.vertices(), 1))
    for kind, _, symmetric, _ in kinds:
        records = _records(view.with_edge_types([kind]).edges(), 2)
        edges = [(src, dst, attributes) for (src, dst), attributes in records]
        if len(kinds) > 1:
            _mark(kind, edges, {name for *_, names in kinds for name in names})
        graph.add_edges_from(edges)
        if symmetric and not view.is_symmetric:
            graph.add_edges_from((dst, src, attributes) for src, dst, attributes in edges if src != dst)
    return graph


def _mark(kind: str, edges: list[Any], taken: set[str]) -> None:
    """Note the type of edges, and a property called like that under the name it has among several types."""
    name = f"{kind}.type"
    while name in taken:
        name = f"{kind}.{name}"
    for _, _, attributes in edges:
        if "type" in attributes:
            attributes[name] = attributes["type"]
        attributes["type"] = kind


def _records(table: Table, keys: int) -> Any:
    """Go through the rows: the first columns, and the others that are not null by name."""
    names = table.column_names[keys:]
    for row in table.rows():
        values = zip(names, row[keys:], strict=True)
        yield row[:keys], {name: value for name, value in values if value is not None}


def scipy_matrix(view: Snapshot, weight: str | None) -> Any:
    """Make the adjacency matrix; `Snapshot.to_scipy` says how."""
    numpy, sparse = partner("numpy", "scipy"), partner("scipy.sparse", "scipy")
    shape = (view.num_vertices, view.num_vertices)
    if weight is None:
        indptr, indices = view.to_csr()
        matrix = sparse.csr_array((numpy.ones(len(indices)), indices, indptr), shape=shape)
        # Parallel edges are separate entries so far.
        matrix.sum_duplicates()
        return matrix
    rows: list[Any] = []
    columns: list[Any] = []
    values: list[Any] = []
    for kind, _, symmetric, properties in view._native.edge_types:
        edges = view.with_edge_types([kind]).edges()
        src, dst = _rows(view, edges["src"]), _rows(view, edges["dst"])
        if weight in properties:
            # The properties come after the ends, in order: one called like those has a longer name.
            name = edges.column_names[2 + properties.index(weight)]
            value = _weights(edges[name], weight)
        else:
            value = numpy.ones(len(edges))
        rows, columns, values = [*rows, src], [*columns, dst], [*values, value]
        if symmetric:
            other = src != dst
            rows, columns, values = [*rows, dst[other]], [*columns, src[other]], [*values, value[other]]
    if not any(weight in properties for *_, properties in view._native.edge_types):
        message = f"no edge type has a property {_text.quoted(weight)}"
        raise KeyError(message)
    ends = numpy.concatenate(rows), numpy.concatenate(columns)
    return sparse.coo_array((numpy.concatenate(values), ends), shape=shape).tocsr()


def _weights(column: Column, weight: str) -> numpy.ndarray[Any, Any]:
    values = column.to_numpy()
    if values.dtype.kind not in "bif":
        message = f"property {weight!r} is {column.type}; a weight is a number"
        raise TypeError(message)
    floats: numpy.ndarray[Any, Any] = values.astype("float64")
    # NaN is a value, not null.
    floats[column._native.nulls()] = 1.0
    return floats


def _rows(view: Snapshot, keys: Column) -> numpy.ndarray[Any, Any]:
    """Find the rows of vertices by key."""
    return view._native.rows(keys._native)
