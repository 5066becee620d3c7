"""Measures of pairs of vertices by the neighbors they share: how likely an edge between them is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast, overload

from evergraph._errors import VerifyError
from evergraph._registry import registered, require_view, run
from evergraph._results import PairsResult
from evergraph._snapshot import Snapshot
from evergraph._types import Key


def _scores(
    name: str, view: Snapshot, ebunch: Iterable[tuple[Key, Key]] | None, *, verify: bool, progress: bool
) -> PairsResult:
    given: dict[str, object] = {}
    if ebunch is not None:
        first: list[Key] = []
        second: list[Key] = []
        if not isinstance(ebunch, Iterable):
            message = f"argument ebunch: pairs of vertices are wanted, not {ebunch!r}"
            raise TypeError(message)
        for pair in ebunch:
            # A text of two characters would come apart like a pair.
            if isinstance(pair, str) or not isinstance(pair, Iterable):
                message = f"argument ebunch: a pair of vertices is wanted, not {pair!r}"
                raise TypeError(message)
            ends = tuple(pair)
            if len(ends) != 2:
                message = f"argument ebunch: a pair of vertices is wanted, not {pair!r}"
                raise ValueError(message)
            first.append(ends[0])
            second.append(ends[1])
        given = {"u": first, "v": second}
    try:
        return PairsResult(*run(name, view, given, verify=verify, progress=progress))
    except ValueError as error:
        # The registry has two arguments where the functions have one.
        message = str(error).removeprefix("argument u: ")
        if message == str(error):
            raise
        message = f"argument ebunch: {message}"
    raise ValueError(message)


@overload
def common_neighbors(
    view: Snapshot,
    ebunch: Iterable[tuple[Key, Key]] | None = None,
    v: None = None,
    *,
    verify: bool = False,
    progress: bool = False,
) -> PairsResult: ...
@overload
def common_neighbors(
    view: Snapshot, ebunch: Key, v: Key, *, verify: bool = False, progress: bool = False
) -> set[Key]: ...
@registered
def common_neighbors(
    view: Snapshot,
    ebunch: Iterable[tuple[Key, Key]] | Key | None = None,
    v: Key | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
) -> PairsResult | set[Key]:
    """Count the neighbors that two vertices share, for each of some pairs; or give those of one pair.

    Neighbors and degrees are those of the graph without directions and parallel edges.

    Returns
    -------
    PairsResult or set
        Each pair with its number as ``(u, v, score)``, in the order given:
        how many, the length of ``networkx.common_neighbors``. For ``common_neighbors(view, u, v)`` the
        neighbors that the two share, as ``networkx.common_neighbors`` has them.

    Raises
    ------
    NotFoundError
        If a vertex is not in the view.
    ValueError
        If no pairs are given, and more than ten million have no edge.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 1, 2, 2], [3, 4, 3, 4])
    >>> [(u, v, round(score, 3)) for u, v, score in eg.common_neighbors(db.snapshot(), [(1, 2)])]
    [(1, 2, 2.0)]
    >>> eg.common_neighbors(db.snapshot(), 1, 2)
    {3, 4}
    """
    if v is None:
        pairs = cast("Iterable[tuple[Key, Key]] | None", ebunch)
        return _scores("common_neighbors", view, pairs, verify=verify, progress=progress)
    require_view("common_neighbors", view)
    u, one = cast("Key", ebunch), Snapshot(view._native)
    ((_, _, count),) = _scores("common_neighbors", one, [(u, v)], verify=verify, progress=progress)
    shared = (_neighbors(one, u) & _neighbors(one, v)) - {u, v}
    if verify and len(shared) != count:
        message = (
            f"the verifier found a wrong result, which is a bug worth reporting: {len(shared)} neighbors"
        )
        raise VerifyError(message)
    return shared


def _neighbors(view: Snapshot, key: Key) -> set[Key]:
    return {*view.out_neighbors(key), *view.in_neighbors(key)}


@registered
def jaccard_coefficient(
    view: Snapshot,
    ebunch: Iterable[tuple[Key, Key]] | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
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
    ValueError
        If no pairs are given, and more than ten million have no edge.

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
    view: Snapshot,
    ebunch: Iterable[tuple[Key, Key]] | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
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
    ValueError
        If no pairs are given, and more than ten million have no edge.

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
    view: Snapshot,
    ebunch: Iterable[tuple[Key, Key]] | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
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
    ValueError
        If no pairs are given, and more than ten million have no edge.

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
    view: Snapshot,
    ebunch: Iterable[tuple[Key, Key]] | None = None,
    *,
    verify: bool = False,
    progress: bool = False,
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
    ValueError
        If no pairs are given, and more than ten million have no edge.

    Examples
    --------
    >>> import evergraph as eg
    >>> db = eg.open()
    >>> added = db.add_edges([1, 1, 2, 2], [3, 4, 3, 4])
    >>> [(u, v, round(score, 3)) for u, v, score in eg.preferential_attachment(db.snapshot(), [(1, 2)])]
    [(1, 2, 4.0)]
    """
    return _scores("preferential_attachment", view, ebunch, verify=verify, progress=progress)
