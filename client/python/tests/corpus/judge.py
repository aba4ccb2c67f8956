"""Whether the answer to one step is what the step expects."""

from __future__ import annotations

from typing import Any

from . import match, text
from .door import Answer

TOOLS = ("read", "write", "edit")
"""The tools: each has a typed call and an outcome."""


def judge(expected: dict[str, Any], answer: Answer, bindings: match.Bindings) -> list[str]:
    """Every way in which an answer is not what the `expect` of its step says; empty when it is.

    A step that expects neither an error nor a status must have neither.
    """
    outcome = {tool: answer.response[tool] for tool in TOOLS if tool in answer.response}
    problems: list[str] = []
    if "status" not in expected and answer.status is not None:
        return [f"the call must be taken, but its status is {answer.status}"]
    if "error" not in expected and answer.error is not None:
        return [f"the call must succeed, but it failed: {answer.error}"]
    if "error" in expected and "outcome" not in expected and outcome:
        problems.append(f"outcome: there must be none beside an error, but it is {outcome}")
    if "content" in expected:
        content = expected["content"]
        whole = content if isinstance(content, dict) and "contains" in content else text.build(content)
        problems += match.content_mismatches(whole, answer.content)
    actual: dict[str, Any] = {
        "outcome": outcome or None,
        "error": answer.error,
        "status": answer.status,
        "session": answer.session,
        "tool_call_id": answer.response.get("tool_call_id"),
        "dry_run": answer.response.get("dry_run"),
    }
    for member, value in actual.items():
        if member in expected:
            problems += match.mismatches(expected[member], value, bindings, member)
    return problems
