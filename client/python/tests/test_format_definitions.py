"""The forms of the tools: equal to what the binary prints, byte for byte."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import get_args

import pytest
from format_server import definitions, printed, server

from toolfs.format import DefinitionError, Format, ResultFormat, prompt, tool_definitions
from toolfs.v1 import tool_pb2

FORMATS = ("json", *get_args(ResultFormat))


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server(tmp_path_factory.mktemp("definitions")) as address:
        yield address


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
@pytest.mark.parametrize("format", FORMATS)
def test_a_form_that_differs_from_what_the_binary_prints(address: str, format: Format, strict: bool) -> None:
    made = tool_definitions(definitions(address), format, strict)

    # As text: the order of the arguments is the order in which a model fills them in.
    assert json.dumps(made, indent=2, ensure_ascii=False) + "\n" == printed(address, format, strict)


def test_a_prompt_that_lacks_a_section_or_runs_two_together(address: str) -> None:
    tools = definitions(address)

    text = prompt(tools)

    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## read", "## write", "## edit"]
    assert text.split("\n\n## ")[0] + "\n" == tools[0].prompt_section
    assert text.endswith(tools[2].prompt_section)


def test_a_prompt_of_no_tools() -> None:
    assert prompt([]) == ""


FLAT = '{"type":"object","properties":{},"required":[],"additionalProperties":false}'


def flat(property: str) -> str:
    return f'{{"type":"object","properties":{{"a":{property}}},"required":["a"],"additionalProperties":false}}'


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ("{", "no JSON"),
        ("[]", "no object"),
        ('{"type":"array","properties":{},"required":[],"additionalProperties":false}', "`array`"),
        ('{"type":"object","properties":{},"required":[]}', "`additionalProperties`"),
        ('{"type":"object","properties":[],"required":[],"additionalProperties":false}', "`properties`"),
        ('{"type":"object","properties":{},"required":[1],"additionalProperties":false}', "`required`"),
        ('{"type":"object","properties":{},"required":[],"additionalProperties":{}}', "`additionalProperties`"),
        (FLAT[:-1] + ',"anyOf":[]}', "`anyOf`"),
        (flat('{"type":"string","description":"","pattern":"x"}'), "`pattern`"),
        (flat('{"$ref":"#/b"}'), "`$ref`"),
        (flat('{"type":"string"}'), "`description`"),
        (flat('{"type":"string","description":1}'), "description of `a`"),
        (flat('{"type":"object","description":""}'), '"object"'),
        (flat('{"type":["string","integer"],"description":""}'), '["string", "integer"]'),
        (flat('{"type":["string","integer","null"],"description":""}'), '"null"'),
        (flat('"text"'), "`a` is no object"),
    ],
)
@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
def test_a_schema_that_would_lose_something_in_another_form(schema: str, told: str, strict: bool) -> None:
    loose, closed = (FLAT, schema) if strict else (schema, FLAT)
    tool = tool_pb2.ToolDefinition(name="newer", input_schema_json=loose, strict_input_schema_json=closed)

    with pytest.raises(DefinitionError) as raised:
        tool_definitions([tool], "gemini")

    assert "`newer`" in str(raised.value)
    assert told in str(raised.value)
    assert raised.value.tool == "newer"


def test_hints_that_a_server_does_not_tell_are_read_as_the_most_careful_ones() -> None:
    tool = tool_pb2.ToolDefinition(name="newer", input_schema_json=FLAT, strict_input_schema_json=FLAT)

    (made,) = tool_definitions([tool], "json")

    assert made["hints"] == {
        "read_only": False,
        "destructive": True,
        "idempotent": False,
        "concurrency_safe": False,
    }


def test_a_format_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match=r"`json`.*`mcp`, not `openai-responses`"):
        tool_definitions([], "openai-responses")  # type: ignore[call-overload]
