"""The gate of the example at the end of a connection, and asked by the real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from provider_memory import example, refused
from provider_program import example_at, toolfs_at

from toolfs import FsErrorCode, ToolError, Toolfs
from toolfs.detail import InvalidArgumentDetail, NotFoundDetail
from toolfs.policy import CreateIfAbsent, PolicyGate, serve_gate, serve_gate_async
from toolfs.v1 import policy_pb2, policy_pb2_grpc, types_pb2

SESSION, TARGET = "s", b"t"
ABSENT = types_pb2.Observation(absent=types_pb2.Absent())
CREATE = "create_if_absent"


def present(version: str) -> types_pb2.Observation:
    return types_pb2.Observation(present_version=version)


class Gate:
    """The generated client, with short forms of the calls that tests make."""

    def __init__(self, channel: grpc.Channel) -> None:
        self.stub: Any = policy_pb2_grpc.PolicyServiceStub(channel)

    def saw(
        self, observation: types_pb2.Observation, order: int, target: bytes = TARGET, session: str = SESSION
    ) -> None:
        self.stub.RecordObservation(
            policy_pb2.RecordObservationRequest(
                session_key=session, target_key=target, observation=observation, order=order
            )
        )

    def write(self, target: bytes = TARGET, session: str = SESSION) -> str:
        """The guard of a write: its arm, or the version that it replaces."""
        request = policy_pb2.DecideWriteRequest(session_key=session, target_key=target)
        guard = self.stub.DecideWrite(request).guard
        return str(guard.replace_if_version or guard.WhichOneof("condition"))

    def edit(self, target: bytes = TARGET, session: str = SESSION) -> str:
        """The version that an edit replaces, or the code of its refusal."""
        request = policy_pb2.DecideEditRequest(session_key=session, target_key=target)
        try:
            guard = self.stub.DecideEdit(request).guard
        except grpc.RpcError as error:
            return str(refused(error).reason)
        return str(guard.replace_if_version or guard.WhichOneof("condition"))

    def forget(self, order: int, *targets: bytes) -> None:
        request = policy_pb2.ForgetRequest(session_key=SESSION, order=order)
        if targets:
            request.targets.target_keys.extend(targets)
        else:
            request.all.SetInParent()
        self.stub.Forget(request)

    def end(self, session: str = SESSION) -> None:
        self.stub.EndSession(policy_pb2.EndSessionRequest(session_key=session))


@contextmanager
def gate_at(address: str) -> Iterator[Gate]:
    with grpc.insecure_channel(address, options=[("grpc.default_authority", "localhost")]) as channel:
        yield Gate(channel)


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    with serve_gate(example("observation_gate").ObservationGate(), f"unix:{tmp_path}/gate.sock") as serving:
        with gate_at(serving.address) as client:
            yield client


def test_who_has_seen_nothing_may_create_and_not_edit(gate: Gate) -> None:
    assert (gate.write(), gate.edit()) == (CREATE, "FS_NOT_OBSERVED")
    gate.saw(present("v"), 1, session="other")
    gate.saw(present("v"), 1, target=b"other")
    assert (gate.write(), gate.edit()) == (CREATE, "FS_NOT_OBSERVED")
    assert (gate.write(session=""), gate.edit(session="")) == (CREATE, "FS_NOT_OBSERVED")


def test_who_saw_that_nothing_is_there_may_create_and_not_edit(gate: Gate) -> None:
    gate.saw(ABSENT, 1)
    assert (gate.write(), gate.edit()) == (CREATE, "FS_NOT_FOUND")


def test_who_saw_content_changes_exactly_that(gate: Gate) -> None:
    gate.saw(present("v1"), 1)
    assert (gate.write(), gate.edit()) == ("v1", "v1")


def test_an_observation_that_comes_late_does_not_replace_a_newer_one(gate: Gate) -> None:
    gate.saw(present("new"), 7)
    gate.saw(present("old"), 6)
    gate.saw(present("same-order"), 7)
    assert gate.write() == "new"
    gate.saw(ABSENT, 8)
    assert gate.write() == CREATE


def test_what_began_before_a_forget_is_not_recorded_after_it(gate: Gate) -> None:
    gate.saw(present("v"), 3)
    gate.forget(5, TARGET)
    gate.saw(present("late"), 4)
    gate.saw(present("same-order"), 5)
    assert gate.edit() == "FS_NOT_OBSERVED"
    gate.saw(present("new"), 6)
    assert gate.edit() == "new"
    gate.forget(5, TARGET)
    assert gate.edit() == "new", "it was seen after that"


def test_to_forget_everything_leaves_what_was_seen_after_it(gate: Gate) -> None:
    gate.saw(present("a"), 1, target=b"a")
    gate.saw(present("b"), 9, target=b"b")
    gate.forget(5)
    gate.saw(present("late"), 5, target=b"c")
    assert [gate.edit(target=key) for key in (b"a", b"b", b"c")] == ["FS_NOT_OBSERVED", "b", "FS_NOT_OBSERVED"]
    gate.saw(present("c"), 6, target=b"c")
    assert gate.edit(target=b"c") == "c"


def test_an_ended_session_does_not_revive(gate: Gate) -> None:
    gate.saw(present("v"), 1)
    gate.end()
    gate.end()
    gate.saw(present("late"), 99)
    gate.forget(100)
    assert (gate.write(), gate.edit()) == (CREATE, "FS_NOT_OBSERVED")
    gate.end(session="never seen")


def test_capabilities_are_told(gate: Gate) -> None:
    told = gate.stub.GetPolicyCapabilities(policy_pb2.GetPolicyCapabilitiesRequest()).policy
    assert (told.name, told.HasField("persistent"), told.persistent) == ("python-observation", True, False)


@pytest.mark.parametrize(
    ("method", "request_", "reason", "field"),
    [
        ("DecideWrite", policy_pb2.DecideWriteRequest(session_key="s"), "FS_INVALID_ARGUMENT", "target_key"),
        ("DecideEdit", policy_pb2.DecideEditRequest(session_key="s"), "FS_INVALID_ARGUMENT", "target_key"),
        (
            "RecordObservation",
            policy_pb2.RecordObservationRequest(target_key=b"t", observation=ABSENT, order=1),
            "KEY_MISSING",
            None,
        ),
        (
            "RecordObservation",
            policy_pb2.RecordObservationRequest(session_key="s", target_key=b"t", order=1),
            "FS_INVALID_ARGUMENT",
            "observation",
        ),
        (
            "RecordObservation",
            policy_pb2.RecordObservationRequest(session_key="s", target_key=b"t", observation=ABSENT),
            "FS_INVALID_ARGUMENT",
            "order",
        ),
        (
            "RecordObservation",
            policy_pb2.RecordObservationRequest(
                session_key="s", target_key=b"t", observation=present("two words"), order=1
            ),
            "FS_INVALID_ARGUMENT",
            "present_version",
        ),
        ("Forget", policy_pb2.ForgetRequest(all=policy_pb2.AllTargets(), order=1), "KEY_MISSING", None),
        ("Forget", policy_pb2.ForgetRequest(session_key="s", order=1), "SCOPE_MISSING", None),
        (
            "Forget",
            policy_pb2.ForgetRequest(session_key="s", all=policy_pb2.AllTargets()),
            "FS_INVALID_ARGUMENT",
            "order",
        ),
        (
            "Forget",
            policy_pb2.ForgetRequest(session_key="s", order=1, targets=policy_pb2.TargetKeys(target_keys=[b""])),
            "FS_INVALID_ARGUMENT",
            "target_keys",
        ),
        ("EndSession", policy_pb2.EndSessionRequest(), "KEY_MISSING", None),
    ],
)
def test_a_request_that_lacks_something_is_refused(
    gate: Gate, method: str, request_: Any, reason: str, field: str | None
) -> None:
    with pytest.raises(grpc.RpcError) as ended:
        getattr(gate.stub, method)(request_)
    call = refused(ended.value)
    assert (call.status, call.reason) == (grpc.StatusCode.INVALID_ARGUMENT, reason)
    if field is not None:
        assert call.fs_error is not None and isinstance(call.fs_error.detail, InvalidArgumentDetail)
        assert call.fs_error.detail.field == field


def test_a_refusal_of_the_gate_looks_at_no_file(gate: Gate) -> None:
    gate.saw(ABSENT, 1, target=b"gone")
    for target, detail in [(TARGET, None), (b"gone", NotFoundDetail(()))]:
        with pytest.raises(grpc.RpcError) as ended:
            gate.stub.DecideEdit(policy_pb2.DecideEditRequest(session_key=SESSION, target_key=target))
        told = refused(ended.value).fs_error
        assert told is not None and told.detail == detail and told.remedy == ""


@pytest.mark.parametrize(("method", "answer"), [("Write", None), ("Edit", None), ("Edit", CreateIfAbsent())])
def test_an_answer_that_is_no_guard_does_not_open_the_gate(
    method: str, answer: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gate: Any = example("observation_gate").ObservationGate()
    gate.decide_write = gate.decide_edit = lambda session, target: answer
    with serve_gate(gate, f"unix:{tmp_path}/gate.sock") as serving, gate_at(serving.address) as client:
        request = getattr(policy_pb2, f"Decide{method}Request")(session_key=SESSION, target_key=TARGET)
        with pytest.raises(grpc.RpcError) as ended:
            getattr(client.stub, f"Decide{method}")(request)
    call = refused(ended.value)
    assert (call.status, call.reason, call.fs_error) == (grpc.StatusCode.INTERNAL, "INTERNAL", None)
    assert f"`decide_{method.lower()}` returned `{answer!r}`" in caplog.text


def test_making_room_loses_observations_and_brings_none_back(monkeypatch: pytest.MonkeyPatch) -> None:
    module = example("observation_gate")
    monkeypatch.setattr(module, "MAX_TARGETS", 10)
    gate: PolicyGate = module.ObservationGate()
    for order in range(1, 12):
        gate.record_observation(SESSION, b"%d" % order, module.Present(f"v{order}"), order)
    assert gate.decide_write(SESSION, b"11") == module.ReplaceIfVersion("v11")
    assert gate.decide_write(SESSION, b"1") == module.CreateIfAbsent()
    gate.record_observation(SESSION, b"1", module.Present("older"), 2)
    assert gate.decide_write(SESSION, b"1") == module.CreateIfAbsent()


async def test_a_gate_is_served_within_an_event_loop(tmp_path: Path) -> None:
    def calls(address: str) -> tuple[str, str]:
        with gate_at(address) as gate:
            gate.saw(present("v"), 1)
            return gate.write(), gate.edit(target=b"other")

    gate = example("observation_gate").ObservationGate()
    async with serve_gate_async(gate, f"unix:{tmp_path}/gate.sock") as address:
        assert await asyncio.to_thread(calls, address) == ("v", "FS_NOT_OBSERVED")


def test_the_real_server_asks_the_gate_and_tells_it_what_was_seen(tmp_path: Path) -> None:
    root, gate, address = tmp_path / "root", f"unix:{tmp_path}/gate.sock", f"unix:{tmp_path}/toolfs.sock"
    root.mkdir()
    (root / "f").write_bytes(b"one\n")
    with (
        example_at("observation_gate", gate),
        toolfs_at(address, "--root", str(root), "--policy", gate),
        Toolfs.connect(address) as client,
        client.open_session() as session,
    ):
        assert client.capabilities().policy.name == "python-observation"
        for change in (lambda: session.edit("f", "one", "two"), lambda: session.write("f", "two\n")):
            with pytest.raises(ToolError) as ended:
                change()
            assert ended.value.code is FsErrorCode.FS_NOT_OBSERVED
        session.read("f")
        session.edit("f", old_string="one", new_string="two")
        session.edit("f", old_string="two", new_string="three")
        session.forget("f")
        with pytest.raises(ToolError) as ended:
            session.edit("f", old_string="three", new_string="four")
        assert ended.value.code is FsErrorCode.FS_NOT_OBSERVED
    assert (root / "f").read_bytes() == b"three\n"
