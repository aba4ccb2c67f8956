"""A provider in memory for the tests of the base classes, and a client that speaks the bare contract to it."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

from toolfs.error import CallError, call_error
from toolfs.provider import (
    DirectoryEntry,
    Durability,
    Entry,
    FileKind,
    FileStat,
    Limits,
    Place,
    Provider,
    Replaced,
    Root,
    StoredFile,
    TargetMoved,
    WholeFileProvider,
    refusal,
    serve,
)
from toolfs.v1 import filesystem_pb2, filesystem_pb2_grpc, types_pb2

ROOT = b"/ws"
UNCONDITIONAL = types_pb2.WriteGuard(unconditional=types_pb2.Unconditional())
CREATE = types_pb2.WriteGuard(create_if_absent=types_pb2.CreateIfAbsent())


class MemoryFiles(WholeFileProvider):
    """Files and links by their paths beneath the root; directories are there while something is in them."""

    def __init__(self, files: dict[bytes, bytes] | None = None, limits: Limits | None = None) -> None:
        super().__init__("test-memory", [Root(ROOT)], durability=Durability.NONE, limits=limits)
        self.files = dict(files or {})
        self.links: dict[bytes, bytes] = {}
        self.guard = threading.Lock()

    def look(self, place: Place) -> Entry | None:
        path = place.relative_path
        if path in self.links:
            return Entry(FileStat(FileKind.SYMLINK), self.links[path])
        if path in self.files:
            return Entry(FileStat(FileKind.REGULAR, len(self.files[path]), 0o644, 1_500_000_000))
        if not path or any(other.startswith(path + b"/") for other in [*self.files, *self.links]):
            return Entry(FileStat(FileKind.DIRECTORY))
        return None

    def read(self, place: Place) -> StoredFile | None:
        entry = self.look(place)
        if entry is None:
            return None
        if entry.stat.kind is FileKind.SYMLINK:
            raise TargetMoved
        if entry.stat.kind is not FileKind.REGULAR:
            raise refusal.not_regular(place.shown, entry.stat.kind)
        return StoredFile(self.files[place.relative_path])

    def entries(self, place: Place) -> Iterable[DirectoryEntry] | None:
        entry = self.look(place)
        if entry is None:
            return None
        if entry.stat.kind is not FileKind.DIRECTORY:
            raise refusal.not_directory(place.shown)
        prefix = place.relative_path + b"/" if place.names else b""
        names = {path[len(prefix) :].split(b"/")[0] for path in self.files if path.startswith(prefix)}
        return [DirectoryEntry(name, FileKind.REGULAR) for name in sorted(names)]

    def replace(self, place: Place, expected: str | None, content: bytes) -> Replaced:
        with self.guard:
            old = self.files.get(place.relative_path)
            if (None if old is None else self.version_of(old)) != expected:
                raise TargetMoved
            self.files[place.relative_path] = content
            return Replaced()


class Client:
    """The generated client, with short forms of the calls that tests make."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.stub: Any = filesystem_pb2_grpc.FileSystemServiceStub(channel)

    def key(self, path: str) -> bytes:
        """The key of a path."""
        response = self.stub.Resolve(filesystem_pb2.ResolveRequest(path=path), timeout=30)
        key: bytes = response.target.target_key
        return key

    def write(self, path: str, content: bytes, guard: types_pb2.WriteGuard = UNCONDITIONAL) -> Any:
        """Writes a whole file, with the diff."""
        return self.stub.WriteText(iter(parts(self.key(path), content, guard)), timeout=30)

    def edit(self, path: str, old: str, new: str, **fields: Any) -> Any:
        """Edits a file under no condition, unless `guard` is given."""
        fields.setdefault("guard", types_pb2.EditGuard(unconditional=types_pb2.Unconditional()))
        request = filesystem_pb2.EditTextRequest(
            target_key=self.key(path), old_string=old, new_string=new, want_diff=True, **fields
        )
        return self.stub.EditText(request, timeout=30)


def header(
    key: bytes, size: int, guard: types_pb2.WriteGuard | None = UNCONDITIONAL
) -> filesystem_pb2.WriteTextRequest:
    """The first part of a write."""
    return filesystem_pb2.WriteTextRequest(
        header=filesystem_pb2.WriteTextHeader(target_key=key, size=size, guard=guard, want_diff=True)
    )


def chunk(content: bytes) -> filesystem_pb2.WriteTextRequest:
    """A part of the content of a write."""
    return filesystem_pb2.WriteTextRequest(chunk=content)


def trailer(content: bytes) -> filesystem_pb2.WriteTextRequest:
    """The last part of a write of this content."""
    digest = hashlib.sha256(content).digest()
    return filesystem_pb2.WriteTextRequest(trailer=filesystem_pb2.WriteTrailer(sha256=digest))


def parts(key: bytes, content: bytes, guard: types_pb2.WriteGuard) -> list[filesystem_pb2.WriteTextRequest]:
    """The parts of a write, with the content in two chunks."""
    middle = len(content) // 2
    return [header(key, len(content), guard), chunk(content[:middle]), chunk(content[middle:]), trailer(content)]


@contextmanager
def client_at(address: str) -> Iterator[Client]:
    """A client of whoever serves the seam at an address."""
    options = [("grpc.default_authority", "localhost"), ("grpc.max_receive_message_length", 64 << 20)]
    with grpc.insecure_channel(address.removeprefix("grpc://"), options=options) as channel:
        yield Client(channel)


@contextmanager
def served(provider: Provider, directory: Path) -> Iterator[Client]:
    """A client of a provider that is served at a socket in `directory`."""
    with serve(provider, f"unix:{directory}/seam.sock") as serving, client_at(serving.address) as client:
        yield client


def refused(error: grpc.RpcError) -> CallError:
    """What a client reads from the status that a call ended with."""
    call: Any = error
    return call_error(call.code(), call.details(), call.trailing_metadata())


def example(name: str) -> Any:
    """The module of an example."""
    path = Path(__file__).parent.parent / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
