"""Mutations whose answer is lost: what the error says of an effect that may be there, or is."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from both import MODES, connect
from corpus.server import Server
from cutting_proxy import CuttingProxy
from scripted_server import CAPABILITIES, EXECUTE, OPEN, Fails, Script, forgetful, fs_error, serving

from toolfs import CallError, ConnectError, RetryPolicy, ToolError, ToolfsError
from toolfs.effect import Effect
from toolfs.error import call_error
from toolfs.v1 import types_pb2

SOON = RetryPolicy(random=lambda: 0.01)
SENTENCE = "an earlier attempt of this call may have taken effect"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """The real binary over `root`, with its state in memory."""
    (tmp_path / "root").mkdir()
    server = Server(tmp_path, tmp_path / "root", flags=[], persistent=False)
    server.start()
    try:
        yield server
    finally:
        ended = server.stop()
    assert not ended, ended


@pytest.fixture
def proxy(server: Server) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(server.address)
    try:
        yield proxy
    finally:
        proxy.stop_listening()


async def remembering(session: Any, proxy: CuttingProxy, file: Path) -> None:
    """Makes the client find out that the server remembers results: an edit from `a` to `b` that is sent twice."""
    file.write_text("a\n")
    await session.read(file.name)
    proxy.lose(when=lambda: file.read_text() == "b\n", then=proxy.go_on)
    await session.edit(file.name, "a", "b")
    assert file.read_text() == "b\n"


@pytest.mark.parametrize("mode", MODES)
async def test_a_lost_effect_is_not_told_as_never_sent_when_the_next_attempt_cannot_connect(
    mode: str, tmp_path: Path, proxy: CuttingProxy
) -> None:
    file = tmp_path / "root" / "a.txt"
    async with connect(mode, proxy.address, retry=SOON) as client:
        session = await client.open_session()
        await remembering(session, proxy, file)
        proxy.lose(when=lambda: file.read_text() == "bb\n", then=proxy.stop_listening)
        with pytest.raises(CallError) as failure:
            await session.edit("a.txt", "b", "bb")
    assert file.read_text() == "bb\n"
    error = failure.value
    assert (error.status, error.attempts, error.maybe_published) == (grpc.StatusCode.UNAVAILABLE, 1, True)
    assert f"cannot connect to `{proxy.address}`" in str(error) and SENTENCE in str(error)


@pytest.mark.parametrize("mode", MODES)
async def test_a_lost_effect_is_told_when_whether_results_are_remembered_cannot_be_asked(
    mode: str, tmp_path: Path, proxy: CuttingProxy
) -> None:
    file = tmp_path / "root" / "a.txt"
    file.write_text("a\n")
    async with connect(mode, proxy.address, retry=SOON) as client:
        session = await client.open_session()
        await session.read("a.txt")
        proxy.lose(when=lambda: file.read_text() == "b\n", then=proxy.stop_listening)
        with pytest.raises(CallError) as failure:
            await session.edit("a.txt", "a", "b")
    assert (failure.value.attempts, failure.value.maybe_published) == (1, True)


@pytest.mark.parametrize("mode", MODES)
async def test_a_lost_effect_is_told_when_the_session_is_gone_before_the_next_attempt(
    mode: str, tmp_path: Path, server: Server, proxy: CuttingProxy
) -> None:
    file = tmp_path / "root" / "a.txt"

    def restart() -> None:
        server.kill()
        server.start()
        proxy.go_on()

    async with connect(mode, proxy.address, retry=SOON) as client:
        session = await client.open_session()
        await remembering(session, proxy, file)
        proxy.lose(when=lambda: file.read_text() == "bb\n", then=restart)
        with pytest.raises(CallError) as failure:
            await session.edit("a.txt", "b", "bb")
    assert file.read_text() == "bb\n"
    error = failure.value
    assert (error.reason, error.attempts, error.maybe_published) == ("SESSION_NOT_FOUND", 2, True)
    assert SENTENCE in str(error)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("name", "code"), [("NO_ERROR", 0), ("PROTOCOL", 1), ("INTERNAL", 2), ("CANCEL", 8), ("ENHANCE_YOUR_CALM", 11)]
)
async def test_a_stream_that_is_reset_after_the_effect_is_sent_again_and_takes_effect_once(
    mode: str, name: str, code: int, tmp_path: Path, proxy: CuttingProxy
) -> None:
    file = tmp_path / "root" / "a.txt"
    file.write_text("a\n")
    async with connect(mode, proxy.address, retry=SOON) as client:
        session = await client.open_session()
        await session.read("a.txt")
        proxy.lose(when=lambda: file.read_text() == "aa\n", then=proxy.go_on, reset=code)
        # Twice would be `aaaa`.
        await session.edit("a.txt", "a", "aa", replace_all=True)
    assert file.read_text() == "aa\n"


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_whose_effect_may_be_there_is_repeated_safely_under_its_own_id(
    mode: str, tmp_path: Path, proxy: CuttingProxy
) -> None:
    file = tmp_path / "root" / "a.txt"
    file.write_text("a\n")
    async with connect(mode, proxy.address, retry=RetryPolicy(attempts=1)) as client:
        session = await client.open_session()
        await session.read("a.txt")
        proxy.lose(when=lambda: file.read_text() == "aa\n", then=proxy.go_on)
        with pytest.raises(CallError) as failure:
            await session.edit("a.txt", "a", "aa", replace_all=True)
        error = failure.value
        # A host that repeats what is `retryable` would do it twice.
        assert (error.maybe_published, error.retryable) == (True, False)
        await session.edit("a.txt", "a", "aa", replace_all=True, request_id=error.request_id)
    assert file.read_text() == "aa\n"


@pytest.mark.parametrize("mode", MODES)
async def test_a_session_that_is_gone_at_the_only_attempt_changed_nothing(mode: str, proxy: CuttingProxy) -> None:
    async with connect(mode, proxy.address) as client:
        session = await client.open_session()
        # By another hand: an object that closed its session itself would not ask.
        await (await client.resume_session(session.id)).close()
        with pytest.raises(CallError) as failure:
            await session.write("a.txt", "a")
    error = failure.value
    assert (error.reason, error.attempts, error.maybe_published) == ("SESSION_NOT_FOUND", 1, False)
    assert SENTENCE not in str(error)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("answers", "attempts", "maybe"),
    [
        ([Fails()], 1, True),
        ([Fails(grpc.StatusCode.INTERNAL, "a stream was reset")], 1, True),
        ([Fails(reason="OVERLOADED", retry_delay=3600.0)], 1, False),
        ([Fails(grpc.StatusCode.UNAUTHENTICATED, "who are you", "UNAUTHENTICATED")], 1, False),
        ([Fails(grpc.StatusCode.PERMISSION_DENIED, "a proxy says no")], 1, False),
    ],
)
async def test_one_lost_attempt_is_enough_for_an_effect_that_may_be_there(
    mode: str, answers: list[Any], attempts: int, maybe: bool
) -> None:
    script = Script({EXECUTE: list(answers), CAPABILITIES: [forgetful()]})
    with serving(script) as address:
        async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
            with pytest.raises(CallError) as failure:
                await session.write("a.txt", "a")
    assert (failure.value.attempts, failure.value.maybe_published) == (attempts, maybe)


class Speechless(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    """Ends every `Execute` with success and no message."""

    def service(self, call: Any) -> Any:
        if call.method != EXECUTE:
            return None
        return grpc.unary_stream_rpc_method_handler(lambda request, context: iter(()))


@pytest.mark.parametrize("mode", MODES)
async def test_a_success_without_a_message_is_an_error_of_this_package(mode: str) -> None:
    with serving(Script(), first=Speechless()) as address:
        async with connect(mode, address) as client, await client.open_session() as session:
            for call in (session.write("a.txt", "a"), session.call("write", {"file_path": "a.txt", "content": "a"})):
                with pytest.raises(CallError, match="without a message") as failure:
                    await call
                assert (failure.value.status, failure.value.maybe_published) == (grpc.StatusCode.UNKNOWN, True)


@pytest.mark.parametrize("mode", MODES)
async def test_a_session_whose_opening_was_lost_may_be_there(mode: str) -> None:
    with serving(Script({OPEN: [Fails()]})) as address:
        async with connect(mode, address, retry=SOON) as client:
            with pytest.raises(CallError) as failure:
                await client.open_session()
    assert failure.value.maybe_published


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("call", ["read", "dry run"])
async def test_what_changes_nothing_is_never_said_to_have_taken_effect(mode: str, call: str) -> None:
    with serving(Script({EXECUTE: [Fails()] * 4})) as address:
        async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
            with pytest.raises(CallError) as failure:
                await (session.read("a.txt") if call == "read" else session.write("a.txt", "a", dry_run=True))
    assert (failure.value.attempts, failure.value.maybe_published) == (4, False)


# The decision alone

LOST = CallError(grpc.StatusCode.UNAVAILABLE, "gone")
UNREACHED = ConnectError("127.0.0.1:1", "refused")
BUSY = CallError(grpc.StatusCode.UNAVAILABLE, "busy", "OVERLOADED")
GONE = CallError(grpc.StatusCode.NOT_FOUND, "no such session", "SESSION_NOT_FOUND")
LATE = call_error(grpc.StatusCode.DEADLINE_EXCEEDED, "late", None)
CUT_OFF = CallError(grpc.StatusCode.UNAVAILABLE, "shutting down", "SHUTTING_DOWN")
REFUSED = ToolError(fs_error())


def aborted(published: int) -> CallError:
    """A call that the server gave up, with what became of its effect."""
    error = ToolError(fs_error("FS_ABORTED", published=published))
    return CallError(grpc.StatusCode.DEADLINE_EXCEEDED, "late", "DEADLINE_EXCEEDED", error)


@pytest.mark.parametrize(
    ("failures", "attempts", "maybe"),
    [
        ([LOST], 1, True),
        ([LATE], 1, True),
        ([CUT_OFF], 1, True),
        ([CallError(grpc.StatusCode.CANCELLED, "")], 1, True),
        ([CallError(grpc.StatusCode.RESOURCE_EXHAUSTED, "the answer is larger than max")], 1, True),
        ([aborted(types_pb2.PUBLISHED_NO)], 1, False),
        ([aborted(types_pb2.PUBLISHED_MAYBE)], 1, True),
        ([aborted(types_pb2.PUBLISHED_YES)], 1, True),
        ([BUSY], 1, False),
        ([GONE], 1, False),
        ([UNREACHED, BUSY], 1, False),
        ([UNREACHED, UNREACHED, GONE], 1, False),
        ([LOST, UNREACHED], 1, True),
        ([LOST, UNREACHED, BUSY, GONE], 3, True),
        ([BUSY, UNREACHED], 1, False),
        ([REFUSED, UNREACHED], 1, False),
    ],
)
def test_an_attempt_that_is_open_stays_open(failures: list[ToolfsError], attempts: int, maybe: bool) -> None:
    effect = Effect(changes=True)
    for failure in failures:
        effect.add(failure)
    error = effect.ending(pickle.loads(pickle.dumps(failures[-1])))
    assert isinstance(error, CallError)
    assert (error.attempts, error.maybe_published) == (attempts, maybe)
    assert (SENTENCE in str(error)) is (maybe and len(failures) > 1)


def test_a_call_that_no_attempt_sent_ends_as_never_sent() -> None:
    effect = Effect(changes=True)
    for _ in range(4):
        effect.add(UNREACHED)
    assert effect.ending(UNREACHED) is UNREACHED


def test_what_is_known_of_the_effect_survives_pickling() -> None:
    effect = Effect(changes=True)
    effect.add(LOST)
    error = effect.ending(CallError(grpc.StatusCode.UNAVAILABLE, "gone"))
    assert isinstance(error, CallError)
    error.request_id = "5f0c7a0e-3a4f-4ec0-9d2c-57c1f0a2b1aa"
    copied = pickle.loads(pickle.dumps(error))
    assert (copied.attempts, copied.maybe_published, copied.request_id) == (1, True, error.request_id)
    assert str(copied) == str(error)
