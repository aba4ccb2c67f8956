"""What the contract says of the members that a case expects.

A misspelt member that is expected to be absent would match for ever; so would an enum's value that does not exist,
beside a wrong kind of value that only ever differs. The messages know better.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from toolfs.v1 import error_pb2, session_pb2, tool_pb2

from .case import Case

OUTCOMES: dict[str, Descriptor] = {
    "read": tool_pb2.ReadOutcome.DESCRIPTOR,
    "write": tool_pb2.WriteOutcome.DESCRIPTOR,
    "edit": tool_pb2.EditOutcome.DESCRIPTOR,
}

_INTEGERS = {
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
}


def faults(case: Case) -> list[str]:
    """The members that a case expects and the contract does not have, or has otherwise; empty when all is well."""
    return [
        f"step {number}: {fault}"
        for number, step in enumerate(case.steps, start=1)
        for one in [step, *step.get("parallel", [])]
        for fault in expectation_faults(one.get("expect", {}))
    ]


def expectation_faults(expected: dict[str, Any]) -> Iterator[str]:
    """The same for the `expect` of one step."""
    for tool, outcome in expected.get("outcome", {}).items():
        yield from _message_faults(OUTCOMES[tool], outcome, f"outcome.{tool}")
    if "error" in expected:
        yield from _message_faults(error_pb2.FsError.DESCRIPTOR, expected["error"], "error")
    if "error" in expected.get("status", {}):
        yield from _message_faults(error_pb2.FsError.DESCRIPTOR, expected["status"]["error"], "status.error")
    if "session" in expected:
        yield from _message_faults(session_pb2.Session.DESCRIPTOR, expected["session"], "session")


def _message_faults(message: Descriptor, expected: Any, where: str) -> Iterator[str]:
    if _is_free(expected):
        return
    if not isinstance(expected, dict):
        yield f"`{where}` is a message: expect an object"
        return
    for name, value in expected.items():
        field = message.fields_by_name.get(name)
        if field is None:
            yield f"`{where}.{name}`: `{message.full_name}` has no such field"
        elif _is_map(field) or _is_free(value):
            continue
        elif _is_repeated(field):
            if not isinstance(value, list):
                yield f"`{where}.{name}` is repeated: expect an array"
                continue
            for index, element in enumerate(value):
                yield from _value_faults(field, element, f"{where}.{name}[{index}]")
        else:
            yield from _value_faults(field, value, f"{where}.{name}")


def _value_faults(field: FieldDescriptor, expected: Any, where: str) -> Iterator[str]:
    if _is_free(expected):
        return
    if field.message_type is not None:
        # Times and durations are texts in the JSON form.
        if not field.message_type.full_name.startswith("google.protobuf."):
            yield from _message_faults(field.message_type, expected, where)
    elif field.enum_type is not None:
        value = field.enum_type.values_by_name.get(expected) if isinstance(expected, str) else None
        if value is None:
            yield f"`{where}`: `{field.enum_type.full_name}` has no value `{expected}`"
        elif value.number == 0 and not field.has_presence:
            yield f"`{where}`: the first value of an enum is left out of the JSON form: expect null"
    elif field.cpp_type == FieldDescriptor.CPPTYPE_BOOL:
        if not isinstance(expected, bool):
            yield f"`{where}` is a boolean, but `{expected}` is none"
    elif field.cpp_type in _INTEGERS:
        if isinstance(expected, bool) or not isinstance(expected, int):
            yield f"`{where}` is a whole number, but `{expected}` is none"
    elif not isinstance(expected, str):
        yield f"`{where}` is a text, but `{expected}` is none"
    elif expected == "" and not field.has_presence and not _is_repeated(field):
        yield f"`{where}`: an empty text is left out of the JSON form: expect null"


def _is_free(expected: Any) -> bool:
    """Whether an expected value says nothing of its kind: absent, or a special one."""
    return expected is None or (isinstance(expected, dict) and any(key.startswith("$") for key in expected))


def _is_repeated(field: FieldDescriptor) -> bool:
    # Older releases of protobuf tell it by the label only, later ones will not.
    repeated = getattr(field, "is_repeated", None)
    return bool(repeated) if repeated is not None else getattr(field, "label", None) == FieldDescriptor.LABEL_REPEATED


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry
