"""Which lines changed, and the unified diff that shows it. Values in, values out.

Lines are compared as bytes: a changed line end is a changed line. The search within a change is `difflib`'s; where both
sides hold very many lines it shows one change, which is a longer diff and no wrong one.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

from toolfs.enums import DiffLineKind
from toolfs.outcome import ChangedRange, ChangedRanges, Diff, DiffHunk, DiffLine
from toolfs.provider.text import LF, NotText, split_lines, summarize

CONTEXT_LINES = 3
"""Lines of context around a change."""

MAX_RANGES = 100
"""How many ranges are told."""

_MAX_SEARCHED_LINES = 5_000


@dataclass(frozen=True, slots=True)
class Change:
    """Old lines that became new lines: places in the lists of lines, from 0, ends exclusive. One side may be empty."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int

    def range(self) -> ChangedRange:
        """The same as it is told: from 1, an empty side at the line before."""
        old_count, new_count = self.old_end - self.old_start, self.new_end - self.new_start
        old_start = self.old_start + (1 if old_count else 0)
        return ChangedRange(old_start, old_count, self.new_start + (1 if new_count else 0), new_count)

    def without_equal_ends(self, old: Sequence[bytes], new: Sequence[bytes]) -> Change:
        """Leaves out the lines that both sides have in common at their start and at their end."""
        old_start, old_end, new_start, new_end = self.old_start, self.old_end, self.new_start, self.new_end
        while old_start < old_end and new_start < new_end and old[old_start] == new[new_start]:
            old_start, new_start = old_start + 1, new_start + 1
        while old_start < old_end and new_start < new_end and old[old_end - 1] == new[new_end - 1]:
            old_end, new_end = old_end - 1, new_end - 1
        return Change(old_start, old_end, new_start, new_end)

    def refined(self, old: Sequence[bytes], new: Sequence[bytes]) -> list[Change]:
        """The changes within this one, without the lines that both sides have in common."""
        whole = self.without_equal_ends(old, new)
        old_count, new_count = whole.old_end - whole.old_start, whole.new_end - whole.new_start
        if not old_count and not new_count:
            return []
        if not old_count or not new_count or old_count + new_count > _MAX_SEARCHED_LINES:
            return [whole]
        matcher = difflib.SequenceMatcher(
            None, old[whole.old_start : whole.old_end], new[whole.new_start : whole.new_end]
        )
        return [
            Change(whole.old_start + i1, whole.old_start + i2, whole.new_start + j1, whole.new_start + j2)
            for tag, i1, i2, j1, j2 in matcher.get_opcodes()
            if tag != "equal"
        ]


def changed_ranges(changes: Sequence[Change]) -> ChangedRanges:
    """The first 100 changes as they are told, and how many there are."""
    return ChangedRanges(tuple(change.range() for change in changes[:MAX_RANGES]), len(changes))


def between(old: bytes | None, new: bytes, max_bytes: int) -> Diff:
    """The diff of two whole contents; `old` is `None` when nothing was there. `max_bytes` bounds both together."""
    before = old or b""
    size = len(before) + len(new)
    if size > max_bytes:
        return left_out(_too_large(max_bytes, size))
    if isinstance(summarize(before), NotText):
        return left_out("the old content is not text")
    old_lines, new_lines = split_lines(before), split_lines(new)
    whole = Change(0, len(old_lines), 0, len(new_lines))
    return around(old_lines, new_lines, [whole], max_bytes)


def around(old: Sequence[bytes], new: Sequence[bytes], changes: Sequence[Change], max_bytes: int) -> Diff:
    """The diff of two lists of lines that are equal outside of `changes`. `max_bytes` bounds the lines of the diff."""
    bounds = sum(_bytes(old[c.old_start : c.old_end]) + _bytes(new[c.new_start : c.new_end]) for c in changes)
    if bounds > max_bytes:
        return left_out(_too_large(max_bytes, bounds))
    hunks = []
    size = 0
    for group in _groups([part for change in changes for part in change.refined(old, new)]):
        hunk, hunk_bytes = _hunk(old, new, group)
        hunks.append(hunk)
        size += hunk_bytes
        if size > max_bytes:
            return left_out(_too_large(max_bytes, size))
    return Diff(tuple(hunks), "".join(map(_unified, hunks)), False, "")


def left_out(reason: str) -> Diff:
    """No diff, and why."""
    return Diff((), "", True, reason)


def _too_large(limit: int, size: int) -> str:
    return f"{size} bytes exceed the limit `max_diff_bytes` of {limit} bytes"


def _bytes(lines: Sequence[bytes]) -> int:
    return sum(map(len, lines))


def _groups(changes: Sequence[Change]) -> list[list[Change]]:
    """Puts changes together that are at most two contexts apart."""
    groups: list[list[Change]] = []
    for change in changes:
        if groups and change.old_start - groups[-1][-1].old_end <= 2 * CONTEXT_LINES:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _hunk(old: Sequence[bytes], new: Sequence[bytes], changes: Sequence[Change]) -> tuple[DiffHunk, int]:
    first, last = changes[0], changes[-1]
    begin = max(0, first.old_start - CONTEXT_LINES)
    end = min(len(old), last.old_end + CONTEXT_LINES)
    told: list[tuple[DiffLineKind, bytes]] = []
    at = begin
    for change in changes:
        told += [(DiffLineKind.CONTEXT, line) for line in old[at : change.old_start]]
        told += [(DiffLineKind.REMOVED, line) for line in old[change.old_start : change.old_end]]
        told += [(DiffLineKind.ADDED, line) for line in new[change.new_start : change.new_end]]
        at = change.old_end
    told += [(DiffLineKind.CONTEXT, line) for line in old[at:end]]
    old_count = sum(kind is not DiffLineKind.ADDED for kind, _ in told)
    new_count = sum(kind is not DiffLineKind.REMOVED for kind, _ in told)
    before = first.old_start - begin
    hunk = DiffHunk(
        old_start=begin + (1 if old_count else 0),
        old_count=old_count,
        new_start=first.new_start - before + (1 if new_count else 0),
        new_count=new_count,
        lines=tuple(_line(kind, line) for kind, line in told),
    )
    return hunk, sum(len(line) for _, line in told)


def _line(kind: DiffLineKind, line: bytes) -> DiffLine:
    newline_missing = not line.endswith(LF)
    text = line if newline_missing else line[:-1]
    return DiffLine(kind, text.decode(), newline_missing)


def _unified(hunk: DiffHunk) -> str:
    marks = {DiffLineKind.CONTEXT: " ", DiffLineKind.REMOVED: "-", DiffLineKind.ADDED: "+"}
    lines = [f"@@ -{_side(hunk.old_start, hunk.old_count)} +{_side(hunk.new_start, hunk.new_count)} @@\n"]
    for line in hunk.lines:
        lines.append(f"{marks[line.kind]}{line.text}\n")
        if line.newline_missing:
            lines.append("\\ No newline at end of file\n")
    return "".join(lines)


def _side(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start},{count}"
