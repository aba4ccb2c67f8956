"""A mutation whose answer is lost takes effect once: a proxy before the real server drops answers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest
from both import MODES, connect
from conftest import Live

from toolfs import RetryPolicy, ToolError

EXECUTE = "/toolfs.v1.ToolService/Execute"
SOON = RetryPolicy(random=lambda: 0.0)

pytestmark = pytest.mark.parametrize("mode", MODES)


class Lossy(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    """Passes every call on, and drops the answers of as many `Execute` as it is told to."""

    def __init__(self, channel: grpc.Channel) -> None:
        self._channel = channel
        self.to_drop = 0
        self.executed = 0

    def service(self, call: Any) -> Any:
        method = call.method
        onward = self._channel.unary_unary(method)  # type: ignore[call-arg]

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            try:
                response: bytes = onward(request, timeout=30)
            except grpc.RpcError as error:
                failed: Any = error
                context.set_trailing_metadata(tuple(failed.trailing_metadata()))
                context.abort(failed.code(), failed.details())
            if method == EXECUTE:
                self.executed += 1
                if self.to_drop > 0:
                    self.to_drop -= 1
                    context.abort(grpc.StatusCode.UNAVAILABLE, "the answer was lost")
            return response

        return grpc.unary_unary_rpc_method_handler(answer)


@pytest.fixture
def lossy(live: Live) -> Iterator[tuple[Lossy, str]]:
    with grpc.insecure_channel(live.address, options=[("grpc.default_authority", "localhost")]) as channel:
        handler = Lossy(channel)
        server = grpc.server(futures.ThreadPoolExecutor(8), handlers=[handler])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield handler, f"127.0.0.1:{port}"
        finally:
            server.stop(None).wait()


async def test_an_edit_whose_answers_are_lost_takes_effect_once(
    mode: str, live: Live, lossy: tuple[Lossy, str]
) -> None:
    handler, address = lossy
    (live.root / "a.txt").write_text("a\n")
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        await session.read("a.txt")
        handler.to_drop = 3
        # Twice would be `aaaa`.
        result = await session.edit("a.txt", "a", "aa", replace_all=True)
    assert result.outcome.replacements == 1
    assert (live.root / "a.txt").read_text() == "aa\n"
    assert handler.executed == 5


async def test_a_write_whose_answer_is_lost_is_answered_as_the_one_that_created_the_file(
    mode: str, live: Live, lossy: tuple[Lossy, str]
) -> None:
    handler, address = lossy
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        handler.to_drop = 1
        result = await session.write("new.txt", "one\n")
    assert result.outcome.previous_size is None
    assert handler.executed == 2


async def test_the_same_call_under_an_id_of_ones_own_takes_effect_once(mode: str, live: Live) -> None:
    (live.root / "a.txt").write_text("a\n")
    name = "5f0c7a0e-3a4f-4ec0-9d2c-57c1f0a2b1aa"
    async with connect(mode, live.address) as client, await client.open_session() as session:
        await session.read("a.txt")
        first = await session.edit("a.txt", "a", "aa", replace_all=True, request_id=name)
        second = await session.edit("a.txt", "a", "aa", replace_all=True, request_id=name)
    assert first.outcome == second.outcome
    assert (live.root / "a.txt").read_text() == "aa\n"


async def test_a_refusal_whose_answer_is_lost_is_the_same_refusal(
    mode: str, live: Live, lossy: tuple[Lossy, str]
) -> None:
    handler, address = lossy
    (live.root / "a.txt").write_text("a\n")
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        handler.to_drop = 1
        with pytest.raises(ToolError) as failure:
            await session.edit("a.txt", "a", "b")
    assert failure.value.code == "FS_NOT_OBSERVED"
