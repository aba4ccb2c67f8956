"""Large contents, and the limits on messages."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from both import MODES, connect
from conftest import Live
from corpus.server import Server

from toolfs import CallError, ToolError
from toolfs.detail import TooLargeDetail

MIB = 1 << 20

pytestmark = pytest.mark.parametrize("mode", MODES)


def text(size: int) -> str:
    """So many bytes, in lines of 1 KiB that differ."""
    return "".join(f"{number:>1023}\n" for number in range(size // 1024))


async def test_five_mib_are_written_and_read_back(mode: str, live: Live) -> None:
    content = text(5 * MIB)
    async with connect(mode, live.address) as client, await client.open_session() as session:
        written = await session.write("big.txt", content)
        page = await session.read("big.txt", offset=5000, limit=2)
    assert written.outcome.size == 5 * MIB
    assert (live.root / "big.txt").read_text() == content
    assert (page.outcome.total_lines, page.outcome.next_offset) == (5 * 1024, 5002)


async def test_more_than_a_content_may_have_is_a_refusal_with_the_limit(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as client, await client.open_session() as session:
        with pytest.raises(ToolError) as failure:
            await session.write("big.txt", text(17 * MIB))
    assert failure.value.code == "FS_TOO_LARGE"
    assert isinstance(failure.value.detail, TooLargeDetail)
    assert (failure.value.detail.limit_name, failure.value.detail.limit_bytes) == ("max_content_bytes", 16 * MIB)


async def test_thirty_two_mib_pass_where_the_server_takes_them(mode: str, tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    flags = ["--max-content-bytes", str(32 * MIB), "--max-window-bytes", str(40 * MIB)]
    flags += ["--max-limit-lines", "100000", "--default-limit-lines", "100000"]
    server = Server(tmp_path, tmp_path / "root", flags=flags, persistent=False)
    server.start()
    try:
        async with connect(mode, server.address) as client, await client.open_session() as session:
            written = await session.write("big.txt", text(32 * MIB))
            page = await session.read("big.txt")
    finally:
        ended = server.stop()
    assert written.outcome.size == 32 * MIB
    assert page.outcome.line_count == 32 * 1024
    assert len(page.text) > 32 * MIB
    assert not ended, ended


async def test_a_call_over_ones_own_limit_names_the_option(mode: str, live: Live) -> None:
    async with connect(mode, live.address, max_message_bytes=MIB) as client, await client.open_session() as session:
        with pytest.raises(CallError, match="`max_message_bytes`") as failure:
            await session.write("big.txt", text(2 * MIB))
    assert failure.value.status is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not (live.root / "big.txt").exists()


async def test_an_answer_over_ones_own_limit_names_the_option(mode: str, live: Live) -> None:
    (live.root / "big.txt").write_text(text(MIB))
    async with connect(mode, live.address, max_message_bytes=4096) as client, await client.open_session() as session:
        with pytest.raises(CallError, match="`max_message_bytes`") as failure:
            await session.read("big.txt")
    assert failure.value.status is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_call_over_the_servers_limit_says_what_is_wrong(mode: str, live: Live) -> None:
    async with connect(mode, live.address, max_message_bytes=256 * MIB) as client:
        async with await client.open_session() as session:
            with pytest.raises(CallError) as failure:
                await session.write("big.txt", "x" * (65 * MIB))
    assert str(64 * MIB) in failure.value.message
    assert not failure.value.retryable
