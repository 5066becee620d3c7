"""Spans of time as users write them: a number of seconds, a ``timedelta``, or text such as ``"5s"``."""

from __future__ import annotations

import math
from datetime import timedelta

from evergraph import _native
from evergraph._text import quoted
from evergraph._types import Duration


def is_duration(text: str) -> bool:
    """Tell whether a text is a number with a unit.

    >>> is_duration("5s"), is_duration("1 w"), is_duration("5"), is_duration("all")
    (True, True, False, False)
    """
    return _native.span_seconds(text) is not None


def seconds_of(name: str, duration: Duration) -> float:
    """Give the seconds of an argument of this name.

    >>> seconds_of("timeout", 2), seconds_of("timeout", "1.5 s"), seconds_of("timeout", timedelta(minutes=1))
    (2.0, 1.5, 60.0)
    """
    if isinstance(duration, timedelta):
        seconds = duration.total_seconds()
    elif isinstance(duration, str):
        found = _native.span_seconds(duration)
        if found is None:
            message = (
                f"{name}: {quoted(duration)} is no span of time: "
                f"write a number and one of {', '.join(_native.span_units())}, as in '5s'"
            )
            raise ValueError(message)
        seconds = found
    elif isinstance(duration, bool) or not hasattr(duration, "__float__"):
        message = f"{name} is a number of seconds, a timedelta or text, not {type(duration).__name__}"
        raise TypeError(message)
    else:
        seconds = float(duration)
    if not (seconds >= 0 and math.isfinite(seconds)):
        message = f"{name}: {duration!r} is not 0 or above"
        raise ValueError(message)
    return seconds
