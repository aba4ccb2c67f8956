"""Places that nearly match an `old_string` which does not occur. Values in, values out.

Whole lines are compared after blanks and letter case are folded away, so this explains indentation, tabs, trailing and
other blanks, and case. Deliberately weaker than the server's own search: no look-alike quotes, normal forms, pasted
line numbers or escapes, no lines of which only some differ.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolfs.detail import NearMiss
from toolfs.enums import NearMissReason, SearchStopReason

MAX_SEARCHED_BYTES = 1 << 20
"""How much of a file is searched."""

_MAX_NEAR_MISSES = 3
_MAX_LINES = 5
_MAX_LINE_CHARS = 200

_REASON_TEXTS = {
    NearMissReason.TABS_OR_SPACES: "tabs or spaces",
    NearMissReason.INDENTATION: "indentation",
    NearMissReason.TRAILING_BLANKS: "trailing blanks",
    NearMissReason.WHITE_SPACE: "white space",
    NearMissReason.LETTER_CASE: "letter case",
    NearMissReason.SOME_LINES_DIFFER: "some lines differ",
}


def search(content: bytes, old_string: str) -> tuple[tuple[NearMiss, ...], SearchStopReason]:
    """Up to 3 places of a text, in the order of the file, and why the search ended early, if it did."""
    stopped = SearchStopReason.BYTE_BUDGET if len(content) > MAX_SEARCHED_BYTES else SearchStopReason.UNSPECIFIED
    searched = content[:MAX_SEARCHED_BYTES].decode("utf-8", "ignore").removeprefix("\ufeff")
    lines = [line.removesuffix("\r") for line in searched.split("\n")]
    wanted = [line.removesuffix("\r") for line in old_string.removesuffix("\n").split("\n")]
    if not any(line.strip() for line in wanted):
        return (), stopped
    folded, folded_wanted = [_fold(line) for line in lines], [_fold(line) for line in wanted]
    found = []
    for start in _starts(folded, folded_wanted):
        place = lines[start : start + len(wanted)]
        reasons = _reasons(wanted, place)
        shown = tuple(line[:_MAX_LINE_CHARS] for line in place[:_MAX_LINES])
        text = ", ".join(_REASON_TEXTS[reason] for reason in reasons)
        found.append(NearMiss(start + 1, start + len(wanted), shown, reasons, text))
        if len(found) == _MAX_NEAR_MISSES:
            break
    return tuple(found), stopped


def _fold(line: str) -> str:
    return "".join(line.split()).casefold()


def _starts(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Where the wanted lines follow each other."""
    last = len(lines) - len(wanted)
    # Most lines are not the first one: only where that fits are the others compared.
    return [at for at in range(last + 1) if lines[at] == wanted[0] and lines[at : at + len(wanted)] == wanted]


def _reasons(wanted: Sequence[str], place: Sequence[str]) -> tuple[NearMissReason, ...]:
    """What differs between lines that are the same without blanks and letter case, most telling first."""
    reasons: dict[NearMissReason, None] = {}
    for ours, theirs in zip(wanted, place, strict=True):
        if ours == theirs:
            continue
        indent, their_indent = _indent(ours), _indent(theirs)
        if indent != their_indent:
            is_kind = ("\t" in indent) != ("\t" in their_indent)
            reasons[NearMissReason.TABS_OR_SPACES if is_kind else NearMissReason.INDENTATION] = None
        if _trail(ours) != _trail(theirs):
            reasons[NearMissReason.TRAILING_BLANKS] = None
        if ours.strip().casefold() != theirs.strip().casefold():
            reasons[NearMissReason.WHITE_SPACE] = None
        elif ours.strip() != theirs.strip():
            reasons[NearMissReason.LETTER_CASE] = None
    return tuple(reasons) or (NearMissReason.SOME_LINES_DIFFER,)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _trail(line: str) -> str:
    return line[len(line.rstrip()) :]
