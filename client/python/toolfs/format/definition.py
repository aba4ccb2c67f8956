"""A tool's definition, as the forms are made of it."""

from __future__ import annotations

from dataclasses import dataclass

from toolfs.error import ToolfsError
from toolfs.format import schema
from toolfs.format.schema import Schema
from toolfs.v1 import tool_pb2


class DefinitionError(ToolfsError, ValueError):
    """A server's definition of a tool that this package cannot put into another form without losing something.

    It comes from a server that is newer than this package; a newer package knows the form.
    """

    def __init__(self, tool: str, why: str) -> None:
        self.tool = tool
        """The tool's name."""
        self.why = why
        """What about its schema cannot be put into another form."""
        super().__init__(tool, why)

    def __str__(self) -> str:
        return f"the schema of `{self.tool}` is not flat, and cannot be put into another form: {self.why}"


@dataclass(frozen=True)
class Definition:
    """Everything that there is to know of a tool."""

    name: str
    """The name by which models call it."""
    description: str
    """What it does and when to use it, addressed to the model."""
    input_schema: Schema
    """The schema of its arguments."""
    strict_input_schema: Schema
    """The same for strict modes: every argument is required, the optional ones may be null."""
    prompt_section: str
    """A section for the system prompt, in Markdown."""
    read_only: bool
    """Whether it changes nothing."""
    destructive: bool
    """Whether it may destroy content."""
    idempotent: bool
    """Whether a repetition with the same arguments changes nothing more."""
    concurrency_safe: bool
    """Whether a host may run several of its calls at once."""

    @staticmethod
    def of(tool: tool_pb2.ToolDefinition) -> Definition:
        """Reads a server's message. Raises `DefinitionError` for a schema that is not one flat object of scalars."""
        hints = tool.hints
        return Definition(
            name=tool.name,
            description=tool.description,
            input_schema=_schema(tool.name, tool.input_schema_json),
            strict_input_schema=_schema(tool.name, tool.strict_input_schema_json),
            prompt_section=tool.prompt_section,
            # What a server does not tell is the most careful answer.
            read_only=hints.read_only if hints.HasField("read_only") else False,
            destructive=hints.destructive if hints.HasField("destructive") else True,
            idempotent=hints.idempotent if hints.HasField("idempotent") else False,
            concurrency_safe=hints.concurrency_safe if hints.HasField("concurrency_safe") else False,
        )

    def schema(self, strict: bool) -> Schema:
        """The schema in one of its two forms."""
        return self.strict_input_schema if strict else self.input_schema


def _schema(tool: str, text: str) -> Schema:
    try:
        return schema.parse(text)
    except schema.NotFlat as error:
        raise DefinitionError(tool, str(error)) from None
