"""What a newcomer gets wrong in a call: it is refused by the name of the argument, and nothing is sent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from both import MODES, connect, listed
from conftest import Live
from scripted_server import Script, serving

import toolfs
from toolfs import ArgumentError, AsyncToolfs, CallError, LineEndings, LocalServerError, Toolfs, ToolfsError
from toolfs.call import add_edit, add_json, add_read, add_write, execute_request
from toolfs.local import find_binary
from toolfs.policy import serve_gate
from toolfs.v1 import tool_pb2

both_modes = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def address(script: Script) -> Iterator[str]:
    with serving(script) as address:
        yield address


def request() -> tool_pb2.ExecuteRequest:
    return execute_request("id", request_id=None, tool_call_id="", dry_run=False, view="basic")


async def refused(work: Callable[[], Any]) -> str:
    """What an `ArgumentError` says of a call, which a client may raise at once or when it is awaited."""
    with pytest.raises(ArgumentError) as failure:
        await work()
    return str(failure.value)


# Sessions


@both_modes
async def test_a_forget_without_a_path_that_forgets_nothing(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as client, await client.open_session() as session:
        said = await refused(lambda: session.forget())
    assert said == "`paths` must be at least one: name what to forget, or call `forget_all`"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"roots": "/tmp"}, "`roots` must be a list of directories, not `str`"),
        ({"roots": b"/tmp"}, "`roots` must be a list of directories, not `bytes`"),
        ({"roots": Path("/tmp")}, "`roots` must be a list of directories, not `PosixPath`"),
        ({"roots": {"/tmp": "/a"}}, "`roots` must be a list of directories, not `dict`"),
        ({"roots": [Path("/tmp")]}, "`roots[0]` must be a string, not `PosixPath`"),
        ({"labels": ["a"]}, "`labels` must be a mapping of names to values, not `list`"),
        ({"labels": {"agent": 5}}, "`labels['agent']` must be a string, not `int`"),
        ({"labels": {5: "agent"}}, "`key 5 of labels` must be a string, not `int`"),
        ({"labels": {"agent": "\ud83d"}}, "`labels['agent']` is not well-formed Unicode"),
        ({"cwd": b"/tmp"}, "`cwd` must be a string, not `bytes`"),
    ],
)
@both_modes
async def test_an_option_of_a_session_that_is_read_as_something_else(
    mode: str, address: str, script: Script, options: dict[str, Any], said: str
) -> None:
    async with connect(mode, address) as client:
        assert (await refused(lambda: client.open_session(**options))).startswith(said)
    assert script.asked == []


@both_modes
async def test_a_closed_session_that_asks_the_server_whether_it_is_closed(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as client:
        session = await client.open_session()
        other = await client.resume_session(session.id)
        await session.close()
    # The client is closed too: whatever is sent ends otherwise.
    calls: list[Callable[[], Any]] = [
        lambda: session.read("a"),
        lambda: session.write("a", ""),
        lambda: session.edit("a", "b", "c"),
        lambda: session.call("read", {}),
        lambda: session.forget("a"),
        lambda: session.forget_all(),
        lambda: listed(session.watch()),
        lambda: session.close(),
    ]
    for call in calls:
        with pytest.raises(CallError) as failure:
            await call()
        assert str(failure.value) == "SESSION_NOT_FOUND: this session was closed: open another"
        assert (failure.value.status, failure.value.attempts) == (grpc.StatusCode.NOT_FOUND, 0)
        assert not failure.value.retryable and not failure.value.maybe_published
    with pytest.raises(ToolfsError, match="the client is closed"):
        await other.read("a")


# Clients


@pytest.mark.parametrize("deadline", [0, -1, 0.0, 1e-9])
@both_modes
async def test_a_deadline_that_is_over_and_a_call_that_is_sent(
    mode: str, address: str, script: Script, deadline: float
) -> None:
    async with connect(mode, address) as client:
        with pytest.raises(CallError) as failure:
            await client.definitions(deadline=deadline)
    assert str(failure.value) == "DEADLINE_EXCEEDED: the deadline was over before the call could be sent"
    assert failure.value.attempts == 0
    assert script.asked == []


@pytest.mark.parametrize("deadline", ["1", True, float("nan")])
def test_a_deadline_that_is_no_number_and_a_server_that_is_started(deadline: Any) -> None:
    with pytest.raises(ArgumentError, match="`deadline` must be a number of seconds"):
        Toolfs.local(binary="/nowhere/toolfs", deadline=deadline)


@pytest.mark.parametrize("given", [Path("/run/a.sock"), 50051, None, b"unix:/a"])
def test_an_address_that_is_no_string(given: Any) -> None:
    said = f"`address` must be a string, `HOST:PORT` or `unix:/PATH`, not `{type(given).__name__}`"
    makers: list[Callable[[Any], object]] = [
        Toolfs.connect,
        AsyncToolfs.connect,
        lambda address: serve_gate(Any, address),  # type: ignore[arg-type]
    ]
    for make in makers:
        with pytest.raises(ArgumentError, match=said):
            make(given)


@pytest.mark.parametrize("kind", [Toolfs, AsyncToolfs])
@pytest.mark.parametrize("arguments", [(), ("h:1",)])
def test_a_client_that_is_made_by_its_name(kind: Any, arguments: tuple[str, ...]) -> None:
    with pytest.raises(ToolfsError) as failure:
        kind(*arguments)
    name = kind.__name__
    assert f"`{name}.connect(address)` or `{name}.local(root)`" in str(failure.value)


async def test_a_session_that_was_not_awaited(live: Live) -> None:
    async with AsyncToolfs.connect(live.address) as client:
        opening: Any = client.open_session()
        with pytest.raises(AttributeError, match="`read` is not there yet: await this first"):
            opening.read("a.txt")
        await (await opening).close()


# A server of one's own


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ({"/tmp": "/a"}, "`root` must be `DIR`, `DIR=NAME` or a list of such, not `dict`"),
        (None, "`root` must be `DIR`, `DIR=NAME` or a list of such, not `NoneType`"),
        (b"/tmp", "`root` must be `DIR`, `DIR=NAME` or a list of such, not `bytes`"),
        ([5], "`root` must hold strings or paths only, each `DIR` or `DIR=NAME`"),
    ],
)
def test_a_root_that_is_no_directory_and_no_list(root: Any, said: str) -> None:
    for kind in (Toolfs, AsyncToolfs):
        with pytest.raises(ArgumentError) as failure:
            kind.local(root)
        assert str(failure.value) == said


def test_a_bare_name_of_a_command_that_is_not_looked_up_on_path(tmp_path: Path) -> None:
    command = tmp_path / "my-toolfs"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    assert find_binary("my-toolfs", {"PATH": f"/nowhere{os.pathsep}{tmp_path}"}) == str(command)
    with pytest.raises(LocalServerError, match="the option `binary` names `my-toolfs`, which is not on `PATH`"):
        find_binary("my-toolfs", {"PATH": "/nowhere"})


def test_last_words_of_a_server_that_said_none(tmp_path: Path) -> None:
    command = tmp_path / "silent"
    command.write_text("#!/bin/sh\nexit 3\n")
    command.chmod(0o755)
    with pytest.raises(LocalServerError) as failure:
        Toolfs.local(tmp_path, binary=command)
    assert str(failure.value) == "`toolfs serve` ended with status 3 before it was ready; it said nothing"


# Values


@pytest.mark.parametrize(
    ("said", "add"),
    [
        ("`file_path` must be a string, not `bytes`", lambda call: add_read(call, b"a", None, None)),  # type: ignore[arg-type]
        ("`content` must be a string, not `bytes`", lambda call: add_write(call, "a", b"b")),  # type: ignore[arg-type]
        ("`new_string` must be a string, not `bytes`", lambda call: add_edit(call, "a", "b", b"c", False)),  # type: ignore[arg-type]
        ("`name` must be a string, not `bytes`", lambda call: add_json(call, b"read", {})),  # type: ignore[arg-type]
        ("`limit` must be an integer, not `float`", lambda call: add_read(call, "a", None, 1.5)),  # type: ignore[arg-type]
        ("`replace_all` must be `True` or `False`, not `str`", lambda call: add_edit(call, "a", "b", "c", "no")),  # type: ignore[arg-type]
    ],
)
def test_an_argument_that_is_almost_of_its_kind(said: str, add: Any) -> None:
    with pytest.raises(ArgumentError) as failure:
        add(request())
    assert str(failure.value) == said


def test_an_enum_that_is_printed_as_its_number() -> None:
    assert (str(LineEndings.CRLF), f"{LineEndings.CRLF}", f"{LineEndings.CRLF:>6}") == ("CRLF", "CRLF", "  CRLF")
    assert f"{LineEndings(99)} {LineEndings.CRLF:d}" == "UNKNOWN_99 2"


def test_a_version_that_is_not_that_of_the_package() -> None:
    project = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    assert f'\nversion = "{toolfs.__version__}"\n' in project
