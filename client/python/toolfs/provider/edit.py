"""Literal replacement in a text: where it matches, the bytes that come out, and which lines changed. Values in, values
out.

Matching sees a file as the model does: CR LF and LF are one line end, and a byte order mark is not there. Bytes outside
of the matches stay. Inside a match, what old and new text share at both ends stays as it is in the file; line ends of
the middle take the first style of the match, else the one that dominates in the file, else what `new_string` has. A
lone CR is text: where an edit would bring one in front of a LF, that line end is written CR LF, so that the CR stays
text for whoever reads the file.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from toolfs.outcome import LineRange, MatchedRanges
from toolfs.provider.diff import MAX_RANGES, Change
from toolfs.provider.region import Regions
from toolfs.provider.text import BOM, CRLF, LF, TextSummary

_MAX_LINES = 20
_CHECK_EVERY = 4_096


@dataclass(frozen=True, slots=True)
class Edited:
    """What an edit makes of a content."""

    content: bytes = field(repr=False)
    matches: MatchedRanges
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class NoMatch:
    """`old_string` does not occur."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """`old_string` occurs several times, overlapping occurrences included; the lines where the first 20 start."""

    match_count: int
    lines: tuple[int, ...]


EditResult = Edited | NoMatch | Ambiguous


def same_text(old_string: str, new_string: str) -> bool:
    """Whether two texts are the same when CR LF and LF are one line end."""
    return old_string.replace("\r\n", "\n") == new_string.replace("\r\n", "\n")


def apply(
    content: bytes,
    summary: TextSummary,
    old_string: str,
    new_string: str,
    replace_all: bool,
    check: Callable[[], None] = lambda: None,
) -> EditResult:
    """Applies an edit to a text whose summary is `summary`.

    `old_string` is not empty and differs from `new_string` under `same_text`. `check` is called from time to time while
    many matches are replaced, and may raise to give up.
    """
    view = View(content)
    needle = old_string.encode().replace(CRLF, LF)
    matches: Iterator[int] = _apart(view.text, needle)
    if not replace_all:
        first, count = _first_ones(view.text, needle)
        if count > 1:
            return Ambiguous(count, tuple(view.line(start) for start in first))
        matches = iter(first)
    return _replaced(view, needle, matches, Replacement(needle, new_string, summary), check)


def _first_ones(view: bytes, needle: bytes) -> tuple[list[int], int]:
    """The first 20 places where the needle occurs, and how many there are."""
    first: list[int] = []
    count = 0
    for start in occurrences(view, needle):
        count += 1
        if count <= _MAX_LINES:
            first.append(start)
    return first, count


def occurrences(view: bytes, needle: bytes) -> Iterator[int]:
    """Where the needle occurs, overlapping occurrences included, in a time that is linear whatever both hold.

    Two occurrences at most half a needle apart make that distance its period. From then on each next occurrence is
    found by comparing one period, and not the whole needle again.
    """
    length = len(needle)
    start = view.find(needle)
    while start >= 0:
        yield start
        following = view.find(needle, start + 1)
        period = following - start
        if following >= 0 and 2 * period <= length:
            tail = needle[length - period :]
            while view[start + length : start + length + period] == tail:
                start += period
                yield start
            # A start in between would be a multiple of the period away, and there is none.
            following = view.find(needle, start + length - period + 1)
        start = following


def _apart(view: bytes, needle: bytes) -> Iterator[int]:
    """Where the needle occurs from the left, each after the end of the one before."""
    start = view.find(needle)
    while start >= 0:
        yield start
        start = view.find(needle, start + len(needle))


class View:
    """A content as it is matched, and the way back from there. Places are asked for in ascending order."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._bom = len(BOM) if content.startswith(BOM) else 0
        body = content[self._bom :]
        self.text = body.replace(CRLF, LF)
        self._crlfs: list[int] = []
        at = body.find(CRLF)
        while at >= 0:
            self._crlfs.append(at - len(self._crlfs))
            at = body.find(CRLF, at + 2)
        self._line, self._line_at = 1, 0

    def offset(self, place: int) -> int:
        """Where in the content a place of the view is. In front of a CR LF it is in front of its CR."""
        return place + self._bom + bisect_left(self._crlfs, place)

    def line(self, place: int) -> int:
        """The line, from 1, on which a place is that is not before the one asked for last."""
        self._line += self.text.count(LF, self._line_at, place)
        self._line_at = place
        return self._line


class Replacement:
    """What stands in the place of a match, prepared once for all matches in one file."""

    def __init__(self, needle: bytes, new_string: str, summary: TextSummary) -> None:
        new = new_string.encode()
        view = new.replace(CRLF, LF)
        self.prefix = _common_prefix(needle, view)
        self.suffix = _common_prefix(needle[self.prefix :][::-1], view[self.prefix :][::-1])
        self.prefix_line_ends = needle.count(LF, 0, self.prefix)
        self.suffix_line_ends = needle.count(LF, len(needle) - self.suffix)
        middle = view[self.prefix : len(view) - self.suffix]
        style = summary.dominant_line_end
        self.middles = {LF: _styled(middle, [LF] * middle.count(LF)), CRLF: _styled(middle, [CRLF] * middle.count(LF))}
        if style is None:
            self.plain = _styled(middle, _styles(new)[self.prefix_line_ends :])
        else:
            self.plain = self.middles[style]

    def splice(self, matched: bytes) -> tuple[int, bytes, int]:
        """How many of the first bytes of a match stay, what is new, and how many of its last bytes stay."""
        styles = _styles(matched)
        prefix_crlfs = styles[: self.prefix_line_ends].count(CRLF)
        suffix_crlfs = styles[len(styles) - self.suffix_line_ends :].count(CRLF)
        middle = self.middles[styles[0]] if styles else self.plain
        return self.prefix + prefix_crlfs, middle, self.suffix + suffix_crlfs


def _common_prefix(left: bytes, right: bytes) -> int:
    """How many bytes at the start are the same, by halving: comparing slices costs little."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _styles(text: bytes) -> list[bytes]:
    """The line ends of a text in order. A match starts with no half one."""
    return [CRLF if part.endswith(b"\r") else LF for part in text.split(LF)[:-1]]


def _styled(middle: bytes, styles: list[bytes]) -> bytes:
    """The middle with these line ends. After a lone CR a line end is CR LF in any case."""
    *lines, last = middle.split(LF)
    ends = (CRLF if line.endswith(b"\r") else style for line, style in zip(lines, styles, strict=False))
    return b"".join(line + end for line, end in zip(lines, ends, strict=False)) + last


class _Joiner:
    """Puts together what is kept and what is new, and sees to it that no CR LF arises where they meet."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self._last = b""

    def join(self, part: bytes) -> None:
        if not part:
            return
        if self._last == b"\r" and part.startswith(LF):
            part = b"\r" + part
        self.parts.append(part)
        self.size += len(part)
        self._last = part[-1:]

    @property
    def is_at_line_start(self) -> bool:
        return self._last in (b"", LF)


def _replaced(
    view: View, needle: bytes, starts: Iterator[int], replacement: Replacement, check: Callable[[], None]
) -> Edited | NoMatch:
    content, joiner, regions = view.content, _Joiner(), Regions(view.content)
    inner_line_ends = needle.count(LF, 0, len(needle) - 1)
    ranges: list[LineRange] = []
    total = done = 0
    for place in starts:
        if total % _CHECK_EVERY == 0:
            check()
        start, end = view.offset(place), view.offset(place + len(needle))
        matched = content[start:end]
        prefix, middle, suffix = replacement.splice(matched)
        joiner.join(content[done:start])
        joiner.join(matched[:prefix])
        new_start = joiner.size
        joiner.join(middle)
        regions.add(start + prefix, end - suffix, new_start, joiner.size, joiner.is_at_line_start)
        joiner.join(matched[len(matched) - suffix :])
        done = end
        total += 1
        if len(ranges) < MAX_RANGES:
            line = view.line(place)
            ranges.append(LineRange(line, line + inner_line_ends))
    if not total:
        return NoMatch()
    joiner.join(content[done:])
    edited = b"".join(joiner.parts)
    return Edited(edited, MatchedRanges(tuple(ranges), total), regions.finish(edited))
