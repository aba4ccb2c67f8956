"""Times that callers give, in seconds."""

from __future__ import annotations

from numbers import Real

from toolfs.error import ArgumentError

LONGEST_S = 365.0 * 24 * 60 * 60
"""A year. More is as good as for ever, and nothing below takes a time without end."""


def seconds(name: str, given: float) -> float:
    """The time, at most `LONGEST_S`. Raises `ArgumentError` for what is no number."""
    if not isinstance(given, Real) or isinstance(given, bool) or given != given:
        raise ArgumentError(name, f"must be a number of seconds, not `{given!r}`")
    # An integer may be beyond every float.
    return float(min(given, LONGEST_S))
