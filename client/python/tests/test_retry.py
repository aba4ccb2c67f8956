"""Retries over a scripted server, through both clients."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from both import MODES, connect, listed
from scripted_server import (
    CAPABILITIES,
    CLOSE,
    EXECUTE,
    FORGET,
    GET,
    LIST,
    OPEN,
    TOOLS,
    Fails,
    Script,
    forgetful,
    fs_error,
    refusal,
    remembering,
    serving,
)

from toolfs import CallError, ConnectError, RetryPolicy, ToolError
from toolfs.v1 import types_pb2

SOON = RetryPolicy(random=lambda: 0.01)
"""Waits that a test need not wait for."""
DOWN = Fails()

pytestmark = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def address(script: Script) -> Iterator[str]:
    with serving(script) as address:
        yield address


async def test_a_read_comes_through_after_three_failures(mode: str, script: Script, address: str) -> None:
    script.answers[EXECUTE] = [DOWN, DOWN, DOWN]
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        result = await session.read("a.txt")
    assert result.outcome.total_lines == 1
    assert len(script.requests(EXECUTE)) == 4


async def test_a_read_fails_after_four_attempts(mode: str, script: Script, address: str) -> None:
    script.answers[EXECUTE] = [DOWN] * 9
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        with pytest.raises(CallError) as failure:
            await session.read("a.txt")
    assert (failure.value.status, failure.value.attempts) == (grpc.StatusCode.UNAVAILABLE, 4)
    assert failure.value.retryable
    assert len(script.requests(EXECUTE)) == 4


async def test_each_attempt_has_the_same_request_id_and_each_call_another(
    mode: str, script: Script, address: str
) -> None:
    script.answers[EXECUTE] = [DOWN, DOWN]
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        await session.edit("a.txt", "a", "b")
        await session.edit("a.txt", "a", "b")
    ids = [request.request_id for request in script.requests(EXECUTE)]
    assert len(ids) == 4
    assert ids[0] == ids[1] == ids[2] != ids[3]


async def test_a_mutation_in_a_session_asks_once_whether_results_are_remembered(
    mode: str, script: Script, address: str
) -> None:
    script.answers[EXECUTE] = [DOWN, DOWN]
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        await session.write("a.txt", "a")
        script.answers[EXECUTE] = [DOWN]
        await session.write("a.txt", "a")
    assert len(script.requests(CAPABILITIES)) == 1
    assert len(script.requests(EXECUTE)) == 5


async def test_nothing_is_asked_where_nothing_fails(mode: str, script: Script, address: str) -> None:
    async with connect(mode, address) as client, await client.open_session() as session:
        await session.write("a.txt", "a")
    assert script.requests(CAPABILITIES) == []


async def test_a_mutation_is_not_sent_again_where_results_are_forgotten(
    mode: str, script: Script, address: str
) -> None:
    script.answers = {EXECUTE: [DOWN], CAPABILITIES: [forgetful()]}
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        with pytest.raises(CallError):
            await session.write("a.txt", "a")
    assert len(script.requests(EXECUTE)) == 1


async def test_a_mutation_waits_for_the_server_to_tell_whether_it_remembers(
    mode: str, script: Script, address: str
) -> None:
    script.answers = {EXECUTE: [DOWN], CAPABILITIES: [DOWN, remembering()]}
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        await session.call("write", {"file_path": "a.txt", "content": ""})
    assert len(script.requests(CAPABILITIES)) == 2
    assert len(script.requests(EXECUTE)) == 2


async def test_a_mutation_without_a_session_is_not_sent_again(mode: str, script: Script, address: str) -> None:
    script.answers[EXECUTE] = [DOWN]
    async with connect(mode, address, retry=SOON) as client:
        with pytest.raises(CallError):
            await client.call("write", {"file_path": "a.txt", "content": ""})
    assert len(script.requests(EXECUTE)) == 1
    assert script.requests(CAPABILITIES) == []


@pytest.mark.parametrize("options", [{"dry_run": True}, {}])
async def test_a_dry_run_and_a_read_without_a_session_are_sent_again(
    mode: str, script: Script, address: str, options: dict[str, Any]
) -> None:
    script.answers[EXECUTE] = [DOWN]
    async with connect(mode, address, retry=SOON) as client:
        await client.call("write" if options else "read", {"file_path": "a.txt"}, **options)
    assert len(script.requests(EXECUTE)) == 2


async def test_opening_a_session_is_not_sent_again(mode: str, script: Script, address: str) -> None:
    script.answers[OPEN] = [DOWN]
    async with connect(mode, address, retry=SOON) as client:
        with pytest.raises(CallError):
            await client.open_session()
    assert len(script.requests(OPEN)) == 1


async def test_opening_a_session_is_not_sent_again_when_the_server_passes_on_that_another_is_gone(
    mode: str, script: Script, address: str
) -> None:
    # The words are those by which the transport says that a call never left.
    script.answers[OPEN] = [Fails(message="failed to connect to all addresses; last error: upstream")]
    async with connect(mode, address, retry=SOON) as client:
        with pytest.raises(CallError):
            await client.open_session()
    assert len(script.requests(OPEN)) == 1


async def test_opening_a_session_is_tried_again_while_nothing_listens(mode: str, unused_port: int) -> None:
    drawn = list[float]()

    def draw() -> float:
        drawn.append(0.0)
        return 0.0

    async with connect(mode, f"127.0.0.1:{unused_port}", retry=RetryPolicy(random=draw)) as client:
        with pytest.raises(ConnectError) as failure:
            await client.open_session()
    assert len(drawn) == 3
    assert failure.value.retryable
    assert f"cannot connect to `127.0.0.1:{unused_port}`" in str(failure.value)


@pytest.mark.parametrize("method", [TOOLS, CAPABILITIES, GET, LIST, FORGET])
async def test_what_changes_nothing_more_is_sent_again(mode: str, script: Script, address: str, method: str) -> None:
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        script.answers[method] = [DOWN, DOWN]
        if method == TOOLS:
            await client.definitions()
        elif method == CAPABILITIES:
            await client.capabilities()
        elif method == GET:
            await client.resume_session("secret-id")
        elif method == LIST:
            await listed(client.list_sessions())
        else:
            await session.forget_all()
    assert len(script.requests(method)) == 3


async def test_a_session_that_a_lost_attempt_closed_is_closed(mode: str, script: Script, address: str) -> None:
    script.answers[CLOSE] = [DOWN, Fails(grpc.StatusCode.NOT_FOUND, "no such session", "SESSION_NOT_FOUND")]
    async with connect(mode, address, retry=SOON) as client:
        session = await client.open_session()
        await session.close()
    assert len(script.requests(CLOSE)) == 2


async def test_a_session_that_was_gone_before_is_an_error(mode: str, script: Script, address: str) -> None:
    script.answers[CLOSE] = [Fails(grpc.StatusCode.NOT_FOUND, "no such session", "SESSION_NOT_FOUND")]
    async with connect(mode, address, retry=SOON) as client:
        session = await client.open_session()
        with pytest.raises(CallError) as failure:
            await session.close()
    assert failure.value.reason == "SESSION_NOT_FOUND"


async def test_a_tool_that_refuses_for_now_is_called_again(mode: str, script: Script, address: str) -> None:
    script.answers[EXECUTE] = [refusal(), refusal()]
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        await session.edit("a.txt", "a", "b")
    assert len(script.requests(EXECUTE)) == 3


async def test_a_tool_that_refuses_for_ever_is_an_answer_in_the_end(mode: str, script: Script, address: str) -> None:
    script.answers[EXECUTE] = [refusal()] * 8
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        with pytest.raises(ToolError) as failure:
            await session.read("a.txt")
        reply = await session.call("read", {"file_path": "a.txt"})
    assert failure.value.code == "FS_UNAVAILABLE"
    assert (reply.is_error, reply.text) == (True, "what the model reads")
    assert len(script.requests(EXECUTE)) == 8


async def test_an_effect_that_may_be_there_is_not_tried_again(mode: str, script: Script, address: str) -> None:
    script.answers[EXECUTE] = [refusal(fs_error("FS_ABORTED", published=types_pb2.PUBLISHED_MAYBE))]
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        with pytest.raises(ToolError):
            await session.edit("a.txt", "a", "b")
    assert len(script.requests(EXECUTE)) == 1


async def test_a_wait_that_the_server_asks_for_is_kept(mode: str, script: Script, address: str) -> None:
    script.answers[EXECUTE] = [Fails(reason="OVERLOADED", retry_delay=0.3)]
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        began = time.monotonic()
        await session.read("a.txt")
    assert time.monotonic() - began >= 0.3


async def test_a_wait_beyond_the_deadline_ends_the_call_at_once(mode: str, script: Script, address: str) -> None:
    script.answers[EXECUTE] = [Fails(reason="OVERLOADED", retry_delay=3600.0)]
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        with pytest.raises(CallError) as failure:
            await session.read("a.txt")
    assert (failure.value.reason, failure.value.retry_delay) == ("OVERLOADED", 3600.0)
    assert len(script.requests(EXECUTE)) == 1


async def test_attempts_share_one_deadline(mode: str, script: Script, address: str) -> None:
    script.answers[EXECUTE] = [Fails(reason="OVERLOADED", retry_delay=0.4)] * 2
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        del script.left[:]
        await session.read("a.txt", deadline=4.0)
    first, second, third = [seconds for seconds in script.left if seconds is not None][:3]
    # The transport rounds what it tells the server up by some hundredths.
    assert 4.2 > first > second + 0.2 > third + 0.4


async def test_the_budget_is_shared_by_the_clients_of_a_server(mode: str, script: Script, address: str) -> None:
    few = RetryPolicy(budget=2.0, random=lambda: 0.0)
    async with connect(mode, address, retry=few) as one, connect(mode, address, retry=few) as other:
        script.answers[TOOLS] = [DOWN] * 9
        with pytest.raises(CallError):
            await one.definitions()
        with pytest.raises(CallError):
            await other.definitions()
    assert len(script.requests(TOOLS)) == 4


async def test_an_argument_that_cannot_be_sent_costs_no_attempt(mode: str, script: Script, address: str) -> None:
    async with connect(mode, address) as client, await client.open_session() as session:
        with pytest.raises(ValueError, match="`new_string` is not well-formed Unicode: U\\+D83D"):
            await session.edit("a.txt", "a", "half: \ud83d")
    assert script.requests(EXECUTE) == []
