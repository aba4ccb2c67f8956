# Generated from toolfs/_async by tools/generate_sync.py. Never edited.
"""A session: what an agent calls tools in."""

from __future__ import annotations

from types import TracebackType
from uuid import UUID

import grpc

from toolfs._sync.caller import Caller
from toolfs._backend import blocking as backend
from toolfs.call import Arguments, View, add_edit, add_json, add_read, add_write, execute_request, no_bytes, refusal
from toolfs.error import ArgumentError, CallError, ToolfsError
from toolfs.failure import client_closed, read_failure, session_closed
from toolfs.reply import (
    EditResult,
    ModelReply,
    ReadResult,
    WriteResult,
    decode_reply,
    edit_result,
    read_result,
    write_result,
)
from toolfs.retry import Repeat
from toolfs.v1 import event_pb2, session_pb2, types_pb2

_GONE = "SESSION_NOT_FOUND"


class Session:
    """An open session. Calls may run at the same time.

    As a context manager it closes the session at the end; `detach` keeps it open for another process, which goes on
    with it by its `id`. Every call has a `deadline` in seconds, by default that of the client, and a `request_id`, by
    default a fresh one, which is the same whenever the call is sent again: a mutation takes effect once.
    """

    def __init__(self, client: object, caller: Caller, id: str, info: session_pb2.Session) -> None:
        # Else the client, and with it a server of one's own, would end when only the session is held.
        self._client = client
        self._caller = caller
        self._id = id
        self._info = info
        self._close_at_end = True
        self._closed = False

    def _open_id(self) -> str:
        """The handle, for a call. Raises `CallError` where this object has closed the session."""
        if self._closed:
            raise session_closed()
        return self._id

    @property
    def id(self) -> str:
        """The secret handle. Whoever knows it may call in this session."""
        return self._id

    @property
    def name(self) -> str:
        """The public name."""
        return self._info.name

    @property
    def info(self) -> session_pb2.Session:
        """What was public about the session when it was opened: name, cwd, roots, mode."""
        return self._info

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}>"

    def read(
        self,
        file_path: str,
        offset: int | None = None,
        limit: int | None = None,
        *,
        view: View = "basic",
        dry_run: bool = False,
        tool_call_id: str = "",
        request_id: str | UUID | None = None,
        deadline: float | None = None,
    ) -> ReadResult:
        """Reads `limit` lines of a file (default 2,000) from the line `offset`, counted from 1.

        Success lets this session write and edit the file as it is now. Raises `ToolError` with `FS_NOT_FOUND`,
        `FS_NOT_REGULAR_FILE`, `FS_NOT_TEXT`, `FS_OUT_OF_RANGE` and others; `CallError`, `ConnectError`.
        """
        request = execute_request(
            self._open_id(), request_id=request_id, tool_call_id=tool_call_id, dry_run=dry_run, view=view
        )
        add_read(request, file_path, offset, limit)
        return read_result(self._caller.execute(request, Repeat.HARMLESS, deadline))

    def write(
        self,
        file_path: str,
        content: str,
        *,
        view: View = "basic",
        dry_run: bool = False,
        tool_call_id: str = "",
        request_id: str | UUID | None = None,
        deadline: float | None = None,
    ) -> WriteResult:
        """Creates a file, with missing parent directories, or replaces its content.

        Raises `ToolError` with `FS_NOT_OBSERVED`, `FS_STALE_VERSION` and others: nothing changed unless its `published`
        says otherwise; `CallError`, `ConnectError`.
        """
        request = execute_request(
            self._open_id(), request_id=request_id, tool_call_id=tool_call_id, dry_run=dry_run, view=view
        )
        add_write(request, file_path, content)
        repeat = Repeat.HARMLESS if dry_run else Repeat.REMEMBERED
        return write_result(self._caller.execute(request, repeat, deadline))

    def edit(
        self,
        file_path: str,
        old_string: str,
        new_string: str,
        replace_all: bool = False,
        *,
        view: View = "basic",
        dry_run: bool = False,
        tool_call_id: str = "",
        request_id: str | UUID | None = None,
        deadline: float | None = None,
    ) -> EditResult:
        """Replaces the one occurrence of `old_string`, or every one with `replace_all`. An empty `new_string` deletes.

        Raises `ToolError` with `FS_NOT_OBSERVED`, `FS_STALE_VERSION`, `FS_EDIT_NOT_FOUND`, `FS_AMBIGUOUS_EDIT` and
        others: nothing changed unless its `published` says otherwise; `CallError`, `ConnectError`.
        """
        request = execute_request(
            self._open_id(), request_id=request_id, tool_call_id=tool_call_id, dry_run=dry_run, view=view
        )
        add_edit(request, file_path, old_string, new_string, replace_all)
        repeat = Repeat.HARMLESS if dry_run else Repeat.REMEMBERED
        return edit_result(self._caller.execute(request, repeat, deadline))

    def call(
        self,
        name: str,
        arguments: Arguments,
        *,
        view: View = "basic",
        dry_run: bool = False,
        tool_call_id: str = "",
        request_id: str | UUID | None = None,
        deadline: float | None = None,
    ) -> ModelReply:
        """Runs a call as a model made it: a tool's name, and an object or the text of one, which is sent as it is.

        What the tool refuses is content for the model, not an error. Raises `CallError` or `ConnectError` when the call
        did not reach a tool, and `ArgumentError` for text that is not well-formed Unicode.
        """
        request = execute_request(
            self._open_id(), request_id=request_id, tool_call_id=tool_call_id, dry_run=dry_run, view=view
        )
        add_json(request, name, arguments)
        repeat = Repeat.HARMLESS if dry_run or name == "read" else Repeat.REMEMBERED
        return decode_reply(self._caller.execute(request, repeat, deadline))

    def forget(self, *paths: str, deadline: float | None = None) -> None:
        """Makes the session forget what it saw of these paths: it must read them again before it changes them.

        Raises `ArgumentError` where no path is given, which `forget_all` is for; `CallError`, with its `fs_error`
        for a path that leaves the roots: nothing is forgotten then.
        """
        if not paths:
            raise ArgumentError("paths", "must be at least one: name what to forget, or call `forget_all`")
        try:
            no_bytes(*paths)
            listed = types_pb2.PathList(paths=paths)
        except (TypeError, ValueError) as error:
            raise refusal({f"paths[{place}]": path for place, path in enumerate(paths)}, error) from None
        self._forget(session_pb2.ForgetObservationsRequest(session_id=self._open_id(), paths=listed), deadline)

    def forget_all(self, *, deadline: float | None = None) -> None:
        """Makes the session forget everything it saw. Raises `CallError`."""
        request = session_pb2.ForgetObservationsRequest(session_id=self._open_id(), all=types_pb2.AllPaths())
        self._forget(request, deadline)

    def _forget(self, request: session_pb2.ForgetObservationsRequest, deadline: float | None) -> None:
        self._caller.send(lambda stubs: stubs.sessions.ForgetObservations, request, Repeat.HARMLESS, deadline)

    def watch(self, resume_token: str = "") -> backend.Stream[event_pb2.WatchResponse]:
        """Follows what the calls of this session do, whoever makes them: from now on, or after the event of the token.

        The first event is `watch_began`; it ends with the session. It has no deadline, except that its token has the
        client's, and is not begun anew when the server goes away: go on with the `resume_token` of the last event.
        Raises `CallError`, `ArgumentError`. To end it, leave the loop and close the generator (`contextlib.closing`).
        """
        request = event_pb2.WatchRequest(session_id=self._open_id(), resume_token=resume_token)
        metadata = self._caller.metadata()
        connection = self._caller.connection()
        call = connection.stubs.events.Watch(request, metadata=metadata)
        try:
            for event in backend.events(call):
                yield event
        except grpc.RpcError as error:
            raise read_failure(error, connection.target.address, False) from error
        except backend.CLOSED:
            if connection.closed and not backend.is_cancelled():
                raise client_closed() from None
            raise
        finally:
            backend.cancel(call)

    def detach(self) -> None:
        """Keeps the session open when the context ends."""
        self._close_at_end = False

    def close(self, *, deadline: float | None = None) -> None:
        """Closes the session for good; calls in flight finish first.

        What is called afterwards is a `CallError` that says so, and is not sent. Raises `CallError`, also when it was
        closed before; `ConnectError`.
        """
        self._close_at_end = False
        request = session_pb2.CloseSessionRequest(session_id=self._open_id())
        try:
            self._caller.send(lambda stubs: stubs.sessions.CloseSession, request, Repeat.HARMLESS, deadline)
        except CallError as error:
            # The answer of an earlier attempt was lost: it did close the session.
            if not (error.reason == _GONE and error.attempts > 1):
                raise
        self._closed = True

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._close_at_end:
            return
        try:
            self.close()
        except ToolfsError as failure:
            # What ended the context matters more; and a session that is gone already needs no closing.
            if error is None and not (isinstance(failure, CallError) and failure.reason == _GONE):
                raise
