"""What a provider answers, as messages of the contract."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from toolfs.enums import FileKind, LimitKind
from toolfs.outcome import ChangedRanges, Diff, MatchedRanges, Notice
from toolfs.provider import status
from toolfs.provider.name import display_form
from toolfs.provider.value import (
    Capabilities,
    DirectoryEntry,
    EditReport,
    FileStat,
    Limits,
    Lines,
    LineWindow,
    RawLine,
    Target,
    WriteReport,
)
from toolfs.v1 import filesystem_pb2, types_pb2

_BATCH_BYTES = 64 << 10

# The limits that are announced, by the names of their fields in `Limits`.
_LIMITS = (
    LimitKind.MAX_WINDOW_BYTES,
    LimitKind.MAX_LINE_CHARS,
    LimitKind.MAX_CONTENT_BYTES,
    LimitKind.MAX_FILE_BYTES,
    LimitKind.MAX_READ_BYTES,
    LimitKind.MAX_DIFF_BYTES,
    LimitKind.MAX_MESSAGE_BYTES,
    LimitKind.MAX_PATH_BYTES,
)


def capabilities(told: Capabilities) -> filesystem_pb2.GetProviderCapabilitiesResponse:
    """What the provider can do, and the limits that hold."""
    provider = types_pb2.ProviderCapabilities(
        name=told.name, verified_replacement=told.verified_replacement, operation_ids=told.operation_ids
    )
    roots = [
        types_pb2.Root(name=root.name or root.display_path, display_path=root.display_path, raw_path=root.raw_path)
        for root in told.roots
    ]
    return filesystem_pb2.GetProviderCapabilitiesResponse(
        provider=provider,
        durability=_enum(told.durability),
        roots=roots,
        protected_patterns=told.protected_patterns,
        limits=[_limit(kind, told.limits) for kind in _LIMITS],
    )


def _limit(kind: LimitKind, limits: Limits) -> types_pb2.Limit:
    name = kind.name.lower()
    return types_pb2.Limit(kind=_enum(kind), name=name, value=getattr(limits, name))


def target(told: Target) -> filesystem_pb2.Target:
    """A resolved path."""
    return filesystem_pb2.Target(
        target_key=told.key,
        raw_path=told.raw_path,
        process_path=told.process_path,
        display_path=display_form(told.raw_path),
        file_url=told.file_url,
        protected_rule=told.protected_rule or "",
    )


def file_stat(told: FileStat) -> filesystem_pb2.FileStat:
    """What is at a path. A size is told of regular files only: of others it means nothing."""
    stat = filesystem_pb2.FileStat(
        kind=_enum(told.kind),
        size=told.size if told.kind is FileKind.REGULAR else None,
        mode=None if told.mode is None else told.mode & 0o7777,
        version=told.version or "",
    )
    if told.modified_ns is not None:
        stat.modified.FromNanoseconds(told.modified_ns)
    return stat


def lines(told: Lines, window: LineWindow) -> filesystem_pb2.ReadLinesResponse:
    """A window of lines and the file around it."""
    return filesystem_pb2.ReadLinesResponse(
        lines=[_raw_line(line) for line in told.lines],
        first_line=window.first_line,
        total_lines=told.total_lines,
        size=told.size,
        version=told.version,
        line_endings=_enum(told.line_endings),
        ends_with_newline=told.ends_with_newline,
        bom=told.bom,
        stop_reason=_enum(told.stop_reason),
    )


def _raw_line(line: RawLine) -> filesystem_pb2.RawLine:
    return filesystem_pb2.RawLine(
        text=line.text, crlf=line.crlf, truncated=line.full_length is not None, full_length=line.full_length
    )


def entries(told: Iterable[DirectoryEntry]) -> Iterator[filesystem_pb2.ListDirResponse]:
    """The entries of a directory in messages of bounded size; none is empty."""
    batch: list[filesystem_pb2.DirectoryEntry] = []
    size = 0
    for entry in told:
        message = filesystem_pb2.DirectoryEntry(
            raw_name=entry.raw_name, display_name=display_form(entry.raw_name), kind=_enum(entry.kind)
        )
        bytes_ = message.ByteSize()
        if batch and size + bytes_ > _BATCH_BYTES:
            yield filesystem_pb2.ListDirResponse(entries=batch)
            batch, size = [], 0
        batch.append(message)
        size += bytes_
    if batch:
        yield filesystem_pb2.ListDirResponse(entries=batch)


def write_report(told: WriteReport) -> filesystem_pb2.WriteReport:
    """What a write did."""
    return filesystem_pb2.WriteReport(
        operation=_enum(told.operation),
        size=told.size,
        previous_size=told.previous_size,
        version=told.version,
        notices=_notices(told.notices),
        diff=_diff(told.diff),
    )


def edit_report(told: EditReport) -> filesystem_pb2.EditReport:
    """What an edit did."""
    return filesystem_pb2.EditReport(
        replacements=told.matches.total,
        matches=_matches(told.matches),
        changed_ranges=_changed(told.changed),
        size=told.size,
        version=told.version,
        notices=_notices(told.notices),
        diff=_diff(told.diff),
    )


def not_durable(told: WriteReport | EditReport) -> Any:
    """Why a published effect could not be made durable; `None` when it was."""
    if told.not_durable is None:
        return None
    message = status.message_of(told.not_durable)
    message.published = types_pb2.PUBLISHED_YES
    return message


def _notices(told: Iterable[Notice]) -> list[types_pb2.Notice]:
    return [types_pb2.Notice(kind=_enum(notice.kind), text=notice.text) for notice in told]


def _matches(told: MatchedRanges) -> types_pb2.MatchedRanges:
    ranges = [types_pb2.LineRange(start_line=place.start_line, end_line=place.end_line) for place in told.ranges]
    return types_pb2.MatchedRanges(ranges=ranges, total=told.total)


def _changed(told: ChangedRanges) -> types_pb2.ChangedRanges:
    ranges = [
        types_pb2.ChangedRange(
            old_start=place.old_start,
            old_count=place.old_count,
            new_start=place.new_start,
            new_count=place.new_count,
        )
        for place in told.ranges
    ]
    return types_pb2.ChangedRanges(ranges=ranges, total=told.total)


def _diff(told: Diff | None) -> types_pb2.Diff | None:
    if told is None:
        return None
    hunks = [
        types_pb2.DiffHunk(
            old_start=hunk.old_start,
            old_count=hunk.old_count,
            new_start=hunk.new_start,
            new_count=hunk.new_count,
            lines=[
                types_pb2.DiffLine(kind=_enum(line.kind), text=line.text, newline_missing=line.newline_missing)
                for line in hunk.lines
            ],
        )
        for hunk in told.hunks
    ]
    return types_pb2.Diff(hunks=hunks, text=told.text, omitted=told.omitted, omission_reason=told.omission_reason)


def _enum(value: Any) -> Any:
    """A number of the contract: the generated code wants a type of its own, which is a number like ours."""
    return int(value)
