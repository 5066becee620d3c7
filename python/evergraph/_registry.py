"""Where functions meet the native registry of algorithms: how they run, and what their docs take from it."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from typing import TypeVar

from evergraph import _native
from evergraph._progress import bar
from evergraph._snapshot import Snapshot

F = TypeVar("F", bound=Callable[..., object])

_DOC_CHARS = 110
_OF_ALL = {
    "view": ("Snapshot", "The graph."),
    "ebunch": (
        "pairs of keys",
        "The pairs of vertices, such as a list of tuples. By default all pairs without an edge, at most ten "
        "million.",
    ),
    "verify": ("bool", "Check the result with a slow verifier; `VerifyError` if it does not agree."),
    "progress": ("bool", "Show a bar, on a terminal or in a notebook."),
}
_OF_ONE = {
    ("common_neighbors", "v"): (
        "key",
        "The second of two vertices, of which ``ebunch`` is the first: the neighbors that they share are "
        "given.",
    ),
}
_REGISTRY = {described[0]: described for described in _native.algorithms()}


def names() -> list[str]:
    """Give the names of all algorithms."""
    return list(_REGISTRY)


def run(
    name: str, view: Snapshot, arguments: Mapping[str, object], *, verify: bool, progress: bool
) -> tuple[_native.VertexTable | None, dict[str, bool | int | float]]:
    """Run an algorithm: its rows, none if it gives single values only, and its single values by name.

    Arguments that are ``None`` are as if they were not given.
    """
    require_view(name, view)
    with bar(name, wanted=progress) as report:
        return _native.run_algorithm(view._native, name, arguments, verify, report)


def require_view(name: str, view: object) -> None:
    """Refuse what is no graph to run an algorithm on."""
    if not isinstance(view, Snapshot):
        message = f"{name} runs on a snapshot (db.snapshot()), not on {type(view).__name__}"
        raise TypeError(message)


def weight_of(weight: str | None, *, usual: str | None) -> str | None:
    """Give a weight as the registry takes it: nothing for its default, an empty name if all edges weigh 1."""
    if weight == usual:
        return None
    return "" if weight is None else weight


def registered(function: F) -> F:
    """Complete the docstring of an algorithm: its parameters, its cost and where it is from."""
    _, _, complexity, source, described, _ = _REGISTRY[function.__name__]
    known = {name: (kind, default, summary) for name, kind, default, summary in described}
    parameters = ["Parameters", "----------"]
    for name, parameter in inspect.signature(function).parameters.items():
        own = _OF_ONE.get((function.__name__, name), _OF_ALL.get(name))
        if own is not None:
            kind, text = own
        else:
            kind, default, summary = known[name]
            text = _sentence(summary, default if parameter.default is None else None, name)
        kind += ", optional" if parameter.default is None else ""
        parameters += [f"{name} : {kind}", *_wrapped(text, "    ")]
    notes = ["Notes", "-----", *_wrapped(f"{complexity}: {source}.", "")]
    head, returns, rest = inspect.cleandoc(function.__doc__ or "").partition("Returns\n-------\n")
    body, examples, code = rest.partition("Examples\n--------\n")
    function.__doc__ = "\n".join(
        [head + "\n".join(parameters), "", returns + body + "\n".join(notes), "", examples + code]
    )
    return function


def _sentence(summary: str, default: str | None, name: str) -> str:
    if name == "weight":
        return "The property of edges that is their weight, 1 where an edge has none; ``None``: 1 for all."
    known = "" if default in (None, "none") else f" By default {default}."
    return f"{summary[0].upper()}{summary[1:]}.{known}"


def _wrapped(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _DOC_CHARS - 4, initial_indent=indent, subsequent_indent=indent)
