"""`tools` and results of OpenAI's two interfaces.

The Responses API has a function's parts beside its type and takes pictures in a result.
The Chat Completions API has the parts in an object of their own and takes nothing but text.
Neither has a mark for a failure: the text says it, as it begins with the code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypedDict

from toolfs.content import ContentBlock, TextBlock
from toolfs.format import reply as replies
from toolfs.format.definition import Definition
from toolfs.format.schema import Schema
from toolfs.reply import ModelReply


class OpenAITool(TypedDict):
    """A tool of `responses.create`."""

    type: Literal["function"]
    name: str
    description: str
    parameters: Schema
    # Always said: without it the Responses API makes every schema strict in its own way.
    strict: bool


class OpenAIFunction(TypedDict):
    """The function of a tool."""

    name: str
    description: str
    parameters: Schema
    strict: bool


class OpenAIChatTool(TypedDict):
    """A tool of `chat.completions.create`."""

    type: Literal["function"]
    function: OpenAIFunction


class OpenAIInputText(TypedDict):
    """Text."""

    type: Literal["input_text"]
    text: str


class OpenAIInputImage(TypedDict):
    """A picture, as a `data:` URL."""

    type: Literal["input_image"]
    image_url: str
    detail: Literal["auto"]


class OpenAIFunctionCallOutput(TypedDict):
    """An item of the next `input`. `output` is a text unless there are pictures."""

    type: Literal["function_call_output"]
    call_id: str
    output: str | list[OpenAIInputText | OpenAIInputImage]


class OpenAIChatToolMessage(TypedDict):
    """A message that answers one call."""

    role: Literal["tool"]
    tool_call_id: str
    content: str


def responses_definitions(tools: Iterable[Definition], strict: bool) -> list[OpenAITool]:
    """The tools for the Responses API."""
    return [
        OpenAITool(
            type="function",
            name=tool.name,
            description=tool.description,
            parameters=tool.schema(strict),
            strict=strict,
        )
        for tool in tools
    ]


def chat_definitions(tools: Iterable[Definition], strict: bool) -> list[OpenAIChatTool]:
    """The tools for the Chat Completions API."""
    return [
        OpenAIChatTool(
            type="function",
            function=OpenAIFunction(
                name=tool.name, description=tool.description, parameters=tool.schema(strict), strict=strict
            ),
        )
        for tool in tools
    ]


def responses_result(reply: ModelReply, id: str | None) -> OpenAIFunctionCallOutput:
    """The result of the call `id` for the Responses API."""
    output: str | list[OpenAIInputText | OpenAIInputImage] = replies.text(reply)
    if replies.images(reply):
        output = [_item(block) for block in replies.blocks(reply)]
    return OpenAIFunctionCallOutput(type="function_call_output", call_id=replies.call_id(reply, id), output=output)


def chat_result(reply: ModelReply, id: str | None) -> OpenAIChatToolMessage:
    """The result of the call `id` for the Chat Completions API."""
    return OpenAIChatToolMessage(role="tool", tool_call_id=replies.call_id(reply, id), content=replies.text(reply))


def _item(block: ContentBlock) -> OpenAIInputText | OpenAIInputImage:
    if isinstance(block, TextBlock):
        return OpenAIInputText(type="input_text", text=block.text)
    url = f"data:{block.mime_type};base64,{replies.base64_of(block)}"
    return OpenAIInputImage(type="input_image", image_url=url, detail="auto")
