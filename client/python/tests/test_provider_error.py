"""How errors travel: the status of each code, what is cut to fit, and what never leaves."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from google.rpc import status_pb2
from provider_memory import (
    MemoryFiles,
    refused,
    served,
)

from toolfs.detail import (
    NearMiss,
)
from toolfs.enums import AbortCause, FileKind, LimitKind, NearMissReason, SearchStopReason, TextEncoding
from toolfs.error import FsErrorCode
from toolfs.provider import (
    Call,
    CallReason,
    CallRefused,
    FileStat,
    FsError,
    Published,
    refusal,
    status,
)
from toolfs.v1 import error_pb2, filesystem_pb2

NEAR = NearMiss(1, 2, ("a", "b"), (NearMissReason.WHITE_SPACE,), "white space")

# One error of each code, and the gRPC code under which it travels.
ERRORS = [
    (refusal.not_found("/ws/x", ("y",)), grpc.StatusCode.NOT_FOUND),
    (refusal.not_directory("/ws/x"), grpc.StatusCode.FAILED_PRECONDITION),
    (refusal.not_regular("/ws/x", FileKind.FIFO), grpc.StatusCode.FAILED_PRECONDITION),
    (refusal.not_text("/ws/x", 6, True, TextEncoding.UTF16_LE), grpc.StatusCode.FAILED_PRECONDITION),
    (refusal.too_large("/ws/x", LimitKind.MAX_FILE_BYTES, 5, 6), grpc.StatusCode.FAILED_PRECONDITION),
    (FsError(FsErrorCode.FS_OUT_OF_RANGE, "past the end"), grpc.StatusCode.OUT_OF_RANGE),
    (refusal.not_writable("/ws/x"), grpc.StatusCode.PERMISSION_DENIED),
    (refusal.protected("/ws/x", ".git"), grpc.StatusCode.PERMISSION_DENIED),
    (FsError(FsErrorCode.FS_NO_SPACE, "the disk is full"), grpc.StatusCode.RESOURCE_EXHAUSTED),
    (FsError(FsErrorCode.FS_IO_ERROR, "broken", published=Published.MAYBE), grpc.StatusCode.INTERNAL),
    (refusal.stale("/ws/x", "v1", None), grpc.StatusCode.ABORTED),
    (refusal.not_observed("/ws/x", FileKind.REGULAR, 0, False), grpc.StatusCode.FAILED_PRECONDITION),
    (refusal.ambiguous_edit("/ws/x", 2, (1, 3)), grpc.StatusCode.FAILED_PRECONDITION),
    (
        refusal.edit_not_found("/ws/x", (NEAR,), SearchStopReason.BYTE_BUDGET),
        grpc.StatusCode.FAILED_PRECONDITION,
    ),
    (refusal.invalid_argument("path", "empty", "a path"), grpc.StatusCode.INVALID_ARGUMENT),
    (refusal.unsupported("not here"), grpc.StatusCode.UNIMPLEMENTED),
    (refusal.keeps_changing("/ws/x"), grpc.StatusCode.UNAVAILABLE),
    (refusal.aborted(AbortCause.CANCELLED), grpc.StatusCode.CANCELLED),
    (refusal.aborted(AbortCause.DEADLINE_EXCEEDED), grpc.StatusCode.DEADLINE_EXCEEDED),
]


class Raising(MemoryFiles):
    """Raises one error for every question what is at a target."""

    def __init__(self, error: BaseException) -> None:
        super().__init__({b"f": b"x"})
        self.error = error

    def stat(self, call: Call, target: bytes, want_version: bool) -> FileStat:
        raise self.error


def test_every_code_is_among_the_errors_that_are_tried() -> None:
    assert {error.code for error, _ in ERRORS} == set(FsErrorCode)


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=[error.code.value for error, _ in ERRORS])
def test_an_error_arrives_as_it_was_raised(error: FsError, code: grpc.StatusCode, tmp_path: Path) -> None:
    with served(Raising(error), tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        client.stub.Stat(filesystem_pb2.StatRequest(target_key=client.key("f")), timeout=30)
    call = refused(ended.value)
    assert (call.status, call.reason) == (code, error.code.value)
    assert call.message == f"{error.code}: {error.message}"
    told = call.fs_error
    assert told is not None
    assert (told.code, told.message, told.path) == (error.code, error.message, error.path)
    assert (told.published, told.retryable, told.remedy) == (error.published, error.retryable, "")
    assert told.detail == error.detail
    assert told.raw.detail_truncated is False


def test_a_mistake_of_the_provider_says_nothing_of_its_cause(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with served(Raising(ZeroDivisionError("secret")), tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        client.stub.Stat(filesystem_pb2.StatRequest(target_key=client.key("f")), timeout=30)
    call = refused(ended.value)
    assert (call.status, call.reason, call.fs_error) == (grpc.StatusCode.INTERNAL, "INTERNAL", None)
    assert "secret" not in call.message and "secret" in caplog.text


@pytest.mark.parametrize("mistake", [SystemExit(3), KeyboardInterrupt()])
def test_what_would_end_a_program_is_a_mistake_and_answered(mistake: BaseException, tmp_path: Path) -> None:
    with served(Raising(mistake), tmp_path) as client, pytest.raises(grpc.RpcError) as ended:
        client.stub.Stat(filesystem_pb2.StatRequest(target_key=client.key("f")), timeout=30)
    assert refused(ended.value).reason == "INTERNAL"


def test_an_error_that_is_too_long_is_cut_to_fit_the_trailers() -> None:
    long = "é" * 4_000
    near = tuple(NearMiss(1, 9, (long,) * 9, (NearMissReason.WHITE_SPACE,), long) for _ in range(9))
    error = refusal.edit_not_found(f"/ws/{long}", near, SearchStopReason.UNSPECIFIED)
    ended = status.of_fs_error(error)
    assert len(ended.details) <= status.MAX_DETAILS_BYTES
    assert len(ended.message.encode()) <= 400
    told = error_pb2.FsError()
    assert status_pb2.Status.FromString(ended.details).details[1].Unpack(told)
    assert told.detail_truncated and told.path.endswith("…")
    assert [len(miss.lines) for miss in told.edit_not_found.near_misses] == [5, 5, 5]


def test_a_version_is_never_cut() -> None:
    error = refusal.stale("/ws/" + "x" * 9_000, "e" * 128, "a" * 128)
    told = error_pb2.FsError()
    assert status_pb2.Status.FromString(status.of_fs_error(error).details).details[1].Unpack(told)
    assert (told.stale_version.expected_version, told.stale_version.actual_version) == ("e" * 128, "a" * 128)


def test_a_refusal_of_the_call_itself_is_a_status_without_an_error() -> None:
    ended = status.of_refused(CallRefused(CallReason.GUARD_MISSING, "no guard"))
    assert (ended.code, ended.message) == (grpc.StatusCode.INVALID_ARGUMENT, "no guard")
    assert len(status_pb2.Status.FromString(ended.details).details) == 1
