"""Names and paths made safe to show, file URLs, and names that look like one that is missing. Values in, values out."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable
from urllib.parse import quote_from_bytes

_HIDING = frozenset("\u2028\u2029\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")

_MAX_SIMILAR_NAMES = 3


def display_form(raw: bytes) -> str:
    """Raw bytes made safe to show on one line. Never fails, and is never parsed back.

    Bytes that are not UTF-8 appear as `\\xNN`, control characters and what would hide text as `\\u{N}`.
    """
    shown = []
    for character in raw.decode("utf-8", "surrogateescape"):
        if "\udc80" <= character <= "\udcff":
            shown.append(f"\\x{ord(character) - 0xDC00:02x}")
        elif character in _HIDING or unicodedata.category(character) == "Cc":
            shown.append(f"\\u{{{ord(character):x}}}")
        else:
            shown.append(character)
    return "".join(shown)


def file_url(absolute_path: bytes) -> str:
    """A `file:` URL of an absolute path of raw bytes."""
    return "file://" + quote_from_bytes(absolute_path, safe="/")


def rule_for(path: bytes, patterns: Iterable[str]) -> str | None:
    """The protected pattern that the first matching component of a path equals."""
    names = {pattern.encode(): pattern for pattern in patterns}
    return next((names[name] for name in path.split(b"/") if name in names), None)


def similar_names(wanted: bytes, candidates: Iterable[bytes]) -> tuple[str, ...]:
    """Up to 3 names that look like `wanted`, best first: equal up to normal form, kinds of space or letter case, or
    with a typo. Names that cannot be typed as they are shown are left out. The order of the candidates does not matter.
    """
    try:
        name = wanted.decode()
    except UnicodeDecodeError:
        return ()
    ranked = []
    for raw in candidates:
        shown = display_form(raw)
        if raw == wanted or shown.encode() != raw:
            continue
        distance = _distance(name, shown)
        if distance is not None:
            ranked.append((distance, shown))
    return tuple(shown for _, shown in sorted(ranked)[:_MAX_SIMILAR_NAMES])


def _distance(left: str, right: str) -> float | None:
    spaced_left, spaced_right = _spaced(left), _spaced(right)
    if spaced_left == spaced_right:
        return 0
    if spaced_left.lower() == spaced_right.lower():
        return 1
    if abs(len(left) - len(right)) > 2 or len(left) < 3:
        return None
    ratio = difflib.SequenceMatcher(None, spaced_left.lower(), spaced_right.lower(), autojunk=False).ratio()
    return 3 - ratio if ratio >= 0.8 else None


def _spaced(name: str) -> str:
    return "".join(" " if c.isspace() else c for c in unicodedata.normalize("NFKC", name))
