"""Serve files to toolfs from Python: implement the provider's side of `toolfs.v1.FileSystemService`.

`toolfs serve --provider unix:PATH` (or `grpc://HOST:PORT`) takes its files from whoever serves the seam there. Two base
classes make that a matter of a few methods:

- `WholeFileProvider`: say what is there (`look`, `read`, `entries`) and put something there in one atomic step
  (`replace`). Paths, links, text rules, versions, guards, edits, diffs and plans come from the base.
- `Provider`: the whole seam, method by method, for a storage that can do better than whole files.

    class Scratch(WholeFileProvider):
        ...

    scratch = Scratch("scratch", [Root(b"/scratch")], durability=Durability.NONE)
    with serve(scratch, "unix:/run/user/1000/scratch/seam.sock") as serving:
        serving.wait()

Methods are called from several threads at once. What they raise becomes the gRPC status that the contract prescribes:
`FsError` (made by the functions of `refusal`) with its code and detail, anything else as a mistake of the provider that
the log of `toolfs.provider` tells. A write that arrives in parts reaches the provider only when all of it has come and
matches its digest.

Left out: methods that are coroutines (`serve_async` runs these methods in threads), operation ids in
`WholeFileProvider`, and any judgement of who is calling: the address is for the server of the tools alone.

`examples/directory_provider.py` serves a directory, and passes the server's own conformance suite but for the cases
that are listed with their reasons beside it.
"""

from toolfs.enums import FileKind, Published
from toolfs.error import FsErrorCode
from toolfs.provider import refusal
from toolfs.provider.error import CallReason, CallRefused, FsError, TargetMoved
from toolfs.provider.guard import CreateIfAbsent, EditGuard, ReplaceIfVersion, Unconditional, WriteGuard
from toolfs.provider.name import display_form, file_url
from toolfs.provider.place import Place
from toolfs.provider.provider import Call, Provider
from toolfs.provider.serving import Serving, serve, serve_async
from toolfs.provider.stored import Entry, Replaced, StoredFile
from toolfs.provider.value import (
    ByteRange,
    Capabilities,
    Content,
    DirectoryEntry,
    Durability,
    EditReport,
    EditText,
    FileStat,
    Limits,
    Lines,
    LineWindow,
    RawLine,
    ResolveRequest,
    Root,
    Target,
    WriteReport,
    WriteText,
)
from toolfs.provider.whole_file import WholeFileProvider

__all__ = [
    "ByteRange",
    "Call",
    "CallReason",
    "CallRefused",
    "Capabilities",
    "Content",
    "CreateIfAbsent",
    "DirectoryEntry",
    "Durability",
    "EditGuard",
    "EditReport",
    "EditText",
    "Entry",
    "FileKind",
    "FileStat",
    "FsError",
    "FsErrorCode",
    "Limits",
    "LineWindow",
    "Lines",
    "Place",
    "Provider",
    "Published",
    "RawLine",
    "Replaced",
    "ReplaceIfVersion",
    "ResolveRequest",
    "Root",
    "Serving",
    "StoredFile",
    "Target",
    "TargetMoved",
    "Unconditional",
    "WholeFileProvider",
    "WriteGuard",
    "WriteReport",
    "WriteText",
    "display_form",
    "file_url",
    "refusal",
    "serve",
    "serve_async",
]
