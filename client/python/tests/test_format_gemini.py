"""The SDK of Gemini takes the forms as they are, and sends what the API wants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from format_sdk import REPLIES, Recorder, tools_of_a_server

from toolfs.content import ImageBlock, TextBlock
from toolfs.format import tool_definitions, tool_result
from toolfs.reply import ModelReply
from toolfs.v1 import tool_pb2

genai = pytest.importorskip(
    "google.genai", reason="the SDK is not there (Python 3.11 or later): pip install -r requirements-sdks.txt"
)
httpx2 = pytest.importorskip("httpx2")

ANSWER = {"candidates": [{"content": {"role": "model", "parts": [{"text": "done"}]}, "finishReason": "STOP"}]}


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> list[tool_pb2.ToolDefinition]:
    return tools_of_a_server(Path(tmp_path_factory.mktemp("gemini")))


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
def test_a_tool_that_the_sdk_does_not_take(tools: list[tool_pb2.ToolDefinition], strict: bool) -> None:
    (made,) = tool_definitions(tools, "gemini", strict)

    tool = genai.types.Tool.model_validate(made)
    assert tool.model_dump(mode="json", by_alias=True, exclude_none=True) == made
    for declaration in made["functionDeclarations"]:
        one = genai.types.FunctionDeclaration.model_validate(declaration)
        assert one.model_dump(mode="json", by_alias=True, exclude_none=True) == declaration


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_result_that_the_sdk_does_not_take(reply: ModelReply) -> None:
    made = tool_result(reply, "gemini", name="read")

    part = genai.types.Part.model_validate(made)
    assert part.model_dump(exclude_none=True) == made
    assert part == own_part(reply)


@pytest.mark.parametrize("strict", [False, True], ids=["loose", "strict"])
@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES.keys())
def test_a_request_that_leaves_the_sdk_changed(
    tools: list[tool_pb2.ToolDefinition], reply: ModelReply, strict: bool
) -> None:
    definitions = tool_definitions(tools, "gemini", strict)

    sent = request(tool_result(reply, "gemini", name="read"), definitions)

    assert sent["tools"] == definitions
    # The SDK spells a picture in a way of its own: what it sends for its own part is the measure.
    assert sent["contents"] == request(own_part(reply), definitions)["contents"]
    (part,) = sent["contents"][2]["parts"]
    assert part["functionResponse"]["id"] == "call_1"
    assert list(part["functionResponse"]["response"]) == ["error" if reply.is_error else "output"]


def own_part(reply: ModelReply) -> Any:
    """What a caller would build with the SDK alone."""
    texts = [block.text for block in reply.content if isinstance(block, TextBlock)]
    pictures = [
        genai.types.FunctionResponsePart.from_bytes(data=block.data, mime_type=block.mime_type)
        for block in reply.content
        if isinstance(block, ImageBlock)
    ]
    response = {"error" if reply.is_error else "output": "\n".join(texts)}
    part = genai.types.Part.from_function_response(name="read", response=response, parts=pictures or None)
    part.function_response.id = "call_1"
    return part


def request(result: Any, definitions: Any) -> Any:
    """The body that leaves the SDK."""
    recorder = Recorder(ANSWER)
    options = {"httpx_client": httpx2.Client(transport=httpx2.MockTransport(recorder))}
    call = {"function_call": {"id": "call_1", "name": "read", "args": {"file_path": "a"}}}
    genai.Client(api_key="none", http_options=options).models.generate_content(
        model="m",
        contents=[
            {"role": "user", "parts": [{"text": "read it"}]},
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [result]},
        ],
        config={"tools": definitions},
    )
    (sent,) = recorder.sent
    return sent
