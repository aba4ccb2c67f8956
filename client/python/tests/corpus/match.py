"""The matcher: whether an answer is what a case expects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_WHOLE = re.compile(r"-?[0-9]+")


class Bindings:
    """What the names of `$bind` stand for in one case."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def problem(self, name: str, value: Any) -> str | None:
        """Binds a name the first time; says what is wrong when it stands for something else than before, or when
        another name stands for the same."""
        if name in self._values:
            bound = self._values[name]
            return None if _same(bound, value) else f"`{name}` was {_show(bound)}, but now is {_show(value)}"
        for other, bound in self._values.items():
            if _same(bound, value):
                return f"`{name}` must differ from `{other}`, but both are {_show(value)}"
        self._values[name] = value
        return None


def mismatches(expected: Any, actual: Any, bindings: Bindings, where: str = "$") -> list[str]:
    """Every difference between an expected value and an actual one; empty when it matches.

    An absent value is `None` here: in Protobuf's JSON form no member that is there is null.
    """
    if isinstance(expected, dict):
        special = _special(expected)
        if special is not None:
            problem = _special_problem(special, expected[special], actual, bindings)
            return [] if problem is None else [f"{where}: {problem}"]
        if not isinstance(actual, dict):
            return [f"{where}: expected an object, but got {_show(actual)}"]
        return [
            problem
            for key, value in expected.items()
            for problem in mismatches(value, actual.get(key), bindings, f"{where}.{key}")
        ]
    if isinstance(expected, list):
        # A repeated field without elements is left out of the JSON form.
        elements = [] if actual is None else actual
        if not isinstance(elements, list):
            return [f"{where}: expected an array, but got {_show(actual)}"]
        if len(elements) != len(expected):
            return [f"{where}: expected {len(expected)} elements, but got {len(elements)}: {_show(actual)}"]
        return [
            problem
            for index, (one, other) in enumerate(zip(expected, elements, strict=True))
            for problem in mismatches(one, other, bindings, f"{where}[{index}]")
        ]
    spelt = _is_number(expected) and isinstance(actual, str) and _WHOLE.fullmatch(actual)
    if _same(expected, int(actual) if spelt else actual):
        return []
    return [f"{where}: expected {_show(expected)}, but got {_show(actual)}"]


def content_mismatches(expected: Any, actual: str | None) -> list[str]:
    """The same for the text that the model reads: a whole text, or `{"contains": [piece, …]}`."""
    if actual is None:
        return ["content: a text is expected, but this call gives none"]
    if isinstance(expected, str):
        return [] if actual == expected else [f"content: expected {_show(expected)}, but got {_show(actual)}"]
    pieces = expected["contains"]
    return [f"content: {_show(piece)} is not in {_show(actual)}" for piece in pieces if piece not in actual]


def faults(expected: Any) -> Iterator[str]:
    """What is wrong with an expected value itself: special members that do not exist, or stand beside others."""
    if isinstance(expected, dict):
        special = [key for key in expected if key.startswith("$")]
        if special and len(expected) > 1:
            yield f"`{special[0]}` must stand alone in its object"
        for key in special:
            value = expected[key]
            if key == "$any":
                if value is not True:
                    yield "`$any` must be true"
            elif key not in ("$contains", "$bind"):
                yield f"`{key}` is unknown: there are `$any`, `$contains` and `$bind`"
            elif not isinstance(value, str) or not value:
                yield f"`{key}` must be a text"
        if not special:
            for value in expected.values():
                yield from faults(value)
    elif isinstance(expected, list):
        for value in expected:
            yield from faults(value)


def _special(expected: dict[str, Any]) -> str | None:
    return next((key for key in expected if key.startswith("$")), None)


def _special_problem(special: str, value: Any, actual: Any, bindings: Bindings) -> str | None:
    if actual is None:
        return "something is expected, but it is absent"
    if special == "$any":
        return None
    if special == "$bind":
        return bindings.problem(value, actual)
    if special == "$contains":
        if isinstance(actual, str) and value in actual:
            return None
        return f"{_show(value)} is not in {_show(actual)}"
    raise ValueError(f"`{special}` is unknown: there are `$any`, `$contains` and `$bind`")


def _is_number(value: Any) -> bool:
    # In Python a boolean is a number too.
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def _show(value: Any) -> str:
    shown = "nothing" if value is None else repr(value)
    return shown if len(shown) <= 2000 else f"{shown[:1000]}…{shown[-200:]} ({len(shown)} characters)"
