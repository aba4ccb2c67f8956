"""Decide in Python under which condition an agent may change a file: implement `toolfs.v1.PolicyService`.

`toolfs serve --policy unix:PATH` (or `grpc://HOST:PORT`) asks whoever serves the gate there before each write and edit,
and tells it what each session saw. Derive from `PolicyGate` and serve it with `serve_gate`:

    with serve_gate(MyGate(), "unix:/run/user/1000/gate/gate.sock") as serving:
        serving.wait()

The gate chooses the guard; the provider judges it on the bytes that it publishes over. `examples/observation_gate.py`
is the server's own policy in small.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from toolfs.error import FsErrorCode
from toolfs.policy.gate import (
    Absent,
    GateCapabilities,
    Observation,
    PolicyGate,
    Present,
    not_observed,
    observed_absent,
)
from toolfs.policy.servicer import PolicyServicer
from toolfs.provider.error import FsError
from toolfs.provider.guard import CreateIfAbsent, EditGuard, ReplaceIfVersion, Unconditional, WriteGuard
from toolfs.provider.serving import MAX_MESSAGE_BYTES, MAX_WORKERS, Serving, serve_async_with, serve_with
from toolfs.v1 import policy_pb2_grpc

__all__ = [
    "Absent",
    "CreateIfAbsent",
    "EditGuard",
    "FsError",
    "FsErrorCode",
    "GateCapabilities",
    "Observation",
    "PolicyGate",
    "Present",
    "ReplaceIfVersion",
    "Serving",
    "Unconditional",
    "WriteGuard",
    "not_observed",
    "observed_absent",
    "serve_gate",
    "serve_gate_async",
]


def serve_gate(
    gate: PolicyGate, address: str, *, max_workers: int = MAX_WORKERS, allow_remote: bool = False
) -> Serving:
    """Serves a gate at `unix:PATH` or `HOST:PORT`, as `toolfs.provider.serve` does a provider."""
    return serve_with(lambda server: _add(gate, server), address, MAX_MESSAGE_BYTES, max_workers, allow_remote)


@asynccontextmanager
async def serve_gate_async(
    gate: PolicyGate, address: str, *, max_workers: int = MAX_WORKERS, allow_remote: bool = False
) -> AsyncIterator[str]:
    """The same within an event loop: gives the address, and stops at the end of the block."""
    serving = serve_async_with(lambda server: _add(gate, server), address, MAX_MESSAGE_BYTES, max_workers, allow_remote)
    async with serving as bound:
        yield bound


def _add(gate: PolicyGate, server: Any) -> None:
    policy_pb2_grpc.add_PolicyServiceServicer_to_server(PolicyServicer(gate), server)
