"""What a call does beside its attempts is in its deadline too: its token, and what it asks before it is sent again."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from both import MODES, connect
from scripted_server import CAPABILITIES, EXECUTE, TOOLS, Fails, Script, remembering, serving

from toolfs import ArgumentError, CallError, RetryPolicy

SOON = RetryPolicy(random=lambda: 0.01)
NEVER_S = 60.0
"""What never comes in a test: no test waits for it."""

pytestmark = pytest.mark.parametrize("mode", MODES)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def address(script: Script) -> Iterator[str]:
    with serving(script) as address:
        yield address


@pytest.fixture
def never() -> Iterator[threading.Event]:
    """An event that is set when the test is over, so that whoever waits for it ends then."""
    event = threading.Event()
    yield event
    event.set()


def hanging(mode: str, never: threading.Event) -> Any:
    """A token function that does not come back."""

    async def coroutine() -> str:
        await asyncio.sleep(NEVER_S)
        return "late"

    def blocking() -> str:
        never.wait(NEVER_S)
        return "late"

    return coroutine if mode == "asyncio" else blocking


async def test_asking_whether_results_are_remembered_takes_its_time_from_the_call(
    mode: str, script: Script, address: str, never: threading.Event
) -> None:
    def slow(_: Any) -> Any:
        never.wait(0.5)
        return remembering()

    script.answers = {EXECUTE: [Fails()], CAPABILITIES: [slow]}
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        del script.left[:]
        await session.write("a.txt", "a", deadline=5.0)
    first, asking, second = [seconds for seconds in script.left if seconds is not None][:3]
    # The transport rounds what it tells the server up by some hundredths.
    assert 5.2 > first and 5.2 > asking > second + 0.4


async def test_a_call_whose_time_went_into_asking_ends_as_its_attempt_did(
    mode: str, script: Script, address: str, never: threading.Event
) -> None:
    def hang(_: Any) -> Any:
        never.wait(NEVER_S)
        return remembering()

    script.answers = {EXECUTE: [Fails(message="the first attempt")], CAPABILITIES: [hang]}
    async with connect(mode, address, retry=SOON) as client, await client.open_session() as session:
        with pytest.raises(CallError, match="the first attempt") as failure:
            await asyncio.wait_for(session.write("a.txt", "a", deadline=0.5), NEVER_S / 2)
    assert failure.value.maybe_published
    assert len(script.requests(EXECUTE)) == 1


async def test_a_token_that_does_not_come_ends_the_call_at_its_deadline(
    mode: str, script: Script, address: str, never: threading.Event
) -> None:
    async with connect(mode, address, token=hanging(mode, never), deadline=0.2) as client:
        with pytest.raises(CallError) as failure:
            await asyncio.wait_for(client.call("write", {}), NEVER_S / 2)
    error = failure.value
    assert (error.status, error.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")
    assert (error.attempts, error.maybe_published) == (0, False)
    assert script.asked == []


async def test_a_token_takes_its_time_from_the_call(mode: str, script: Script, address: str) -> None:
    async def coroutine() -> str:
        await asyncio.sleep(0.5)
        return "slow"

    def blocking() -> str:
        threading.Event().wait(0.5)
        return "slow"

    token = coroutine if mode == "asyncio" else blocking
    async with connect(mode, address, token=token, deadline=5.0) as client:
        await client.definitions()
    assert script.left[0] is not None and script.left[0] < 4.7


async def test_a_plain_token_function_that_is_late_does_not_get_its_call_sent(
    mode: str, script: Script, address: str
) -> None:
    # In an event loop it cannot be left, but it can be noticed.
    async with connect(mode, address, token=lambda: str(threading.Event().wait(0.3)), deadline=0.1) as client:
        with pytest.raises(CallError) as failure:
            await client.definitions()
    assert failure.value.reason == "DEADLINE_EXCEEDED"
    assert script.asked == []


async def test_a_watch_does_not_wait_for_ever_for_its_token(
    mode: str, script: Script, address: str, never: threading.Event
) -> None:
    hang = hanging(mode, never)
    tokens: list[Callable[[], Any]] = [lambda: "first"]
    async with connect(mode, address, token=lambda: (tokens.pop() if tokens else hang)(), deadline=0.5) as client:
        session = await client.open_session()
        with pytest.raises(CallError) as failure:
            if mode == "asyncio":
                await asyncio.wait_for(session.watch().__anext__(), NEVER_S / 2)
            else:
                await asyncio.to_thread(lambda: next(session.inner.watch()))
    assert failure.value.reason == "DEADLINE_EXCEEDED"


def raising(mode: str, error: BaseException, awaited: bool) -> Any:
    def fails() -> str:
        raise error

    async def fails_later() -> str:
        raise error

    return fails_later if awaited and mode == "asyncio" else fails


@pytest.mark.parametrize("awaited", [False, True])
@pytest.mark.parametrize("error", [OSError("s3cret"), TimeoutError("s3cret"), CallError(grpc.StatusCode.OK, "s3cret")])
async def test_what_a_token_function_raises_is_an_error_of_this_package_without_the_secret(
    mode: str, script: Script, address: str, error: Exception, awaited: bool
) -> None:
    async with connect(mode, address, token=raising(mode, error, awaited)) as client:
        with pytest.raises(ArgumentError) as failure:
            await client.definitions()
    assert str(failure.value) == f"`token` could not be had: its function raised `{type(error).__name__}`"
    assert failure.value.__cause__ is error
    assert script.asked == []


async def test_a_token_function_whose_own_work_was_cancelled_does_not_cancel_its_caller(
    mode: str, script: Script, address: str
) -> None:
    if mode == "sync":
        pytest.skip("nothing cancels what blocks")
    token = raising(mode, asyncio.CancelledError(), awaited=True)
    async with connect(mode, address, token=token) as client:
        with pytest.raises(ArgumentError, match="`token` could not be had"):
            await client.definitions()


async def test_a_caller_that_is_cancelled_while_its_token_comes_cancels_that_too(
    mode: str, script: Script, address: str
) -> None:
    if mode == "sync":
        pytest.skip("nothing cancels what blocks")
    began, cancelled = asyncio.Event(), asyncio.Event()

    async def token() -> str:
        began.set()
        try:
            await asyncio.sleep(NEVER_S)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "late"

    async with connect(mode, address, token=token) as client:
        call = asyncio.ensure_future(client.definitions())
        await began.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(cancelled.wait(), NEVER_S / 2)


@pytest.mark.parametrize("second", ["raises", "hangs"])
async def test_a_token_that_is_lost_after_an_attempt_hides_nothing_of_that(
    mode: str, script: Script, address: str, never: threading.Event, second: str
) -> None:
    follows = hanging(mode, never) if second == "hangs" else raising(mode, OSError("no token"), awaited=False)
    tokens: list[Callable[[], Any]] = [lambda: "execute", lambda: "open"]
    script.answers[EXECUTE] = [Fails(message="the first attempt")]
    async with connect(mode, address, token=lambda: (tokens.pop() if tokens else follows)(), retry=SOON) as client:
        session = await client.open_session()
        with pytest.raises(CallError, match="the first attempt") as failure:
            await session.write("a.txt", "a", deadline=0.5)
    assert (failure.value.attempts, failure.value.maybe_published) == (1, True)


@pytest.mark.parametrize("deadline", [float("inf"), 1e300, 10**400, 1e9])
async def test_a_deadline_beyond_all_bounds_is_not_over_at_once(
    mode: str, script: Script, address: str, deadline: float
) -> None:
    async with connect(mode, address, deadline=deadline, connect_timeout=deadline, token=lambda: "t") as client:
        await client.definitions()
        await client.definitions(deadline=deadline)
    assert all(left is not None and left > 300 * 86_400 for left in script.left)


@pytest.mark.parametrize("deadline", ["5", True, float("nan"), [1]])
async def test_a_deadline_that_is_no_number_is_refused(mode: str, script: Script, address: str, deadline: Any) -> None:
    for name in ("deadline", "connect_timeout"):
        with pytest.raises(ArgumentError, match=f"`{name}` must be a number of seconds"):
            connect(mode, address, **{name: deadline})
    async with connect(mode, address) as client:
        with pytest.raises(ArgumentError, match="`deadline` must be a number of seconds"):
            await client.definitions(deadline=deadline)
    assert script.asked == []


async def test_a_client_that_is_closed_between_two_attempts_hides_nothing_of_the_first(
    mode: str, script: Script, address: str
) -> None:
    closing: list[Any] = []

    def close() -> float:
        closing.append(client.inner.close() if mode == "sync" else asyncio.ensure_future(client.close()))
        return 1.0

    script.answers[TOOLS] = [Fails(message="the first attempt")]
    client = connect(mode, address, retry=RetryPolicy(base=0.2, random=close))
    with pytest.raises(CallError, match="the first attempt"):
        await client.definitions()
    assert len(closing) == 1 and len(script.requests(TOOLS)) == 1
