"""The refusals that every provider words the same way, each as an `FsError` to raise."""

from __future__ import annotations

from toolfs.detail import (
    AbortedDetail,
    AmbiguousEditDetail,
    EditNotFoundDetail,
    InvalidArgumentDetail,
    NearMiss,
    NotFoundDetail,
    NotObservedDetail,
    NotRegularFileDetail,
    NotTextDetail,
    SandboxDetail,
    StaleVersionDetail,
    TooLargeDetail,
    UnavailableDetail,
)
from toolfs.enums import AbortCause, FileKind, LimitKind, SearchStopReason, TextEncoding, UnavailableCause
from toolfs.error import FsErrorCode
from toolfs.provider.error import FsError

MAX_NAME_BYTES = 255
"""The longest name of one path component, in bytes."""

MAX_LINKS = 40
"""How many symbolic links one path may lead through."""

_KIND_NOUNS = {
    FileKind.REGULAR: "a regular file",
    FileKind.DIRECTORY: "a directory",
    FileKind.SYMLINK: "a symbolic link",
    FileKind.FIFO: "a named pipe",
    FileKind.SOCKET: "a socket",
    FileKind.BLOCK_DEVICE: "a block device",
    FileKind.CHAR_DEVICE: "a character device",
}

_ENCODING_NAMES = {
    TextEncoding.UTF16_LE: "UTF-16LE",
    TextEncoding.UTF16_BE: "UTF-16BE",
    TextEncoding.UTF32_LE: "UTF-32LE",
    TextEncoding.UTF32_BE: "UTF-32BE",
}


def not_found(path: str, similar_names: tuple[str, ...] = ()) -> FsError:
    """`FS_NOT_FOUND`: nothing is at the path."""
    return FsError(FsErrorCode.FS_NOT_FOUND, f"nothing is at `{path}`", path, NotFoundDetail(similar_names))


def not_directory(path: str) -> FsError:
    """`FS_NOT_DIRECTORY`: a parent of the path, or what has a trailing slash, is no directory."""
    message = f"`{path}` treats something as a directory that is none"
    return FsError(FsErrorCode.FS_NOT_DIRECTORY, message, path)


def not_regular(path: str, kind: FileKind) -> FsError:
    """`FS_NOT_REGULAR_FILE`: what is there has no content."""
    noun = _KIND_NOUNS.get(kind, "a special file")
    message = f"`{path}` is {noun}, only regular files have content"
    return FsError(FsErrorCode.FS_NOT_REGULAR_FILE, message, path, NotRegularFileDetail(kind))


def asks_for_directory(path: str) -> FsError:
    """`FS_NOT_REGULAR_FILE`: nothing is there, and the path ends in a slash, so that only a directory could be made."""
    message = f"`{path}/` asks for a directory, only regular files have content"
    detail = NotRegularFileDetail(FileKind.UNSPECIFIED)
    return FsError(FsErrorCode.FS_NOT_REGULAR_FILE, message, path, detail)


def not_text(path: str, byte_offset: int, is_nul: bool, encoding: TextEncoding) -> FsError:
    """`FS_NOT_TEXT`: a NUL, or no UTF-8, from `byte_offset` on; `encoding` where the first bytes name one."""
    name = _ENCODING_NAMES.get(encoding, "")
    if name:
        message = f"`{path}` seems to be {name}, only UTF-8 is text here"
    elif is_nul:
        message = f"`{path}` has a NUL byte at offset {byte_offset}, it is no text"
    else:
        message = f"`{path}` is not UTF-8 from offset {byte_offset} on, it is no text"
    return FsError(FsErrorCode.FS_NOT_TEXT, message, path, NotTextDetail(byte_offset, encoding, name))


def leaves_roots(path: str) -> FsError:
    """`FS_SANDBOX_DENIED`: the path leaves the roots. `path` is as asked, never where a link led."""
    message = f"`{path}` leads out of the roots, only paths beneath a root are served"
    return FsError(FsErrorCode.FS_SANDBOX_DENIED, message, path, SandboxDetail("roots"))


def protected(path: str, rule: str) -> FsError:
    """`FS_SANDBOX_DENIED`: a protected pattern forbids the change."""
    message = f"`{path}` is protected by the rule `{rule}`, it can be read and not changed"
    return FsError(FsErrorCode.FS_SANDBOX_DENIED, message, path, SandboxDetail(rule))


def not_writable(path: str) -> FsError:
    """`FS_PERMISSION_DENIED`: the file has no write bit, or the provider may not write it."""
    return FsError(FsErrorCode.FS_PERMISSION_DENIED, f"`{path}` is not writable", path)


def not_readable(path: str) -> FsError:
    """`FS_PERMISSION_DENIED`: the file, or a directory on the way, may not be read."""
    return FsError(FsErrorCode.FS_PERMISSION_DENIED, f"`{path}` is not readable", path)


def not_observed(path: str, kind: FileKind, size: int, is_text: bool | None) -> FsError:
    """`FS_NOT_OBSERVED`: something stands where only a creation was allowed."""
    message = f"`{path}` is there already, and it was not seen before"
    return FsError(FsErrorCode.FS_NOT_OBSERVED, message, path, NotObservedDetail(kind, size, is_text))


def stale(path: str, expected: str | None, actual: str | None) -> FsError:
    """`FS_STALE_VERSION`: not `expected` (any content when `None`) is there but `actual` (nothing when `None`)."""
    if expected is None:
        message = f"`{path}` is not there, only an existing file can be edited"
    elif actual is None:
        message = f"`{path}` is not what was seen last, it is gone"
    else:
        message = f"`{path}` is not what was seen last, its content changed"
    return FsError(FsErrorCode.FS_STALE_VERSION, message, path, StaleVersionDetail(expected or "", actual))


def too_large(path: str, limit: LimitKind, limit_bytes: int, size_bytes: int) -> FsError:
    """`FS_TOO_LARGE`: `size_bytes` exceed a limit."""
    name = limit.name.lower()
    what = f" of `{path}`" if path else ""
    message = f"{size_bytes} bytes{what} exceed the limit `{name}` of {limit_bytes} bytes"
    return FsError(FsErrorCode.FS_TOO_LARGE, message, path, TooLargeDetail(name, limit, limit_bytes, size_bytes))


def invalid_argument(field: str, actual: str, expected: str, path: str = "") -> FsError:
    """`FS_INVALID_ARGUMENT`: what `field` was, of text its type only, and what it must be."""
    message = f"`{field}` was {actual}, it must be {expected}"
    detail = InvalidArgumentDetail(field, actual, expected)
    return FsError(FsErrorCode.FS_INVALID_ARGUMENT, message, path, detail)


def ambiguous_edit(path: str, match_count: int, lines: tuple[int, ...]) -> FsError:
    """`FS_AMBIGUOUS_EDIT`: `old_string` occurs several times; `lines` are where the first 20 start."""
    message = f"`old_string` occurs {match_count} times: make it longer so that it occurs once, or set `replace_all`"
    return FsError(FsErrorCode.FS_AMBIGUOUS_EDIT, message, path, AmbiguousEditDetail(match_count, lines))


def edit_not_found(path: str, near_misses: tuple[NearMiss, ...], stopped: SearchStopReason) -> FsError:
    """`FS_EDIT_NOT_FOUND`: `old_string` does not occur; `stopped` is why the search for near misses ended early."""
    message = "`old_string` does not occur in the file"
    if len(near_misses) == 1:
        message += "; 1 place nearly matches"
    elif near_misses:
        message += f"; {len(near_misses)} places nearly match"
    detail = EditNotFoundDetail(near_misses, stopped is not SearchStopReason.UNSPECIFIED, stopped)
    return FsError(FsErrorCode.FS_EDIT_NOT_FOUND, message, path, detail)


def unsupported(message: str, path: str = "") -> FsError:
    """`FS_UNSUPPORTED`: the provider cannot do this at all."""
    return FsError(FsErrorCode.FS_UNSUPPORTED, message, path)


def keeps_changing(path: str) -> FsError:
    """`FS_UNAVAILABLE`: somebody else kept changing the path while the call tried."""
    message = f"`{path}` kept changing while the call tried"
    detail = UnavailableDetail(UnavailableCause.KEEPS_CHANGING, "somebody else keeps changing the path")
    return FsError(FsErrorCode.FS_UNAVAILABLE, message, path, detail)


def aborted(cause: AbortCause) -> FsError:
    """`FS_ABORTED`: the call was given up before anything changed."""
    message = {
        AbortCause.DEADLINE_EXCEEDED: "the call ran out of time before anything changed",
        AbortCause.DRAINING: "the server is shutting down, nothing changed",
    }.get(cause, "the call was cancelled before anything changed")
    return FsError(FsErrorCode.FS_ABORTED, message, detail=AbortedDetail(cause))
