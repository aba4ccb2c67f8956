"""A provider at the end of a connection: what it answers, calls at once, and where it is served."""

from __future__ import annotations

import asyncio
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from provider_memory import (
    CREATE,
    UNCONDITIONAL,
    MemoryFiles,
    chunk,
    client_at,
    header,
    refused,
    served,
    trailer,
)

from toolfs.detail import (
    AbortedDetail,
    InvalidArgumentDetail,
    NotObservedDetail,
    SandboxDetail,
    StaleVersionDetail,
)
from toolfs.enums import AbortCause, FileKind
from toolfs.error import ArgumentError, FsErrorCode
from toolfs.provider import (
    Call,
    FsError,
    Limits,
    Replaced,
    Unconditional,
    WriteText,
    serve,
    serve_async,
)
from toolfs.provider.text import version_of
from toolfs.v1 import filesystem_pb2, types_pb2


@pytest.mark.parametrize("guard", [None, types_pb2.WriteGuard()])
def test_a_write_without_a_guard_is_refused(guard: types_pb2.WriteGuard | None, tmp_path: Path) -> None:
    provider = MemoryFiles()
    with served(provider, tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        client.stub.WriteText(iter([header(client.key("f"), 0, guard), trailer(b"")]), timeout=30)
    call = refused(ended.value)
    assert (call.status, call.reason, call.fs_error) == (grpc.StatusCode.INVALID_ARGUMENT, "GUARD_MISSING", None)
    assert provider.files == {}


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({"guard": types_pb2.EditGuard()}, "GUARD_MISSING", None),
        ({"guard": types_pb2.EditGuard(replace_if_version="two words")}, "FS_INVALID_ARGUMENT", "replace_if_version"),
        ({"old": ""}, "FS_INVALID_ARGUMENT", "old_string"),
        ({"new": "old"}, "FS_INVALID_ARGUMENT", "new_string"),
        ({"operation_id": "once"}, "FS_UNSUPPORTED", None),
        ({"operation_id": ""}, "FS_INVALID_ARGUMENT", "operation_id"),
    ],
)
def test_an_edit_that_cannot_be_is_refused(
    fields: dict[str, Any], reason: str, field: str | None, tmp_path: Path
) -> None:
    provider = MemoryFiles({b"f": b"old"})
    old, new = fields.pop("old", "old"), fields.pop("new", "new")
    with served(provider, tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        client.edit("f", old, new, **fields)
    call = refused(ended.value)
    assert call.reason == reason
    if field is not None:
        assert call.fs_error is not None and isinstance(call.fs_error.detail, InvalidArgumentDetail)
        assert call.fs_error.detail.field == field
    assert provider.files == {b"f": b"old"}


@pytest.mark.parametrize("absent", ["old_string", "new_string", "target_key", "guard"])
def test_an_absent_argument_is_not_an_empty_one(absent: str, tmp_path: Path) -> None:
    provider = MemoryFiles({b"f": b"old"})
    with served(provider, tmp_path) as client:
        request = filesystem_pb2.EditTextRequest(
            target_key=client.key("f"),
            old_string="old",
            new_string="",
            guard=types_pb2.EditGuard(unconditional=types_pb2.Unconditional()),
        )
        request.ClearField(absent)  # type: ignore[arg-type]
        with pytest.raises(grpc.RpcError) as ended:
            client.stub.EditText(request, timeout=30)
    call = refused(ended.value)
    assert call.reason == ("GUARD_MISSING" if absent == "guard" else "FS_INVALID_ARGUMENT")
    assert absent in call.message or absent == "guard"
    assert provider.files == {b"f": b"old"}


def test_what_a_mutation_did_is_reported(tmp_path: Path) -> None:
    provider = MemoryFiles()
    with served(provider, tmp_path) as client:
        created = client.write("d/f", b"one\ntwo\n", CREATE).report
        assert (created.operation, created.HasField("previous_size")) == (types_pb2.WRITE_OPERATION_CREATE, False)
        assert created.version == version_of(b"one\ntwo\n")
        edited = client.edit("d/f", "two", "2\n3").report
        assert (edited.replacements, edited.size) == (1, 8)
        assert edited.changed_ranges.ranges[0].new_count == 2
        assert edited.diff.text.startswith("@@ -1,2 +1,3 @@")
        updated = client.write("d/f", b"x", types_pb2.WriteGuard(replace_if_version=edited.version)).report
        assert (updated.operation, updated.previous_size) == (types_pb2.WRITE_OPERATION_UPDATE, 8)
        assert [notice.kind for notice in updated.notices] == [types_pb2.NOTICE_KIND_FINAL_NEWLINE_CHANGED]
    assert provider.files == {b"d/f": b"x"}


@pytest.mark.parametrize(
    ("path", "guard", "detail"),
    [
        ("f", CREATE, NotObservedDetail(FileKind.REGULAR, 6, True)),
        ("b", CREATE, NotObservedDetail(FileKind.REGULAR, 1, False)),
        ("f", types_pb2.WriteGuard(replace_if_version="seen"), StaleVersionDetail("seen", version_of(b"theirs"))),
        ("g", types_pb2.WriteGuard(replace_if_version="seen"), StaleVersionDetail("seen", None)),
        (".git/config", UNCONDITIONAL, SandboxDetail(".git")),
    ],
)
def test_a_write_that_is_refused_tells_what_is_there(
    path: str, guard: types_pb2.WriteGuard, detail: Any, tmp_path: Path
) -> None:
    files = {b"f": b"theirs", b"b": b"\xff"}
    provider = MemoryFiles(files)
    with served(provider, tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        client.write(path, b"ours", guard)
    told = refused(ended.value).fs_error
    assert told is not None and told.detail == detail
    assert provider.files == files


class NotSynced(MemoryFiles):
    """Publishes, and fails to make it durable."""

    def replace(self, place: Any, expected: str | None, content: bytes) -> Replaced:
        super().replace(place, expected, content)
        return Replaced(not_durable=FsError(FsErrorCode.FS_IO_ERROR, "the sync failed", place.shown))


def test_a_published_effect_answers_ok_and_says_that_it_is_not_durable(tmp_path: Path) -> None:
    with served(NotSynced(), tmp_path) as client:
        response = client.write("f", b"x")
    assert response.report.size == 1
    assert (response.not_durable.reason, response.not_durable.published) == ("FS_IO_ERROR", types_pb2.PUBLISHED_YES)


def test_a_large_directory_is_listed_in_bounded_messages(tmp_path: Path) -> None:
    files = {b"d/name-%04d-%s" % (number, b"x" * 100): b"" for number in range(2_000)}
    with served(MemoryFiles(files), tmp_path) as client:
        request = filesystem_pb2.ListDirRequest(target_key=client.key("d"))
        batches = list(client.stub.ListDir(request, timeout=30))
    assert len(batches) > 2 and all(batch.ByteSize() < 130_000 for batch in batches)
    assert sorted(b"d/" + entry.raw_name for batch in batches for entry in batch.entries) == sorted(files)


def test_of_guarded_edits_from_one_version_one_wins(tmp_path: Path) -> None:
    content = b"".join(b"line %d\n" % number for number in range(16))
    provider = MemoryFiles({b"f": content})
    guard = types_pb2.EditGuard(replace_if_version=version_of(content))
    with served(provider, tmp_path) as client:

        def attempt(number: int) -> str | None:
            try:
                client.edit("f", f"line {number}\n", f"edited {number}\n", guard=guard)
                return None
            except grpc.RpcError as error:
                return refused(error).reason

        with ThreadPoolExecutor(16) as pool:
            ends = list(pool.map(attempt, range(16)))
    assert sorted(ends, key=str) == sorted([None, *["FS_STALE_VERSION"] * 15], key=str)
    winner = ends.index(None)
    assert provider.files[b"f"] == content.replace(b"line %d\n" % winner, b"edited %d\n" % winner)


def test_unguarded_edits_at_once_all_land(tmp_path: Path) -> None:
    content = b"".join(b"line %02d\n" % number for number in range(32))
    provider = MemoryFiles({b"f": content})
    with served(provider, tmp_path) as client, ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: client.edit("f", f"line {number:02}", f"edited {number:02}"), range(32)))
    assert provider.files[b"f"] == content.replace(b"line", b"edited")


class Moving(MemoryFiles):
    """Another writer puts new content in place just before each of the first replacements."""

    def __init__(self, moves: int) -> None:
        super().__init__({b"f": b"a b"})
        self.moves = moves

    def replace(self, place: Any, expected: str | None, content: bytes) -> Replaced:
        if self.moves:
            self.moves -= 1
            self.files[b"f"] += b"."
        return super().replace(place, expected, content)


def test_an_unguarded_edit_matches_again_when_the_content_moved(tmp_path: Path) -> None:
    provider = Moving(2)
    with served(provider, tmp_path) as client:
        client.edit("f", "b", "B")
    assert provider.files[b"f"] == b"a B.."


def test_a_guarded_edit_is_stale_when_the_content_moved(tmp_path: Path) -> None:
    provider = Moving(1)
    with served(provider, tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        client.edit("f", "b", "B", guard=types_pb2.EditGuard(replace_if_version=version_of(b"a b")))
    assert refused(ended.value).reason == "FS_STALE_VERSION"
    assert provider.files[b"f"] == b"a b."


def test_content_that_never_stays_is_unavailable(tmp_path: Path) -> None:
    with served(Moving(1_000), tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        client.edit("f", "b", "B")
    told = refused(ended.value).fs_error
    assert told is not None and told.code is FsErrorCode.FS_UNAVAILABLE and told.retryable


def test_a_call_that_nobody_waits_for_is_given_up_before_it_publishes() -> None:
    provider = MemoryFiles({b"f": b"old"})
    left = Call()
    left.end()
    for call, cause in [(left, AbortCause.CANCELLED), (Call(lambda: -1.0), AbortCause.DEADLINE_EXCEEDED)]:
        with pytest.raises(FsError) as raised:
            provider.write_text(call, WriteText(b"/ws\0f", b"new", Unconditional()))
        assert raised.value.detail == AbortedDetail(cause)
    assert provider.files == {b"f": b"old"}


def test_it_is_served_on_tcp_too() -> None:
    with serve(MemoryFiles({b"f": b"x"}), "127.0.0.1:0") as serving:
        assert re.fullmatch(r"grpc://127\.0\.0\.1:[1-9][0-9]*", serving.address)
        with client_at(serving.address) as client:
            assert client.key("f") == b"/ws\0f"


def test_a_socket_is_for_its_user_alone(tmp_path: Path) -> None:
    with served(MemoryFiles(), tmp_path):
        assert stat.S_IMODE((tmp_path / "seam.sock").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("unix:", "no path"),
        ("unix:/a\0b", "without NUL"),
        ("nowhere", "not `nowhere`"),
        (":80", "not `:80`"),
        ("127.0.0.1:http", "not `127.0.0.1:http`"),
        ("127.0.0.1:65536", "not `127.0.0.1:65536`"),
        ("0.0.0.0:0", "`allow_remote`"),
        ("grpc://example.org:80", "`allow_remote`"),
    ],
)
def test_an_address_that_is_none_or_leaves_the_host_is_refused(address: str, why: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(why)):
        serve(MemoryFiles(), address)


def test_an_address_that_cannot_be_bound_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot listen"):
        serve(MemoryFiles(), f"unix:{tmp_path}/missing/seam.sock")


@pytest.mark.parametrize("name", ["que?ry", "frag#ment", "per%20cent", "sp ace"])
def test_a_socket_has_the_name_that_was_asked_for(name: str, tmp_path: Path) -> None:
    with serve(MemoryFiles(), f"unix:{tmp_path}/{name}") as serving:
        assert serving.address == f"unix:{tmp_path}/{name}"
        assert [path.name for path in tmp_path.iterdir()] == [name]


async def test_it_is_served_within_an_event_loop(tmp_path: Path) -> None:
    provider = MemoryFiles({b"f": b"one\n"})
    async with serve_async(provider, f"unix:{tmp_path}/seam.sock") as address:

        def calls() -> None:
            with client_at(address) as client:
                assert client.write("g", b"x" * 200_000).report.size == 200_000
                assert client.edit("f", "one", "two").report.replacements == 1
                request = filesystem_pb2.ReadTextRequest(target_key=client.key("g"))
                assert b"".join(part.chunk for part in client.stub.ReadText(request)) == b"x" * 200_000
                with pytest.raises(grpc.RpcError) as ended:
                    client.edit("f", "one", "two")
                assert refused(ended.value).reason == "FS_EDIT_NOT_FOUND"
                with pytest.raises(grpc.RpcError) as ended:
                    client.stub.WriteText(iter([header(client.key("f"), 3), chunk(b"new")]), timeout=30)
                assert refused(ended.value).reason == "FS_INVALID_ARGUMENT"

        await asyncio.to_thread(calls)
    assert provider.files == {b"f": b"two\n", b"g": b"x" * 200_000}


def test_capabilities_tell_roots_limits_and_patterns(tmp_path: Path) -> None:
    with served(MemoryFiles(limits=Limits(max_file_bytes=9)), tmp_path) as client:
        told = client.stub.GetProviderCapabilities(filesystem_pb2.GetProviderCapabilitiesRequest())
    assert (told.provider.name, told.provider.HasField("operation_ids")) == ("test-memory", True)
    assert [(root.name, root.raw_path) for root in told.roots] == [("/ws", b"/ws")]
    limits = {limit.name: limit.value for limit in told.limits}
    assert (limits["max_file_bytes"], limits["max_content_bytes"]) == (9, 16 << 20)
    assert list(told.protected_patterns) == [".git"]
