"""OpenAI's agents SDK takes the strict schemas without a change of its own."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
from format_sdk import tools_of_a_server

from toolfs.format import tool_definitions
from toolfs.v1 import tool_pb2

agents = pytest.importorskip("agents", reason="the SDK is not there: pip install -r requirements-sdks.txt")
strict_schema = pytest.importorskip("agents.strict_schema")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> list[tool_pb2.ToolDefinition]:
    return tools_of_a_server(Path(tmp_path_factory.mktemp("agents")))


def test_a_strict_schema_that_the_sdk_would_change(tools: list[tool_pb2.ToolDefinition]) -> None:
    for tool in tool_definitions(tools, "openai", strict=True):
        given = copy.deepcopy(tool["parameters"])

        assert strict_schema.ensure_strict_json_schema(given) == tool["parameters"]
        assert given == tool["parameters"]


def test_a_loose_schema_is_not_taken_for_a_strict_one(tools: list[tool_pb2.ToolDefinition]) -> None:
    # What makes the test above able to fail: the check does change a schema that is not strict.
    (read, *_) = tool_definitions(tools, "openai", strict=False)
    given = copy.deepcopy(read["parameters"])

    assert strict_schema.ensure_strict_json_schema(given) != read["parameters"]


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
def test_a_function_tool_with_another_schema(tools: list[tool_pb2.ToolDefinition], strict: bool) -> None:
    async def invoke(_context: object, _arguments: str) -> str:
        return ""

    for tool in tool_definitions(tools, "openai", strict):
        made = agents.FunctionTool(
            name=tool["name"],
            description=tool["description"],
            params_json_schema=copy.deepcopy(tool["parameters"]),
            on_invoke_tool=invoke,
            strict_json_schema=strict,
        )

        assert made.params_json_schema == tool["parameters"]
        assert made.strict_json_schema == strict
