"""Calls that are given up by their caller, or whose client is closed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import grpc
import pytest
from both import MODES, connect
from conftest import Live
from scripted_server import EXECUTE, Fails, Script, serving

from toolfs import AsyncToolfs, CallError


class Waiting(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    """Answers no `Execute`, and tells when one comes and when its caller is gone."""

    def __init__(self) -> None:
        self.arrived = threading.Event()
        self.ended = threading.Event()

    def service(self, call: Any) -> Any:
        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            context.add_callback(self.ended.set)
            self.arrived.set()
            self.ended.wait(30)
            return b""

        return grpc.unary_unary_rpc_method_handler(answer) if call.method == EXECUTE else None


async def test_a_cancelled_call_is_cancelled_at_the_server() -> None:
    waiting = Waiting()
    with serving(Script(), first=waiting) as address:
        async with AsyncToolfs.connect(address) as client, client.open_session() as session:
            call = asyncio.ensure_future(session.read("a.txt"))
            assert await asyncio.to_thread(waiting.arrived.wait, 30)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            assert await asyncio.to_thread(waiting.ended.wait, 30)


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_whose_client_is_closed_fails_and_does_not_count_as_cancelled(mode: str) -> None:
    waiting = Waiting()
    with serving(Script(), first=waiting) as address:
        client = connect(mode, address)
        session = await client.open_session()
        call = asyncio.ensure_future(session.read("a.txt"))
        assert await asyncio.to_thread(waiting.arrived.wait, 30)
        await client.close()
        with pytest.raises(CallError) as failure:
            await call
    assert failure.value.status is grpc.StatusCode.CANCELLED


@pytest.mark.parametrize("mode", MODES)
async def test_a_watch_whose_client_is_closed_fails_and_does_not_count_as_cancelled(mode: str, live: Live) -> None:
    client = connect(mode, live.address)
    session = await client.open_session()
    loop, began = asyncio.get_running_loop(), asyncio.Event()

    async def follow() -> None:
        async for _ in session.watch():
            began.set()

    def follow_blocking() -> None:
        for _ in session.inner.watch():
            loop.call_soon_threadsafe(began.set)

    following = asyncio.ensure_future(follow() if mode == "asyncio" else asyncio.to_thread(follow_blocking))
    await asyncio.wait_for(began.wait(), 30)
    await client.close()
    with pytest.raises(CallError) as failure:
        await following
    assert failure.value.status is grpc.StatusCode.CANCELLED


async def test_a_call_can_be_cancelled_while_it_waits_to_be_sent_again() -> None:
    script = Script(answers={EXECUTE: [Fails(reason="OVERLOADED", retry_delay=30.0)] * 2})
    with serving(script) as address:
        async with AsyncToolfs.connect(address) as client, client.open_session() as session:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(session.read("a.txt"), 0.5)
    assert len(script.requests(EXECUTE)) == 1


async def test_a_session_goes_on_after_a_cancelled_call(live: Live) -> None:
    async with AsyncToolfs.connect(live.address) as client, client.open_session() as session:
        call = asyncio.ensure_future(session.write("a.txt", "a\n"))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        # Whether it was written cannot be known; if so, then whole.
        reply = await session.call("read", {"file_path": "a.txt"})
        assert reply.error.reason == "FS_NOT_FOUND" if reply.error else reply.text.startswith("1: a\n")
        await session.write("b.txt", "b\n")


async def test_a_task_that_waits_for_a_watch_can_be_cancelled(live: Live) -> None:
    async with AsyncToolfs.connect(live.address) as client, client.open_session() as session:
        seen: list[str | None] = []
        began = asyncio.Event()

        async def follow() -> None:
            async for event in session.watch():
                seen.append(event.WhichOneof("happening"))
                began.set()

        task = asyncio.ensure_future(follow())
        await asyncio.wait_for(began.wait(), 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert seen == ["watch_began"]
        await session.write("a.txt", "a\n")
