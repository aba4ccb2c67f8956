"""Everything that there is to know of the tools, in names of our own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict

from toolfs.format.definition import Definition
from toolfs.format.schema import Schema


class JsonHints(TypedDict):
    """What a host may assume about the calls of a tool."""

    read_only: bool
    destructive: bool
    idempotent: bool
    concurrency_safe: bool


class JsonTool(TypedDict):
    """A tool, with both forms of its schema."""

    name: str
    description: str
    input_schema: Schema
    strict_input_schema: Schema
    prompt_section: str
    hints: JsonHints


def definitions(tools: Iterable[Definition]) -> list[JsonTool]:
    """The tools."""
    return [
        JsonTool(
            name=tool.name,
            description=tool.description,
            input_schema=tool.input_schema,
            strict_input_schema=tool.strict_input_schema,
            prompt_section=tool.prompt_section,
            hints=JsonHints(
                read_only=tool.read_only,
                destructive=tool.destructive,
                idempotent=tool.idempotent,
                concurrency_safe=tool.concurrency_safe,
            ),
        )
        for tool in tools
    ]
