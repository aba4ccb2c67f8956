"""What is asked of a provider, read from the messages of the contract.

A field that is missing, or that no value can be made of, is refused here by its name. What a value means is the
provider's to judge.
"""

from __future__ import annotations

from typing import TypeVar

from toolfs.provider import refusal
from toolfs.provider.edit import same_text
from toolfs.provider.error import CallReason, CallRefused, FsError
from toolfs.provider.guard import CreateIfAbsent, EditGuard, ReplaceIfVersion, Unconditional, WriteGuard
from toolfs.provider.value import ByteRange, EditText, Limits, LineWindow, ResolveRequest
from toolfs.v1 import filesystem_pb2, types_pb2

_MAX_VERSION_CHARS = 128
_LINE_OVERHEAD_BYTES = 32

_Value = TypeVar("_Value")


def target_key(key: bytes, field: str = "target_key") -> bytes:
    """The target of a request."""
    if not key:
        raise absent(field, "the key of a resolved target")
    return key


def resolve_request(request: filesystem_pb2.ResolveRequest | filesystem_pb2.LstatRequest) -> ResolveRequest:
    """A path that is to be resolved or looked at."""
    location = request.WhichOneof("location")
    if location is None:
        raise absent("path", "`path` or `raw_path`")
    path = request.path.encode() if location == "path" else request.raw_path
    directory = request.WhichOneof("directory")
    if directory is None:
        return ResolveRequest(path)
    return ResolveRequest(path, request.cwd.encode() if directory == "cwd" else request.raw_cwd)


def line_window(request: filesystem_pb2.ReadLinesRequest, limits: Limits) -> LineWindow:
    """Which lines are asked for. A window is never wider than one message can carry."""
    most_lines = max(1, limits.max_message_bytes // 2 // _LINE_OVERHEAD_BYTES)
    widest_bytes = max(1, limits.max_message_bytes // 4)
    max_bytes = request.max_bytes if request.HasField("max_bytes") else limits.max_window_bytes
    max_line_chars = request.max_line_chars if request.HasField("max_line_chars") else limits.max_line_chars
    return LineWindow(
        _at_least("first_line", request.first_line if request.HasField("first_line") else 1, 1),
        min(_at_least("max_lines", request.max_lines if request.HasField("max_lines") else most_lines, 1), most_lines),
        min(_at_least("max_bytes", max_bytes, 1), widest_bytes),
        _at_least("max_line_chars", max_line_chars, 1),
    )


def byte_range(request: filesystem_pb2.ReadBytesRequest) -> ByteRange:
    """Which bytes are asked for."""
    length = _at_least("length", request.length, 0) if request.HasField("length") else None
    return ByteRange(_at_least("offset", request.offset, 0), length)


def edit_request(request: filesystem_pb2.EditTextRequest | filesystem_pb2.PlanEditRequest) -> EditText:
    """An edit, or a planned one."""
    target = target_key(request.target_key)
    guard = edit_guard(request.guard if request.HasField("guard") else None)
    if not request.HasField("old_string"):
        raise absent("old_string", "the text to replace")
    if not request.HasField("new_string"):
        raise absent("new_string", "the text to put in its place")
    old_string, new_string = request.old_string, request.new_string
    if not old_string:
        expected = "the text to replace; `write` sets the whole content of a file"
        raise refusal.invalid_argument("old_string", "an empty string", expected)
    if same_text(old_string, new_string):
        actual = "the same text as `old_string` (CRLF and LF are one line end)"
        raise refusal.invalid_argument("new_string", actual, "another text: this edit would change nothing")
    named = isinstance(request, filesystem_pb2.EditTextRequest) and request.HasField("operation_id")
    return EditText(
        target,
        old_string,
        new_string,
        request.replace_all,
        guard,
        request.want_diff,
        operation_id(request.operation_id) if named else None,  # type: ignore[union-attr]
    )


def write_guard(guard: types_pb2.WriteGuard | None) -> WriteGuard:
    """The guard of a write. One that is not known arrives without its condition: `GUARD_MISSING`."""
    condition = None if guard is None else guard.WhichOneof("condition")
    if guard is None or condition is None:
        raise _guard_missing("set `unconditional`, `create_if_absent` or `replace_if_version`")
    if condition == "unconditional":
        return Unconditional()
    if condition == "create_if_absent":
        return CreateIfAbsent()
    return ReplaceIfVersion(version(guard.replace_if_version, "replace_if_version"))


def edit_guard(guard: types_pb2.EditGuard | None) -> EditGuard:
    """The guard of an edit, as `write_guard`."""
    condition = None if guard is None else guard.WhichOneof("condition")
    if guard is None or condition is None:
        raise _guard_missing("set `unconditional` or `replace_if_version`")
    if condition == "unconditional":
        return Unconditional()
    return ReplaceIfVersion(version(guard.replace_if_version, "replace_if_version"))


def _guard_missing(what_to_do: str) -> CallRefused:
    message = f"the request has no guard that this server knows: {what_to_do}"
    return CallRefused(CallReason.GUARD_MISSING, message)


def version(text: str, field: str) -> str:
    """A version: `FS_INVALID_ARGUMENT` that names `field` for text that is none, and does not repeat it."""
    return _printable(field, text, "text that is no version")


def operation_id(text: str) -> str:
    """The name of an operation, by the same rule as a version."""
    return _printable("operation_id", text, "text that is no name")


def _printable(field: str, text: str, actual: str) -> str:
    if 1 <= len(text) <= _MAX_VERSION_CHARS and all("!" <= character <= "~" for character in text):
        return text
    expected = f"1 to {_MAX_VERSION_CHARS} printable ASCII characters without blanks"
    raise refusal.invalid_argument(field, actual if text else "empty", expected)


def absent(field: str, expected: str) -> FsError:
    """The refusal of a field that is missing."""
    return refusal.invalid_argument(field, "absent", expected)


def _at_least(field: str, value: int, least: int) -> int:
    if value < least:
        raise refusal.invalid_argument(field, str(value), f"{least} or more")
    return value
