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


async def result(value: Any) -> Any:
    """What either client gives: the asyncio one's is awaited."""
    return await value if hasattr(value, "__await__") else value


async def collected(mode: str, address: str) -> None:
    """Makes a client that has a channel, and lets the collector have it."""
    client = connect(mode, address)
    await client.definitions()
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
    before = len(POOLS[mode])
    for _ in range(3):
        with pytest.warns(ResourceWarning, match="was not closed"):
            await collected(mode, live.address)
        assert len(POOLS[mode]) == before


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_is_collected_leaves_the_channel_to_the_others(mode: str, live: Live) -> None:
    before = len(POOLS[mode])
    async with connect(mode, live.address) as other:
        await other.definitions()
        with pytest.warns(ResourceWarning, match="was not closed"):
            await collected(mode, live.address)
        assert len(await other.definitions()) == 3
        assert len(POOLS[mode]) == before + 1
    assert len(POOLS[mode]) == before


@pytest.mark.parametrize("mode", MODES)
async def test_a_collection_in_the_middle_of_the_pools_work_does_not_block(mode: str, live: Live) -> None:
    pool = POOLS[mode]
    before = len(pool)
    with pytest.warns(ResourceWarning, match="was not closed"):
        client = connect(mode, live.address)
        await client.definitions()
        with pool._lock:
            del client
            gc.collect()
            assert len(pool) == before + 1
    async with connect(mode, live.address, max_message_bytes=1 << 20) as next_one:
        await next_one.definitions()
        assert len(pool) == before + 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("used", [True, False])
async def test_a_client_that_is_closed_or_was_never_used_is_collected_without_a_word(
    mode: str, used: bool, live: Live
) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        client = connect(mode, live.address)
        if used:
            await client.definitions()
            await client.close()
        del client
        gc.collect()
    assert [str(warning.message) for warning in told if warning.category is ResourceWarning] == []


def test_the_end_of_a_process_is_no_place_to_complain_of_open_clients(tmp_path: Path) -> None:
    code = "import sys; from toolfs import Toolfs; c = Toolfs.local(sys.argv[1], binary=sys.argv[2]); c.definitions()"
    command = [sys.executable, "-X", "dev", "-c", code, str(tmp_path), str(binary())]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLFS_", "OTEL_"))}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert (ended.returncode, ended.stderr) == (0, "")
