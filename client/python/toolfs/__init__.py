"""The Python client of toolfs: file tools for language-model agents, over gRPC.

    from toolfs import Toolfs

    with Toolfs.local(root=".") as client, client.open_session() as session:
        page = session.read("notes.txt")
        session.edit("notes.txt", old_string="draft", new_string="final")

`Toolfs` blocks, `AsyncToolfs` is the same for asyncio. Typed calls (`read`, `write`, `edit`) return a typed outcome or
raise; `call` is the model's door: it takes a name and arguments as a model made them, and a refusal is a reply that the
model reads. `toolfs.v1` holds the messages of the contract, `toolfs.format` the forms of the SDKs.
"""

from toolfs._async.client import AsyncToolfs
from toolfs._async.session import AsyncSession
from toolfs._sync.client import Toolfs
from toolfs._sync.session import Session
from toolfs.call import Arguments, View
from toolfs.content import ContentBlock, ImageBlock, TextBlock
from toolfs.enums import LineEndings, NoticeKind, Published, ReadStopReason, WriteOperation
from toolfs.error import (
    ArgumentError,
    CallError,
    ConnectError,
    FsErrorCode,
    LocalServerError,
    ProtocolError,
    ToolError,
    ToolfsError,
)
from toolfs.outcome import EditOutcome, Notice, Outcome, ReadOutcome, WriteOutcome
from toolfs.reply import EditResult, ModelReply, ReadResult, WriteResult
from toolfs.retry import RetryPolicy
from toolfs.target import Keepalive, Tls

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Arguments",
    "AsyncSession",
    "AsyncToolfs",
    "CallError",
    "ConnectError",
    "ContentBlock",
    "EditOutcome",
    "EditResult",
    "FsErrorCode",
    "ImageBlock",
    "Keepalive",
    "LineEndings",
    "LocalServerError",
    "ModelReply",
    "Notice",
    "NoticeKind",
    "Outcome",
    "ProtocolError",
    "Published",
    "ReadOutcome",
    "ReadResult",
    "ReadStopReason",
    "RetryPolicy",
    "Session",
    "TextBlock",
    "Tls",
    "ToolError",
    "Toolfs",
    "ToolfsError",
    "View",
    "WriteOperation",
    "WriteOutcome",
    "WriteResult",
    "__version__",
]
