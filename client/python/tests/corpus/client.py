"""The doors to the two clients of this package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from toolfs import (
    AsyncSession,
    AsyncToolfs,
    CallError,
    EditResult,
    Keepalive,
    ModelReply,
    ReadResult,
    Session,
    ToolError,
    Toolfs,
    WriteResult,
)

from .door import Answer, Call, Opening, Threaded

Result = ReadResult | WriteResult | EditResult | ModelReply


class AsyncClientDoor:
    """The door to `AsyncToolfs`."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._clients = [AsyncToolfs.connect(address)]
        self._sessions: dict[str, AsyncSession] = {}

    async def open(self, session: str, opening: Opening) -> Answer:
        try:
            opened = await self._clients[0].open_session(**_options(opening))
        except CallError as error:
            return refused(error)
        self._sessions[session] = opened
        return Answer(session=plain(opened.info))

    async def resume(self, session: str) -> Answer:
        # Clients with equal options would share the connection.
        client = AsyncToolfs.connect(self._address, keepalive=Keepalive(time=60.0 + len(self._clients)))
        self._clients.append(client)
        try:
            resumed = await client.resume_session(self._sessions[session].id)
        except CallError as error:
            return refused(error)
        self._sessions[session] = resumed
        return Answer(session=plain(resumed.info))

    async def close_session(self, session: str) -> Answer:
        try:
            await self._sessions[session].close()
        except CallError as error:
            return refused(error)
        return Answer()

    async def forget(self, session: str, paths: list[str] | None) -> Answer:
        try:
            if paths is None:
                await self._sessions[session].forget_all()
            else:
                await self._sessions[session].forget(*paths)
        except CallError as error:
            return refused(error)
        return Answer()

    async def call(self, call: Call) -> Answer:
        caller = self._clients[0] if call.session is None else self._sessions[call.session]
        try:
            if isinstance(call.arguments, Mapping) and call.typed:
                return answered(await getattr(caller, call.tool)(**call.arguments, **_beside(call)))
            return answered(await caller.call(call.tool, call.arguments, **_beside(call)))
        except ToolError as error:
            return failed(error)
        except CallError as error:
            return refused(error)

    async def restarted(self) -> None:
        """Nothing is to be done: the next call connects anew."""

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


class SyncClientDoor:
    """The door to `Toolfs`."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._clients = [Toolfs.connect(address)]
        self._sessions: dict[str, Session] = {}

    def open(self, session: str, opening: Opening) -> Answer:
        try:
            opened = self._clients[0].open_session(**_options(opening))
        except CallError as error:
            return refused(error)
        self._sessions[session] = opened
        return Answer(session=plain(opened.info))

    def resume(self, session: str) -> Answer:
        client = Toolfs.connect(self._address, keepalive=Keepalive(time=60.0 + len(self._clients)))
        self._clients.append(client)
        try:
            resumed = client.resume_session(self._sessions[session].id)
        except CallError as error:
            return refused(error)
        self._sessions[session] = resumed
        return Answer(session=plain(resumed.info))

    def close_session(self, session: str) -> Answer:
        return _tried(self._sessions[session].close)

    def forget(self, session: str, paths: list[str] | None) -> Answer:
        known = self._sessions[session]
        return _tried(known.forget_all if paths is None else lambda: known.forget(*paths))

    def call(self, call: Call) -> Answer:
        caller = self._clients[0] if call.session is None else self._sessions[call.session]
        try:
            if isinstance(call.arguments, Mapping) and call.typed:
                return answered(getattr(caller, call.tool)(**call.arguments, **_beside(call)))
            return answered(caller.call(call.tool, call.arguments, **_beside(call)))
        except ToolError as error:
            return failed(error)
        except CallError as error:
            return refused(error)

    def restarted(self) -> None:
        """Nothing is to be done: the next call connects anew."""

    def close(self) -> None:
        for client in self._clients:
            client.close()


async def asyncio_door(address: str) -> AsyncClientDoor:
    """Connects the asyncio client."""
    return AsyncClientDoor(address)


async def blocking_door(address: str) -> Threaded:
    """Connects the client that blocks."""
    return Threaded(SyncClientDoor(address))


def plain(message: Message) -> dict[str, Any]:
    """A message in Protobuf's JSON form with the field names of the `.proto` files."""
    return json_format.MessageToDict(message, preserving_proto_field_name=True)


def answered(result: Result) -> Answer:
    """What came back from a call that the client took."""
    error = result.error if isinstance(result, ModelReply) else None
    return Answer(result.text, plain(result.response), plain(error.raw) if error is not None else None)


def failed(error: ToolError) -> Answer:
    """A typed call that failed. Its error carries the outcome, and not the whole response."""
    return Answer(response={}, error=plain(error.raw))


def refused(error: CallError) -> Answer:
    """A call that ended in a status."""
    status: dict[str, Any] = {"code": error.status.name}
    if error.reason is not None:
        status["reason"] = error.reason
    if error.fs_error is not None:
        status["error"] = plain(error.fs_error.raw)
    return Answer(status=status)


def _tried(work: Callable[[], None]) -> Answer:
    try:
        work()
    except CallError as error:
        return refused(error)
    return Answer()


def _options(opening: Opening) -> dict[str, Any]:
    given: dict[str, Any] = {"cwd": opening.cwd, "roots": opening.roots, "labels": opening.labels}
    options = {name: value for name, value in given.items() if value is not None}
    if opening.mode is not None:
        options["read_only"] = opening.mode == "read-only"
    return options


def _beside(call: Call) -> dict[str, Any]:
    given = {
        "request_id": call.request_id,
        "tool_call_id": call.tool_call_id,
        "dry_run": call.dry_run,
        "view": call.view,
    }
    return {name: value for name, value in given.items() if value is not None}
