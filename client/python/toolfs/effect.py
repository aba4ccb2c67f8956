"""Whether the effect of a call that failed may be there all the same, as a pure decision.

A connection that breaks, or a time that ends, says nothing about what the server did with the call before. Such an
attempt stays open, whatever the next ones come to.
"""

from __future__ import annotations

import grpc

from toolfs.enums import Published
from toolfs.error import CallError, ConnectError, ToolfsError

_OPEN_REASONS = frozenset({"DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL", "SHUTTING_DOWN"})
"""What the server may say of a call that it has begun. With every other reason it refused to."""

_REFUSALS = frozenset(
    {
        grpc.StatusCode.ALREADY_EXISTS,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.OUT_OF_RANGE,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.UNIMPLEMENTED,
    }
)
"""What somebody on the way says without a reason of the contract when it does not even let the call begin."""

_EARLIER = "an earlier attempt of this call may have taken effect: read what it changes before you call again"


class Effect:
    """What is known of the attempts of one call. `changes` says whether a second effect would be one too many."""

    def __init__(self, changes: bool) -> None:
        self._changes = changes
        self._earlier = False
        self._maybe = False
        self.attempts = 0
        """How many of the failed attempts were sent, or may have been."""

    def add(self, failure: ToolfsError) -> None:
        """Counts a failed attempt."""
        self._earlier = self._maybe
        if isinstance(failure, ConnectError):
            return
        self.attempts += 1
        # A tool's own error needs no guess: it says what was published.
        self._maybe |= self._changes and isinstance(failure, CallError) and _may_be_there(failure)

    def ending(self, failure: ToolfsError) -> ToolfsError:
        """The error that tells of the whole call, whose last attempt failed so."""
        if isinstance(failure, ConnectError) and self.attempts > 0:
            # It would say that the call was never sent.
            lost = CallError(grpc.StatusCode.UNAVAILABLE, str(failure))
            lost.__cause__ = failure
            failure = lost
        if isinstance(failure, CallError):
            failure.attempts = self.attempts
            failure.maybe_published = self._maybe
            if self._earlier:
                failure.message += f"; {_EARLIER}"
        return failure


def _may_be_there(failure: CallError) -> bool:
    if failure.fs_error is not None:
        return failure.fs_error.published is not Published.NO
    if failure.reason is not None:
        return failure.reason in _OPEN_REASONS
    return failure.status not in _REFUSALS
