"""What is asked of a provider, and what it answers, as values.

Sizes are in bytes and lines count from 1. A `version` names content: 1 to 128 printable ASCII characters that nobody
parses, the same for the same bytes whatever their time stamps are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from toolfs.enums import FileKind, LineEndings, ReadStopReason, WireEnum, WriteOperation
from toolfs.outcome import ChangedRanges, Diff, MatchedRanges, Notice
from toolfs.provider.error import FsError
from toolfs.provider.guard import EditGuard, WriteGuard
from toolfs.provider.name import display_form


class Durability(WireEnum):
    """What a published mutation survives."""

    UNSPECIFIED = 0
    FULL = 1
    """A power cut: content and directory entry are on stable storage before the answer."""
    DATA = 2
    """A crash of the process; in a power cut the file is whole, old or new."""
    NONE = 3
    """A crash of the process only."""


@dataclass(frozen=True, slots=True)
class Root:
    """A directory that is served."""

    raw_path: bytes
    """The absolute path under which agents see it."""
    name: str = ""
    """Its stable name; the path in display form when empty."""

    @property
    def display_path(self) -> str:
        """The path made safe to show."""
        return display_form(self.raw_path)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that a provider enforces and announces, in bytes where nothing else is said."""

    max_window_bytes: int = 51_200
    """Line text of a read that names no cap of its own."""
    max_line_chars: int = 2_000
    """Unicode scalar values after which a line is cut, in a read that names no cap of its own."""
    max_content_bytes: int = 16 << 20
    """The content of one write, which is held in memory until its trailer has come."""
    max_file_bytes: int | None = None
    """A file after an edit; `None` limits nothing."""
    max_read_bytes: int = 64 << 20
    """One `ReadBytes` call."""
    max_diff_bytes: int = 256 << 10
    """Old and new content together, of an edit the lines of the diff, beyond which a diff is left out.

    Lower than elsewhere: `difflib` takes its time."""
    max_message_bytes: int = 64 << 20
    """One gRPC message, in both directions."""
    max_path_bytes: int = 4_096
    """A path as it is asked for."""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider can do, and within which limits."""

    name: str
    """What it calls itself: one line."""
    roots: tuple[Root, ...]
    """What it serves, at least one; relative paths without a directory start at the first."""
    durability: Durability
    verified_replacement: bool
    """Whether content that a foreign writer published between the check of a guard and the publication is noticed."""
    operation_ids: bool
    """Whether a mutation may carry an `operation_id` that makes its repetition safe across crashes."""
    protected_patterns: tuple[str, ...]
    """Names that no mutation may touch, at any depth."""
    limits: Limits


@dataclass(frozen=True, slots=True)
class ResolveRequest:
    """A path to resolve, as raw bytes."""

    path: bytes
    """Absolute beneath a root, or relative."""
    cwd: bytes | None = None
    """Where a relative path starts: absolute beneath a root. `None` is the first root."""


@dataclass(frozen=True, slots=True)
class Target:
    """A resolved path: where a call lands, whether or not something is there yet."""

    key: bytes
    """The identity that locks and observations use: equal for every spelling of one file. Never parsed by others."""
    raw_path: bytes
    """The canonical absolute path under which agents see it."""
    process_path: bytes = b""
    """The path of the same file for other processes of this host; empty where there is none."""
    file_url: str = ""
    """A URL of it; empty where there is none."""
    protected_rule: str | None = None
    """The protected pattern that its spelling or its place matches."""


@dataclass(frozen=True, slots=True)
class FileStat:
    """What is known of a file without reading it."""

    kind: FileKind
    size: int | None = None
    """Its size as reported; set for regular files."""
    mode: int | None = None
    """Its permission bits, 0 to 0o7777; `None` where there are none."""
    modified_ns: int | None = None
    """When its content was last modified, in nanoseconds since 1970; `None` where that is not known."""
    version: str | None = None
    """The version of its content, when it was wanted."""


@dataclass(frozen=True, slots=True)
class DirectoryEntry:
    """One name of a directory. Links are not followed."""

    raw_name: bytes
    kind: FileKind


@dataclass(frozen=True, slots=True)
class LineWindow:
    """Which lines to deliver, and when to stop. All four are at least 1.

    The byte cap counts line text as delivered. The first line is always delivered, cut to the byte cap if need be, so
    that paging makes progress.
    """

    first_line: int
    max_lines: int
    max_bytes: int
    max_line_chars: int


@dataclass(frozen=True, slots=True)
class RawLine:
    """One line: its bytes without LF, the CR of a CR LF or a byte order mark."""

    text: bytes = field(repr=False)
    crlf: bool
    full_length: int | None
    """Its full length in Unicode scalar values when `text` is cut; `None` when it is not."""


@dataclass(frozen=True, slots=True)
class Lines:
    """A window of lines, and what is known of the whole file from the same content."""

    lines: tuple[RawLine, ...]
    stop_reason: ReadStopReason
    total_lines: int
    size: int
    version: str
    line_endings: LineEndings
    ends_with_newline: bool
    bom: bool


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A range of bytes: `length` is how many at most, `None` to the end."""

    offset: int = 0
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Content:
    """Content on its way out. The pieces of a text end between characters."""

    size: int
    """The size of the whole file when it was opened."""
    pieces: Iterable[bytes]
    version: Callable[[], str | None]
    """Asked after the last piece: the version of the whole file; `None` when not all of it was sent."""


@dataclass(frozen=True, slots=True)
class WriteText:
    """A write. Its content does not show in its `repr`."""

    target: bytes
    content: bytes = field(repr=False)
    guard: WriteGuard
    want_diff: bool = False
    operation_id: str | None = None


@dataclass(frozen=True, slots=True)
class EditText:
    """A literal replacement. `old_string` is not empty, and the two differ when CR LF and LF count as one."""

    target: bytes
    old_string: str = field(repr=False)
    new_string: str = field(repr=False)
    replace_all: bool
    guard: EditGuard
    want_diff: bool = False
    operation_id: str | None = None


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What a write did, or would do."""

    operation: WriteOperation
    size: int
    previous_size: int | None
    """The old size; `None` when the file was created."""
    version: str
    notices: tuple[Notice, ...] = ()
    diff: Diff | None = None
    not_durable: FsError | None = None
    """Why the effect, which is there, could not be made durable."""


@dataclass(frozen=True, slots=True)
class EditReport:
    """What an edit did, or would do. The total of `matches` is how many were replaced."""

    matches: MatchedRanges
    changed: ChangedRanges
    size: int
    version: str
    notices: tuple[Notice, ...] = ()
    diff: Diff | None = None
    not_durable: FsError | None = None
    """Why the effect, which is there, could not be made durable."""
