"""What grpcio raises, read as an error of this package."""

from __future__ import annotations

from typing import Any

import grpc

from toolfs.error import CallError, ConnectError, call_error

_NEVER_CONNECTED = ("failed to connect to all addresses", "DNS resolution failed", "errors resolving")
"""How grpcio begins to tell that it had no connection to send a call on. It offers no other sign."""

_RESET = "RST_STREAM with error code"
"""What grpcio tells of a call whose stream was reset, by whichever of its status codes the reset's own resembles."""


def looks_unsent(error: Any) -> bool:
    """Whether this is what grpcio says of a call that it had no connection for.

    A server could pass on such words of another, so whoever relies on them asks whether there is a connection now.
    """
    return error.code() is grpc.StatusCode.UNAVAILABLE and (error.details() or "").startswith(_NEVER_CONNECTED)


def client_closed() -> CallError:
    """What a call ends with whose client is closed under it."""
    return CallError(grpc.StatusCode.CANCELLED, "the client was closed while the call was on its way")


def out_of_time(why: str = "the token did not come within the deadline") -> CallError:
    """What a call ends with whose time was over before it could be sent."""
    failure = CallError(grpc.StatusCode.DEADLINE_EXCEEDED, why, "DEADLINE_EXCEEDED")
    failure.attempts = 0
    return failure


def session_closed() -> CallError:
    """What a call ends with whose session was closed by its own object: what the server would say, without asking."""
    failure = CallError(grpc.StatusCode.NOT_FOUND, "this session was closed: open another", "SESSION_NOT_FOUND")
    failure.attempts = 0
    return failure


def without_message() -> CallError:
    """What a call ends with that was answered with success and nothing else."""
    return CallError(grpc.StatusCode.UNKNOWN, "the server answered with success and without a message")


def read_failure(error: Any, address: str, unsent: bool) -> CallError | ConnectError:
    """The error of this package. `unsent` says that the call never left."""
    if unsent:
        return ConnectError(address, error.details() or "")
    message = error.details() or ""
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and "essage larger than max" in message:
        message = f"{message}: raise `max_message_bytes` of the client, if the server's own limit allows for it"
    failure = call_error(error.code(), message, error.trailing_metadata())
    if failure.reason is None and _RESET in message:
        # The connection lost the call, or somebody on the way gave it up: that is no verdict on it.
        failure.status = grpc.StatusCode.UNAVAILABLE
    return failure
