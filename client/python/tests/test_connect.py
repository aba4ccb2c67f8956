"""Addresses, shared channels, options of the transport, and servers that cannot be reached."""

from __future__ import annotations

import asyncio
import gc
import multiprocessing
import os
import socket
import threading
from pathlib import Path
from typing import Any

import grpc
import pytest
from both import MODES, connect
from conftest import Live
from scripted_server import TOOLS, Script, serving

from toolfs import ArgumentError, AsyncToolfs, CallError, ConnectError, Keepalive, RetryPolicy, Tls, Toolfs, ToolfsError
from toolfs._async.pool import POOL as ASYNC_POOL
from toolfs._sync.pool import POOL as SYNC_POOL
from toolfs.target import Target
from toolfs.v1 import tool_pb2

POOLS: dict[str, Any] = {"sync": SYNC_POOL, "asyncio": ASYNC_POOL}


def target(address: str, **options: Any) -> Target:
    given = {"tls": None, "keepalive": Keepalive(), "connect_timeout": 5.0, "max_message_bytes": 1 << 20, **options}
    return Target(address, **given)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "localhost",
        "host:",
        ":50051",
        "host:port",
        "host:70000",
        f"host:{'9' * 5000}",
        "http://host:1",
        "dns:host:1",
        "::1:1",
        "[::1]x:1",
        "[host]:1",
        "host:\u0663",
        "ho st:1",
        "host/x:1",
        "host\0:1",
        "unix:relative",
        "unix:",
        "unix:/a\0b",
        "unix:/a,b",
        "unix:/half: \ud83d",
    ],
)
def test_what_is_no_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(ArgumentError, match="`address` must be"):
        Toolfs.connect(address)


@pytest.mark.parametrize("address", ["unix:/run/toolfs.sock", "unix:///run/toolfs.sock", "h:1", "[::1]:50051"])
def test_an_address_is_taken(address: str) -> None:
    target(address)


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("unix:/a", True),
        ("localhost:1", True),
        ("127.0.0.1:1", True),
        ("127.8.9.1:1", True),
        ("[::1]:1", True),
        ("10.0.0.1:1", False),
        ("localhost.example:1", False),
        ("[2001:db8::1]:1", False),
    ],
)
def test_a_token_is_refused_where_others_could_read_it(address: str, local: bool) -> None:
    if local:
        Toolfs.connect(address, token="secret")
    else:
        with pytest.raises(ArgumentError, match="in the clear"):
            Toolfs.connect(address, token="secret")
        Toolfs.connect(address, token="secret", tls=Tls())


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["que?ry", "frag#ment", "per%20cent", "%2", "col:on", "sp ace", "ünï"])
async def test_a_socket_is_reached_by_the_name_that_it_has(mode: str, name: str, tmp_path: Path) -> None:
    # A socket by the name that remains when the address is read as a URI, where there is one.
    decoy = {"que?ry": "que", "frag#ment": "frag", "per%20cent": "per cent"}.get(name, "decoy")
    meant, other = Script(), Script()
    with serving(other, address=f"unix:{tmp_path}/decoy"):
        if decoy != "decoy":
            (tmp_path / decoy).symlink_to(tmp_path / "decoy")
        with serving(meant, address=f"unix:{tmp_path}/plain"):
            (tmp_path / name).symlink_to(tmp_path / "plain")
            async with connect(mode, f"unix:{tmp_path}/{name}") as client:
                await client.definitions()
    assert (len(meant.requests(TOOLS)), other.asked) == (1, [])


def test_a_certificate_without_its_key_is_refused() -> None:
    with pytest.raises(ArgumentError, match="needs `cert` and `key` together"):
        Toolfs.connect("h:1", tls=Tls(cert=b"pem"))


def test_a_certificate_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ArgumentError, match=r"`tls\.ca` cannot be read"):
        Toolfs.connect("h:1", tls=Tls(ca="/nowhere/ca.pem")).capabilities()


def test_keepalive_and_limits_reach_the_transport() -> None:
    options = dict(target("h:1", keepalive=Keepalive(time=7, timeout=2.5, without_calls=True)).options())
    assert options["grpc.keepalive_time_ms"] == 7000
    assert options["grpc.keepalive_timeout_ms"] == 2500
    assert options["grpc.keepalive_permit_without_calls"] == 1
    assert options["grpc.http2.max_pings_without_data"] == 0
    assert options["grpc.max_send_message_length"] == options["grpc.max_receive_message_length"] == 1 << 20


def test_only_sockets_have_a_made_up_authority() -> None:
    assert dict(target("unix:/a").options())["grpc.default_authority"] == "localhost"
    assert "grpc.default_authority" not in dict(target("h:1").options())


def test_a_proxy_of_the_environment_is_not_asked_for_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("no_grpc_proxy", raising=False)
    with serving(Script()) as address, Toolfs.connect(address) as client:
        client.definitions()


@pytest.mark.parametrize("mode", MODES)
async def test_clients_of_the_same_target_share_a_channel_until_the_last_one_closes(mode: str, live: Live) -> None:
    before = len(POOLS[mode])
    first, second = connect(mode, live.address), connect(mode, live.address)
    other = connect(mode, live.address, max_message_bytes=1 << 20)
    for client in (first, second, other):
        await client.definitions()
    assert len(POOLS[mode]) == before + 2
    await first.close()
    await first.close()
    assert len(POOLS[mode]) == before + 2
    await second.definitions()
    await second.close()
    await other.close()
    assert len(POOLS[mode]) == before


@pytest.mark.parametrize("mode", MODES)
async def test_a_closed_client_says_so(mode: str, live: Live) -> None:
    client = connect(mode, live.address)
    await client.close()
    with pytest.raises(ToolfsError, match="the client is closed"):
        await client.definitions()


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_is_not_there_is_named(mode: str) -> None:
    once = RetryPolicy(attempts=1)
    async with connect(mode, "unix:/nowhere/toolfs.sock", retry=once) as client:
        with pytest.raises(ConnectError, match="cannot connect to `unix:/nowhere/toolfs.sock`: .*No such file"):
            await client.definitions()


@pytest.mark.parametrize("mode", MODES)
async def test_a_server_that_says_nothing_is_given_up_after_the_time_to_connect(mode: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        async with connect(mode, address, connect_timeout=0.3) as client:
            with pytest.raises(ConnectError) as failure:
                await client.definitions(deadline=30)
    assert failure.value.retryable


@pytest.mark.parametrize("mode", MODES)
async def test_a_token_goes_with_every_attempt_and_is_never_shown(mode: str) -> None:
    script = Script()
    tokens = iter(["first", "second"])
    with serving(script) as address:
        async with connect(mode, address, token=lambda: next(tokens)) as client:
            await client.definitions()
            await client.definitions()
            assert "first" not in repr(client)
        async with connect(mode, address, token="fixed") as client:
            await client.definitions()
            assert "fixed" not in repr(client)
    told = [metadata["authorization"] for method, _, metadata in script.asked if method == TOOLS]
    assert told == ["Bearer first", "Bearer second", "Bearer fixed"]


async def test_a_token_may_come_from_a_coroutine() -> None:
    async def token() -> str:
        await asyncio.sleep(0)
        return "awaited"

    script = Script()
    with serving(script) as address:
        async with AsyncToolfs.connect(address, token=token) as client:
            await client.definitions()
    assert script.asked[0][2]["authorization"] == "Bearer awaited"


@pytest.mark.parametrize("mode", MODES)
async def test_a_token_that_no_header_can_hold_is_refused_without_being_told(mode: str, live: Live) -> None:
    async with connect(mode, live.address, token="se\ncret") as client:
        with pytest.raises(ArgumentError) as failure:
            await client.definitions()
    assert "cret" not in str(failure.value)


def test_a_client_goes_on_in_a_new_loop_when_the_old_one_has_ended(live: Live) -> None:
    client = AsyncToolfs.connect(live.address)
    assert len(asyncio.run(client.definitions())) == 3
    assert len(asyncio.run(client.definitions())) == 3
    gc.collect()


def test_a_client_refuses_another_loop_while_its_own_is_alive(live: Live) -> None:
    client = AsyncToolfs.connect(live.address)
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(client.definitions())
        with pytest.raises(ToolfsError, match="belongs to another event loop"):
            asyncio.run(client.definitions())
        loop.run_until_complete(client.close())
    finally:
        loop.close()


def _in_child(client: Toolfs, results: Any) -> None:
    try:
        results.put(len(client.definitions(deadline=20)))
    except BaseException as error:
        results.put(repr(error))


def test_a_client_works_on_both_sides_of_a_fork(live: Live) -> None:
    with Toolfs.connect(live.address) as client, client.open_session() as session:
        session.write("a.txt", "a\n")
        context = multiprocessing.get_context("fork")
        results = context.Queue()
        child = context.Process(target=_in_child, args=(client, results))
        child.start()
        try:
            assert results.get(timeout=30) == 3
        finally:
            child.join(30)
        assert child.exitcode == 0
        assert session.read("a.txt").outcome.total_lines == 1
    assert os.getpid() == SYNC_POOL._pid


def test_sixteen_threads_share_one_client(live: Live) -> None:
    before = len(SYNC_POOL)
    failures: list[BaseException] = []
    with Toolfs.connect(live.address) as client:

        def work(number: int) -> None:
            try:
                with client.open_session() as session:
                    for turn in range(10):
                        name = f"{number}.txt"
                        session.write(name, f"{turn}\n")
                        session.edit(name, f"{turn}\n", f"{turn}!\n")
                        assert session.read(name).text.startswith(f"1: {turn}!")
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(SYNC_POOL) == before + 1
    assert failures == []
    assert {path.read_text() for path in live.root.iterdir()} == {"9!\n"}
    assert len(list(live.root.iterdir())) == 16


async def test_a_call_out_of_time_says_so(live: Live) -> None:
    script = Script(answers={TOOLS: [lambda _: _wait_for(release)]})
    release = threading.Event()
    with serving(script) as address:
        try:
            async with AsyncToolfs.connect(address, deadline=0.3) as client:
                with pytest.raises(CallError) as failure:
                    await client.definitions()
        finally:
            release.set()
    assert (failure.value.status, failure.value.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")
    assert not failure.value.retryable


def _wait_for(release: threading.Event) -> Any:
    release.wait(30)
    return tool_pb2.ListToolsResponse()
