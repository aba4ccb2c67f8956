"""Content that arrives in parts: one header, chunks, one trailer, and nothing after it.

Nothing of it reaches the provider until the whole has come and matches what was announced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from toolfs.enums import LimitKind
from toolfs.provider import decode, refusal
from toolfs.provider.guard import WriteGuard
from toolfs.provider.value import WriteText
from toolfs.v1 import filesystem_pb2

_Message = filesystem_pb2.WriteTextRequest | filesystem_pb2.PlanWriteRequest
_Header = filesystem_pb2.WriteTextHeader | filesystem_pb2.PlanWriteHeader


@dataclass(slots=True)
class _Open:
    """A write whose content is still coming."""

    target: bytes
    guard: WriteGuard
    size: int
    want_diff: bool
    operation_id: str | None
    content: bytearray = field(default_factory=bytearray, repr=False)
    is_whole: bool = False


def receive(messages: Iterable[_Message], max_bytes: int, check: Callable[[], None] = lambda: None) -> WriteText:
    """The whole write. `check` is called for each part, and may raise to give up.

    Raises `FS_INVALID_ARGUMENT` that names the part or the field, `GUARD_MISSING`, and `FS_TOO_LARGE` as soon as more
    than `max_bytes` are announced.
    """
    write: _Open | None = None
    for message in messages:
        check()
        part = message.WhichOneof("part")
        if write is not None and write.is_whole:
            raise refusal.invalid_argument(part or "part", "a part after the trailer", "absent: the trailer comes last")
        if part is None:
            raise decode.absent("part", "`header`, `chunk` or `trailer`")
        if write is None:
            if part != "header":
                raise refusal.invalid_argument(part, "the first part", "a part after the header, which comes first")
            write = _opened(message.header, max_bytes)
        elif part == "header":
            raise refusal.invalid_argument("header", "a second header", "one, which comes first")
        elif part == "chunk":
            _add(write, message.chunk)
        else:
            _close(write, message.trailer)
    if write is None:
        raise decode.absent("header", "the first part")
    if not write.is_whole:
        raise decode.absent("trailer", "the last part, with the SHA-256 of the content")
    return WriteText(write.target, bytes(write.content), write.guard, write.want_diff, write.operation_id)


def _opened(header: _Header, max_bytes: int) -> _Open:
    target = decode.target_key(header.target_key)
    guard = decode.write_guard(header.guard if header.HasField("guard") else None)
    if not header.HasField("size"):
        raise decode.absent("size", "the size of the content in bytes")
    if header.size < 0:
        raise refusal.invalid_argument("size", str(header.size), "0 or more")
    operation_id = None
    if isinstance(header, filesystem_pb2.WriteTextHeader) and header.HasField("operation_id"):
        operation_id = decode.operation_id(header.operation_id)
    if header.size > max_bytes:
        raise refusal.too_large("", LimitKind.MAX_CONTENT_BYTES, max_bytes, header.size)
    return _Open(target, guard, header.size, header.want_diff, operation_id)


def _add(write: _Open, chunk: bytes) -> None:
    if len(write.content) + len(chunk) > write.size:
        raise _another_size(write.size, "more")
    write.content += chunk


def _close(write: _Open, trailer: filesystem_pb2.WriteTrailer) -> None:
    if len(write.content) != write.size:
        raise _another_size(write.size, "fewer")
    if not trailer.HasField("sha256"):
        raise decode.absent("sha256", "the SHA-256 of the content")
    if len(trailer.sha256) != hashlib.sha256().digest_size:
        raise refusal.invalid_argument("sha256", f"{len(trailer.sha256)} bytes", "32 bytes")
    if trailer.sha256 != hashlib.sha256(write.content).digest():
        expected = "the SHA-256 of the content as it came"
        raise refusal.invalid_argument("sha256", "that of other content", expected)
    write.is_whole = True


def _another_size(announced: int, came: str) -> Exception:
    return refusal.invalid_argument("size", str(announced), f"the size of the content: {came} bytes came")
