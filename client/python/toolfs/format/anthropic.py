"""`tools` and `tool_result` of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypedDict

from toolfs.content import ContentBlock, ImageBlock, TextBlock
from toolfs.format import reply as replies
from toolfs.format.definition import Definition
from toolfs.format.schema import Schema
from toolfs.reply import ModelReply

ImageType = Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
"""The types of pictures that the API takes."""


class _ToolAlways(TypedDict):
    name: str
    description: str
    input_schema: Schema


class AnthropicTool(_ToolAlways, total=False):
    """A tool of `messages.create`. `strict` is absent where it is not asked for: older models refuse the mark."""

    strict: bool


class AnthropicTextBlock(TypedDict):
    """Text."""

    type: Literal["text"]
    text: str


class AnthropicImageSource(TypedDict):
    """A picture's bytes, as base64."""

    type: Literal["base64"]
    media_type: ImageType
    data: str


class AnthropicImageBlock(TypedDict):
    """A picture."""

    type: Literal["image"]
    source: AnthropicImageSource


AnthropicBlock = AnthropicTextBlock | AnthropicImageBlock
"""A piece of a result."""


class AnthropicToolResult(TypedDict):
    """A block of the user's next message, which holds the results of all calls of one answer."""

    type: Literal["tool_result"]
    tool_use_id: str
    content: list[AnthropicBlock]
    is_error: bool


def definitions(tools: Iterable[Definition], strict: bool) -> list[AnthropicTool]:
    """The tools."""
    return [_tool(tool, strict) for tool in tools]


def result(reply: ModelReply, id: str | None) -> AnthropicToolResult:
    """The result of the call `id`."""
    # Where a result is an error the API takes nothing but text.
    show = _text if reply.is_error else _block
    content = [show(block) for block in replies.blocks(reply)]
    return AnthropicToolResult(
        type="tool_result", tool_use_id=replies.call_id(reply, id), content=content, is_error=reply.is_error
    )


def _tool(tool: Definition, strict: bool) -> AnthropicTool:
    made = AnthropicTool(name=tool.name, description=tool.description, input_schema=tool.schema(strict))
    if strict:
        made["strict"] = True
    return made


def _text(block: ContentBlock) -> AnthropicBlock:
    return AnthropicTextBlock(type="text", text=replies.told(block))


def _block(block: ContentBlock) -> AnthropicBlock:
    media_type = _image_type(block.mime_type) if isinstance(block, ImageBlock) else None
    if isinstance(block, TextBlock) or media_type is None:
        return _text(block)
    source = AnthropicImageSource(type="base64", media_type=media_type, data=replies.base64_of(block))
    return AnthropicImageBlock(type="image", source=source)


def _image_type(mime_type: str) -> ImageType | None:
    known: tuple[ImageType, ...] = ("image/jpeg", "image/png", "image/gif", "image/webp")
    return next((known_type for known_type in known if known_type == mime_type), None)
