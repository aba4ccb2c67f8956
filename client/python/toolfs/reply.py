"""What comes back: typed results for programs, and replies for models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, overload

from toolfs.content import ContentBlock, decode_content, text_of
from toolfs.error import ProtocolError, ToolError
from toolfs.outcome import (
    EditOutcome,
    Outcome,
    ReadOutcome,
    WriteOutcome,
    decode_edit,
    decode_outcome,
    decode_read,
    decode_write,
)
from toolfs.v1 import tool_pb2

if TYPE_CHECKING:
    from toolfs.format import (
        AnthropicToolResult,
        GeminiToolResult,
        McpToolResult,
        OpenAIChatToolMessage,
        OpenAIFunctionCallOutput,
        ResultFormat,
    )


@dataclass(frozen=True, slots=True)
class ReadResult:
    """A successful `read`."""

    text: str = field(repr=False)
    """What the model reads."""
    outcome: ReadOutcome
    response: tool_pb2.ExecuteResponse = field(repr=False)
    """The whole message of the contract."""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """A successful `write`."""

    text: str = field(repr=False)
    """What the model reads."""
    outcome: WriteOutcome
    response: tool_pb2.ExecuteResponse = field(repr=False)
    """The whole message of the contract."""


@dataclass(frozen=True, slots=True)
class EditResult:
    """A successful `edit`."""

    text: str = field(repr=False)
    """What the model reads."""
    outcome: EditOutcome
    response: tool_pb2.ExecuteResponse = field(repr=False)
    """The whole message of the contract."""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The answer to a call as a model made it. A refusal is content too."""

    content: tuple[ContentBlock, ...] = field(repr=False)
    """What the model reads."""
    text: str = field(repr=False)
    """The same as one text."""
    is_error: bool
    """Whether the tool refused or failed."""
    error: ToolError | None
    """The error for programs. `None` beside `is_error` where the server broke the contract and sent none."""
    outcome: Outcome | None
    """The outcome for programs. Beside an error only where an effect was published and could not be made durable."""
    tool_call_id: str
    """The model's own id of the call, echoed."""
    dry_run: bool
    """Whether it was a dry run."""
    response: tool_pb2.ExecuteResponse = field(repr=False)
    """The whole message of the contract."""

    @overload
    def as_result(
        self, format: Literal["anthropic"], *, id: str | None = None, name: str | None = None
    ) -> AnthropicToolResult: ...
    @overload
    def as_result(
        self, format: Literal["openai"], *, id: str | None = None, name: str | None = None
    ) -> OpenAIFunctionCallOutput: ...
    @overload
    def as_result(
        self, format: Literal["openai-chat"], *, id: str | None = None, name: str | None = None
    ) -> OpenAIChatToolMessage: ...
    @overload
    def as_result(
        self, format: Literal["gemini"], *, id: str | None = None, name: str | None = None
    ) -> GeminiToolResult: ...
    @overload
    def as_result(self, format: Literal["mcp"], *, id: str | None = None, name: str | None = None) -> McpToolResult: ...
    @overload
    def as_result(self, format: ResultFormat, *, id: str | None = None, name: str | None = None) -> object: ...
    def as_result(self, format: ResultFormat, *, id: str | None = None, name: str | None = None) -> object:
        """The reply in the form in which an SDK takes the result of a tool.

        `id` is the model's id of the call, by default the `tool_call_id` that was sent. `name` is the tool's name,
        which `gemini` wants. Raises `ArgumentError` where a format lacks what it needs.
        """
        from toolfs.format import tool_result

        return tool_result(self, format, id=id, name=name)


def decode_reply(response: tool_pb2.ExecuteResponse) -> ModelReply:
    """The reply for a model."""
    content = decode_content(response.content)
    outcome = decode_outcome(response)
    error = ToolError(response.error, content, outcome) if response.HasField("error") else None
    return ModelReply(
        content=content,
        text=text_of(content),
        # A failure that the server forgot to describe is a failure.
        is_error=response.is_error or error is not None,
        error=error,
        outcome=outcome,
        tool_call_id=response.tool_call_id,
        dry_run=response.dry_run,
        response=response,
    )


def read_result(response: tool_pb2.ExecuteResponse) -> ReadResult:
    """The result of a `read`. Raises `ToolError` where it failed."""
    if _failed(response) or not response.HasField("read"):
        raise _failure(response, "read")
    return ReadResult(_text(response), decode_read(response.read), response)


def write_result(response: tool_pb2.ExecuteResponse) -> WriteResult:
    """The result of a `write`. Raises `ToolError` where it failed."""
    if _failed(response) or not response.HasField("write"):
        raise _failure(response, "write")
    return WriteResult(_text(response), decode_write(response.write), response)


def edit_result(response: tool_pb2.ExecuteResponse) -> EditResult:
    """The result of an `edit`. Raises `ToolError` where it failed."""
    if _failed(response) or not response.HasField("edit"):
        raise _failure(response, "edit")
    return EditResult(_text(response), decode_edit(response.edit), response)


def _text(response: tool_pb2.ExecuteResponse) -> str:
    # As `text_of` has it, without blocks that a typed result would not keep: this is on the way of every call.
    return "\n".join(block.text for block in response.content if block.HasField("text"))


def _failed(response: tool_pb2.ExecuteResponse) -> bool:
    return response.is_error or response.HasField("error")


def _failure(response: tool_pb2.ExecuteResponse, tool: str) -> ToolError | ProtocolError:
    if response.HasField("error"):
        return ToolError(response.error, decode_content(response.content), decode_outcome(response))
    if response.is_error:
        return ProtocolError(f"the answer says that `{tool}` failed, and not why")
    return ProtocolError(f"the answer has neither an error nor the outcome of `{tool}`")
