"""The one way from an error to a gRPC status: its code, `google.rpc.ErrorInfo`, and the `FsError` cut to fit.

Peers accept headers of 8 KiB. The message travels percent-encoded, the details as base64 and with a second copy of the
message; the bounds here leave room for all of it. What is cut is cut between two characters, and marked.
"""

from __future__ import annotations

import dataclasses
from enum import IntEnum
from typing import Any, NamedTuple

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

from toolfs import detail as details
from toolfs.enums import AbortCause
from toolfs.error import ERROR_DOMAIN, FsErrorCode
from toolfs.provider.error import CallRefused, FsError
from toolfs.v1 import error_pb2

MAX_DETAILS_BYTES = 4_500
"""Bytes of a status's encoded details."""

_MAX_MESSAGE_BYTES = 400
_MAX_WORD_BYTES = 160
_CUT = "…"

# How long path, message and the texts of the detail may be, one step after the other, until the error fits.
_STEPS = ((1_024, 400, 200), (1_024, 400, 100), (512, 400, 60), (256, 200, 60), (256, 200, 30), (128, 128, 15))

# How many of a list travel. Our own errors keep these bounds.
_MAX_ITEMS = {"similar_names": 3, "near_misses": 3, "reasons": 10}
_MAX_LINES = {"AmbiguousEditDetail": 20, "NearMiss": 5}

_GRPC_CODES = {
    FsErrorCode.FS_NOT_FOUND: grpc.StatusCode.NOT_FOUND,
    FsErrorCode.FS_NOT_DIRECTORY: grpc.StatusCode.FAILED_PRECONDITION,
    FsErrorCode.FS_NOT_REGULAR_FILE: grpc.StatusCode.FAILED_PRECONDITION,
    FsErrorCode.FS_NOT_TEXT: grpc.StatusCode.FAILED_PRECONDITION,
    FsErrorCode.FS_TOO_LARGE: grpc.StatusCode.FAILED_PRECONDITION,
    FsErrorCode.FS_OUT_OF_RANGE: grpc.StatusCode.OUT_OF_RANGE,
    FsErrorCode.FS_PERMISSION_DENIED: grpc.StatusCode.PERMISSION_DENIED,
    FsErrorCode.FS_SANDBOX_DENIED: grpc.StatusCode.PERMISSION_DENIED,
    FsErrorCode.FS_NO_SPACE: grpc.StatusCode.RESOURCE_EXHAUSTED,
    FsErrorCode.FS_IO_ERROR: grpc.StatusCode.INTERNAL,
    FsErrorCode.FS_STALE_VERSION: grpc.StatusCode.ABORTED,
    FsErrorCode.FS_NOT_OBSERVED: grpc.StatusCode.FAILED_PRECONDITION,
    FsErrorCode.FS_AMBIGUOUS_EDIT: grpc.StatusCode.FAILED_PRECONDITION,
    FsErrorCode.FS_EDIT_NOT_FOUND: grpc.StatusCode.FAILED_PRECONDITION,
    FsErrorCode.FS_INVALID_ARGUMENT: grpc.StatusCode.INVALID_ARGUMENT,
    FsErrorCode.FS_UNSUPPORTED: grpc.StatusCode.UNIMPLEMENTED,
    FsErrorCode.FS_UNAVAILABLE: grpc.StatusCode.UNAVAILABLE,
    FsErrorCode.FS_ABORTED: grpc.StatusCode.CANCELLED,
}

# The arm of `FsError.detail` that a class of details belongs to.
_ARMS: dict[type[Any], str] = {
    details.NotFoundDetail: "not_found",
    details.NotRegularFileDetail: "not_regular_file",
    details.NotTextDetail: "not_text",
    details.TooLargeDetail: "too_large",
    details.OutOfRangeDetail: "out_of_range",
    details.SandboxDetail: "sandbox",
    details.StaleVersionDetail: "stale_version",
    details.NotObservedDetail: "not_observed",
    details.AmbiguousEditDetail: "ambiguous_edit",
    details.EditNotFoundDetail: "edit_not_found",
    details.InvalidArgumentDetail: "invalid_argument",
    details.UnavailableDetail: "unavailable",
    details.AbortedDetail: "aborted",
}


class Status(NamedTuple):
    """What a call ends with: code, message, and the value of `grpc-status-details-bin`."""

    code: grpc.StatusCode
    message: str
    details: bytes


def of_fs_error(error: FsError) -> Status:
    """The status of an error of the work."""
    code = _GRPC_CODES[error.code]
    if isinstance(error.detail, details.AbortedDetail) and error.detail.cause is AbortCause.DEADLINE_EXCEEDED:
        code = grpc.StatusCode.DEADLINE_EXCEEDED
    return _build(code, error.code.value, f"{error.code}: {error.message}", _words(error), message_of(error))


def of_refused(refused: CallRefused) -> Status:
    """The status of a mistake of the caller."""
    return _build(grpc.StatusCode.INVALID_ARGUMENT, refused.reason.value, refused.message, {}, None)


def of_mistake() -> Status:
    """The status of a mistake in the provider or gate, whose cause only its log tells."""
    message = "the service made a mistake: its log tells more"
    return _build(grpc.StatusCode.INTERNAL, "INTERNAL", message, {}, None)


def message_of(error: FsError) -> error_pb2.FsError:
    """The error as a message of the contract, whole, without a remedy."""
    message = error_pb2.FsError(
        code=error_pb2.FsErrorCode.Value(error.code.value),
        reason=error.code.value,
        message=error.message,
        path=error.path,
        retryable=error.retryable,
        published=int(error.published),  # type: ignore[arg-type]
        rescue_path=error.rescue_path,
        detail_truncated=False,
    )
    if error.detail is not None:
        arm = getattr(message, _ARMS[type(error.detail)])
        arm.SetInParent()
        _fill(arm, error.detail)
    return message


def _fill(message: Any, value: Any) -> None:
    """Sets the fields of a message from the equally named ones of a dataclass; `None` stays unset."""
    for field in dataclasses.fields(value):
        part = getattr(value, field.name)
        if part is None:
            continue
        if not isinstance(part, tuple):
            setattr(message, field.name, int(part) if isinstance(part, IntEnum) else part)
        elif part and dataclasses.is_dataclass(part[0]):
            for item in part:
                _fill(getattr(message, field.name).add(), item)
        else:
            getattr(message, field.name).extend(int(item) if isinstance(item, IntEnum) else item for item in part)


def _words(error: FsError) -> dict[str, str]:
    """The dynamic words of the message by name: what a program may want without the whole error."""
    words = {"path": error.path, "rescue_path": error.rescue_path}
    if error.detail is not None:
        for field in dataclasses.fields(error.detail):
            part = getattr(error.detail, field.name)
            if isinstance(part, bool):
                words[field.name] = "true" if part else "false"
            elif isinstance(part, IntEnum):
                words[field.name] = part.name.lower()
            elif isinstance(part, (int, str)):
                words[field.name] = str(part)
    return {name: word for name, word in words.items() if word}


def _build(
    code: grpc.StatusCode, reason: str, message: str, words: dict[str, str], error: error_pb2.FsError | None
) -> Status:
    message = cut(message, _MAX_MESSAGE_BYTES)
    metadata = {name: cut(word, _MAX_WORD_BYTES) for name, word in words.items()}
    info = error_details_pb2.ErrorInfo(reason=reason, domain=ERROR_DOMAIN, metadata=metadata)
    status = status_pb2.Status(code=code.value[0], message=message, details=[_any("google.rpc.ErrorInfo", info)])
    if error is not None:
        error = _fitted(error, MAX_DETAILS_BYTES - status.ByteSize())
        status.details.append(_any("toolfs.v1.FsError", error))
    return Status(code, message, status.SerializeToString())


def _any(name: str, message: Any) -> any_pb2.Any:
    return any_pb2.Any(type_url=f"type.googleapis.com/{name}", value=message.SerializeToString())


def _fitted(error: error_pb2.FsError, max_bytes: int) -> error_pb2.FsError:
    """The error within `max_bytes`; `detail_truncated` says whether something was lost."""
    if error.ByteSize() <= max_bytes:
        return error
    error.detail_truncated = True
    arm = error.WhichOneof("detail")
    for path_bytes, message_bytes, detail_bytes in _STEPS:
        error.path = cut(error.path, path_bytes)
        error.rescue_path = cut(error.rescue_path, path_bytes)
        error.message = cut(error.message, message_bytes)
        if arm is not None:
            _bound(getattr(error, arm), detail_bytes)
        if error.ByteSize() <= max_bytes:
            return error
    if arm is not None:
        error.ClearField(arm)
    return error


def _bound(message: Any, max_bytes: int) -> None:
    """Bounds the lists and the texts of a detail, but for versions: a cut version would be another one."""
    for descriptor, value in message.ListFields():
        name = descriptor.name
        if isinstance(value, str):
            if not name.endswith("_version"):
                setattr(message, name, cut(value, max_bytes))
        elif hasattr(value, "__len__"):
            most = _MAX_LINES.get(message.DESCRIPTOR.name) if name == "lines" else _MAX_ITEMS.get(name)
            if most is not None:
                del value[most:]
            for index, item in enumerate(value):
                if isinstance(item, str):
                    value[index] = cut(item, max_bytes)
                elif hasattr(item, "DESCRIPTOR"):
                    _bound(item, max_bytes)


def cut(text: str, max_bytes: int) -> str:
    """The text in at most `max_bytes` of UTF-8, the mark of the cut included."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= max_bytes:
        return text
    room = max_bytes - len(_CUT.encode())
    return raw[:room].decode("utf-8", "ignore") + _CUT
