"""What the asyncio client needs of asyncio and of `grpc.aio`."""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, cast

import grpc
import grpc.aio

from toolfs._backend import OutOfTime
from toolfs.target import Target
from toolfs.v1 import event_pb2_grpc, session_pb2_grpc, tool_pb2_grpc

if TYPE_CHECKING:
    from toolfs.v1.event_pb2_grpc import EventServiceAsyncStub
    from toolfs.v1.session_pb2_grpc import SessionServiceAsyncStub
    from toolfs.v1.tool_pb2_grpc import ToolServiceAsyncStub

_Result = TypeVar("_Result")
_Request = TypeVar("_Request", contravariant=True)
_Response = TypeVar("_Response", covariant=True)

Metadata = tuple[tuple[str, str], ...] | None

Token = str | Callable[[], str | Awaitable[str]] | None
"""A bearer token, or what returns one: called for each attempt, and awaited where it is a coroutine function.

It has the time that the call has. A plain function is called in the event loop, and must not hold that up.
"""


Stream = AsyncGenerator[_Result, None]
"""A generator that can be left early, and is then to be closed."""


class Method(Protocol[_Request, _Response]):
    """A unary method of a stub."""

    def __call__(self, request: _Request, *, timeout: float, metadata: Metadata) -> Awaitable[_Response]: ...


class Stubs:
    """A channel and the stubs over it."""

    def __init__(self, target: Target) -> None:
        credentials = target.credentials()
        if credentials is None:
            self.channel = grpc.aio.insecure_channel(target.uri, options=target.options())
        else:
            self.channel = grpc.aio.secure_channel(target.uri, credentials, options=target.options())
        # The stubs' classes are the same for both kinds of channels; their types are not.
        self.tools = cast("ToolServiceAsyncStub", tool_pb2_grpc.ToolServiceStub(self.channel))
        self.sessions = cast("SessionServiceAsyncStub", session_pb2_grpc.SessionServiceStub(self.channel))
        self.events = cast("EventServiceAsyncStub", event_pb2_grpc.EventServiceStub(self.channel))

    async def close(self) -> None:
        """Closes the channel. Calls on the way are cancelled."""
        await self.channel.close(None)

    def abandon(self) -> None:
        """Lets go of the channel where nobody can wait: it closes when it is collected, and nobody holds it now."""


def owner() -> object:
    """Whom a channel made now belongs to: the running loop."""
    return asyncio.get_running_loop()


def is_gone(owner: object) -> bool:
    """Whether the loop has ended, and with it every channel that belonged to it."""
    return cast(asyncio.AbstractEventLoop, owner).is_closed()


def is_connected(channel: grpc.aio.Channel) -> bool:
    """Whether the channel has a connection just now."""
    return channel.get_state() is grpc.ChannelConnectivity.READY


CLOSED = (asyncio.CancelledError, grpc.aio.UsageError)
"""What calls end with whose channel is closed under them."""


def is_cancelled() -> bool:
    """Whether it is the present task that somebody cancelled. Python 3.10 cannot tell, and is taken to say no."""
    task = asyncio.current_task()
    return sys.version_info >= (3, 11) and task is not None and task.cancelling() > 0


async def sleep(seconds: float) -> None:
    """Waits."""
    await asyncio.sleep(seconds)


async def bearer(token: Token, timeout: float) -> object:
    """The token. Raises `OutOfTime` if it does not come within so many seconds, and what its function raises."""
    value = token() if callable(token) else token
    if not inspect.isawaitable(value):
        return value
    task = asyncio.ensure_future(value)
    try:
        # Not `wait_for`, which waits on for what does not let itself be cancelled.
        await asyncio.wait((task,), timeout=timeout)
        if not task.done():
            raise OutOfTime
        if task.cancelled():
            # Raised as it is, it would count as a cancellation of the caller.
            raise RuntimeError("the token's coroutine was cancelled")
        return task.result()
    finally:
        # A future that is not made here may be waited for by others.
        if task is not value:
            task.cancel()


async def apart(work: Callable[[], _Result]) -> _Result:
    """Runs what blocks, in a thread."""
    return await asyncio.to_thread(work)


def cancel(call: Any) -> None:
    """Ends a stream, if it has not ended."""
    call.cancel()


def events(call: Any) -> AsyncIterator[Any]:
    """The messages of a stream."""
    return cast(AsyncIterator[Any], call.__aiter__())


class Context(Protocol):
    """What can be entered once it is made."""

    async def __aenter__(self) -> Any: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


_Entered = TypeVar("_Entered", bound=Context)


class Opening(Generic[_Entered]):
    """Something that is being made: to be awaited, or entered at once by `async with`."""

    def __init__(self, making: Coroutine[Any, Any, _Entered]) -> None:
        self._making = making
        self._made: _Entered | None = None

    if not TYPE_CHECKING:
        # A type checker knows what there is, and shall go on to say so.
        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"`{name}` is not there yet: await this first, or enter it by `async with`", name=name)

    def __await__(self) -> Generator[Any, Any, _Entered]:
        return self._making.__await__()

    async def __aenter__(self) -> _Entered:
        self._made = await self._making
        await self._made.__aenter__()
        return self._made

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._made is not None:
            await self._made.__aexit__(kind, error, trace)


def opening(making: Coroutine[Any, Any, _Entered]) -> Opening[_Entered]:
    """Lets what is being made be awaited or entered."""
    return Opening(making)
