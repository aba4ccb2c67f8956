"""The forms of results, as data: what each interface gets of each kind of reply."""

from __future__ import annotations

import pytest

from toolfs.format import ResultFormat, tool_result
from toolfs.reply import ModelReply, decode_reply
from toolfs.v1 import error_pb2, tool_pb2

PNG = tool_pb2.ContentBlock(image=tool_pb2.ImageBlock(mime_type="image/png", data=b"\x89PNG\xff"))
TIFF = tool_pb2.ContentBlock(image=tool_pb2.ImageBlock(mime_type="image/tiff", data=b"II*\0"))
# As an older package sees a kind that came later: no arm of the block is set.
NEWER = tool_pb2.ContentBlock()
BASE64 = "iVBOR/8="
NOT_SHOWN = "(a picture that cannot be shown here: image/png, 5 bytes)"
TIFF_NOT_SHOWN = "(a picture that cannot be shown here: image/tiff, 4 bytes)"


def reply(*content: str | tool_pb2.ContentBlock, is_error: bool = False) -> ModelReply:
    blocks = [tool_pb2.ContentBlock(text=block) if isinstance(block, str) else block for block in content]
    response = tool_pb2.ExecuteResponse(tool_call_id="call_1", content=blocks, is_error=is_error)
    if is_error:
        response.error.CopyFrom(error_pb2.FsError(reason="FS_NEWER", message="something new"))
    return decode_reply(response)


SUCCESS = reply("1: a\n\n(lines 1-1 of 1)")
REFUSED = reply("FS_NOT_FOUND: no such file", is_error=True)
ANONYMOUS = decode_reply(tool_pb2.ExecuteResponse(content=[tool_pb2.ContentBlock(text="a")]))
PICTURED = reply("a picture:", PNG, NEWER, "and its end")
PICTURED_ERROR = reply("FS_NEWER: look", PNG, is_error=True)


def anthropic(*content: object, is_error: bool = False) -> object:
    return {"type": "tool_result", "tool_use_id": "call_1", "content": list(content), "is_error": is_error}


def text(text: str) -> object:
    return {"type": "text", "text": text}


def openai(output: object) -> object:
    return {"type": "function_call_output", "call_id": "call_1", "output": output}


def chat(content: str) -> object:
    return {"role": "tool", "tool_call_id": "call_1", "content": content}


def gemini(response: dict[str, str], **more: object) -> object:
    return {"function_response": {"name": "read", "response": response, "id": "call_1", **more}}


def mcp(*content: object, is_error: bool = False) -> object:
    return {"content": list(content), "isError": is_error}


CASES: list[tuple[str, ResultFormat, ModelReply, object]] = [
    ("a success", "anthropic", SUCCESS, anthropic(text("1: a\n\n(lines 1-1 of 1)"))),
    ("a success", "openai", SUCCESS, openai("1: a\n\n(lines 1-1 of 1)")),
    ("a success", "openai-chat", SUCCESS, chat("1: a\n\n(lines 1-1 of 1)")),
    ("a success", "gemini", SUCCESS, gemini({"output": "1: a\n\n(lines 1-1 of 1)"})),
    ("a success", "mcp", SUCCESS, mcp(text("1: a\n\n(lines 1-1 of 1)"))),
    ("a failure", "anthropic", REFUSED, anthropic(text("FS_NOT_FOUND: no such file"), is_error=True)),
    ("a failure", "openai", REFUSED, openai("FS_NOT_FOUND: no such file")),
    ("a failure", "openai-chat", REFUSED, chat("FS_NOT_FOUND: no such file")),
    ("a failure", "gemini", REFUSED, gemini({"error": "FS_NOT_FOUND: no such file"})),
    ("a failure", "mcp", REFUSED, mcp(text("FS_NOT_FOUND: no such file"), is_error=True)),
    (
        "a picture among texts",
        "anthropic",
        PICTURED,
        anthropic(
            text("a picture:"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": BASE64}},
            text("and its end"),
        ),
    ),
    (
        "a picture among texts",
        "openai",
        PICTURED,
        openai(
            [
                {"type": "input_text", "text": "a picture:"},
                {"type": "input_image", "image_url": f"data:image/png;base64,{BASE64}", "detail": "auto"},
                {"type": "input_text", "text": "and its end"},
            ]
        ),
    ),
    ("a picture among texts", "openai-chat", PICTURED, chat(f"a picture:\n{NOT_SHOWN}\nand its end")),
    (
        "a picture among texts",
        "gemini",
        PICTURED,
        gemini(
            {"output": "a picture:\nand its end"},
            parts=[{"inline_data": {"mime_type": "image/png", "data": b"\x89PNG\xff"}}],
        ),
    ),
    (
        "a picture among texts",
        "mcp",
        PICTURED,
        mcp(text("a picture:"), {"type": "image", "data": BASE64, "mimeType": "image/png"}, text("and its end")),
    ),
    # The Messages API refuses a result that is an error and has more than text.
    (
        "a picture with a failure",
        "anthropic",
        PICTURED_ERROR,
        anthropic(text("FS_NEWER: look"), text(NOT_SHOWN), is_error=True),
    ),
    (
        "a picture with a failure",
        "gemini",
        PICTURED_ERROR,
        gemini(
            {"error": "FS_NEWER: look"}, parts=[{"inline_data": {"mime_type": "image/png", "data": b"\x89PNG\xff"}}]
        ),
    ),
    ("a type of picture that the interface does not take", "anthropic", reply(TIFF), anthropic(text(TIFF_NOT_SHOWN))),
    ("nothing but a kind that came later", "anthropic", reply(NEWER), anthropic()),
    ("nothing but a kind that came later", "openai", reply(NEWER), openai("")),
    ("nothing but a kind that came later", "openai-chat", reply(NEWER), chat("")),
    ("nothing but a kind that came later", "gemini", reply(NEWER), gemini({"output": ""})),
    ("nothing but a kind that came later", "mcp", reply(NEWER), mcp()),
    # The Messages API refuses a blank text, and an error without a text.
    ("a blank text", "anthropic", reply("", " \n"), anthropic()),
    (
        "a failure that says nothing",
        "anthropic",
        reply(NEWER, is_error=True),
        anthropic(text("FS_NEWER: something new"), is_error=True),
    ),
    ("a failure that says nothing", "openai", reply("", is_error=True), openai("FS_NEWER: something new")),
    ("several texts", "openai-chat", reply("a", "b"), chat("a\nb")),
]


@pytest.mark.parametrize(
    ("format", "reply", "expected"),
    [case[1:] for case in CASES],
    ids=[f"{title} in {format}" for title, format, _, _ in CASES],
)
def test_a_result_that_differs(format: ResultFormat, reply: ModelReply, expected: object) -> None:
    assert tool_result(reply, format, name="read") == expected


@pytest.mark.parametrize("format", ["anthropic", "openai", "openai-chat", "gemini"])
def test_an_id_that_is_given_is_not_used(format: ResultFormat) -> None:
    assert "'call_2'" in str(tool_result(SUCCESS, format, id="call_2", name="read"))
    assert "call_1" not in str(tool_result(SUCCESS, format, id="call_2", name="read"))


@pytest.mark.parametrize("format", ["anthropic", "openai", "openai-chat"])
def test_a_result_that_answers_no_call(format: ResultFormat) -> None:
    with pytest.raises(ValueError, match=r"`id`.*`tool_call_id`"):
        tool_result(ANONYMOUS, format)


def test_gemini_takes_a_result_without_an_id() -> None:
    assert tool_result(ANONYMOUS, "gemini", name="read") == {
        "function_response": {"name": "read", "response": {"output": "a"}}
    }


def test_gemini_is_not_told_which_function_answers() -> None:
    with pytest.raises(ValueError, match=r"`name`"):
        tool_result(SUCCESS, "gemini")


def test_a_form_of_results_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match=r"`anthropic`.*`mcp`, not `json`"):
        tool_result(SUCCESS, "json")  # type: ignore[call-overload]


def test_a_reply_that_does_not_know_its_forms() -> None:
    assert SUCCESS.as_result("gemini", id="call_2", name="read") == tool_result(
        SUCCESS, "gemini", id="call_2", name="read"
    )
