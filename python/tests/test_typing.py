"""What type checkers see, and those who read annotations. The calls are checked by mypy in `make lint`."""

import inspect
import typing
from collections.abc import Iterator
from importlib.util import find_spec

import numpy as np
import pytest

import evergraph as eg

# What is on offer, by name.
Offered = Iterator[tuple[str, typing.Callable[..., object]]]


def offered() -> Offered:
    for name in eg.__all__:
        thing = getattr(eg, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing) and thing.__module__.startswith("evergraph."):
            for member, value in vars(thing).items():
                function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if inspect.isfunction(function) and function.__module__.startswith("evergraph."):
                    yield f"{name}.{member}", function


def test_annotations_resolve() -> None:
    functions = dict(offered())
    assert len(functions) > 300
    for name, function in functions.items():
        hints = typing.get_type_hints(function)
        assert set(hints) <= {*inspect.signature(function).parameters, "return"}, name


def test_annotations_name_the_classes_themselves() -> None:
    hints = typing.get_type_hints(eg.edge_map)
    assert hints["view"] is eg.Snapshot and hints["return"] is eg.VertexSubset
    assert typing.get_type_hints(eg.Database.begin)["return"] is eg.Transaction
    assert typing.get_type_hints(vars(eg.Snapshot)["schema"].fget)["return"] is eg.Schema
    array = typing.get_type_hints(eg.Table.to_numpy)["return"]
    assert typing.get_args(array)[1] == np.ndarray[typing.Any, typing.Any]


@pytest.mark.skipif(find_spec("pyarrow") is None, reason="without pyarrow it is Any")
def test_annotations_of_partners_are_theirs() -> None:
    import pyarrow as pa

    assert typing.get_type_hints(eg.Table.to_arrow)["return"] is pa.Table


def test_weights_of_vertices_are_dicts_of_either_kind_of_key(db: eg.Database) -> None:
    db.add_edges([1, 2], [2, 1])
    view = db.snapshot()
    numbers: dict[int, float] = {1: 1.0}
    arrays: dict[np.int64, float] = {np.int64(1): 1.0}
    whole: dict[int, int] = {1: 1}
    either: dict[eg.Key, float] = {1: 1.0}
    found = [
        eg.pagerank(view, personalization=numbers, nstart=numbers, dangling=numbers),
        eg.pagerank(view, personalization=arrays, nstart=arrays, dangling=arrays),
        eg.pagerank(view, personalization=whole, nstart=whole, dangling=whole),
        eg.pagerank(view, personalization=either, nstart=either, dangling=either),
    ]
    assert all(dict(ranks) == dict(found[0]) for ranks in found)
    eg.katz_centrality(view, beta=numbers, nstart=arrays)
    eg.eigenvector_centrality(view, nstart=numbers)
    eg.hits(view, nstart=whole)


def test_weights_by_text(db: eg.Database) -> None:
    db.add_edges(["a", "b"], ["b", "a"])
    texts: dict[str, float] = {"a": 1.0}
    ranks = eg.pagerank(db.snapshot(), personalization=texts, nstart=texts, dangling=texts)
    assert ranks["a"] > ranks["b"]


def test_what_is_no_weight_is_refused_by_type_checkers(db: eg.Database) -> None:
    db.put_edge("a", "b")
    with pytest.raises(TypeError):
        eg.pagerank(db.snapshot(), personalization={"a": "much"})  # type: ignore[dict-item]
    with pytest.raises((TypeError, ValueError)):
        eg.pagerank(db.snapshot(), personalization=["a"])  # type: ignore[arg-type]
