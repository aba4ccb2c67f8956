"""The door: what a client offers so that a case can be replayed through it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar


@dataclass(frozen=True)
class Opening:
    """The options of `open`. `None` means that the case does not give one."""

    cwd: str | None = None
    roots: list[str] | None = None
    labels: dict[str, str] | None = None
    mode: str | None = None
    """`workspace-write` or `read-only`."""


@dataclass(frozen=True)
class Call:
    """One tool call and the options that stand beside it."""

    tool: str
    """For a typed call `read`, `write` or `edit`; for a call as a model makes it, any name."""
    arguments: dict[str, Any] | str
    """By their own names. For a call as a model makes it, also JSON text, to be passed on as it is."""
    typed: bool
    """Whether it goes through the client's own method for the tool."""
    session: str | None
    """The session's name in the case. `None`: a call without a session, which is never typed."""
    request_id: str | None = None
    """A UUID. `None`: the client fills one in."""
    tool_call_id: str | None = None
    dry_run: bool | None = None
    view: str | None = None
    """`basic` or `full`."""


@dataclass(frozen=True)
class Answer:
    """What came back, in Protobuf's JSON form with the field names of the `.proto` files."""

    content: str | None = None
    """What the model reads: the texts of all blocks, joined. `None` where the client gives none."""
    response: dict[str, Any] = field(default_factory=dict)
    """The `ExecuteResponse`, as far as the client gives it."""
    error: dict[str, Any] | None = None
    """The `FsError` of a refused call."""
    status: dict[str, Any] | None = None
    """A caller's mistake: `code` of gRPC (`NOT_FOUND`), `reason` of its `ErrorInfo` and `error`, the `FsError` among
    its details; members that are not there are left out."""
    session: dict[str, Any] | None = None
    """The `Session` that `open` or `resume` returned."""


class Door(Protocol):
    """An asyncio client. It keeps the sessions under the names that the case gives them.

    A method raises only what no case can expect: the client's errors become answers.
    """

    async def open(self, session: str, opening: Opening) -> Answer:
        """Opens a session and keeps it under this name."""

    async def resume(self, session: str) -> Answer:
        """Goes on with the session by its id over a new connection, and keeps that under the name."""

    async def close_session(self, session: str) -> Answer:
        """Closes a session, but still knows it: later calls of it go to the server."""

    async def forget(self, session: str, paths: list[str] | None) -> Answer:
        """Lets a session forget what it observed at these paths; `None` means everything."""

    async def call(self, call: Call) -> Answer:
        """Makes a tool call."""

    async def restarted(self) -> None:
        """The server is another process at the same address: connects anew where that does not come by itself."""

    async def close(self) -> None:
        """Drops every connection. Sessions need not be closed: their server ends."""


class SyncDoor(Protocol):
    """The same over a client that blocks. Its methods are called from several threads at once."""

    def open(self, session: str, opening: Opening) -> Answer: ...
    def resume(self, session: str) -> Answer: ...
    def close_session(self, session: str) -> Answer: ...
    def forget(self, session: str, paths: list[str] | None) -> Answer: ...
    def call(self, call: Call) -> Answer: ...
    def restarted(self) -> None: ...
    def close(self) -> None: ...


_Result = TypeVar("_Result")


class Threaded:
    """A blocking door as an asyncio one: each call runs in a thread, so that `parallel` steps are under way at once."""

    def __init__(self, door: SyncDoor) -> None:
        self._door = door

    async def open(self, session: str, opening: Opening) -> Answer:
        return await _in_thread(lambda: self._door.open(session, opening))

    async def resume(self, session: str) -> Answer:
        return await _in_thread(lambda: self._door.resume(session))

    async def close_session(self, session: str) -> Answer:
        return await _in_thread(lambda: self._door.close_session(session))

    async def forget(self, session: str, paths: list[str] | None) -> Answer:
        return await _in_thread(lambda: self._door.forget(session, paths))

    async def call(self, call: Call) -> Answer:
        return await _in_thread(lambda: self._door.call(call))

    async def restarted(self) -> None:
        await _in_thread(self._door.restarted)

    async def close(self) -> None:
        await _in_thread(self._door.close)


async def _in_thread(work: Callable[[], _Result]) -> _Result:
    return await asyncio.to_thread(work)
