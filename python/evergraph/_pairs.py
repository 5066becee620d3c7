"""Measures of pairs of vertices by the neighbors they share: how likely an edge between them is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evergraph._registry import registered, run
from evergraph._results import PairsResult

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evergraph._snapshot import Snapshot
    from evergraph._types import Key


def _scores(
    name: str, view: Snapshot, ebunch: Iterable[tuple[Key, Key]], *, verify: bool, progress: bool
) -> PairsResult:
    first: list[Key] = []
    second: list[Key] = []
    for u, v in ebunch:
        first.append(u)
        second.append(v)
    return PairsResult(*run(name, view, {"u": first, "v": second}, verify=verify, progress=progress))


@registered
def common_neighbors(
    view: Snapshot, ebunch: Iterable[tuple[Key, Key]], *, verify: bool = False, progress: bool = False
) -> PairsResult:
    """Count the neighbors that two vertices share, for each of some pairs.

    Neighbors and degrees are those of the graph without directions and parallel edges.

    Returns
    -------
    PairsResult
        Each pair with its number as ``(u, v, score)``, in the order given:
        how many, the length of ``networkx.common_neighbors``.

    Raises
    ------
    NotFoundError
        If a vertex is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 1, 2, 2], [3, 4, 3, 4])
    >>> [(u, v, round(score, 3)) for u, v, score in eg.common_neighbors(db.snapshot(), [(1, 2)])]
    [(1, 2, 2.0)]
    """
    return _scores("common_neighbors", view, ebunch, verify=verify, progress=progress)


@registered
def jaccard_coefficient(
    view: Snapshot, ebunch: Iterable[tuple[Key, Key]], *, verify: bool = False, progress: bool = False
) -> PairsResult:
    """Find the share of the neighbors of either of two vertices that both have, for each of some pairs.

    Neighbors and degrees are those of the graph without directions and parallel edges.

    Returns
    -------
    PairsResult
        Each pair with its number as ``(u, v, score)``, in the order given:
        as ``networkx.jaccard_coefficient`` has it.

    Raises
    ------
    NotFoundError
        If a vertex is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 1, 2, 2], [3, 4, 3, 4])
    >>> [(u, v, round(score, 3)) for u, v, score in eg.jaccard_coefficient(db.snapshot(), [(1, 2)])]
    [(1, 2, 1.0)]
    """
    return _scores("jaccard_coefficient", view, ebunch, verify=verify, progress=progress)


@registered
def adamic_adar_index(
    view: Snapshot, ebunch: Iterable[tuple[Key, Key]], *, verify: bool = False, progress: bool = False
) -> PairsResult:
    """Add up 1 / ln(degree) of the neighbors that two vertices share, for each of some pairs.

    Neighbors and degrees are those of the graph without directions and parallel edges.

    Returns
    -------
    PairsResult
        Each pair with its number as ``(u, v, score)``, in the order given:
        as ``networkx.adamic_adar_index`` has it.

    Raises
    ------
    NotFoundError
        If a vertex is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 1, 2, 2], [3, 4, 3, 4])
    >>> [(u, v, round(score, 3)) for u, v, score in eg.adamic_adar_index(db.snapshot(), [(1, 2)])]
    [(1, 2, 2.885)]
    """
    return _scores("adamic_adar_index", view, ebunch, verify=verify, progress=progress)


@registered
def resource_allocation_index(
    view: Snapshot, ebunch: Iterable[tuple[Key, Key]], *, verify: bool = False, progress: bool = False
) -> PairsResult:
    """Add up 1 / degree of the neighbors that two vertices share, for each of some pairs.

    Neighbors and degrees are those of the graph without directions and parallel edges.

    Returns
    -------
    PairsResult
        Each pair with its number as ``(u, v, score)``, in the order given:
        as ``networkx.resource_allocation_index`` has it.

    Raises
    ------
    NotFoundError
        If a vertex is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 1, 2, 2], [3, 4, 3, 4])
    >>> [(u, v, round(score, 3)) for u, v, score in eg.resource_allocation_index(db.snapshot(), [(1, 2)])]
    [(1, 2, 1.0)]
    """
    return _scores("resource_allocation_index", view, ebunch, verify=verify, progress=progress)


@registered
def preferential_attachment(
    view: Snapshot, ebunch: Iterable[tuple[Key, Key]], *, verify: bool = False, progress: bool = False
) -> PairsResult:
    """Multiply the degrees of two vertices, for each of some pairs.

    Neighbors and degrees are those of the graph without directions and parallel edges.

    Returns
    -------
    PairsResult
        Each pair with its number as ``(u, v, score)``, in the order given:
        as ``networkx.preferential_attachment`` has it.

    Raises
    ------
    NotFoundError
        If a vertex is not in the view.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 1, 2, 2], [3, 4, 3, 4])
    >>> [(u, v, round(score, 3)) for u, v, score in eg.preferential_attachment(db.snapshot(), [(1, 2)])]
    [(1, 2, 4.0)]
    """
    return _scores("preferential_attachment", view, ebunch, verify=verify, progress=progress)
