"""What grpcio raises, read as an error of this package."""

from __future__ import annotations

from typing import Any

import grpc

from toolfs.error import CallError, ConnectError, call_error

_NEVER_CONNECTED = ("failed to connect to all addresses", "DNS resolution failed", "errors resolving")
"""How grpcio begins to tell that it had no connection to send a call on. It offers no other sign."""


def looks_unsent(error: Any) -> bool:
    """Whether this is what grpcio says of a call that it had no connection for.

    A server could pass on such words of another, so whoever relies on them asks whether there is a connection now.
    """
    return error.code() is grpc.StatusCode.UNAVAILABLE and (error.details() or "").startswith(_NEVER_CONNECTED)


def client_closed() -> CallError:
    """What a call ends with whose client is closed under it."""
    return CallError(grpc.StatusCode.CANCELLED, "the client was closed while the call was on its way")


def out_of_time() -> CallError:
    """What a call ends with whose time was over before it could be sent."""
    failure = CallError(
        grpc.StatusCode.DEADLINE_EXCEEDED, "the token did not come within the deadline", "DEADLINE_EXCEEDED"
    )
    failure.attempts = 0
    return failure


def read_failure(error: Any, address: str, unsent: bool) -> CallError | ConnectError:
    """The error of this package. `unsent` says that the call never left."""
    if unsent:
        return ConnectError(address, error.details() or "")
    message = error.details() or ""
    if error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED and "essage larger than max" in message:
        message = f"{message}: raise `max_message_bytes` of the client, if the server's own limit allows for it"
    return call_error(error.code(), message, error.trailing_metadata())
