"""Content in parts: what a whole stream has, and that one which is not whole publishes nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import grpc
import pytest
from provider_memory import (
    Client,
    MemoryFiles,
    chunk,
    client_at,
    header,
    refused,
    served,
    trailer,
)

from toolfs.detail import (
    InvalidArgumentDetail,
)
from toolfs.enums import TextEncoding
from toolfs.error import FsErrorCode
from toolfs.provider import (
    Call,
    Content,
    Limits,
    refusal,
    serve,
    serve_async,
)
from toolfs.provider.text import version_of
from toolfs.v1 import filesystem_pb2

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


def _break_off(client: Client) -> None:
    """Leaves in the middle of a write, and sees that others are served."""

    def parts(key: bytes) -> Iterable[filesystem_pb2.WriteTextRequest]:
        yield header(key, 3)
        yield chunk(b"new")
        raise RuntimeError("the caller breaks off")

    with pytest.raises(grpc.RpcError):
        client.stub.WriteText(parts(client.key("f")), timeout=30)
    assert client.write("g", b"x").report.size == 1


def test_a_caller_that_leaves_in_the_middle_publishes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    provider = MemoryFiles({b"f": b"old"})
    with served(provider, tmp_path) as client:
        _break_off(client)
    assert provider.files == {b"f": b"old", b"g": b"x"}
    assert "mistake" not in caplog.text


async def test_a_caller_that_leaves_an_event_loop_in_the_middle_publishes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    provider = MemoryFiles({b"f": b"old"})

    def calls(address: str) -> None:
        with client_at(address) as client:
            _break_off(client)

    async with serve_async(provider, f"unix:{tmp_path}/seam.sock") as address:
        await asyncio.to_thread(calls, address)
    assert provider.files == {b"f": b"old", b"g": b"x"}
    assert "mistake" not in caplog.text


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


def test_a_write_that_does_not_go_on_is_given_up_and_publishes_nothing(tmp_path: Path) -> None:
    provider = MemoryFiles({b"f": b"old"})
    goes_on = threading.Event()

    def parts(key: bytes) -> Iterable[filesystem_pb2.WriteTextRequest]:
        yield header(key, 3)
        goes_on.wait(30)
        yield chunk(b"new")
        yield trailer(b"new")

    with serve(provider, f"unix:{tmp_path}/seam.sock", max_workers=1, patience=0.2) as serving:
        with client_at(serving.address) as client:
            with pytest.raises(grpc.RpcError) as ended:
                client.stub.WriteText(parts(client.key("f")), timeout=30)
            assert refused(ended.value).reason == "FS_ABORTED"
            assert client.write("g", b"x").report.size == 1, "its thread is free again"
            goes_on.set()
    assert provider.files == {b"f": b"old", b"g": b"x"}


async def test_a_write_that_does_not_go_on_is_given_up_within_an_event_loop_too(tmp_path: Path) -> None:
    provider = MemoryFiles({b"f": b"old"})
    goes_on = threading.Event()

    def parts(key: bytes) -> Iterable[filesystem_pb2.WriteTextRequest]:
        yield header(key, 3)
        goes_on.wait(30)

    def calls(address: str) -> None:
        with client_at(address) as client:
            with pytest.raises(grpc.RpcError) as ended:
                client.stub.WriteText(parts(client.key("f")), timeout=30)
            assert refused(ended.value).reason == "FS_ABORTED"
            assert client.write("g", b"x").report.size == 1, "its thread is free again"

    async with serve_async(provider, f"unix:{tmp_path}/seam.sock", max_workers=1, patience=0.2) as address:
        await asyncio.to_thread(calls, address)
        goes_on.set()
    assert provider.files == {b"f": b"old", b"g": b"x"}


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
