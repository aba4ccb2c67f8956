"""The errors: one base, and one class per place where a call can end.

- `ToolError`: the tool refused or failed; what a model would have read as an error
- `CallError`: the call ended in a gRPC status: a mistake of the caller, or the transport
- `ConnectError`: the server could not be reached at all: no attempt was sent
- `ArgumentError`: the call was not sent, since an argument cannot be
- `ProtocolError`: the answer breaks the contract
- `LocalServerError`: a server of one's own could not be found or started

Codes survive a server that is newer than this package: they keep its spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2

from toolfs.content import ContentBlock, text_of
from toolfs.detail import Detail, decode_detail
from toolfs.enums import Published
from toolfs.v1 import error_pb2

if TYPE_CHECKING:
    from toolfs.outcome import Outcome

ERROR_DOMAIN = "toolfs"
"""The domain in `google.rpc.ErrorInfo` of every reason of the contract."""

_DETAILS_KEY = "grpc-status-details-bin"


class FsErrorCode(str, Enum):
    """The stable codes of a tool's error, equal to their spelling on the wire."""

    FS_NOT_FOUND = "FS_NOT_FOUND"
    FS_NOT_DIRECTORY = "FS_NOT_DIRECTORY"
    FS_NOT_REGULAR_FILE = "FS_NOT_REGULAR_FILE"
    FS_NOT_TEXT = "FS_NOT_TEXT"
    FS_TOO_LARGE = "FS_TOO_LARGE"
    FS_OUT_OF_RANGE = "FS_OUT_OF_RANGE"
    FS_PERMISSION_DENIED = "FS_PERMISSION_DENIED"
    FS_SANDBOX_DENIED = "FS_SANDBOX_DENIED"
    FS_NO_SPACE = "FS_NO_SPACE"
    FS_IO_ERROR = "FS_IO_ERROR"
    FS_STALE_VERSION = "FS_STALE_VERSION"
    FS_NOT_OBSERVED = "FS_NOT_OBSERVED"
    FS_AMBIGUOUS_EDIT = "FS_AMBIGUOUS_EDIT"
    FS_EDIT_NOT_FOUND = "FS_EDIT_NOT_FOUND"
    FS_INVALID_ARGUMENT = "FS_INVALID_ARGUMENT"
    FS_UNSUPPORTED = "FS_UNSUPPORTED"
    FS_UNAVAILABLE = "FS_UNAVAILABLE"
    FS_ABORTED = "FS_ABORTED"

    def __str__(self) -> str:
        return self.value


class ToolfsError(Exception):
    """The base of every error of this package."""

    @property
    def retryable(self) -> bool:
        """Whether the same call, with nothing done in between by its caller, may succeed."""
        return False


class ToolError(ToolfsError):
    """A refusal or failure of a tool: what is wrong, and what to do next."""

    def __init__(
        self,
        raw: error_pb2.FsError,
        content: Iterable[ContentBlock] = (),
        outcome: Outcome | None = None,
    ) -> None:
        self.raw = raw
        """The whole message of the contract."""
        self.content = tuple(content)
        """What the model would read. Empty where the error came with a status."""
        self.outcome = outcome
        """What was published, in the one case that an effect is there and could not be made durable."""
        super().__init__(str(self))

    @property
    def code(self) -> FsErrorCode | str:
        """The code; the server's own spelling where this package does not know it."""
        try:
            return FsErrorCode(self.reason)
        except ValueError:
            return self.reason

    @property
    def reason(self) -> str:
        """The code as the server spells it."""
        if not self.raw.reason and self.raw.code in error_pb2.FsErrorCode.values():
            return error_pb2.FsErrorCode.Name(self.raw.code)
        return self.raw.reason

    @property
    def message(self) -> str:
        """What is wrong: one sentence for people."""
        return self.raw.message

    @property
    def path(self) -> str:
        """The path as it was asked for; empty when the error is about none."""
        return self.raw.path

    @property
    def remedy(self) -> str:
        """What to do next, addressed to the model. Empty where the error came with a status."""
        return self.raw.remedy

    @property
    def retryable(self) -> bool:
        """Whether the same call, with nothing done in between by its caller, may succeed."""
        return self.raw.retryable

    @property
    def published(self) -> Published:
        """Whether the effect is there."""
        return Published(self.raw.published)

    @property
    def rescue_path(self) -> str:
        """Where displaced content was kept; empty when none had to be."""
        return self.raw.rescue_path

    @property
    def detail(self) -> Detail | None:
        """The facts for programs; `None` where the code has none, or none that this package knows."""
        return decode_detail(self.raw)

    @property
    def text(self) -> str:
        """What the model would read, as one text."""
        return text_of(self.content)

    def __str__(self) -> str:
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{self.reason}: {self.message}{remedy}"

    def __repr__(self) -> str:
        return f"ToolError({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (ToolError, (self.raw, self.content, self.outcome))


class CallError(ToolfsError):
    """A call that ended in a gRPC status instead of a result."""

    def __init__(
        self,
        status: grpc.StatusCode,
        message: str,
        reason: str | None = None,
        fs_error: ToolError | None = None,
        retry_delay: float | None = None,
    ) -> None:
        self.status = status
        """The gRPC status code."""
        self.message = message
        """What is wrong, for people."""
        self.reason = reason
        """Why, as the server spells it (`SESSION_NOT_FOUND`); `None` where it was not the server that told."""
        self.fs_error = fs_error
        """The error that travels with the status, its detail perhaps cut to fit: that of a `cwd` that does not exist,
        or of a call out of time, which tells whether its effect may be there."""
        self.retry_delay = retry_delay
        """How many seconds the server asks to wait before the call is sent again."""
        self.attempts = 1
        """How often the call was sent, or may have been: 0 where its time was over before."""
        self.maybe_published = False
        """Whether the effect of a mutation may be there: an attempt was sent, or may have been, and nothing that came
        back says that it changed nothing. Look before you make the call again, or make it under the same `request_id`
        in the same session. Never so for reads, dry runs, and what is the same done twice."""
        self.request_id = ""
        """The id under which a tool call was sent, in each attempt. Empty where the call was none of a tool."""
        super().__init__(str(self))

    @property
    def retryable(self) -> bool:
        """Whether the same call, with nothing done in between by its caller, may succeed. Never so where its effect may
        be there already: under another `request_id` it could take effect twice."""
        if self.maybe_published:
            return False
        if self.fs_error is not None:
            return self.fs_error.retryable
        return self.status is grpc.StatusCode.UNAVAILABLE

    def __str__(self) -> str:
        why = self.reason or self.status.name
        return self.message if self.message.startswith(why) else f"{why}: {self.message}"

    def __repr__(self) -> str:
        return f"CallError({str(self)!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        made_of = (self.status, self.message, self.reason, self.fs_error, self.retry_delay)
        known = {name: getattr(self, name) for name in ("attempts", "maybe_published", "request_id")}
        return (CallError, made_of, known)


class ConnectError(ToolfsError):
    """The server could not be reached: the call was never sent, in no attempt."""

    def __init__(self, address: str, message: str) -> None:
        self.address = address
        """The address as given."""
        self.message = message
        """Why, as the transport told it."""
        super().__init__(address, message)

    @property
    def retryable(self) -> bool:
        """Always: nothing was sent."""
        return True

    def __str__(self) -> str:
        return f"cannot connect to `{self.address}`: {self.message}"


class ArgumentError(ToolfsError, ValueError):
    """An argument that cannot be sent or used. Nothing was sent."""

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        """The argument's name."""
        self.message = message
        """What is wrong with it, as a sentence whose subject is the name."""
        super().__init__(field, message)

    def __str__(self) -> str:
        return f"`{self.field}` {self.message}"


class ProtocolError(ToolfsError):
    """The server answered something that the contract does not allow."""


class LocalServerError(ToolfsError):
    """A server of one's own could not be found, or did not start."""


def call_error(
    status: grpc.StatusCode,
    message: str | None,
    trailing_metadata: Iterable[tuple[str, str | bytes]] | None,
) -> CallError:
    """Reads a gRPC status with the details in its trailers; details that cannot be read are left out."""
    reason: str | None = None
    fs_error: ToolError | None = None
    retry_delay: float | None = None
    for detail in _details(trailing_metadata or ()):
        if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
            info = error_details_pb2.ErrorInfo()
            if _unpacked(detail, info) and info.domain == ERROR_DOMAIN:
                reason = info.reason
        elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
            retry = error_details_pb2.RetryInfo()
            if _unpacked(detail, retry) and retry.HasField("retry_delay"):
                retry_delay = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
        elif detail.Is(error_pb2.FsError.DESCRIPTOR):
            raw = error_pb2.FsError()
            if _unpacked(detail, raw):
                fs_error = ToolError(raw)
    if reason is None and status is grpc.StatusCode.DEADLINE_EXCEEDED:
        # The transport's own timer ended the call: it means the same.
        reason = "DEADLINE_EXCEEDED"
    return CallError(status, message or "", reason, fs_error, retry_delay)


def _details(metadata: Iterable[tuple[str, str | bytes]]) -> Sequence[Any]:
    for key, value in metadata:
        if key == _DETAILS_KEY and isinstance(value, bytes):
            try:
                return list(status_pb2.Status.FromString(value).details)
            except DecodeError:
                return ()
    return ()


def _unpacked(detail: Any, message: Any) -> bool:
    try:
        return bool(detail.Unpack(message))
    except DecodeError:
        return False
