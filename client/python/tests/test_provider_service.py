"""A provider at the end of a connection: what it answers, how errors travel, and what no stream may do."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.rpc import status_pb2
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
    NearMiss,
    NotObservedDetail,
    SandboxDetail,
    StaleVersionDetail,
)
from toolfs.enums import AbortCause, FileKind, LimitKind, NearMissReason, SearchStopReason, TextEncoding
from toolfs.error import ArgumentError, FsErrorCode
from toolfs.provider import (
    Call,
    CallReason,
    CallRefused,
    Content,
    FileStat,
    FsError,
    Limits,
    Published,
    Replaced,
    Unconditional,
    WriteText,
    refusal,
    serve,
    serve_async,
    status,
)
from toolfs.provider.text import version_of
from toolfs.v1 import error_pb2, filesystem_pb2, types_pb2

NEAR = NearMiss(1, 2, ("a", "b"), (NearMissReason.WHITE_SPACE,), "white space")

# One error of each code, and the gRPC code under which it travels.
ERRORS = [
    (refusal.not_found("/ws/x", ("y",)), grpc.StatusCode.NOT_FOUND),
    (refusal.not_directory("/ws/x"), grpc.StatusCode.FAILED_PRECONDITION),
    (refusal.not_regular("/ws/x", FileKind.FIFO), grpc.StatusCode.FAILED_PRECONDITION),
    (refusal.not_text("/ws/x", 6, True, TextEncoding.UTF16_LE), grpc.StatusCode.FAILED_PRECONDITION),
    (refusal.too_large("/ws/x", LimitKind.MAX_FILE_BYTES, 5, 6), grpc.StatusCode.FAILED_PRECONDITION),
    (FsError(FsErrorCode.FS_OUT_OF_RANGE, "past the end"), grpc.StatusCode.OUT_OF_RANGE),
    (refusal.not_writable("/ws/x"), grpc.StatusCode.PERMISSION_DENIED),
    (refusal.protected("/ws/x", ".git"), grpc.StatusCode.PERMISSION_DENIED),
    (FsError(FsErrorCode.FS_NO_SPACE, "the disk is full"), grpc.StatusCode.RESOURCE_EXHAUSTED),
    (FsError(FsErrorCode.FS_IO_ERROR, "broken", published=Published.MAYBE), grpc.StatusCode.INTERNAL),
    (refusal.stale("/ws/x", "v1", None), grpc.StatusCode.ABORTED),
    (refusal.not_observed("/ws/x", FileKind.REGULAR, 0, False), grpc.StatusCode.FAILED_PRECONDITION),
    (refusal.ambiguous_edit("/ws/x", 2, (1, 3)), grpc.StatusCode.FAILED_PRECONDITION),
    (
        refusal.edit_not_found("/ws/x", (NEAR,), SearchStopReason.BYTE_BUDGET),
        grpc.StatusCode.FAILED_PRECONDITION,
    ),
    (refusal.invalid_argument("path", "empty", "a path"), grpc.StatusCode.INVALID_ARGUMENT),
    (refusal.unsupported("not here"), grpc.StatusCode.UNIMPLEMENTED),
    (refusal.keeps_changing("/ws/x"), grpc.StatusCode.UNAVAILABLE),
    (refusal.aborted(AbortCause.CANCELLED), grpc.StatusCode.CANCELLED),
    (refusal.aborted(AbortCause.DEADLINE_EXCEEDED), grpc.StatusCode.DEADLINE_EXCEEDED),
]


class Raising(MemoryFiles):
    """Raises one error for every question what is at a target."""

    def __init__(self, error: Exception) -> None:
        super().__init__({b"f": b"x"})
        self.error = error

    def stat(self, call: Call, target: bytes, want_version: bool) -> FileStat:
        raise self.error


def test_every_code_is_among_the_errors_that_are_tried() -> None:
    assert {error.code for error, _ in ERRORS} == set(FsErrorCode)


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=[error.code.value for error, _ in ERRORS])
def test_an_error_arrives_as_it_was_raised(error: FsError, code: grpc.StatusCode, tmp_path: Path) -> None:
    with served(Raising(error), tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        client.stub.Stat(filesystem_pb2.StatRequest(target_key=client.key("f")), timeout=30)
    call = refused(ended.value)
    assert (call.status, call.reason) == (code, error.code.value)
    assert call.message == f"{error.code}: {error.message}"
    told = call.fs_error
    assert told is not None
    assert (told.code, told.message, told.path) == (error.code, error.message, error.path)
    assert (told.published, told.retryable, told.remedy) == (error.published, error.retryable, "")
    assert told.detail == error.detail
    assert told.raw.detail_truncated is False


def test_a_mistake_of_the_provider_says_nothing_of_its_cause(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(Raising(ZeroDivisionError("secret")), tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        client.stub.Stat(filesystem_pb2.StatRequest(target_key=client.key("f")), timeout=30)
    call = refused(ended.value)
    assert (call.status, call.reason, call.fs_error) == (grpc.StatusCode.INTERNAL, "INTERNAL", None)
    assert "secret" not in call.message and "secret" in caplog.text


def test_an_error_that_is_too_long_is_cut_to_fit_the_trailers() -> None:
    long = "é" * 4_000
    near = tuple(NearMiss(1, 9, (long,) * 9, (NearMissReason.WHITE_SPACE,), long) for _ in range(9))
    error = refusal.edit_not_found(f"/ws/{long}", near, SearchStopReason.UNSPECIFIED)
    ended = status.of_fs_error(error)
    assert len(ended.details) <= status.MAX_DETAILS_BYTES
    assert len(ended.message.encode()) <= 400
    told = error_pb2.FsError()
    assert status_pb2.Status.FromString(ended.details).details[1].Unpack(told)
    assert told.detail_truncated and told.path.endswith("…")
    assert [len(miss.lines) for miss in told.edit_not_found.near_misses] == [5, 5, 5]


def test_a_version_is_never_cut() -> None:
    error = refusal.stale("/ws/" + "x" * 9_000, "e" * 128, "a" * 128)
    told = error_pb2.FsError()
    assert status_pb2.Status.FromString(status.of_fs_error(error).details).details[1].Unpack(told)
    assert (told.stale_version.expected_version, told.stale_version.actual_version) == ("e" * 128, "a" * 128)


Parts = Callable[[bytes], Iterable[filesystem_pb2.WriteTextRequest]]


def _sha256(digest: bytes | None) -> filesystem_pb2.WriteTextRequest:
    return filesystem_pb2.WriteTextRequest(trailer=filesystem_pb2.WriteTrailer(sha256=digest))


HOSTILE: list[tuple[str, Parts, str]] = [
    ("nothing", lambda key: [], "header"),
    ("no trailer", lambda key: [header(key, 3), chunk(b"new")], "trailer"),
    ("no content", lambda key: [header(key, 3), trailer(b"")], "size"),
    ("no header", lambda key: [chunk(b"new"), trailer(b"new")], "chunk"),
    ("the trailer first", lambda key: [trailer(b"new"), header(key, 3)], "trailer"),
    ("two headers", lambda key: [header(key, 3), header(key, 3), chunk(b"new"), trailer(b"new")], "header"),
    ("two trailers", lambda key: [header(key, 3), chunk(b"new"), trailer(b"new"), trailer(b"new")], "trailer"),
    ("a chunk after the trailer", lambda key: [header(key, 3), chunk(b"new"), trailer(b"new"), chunk(b"")], "chunk"),
    ("an unset part", lambda key: [header(key, 3), filesystem_pb2.WriteTextRequest()], "part"),
    ("too many bytes", lambda key: [header(key, 3), chunk(b"news"), trailer(b"news")], "size"),
    ("too many bytes in all", lambda key: [header(key, 3), chunk(b"ne"), chunk(b"ws"), trailer(b"news")], "size"),
    ("too few bytes", lambda key: [header(key, 4), chunk(b"new"), trailer(b"new")], "size"),
    ("another digest", lambda key: [header(key, 3), chunk(b"new"), trailer(b"old")], "sha256"),
    ("no digest", lambda key: [header(key, 3), chunk(b"new"), _sha256(None)], "sha256"),
    ("a short digest", lambda key: [header(key, 3), chunk(b"new"), _sha256(b"123")], "sha256"),
    ("a negative size", lambda key: [header(key, -1), trailer(b"")], "size"),
    ("no target", lambda key: [header(b"", 3), chunk(b"new"), trailer(b"new")], "target_key"),
]


@pytest.mark.parametrize(("parts", "field"), [case[1:] for case in HOSTILE], ids=[case[0] for case in HOSTILE])
def test_a_stream_that_is_not_whole_publishes_nothing(parts: Parts, field: str, tmp_path: Path) -> None:
    provider = MemoryFiles({b"f": b"old"})
    with served(provider, tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        client.stub.WriteText(iter(parts(client.key("f"))), timeout=30)
    told = refused(ended.value).fs_error
    assert told is not None and told.code is FsErrorCode.FS_INVALID_ARGUMENT
    assert isinstance(told.detail, InvalidArgumentDetail) and told.detail.field == field
    assert provider.files == {b"f": b"old"}


def test_content_above_the_limit_is_refused_at_its_header(tmp_path: Path) -> None:
    provider = MemoryFiles(limits=Limits(max_content_bytes=10))
    with served(provider, tmp_path) as client:
        with pytest.raises(grpc.RpcError) as ended:
            client.stub.WriteText(iter([header(client.key("f"), 11)]), timeout=30)
        assert refused(ended.value).reason == "FS_TOO_LARGE"
        assert client.write("f", b"0123456789").report.size == 10


def test_a_caller_that_leaves_in_the_middle_publishes_nothing(tmp_path: Path) -> None:
    provider = MemoryFiles({b"f": b"old"})
    with served(provider, tmp_path) as client:

        def parts(key: bytes) -> Iterable[filesystem_pb2.WriteTextRequest]:
            yield header(key, 3)
            yield chunk(b"new")
            raise RuntimeError("the caller breaks off")

        with pytest.raises(grpc.RpcError):
            client.stub.WriteText(parts(client.key("f")), timeout=30)
        assert client.write("g", b"x").report.size == 1
    assert provider.files == {b"f": b"old", b"g": b"x"}


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


def test_content_has_one_header_chunks_and_one_trailer(tmp_path: Path) -> None:
    content = ("é" * 100_000).encode()
    with served(MemoryFiles({b"f": content, b"e": b""}), tmp_path) as client:
        request = filesystem_pb2.ReadTextRequest(target_key=client.key("f"))
        told = list(client.stub.ReadText(request, timeout=30))
        kinds = [part.WhichOneof("part") for part in told]
        assert (kinds[0], set(kinds[1:-1]), kinds[-1]) == ("header", {"chunk"}, "trailer")
        assert (told[0].header.size, told[-1].trailer.version) == (len(content), version_of(content))
        assert b"".join(part.chunk for part in told) == content
        assert all(part.chunk.decode() for part in told[1:-1])
        some = filesystem_pb2.ReadBytesRequest(target_key=client.key("f"), offset=1, length=2)
        told = list(client.stub.ReadBytes(some, timeout=30))
        assert (told[1].chunk, told[-1].trailer.version) == (content[1:3], "")
        request = filesystem_pb2.ReadTextRequest(target_key=client.key("e"))
        assert [part.WhichOneof("part") for part in client.stub.ReadText(request)] == ["header", "trailer"]


class FoundLate(MemoryFiles):
    """Finds out in the middle that a file is no text."""

    def read_text(self, call: Call, target: bytes) -> Content:
        def pieces() -> Iterable[bytes]:
            yield b"text"
            raise refusal.not_text("/ws/f", 4, True, TextEncoding.UNSPECIFIED)

        return Content(9, pieces(), lambda: "version")


def test_a_text_that_turns_out_not_to_be_one_ends_without_a_trailer(tmp_path: Path) -> None:
    told = []
    with served(FoundLate(), tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        for part in client.stub.ReadText(filesystem_pb2.ReadTextRequest(target_key=b"k"), timeout=30):
            told.append(part.WhichOneof("part"))
    assert told == ["header", "chunk"]
    assert refused(ended.value).reason == "FS_NOT_TEXT"


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
        assert not serving.address.endswith(":0")
        with client_at(serving.address) as client:
            assert client.key("f") == b"/ws\0f"


def test_a_socket_is_for_its_user_alone(tmp_path: Path) -> None:
    with served(MemoryFiles(), tmp_path):
        assert stat.S_IMODE((tmp_path / "seam.sock").stat().st_mode) == 0o600


@pytest.mark.parametrize("address", ["unix:", "nowhere", "0.0.0.0:0", "example.org:80", ":80", "127.0.0.1:http"])
def test_an_address_that_is_none_or_leaves_the_host_is_refused(address: str) -> None:
    with pytest.raises(ArgumentError):
        serve(MemoryFiles(), address)


def test_an_address_that_is_taken_is_told(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="cannot listen"):
        serve(MemoryFiles(), f"unix:{tmp_path}/missing/seam.sock")


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


def test_a_refusal_of_the_call_itself_is_a_status_without_an_error() -> None:
    ended = status.of_refused(CallRefused(CallReason.GUARD_MISSING, "no guard"))
    assert (ended.code, ended.message) == (grpc.StatusCode.INVALID_ARGUMENT, "no guard")
    assert len(status_pb2.Status.FromString(ended.details).details) == 1
