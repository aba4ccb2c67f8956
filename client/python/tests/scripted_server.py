"""A gRPC server that answers as a test tells it to, and keeps what it was asked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
from google.protobuf import any_pb2, duration_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2

from toolfs.v1 import error_pb2, session_pb2, tool_pb2, types_pb2

OPEN = "/toolfs.v1.SessionService/OpenSession"
GET = "/toolfs.v1.SessionService/GetSession"
LIST = "/toolfs.v1.SessionService/ListSessions"
CLOSE = "/toolfs.v1.SessionService/CloseSession"
FORGET = "/toolfs.v1.SessionService/ForgetObservations"
TOOLS = "/toolfs.v1.ToolService/ListTools"
CAPABILITIES = "/toolfs.v1.ToolService/GetCapabilities"
EXECUTE = "/toolfs.v1.ToolService/Execute"

_REQUESTS: dict[str, Any] = {
    OPEN: session_pb2.OpenSessionRequest,
    GET: session_pb2.GetSessionRequest,
    LIST: session_pb2.ListSessionsRequest,
    CLOSE: session_pb2.CloseSessionRequest,
    FORGET: session_pb2.ForgetObservationsRequest,
    TOOLS: tool_pb2.ListToolsRequest,
    CAPABILITIES: tool_pb2.GetCapabilitiesRequest,
    EXECUTE: tool_pb2.ExecuteRequest,
}

READ = tool_pb2.ReadOutcome(
    path="/workspace/a.txt",
    offset=1,
    line_count=1,
    total_lines=1,
    partial_view=False,
    stop_reason=types_pb2.READ_STOP_REASON_END_OF_FILE,
    size=2,
    version="b3-1",
    line_endings=types_pb2.LINE_ENDINGS_LF,
    ends_with_newline=True,
    bom=False,
)
WRITE = tool_pb2.WriteOutcome(
    path="/workspace/a.txt", operation=types_pb2.WRITE_OPERATION_CREATE, size=1, version="b3-2"
)
EDIT = tool_pb2.EditOutcome(path="/workspace/a.txt", replacements=1, replace_all=False, version="b3-3")


@dataclass(frozen=True)
class Fails:
    """An answer that is a status."""

    code: grpc.StatusCode = grpc.StatusCode.UNAVAILABLE
    message: str = "not now"
    reason: str | None = None
    retry_delay: float | None = None
    fs_error: error_pb2.FsError | None = None

    def metadata(self) -> tuple[tuple[str, bytes], ...]:
        details: list[Message] = []
        if self.reason is not None:
            details.append(error_details_pb2.ErrorInfo(reason=self.reason, domain="toolfs"))
        if self.retry_delay is not None:
            delay = duration_pb2.Duration()
            delay.FromNanoseconds(round(self.retry_delay * 1e9))
            details.append(error_details_pb2.RetryInfo(retry_delay=delay))
        if self.fs_error is not None:
            details.append(self.fs_error)
        status = status_pb2.Status(code=self.code.value[0], message=self.message)
        for detail in details:
            packed = any_pb2.Any()
            packed.Pack(detail)
            status.details.append(packed)
        return (("grpc-status-details-bin", status.SerializeToString()),) if details else ()


def fs_error(
    reason: str = "FS_UNAVAILABLE", *, retryable: bool = True, published: int = types_pb2.PUBLISHED_NO
) -> error_pb2.FsError:
    """An error of a tool; its code is 0 where this contract has none of that name."""
    code = error_pb2.FsErrorCode.Value(reason) if reason in error_pb2.FsErrorCode.keys() else 0
    return error_pb2.FsError(
        code=error_pb2.FsErrorCode.Name(code),  # type: ignore[arg-type]
        reason=reason,
        message="it is so",
        retryable=retryable,
        published=types_pb2.Published.Name(published),  # type: ignore[arg-type]
    )


def refusal(error: error_pb2.FsError | None = None) -> tool_pb2.ExecuteResponse:
    """The answer of a tool that refused."""
    return tool_pb2.ExecuteResponse(
        is_error=True,
        dry_run=False,
        error=fs_error() if error is None else error,
        content=[tool_pb2.ContentBlock(text="what the model reads")],
    )


Answer = Message | Fails | Callable[[Any], Any]


@dataclass
class Script:
    """What is answered, by method: the answers in their order, then what always is."""

    answers: dict[str, list[Answer]] = field(default_factory=dict)
    asked: list[tuple[str, Any, dict[str, str]]] = field(default_factory=list)
    """Every call in its order: the method, the message, and the metadata."""
    left: list[float | None] = field(default_factory=list)
    """How many seconds each call still had when it came."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def requests(self, method: str) -> list[Any]:
        """The messages that a method got."""
        return [request for name, request, _ in self.asked if name == method]

    def answer(self, method: str, request: Any, context: grpc.ServicerContext) -> Any:
        with self.lock:
            metadata = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
            self.asked.append((method, request, metadata))
            self.left.append(context.time_remaining())
            listed = self.answers.get(method, [])
            answer = listed.pop(0) if listed else _usual(method, request)
        if callable(answer) and not isinstance(answer, (Message, Fails)):
            answer = answer(request)
        if isinstance(answer, Fails):
            context.set_trailing_metadata(answer.metadata())
            context.abort(answer.code, answer.message)
        return answer


def _usual(method: str, request: Any) -> Any:
    if method == OPEN:
        return session_pb2.OpenSessionResponse(session_id="secret-id", session=session_pb2.Session(name="session-1"))
    if method == GET:
        return session_pb2.GetSessionResponse(session=session_pb2.Session(name="session-1"))
    if method == EXECUTE:
        outcomes: dict[str, Any] = {"read": {"read": READ}, "write": {"write": WRITE}, "edit": {"edit": EDIT}}
        arm = request.WhichOneof("call")
        return tool_pb2.ExecuteResponse(
            request_id=request.request_id,
            tool_call_id=request.tool_call_id,
            dry_run=request.dry_run,
            is_error=False,
            content=[tool_pb2.ContentBlock(text="done")],
            **outcomes[request.json.name if arm == "json" else arm],
        )
    if method == CAPABILITIES:
        return remembering()
    empty: dict[str, Any] = {
        LIST: session_pb2.ListSessionsResponse,
        CLOSE: session_pb2.CloseSessionResponse,
        FORGET: session_pb2.ForgetObservationsResponse,
        TOOLS: tool_pb2.ListToolsResponse,
    }
    return empty[method]()


def remembering() -> tool_pb2.GetCapabilitiesResponse:
    """The capabilities of a server that remembers results."""
    return tool_pb2.GetCapabilitiesResponse(request_id_window=duration_pb2.Duration(seconds=3600))


def forgetful() -> tool_pb2.GetCapabilitiesResponse:
    """The capabilities of a server that does not."""
    return tool_pb2.GetCapabilitiesResponse()


class _Handler(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    def __init__(self, script: Script) -> None:
        self._script = script

    def service(self, call: Any) -> Any:
        method = call.method
        if method not in _REQUESTS:
            return None
        return grpc.unary_unary_rpc_method_handler(
            lambda request, context: self._script.answer(method, request, context),
            request_deserializer=_REQUESTS[method].FromString,
            response_serializer=lambda message: message.SerializeToString(),
        )


@contextmanager
def serving(
    script: Script,
    *,
    credentials: grpc.ServerCredentials | None = None,
    address: str = "127.0.0.1:0",
    first: Any = None,
) -> Iterator[str]:
    """Serves a script; gives its address. `first` is a handler that is asked before it."""
    server = grpc.server(
        futures.ThreadPoolExecutor(8),
        handlers=[*([] if first is None else [first]), _Handler(script)],
        options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
    )
    if credentials is None:
        port = server.add_insecure_port(address)
    else:
        port = server.add_secure_port(address, credentials)
    server.start()
    try:
        yield address if address.startswith("unix:") else f"{address.rpartition(':')[0]}:{port}"
    finally:
        server.stop(None).wait()
