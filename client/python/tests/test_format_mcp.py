"""The SDK of the Model Context Protocol takes the forms as they are, and a client of it sees the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from format_sdk import REPLIES, tools_of_a_server

from toolfs.format import tool_definitions, tool_result
from toolfs.reply import ModelReply
from toolfs.v1 import tool_pb2

mcp = pytest.importorskip("mcp", reason="the SDK is not there: pip install -r requirements-sdks.txt")
types = pytest.importorskip("mcp.types")
lowlevel = pytest.importorskip("mcp.server.lowlevel")
anyio = pytest.importorskip("anyio")


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> list[tool_pb2.ToolDefinition]:
    return tools_of_a_server(Path(tmp_path_factory.mktemp("mcp")))


def plain(model: Any, *, exclude: set[str] | None = None) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True, exclude=exclude)


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
def test_a_tool_that_the_sdk_does_not_take(tools: list[tool_pb2.ToolDefinition], strict: bool) -> None:
    made = tool_definitions(tools, "mcp", strict)

    assert [plain(types.Tool.model_validate(tool)) for tool in made["tools"]] == made["tools"]
    assert plain(types.ListToolsResult.model_validate(made))["tools"] == made["tools"]


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_result_that_the_sdk_does_not_take(reply: ModelReply) -> None:
    made = tool_result(reply, "mcp")

    assert plain(types.CallToolResult.model_validate(made), exclude={"result_type"}) == made


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_an_answer_that_a_client_of_the_protocol_sees_changed(
    tools: list[tool_pb2.ToolDefinition], reply: ModelReply, strict: bool
) -> None:
    definitions = tool_definitions(tools, "mcp", strict)
    result = tool_result(reply, "mcp")

    async def list_tools(_context: Any, _params: Any) -> Any:
        return types.ListToolsResult.model_validate(definitions)

    async def call_tool(_context: Any, _params: Any) -> Any:
        return types.CallToolResult.model_validate(result)

    async def main() -> None:
        server = lowlevel.Server("files", on_list_tools=list_tools, on_call_tool=call_tool)
        async with mcp.Client(server) as client:
            assert [plain(tool) for tool in (await client.list_tools()).tools] == definitions["tools"]
            seen = await client.call_tool("read", {"file_path": "a", "offset": None, "limit": None})
            assert plain(seen, exclude={"result_type", "meta"}) == result

    anyio.run(main)
