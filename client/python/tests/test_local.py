"""Servers of one's own: how they are found, started and ended."""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from both import MODES, local
from corpus.server import binary

from toolfs import AsyncToolfs, CallError, ConnectError, LocalServerError, Toolfs
from toolfs.local import find_binary

PATIENCE = 30.0


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The servers must not see what whoever runs the tests has set."""
    for name in os.environ:
        if name.startswith(("TOOLFS_", "OTEL_")) or name == "RUST_LOG":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))


COMMAND = str(binary())


def until(condition: Callable[[], bool], what: str) -> None:
    """Waits until it is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {PATIENCE:.0f} s"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    """Whether no such process runs; one that has ended and waits for its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def script(path: Path, text: str) -> Path:
    """A command that stands in for the server."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def server_of(client: Any) -> Any:
    """The server of a client of either kind."""
    return getattr(client, "inner", client)._server


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_and_its_server_come_and_go_together(mode: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    client = await local(mode, tmp_path, binary=COMMAND)
    async with client, await client.open_session() as session:
        server = server_of(client)
        directory = Path(server.address.removeprefix("unix:")).parent
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700
        assert (await session.read("a.txt")).outcome.total_lines == 1
        assert session.info.cwd == str(tmp_path.resolve())
    assert is_gone(server.pid)
    assert not directory.exists()


async def test_the_asyncio_client_is_usable_as_it_is_made(tmp_path: Path) -> None:
    async with AsyncToolfs.local(root=tmp_path, binary=COMMAND) as client, client.open_session() as session:
        assert (await session.write("a.txt", "a\n")).outcome.size == 2


@pytest.mark.parametrize("mode", MODES)
async def test_two_servers_are_apart(mode: str, tmp_path: Path) -> None:
    roots = [tmp_path / name for name in ("one", "two")]
    for root in roots:
        root.mkdir()
    clients = [await local(mode, f"{root}=/workspace", binary=COMMAND) for root in roots]
    for client, root in zip(clients, roots):
        async with await client.open_session() as session:
            await session.write("/workspace/name.txt", root.name)
    for client in clients:
        await client.close()
    assert [(root / "name.txt").read_text() for root in roots] == ["one", "two"]


def test_several_roots_and_further_arguments_reach_the_server(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    roots = [f"{tmp_path}/one=/one", f"{tmp_path}/two=/two"]
    args = ["--max-content-bytes", "1000"]
    with Toolfs.local(roots, binary=COMMAND, policy="none", args=args) as client:
        told = client.capabilities()
        assert [root.display_path for root in told.roots] == ["/one", "/two"]
        assert told.policy.name == "none"
        assert {limit.name: limit.value for limit in told.limits}["max_content_bytes"] == 1000


def test_settings_of_the_environment_do_not_reach_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLFS_POLICY", "none")
    monkeypatch.setenv("TOOLFS_NO_SUCH_SETTING", "1")
    monkeypatch.setenv("TOOLFS_BIN", COMMAND)
    with Toolfs.local(tmp_path) as client:
        assert client.capabilities().policy.name == "observation"


def test_the_command_is_found_by_option_variable_and_path(tmp_path: Path) -> None:
    commands = []
    for name in ("option", "variable", "path"):
        (tmp_path / name).mkdir()
        commands.append(str(script(tmp_path / name / "toolfs", "exit 0")))
    option, variable, on_path = commands
    environ = {"TOOLFS_BIN": variable, "PATH": str(tmp_path / "path")}
    assert find_binary(option, environ) == option
    assert find_binary(None, environ) == variable
    assert find_binary(None, {**environ, "TOOLFS_BIN": ""}) == on_path


@pytest.mark.parametrize("mode", MODES)
async def test_a_command_that_is_nowhere_is_an_error_that_says_how_to_get_it(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LocalServerError) as failure:
        await local(mode, tmp_path)
    for word in ("`binary`", "`TOOLFS_BIN`", "`PATH`", "cargo install --path server/daemon", "release"):
        assert word in str(failure.value)


def test_a_named_command_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LocalServerError, match="the option `binary` names `/nowhere/toolfs`"):
        Toolfs.local(tmp_path, binary="/nowhere/toolfs")
    monkeypatch.setenv("TOOLFS_BIN", str(tmp_path))
    with pytest.raises(LocalServerError, match=f"the variable `TOOLFS_BIN` names `{tmp_path}`"):
        Toolfs.local(tmp_path)


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_does_not_start_is_quoted(mode: str, tmp_path: Path) -> None:
    with pytest.raises(LocalServerError) as failure:
        await local(mode, tmp_path / "missing", binary=COMMAND)
    assert "ended with status" in str(failure.value)
    assert str(tmp_path / "missing") in str(failure.value)


def test_a_server_that_never_gets_ready_is_ended_and_quoted(tmp_path: Path) -> None:
    command = script(tmp_path / "toolfs", f"echo $$ > {tmp_path}/pid; echo still thinking >&2; exec cat")
    with pytest.raises(LocalServerError, match=r"took over 1 s before it was ready; it said:\nstill thinking"):
        Toolfs.local(tmp_path, binary=command, start_timeout=1.0)
    assert is_gone(int((tmp_path / "pid").read_text()))


DEAF = "trap '' TERM; (trap '' TERM; echo $$ > {pid}; {says}; while :; do sleep 60; done)"
"""A command that hears neither the end of its input nor SIGTERM, and has children that do not, either."""


@pytest.mark.parametrize("mode", MODES)
async def test_a_start_that_takes_too_long_costs_no_more_than_it_may_take(mode: str, tmp_path: Path) -> None:
    command = script(tmp_path / "toolfs", DEAF.format(pid=tmp_path / "pid", says="echo thinking"))
    began = time.monotonic()
    with pytest.raises(LocalServerError, match="took over 1 s"):
        await local(mode, tmp_path, binary=command, start_timeout=1.0)
    assert time.monotonic() - began < 2.5
    assert is_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_does_not_end_is_killed_within_seconds(mode: str, tmp_path: Path) -> None:
    command = script(tmp_path / "toolfs", DEAF.format(pid=tmp_path / "pid", says="echo toolfs ready: so it says"))
    client = await local(mode, tmp_path, binary=command)
    directory = Path(client.address.removeprefix("unix:")).parent
    began = time.monotonic()
    await client.close()
    assert time.monotonic() - began < 5.0
    assert is_gone(server_of(client).pid) and is_gone(int((tmp_path / "pid").read_text()))
    assert not directory.exists()


def test_a_command_that_ends_by_itself_is_quoted_with_its_own_status(tmp_path: Path) -> None:
    command = script(tmp_path / "toolfs", "exec >&-; sleep 0.3; exit 7")
    with pytest.raises(LocalServerError, match="ended with status 7"):
        Toolfs.local(tmp_path, binary=command)


def test_a_file_that_is_no_program_is_named(tmp_path: Path) -> None:
    command = tmp_path / "toolfs"
    command.write_bytes(b"\x7fnothing")
    command.chmod(0o755)
    with pytest.raises(LocalServerError, match="cannot be started"):
        Toolfs.local(tmp_path, binary=command)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "options", [{"args": ["--\0"]}, {"args": [5]}, {"root": "a\0b"}, {"root": "half: \ud83d"}, {"state": "a\0b"}]
)
async def test_an_argument_that_no_command_can_have_leaves_nothing_behind(
    mode: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    with pytest.raises(LocalServerError, match="cannot be started"):
        await local(mode, **{"root": tmp_path, "binary": COMMAND, **options})
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize("mode", MODES)
async def test_a_temporary_directory_that_cannot_be_written_to_is_named(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    with pytest.raises(LocalServerError, match=r"no directory for the server's socket: .*missing.*set `TMPDIR`"):
        await local(mode, tmp_path, binary=COMMAND)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["que?ry", "frag#ment", "per%20cent", "%", "col:on", "sp ace", "ünï", "a=;+&b"])
async def test_a_temporary_directory_of_any_name_holds_a_server(
    mode: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Short, since a socket's path must be.
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        temporary = Path(short) / name
        temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        client = await local(mode, tmp_path, binary=COMMAND)
        async with client, await client.open_session() as session:
            await session.write("a.txt", "a\n")
            assert client.address.startswith(f"unix:{temporary}/")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["com,ma", "not UTF-8: \udce4", "long" * 40])
async def test_a_temporary_directory_that_no_socket_can_be_in_is_not_used(
    mode: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / name
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    client = await local(mode, tmp_path, binary=COMMAND)
    async with client:
        await client.definitions()
        assert client.address.startswith("unix:/tmp/toolfs-local-")
    assert list(temporary.iterdir()) == []


def test_what_a_server_says_is_kept_up_to_a_bound_and_never_holds_it_up(tmp_path: Path) -> None:
    words = "i=0; while [ $i -lt 20000 ]; do echo line $i of much that is said >&2; i=$((i+1)); done; exit 3"
    command = script(tmp_path / "toolfs", words)
    with pytest.raises(LocalServerError, match="ended with status 3") as failure:
        Toolfs.local(tmp_path, binary=command)
    assert str(failure.value).endswith("line 19999 of much that is said")
    assert len(str(failure.value)) < 20_000


def test_a_client_whose_server_died_says_that_it_cannot_connect(tmp_path: Path) -> None:
    with Toolfs.local(tmp_path, binary=COMMAND) as client:
        client.definitions()
        os.kill(server_of(client).pid, signal.SIGKILL)
        until(lambda: is_gone(server_of(client).pid), "the end of the server")
        # The first call may still be sent over the connection whose end nobody has noticed.
        with pytest.raises((CallError, ConnectError)) as failure:
            client.definitions()
        assert failure.value.retryable
        with pytest.raises(ConnectError):
            client.definitions()


CHILD = """
import sys
from toolfs import Toolfs
{before}
client = Toolfs.local(sys.argv[1], binary=sys.argv[2])
session = client.open_session()
session.write("a.txt", "a")
print(client._server.pid, client.address, flush=True)
{then}
"""


def child(then: str, tmp_path: Path, before: str = "") -> tuple[subprocess.Popen[str], int, Path]:
    """A process with a server of its own; gives the server's pid and directory."""
    command = [sys.executable, "-c", CHILD.format(then=then, before=before), str(tmp_path), COMMAND]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pid, address = process.stdout.readline().split()
    return process, int(pid), Path(address.removeprefix("unix:")).parent


def test_a_server_ends_when_its_process_is_killed(tmp_path: Path) -> None:
    process, server, directory = child("sys.stdin.read()", tmp_path)
    assert not is_gone(server)
    process.kill()
    process.communicate()
    until(lambda: is_gone(server), "the end of the server")
    # Nobody is left to remove the directory; nothing is left in it.
    assert list(directory.iterdir()) == []
    # The next server removes it, once it is clear that nobody is starting in it.
    os.utime(directory, (0, 0))
    with Toolfs.local(tmp_path, binary=COMMAND):
        assert not directory.exists()


def test_a_server_ends_with_a_process_that_does_not_close_its_client(tmp_path: Path) -> None:
    process, server, directory = child("", tmp_path)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    until(lambda: is_gone(server), "the end of the server")
    assert not directory.exists()


def test_a_forked_child_neither_ends_the_server_nor_keeps_it_alive(tmp_path: Path) -> None:
    # The grandchild ends by itself first, which must not end the server; another outlives its parent.
    then = """
import os
if os.fork() == 0:
    sys.exit(0)
os.wait()
session.read("a.txt")
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
print("served", flush=True)
sys.stdin.read()
"""
    process, server, _ = child(then, tmp_path)
    assert process.stdout is not None
    assert process.stdout.readline() == "served\n"
    process.kill()
    process.wait()
    try:
        until(lambda: is_gone(server), "the end of the server")
    finally:
        process.communicate()


def test_a_child_that_is_forked_while_a_server_starts_does_not_keep_it_alive(tmp_path: Path) -> None:
    # Another thread forks as soon as the server's pipe is there, or has to wait until its owner knows of it.
    before = """
import os, subprocess, threading
forked = threading.Event()
def fork():
    if os.fork() == 0:
        sys.stdin.read()
        os._exit(0)
    forked.set()
class Popen(subprocess.Popen):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        threading.Thread(target=fork).start()
        forked.wait(0.5)
subprocess.Popen = Popen
"""
    process, server, _ = child("forked.wait(); print('forked', flush=True); sys.stdin.read()", tmp_path, before)
    assert process.stdout is not None
    assert process.stdout.readline() == "forked\n"
    process.kill()
    process.wait()
    try:
        until(lambda: is_gone(server), "the end of the server")
    finally:
        process.communicate()


def test_an_interrupt_from_the_terminal_is_not_for_the_server(tmp_path: Path) -> None:
    with Toolfs.local(tmp_path, binary=COMMAND) as client:
        assert os.getsid(server_of(client).pid) == server_of(client).pid


async def test_a_start_that_is_given_up_leaves_no_server(tmp_path: Path) -> None:
    command = script(tmp_path / "toolfs", f"echo $$ > {tmp_path}/pid; exec cat")
    starting = asyncio.ensure_future(AsyncToolfs.local(tmp_path, binary=command, start_timeout=2.0))
    await asyncio.to_thread(
        until, lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text() != "", "start"
    )
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    pid = int((tmp_path / "pid").read_text())
    await asyncio.to_thread(until, lambda: is_gone(pid), "the end of the command")
