"""Clients that nobody closes: what a session still needs, and what must not be left behind."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from both import MODES, connect
from conftest import Live
from corpus.server import binary
from test_connect import POOLS

from toolfs import AsyncToolfs, Toolfs


async def unheld_session(mode: str, root: Path) -> Any:
    """A session of a local server, of which the client is held by nobody else."""
    if mode == "sync":
        return Toolfs.local(root, binary=binary()).open_session()
    return await (await AsyncToolfs.local(root, binary=binary())).open_session()


def channels(mode: str, address: str) -> int:
    """How many channels to an address the pool holds. Those of others may go at any time."""
    return sum(connection.target.address == address for connection in POOLS[mode]._connections)


async def result(value: Any) -> Any:
    """What either client gives: the asyncio one's is awaited."""
    return await value if hasattr(value, "__await__") else value


async def used(mode: str, address: str) -> Any:
    """A client that has a channel, and that no other thread holds."""
    client: Any = (Toolfs if mode == "sync" else AsyncToolfs).connect(address)
    await result(client.definitions())
    return client


async def collected(mode: str, address: str) -> None:
    """Makes a client that has a channel, and lets the collector have it."""
    client = await used(mode, address)
    del client
    gc.collect()


@pytest.mark.parametrize("mode", MODES)
async def test_a_session_keeps_the_server_of_a_client_that_nobody_holds(mode: str, tmp_path: Path) -> None:
    session = await unheld_session(mode, tmp_path)
    gc.collect()
    try:
        assert (await result(session.write("a.txt", "a\n"))).outcome.size == 2
    finally:
        await result(session._client.close())


@pytest.mark.parametrize("mode", MODES)
async def test_a_session_that_nobody_holds_takes_client_and_server_with_it(mode: str, tmp_path: Path) -> None:
    session = await unheld_session(mode, tmp_path)
    directory = Path(session._client.address.removeprefix("unix:")).parent
    assert directory.exists()
    with pytest.warns(ResourceWarning, match=r"Toolfs unix:.*toolfs\.sock> was not closed"):
        del session
        gc.collect()
    assert not directory.exists()


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_is_collected_leaves_no_channel(mode: str, live: Live) -> None:
    for _ in range(3):
        with pytest.warns(ResourceWarning, match="was not closed"):
            await collected(mode, live.address)
        assert channels(mode, live.address) == 0


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_is_collected_leaves_the_channel_to_the_others(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as other:
        await other.definitions()
        with pytest.warns(ResourceWarning, match="was not closed"):
            await collected(mode, live.address)
        assert len(await other.definitions()) == 3
        assert channels(mode, live.address) == 1
    assert channels(mode, live.address) == 0


@pytest.mark.parametrize("mode", MODES)
async def test_a_collection_in_the_middle_of_the_pools_work_does_not_block(mode: str, live: Live) -> None:
    pool = POOLS[mode]
    with pytest.warns(ResourceWarning, match="was not closed"):
        client = await used(mode, live.address)
        with pool._lock:
            del client
            gc.collect()
            assert channels(mode, live.address) == 1
    async with connect(mode, live.address, max_message_bytes=1 << 20) as next_one:
        await next_one.definitions()
        assert channels(mode, live.address) == 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("closed", [True, False])
async def test_a_client_that_is_closed_or_was_never_used_is_collected_without_a_word(
    mode: str, closed: bool, live: Live
) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        client = connect(mode, live.address)
        if closed:
            client = await used(mode, live.address)
            await result(client.close())
        del client
        gc.collect()
    assert [str(warning.message) for warning in told if warning.category is ResourceWarning] == []


def test_the_end_of_a_process_is_no_place_to_complain_of_open_clients(tmp_path: Path) -> None:
    code = "import sys; from toolfs import Toolfs; c = Toolfs.local(sys.argv[1], binary=sys.argv[2]); c.definitions()"
    command = [sys.executable, "-X", "dev", "-c", code, str(tmp_path), str(binary())]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLFS_", "OTEL_"))}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (ended.returncode, ended.stderr) == (0, "")
