"""Sessions against the real server: their context, their tools, and what they are told."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, closing
from typing import Any

import pytest
from both import MODES, connect, listed
from conftest import Live

from toolfs import AsyncToolfs, CallError, FsErrorCode, LineEndings, ToolError, Toolfs, WriteOperation
from toolfs.outcome import EditOutcome

pytestmark = pytest.mark.parametrize("mode", MODES)


async def test_a_file_is_written_read_and_edited(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as client, await client.open_session() as session:
        written = await session.write("a.txt", "one\r\ntwo\r\n")
        assert (written.outcome.operation, written.outcome.previous_size) == (WriteOperation.CREATE, None)
        edited = await session.edit("a.txt", "two", "2", view="full")
        assert edited.outcome.diff is not None and "+2\r" in edited.outcome.diff.text
        page = await session.read("a.txt", offset=1, limit=1, view="full")
    assert page.outcome.line_endings is LineEndings.CRLF
    assert (page.outcome.next_offset, page.outcome.lines[0].text) == (2, "one")
    assert page.text.startswith("1: one\n")
    assert (live.root / "a.txt").read_bytes() == b"one\r\n2\r\n"


async def test_a_refusal_is_raised_by_a_method_and_returned_by_the_models_door(mode: str, live: Live) -> None:
    (live.root / "a.txt").write_text("a\n")
    arguments = {"file_path": "a.txt", "old_string": "a", "new_string": "b"}
    async with connect(mode, live.address) as client, await client.open_session() as session:
        with pytest.raises(ToolError) as failure:
            await session.edit(**arguments)
        reply = await session.call("edit", arguments, tool_call_id="toolu_1")
    assert failure.value.code is FsErrorCode.FS_NOT_OBSERVED
    assert failure.value.remedy
    assert failure.value.text == reply.text
    assert reply.is_error and reply.error is not None and reply.outcome is None
    assert reply.error.code is FsErrorCode.FS_NOT_OBSERVED
    assert reply.as_result("anthropic") == {
        "type": "tool_result",
        "tool_use_id": "toolu_1",
        "content": [{"type": "text", "text": reply.text}],
        "is_error": True,
    }


async def test_a_dry_run_tells_everything_and_changes_nothing(mode: str, live: Live) -> None:
    (live.root / "a.txt").write_text("a\n")
    async with connect(mode, live.address) as client, await client.open_session() as session:
        await session.read("a.txt")
        tried = await session.edit("a.txt", "a", "b", dry_run=True)
        reply = await session.call("edit", '{"file_path":"a.txt","old_string":"a","new_string":"b"}', dry_run=True)
    assert tried.outcome.guard is not None and tried.outcome.guard.kind == "replace_if_version"
    assert tried.outcome.matches is not None and tried.outcome.matches.total == 1
    assert reply.dry_run and isinstance(reply.outcome, EditOutcome)
    assert (live.root / "a.txt").read_text() == "a\n"


async def test_what_is_forgotten_must_be_read_again(mode: str, live: Live) -> None:
    for name in ("a.txt", "b.txt"):
        (live.root / name).write_text("a\n")
    async with connect(mode, live.address) as client, await client.open_session() as session:
        for name in ("a.txt", "b.txt"):
            await session.read(name)
        await session.forget("a.txt")
        with pytest.raises(ToolError):
            await session.edit("a.txt", "a", "b")
        await session.edit("b.txt", "a", "b")
        await session.forget_all()
        with pytest.raises(ToolError):
            await session.edit("b.txt", "b", "c")
        with pytest.raises(CallError) as failure:
            await session.forget("/elsewhere/a.txt")
    assert failure.value.fs_error is not None
    assert failure.value.fs_error.code is FsErrorCode.FS_SANDBOX_DENIED


async def test_a_session_ends_with_its_context(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as client:
        async with await client.open_session() as session:
            pass
        with pytest.raises(CallError) as failure:
            await session.read("a.txt")
        assert failure.value.reason == "SESSION_NOT_FOUND"
        with pytest.raises(CallError):
            await session.close()


async def test_an_error_inside_a_context_is_not_replaced_by_one_of_its_end(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as client:
        with pytest.raises(KeyError):
            async with await client.open_session() as session:
                await client.close()
                raise KeyError
        del session


async def test_a_session_that_ended_inside_its_context_ends_it_in_peace(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as client, await client.open_session() as session:
        other = await client.resume_session(session.id)
        await other.close()


async def test_a_detached_session_goes_on_elsewhere(mode: str, live: Live) -> None:
    (live.root / "a.txt").write_text("a\n")
    async with connect(mode, live.address) as client, await client.open_session() as session:
        await session.read("a.txt")
        session.detach()
    async with connect(mode, live.address) as client, await client.resume_session(session.id) as resumed:
        assert resumed.name == session.name
        await resumed.edit("a.txt", "a", "b")
    async with connect(mode, live.address) as client:
        with pytest.raises(CallError) as failure:
            await client.resume_session(session.id)
    assert failure.value.reason == "SESSION_NOT_FOUND"


async def test_a_session_takes_its_options(mode: str, live: Live) -> None:
    (live.root / "sub").mkdir()
    async with connect(mode, live.address) as client:
        options: dict[str, Any] = {"roots": ["/workspace/sub"], "labels": {"agent": "7"}, "read_only": True}
        async with await client.open_session("/workspace/sub", **options) as session:
            assert session.info.cwd == "/workspace/sub"
            assert list(session.info.roots) == ["/workspace/sub"]
            assert dict(session.info.labels) == {"agent": "7"}
            with pytest.raises(ToolError) as failure:
                await session.write("a.txt", "a")
        with pytest.raises(CallError) as refused:
            await client.open_session("/elsewhere")
    assert failure.value.code is FsErrorCode.FS_SANDBOX_DENIED
    assert refused.value.fs_error is not None


async def test_every_page_of_sessions_is_listed(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as client:
        opened = [await client.open_session() for _ in range(7)]
        names = [session.name for session in await listed(client.list_sessions(page_size=3))]
        assert names == [session.name for session in opened]
        assert await listed(client.list_sessions()) == await listed(client.list_sessions(page_size=3))
        with pytest.raises(CallError) as failure:
            await listed(client.list_sessions(page_size=-1))
    assert failure.value.reason == "PAGE_SIZE_INVALID"


async def test_a_call_without_a_session_reads_and_creates_only(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as client:
        created = await client.call("write", {"file_path": "a.txt", "content": "a\n"})
        edited = await client.call("edit", {"file_path": "a.txt", "old_string": "a", "new_string": "b"})
    assert not created.is_error
    assert edited.error is not None and edited.error.code is FsErrorCode.FS_NOT_OBSERVED


async def test_the_secret_of_a_session_is_not_shown(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as client, await client.open_session() as session:
        shown = [
            repr(client),
            repr(session),
            str(session),
            repr(getattr(session, "inner", session)),
            repr(session.info),
        ]
        with pytest.raises(CallError) as failure:
            await session.read("a.txt", request_id="no uuid")
        shown += [repr(failure.value), str(failure.value), repr(failure.value.__cause__)]
        assert session.id and not any(session.id in text for text in shown)


async def test_a_watch_tells_what_calls_do_and_ends_when_it_is_left(mode: str, live: Live) -> None:
    (live.root / "a.txt").write_text("a\n")
    if mode == "sync":
        await asyncio.to_thread(_watch_blocking, live.address)
    else:
        await _watch_with_asyncio(live.address)


def _watch_blocking(address: str) -> None:
    with Toolfs.connect(address) as client, client.open_session() as session:
        with closing(session.watch()) as events:
            assert next(events).HasField("watch_began")
            session.read("a.txt")
            seen = [next(events) for _ in range(3)]
        assert [event.WhichOneof("happening") for event in seen if event.HasField("call_ended")] == ["call_ended"]
        # Events that happened meanwhile are told to whoever goes on with the token.
        session.read("a.txt")
        with closing(session.watch(seen[-1].resume_token)) as events:
            told = [next(events) for _ in range(3)]
        assert any(event.HasField("call_began") for event in told)
        with pytest.raises(CallError) as failure:
            next(session.watch("no token"))
        assert failure.value.reason == "RESUME_TOKEN_INVALID"


async def _watch_with_asyncio(address: str) -> None:
    async with AsyncToolfs.connect(address) as client, client.open_session() as session:
        async with aclosing(session.watch()) as events:
            assert (await anext(events)).HasField("watch_began")
            await session.read("a.txt")
            seen = [await anext(events) for _ in range(3)]
        assert [event.WhichOneof("happening") for event in seen if event.HasField("call_ended")] == ["call_ended"]
        with pytest.raises(CallError) as failure:
            await anext(session.watch("no token"))
        assert failure.value.reason == "RESUME_TOKEN_INVALID"


async def test_a_watch_ends_with_its_session(mode: str, live: Live) -> None:
    async with connect(mode, live.address) as client:
        session = await client.open_session()
        events = session.watch()
        watching = asyncio.ensure_future(listed(events))
        # The watch must have begun before the session ends.
        other = await client.resume_session(session.id)
        with_read = await other.call("read", {"file_path": "none.txt"})
        assert with_read.is_error
        await session.close()
        done, _ = await asyncio.wait([watching], timeout=30)
        assert done
        try:
            seen = watching.result()
        except CallError as error:
            # The session had ended before the watch came to the server.
            assert error.reason == "SESSION_NOT_FOUND"
        else:
            assert seen[0].HasField("watch_began")
