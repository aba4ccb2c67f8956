"""How a call is sent: over which channel, with which deadline and token, and how often."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

import grpc

from toolfs._async.pool import POOL, Connection
from toolfs._backend import OutOfTime
from toolfs._backend import aio as backend
from toolfs.error import ArgumentError, CallError, ConnectError, ToolError, ToolfsError
from toolfs.failure import client_closed, looks_unsent, out_of_time, read_failure, without_message
from toolfs.retry import Budget, Repeat, RetryPolicy, Tries
from toolfs.seconds import seconds
from toolfs.target import Target
from toolfs.v1 import tool_pb2, types_pb2

Request = TypeVar("Request")
Response = TypeVar("Response")

Pick = Callable[[backend.Stubs], backend.Method[Request, Response]]
"""Chooses a method of the stubs."""


class Caller:
    """Sends the calls of one client."""

    def __init__(self, target: Target, token: backend.Token, deadline: float, retry: RetryPolicy) -> None:
        self._target = target
        self._token = token
        self._deadline = seconds("deadline", deadline)
        self._retry = retry
        self._held: Connection | None = None
        self._budget = Budget(retry)
        self._lock = threading.Lock()
        self._closed = False
        self._remembers: bool | None = None

    def connection(self) -> Connection:
        """The channel. Looked for by the first call, and again after a fork or in a new event loop."""
        held = self._held
        if held is not None and held.is_usable():
            return held
        with self._lock:
            if self._closed:
                raise ToolfsError("the client is closed: connect a new one")
            held = self._held
            if held is None or held.is_gone():
                held = self._held = POOL.acquire(self._target)
                self._budget = held.budget(self._retry)
            if not held.is_usable():
                raise ToolfsError("the client belongs to another event loop: connect one in each loop")
            return held

    async def close(self) -> None:
        """Gives the channel back. A second time does nothing."""
        with self._lock:
            held, self._held = self._held, None
            self._closed = True
        if held is not None:
            await POOL.release(held)

    def abandon(self) -> bool:
        """Gives the channel back from a finalizer. Whether this process held one."""
        held, self._held = self._held, None
        self._closed = True
        if held is None or held.is_gone():
            return False
        POOL.abandon(held)
        return True

    async def metadata(self, until: float | None = None) -> backend.Metadata:
        """What goes with an attempt beside its message. A token must come before `until`, a time of the steady clock;
        without one it has the client's deadline.

        Raises `ArgumentError` for a token that cannot be had or sent, and `CallError` for one that is late.
        """
        if self._token is None:
            return None
        if until is None:
            until = time.monotonic() + self._deadline
        try:
            token = await backend.bearer(self._token, until - time.monotonic())
        except OutOfTime:
            raise out_of_time() from None
        except Exception as error:
            # Its words are not repeated: they may hold the secret.
            raise ArgumentError("token", f"could not be had: its function raised `{type(error).__name__}`") from error
        if time.monotonic() >= until:
            # A plain function of the asyncio client cannot be left.
            raise out_of_time()
        # What a header cannot hold would be told by the transport, together with the secret.
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise ArgumentError("token", "must be printable ASCII text")
        return (("authorization", f"Bearer {token}"),)

    async def send(
        self,
        pick: Pick[Request, Response],
        request: Request,
        repeat: Repeat,
        deadline: float | None = None,
        refused: Callable[[Response], ToolError | None] | None = None,
    ) -> Response:
        """Sends a call, again where that is safe and helps, all within its deadline in seconds.

        `refused` finds in an answer the error for which the call is worth another try. The last answer is returned
        whatever it holds. Raises `ConnectError` where no attempt was sent, else `CallError` as the last one ended.
        """
        deadline = self._deadline if deadline is None else seconds("deadline", deadline)
        until = time.monotonic() + deadline
        tries: Tries | None = None
        failure: ToolfsError | None = None
        answer: Response | None = None
        while True:
            try:
                connection = self.connection()
                metadata = None if self._token is None else await self.metadata(until)
                if time.monotonic() >= until:
                    # The transport sends a call before it looks at the clock, and may have an answer by then.
                    raise out_of_time("the deadline was over before the call could be sent")
            except ToolfsError as error:
                if answer is not None:
                    return answer
                if tries is None or failure is None or tries.effect.attempts == 0:
                    raise
                # Why there is no further attempt matters less than what became of those before.
                raise tries.effect.ending(failure) from error
            answer = None
            try:
                remaining = until - time.monotonic()
                answer = await pick(connection.stubs)(request, timeout=remaining, metadata=metadata)
            except grpc.RpcError as error:
                unsent = looks_unsent(error) and not backend.is_connected(connection.stubs.channel)
                failure = read_failure(error, self._target.address, unsent)
                failure.__cause__ = error
            except backend.CLOSED:
                if not connection.closed or backend.is_cancelled():
                    raise
                failure = client_closed()
            else:
                if answer is None:
                    failure = without_message()
                else:
                    refusal = None if refused is None else refused(answer)
                    if refusal is None:
                        self._budget.succeeded()
                        return answer
                    failure = refusal

            if tries is None:
                connect_by = until - deadline + min(self._target.connect_timeout, deadline)
                tries = Tries(self._retry, self._budget, repeat, until, connect_by)
            wait = tries.wait_after(failure, time.monotonic())
            if wait is not None:
                await backend.sleep(wait)
                again = repeat is not Repeat.REMEMBERED or await self._is_remembered(failure, until)
                if again and time.monotonic() < until:
                    continue
            if answer is not None:
                return answer
            raise tries.effect.ending(failure)

    async def execute(
        self, request: tool_pb2.ExecuteRequest, repeat: Repeat, deadline: float | None
    ) -> tool_pb2.ExecuteResponse:
        """Sends a tool call."""
        try:
            return await self.send(_execute, request, repeat, deadline, _refused_for_now)
        except CallError as error:
            error.request_id = request.request_id
            raise

    async def _is_remembered(self, failure: ToolfsError, until: float) -> bool:
        """Whether a mutation that failed so may be sent again: always where it was never sent, else where the server
        remembers results. That is asked once, in the time of the call, and only now: most clients never need to know.
        """
        if isinstance(failure, ConnectError):
            return True
        remaining = until - time.monotonic()
        if self._remembers is None and remaining > 0:
            try:
                capabilities = await self.send(
                    _get_capabilities, tool_pb2.GetCapabilitiesRequest(), Repeat.HARMLESS, remaining
                )
            except ToolfsError:
                return False
            self._remembers = capabilities.HasField("request_id_window")
        return bool(self._remembers)


def _execute(stubs: backend.Stubs) -> backend.Method[tool_pb2.ExecuteRequest, tool_pb2.ExecuteResponse]:
    return stubs.tools.Execute


def _get_capabilities(
    stubs: backend.Stubs,
) -> backend.Method[tool_pb2.GetCapabilitiesRequest, tool_pb2.GetCapabilitiesResponse]:
    return stubs.tools.GetCapabilities


def _refused_for_now(response: tool_pb2.ExecuteResponse) -> ToolError | None:
    """The error of a call that may succeed when it is sent again, and has changed nothing."""
    if response.is_error and response.error.retryable and response.error.published == types_pb2.PUBLISHED_NO:
        return ToolError(response.error)
    return None
