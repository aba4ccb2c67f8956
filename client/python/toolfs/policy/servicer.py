"""`toolfs.v1.PolicyService` over a gate: each method decodes, calls and encodes."""

from __future__ import annotations

from typing import Any

from toolfs.policy.gate import Absent, Observation, PolicyGate, Present
from toolfs.provider import decode
from toolfs.provider.ending import in_call
from toolfs.provider.error import CallReason, CallRefused
from toolfs.provider.guard import CreateIfAbsent, EditGuard, ReplaceIfVersion, Unconditional, WriteGuard
from toolfs.v1 import policy_pb2, policy_pb2_grpc, types_pb2


class PolicyServicer(policy_pb2_grpc.PolicyServiceServicer):
    """Serves a gate. Its methods are called from several threads at once."""

    def __init__(self, gate: PolicyGate) -> None:
        self._gate = gate

    def GetPolicyCapabilities(self, request: Any, context: Any) -> policy_pb2.GetPolicyCapabilitiesResponse:
        """Tells what the gate does."""
        with in_call(context):
            told = self._gate.capabilities()
            policy = types_pb2.PolicyCapabilities(name=told.name, persistent=told.persistent)
            return policy_pb2.GetPolicyCapabilitiesResponse(policy=policy)

    def DecideWrite(self, request: policy_pb2.DecideWriteRequest, context: Any) -> policy_pb2.DecideWriteResponse:
        """Decides under which guard a session may write a target."""
        with in_call(context):
            target = decode.target_key(request.target_key)
            guard = self._gate.decide_write(request.session_key or None, target)
            return policy_pb2.DecideWriteResponse(guard=_write_guard(guard))

    def DecideEdit(self, request: policy_pb2.DecideEditRequest, context: Any) -> policy_pb2.DecideEditResponse:
        """Decides under which guard a session may edit a target."""
        with in_call(context):
            target = decode.target_key(request.target_key)
            guard = self._gate.decide_edit(request.session_key or None, target)
            return policy_pb2.DecideEditResponse(guard=_edit_guard(guard))

    def RecordObservation(
        self, request: policy_pb2.RecordObservationRequest, context: Any
    ) -> policy_pb2.RecordObservationResponse:
        """Records what a session saw."""
        with in_call(context):
            session, target = _session(request.session_key), decode.target_key(request.target_key)
            observation = _observation(request.observation if request.HasField("observation") else None)
            self._gate.record_observation(session, target, observation, _order(request))
            return policy_pb2.RecordObservationResponse()

    def Forget(self, request: policy_pb2.ForgetRequest, context: Any) -> policy_pb2.ForgetResponse:
        """Forgets what a session saw."""
        with in_call(context):
            session, scope = _session(request.session_key), request.WhichOneof("scope")
            if scope is None:
                message = "the request does not say what to forget: set `targets` or `all`"
                raise CallRefused(CallReason.SCOPE_MISSING, message)
            targets = None
            if scope == "targets":
                targets = [decode.target_key(key, "target_keys") for key in request.targets.target_keys]
            self._gate.forget(session, targets, _order(request))
            return policy_pb2.ForgetResponse()

    def EndSession(self, request: policy_pb2.EndSessionRequest, context: Any) -> policy_pb2.EndSessionResponse:
        """Forgets a session for good."""
        with in_call(context):
            self._gate.end_session(_session(request.session_key))
            return policy_pb2.EndSessionResponse()


def _session(key: str) -> str:
    if not key:
        raise CallRefused(CallReason.KEY_MISSING, "the request names no session: set `session_key`")
    return key


def _order(request: policy_pb2.RecordObservationRequest | policy_pb2.ForgetRequest) -> int:
    if not request.HasField("order"):
        raise decode.absent("order", "the place in the history of all observations")
    return request.order


def _observation(observation: types_pb2.Observation | None) -> Observation:
    state = None if observation is None else observation.WhichOneof("state")
    if observation is None or state is None:
        raise decode.absent("observation", "`absent` or `present_version`")
    if state == "absent":
        return Absent()
    return Present(decode.version(observation.present_version, "present_version"))


def _write_guard(guard: WriteGuard) -> types_pb2.WriteGuard:
    if isinstance(guard, ReplaceIfVersion):
        return types_pb2.WriteGuard(replace_if_version=guard.version)
    if isinstance(guard, CreateIfAbsent):
        return types_pb2.WriteGuard(create_if_absent=types_pb2.CreateIfAbsent())
    if isinstance(guard, Unconditional):
        return types_pb2.WriteGuard(unconditional=types_pb2.Unconditional())
    raise _no_guard("decide_write", guard)


def _edit_guard(guard: EditGuard) -> types_pb2.EditGuard:
    if isinstance(guard, ReplaceIfVersion):
        return types_pb2.EditGuard(replace_if_version=guard.version)
    if isinstance(guard, Unconditional):
        return types_pb2.EditGuard(unconditional=types_pb2.Unconditional())
    raise _no_guard("decide_edit", guard)


def _no_guard(method: str, answer: object) -> TypeError:
    """A gate that forgets to answer must not open: what is no guard never stands for `Unconditional`."""
    return TypeError(f"`{method}` returned `{answer!r}`, which is no guard of its kind")
