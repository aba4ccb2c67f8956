"""A model whose answers are written down, so that the examples run without a network and without a key.

An example talks to the real SDK; only the transport beneath it is replaced by one of these.
Nothing here is needed by an agent of your own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TASK = "Replace `beta` by `gamma` in notes.txt, then tick it off in todo.txt."
FILES = {"notes.txt": "alpha\nbeta\n", "todo.txt": "[ ] beta to gamma\n"}
EDIT_NOTES = {"file_path": "notes.txt", "old_string": "beta", "new_string": "gamma"}
EDIT_TODO = {"file_path": "todo.txt", "old_string": "[ ]", "new_string": "[x]"}


@dataclass(frozen=True)
class Turn:
    """One answer of the model: calls that may run in one go, or a text that ends the task."""

    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    text: str = ""
    after: tuple[tuple[bool, str], ...] = ()
    """The results that the model must have been given before: whether each is marked as an error, and what it says."""


TURNS = (
    Turn(calls=(("edit", EDIT_NOTES), ("read", {"file_path": "todo.txt"}))),
    Turn(
        # The edit is refused, since the model has not seen the file; the read beside it is not.
        after=((True, "FS_NOT_OBSERVED"), (False, "1: [ ] beta to gamma")),
        calls=(("read", {"file_path": "notes.txt"}),),
    ),
    Turn(after=((False, "2: beta"),), calls=(("edit", EDIT_NOTES), ("edit", EDIT_TODO))),
    Turn(after=((False, "1 replacement"), (False, "1 replacement")), text="Done: both files are changed."),
)


@dataclass(frozen=True)
class Result:
    """The result of a call, as a request gives it back to the model."""

    id: str | None
    """The identifier of the call. `None` where the interface has none."""
    is_error: bool | None
    """Whether it is marked as an error. `None` where the interface has no mark."""
    text: str


class Script:
    """Plays the turns, one for each request, and insists on the results of the calls of the turn before."""

    def __init__(self, turns: tuple[Turn, ...] = TURNS) -> None:
        self.turns = turns
        self.played = 0
        self.ids: list[str] = []

    def next(self, results: list[Result]) -> tuple[Turn, list[str]]:
        """The next turn, with an identifier for each of its calls."""
        turn = self.turns[self.played]
        if len(results) != len(turn.after):
            raise AssertionError(f"turn {self.played}: {len(results)} results for {len(turn.after)} calls")
        for result, id, (is_error, said) in zip(results, self.ids, turn.after, strict=True):
            fits = result.id in (None, id) and result.is_error in (None, is_error) and said in result.text
            if not fits:
                raise AssertionError(f"turn {self.played}: {result} is not {said!r} of {id} (an error: {is_error})")
        self.played += 1
        self.ids = [f"call_{self.played}_{position}" for position in range(len(turn.calls))]
        return turn, self.ids


Body = dict[str, Any]


def anthropic_answer(script: Script, body: Body) -> Body:
    """What a Messages API answers to a request."""
    results: list[Result] = []
    content = body["messages"][-1]["content"]
    if not isinstance(content, str):
        results = [Result(block["tool_use_id"], block["is_error"], block["content"][0]["text"]) for block in content]
    turn, ids = script.next(results)
    blocks = [
        {"type": "tool_use", "id": id, "name": name, "input": arguments}
        for id, (name, arguments) in zip(ids, turn.calls, strict=True)
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": blocks or [{"type": "text", "text": turn.text}],
        "stop_reason": "tool_use" if blocks else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def openai_chat_answer(script: Script, body: Body) -> Body:
    """What a Chat Completions API answers to a request."""
    results: list[Result] = []
    for message in reversed(body["messages"]):
        if message["role"] != "tool":
            break
        results.insert(0, Result(message["tool_call_id"], None, message["content"]))
    turn, ids = script.next(results)
    calls = [
        {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        for id, (name, arguments) in zip(ids, turn.calls, strict=True)
    ]
    message = {"role": "assistant", "content": turn.text or None, **({"tool_calls": calls} if calls else {})}
    return {
        "id": "chatcmpl_1",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
    }


def openai_responses_answer(script: Script, body: Body) -> Body:
    """What a Responses API answers to a request."""
    results: list[Result] = []
    if not isinstance(body["input"], str):
        for item in reversed(body["input"]):
            if item.get("type") != "function_call_output":
                break
            results.insert(0, Result(item["call_id"], None, item["output"]))
    turn, ids = script.next(results)
    text = {"type": "output_text", "text": turn.text, "annotations": []}
    output: list[Body] = [
        {"type": "function_call", "id": f"fc_{id}", "call_id": id, "name": name, "arguments": json.dumps(arguments)}
        for id, (name, arguments) in zip(ids, turn.calls, strict=True)
    ]
    if not output:
        output = [{"type": "message", "id": "m_1", "role": "assistant", "status": "completed", "content": [text]}]
    return {
        "id": f"resp_{script.played}",
        "object": "response",
        "created_at": 1,
        "model": body["model"],
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }


def gemini_answer(script: Script, body: Body) -> Body:
    """What a Gemini API answers to a request."""
    results: list[Result] = []
    for part in body["contents"][-1]["parts"]:
        if "functionResponse" in part:
            found = part["functionResponse"]
            ((key, text),) = found["response"].items()
            results.append(Result(found["id"], key == "error", text))
    turn, ids = script.next(results)
    answered: list[Body] = [
        {"functionCall": {"id": id, "name": name, "args": arguments}}
        for id, (name, arguments) in zip(ids, turn.calls, strict=True)
    ]
    content = {"role": "model", "parts": answered or [{"text": turn.text}]}
    return {"candidates": [{"content": content, "finishReason": "STOP"}]}


def transport(answer: Callable[[Script, Body], Body]) -> Any:
    """A transport for the HTTP client of an SDK, which answers each request with the next turn."""
    import httpx2

    script = Script()

    def handle(request: httpx2.Request) -> httpx2.Response:
        try:
            body = json.loads(request.content)
            if "## edit" not in request.content.decode() or "tools" not in body:
                raise AssertionError("the prompt or the tools are missing")
            return httpx2.Response(200, json=answer(script, body))
        except (AssertionError, IndexError, KeyError) as error:
            # A status that the SDKs do not retry.
            return httpx2.Response(400, json={"error": {"message": f"not the script: {error!r}"}})

    return httpx2.MockTransport(handle)


@dataclass(frozen=True)
class Options:
    """How an example was started."""

    live: bool
    """Whether to use the real service, with the key that its SDK finds."""
    root: Path
    """The directory that the agent works in."""


@contextmanager
def options(live: str = "use the real service instead of a scripted model") -> Iterator[Options]:
    """The options of the command line. Without a directory it is a fresh one with the files of the task."""
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", nargs="?", type=Path, help="where the agent works [default: a fresh directory]")
    parser.add_argument("--live", action="store_true", help=live)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as fresh:
        root = given.directory or Path(fresh)
        for name, content in FILES.items():
            if given.directory is None:
                (root / name).write_text(content)
        yield Options(given.live, root)
