"""What the tests of the SDKs share: the tools of a real server, replies, and a transport that keeps requests."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from format_server import definitions, server

from toolfs.reply import ModelReply, decode_reply
from toolfs.v1 import error_pb2, tool_pb2


def tools_of_a_server(directory: Path) -> list[tool_pb2.ToolDefinition]:
    """The definitions that a real server tells."""
    with server(directory) as address:
        return definitions(address)


def success() -> ModelReply:
    """A read that succeeded."""
    return _reply([tool_pb2.ContentBlock(text="1: a\n\n(lines 1-1 of 1)")])


def refusal() -> ModelReply:
    """A call that a tool refused."""
    error = error_pb2.FsError(code=error_pb2.FS_NOT_FOUND, reason="FS_NOT_FOUND", message="nothing is there")
    return _reply([tool_pb2.ContentBlock(text="FS_NOT_FOUND: nothing is there")], error)


def pictured() -> ModelReply:
    """A reply with a text and a picture, which no tool sends yet."""
    picture = tool_pb2.ImageBlock(mime_type="image/png", data=b"\x89PNG\xff")
    return _reply([tool_pb2.ContentBlock(text="a picture:"), tool_pb2.ContentBlock(image=picture)])


def _reply(content: list[tool_pb2.ContentBlock], error: error_pb2.FsError | None = None) -> ModelReply:
    return decode_reply(
        tool_pb2.ExecuteResponse(tool_call_id="call_1", content=content, is_error=error is not None, error=error)
    )


class Recorder:
    """Answers every request with one body, and keeps what was sent: the handler of a `MockTransport`."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        self.sent: list[Any] = []

    def __call__(self, request: Any) -> Any:
        httpx2 = importlib.import_module("httpx2")
        self.sent.append(json.loads(request.content))
        return httpx2.Response(200, json=self.answer)


REPLIES = {"a success": success(), "a refusal": refusal(), "a picture": pictured()}
"""Each kind of reply, by what it is."""
