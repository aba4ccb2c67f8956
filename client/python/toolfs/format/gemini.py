"""`tools` and `function_response` of Google's Gemini API.

Its schemas are a subset of OpenAPI's: types are words of an enum in capitals, what may be null says so by a keyword,
and nothing closes an object.
Definitions are spelled as the API's JSON; a result as the SDK's own dictionaries, which hold bytes as bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypedDict

from toolfs.content import TextBlock
from toolfs.error import ArgumentError
from toolfs.format import reply as replies
from toolfs.format import schema as schemas
from toolfs.format.definition import Definition
from toolfs.format.schema import Property, Scalar, Schema
from toolfs.reply import ModelReply

Type = Literal["STRING", "INTEGER", "NUMBER", "BOOLEAN"]
"""The type of an argument."""

_TYPES: dict[Scalar, Type] = {"string": "STRING", "integer": "INTEGER", "number": "NUMBER", "boolean": "BOOLEAN"}


class _ParameterAlways(TypedDict):
    type: Type
    description: str


class GeminiParameter(_ParameterAlways, total=False):
    """One argument."""

    nullable: Literal[True]
    minimum: int | float


class GeminiParameters(TypedDict):
    """A function's arguments."""

    type: Literal["OBJECT"]
    properties: dict[str, GeminiParameter]
    required: list[str]


class GeminiFunctionDeclaration(TypedDict):
    """A function."""

    name: str
    description: str
    parameters: GeminiParameters


class GeminiTool(TypedDict):
    """A tool of `GenerateContentConfig`: it declares all functions."""

    functionDeclarations: list[GeminiFunctionDeclaration]


class GeminiBlob(TypedDict):
    """A picture's bytes."""

    mime_type: str
    data: bytes


class GeminiResponsePart(TypedDict):
    """A picture that goes with a response."""

    inline_data: GeminiBlob


class _FunctionResponseAlways(TypedDict):
    name: str
    response: dict[str, str]


class GeminiFunctionResponse(_FunctionResponseAlways, total=False):
    """The result of a call. `response` has the text as `output`, or as `error` where the tool failed."""

    id: str
    parts: list[GeminiResponsePart]


class GeminiToolResult(TypedDict):
    """A part of the user's next content, which holds the results of all calls of one answer."""

    function_response: GeminiFunctionResponse


def definitions(tools: Iterable[Definition], strict: bool) -> list[GeminiTool]:
    """A list of one tool that declares all functions."""
    declarations = [
        GeminiFunctionDeclaration(
            name=tool.name, description=tool.description, parameters=_parameters(tool.schema(strict))
        )
        for tool in tools
    ]
    return [GeminiTool(functionDeclarations=declarations)]


def result(reply: ModelReply, id: str | None, name: str | None) -> GeminiToolResult:
    """The result of a call of the function `name`. Raises `ArgumentError` where there is no name."""
    if not name:
        raise ArgumentError("name", "is needed, that of the function which was called")
    pictures = replies.images(reply)
    # A picture has a place of its own here, so nothing stands for it in the text.
    text = "\n".join(block.text for block in replies.blocks(reply) if isinstance(block, TextBlock))
    response = GeminiFunctionResponse(name=name, response={"error" if reply.is_error else "output": text})
    found = id or reply.tool_call_id
    if found:
        response["id"] = found
    if pictures:
        response["parts"] = [
            GeminiResponsePart(inline_data=GeminiBlob(mime_type=picture.mime_type, data=picture.data))
            for picture in pictures
        ]
    return GeminiToolResult(function_response=response)


def _parameters(schema: Schema) -> GeminiParameters:
    properties = {name: _parameter(property) for name, property in schema["properties"].items()}
    return GeminiParameters(type="OBJECT", properties=properties, required=schema["required"])


def _parameter(property: Property) -> GeminiParameter:
    parameter = GeminiParameter(type=_TYPES[schemas.scalar(property)], description=property["description"])
    if schemas.is_nullable(property):
        parameter["nullable"] = True
    if "minimum" in property:
        parameter["minimum"] = property["minimum"]
    return parameter
