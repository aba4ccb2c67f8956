"""A step must fail where its answer is not what it expects: an error that nobody asked for, or a success."""

from __future__ import annotations

from typing import Any

import pytest

from . import match
from .door import Answer
from .judge import judge

READ = {"read": {"total_lines": "2"}}
NOT_FOUND = {"code": "FS_NOT_FOUND"}
DONE = Answer(content="1: a", response={**READ, "dry_run": False, "tool_call_id": "t"})
REFUSED = Answer(error=NOT_FOUND)
REJECTED = Answer(status={"code": "NOT_FOUND", "reason": "SESSION_NOT_FOUND", "error": NOT_FOUND})
OPENED = Answer(session={"cwd": "/workspace"})


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        ({}, DONE),
        ({}, Answer()),
        ({"content": "1: a"}, DONE),
        ({"content": {"concat": ["1: ", {"repeat": "a", "count": 1}]}}, DONE),
        ({"content": {"contains": ["a"]}}, DONE),
        ({"outcome": {"read": {"total_lines": 2}}}, DONE),
        ({"dry_run": False, "tool_call_id": "t"}, DONE),
        ({"error": NOT_FOUND}, REFUSED),
        ({"status": {"code": "NOT_FOUND", "reason": "SESSION_NOT_FOUND", "error": NOT_FOUND}}, REJECTED),
        ({"session": {"cwd": "/workspace"}}, OPENED),
        ({"error": NOT_FOUND, "outcome": READ}, Answer(response=READ, error=NOT_FOUND)),
    ],
)
def test_an_answer_as_expected_is_refused(expected: dict[str, Any], answer: Answer) -> None:
    assert judge(expected, answer, match.Bindings()) == []


@pytest.mark.parametrize(
    ("expected", "answer"),
    [
        pytest.param({}, REFUSED, id="an error that is not expected"),
        pytest.param({"outcome": {"read": {}}}, REFUSED, id="an error in place of an outcome"),
        pytest.param({}, REJECTED, id="a status that is not expected"),
        pytest.param({"error": NOT_FOUND}, DONE, id="a success in place of an error"),
        pytest.param({"error": NOT_FOUND}, REJECTED, id="a status in place of an error"),
        pytest.param({"status": {"code": "NOT_FOUND"}}, DONE, id="a success in place of a status"),
        pytest.param({"status": {"code": "NOT_FOUND"}}, REFUSED, id="an error in place of a status"),
        pytest.param({"error": {"code": "FS_NO_SPACE"}}, REFUSED, id="another error"),
        pytest.param({"status": {"code": "ABORTED"}}, REJECTED, id="another status"),
        pytest.param({"error": NOT_FOUND}, Answer(response=READ, error=NOT_FOUND), id="an outcome beside an error"),
        pytest.param({"outcome": {"edit": {}}}, DONE, id="the outcome of another tool"),
        pytest.param({"outcome": {"read": {}}}, Answer(content="1: a"), id="no outcome"),
        pytest.param({"content": "1: b"}, DONE, id="other content"),
        pytest.param({"content": "1: a", "error": NOT_FOUND}, REFUSED, id="content that a typed error does not have"),
        pytest.param({"dry_run": True}, DONE, id="another echo"),
        pytest.param({"tool_call_id": "u"}, DONE, id="another call"),
        pytest.param({"tool_call_id": "t"}, Answer(), id="no echo"),
        pytest.param({"session": {"cwd": "/"}}, OPENED, id="another session"),
        pytest.param({"session": {"cwd": "/"}}, DONE, id="no session"),
    ],
)
def test_another_answer_passes(expected: dict[str, Any], answer: Answer) -> None:
    assert judge(expected, answer, match.Bindings())
