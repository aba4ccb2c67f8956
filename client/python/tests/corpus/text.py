"""Texts of a case: strings, or recipes of long ones."""

from __future__ import annotations

from typing import Any


def build(text: Any) -> str:
    """The string that a text of a case stands for.

    Raises `ValueError` for what is no text; the schema lets none of that through.
    """
    if isinstance(text, str):
        return text
    if isinstance(text, dict):
        if "repeat" in text:
            return build(text["repeat"]) * int(text["count"])
        if "lines" in text:
            return "".join(f"line {number}\n" for number in range(1, int(text["lines"]) + 1))
        if "concat" in text:
            return "".join(build(part) for part in text["concat"])
    raise ValueError(f"`{text!r}` is no text: give a string, `repeat`, `lines` or `concat`")
