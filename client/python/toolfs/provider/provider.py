"""The base class of the seam."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from toolfs.enums import AbortCause
from toolfs.provider import refusal
from toolfs.provider.value import (
    ByteRange,
    Capabilities,
    Content,
    DirectoryEntry,
    EditReport,
    EditText,
    FileStat,
    Lines,
    LineWindow,
    ResolveRequest,
    Target,
    WriteReport,
    WriteText,
)


class Call:
    """One call in progress: how a provider learns that its caller gave it up."""

    def __init__(self, time_remaining: Callable[[], float | None] = lambda: None) -> None:
        self._time_remaining = time_remaining
        self._ended = threading.Event()

    def end(self) -> None:
        """Tells that nobody waits for the answer any more."""
        self._ended.set()

    @property
    def has_ended(self) -> bool:
        """Whether nobody waits for the answer any more."""
        return self._ended.is_set()

    def check(self) -> None:
        """Goes on, or raises `FS_ABORTED`.

        To be called before each step that takes long, and last before publication; never after that.
        """
        remaining = self._time_remaining()
        if remaining is not None and remaining <= 0:
            raise refusal.aborted(AbortCause.DEADLINE_EXCEEDED)
        if self._ended.is_set():
            raise refusal.aborted(AbortCause.CANCELLED)


class Provider(ABC):
    """A place that keeps files: the whole seam, method by method.

    `WholeFileProvider` implements most of it over a few methods; derive from this class for full control. Methods are
    called from several threads at once. For every one of them:

    - `call.check()` is asked before each step that takes long, and last before publication
    - errors are raised as `FsError` (see `toolfs.provider.refusal`); they name the display form of the path, and echo
      no content
    - only regular files have content. Anything else is `FS_NOT_REGULAR_FILE`, decided without blocking
    """

    @abstractmethod
    def capabilities(self, call: Call) -> Capabilities:
        """What this provider can do, and what it serves."""

    @abstractmethod
    def resolve(self, call: Call, request: ResolveRequest) -> Target:
        """Finds where a path leads: existing or not, through links, beneath the roots.

        A path whose last components are missing resolves to the nearest existing directory and the missing rest.
        Raises `FS_SANDBOX_DENIED` (leaves the roots; names the path as asked, never where it led), `FS_NOT_DIRECTORY`
        (a parent is a file), `FS_NOT_FOUND` (`missing/../x`), `FS_INVALID_ARGUMENT` (too long, too many links).
        """

    @abstractmethod
    def contains(self, call: Call, ancestor: bytes, target: bytes) -> bool:
        """Whether `target` is `ancestor` or lies beneath it, judged by keys alone.

        Raises `FS_INVALID_ARGUMENT` for a key that this provider never made, as every method that takes one.
        """

    @abstractmethod
    def stat(self, call: Call, target: bytes, want_version: bool) -> FileStat:
        """What is at a target. Raises `FS_NOT_FOUND`, and `FS_NOT_REGULAR_FILE` for a version of something else."""

    @abstractmethod
    def lstat(self, call: Call, request: ResolveRequest) -> FileStat:
        """What is at a path, a link itself if it is one. It has no version. Raises as `resolve`, and `FS_NOT_FOUND`."""

    @abstractmethod
    def read_lines(self, call: Call, target: bytes, window: LineWindow) -> Lines:
        """Reads a window of lines, and what a whole pass knows about the file, from one content.

        A window that starts past the end has no lines and is no error here. Raises `FS_NOT_FOUND` with similar names,
        `FS_NOT_REGULAR_FILE`, `FS_NOT_TEXT`, `FS_PERMISSION_DENIED`.
        """

    @abstractmethod
    def read_text(self, call: Call, target: bytes) -> Content:
        """Reads a whole text. Its pieces may raise `FS_NOT_TEXT` where the file turns out not to be text."""

    @abstractmethod
    def read_bytes(self, call: Call, target: bytes, byte_range: ByteRange) -> Content:
        """Reads bytes of any file. Raises `FS_TOO_LARGE` for more than `max_read_bytes`; past the end is empty."""

    @abstractmethod
    def list_dir(self, call: Call, target: bytes) -> Iterable[DirectoryEntry]:
        """Lists a directory in no order, without `.` and `..`. Raises `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`."""

    @abstractmethod
    def write_text(self, call: Call, write: WriteText) -> WriteReport:
        """Creates or fully replaces a file under a guard, creating missing parent directories.

        Lands whole or not at all. What is there is looked at in this order: its kind, protection and permission, the
        guard, which is judged on bytes that are hashed inside the critical section. Raises `FS_INVALID_ARGUMENT` (the
        content is not UTF-8), `FS_NOT_REGULAR_FILE`, `FS_SANDBOX_DENIED` (protected), `FS_PERMISSION_DENIED`,
        `FS_NOT_OBSERVED`, `FS_STALE_VERSION`, `FS_NO_SPACE`, `FS_IO_ERROR`, `FS_ABORTED`.
        """

    @abstractmethod
    def edit_text(self, call: Call, edit: EditText) -> EditReport:
        """Replaces text under a guard: check, match, replacement and publication in one critical section.

        Raises what `write_text` does, and in this order: `FS_STALE_VERSION` before `FS_NOT_TEXT` before
        `FS_EDIT_NOT_FOUND`, `FS_AMBIGUOUS_EDIT`, `FS_TOO_LARGE`. A missing target is `FS_STALE_VERSION`.
        """

    @abstractmethod
    def plan_write(self, call: Call, write: WriteText) -> WriteReport:
        """Decides and reports as `write_text` would, and publishes nothing."""

    @abstractmethod
    def plan_edit(self, call: Call, edit: EditText) -> EditReport:
        """Decides and reports as `edit_text` would, and publishes nothing."""
