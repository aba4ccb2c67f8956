"""The whole lines around the bytes that an edit changes, gathered match by match. Values in, values out."""

from __future__ import annotations

from dataclasses import dataclass

from toolfs.provider.diff import Change
from toolfs.provider.text import LF


@dataclass(slots=True)
class _Region:
    """Whole lines of the old content, and what became of them."""

    old_start: int
    old_end: int
    new_start: int
    new_end: int
    """Where the last new bytes end."""
    has_rest: bool
    """Whether the rest of their line belongs to the region."""


class Regions:
    """The regions of one edit. Matches come in the order of the file."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._regions: list[_Region] = []

    def add(self, old_start: int, old_end: int, new_start: int, new_end: int, ends_a_line: bool) -> None:
        """Adds what one match changes; `ends_a_line` says whether what follows its new bytes starts a line."""
        content = self._content
        # Whole lines that are replaced by whole lines leave the next line alone.
        are_whole_lines = ends_a_line and (old_end == 0 or content[old_end - 1 : old_end] == LF)
        region_end = old_end if are_whole_lines else _line_end_after(content, old_end)
        last = self._regions[-1] if self._regions else None
        settled = last.old_end if last is not None else 0
        # A match in a line that is in the last region already starts before that region's end.
        line_feed = content.rfind(LF, settled, old_start) if settled <= old_start else -1
        if last is not None and line_feed < 0:
            last.old_end = max(last.old_end, region_end)
            last.new_end = new_end
            last.has_rest = not are_whole_lines
            return
        line_start = line_feed + 1 if line_feed >= 0 else 0
        new_line_start = new_start - (old_start - line_start)
        self._regions.append(_Region(line_start, region_end, new_line_start, new_end, not are_whole_lines))

    def finish(self, edited: bytes) -> tuple[Change, ...]:
        """The changes as places in the lists of lines, once the edited content is complete."""
        content = self._content
        changes = []
        old_line = new_line = old_at = new_at = 0
        for region in self._regions:
            old_line += content.count(LF, old_at, region.old_start)
            new_line += edited.count(LF, new_at, region.new_start)
            old_at, new_at = region.old_start, region.new_start
            new_end = _line_end_after(edited, region.new_end) if region.has_rest else region.new_end
            old_lines = _line_count(content[region.old_start : region.old_end])
            new_lines = _line_count(edited[region.new_start : new_end])
            changes.append(Change(old_line, old_line + old_lines, new_line, new_line + new_lines))
        return tuple(changes)


def _line_end_after(content: bytes, at: int) -> int:
    end = content.find(LF, at)
    return len(content) if end < 0 else end + 1


def _line_count(lines: bytes) -> int:
    return lines.count(LF) + (1 if lines and not lines.endswith(LF) else 0)
