"""The SDK of Anthropic takes the forms as they are, and sends them as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from format_sdk import REPLIES, Recorder, tools_of_a_server

from toolfs.format import tool_definitions, tool_result
from toolfs.reply import ModelReply
from toolfs.v1 import tool_pb2

anthropic = pytest.importorskip("anthropic", reason="the SDK is not there: pip install -r requirements-sdks.txt")
httpx2 = pytest.importorskip("httpx2")
pydantic = pytest.importorskip("pydantic")

ANSWER: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> list[tool_pb2.ToolDefinition]:
    return tools_of_a_server(Path(tmp_path_factory.mktemp("anthropic")))


def validated(type: Any, value: object) -> object:
    """What the SDK's own type makes of a value: it drops what it does not know, and refuses what it does not take."""
    adapter = pydantic.TypeAdapter(type)
    return adapter.dump_python(adapter.validate_python(value), mode="json")


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
def test_a_tool_that_the_sdk_does_not_take(tools: list[tool_pb2.ToolDefinition], strict: bool) -> None:
    made = tool_definitions(tools, "anthropic", strict)

    assert [validated(anthropic.types.ToolParam, tool) for tool in made] == made


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_result_that_the_sdk_does_not_take(reply: ModelReply) -> None:
    made = tool_result(reply, "anthropic")

    assert validated(anthropic.types.ToolResultBlockParam, made) == made
    message = {"role": "user", "content": [made, made]}
    assert validated(anthropic.types.MessageParam, message) == message


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_request_that_leaves_the_sdk_changed(
    tools: list[tool_pb2.ToolDefinition], reply: ModelReply, strict: bool
) -> None:
    recorder = Recorder(ANSWER)
    transport = httpx2.Client(transport=httpx2.MockTransport(recorder))
    client = anthropic.Anthropic(api_key="none", http_client=transport)
    definitions = tool_definitions(tools, "anthropic", strict)
    call = {"type": "tool_use", "id": "call_1", "name": "read", "input": {"file_path": "a"}}
    messages = [
        {"role": "user", "content": "read it"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [tool_result(reply, "anthropic")]},
    ]

    client.messages.create(model="m", max_tokens=1, tools=definitions, messages=messages)

    (sent,) = recorder.sent
    assert sent["tools"] == definitions
    assert sent["messages"] == messages
