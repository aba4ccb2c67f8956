"""Tools and results of the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypedDict

from toolfs.content import ContentBlock, TextBlock
from toolfs.format import reply as replies
from toolfs.format.definition import Definition
from toolfs.format.schema import Schema
from toolfs.reply import ModelReply


class McpAnnotations(TypedDict):
    """What a host may assume about the calls of a tool."""

    readOnlyHint: bool
    destructiveHint: bool
    idempotentHint: bool
    openWorldHint: bool


class McpTool(TypedDict):
    """A tool."""

    name: str
    description: str
    inputSchema: Schema
    annotations: McpAnnotations


class McpTools(TypedDict):
    """The result of `tools/list`."""

    tools: list[McpTool]


class McpTextContent(TypedDict):
    """Text."""

    type: Literal["text"]
    text: str


class McpImageContent(TypedDict):
    """A picture's bytes, as base64."""

    type: Literal["image"]
    data: str
    mimeType: str


McpContent = McpTextContent | McpImageContent
"""A piece of a result."""


class McpToolResult(TypedDict):
    """The result of `tools/call`.

    There is no `structuredContent`: hosts may give it to the model in place of `content`, and an outcome does not
    hold what the model must read.
    """

    content: list[McpContent]
    isError: bool


def definitions(tools: Iterable[Definition], strict: bool) -> McpTools:
    """The tools. The roots are their whole world, so it is a closed one."""
    return McpTools(
        tools=[
            McpTool(
                name=tool.name,
                description=tool.description,
                inputSchema=tool.schema(strict),
                annotations=McpAnnotations(
                    readOnlyHint=tool.read_only,
                    destructiveHint=tool.destructive,
                    idempotentHint=tool.idempotent,
                    openWorldHint=False,
                ),
            )
            for tool in tools
        ]
    )


def result(reply: ModelReply) -> McpToolResult:
    """The result of a call."""
    return McpToolResult(content=[_content(block) for block in replies.blocks(reply)], isError=reply.is_error)


def _content(block: ContentBlock) -> McpContent:
    if isinstance(block, TextBlock):
        return McpTextContent(type="text", text=block.text)
    return McpImageContent(type="image", data=replies.base64_of(block), mimeType=block.mime_type)
