"""The facts that come with an error, one class per code that has any.

Every number and flag here may be `None`: an error must get through even where a server left a fact out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolfs.enums import (
    AbortCause,
    FileKind,
    LimitKind,
    NearMissReason,
    SearchStopReason,
    TextEncoding,
    UnavailableCause,
)
from toolfs.v1 import error_pb2


@dataclass(frozen=True, slots=True)
class NotFoundDetail:
    """With `FS_NOT_FOUND`: up to 3 names of the same directory that look like the one asked for, best first."""

    similar_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotRegularFileDetail:
    """With `FS_NOT_REGULAR_FILE`: what is there. `UNSPECIFIED` when the path itself asks for a directory."""

    kind: FileKind


@dataclass(frozen=True, slots=True)
class NotTextDetail:
    """With `FS_NOT_TEXT`: the first offending byte, from 0, and the encoding where the bytes name one."""

    byte_offset: int | None
    encoding: TextEncoding
    encoding_name: str


@dataclass(frozen=True, slots=True)
class TooLargeDetail:
    """With `FS_TOO_LARGE`: the limit by name and kind, and both sizes in bytes."""

    limit_name: str
    limit_kind: LimitKind
    limit_bytes: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class OutOfRangeDetail:
    """With `FS_OUT_OF_RANGE`: how many lines the file has."""

    total_lines: int | None


@dataclass(frozen=True, slots=True)
class SandboxDetail:
    """With `FS_SANDBOX_DENIED`: a protected pattern, `roots`, `session-roots` or `read-only`."""

    rule: str


@dataclass(frozen=True, slots=True)
class StaleVersionDetail:
    """With `FS_STALE_VERSION`: the version seen, and the one that is there now (`None` when nothing is)."""

    expected_version: str
    actual_version: str | None


@dataclass(frozen=True, slots=True)
class NotObservedDetail:
    """With `FS_NOT_OBSERVED`: what is there, its size in bytes and whether it is text, as far as that was looked at."""

    kind: FileKind
    size_bytes: int | None
    text: bool | None


@dataclass(frozen=True, slots=True)
class AmbiguousEditDetail:
    """With `FS_AMBIGUOUS_EDIT`: how often `old_string` occurs, and the lines of the first 20 occurrences."""

    match_count: int | None
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A place that nearly matches: its lines from 1, inclusive, and why it does not match, most telling first."""

    start_line: int | None
    end_line: int | None
    lines: tuple[str, ...]
    reasons: tuple[NearMissReason, ...]
    reason_text: str


@dataclass(frozen=True, slots=True)
class EditNotFoundDetail:
    """With `FS_EDIT_NOT_FOUND`: up to 3 near misses, best first, and whether the search for them ended early."""

    near_misses: tuple[NearMiss, ...]
    search_stopped_early: bool | None
    search_stop_reason: SearchStopReason


@dataclass(frozen=True, slots=True)
class InvalidArgumentDetail:
    """With `FS_INVALID_ARGUMENT`: the argument, what it was and what it must be."""

    field: str
    actual: str
    expected: str


@dataclass(frozen=True, slots=True)
class UnavailableDetail:
    """With `FS_UNAVAILABLE`: why the call has to wait, also as one line of text."""

    cause: UnavailableCause
    text: str


@dataclass(frozen=True, slots=True)
class AbortedDetail:
    """With `FS_ABORTED`: why the call was given up."""

    cause: AbortCause


Detail = (
    NotFoundDetail
    | NotRegularFileDetail
    | NotTextDetail
    | TooLargeDetail
    | OutOfRangeDetail
    | SandboxDetail
    | StaleVersionDetail
    | NotObservedDetail
    | AmbiguousEditDetail
    | EditNotFoundDetail
    | InvalidArgumentDetail
    | UnavailableDetail
    | AbortedDetail
)
"""Any of the details."""


def decode_detail(error: error_pb2.FsError) -> Detail | None:
    """The detail of an error; `None` where it has none, or one of a kind that this package does not know."""
    arm = error.WhichOneof("detail")
    return None if arm is None else _DECODERS[arm](getattr(error, arm))


def _maybe(message: Any, field: str) -> Any:
    return getattr(message, field) if message.HasField(field) else None


def _near_miss(miss: error_pb2.NearMiss) -> NearMiss:
    return NearMiss(
        start_line=_maybe(miss, "start_line"),
        end_line=_maybe(miss, "end_line"),
        lines=tuple(miss.lines),
        reasons=tuple(NearMissReason(reason) for reason in miss.reasons),
        reason_text=miss.reason_text,
    )


_DECODERS: dict[str, Callable[[Any], Detail]] = {
    "not_found": lambda d: NotFoundDetail(tuple(d.similar_names)),
    "not_regular_file": lambda d: NotRegularFileDetail(FileKind(d.kind)),
    "not_text": lambda d: NotTextDetail(_maybe(d, "byte_offset"), TextEncoding(d.encoding), d.encoding_name),
    "too_large": lambda d: TooLargeDetail(
        d.limit_name, LimitKind(d.limit_kind), _maybe(d, "limit_bytes"), _maybe(d, "size_bytes")
    ),
    "out_of_range": lambda d: OutOfRangeDetail(_maybe(d, "total_lines")),
    "sandbox": lambda d: SandboxDetail(d.rule),
    "stale_version": lambda d: StaleVersionDetail(d.expected_version, _maybe(d, "actual_version")),
    "not_observed": lambda d: NotObservedDetail(FileKind(d.kind), _maybe(d, "size_bytes"), _maybe(d, "text")),
    "ambiguous_edit": lambda d: AmbiguousEditDetail(_maybe(d, "match_count"), tuple(d.lines)),
    "edit_not_found": lambda d: EditNotFoundDetail(
        tuple(_near_miss(miss) for miss in d.near_misses),
        _maybe(d, "search_stopped_early"),
        SearchStopReason(d.search_stop_reason),
    ),
    "invalid_argument": lambda d: InvalidArgumentDetail(d.field, d.actual, d.expected),
    "unavailable": lambda d: UnavailableDetail(UnavailableCause(d.cause), d.text),
    "aborted": lambda d: AbortedDetail(AbortCause(d.cause)),
}
