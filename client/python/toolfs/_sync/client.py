# Generated from toolfs/_async by tools/generate_sync.py. Never edited.
"""The client: the connection to a server, and what needs no session."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, overload
from uuid import UUID

from toolfs._sync.caller import Caller
from toolfs._sync.session import Session
from toolfs._backend import blocking as backend
from toolfs.call import Arguments, View, add_json, execute_request, no_bytes, refusal
from toolfs.error import ArgumentError, ProtocolError, ToolfsError
from toolfs.format import (
    AnthropicTool,
    Format,
    GeminiTool,
    JsonTool,
    McpTools,
    OpenAIChatTool,
    OpenAITool,
    prompt,
    tool_definitions,
)
from toolfs.local import LocalOptions, LocalServer, Root, local_options
from toolfs.reply import ModelReply, decode_reply
from toolfs.retry import Repeat, RetryPolicy
from toolfs.seconds import seconds
from toolfs.target import Keepalive, Target, Tls
from toolfs.v1 import session_pb2, tool_pb2, types_pb2

_MESSAGE_BYTES = 64 << 20


class Toolfs:
    """A client of one server. Make it with `connect` or `local`.

    It connects when the first call needs it, and again when a call finds the connection lost. Clients of one process
    (and event loop) with the same address and options share a connection. As a context manager it closes at the end;
    one that is collected without that is a `ResourceWarning`. A session keeps its client.
    """

    def __init__(self, caller: Caller | None = None, address: str = "", server: LocalServer | None = None) -> None:
        if not isinstance(caller, Caller):
            name = type(self).__name__
            raise ToolfsError(
                f"a client is made by `{name}.connect(address)` or `{name}.local(root)`: call one of them"
            )
        self._caller = caller
        self._address = address
        self._server = server
        self._abandoned = weakref.finalize(self, _abandon, caller, None if server is None else os.getpid(), repr(self))
        # At the end of the process everything ends anyway.
        self._abandoned.atexit = False

    @classmethod
    def connect(
        cls,
        address: str,
        *,
        tls: Tls | None = None,
        token: backend.Token = None,
        deadline: float = 60.0,
        connect_timeout: float = 5.0,
        keepalive: Keepalive = Keepalive(),  # noqa: B008 - it is immutable
        max_message_bytes: int = _MESSAGE_BYTES,
        retry: RetryPolicy = RetryPolicy(),  # noqa: B008 - it is immutable
    ) -> Toolfs:
        """A client of the server at `HOST:PORT` or `unix:/PATH`.

        - `token`: a bearer token, or a function that returns one and is called for each attempt. Refused without `tls`
          unless the server is on this host: everybody on the way could read it.
        - `deadline`: how many seconds a call may take that names no deadline of its own, all its attempts together.
        - `connect_timeout`: how many seconds connecting may take.
        - `max_message_bytes`: the largest message in either direction. The server announces its own.

        Nothing is sent yet. Raises `ArgumentError`; calls raise `ConnectError` where the server cannot be reached.
        """
        target = Target(address, tls, keepalive, connect_timeout, max_message_bytes)
        if token is not None and tls is None and not target.is_local:
            raise ArgumentError("token", f"would travel to `{address}` in the clear: give `tls=Tls()`")
        return cls(Caller(target, token, deadline, retry), address)

    @classmethod
    def local(
        cls,
        root: Root | Sequence[Root] = ".",
        *,
        binary: Root | None = None,
        policy: str | None = None,
        state: Root = "memory",
        args: Sequence[str] = (),
        start_timeout: float = 30.0,
        deadline: float = 60.0,
        max_message_bytes: int = _MESSAGE_BYTES,
        retry: RetryPolicy = RetryPolicy(),  # noqa: B008 - it is immutable
    ) -> backend.Opening[Toolfs]:
        """Starts a server of one's own for these directories (`DIR` or `DIR=NAME`), and a client of it.

        The server ends with the client, at the latest with this process, however that ends. The command is `binary`,
        else what the variable `TOOLFS_BIN` names, else `toolfs` on `PATH`. `args` are further arguments of
        `toolfs serve`. Variables that begin with `TOOLFS_` do not reach it; the user's configuration file does. Raises
        `LocalServerError` where there is no command, or with the server's own words where it does not start within
        `start_timeout` seconds.
        """
        deadline = seconds("deadline", deadline)
        options = local_options(root, binary, policy, state, args, start_timeout)
        return backend.opening(cls._start(options, deadline, max_message_bytes, retry))

    @classmethod
    def _start(
        cls, options: LocalOptions, deadline: float, max_message_bytes: int, retry: RetryPolicy
    ) -> Toolfs:
        server = backend.apart(lambda: LocalServer(options))
        target = Target(server.address, None, Keepalive(), 5.0, max_message_bytes)
        return cls(Caller(target, None, deadline, retry), server.address, server)

    @property
    def address(self) -> str:
        """Where the server is: as given, or the socket of a server of one's own."""
        return self._address

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._address}>"

    def definitions(self, *, deadline: float | None = None) -> list[tool_pb2.ToolDefinition]:
        """The tools with their schemas, as the server tells them. Raises `CallError`, `ConnectError`."""
        request = tool_pb2.ListToolsRequest()
        response = self._caller.send(lambda stubs: stubs.tools.ListTools, request, Repeat.HARMLESS, deadline)
        return list(response.tools)

    @overload
    def tools(self, format: Literal["json"] = "json", *, strict: bool = False) -> list[JsonTool]: ...
    @overload
    def tools(self, format: Literal["anthropic"], *, strict: bool = False) -> list[AnthropicTool]: ...
    @overload
    def tools(self, format: Literal["openai"], *, strict: bool = False) -> list[OpenAITool]: ...
    @overload
    def tools(self, format: Literal["openai-chat"], *, strict: bool = False) -> list[OpenAIChatTool]: ...
    @overload
    def tools(self, format: Literal["gemini"], *, strict: bool = False) -> list[GeminiTool]: ...
    @overload
    def tools(self, format: Literal["mcp"], *, strict: bool = False) -> McpTools: ...
    @overload
    def tools(self, format: Format, *, strict: bool = False) -> object: ...
    def tools(self, format: Format = "json", *, strict: bool = False) -> object:
        """The tools in the form in which an SDK takes them: `anthropic`, `openai` (Responses), `openai-chat`, `gemini`,
        `mcp`, or `json` with everything. `strict` chooses the strict schemas where the format has them.

        Raises `CallError`, `ConnectError`, `ArgumentError` for another format, and `DefinitionError` (of
        `toolfs.format`) for a newer server's schema that cannot be put into this one.
        """
        return tool_definitions(self.definitions(), format, strict)

    def prompt(self) -> str:
        """What a system prompt should say about the tools, in Markdown. Raises `CallError`, `ConnectError`."""
        return prompt(self.definitions())

    def capabilities(self, *, deadline: float | None = None) -> tool_pb2.GetCapabilitiesResponse:
        """What the server can do, and its limits. Raises `CallError`, `ConnectError`."""
        request = tool_pb2.GetCapabilitiesRequest()
        return self._caller.send(lambda stubs: stubs.tools.GetCapabilities, request, Repeat.HARMLESS, deadline)

    def open_session(
        self,
        cwd: str = "",
        *,
        roots: Iterable[str] = (),
        labels: Mapping[str, str] | None = None,
        read_only: bool = False,
        deadline: float | None = None,
    ) -> backend.Opening[Session]:
        """Opens a session.

        - `cwd`: where relative paths start; the first root when empty.
        - `roots`: directories to which the session is narrowed; all of the server's roots when there are none.
        - `labels`: names and values for operators.
        - `read_only`: refuses every mutation.

        Raises `CallError`, with its `fs_error` for a `cwd` or root that is no directory beneath the roots;
        `ConnectError`, `ArgumentError`.
        """
        return backend.opening(self._open(_open_request(cwd, roots, labels, read_only), deadline))

    def _open(self, request: session_pb2.OpenSessionRequest, deadline: float | None) -> Session:
        response = self._caller.send(lambda stubs: stubs.sessions.OpenSession, request, Repeat.UNSENT, deadline)
        if not response.HasField("session"):
            raise ProtocolError("a session was opened and not described")
        return Session(self, self._caller, response.session_id, response.session)

    def resume_session(self, id: str, *, deadline: float | None = None) -> backend.Opening[Session]:
        """Goes on with a session that was opened before, perhaps by another process.

        As a context manager it is closed at the end like any other; `detach` keeps it open. Raises `CallError` when
        there is no such session (any more), `ConnectError`.
        """
        return backend.opening(self._resume(id, deadline))

    def _resume(self, id: str, deadline: float | None) -> Session:
        try:
            no_bytes(id)
            request = session_pb2.GetSessionRequest(session_id=id)
        except (TypeError, ValueError) as error:
            raise refusal({"id": id}, error) from None
        response = self._caller.send(lambda stubs: stubs.sessions.GetSession, request, Repeat.HARMLESS, deadline)
        if not response.HasField("session"):
            raise ProtocolError("a session is there and not described")
        return Session(self, self._caller, id, response.session)

    def list_sessions(
        self, *, page_size: int = 0, deadline: float | None = None
    ) -> backend.Stream[session_pb2.Session]:
        """The caller's open sessions, oldest first, without their ids. Pages are fetched as they are needed.

        `page_size` is 1 to 1,000, and 0 means 100; `deadline` is for each page. Raises `CallError`, `ConnectError`.
        """
        token = ""
        while True:
            request = session_pb2.ListSessionsRequest(page_size=page_size, page_token=token)
            page = self._caller.send(
                lambda stubs: stubs.sessions.ListSessions, request, Repeat.HARMLESS, deadline
            )
            for session in page.sessions:
                yield session
            token = page.next_page_token
            if not token:
                return

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
        """Runs a call outside any session, as a model made it. Under the observation policy it may read and create.

        Nothing is remembered of it: a mutation is sent again only if it never left. Raises `CallError`, `ConnectError`,
        and `ArgumentError` for text that is not well-formed Unicode.
        """
        request = execute_request("", request_id=request_id, tool_call_id=tool_call_id, dry_run=dry_run, view=view)
        add_json(request, name, arguments)
        repeat = Repeat.HARMLESS if dry_run or name == "read" else Repeat.UNSENT
        return decode_reply(self._caller.execute(request, repeat, deadline))

    def close(self) -> None:
        """Gives the connection back, which the last client closes, and ends a server of one's own. Sessions stay open
        on the server. A second time does nothing."""
        self._abandoned.detach()
        try:
            self._caller.close()
        finally:
            if self._server is not None:
                backend.apart(self._server.stop)

    def __enter__(self) -> Toolfs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _abandon(caller: Caller, server_of: int | None, name: str) -> None:
    # `server_of` is the process whose client has a server of its own; a child by fork only inherits that.
    if caller.abandon() or server_of == os.getpid():
        warnings.warn(f"{name} was not closed: close it, or use it as a context manager", ResourceWarning, stacklevel=2)


def _open_request(
    cwd: str, roots: Iterable[str], labels: Mapping[str, str] | None, read_only: bool
) -> session_pb2.OpenSessionRequest:
    if isinstance(roots, (str, bytes, Mapping)) or not isinstance(roots, Iterable):
        # A string would be taken letter by letter.
        raise ArgumentError("roots", f"must be a list of directories, not `{type(roots).__name__}`")
    if labels is not None and not isinstance(labels, Mapping):
        raise ArgumentError("labels", f"must be a mapping of names to values, not `{type(labels).__name__}`")
    roots, labels = tuple(roots), dict(labels or {})
    mode = types_pb2.SESSION_MODE_READ_ONLY if read_only else types_pb2.SESSION_MODE_WORKSPACE_WRITE
    try:
        no_bytes(cwd, *roots, *labels, *labels.values())
        return session_pb2.OpenSessionRequest(cwd=cwd, roots=roots, labels=labels, mode=mode)
    except (TypeError, ValueError) as error:
        texts: dict[str, Any] = {"cwd": cwd}
        texts.update({f"roots[{place}]": root for place, root in enumerate(roots)})
        texts.update({f"key {key!r} of labels": key for key in labels})
        texts.update({f"labels[{key!r}]": label for key, label in labels.items()})
        raise refusal(texts, error) from None
