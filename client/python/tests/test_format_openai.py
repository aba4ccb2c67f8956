"""The SDK of OpenAI takes the forms as they are, in both of its interfaces, and sends them as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from format_sdk import REPLIES, Recorder, tools_of_a_server

from toolfs.format import tool_definitions, tool_result
from toolfs.reply import ModelReply
from toolfs.v1 import tool_pb2

openai = pytest.importorskip("openai", reason="the SDK is not there: pip install -r requirements-sdks.txt")
httpx2 = pytest.importorskip("httpx2")
pydantic = pytest.importorskip("pydantic")

CHAT_ANSWER = {
    "id": "chatcmpl_1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}],
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "model": "m",
    "status": "completed",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> list[tool_pb2.ToolDefinition]:
    return tools_of_a_server(Path(tmp_path_factory.mktemp("openai")))


def validated(type: Any, value: object) -> object:
    """What the SDK's own type makes of a value: it drops what it does not know, and refuses what it does not take."""
    adapter = pydantic.TypeAdapter(type)
    return adapter.dump_python(adapter.validate_python(value), mode="json")


def client(recorder: Recorder) -> Any:
    return openai.OpenAI(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(recorder)))


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
def test_a_tool_that_the_sdk_does_not_take(tools: list[tool_pb2.ToolDefinition], strict: bool) -> None:
    chat = tool_definitions(tools, "openai-chat", strict)
    responses = tool_definitions(tools, "openai", strict)

    assert [validated(openai.types.chat.ChatCompletionToolUnionParam, tool) for tool in chat] == chat
    assert [validated(openai.types.responses.FunctionToolParam, tool) for tool in responses] == responses


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_result_that_the_sdk_does_not_take(reply: ModelReply) -> None:
    chat = tool_result(reply, "openai-chat")
    output = tool_result(reply, "openai")

    assert validated(openai.types.chat.ChatCompletionToolMessageParam, chat) == chat
    assert validated(openai.types.responses.response_input_item_param.FunctionCallOutput, output) == output


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_chat_request_that_leaves_the_sdk_changed(
    tools: list[tool_pb2.ToolDefinition], reply: ModelReply, strict: bool
) -> None:
    recorder = Recorder(CHAT_ANSWER)
    definitions = tool_definitions(tools, "openai-chat", strict)
    function = {"name": "read", "arguments": '{"file_path":"a"}'}
    messages = [
        {"role": "user", "content": "read it"},
        {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function", "function": function}]},
        tool_result(reply, "openai-chat"),
    ]

    client(recorder).chat.completions.create(model="m", tools=definitions, messages=messages)

    (sent,) = recorder.sent
    assert sent["tools"] == definitions
    assert sent["messages"] == messages


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_responses_request_that_leaves_the_sdk_changed(
    tools: list[tool_pb2.ToolDefinition], reply: ModelReply, strict: bool
) -> None:
    recorder = Recorder(RESPONSE)
    definitions = tool_definitions(tools, "openai", strict)
    items = [
        {"role": "user", "content": "read it"},
        {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": '{"file_path":"a"}'},
        tool_result(reply, "openai"),
    ]

    client(recorder).responses.create(model="m", tools=definitions, input=items)

    (sent,) = recorder.sent
    assert sent["tools"] == definitions
    assert sent["input"] == items
