"""Calls as values: the messages that are sent, and what is refused before it is sent.

Text must be well-formed Unicode: a Python string can hold half a surrogate pair, a file and the wire cannot. Nothing is
looked through for that before a call; the message refuses such a text while it is built, and only then is it searched.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal
from uuid import UUID, uuid4

from toolfs.error import ArgumentError
from toolfs.v1 import tool_pb2

View = Literal["basic", "full"]
"""How much an outcome holds: `full` adds the lines of a read and the diff of a mutation."""

Arguments = Mapping[str, Any] | str
"""The arguments of a call as a model made it: an object, or the text of one, which is sent byte for byte."""

_VIEWS = {"basic": tool_pb2.RESULT_VIEW_BASIC, "full": tool_pb2.RESULT_VIEW_FULL}


def execute_request(
    session_id: str,
    *,
    request_id: str | UUID | None,
    tool_call_id: str,
    dry_run: bool,
    view: View,
) -> tool_pb2.ExecuteRequest:
    """A request that lacks its call. Without a `request_id` it gets a fresh one."""
    try:
        no_bytes(session_id, tool_call_id)
        return tool_pb2.ExecuteRequest(
            session_id=session_id,
            request_id=str(uuid4() if request_id is None else request_id),
            tool_call_id=tool_call_id,
            dry_run=dry_run,
            view=_VIEWS[view],
        )
    except KeyError:
        raise ArgumentError("view", f"must be `basic` or `full`, not `{view}`") from None
    except (TypeError, ValueError) as error:
        texts = {"session_id": session_id, "request_id": str(request_id), "tool_call_id": tool_call_id}
        raise refusal(texts, error, flags={"dry_run": dry_run}) from None


def add_read(request: tool_pb2.ExecuteRequest, file_path: str, offset: int | None, limit: int | None) -> None:
    """Makes it a `read`."""
    try:
        no_bytes(file_path)
        request.read.file_path = file_path
        if offset is not None:
            request.read.offset = offset
        if limit is not None:
            request.read.limit = limit
    except (TypeError, ValueError) as error:
        raise refusal({"file_path": file_path}, error, numbers={"offset": offset, "limit": limit}) from None


def add_write(request: tool_pb2.ExecuteRequest, file_path: str, content: str) -> None:
    """Makes it a `write`."""
    try:
        no_bytes(file_path, content)
        request.write.file_path = file_path
        request.write.content = content
    except (TypeError, ValueError) as error:
        raise refusal({"file_path": file_path, "content": content}, error) from None


def add_edit(
    request: tool_pb2.ExecuteRequest, file_path: str, old_string: str, new_string: str, replace_all: bool
) -> None:
    """Makes it an `edit`."""
    try:
        no_bytes(file_path, old_string, new_string)
        request.edit.file_path = file_path
        request.edit.old_string = old_string
        request.edit.new_string = new_string
        request.edit.replace_all = replace_all
    except (TypeError, ValueError) as error:
        texts = {"file_path": file_path, "old_string": old_string, "new_string": new_string}
        raise refusal(texts, error, flags={"replace_all": replace_all}) from None


def add_json(request: tool_pb2.ExecuteRequest, name: str, arguments: Arguments) -> None:
    """Makes it a call as a model made it."""
    text = arguments if isinstance(arguments, str) else to_json(arguments)
    try:
        no_bytes(name)
        request.json.name = name
        request.json.arguments_json = text
    except (TypeError, ValueError) as error:
        raise refusal({"name": name, "arguments": text}, error) from None


def to_json(arguments: Mapping[str, Any]) -> str:
    """The arguments as the text of a JSON object. Raises `ArgumentError` for what JSON cannot hold."""
    if not isinstance(arguments, Mapping):
        raise ArgumentError("arguments", f"must be a mapping, or JSON text, not `{type(arguments).__name__}`")
    try:
        # Nothing is escaped that need not be: half a surrogate pair must not slip through as an escape.
        return json.dumps(dict(arguments), ensure_ascii=False, allow_nan=False)
    except RecursionError:
        raise ArgumentError("arguments", "cannot be written as a JSON object: it nests too deeply") from None
    except (TypeError, ValueError) as error:
        raise ArgumentError("arguments", f"cannot be written as a JSON object: {error}") from None


def no_bytes(*texts: object) -> None:
    """Raises `TypeError` where one is bytes: a message takes them for text, and who has bytes may mean others."""
    for text in texts:
        if isinstance(text, bytes):
            raise TypeError("bytes are no text")


def refusal(
    texts: Mapping[str, Any],
    error: Exception,
    *,
    numbers: Mapping[str, Any] | None = None,
    flags: Mapping[str, Any] | None = None,
) -> ArgumentError:
    """Says which argument a message of the contract did not take, and why."""
    numbers, flags = numbers or {}, flags or {}
    for field, text in texts.items():
        if isinstance(text, str):
            try:
                text.encode()
            except UnicodeEncodeError as fault:
                what = f"U+{ord(text[fault.start]):04X} at character {fault.start}"
                return ArgumentError(field, f"is not well-formed Unicode: {what} is half of a surrogate pair")
        else:
            return ArgumentError(field, f"must be a string, not `{type(text).__name__}`")
    for field, value in flags.items():
        if not isinstance(value, int):
            return ArgumentError(field, f"must be `True` or `False`, not `{type(value).__name__}`")
    for field, value in numbers.items():
        if value is not None and not isinstance(value, int):
            return ArgumentError(field, f"must be an integer, not `{type(value).__name__}`")
        if value is not None and not -(2**63) <= value < 2**63:
            return ArgumentError(field, "must fit 64 bits")
    names = ", ".join([*texts, *numbers, *flags])
    return ArgumentError(names, f"cannot be sent: {error}")
