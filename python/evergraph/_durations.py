"""Spans of time as users write them: a number of seconds, a ``timedelta``, or text such as ``"5s"``."""

from __future__ import annotations

import math
from datetime import timedelta

from evergraph import _native
from evergraph._arguments import large
from evergraph._text import quoted
from evergraph._types import Duration

_MOST_SECONDS = 2.0**63
"""As many as 64 bits count, and as a number of units of a time that is a number."""


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
        try:
            seconds = float(duration)
        except OverflowError:
            seconds = math.inf if duration > 0 else -math.inf
    if not seconds >= 0:
        message = f"{name}: {_shown(duration)} is not 0 or above"
        raise ValueError(message)
    if seconds > _MOST_SECONDS:
        message = f"{name}: {_shown(duration)} is longer than any time: at most {_MOST_SECONDS:g} seconds"
        raise ValueError(message)
    return seconds


def _shown(duration: Duration) -> str:
    # Python refuses to write out the longest integers.
    return large(duration) if isinstance(duration, int) else quoted(duration)
