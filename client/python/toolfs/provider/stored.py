"""What a `WholeFileProvider` has at a place, and what became of a replacement there."""

from __future__ import annotations

from dataclasses import dataclass, field

from toolfs.outcome import Notice
from toolfs.provider.error import FsError
from toolfs.provider.value import FileStat


@dataclass(frozen=True, slots=True)
class Entry:
    """What is at a place, a link itself if it is one."""

    stat: FileStat
    points_to: bytes = b""
    """What a link points to, as it stands."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A regular file: its content, and what a replacement of it has to know. All of it is of one open file."""

    content: bytes = field(repr=False)
    writable: bool = True
    """Whether it may be replaced: `FS_PERMISSION_DENIED` when not."""
    notices: tuple[Notice, ...] = ()
    """What whoever replaces it must be told: that other hard links keep the old content, that bits are dropped."""


@dataclass(frozen=True, slots=True)
class Replaced:
    """What became of a replacement that landed."""

    notices: tuple[Notice, ...] = ()
    """What could not be foreseen: that owner or attributes could not be kept."""
    not_durable: FsError | None = None
    """Why it could not be made durable, though it is there."""
