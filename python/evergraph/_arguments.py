"""Arguments as they are taken: whole numbers, numpy's too, and flags; what they are not is told by name."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable, Mapping
from typing import TypeVar

_SHOWN_BITS = 256
"""Larger numbers are not written out in a message."""
_MOST = 2**63 - 1

T = TypeVar("T")


def whole(
    name: str, value: object, *, least: int = 0, most: int = _MOST, kind: str = "a whole number"
) -> int:
    """Give an argument of this name that is a whole number from ``least`` on; ``kind`` says what it may be.

    >>> whole("retries", 8)
    8
    """
    try:
        number = None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None:
        message = f"{name} is {kind}, not {type(value).__name__}"
        raise TypeError(message)
    if not least <= number <= most:
        shown = large(number)
        what = f"{least} or above" if number < least else f"{most} or below"
        message = f"{name}: {shown} is not {what}"
        raise ValueError(message)
    return number


def large(number: int) -> str:
    """Write a whole number for a message; of one that is too long say how long.

    >>> large(7), large(1 << 999)
    ('7', 'a number of 1000 bits')
    """
    bits = number.bit_length()
    return str(number) if bits <= _SHOWN_BITS else f"a number of {bits} bits"


def text(name: str, value: object) -> str:
    """Give an argument of this name that is text.

    >>> text("order", "event")
    'event'
    """
    if not isinstance(value, str):
        message = f"{name} is a str, not {type(value).__name__}"
        raise TypeError(message)
    return value


def optional_text(name: str, value: object) -> str | None:
    """Give an argument of this name that is text, if it is given.

    >>> optional_text("where", None)
    """
    return None if value is None else text(name, value)


def flag(name: str, value: object) -> bool:
    """Give an argument of this name that is true or false.

    >>> flag("resume", True)
    True
    """
    if not isinstance(value, bool):
        message = f"{name} is True or False, not {type(value).__name__}"
        raise TypeError(message)
    return value


def names_of(name: str, value: Iterable[str]) -> list[str]:
    """Give an argument of this name that is several names; one alone would come apart into letters.

    >>> names_of("edge_types", ("pays", "knows"))
    ['pays', 'knows']
    """
    return [text(f"each of {name}", item) for item in items_of(name, "a list of names", value)]


def items_of(name: str, kind: str, value: Iterable[T]) -> list[T]:
    """Give the items of an argument of this name; a text alone is none, though it is iterable.

    >>> items_of("vertices", "an iterable of keys", range(3))
    [0, 1, 2]
    """
    if isinstance(value, str) or not isinstance(value, Iterable):
        what = "a single str" if isinstance(value, str) else type(value).__name__
        message = f"{name} is {kind}, not {what}"
        raise TypeError(message)
    return list(value)


def named(properties: object, keywords: dict[str, T]) -> dict[str, T]:
    """Give the properties of a mapping and those of keywords as one.

    >>> named({"type": "gift"}, {"amount": 10.0})
    {'type': 'gift', 'amount': 10.0}
    """
    if properties is None:
        return keywords
    if not isinstance(properties, Mapping):
        message = (
            f"properties is a mapping from name to value, not {type(properties).__name__}; "
            "a property that is called so goes into one"
        )
        raise TypeError(message)
    twice = [name for name in properties if name in keywords]
    if twice:
        message = f"properties: {twice[0]!r} is also given as a keyword; leave one of them out"
        raise TypeError(message)
    return {**{text("the name of a property", name): value for name, value in properties.items()}, **keywords}


def path_of(value: str | os.PathLike[str]) -> str:
    """Give a path as text, so that messages show it.

    >>> path_of("net.eg")
    'net.eg'
    """
    try:
        path = os.fspath(value)
    except TypeError:
        path = None
    if not isinstance(path, str):
        message = f"a path is a str or a path of str, such as a pathlib.Path, not {type(value).__name__}"
        raise TypeError(message)
    return path
