"""What the client that blocks needs of threads and of `grpc`."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, wait
from typing import Annotated, Any, Protocol, TypeVar, cast

import grpc

from toolfs._backend import OutOfTime
from toolfs.target import Target
from toolfs.v1 import event_pb2_grpc, session_pb2_grpc, tool_pb2_grpc

_Result = TypeVar("_Result")
_Request = TypeVar("_Request", contravariant=True)
_Response = TypeVar("_Response", covariant=True)

Metadata = tuple[tuple[str, str], ...] | None

Token = str | Callable[[], str] | None
"""A bearer token, or what returns one: called for each attempt, in a thread of its own, for as long as the call has."""


Stream = Generator[_Result, None, None]
"""A generator that can be left early, and is then to be closed."""


class Method(Protocol[_Request, _Response]):
    """A unary method of a stub."""

    def __call__(self, request: _Request, *, timeout: float, metadata: Metadata) -> _Response: ...


class Stubs:
    """A channel and the stubs over it."""

    def __init__(self, target: Target) -> None:
        credentials = target.credentials()
        if credentials is None:
            self.channel = grpc.insecure_channel(target.uri, options=target.options())
        else:
            self.channel = grpc.secure_channel(target.uri, credentials, options=target.options())
        self.tools = tool_pb2_grpc.ToolServiceStub(self.channel)
        self.sessions = session_pb2_grpc.SessionServiceStub(self.channel)
        self.events = event_pb2_grpc.EventServiceStub(self.channel)

    def close(self) -> None:
        """Closes the channel. Calls on the way are cancelled."""
        self.channel.close()

    def abandon(self) -> None:
        """Closes the channel where nobody can wait."""
        self.channel.close()


def owner() -> object:
    """Whom a channel made now belongs to: the process, as every one."""
    return None


def is_gone(owner: object) -> bool:
    """Whether the owner has ended: the process has not."""
    return False


def is_connected(channel: grpc.Channel) -> bool:
    """Whether the channel has a connection just now."""
    told = threading.Event()
    states: list[grpc.ChannelConnectivity] = []

    def tell(state: grpc.ChannelConnectivity) -> None:
        states.append(state)
        told.set()

    # The state can only be had by a subscription, whose first news is the present one.
    channel.subscribe(tell)
    try:
        return told.wait(1.0) and states[0] is grpc.ChannelConnectivity.READY
    finally:
        channel.unsubscribe(tell)


CLOSED = (ValueError,)
"""What calls end with whose channel is closed under them."""


def is_cancelled() -> bool:
    """Whether somebody cancelled the caller: nobody can."""
    return False


def sleep(seconds: float) -> None:
    """Waits."""
    time.sleep(seconds)


def bearer(token: Token, timeout: float) -> object:
    """The token. Raises `OutOfTime` if it does not come within so many seconds, and what its function raises."""
    if not callable(token):
        return token
    coming = Future[object]()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            coming.set_result(context.run(token))
        except BaseException as error:
            coming.set_exception(error)

    # Nothing can interrupt a function, so it is left behind, and keeps no process alive.
    threading.Thread(target=work, name="toolfs-token", daemon=True).start()
    wait((coming,), min(timeout, threading.TIMEOUT_MAX))
    if not coming.done():
        raise OutOfTime
    return coming.result()


def apart(work: Callable[[], _Result]) -> _Result:
    """Runs what blocks: here, where everything does."""
    return work()


def cancel(call: Any) -> None:
    """Ends a stream, if it has not ended."""
    call.cancel()


def events(call: Any) -> Iterator[Any]:
    """The messages of a stream."""
    return cast("Iterator[Any]", call)


Opening = Annotated[_Result, "made at once"]
"""Something that was made: by then it is there."""


def opening(made: _Result) -> _Result:
    """What was made is there."""
    return made
