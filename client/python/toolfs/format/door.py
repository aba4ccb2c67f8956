"""One function for each thing, whatever the format."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, get_args, overload

from toolfs.error import ArgumentError
from toolfs.format import anthropic, gemini, json, mcp, openai
from toolfs.format.definition import Definition
from toolfs.reply import ModelReply
from toolfs.v1 import tool_pb2

ResultFormat = Literal["anthropic", "openai", "openai-chat", "gemini", "mcp"]
"""A form that a result can have."""

Format = Literal["json"] | ResultFormat
"""A form that definitions can have."""

Tools = Iterable[tool_pb2.ToolDefinition]
"""The definitions of a server."""


@overload
def tool_definitions(tools: Tools, format: Literal["json"], strict: bool = False) -> list[json.JsonTool]: ...
@overload
def tool_definitions(
    tools: Tools, format: Literal["anthropic"], strict: bool = False
) -> list[anthropic.AnthropicTool]: ...
@overload
def tool_definitions(tools: Tools, format: Literal["openai"], strict: bool = False) -> list[openai.OpenAITool]: ...
@overload
def tool_definitions(
    tools: Tools, format: Literal["openai-chat"], strict: bool = False
) -> list[openai.OpenAIChatTool]: ...
@overload
def tool_definitions(tools: Tools, format: Literal["gemini"], strict: bool = False) -> list[gemini.GeminiTool]: ...
@overload
def tool_definitions(tools: Tools, format: Literal["mcp"], strict: bool = False) -> mcp.McpTools: ...
@overload
def tool_definitions(tools: Tools, format: Format, strict: bool = False) -> object: ...
def tool_definitions(tools: Tools, format: Format, strict: bool = False) -> object:
    """The tools as a model is told of them: what `toolfs tools --format FORMAT` prints.

    - `tools`: the definitions of a server, in the order in which models should see them.
    - `strict`: the strict form of the schemas: all arguments are required, optional ones may be null. The mark that
      asks the model's side to keep to it is set where the format has one. `json` has both forms in any case.

    Raises `DefinitionError` for a newer server's schema that this package cannot put into another form, and
    `ArgumentError` for a format that there is not.
    """
    definitions = [Definition.of(tool) for tool in tools]
    if format == "json":
        return json.definitions(definitions)
    if format == "anthropic":
        return anthropic.definitions(definitions, strict)
    if format == "openai":
        return openai.responses_definitions(definitions, strict)
    if format == "openai-chat":
        return openai.chat_definitions(definitions, strict)
    if format == "gemini":
        return gemini.definitions(definitions, strict)
    if format == "mcp":
        return mcp.definitions(definitions, strict)
    raise ArgumentError("format", f"must be {_one_of('json', *get_args(ResultFormat))}, not `{format}`")


def prompt(tools: Tools) -> str:
    """The sections for the system prompt, joined in the order of the tools: they teach what a schema cannot."""
    # Each section ends with a newline; an empty line goes between two.
    return "\n".join(tool.prompt_section for tool in tools)


@overload
def tool_result(
    reply: ModelReply, format: Literal["anthropic"], *, id: str | None = None, name: str | None = None
) -> anthropic.AnthropicToolResult: ...
@overload
def tool_result(
    reply: ModelReply, format: Literal["openai"], *, id: str | None = None, name: str | None = None
) -> openai.OpenAIFunctionCallOutput: ...
@overload
def tool_result(
    reply: ModelReply, format: Literal["openai-chat"], *, id: str | None = None, name: str | None = None
) -> openai.OpenAIChatToolMessage: ...
@overload
def tool_result(
    reply: ModelReply, format: Literal["gemini"], *, id: str | None = None, name: str | None = None
) -> gemini.GeminiToolResult: ...
@overload
def tool_result(
    reply: ModelReply, format: Literal["mcp"], *, id: str | None = None, name: str | None = None
) -> mcp.McpToolResult: ...
@overload
def tool_result(
    reply: ModelReply, format: ResultFormat, *, id: str | None = None, name: str | None = None
) -> object: ...
def tool_result(reply: ModelReply, format: ResultFormat, *, id: str | None = None, name: str | None = None) -> object:
    """A reply as the SDK of a model's interface takes the result of a tool.

    - `id`: the model's identifier of the call. Absent means the `tool_call_id` that the call was made with. `mcp` has
      none, and `gemini` needs none.
    - `name`: the name of the function that was called. `gemini` needs it; the others have none.

    Raises `ArgumentError` for a format that there is not, and where what it needs is missing.
    """
    if format == "anthropic":
        return anthropic.result(reply, id)
    if format == "openai":
        return openai.responses_result(reply, id)
    if format == "openai-chat":
        return openai.chat_result(reply, id)
    if format == "gemini":
        return gemini.result(reply, id, name)
    if format == "mcp":
        return mcp.result(reply)
    raise ArgumentError("format", f"must be {_one_of(*get_args(ResultFormat))}, not `{format}`")


def _one_of(*names: str) -> str:
    return ", ".join(f"`{name}`" for name in names[:-1]) + f" or `{names[-1]}`"
