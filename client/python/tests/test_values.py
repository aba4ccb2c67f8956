"""Answers, errors and calls as values: what survives, what is refused, and what is never shown."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import grpc
import pytest
from scripted_server import READ, Fails, fs_error

from toolfs import (
    ArgumentError,
    FsErrorCode,
    ImageBlock,
    LineEndings,
    NoticeKind,
    ProtocolError,
    Published,
    TextBlock,
    Tls,
    ToolError,
    WriteOperation,
)
from toolfs.call import add_edit, add_json, add_read, add_write, execute_request
from toolfs.detail import (
    AmbiguousEditDetail,
    EditNotFoundDetail,
    NearMiss,
    NotObservedDetail,
    StaleVersionDetail,
    TooLargeDetail,
    decode_detail,
)
from toolfs.enums import FileKind, LimitKind, NearMissReason, SearchStopReason, WireEnum
from toolfs.error import call_error
from toolfs.format import DefinitionError
from toolfs.outcome import Guard, Notice, decode_outcome
from toolfs.reply import decode_reply, read_result
from toolfs.v1 import error_pb2, tool_pb2, types_pb2


def nested(depth: int) -> dict[str, Any]:
    """Objects in objects."""
    inner: dict[str, Any] = {}
    for _ in range(depth):
        inner = {"a": inner}
    return inner


def request() -> tool_pb2.ExecuteRequest:
    return execute_request("id", request_id=None, tool_call_id="", dry_run=False, view="basic")


# Enums and codes


@pytest.mark.parametrize("value", [0, 1, 4, 5, 99, 2**31 - 1, -1])
def test_an_enum_survives_every_value(value: int) -> None:
    endings = LineEndings(value)
    assert endings == value
    assert isinstance(endings, LineEndings)
    assert pickle.loads(pickle.dumps(endings)) == copy.deepcopy(endings) == endings
    assert endings.is_known is (0 <= value <= 4)


def test_an_unknown_value_has_a_name_to_be_shown_by() -> None:
    assert repr(LineEndings(99)) == "<LineEndings.UNKNOWN_99: 99>"


def test_an_enum_takes_no_words_for_values() -> None:
    with pytest.raises(ValueError, match="LF"):
        LineEndings("LF")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "theirs", "prefix"),
    [
        (LineEndings, types_pb2.LineEndings, "LINE_ENDINGS_"),
        (WriteOperation, types_pb2.WriteOperation, "WRITE_OPERATION_"),
        (Published, types_pb2.Published, "PUBLISHED_"),
        (NoticeKind, types_pb2.NoticeKind, "NOTICE_KIND_"),
        (FileKind, types_pb2.FileKind, "FILE_KIND_"),
        (LimitKind, types_pb2.LimitKind, "LIMIT_KIND_"),
        (NearMissReason, error_pb2.NearMissReason, "NEAR_MISS_REASON_"),
        (SearchStopReason, error_pb2.SearchStopReason, "SEARCH_STOP_REASON_"),
    ],
)
def test_an_enum_is_that_of_the_contract(ours: type[WireEnum], theirs: Any, prefix: str) -> None:
    assert {prefix + member.name: member.value for member in ours} == dict(theirs.items())


def test_the_codes_are_those_of_the_contract() -> None:
    assert {code.value for code in FsErrorCode} == set(error_pb2.FsErrorCode.keys()) - {"FS_UNSPECIFIED"}


def test_a_code_of_a_newer_server_keeps_its_spelling() -> None:
    error = ToolError(fs_error("FS_NEWER"))
    assert error.code == "FS_NEWER"
    assert not isinstance(error.code, FsErrorCode)
    assert str(error) == "FS_NEWER: it is so"


def test_a_known_code_is_a_member_and_equal_to_its_spelling() -> None:
    code = ToolError(fs_error("FS_NOT_FOUND")).code
    assert code is FsErrorCode.FS_NOT_FOUND
    assert code == "FS_NOT_FOUND"
    assert f"{code}" == "FS_NOT_FOUND"


# Outcomes


def test_an_absent_number_is_none_and_a_zero_is_zero() -> None:
    absent = decode_outcome(tool_pb2.ExecuteResponse(read=READ))
    assert absent is not None and not hasattr(absent, "previous_size")
    assert read_result(tool_pb2.ExecuteResponse(read=READ)).outcome.next_offset is None
    write = tool_pb2.WriteOutcome(size=0, previous_size=0)
    zero = decode_outcome(tool_pb2.ExecuteResponse(write=write))
    assert getattr(zero, "previous_size", None) == 0


def test_an_outcome_without_what_is_always_set_breaks_the_contract() -> None:
    with pytest.raises(ProtocolError, match="`EditOutcome` came without `replacements`"):
        decode_outcome(tool_pb2.ExecuteResponse(edit=tool_pb2.EditOutcome(replace_all=False)))


def test_an_answer_without_outcome_and_error_breaks_the_contract() -> None:
    with pytest.raises(ProtocolError, match="neither an error nor the outcome of `read`"):
        read_result(tool_pb2.ExecuteResponse(is_error=False))


def test_an_outcome_cannot_be_changed() -> None:
    outcome = read_result(tool_pb2.ExecuteResponse(read=READ)).outcome
    with pytest.raises(AttributeError):
        outcome.size = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        (types_pb2.WriteGuard(unconditional=types_pb2.Unconditional()), Guard("unconditional", None)),
        (types_pb2.WriteGuard(create_if_absent=types_pb2.CreateIfAbsent()), Guard("create_if_absent", None)),
        (types_pb2.WriteGuard(replace_if_version="b3-1"), Guard("replace_if_version", "b3-1")),
        (types_pb2.WriteGuard(), Guard("unknown", None)),
    ],
)
def test_a_guard_tells_its_kind(guard: types_pb2.WriteGuard, expected: Guard) -> None:
    write = tool_pb2.WriteOutcome(size=1, guard=guard)
    assert getattr(decode_outcome(tool_pb2.ExecuteResponse(write=write)), "guard", None) == expected


def test_a_notice_of_a_newer_server_keeps_its_text() -> None:
    notice = types_pb2.Notice(text="something new")
    notice.MergeFromString(b"\x08\x63")
    write = tool_pb2.WriteOutcome(size=1, notices=[notice])
    notices = getattr(decode_outcome(tool_pb2.ExecuteResponse(write=write)), "notices", ())
    assert notices == (Notice(NoticeKind(99), "something new"),)


# Replies and errors


def test_blocks_of_unknown_kinds_are_left_out() -> None:
    image = tool_pb2.ImageBlock(mime_type="image/png", data=b"png")
    blocks = [
        tool_pb2.ContentBlock(text="one"),
        tool_pb2.ContentBlock(),
        tool_pb2.ContentBlock(image=image),
        tool_pb2.ContentBlock(text="two"),
    ]
    reply = decode_reply(tool_pb2.ExecuteResponse(content=blocks))
    assert reply.content == (TextBlock("one"), ImageBlock("image/png", b"png"), TextBlock("two"))
    assert reply.text == "one\ntwo"


def test_an_effect_that_is_not_durable_is_an_error_with_its_outcome() -> None:
    error = fs_error("FS_IO_ERROR", retryable=False, published=types_pb2.PUBLISHED_YES)
    response = tool_pb2.ExecuteResponse(is_error=True, error=error, read=READ)
    reply = decode_reply(response)
    assert reply.error is not None and reply.error.outcome == reply.outcome is not None
    assert reply.error.published is Published.YES
    with pytest.raises(ToolError) as failure:
        raise read_error(response)
    assert failure.value.outcome == reply.outcome


def read_error(response: tool_pb2.ExecuteResponse) -> Exception:
    try:
        read_result(response)
    except ToolError as error:
        return error
    raise AssertionError("it must fail")


def test_a_failure_that_the_server_does_not_describe_is_no_success() -> None:
    response = tool_pb2.ExecuteResponse(is_error=True, read=READ, content=[tool_pb2.ContentBlock(text="it failed")])
    reply = decode_reply(response)
    assert (reply.is_error, reply.error, reply.text) == (True, None, "it failed")
    assert reply.as_result("mcp")["isError"] is reply.as_result("anthropic", id="1")["is_error"] is True
    with pytest.raises(ProtocolError, match="`read` failed, and not why"):
        read_result(response)


def test_a_code_without_its_spelling_is_spelled_by_the_contract() -> None:
    error = ToolError(error_pb2.FsError(code=error_pb2.FS_NOT_FOUND, message="it is so"))
    assert error.code is FsErrorCode.FS_NOT_FOUND
    assert str(error) == "FS_NOT_FOUND: it is so"


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (
            error_pb2.FsError(
                stale_version=error_pb2.StaleVersionDetail(expected_version="b3-1", actual_version="b3-2")
            ),
            StaleVersionDetail("b3-1", "b3-2"),
        ),
        (
            error_pb2.FsError(stale_version=error_pb2.StaleVersionDetail(expected_version="b3-1")),
            StaleVersionDetail("b3-1", None),
        ),
        (
            error_pb2.FsError(ambiguous_edit=error_pb2.AmbiguousEditDetail(match_count=2, lines=[1, 3])),
            AmbiguousEditDetail(2, (1, 3)),
        ),
        (
            error_pb2.FsError(not_observed=error_pb2.NotObservedDetail(size_bytes=0)),
            NotObservedDetail(FileKind.UNSPECIFIED, 0, None),
        ),
        (
            error_pb2.FsError(too_large=error_pb2.TooLargeDetail(limit_name="max_content_bytes", limit_bytes=1)),
            TooLargeDetail("max_content_bytes", LimitKind.UNSPECIFIED, 1, None),
        ),
        (
            error_pb2.FsError(
                edit_not_found=error_pb2.EditNotFoundDetail(
                    near_misses=[
                        error_pb2.NearMiss(
                            start_line=1,
                            end_line=2,
                            lines=["a"],
                            reasons=[error_pb2.NEAR_MISS_REASON_LETTER_CASE],
                            reason_text="letter case",
                        )
                    ],
                    search_stopped_early=False,
                )
            ),
            EditNotFoundDetail(
                (NearMiss(1, 2, ("a",), (NearMissReason.LETTER_CASE,), "letter case"),),
                False,
                SearchStopReason.UNSPECIFIED,
            ),
        ),
        (error_pb2.FsError(), None),
    ],
)
def test_a_detail_is_typed(error: error_pb2.FsError, detail: object) -> None:
    assert decode_detail(error) == detail


def test_every_detail_of_the_contract_can_be_read() -> None:
    arms = error_pb2.FsError.DESCRIPTOR.oneofs_by_name["detail"].fields
    for arm in arms:
        error = error_pb2.FsError()
        getattr(error, arm.name).SetInParent()
        assert type(decode_detail(error)).__name__ == arm.message_type.name  # type: ignore[union-attr]


def test_reasons_of_others_are_not_taken_for_ours() -> None:
    from google.protobuf import any_pb2
    from google.rpc import error_details_pb2, status_pb2

    packed = any_pb2.Any()
    packed.Pack(error_details_pb2.ErrorInfo(reason="SESSION_NOT_FOUND", domain="googleapis.com"))
    trailers = (("grpc-status-details-bin", status_pb2.Status(details=[packed]).SerializeToString()),)
    assert call_error(grpc.StatusCode.NOT_FOUND, "no", trailers).reason is None


@pytest.mark.parametrize(
    "trailers", [None, (), (("grpc-status-details-bin", b"\xff\xff"),), (("grpc-status-details-bin", "text"),)]
)
def test_details_that_cannot_be_read_are_left_out(trailers: Any) -> None:
    error = call_error(grpc.StatusCode.UNAVAILABLE, None, trailers)
    assert (error.reason, error.fs_error, error.retry_delay, error.message) == (None, None, None, "")
    assert error.retryable


def test_a_status_with_an_error_is_as_retryable_as_that() -> None:
    aborted = fs_error("FS_ABORTED", retryable=True)
    maybe = fs_error("FS_ABORTED", retryable=False, published=types_pb2.PUBLISHED_MAYBE)
    for raw, retryable in ((aborted, True), (maybe, False)):
        status = Fails(grpc.StatusCode.DEADLINE_EXCEEDED, "late", "DEADLINE_EXCEEDED", fs_error=raw)
        error = call_error(status.code, status.message, status.metadata())
        assert error.retryable is retryable
        assert error.fs_error is not None and error.fs_error.raw == raw


def test_a_deadline_that_the_transport_ended_is_told_like_one_that_the_server_ended() -> None:
    assert call_error(grpc.StatusCode.DEADLINE_EXCEEDED, "Deadline Exceeded", ()).reason == "DEADLINE_EXCEEDED"


@pytest.mark.parametrize(
    "error",
    [
        ToolError(fs_error(), [TextBlock("a")]),
        call_error(grpc.StatusCode.NOT_FOUND, "no", Fails(reason="SESSION_NOT_FOUND").metadata()),
        ArgumentError("content", "is wrong"),
        DefinitionError("read", "`a` is no object"),
    ],
)
def test_an_error_survives_a_pickle(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))


def test_a_pickle_does_not_forget_how_often_a_call_was_sent() -> None:
    error = call_error(grpc.StatusCode.UNAVAILABLE, "no", ())
    error.attempts = 4
    assert pickle.loads(pickle.dumps(error)).attempts == 4


# Calls


def test_a_fresh_request_id_is_a_new_uuid_each_time() -> None:
    from uuid import UUID

    ids = {request().request_id for _ in range(100)}
    assert len(ids) == 100
    assert all(str(UUID(id)) == id and UUID(id).version == 4 for id in ids)


def test_json_text_is_sent_byte_for_byte() -> None:
    call = request()
    text = '{"file_path" :  "é\\u00e9"\n}'
    add_json(call, "read", text)
    assert call.json.arguments_json == text


def test_an_object_is_sent_as_json_without_escapes() -> None:
    call = request()
    add_json(call, "write", {"content": "é\n", "n": 1, "none": None})
    assert call.json.arguments_json == '{"content": "é\\n", "n": 1, "none": null}'


@pytest.mark.parametrize(
    ("field", "add"),
    [
        ("file_path", lambda call: add_read(call, "a\ud800", None, None)),
        ("content", lambda call: add_write(call, "a", "a\udfff")),
        ("old_string", lambda call: add_edit(call, "a", "\ud83d", "b", False)),
        ("new_string", lambda call: add_edit(call, "a", "b", "\ude00", False)),
        ("arguments", lambda call: add_json(call, "write", {"content": "\ud83d"})),
        ("arguments", lambda call: add_json(call, "write", {"\ud83d": 1})),
        ("arguments", lambda call: add_json(call, "write", '{"content": "\ud83d"}')),
        ("name", lambda call: add_json(call, "\ud83d", "{}")),
        (
            "tool_call_id",
            lambda call: execute_request("", request_id=None, tool_call_id="\ud83d", dry_run=False, view="basic"),
        ),
    ],
)
def test_half_a_surrogate_pair_is_refused_by_the_name_of_its_field(field: str, add: Any) -> None:
    with pytest.raises(ArgumentError, match="is not well-formed Unicode") as failure:
        add(request())
    assert failure.value.field == field


def test_a_whole_surrogate_pair_is_one_character_and_fine() -> None:
    call = request()
    add_write(call, "a", "\U0001f600")
    assert call.write.content == "\U0001f600"


@pytest.mark.parametrize(
    ("message", "add"),
    [
        ("`offset` must be an integer", lambda call: add_read(call, "a", "5", None)),  # type: ignore[arg-type]
        ("`limit` must fit 64 bits", lambda call: add_read(call, "a", None, 2**63)),
        ("`content` must be a string, not `NoneType`", lambda call: add_write(call, "a", None)),  # type: ignore[arg-type]
        ("`file_path` must be a string, not `int`", lambda call: add_write(call, 5, "")),  # type: ignore[arg-type]
        ("`replace_all` must be", lambda call: add_edit(call, "a", "b", "c", "yes")),  # type: ignore[arg-type]
        ("`arguments` cannot be written as a JSON object", lambda call: add_json(call, "read", {"a": float("nan")})),
        ("`arguments` cannot be written as a JSON object", lambda call: add_json(call, "read", {"a": object()})),
        ("`arguments` cannot be written .* nests too deeply", lambda call: add_json(call, "read", nested(100_000))),
        ("`arguments` must be a mapping, or JSON text, not `list`", lambda call: add_json(call, "read", [])),  # type: ignore[arg-type]
        (
            "`view` must be `basic` or `full`, not `all`",
            lambda call: execute_request("", request_id=None, tool_call_id="", dry_run=False, view="all"),  # type: ignore[arg-type]
        ),
    ],
)
def test_an_argument_of_the_wrong_kind_is_named(message: str, add: Any) -> None:
    with pytest.raises(ArgumentError, match=message):
        add(request())


# Secrets


def test_content_and_secrets_are_not_shown() -> None:
    response = tool_pb2.ExecuteResponse(
        content=[tool_pb2.ContentBlock(text="hidden")], read=READ, request_id="r", error=fs_error()
    )
    shown = repr(decode_reply(response))
    assert "hidden" not in shown
    assert "hidden" not in repr(Tls(cert=b"cert", key=b"hidden"))
