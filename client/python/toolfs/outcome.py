"""What a call saw or did, for programs.

A number that the contract lets a server leave out is `None` when it is absent, and never 0. What the contract says is
always set has a plain type; an answer that lacks it is a `ProtocolError`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from toolfs.enums import DiffLineKind, LineEndings, NoticeKind, ReadStopReason, WriteOperation
from toolfs.error import ProtocolError
from toolfs.v1 import tool_pb2, types_pb2


@dataclass(frozen=True, slots=True)
class Notice:
    """A remark that goes with a success. It never holds content."""

    kind: NoticeKind
    text: str


@dataclass(frozen=True, slots=True)
class ReadLine:
    """A line as a read saw it: its number from 1, its text without line end, and whether that is cut."""

    number: int
    text: str = field(repr=False)
    truncated: bool
    full_length: int | None
    """The full length in Unicode scalar values; set at least when the text is cut."""


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """What a read saw."""

    path: str
    """The absolute path in display form, never to be parsed back."""
    offset: int
    """The first line of the window, from 1."""
    line_count: int
    """How many lines the window has."""
    total_lines: int
    """How many lines the file has, always exact."""
    next_offset: int | None
    """The `offset` that continues the read; `None` at the end of the file."""
    partial_view: bool
    """Whether the window lacks a part of the file."""
    stop_reason: ReadStopReason
    size: int
    """The file's size in bytes."""
    version: str
    """The version of exactly the content that was read. Never parsed."""
    line_endings: LineEndings
    ends_with_newline: bool
    bom: bool
    """Whether the file starts with a UTF-8 byte order mark, which is not shown."""
    notices: tuple[Notice, ...]
    lines: tuple[ReadLine, ...]
    """The lines of the window; in the view `full` only."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a hunk. A CR of a CR LF is kept in its text."""

    kind: DiffLineKind
    text: str = field(repr=False)
    newline_missing: bool


@dataclass(frozen=True, slots=True)
class DiffHunk:
    """One hunk of a diff: the numbers of its header in the unified format, and its lines."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference between old and new content: unified hunks with 3 lines of context."""

    hunks: tuple[DiffHunk, ...]
    text: str = field(repr=False)
    """The same hunks in the unified format, without file headers."""
    omitted: bool
    """Whether the diff is left out, since the contents are too large or not text."""
    omission_reason: str
    """Why it is left out; empty when it is not."""


@dataclass(frozen=True, slots=True)
class Guard:
    """The condition under which a dry run would have published."""

    kind: Literal["unconditional", "create_if_absent", "replace_if_version", "unknown"]
    version: str | None
    """With `replace_if_version` only."""


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """What a write did, or in a dry run would have done."""

    path: str
    operation: WriteOperation
    size: int
    """The new size in bytes."""
    previous_size: int | None
    """The old size in bytes; `None` when the file was created."""
    version: str
    notices: tuple[Notice, ...]
    diff: Diff | None
    """In the view `full` and in dry runs only."""
    guard: Guard | None
    """In dry runs only."""


@dataclass(frozen=True, slots=True)
class ChangedRange:
    """Consecutive lines that differ. Where a count is 0, its start is the line before (0 at the start)."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int


@dataclass(frozen=True, slots=True)
class ChangedRanges:
    """The first 100 changes in the order of the file, and how many there are."""

    ranges: tuple[ChangedRange, ...]
    total: int


@dataclass(frozen=True, slots=True)
class LineRange:
    """Consecutive lines, from 1, the last one inclusive."""

    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class MatchedRanges:
    """The lines of the first 100 matches in the old content, and how many there are."""

    ranges: tuple[LineRange, ...]
    total: int


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """What an edit did, or in a dry run would have done."""

    path: str
    replacements: int
    """How many occurrences were replaced, at least 1."""
    replace_all: bool
    changed_ranges: ChangedRanges | None
    version: str
    notices: tuple[Notice, ...]
    diff: Diff | None
    """In the view `full` and in dry runs only."""
    guard: Guard | None
    """In dry runs only."""
    matches: MatchedRanges | None
    """In dry runs only."""


Outcome = ReadOutcome | WriteOutcome | EditOutcome
"""Any outcome."""


def decode_outcome(response: tool_pb2.ExecuteResponse) -> Outcome | None:
    """The outcome of an answer; `None` where it has none, or one of a kind that this package does not know.

    Raises `ProtocolError` where a number is absent that the contract says is always set.
    """
    arm = response.WhichOneof("outcome")
    if arm == "read":
        return decode_read(response.read)
    if arm == "write":
        return decode_write(response.write)
    if arm == "edit":
        return decode_edit(response.edit)
    return None


def decode_read(read: tool_pb2.ReadOutcome) -> ReadOutcome:
    """A read's outcome; `ProtocolError` as for `decode_outcome`."""
    return ReadOutcome(
        path=read.path,
        offset=_set(read, "offset"),
        line_count=_set(read, "line_count"),
        total_lines=_set(read, "total_lines"),
        next_offset=read.next_offset if read.HasField("next_offset") else None,
        partial_view=_set(read, "partial_view"),
        stop_reason=ReadStopReason(read.stop_reason),
        size=_set(read, "size"),
        version=read.version,
        line_endings=LineEndings(read.line_endings),
        ends_with_newline=_set(read, "ends_with_newline"),
        bom=_set(read, "bom"),
        notices=_notices(read.notices),
        lines=tuple(_read_line(line) for line in read.lines),
    )


def decode_write(write: tool_pb2.WriteOutcome) -> WriteOutcome:
    """A write's outcome; `ProtocolError` as for `decode_outcome`."""
    return WriteOutcome(
        path=write.path,
        operation=WriteOperation(write.operation),
        size=_set(write, "size"),
        previous_size=write.previous_size if write.HasField("previous_size") else None,
        version=write.version,
        notices=_notices(write.notices),
        diff=_diff(write.diff) if write.HasField("diff") else None,
        guard=_guard(write.guard) if write.HasField("guard") else None,
    )


def decode_edit(edit: tool_pb2.EditOutcome) -> EditOutcome:
    """An edit's outcome; `ProtocolError` as for `decode_outcome`."""
    return EditOutcome(
        path=edit.path,
        replacements=_set(edit, "replacements"),
        replace_all=_set(edit, "replace_all"),
        changed_ranges=_changed(edit.changed_ranges) if edit.HasField("changed_ranges") else None,
        version=edit.version,
        notices=_notices(edit.notices),
        diff=_diff(edit.diff) if edit.HasField("diff") else None,
        guard=_guard(edit.guard) if edit.HasField("guard") else None,
        matches=_matches(edit.matches) if edit.HasField("matches") else None,
    )


def _set(message: Any, name: str) -> Any:
    if message.HasField(name):
        return getattr(message, name)
    raise ProtocolError(f"`{message.DESCRIPTOR.name}` came without `{name}`, which is always set")


def _notices(notices: Any) -> tuple[Notice, ...]:
    return tuple(Notice(NoticeKind(notice.kind), notice.text) for notice in notices)


def _read_line(line: tool_pb2.ReadLine) -> ReadLine:
    full_length = line.full_length if line.HasField("full_length") else None
    return ReadLine(_set(line, "number"), line.text, _set(line, "truncated"), full_length)


def _diff(diff: types_pb2.Diff) -> Diff:
    hunks = tuple(DiffHunk(*_span(hunk), tuple(_diff_line(line) for line in hunk.lines)) for hunk in diff.hunks)
    return Diff(hunks, diff.text, _set(diff, "omitted"), diff.omission_reason)


def _diff_line(line: types_pb2.DiffLine) -> DiffLine:
    return DiffLine(DiffLineKind(line.kind), line.text, _set(line, "newline_missing"))


def _span(place: types_pb2.DiffHunk | types_pb2.ChangedRange) -> tuple[int, int, int, int]:
    return _set(place, "old_start"), _set(place, "old_count"), _set(place, "new_start"), _set(place, "new_count")


def _changed(changed: types_pb2.ChangedRanges) -> ChangedRanges:
    return ChangedRanges(tuple(ChangedRange(*_span(place)) for place in changed.ranges), _set(changed, "total"))


def _matches(matches: types_pb2.MatchedRanges) -> MatchedRanges:
    ranges = tuple(LineRange(_set(place, "start_line"), _set(place, "end_line")) for place in matches.ranges)
    return MatchedRanges(ranges, _set(matches, "total"))


def _guard(guard: types_pb2.WriteGuard | types_pb2.EditGuard) -> Guard:
    arm = guard.WhichOneof("condition")
    if arm is None:
        return Guard("unknown", None)
    return Guard(arm, guard.replace_if_version if arm == "replace_if_version" else None)
