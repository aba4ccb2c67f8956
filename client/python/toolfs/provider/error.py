"""What a provider or a gate raises: `FsError` for what became of the work, `CallRefused` for a mistake of the caller.

`toolfs.provider.refusal` has one function for each refusal that every provider words the same way. The servicer turns
both into the gRPC status that the contract prescribes; anything else that is raised becomes the reason `INTERNAL`.
"""

from __future__ import annotations

from enum import Enum

from toolfs.detail import Detail
from toolfs.enums import Published
from toolfs.error import FsErrorCode

_RETRYABLE = (FsErrorCode.FS_UNAVAILABLE, FsErrorCode.FS_ABORTED)


class FsError(Exception):
    """A refusal or failure of a file operation.

    `message` is one sentence in lower case without a full stop; it never echoes content, `old_string` or `new_string`.
    `path` is the display form of the path that the error is about: as asked for while it is resolved, the target's
    afterwards. What to do next is said by the tools, not here.
    """

    def __init__(
        self,
        code: FsErrorCode,
        message: str,
        path: str = "",
        detail: Detail | None = None,
        published: Published = Published.NO,
        rescue_path: str = "",
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.path = path
        self.detail = detail
        """The facts for programs, of the class that belongs to the code; `None` where it has none."""
        self.published = published
        """Whether the effect is there. A mutation that is known to have landed answers with `not_durable` instead."""
        self.rescue_path = rescue_path
        """Where displaced content was kept, in display form; empty when none had to be."""

    @property
    def retryable(self) -> bool:
        """Whether the same call, with nothing done in between by its caller, may succeed."""
        if self.code is FsErrorCode.FS_ABORTED and self.published is Published.MAYBE:
            return False
        return self.code in _RETRYABLE


class CallReason(str, Enum):
    """Why a request was refused before anything was done for it."""

    GUARD_MISSING = "GUARD_MISSING"
    """A mutation has no guard, or one that this package does not know."""
    KEY_MISSING = "KEY_MISSING"
    """The request names no session where it must."""
    SCOPE_MISSING = "SCOPE_MISSING"
    """The request does not say what to forget."""


class CallRefused(Exception):
    """A mistake of the caller that is no `FsError`."""

    def __init__(self, reason: CallReason, message: str) -> None:
        super().__init__(f"{reason.value}: {message}")
        self.reason = reason
        self.message = message


class TargetMoved(Exception):
    """Raised by the methods of a `WholeFileProvider`: the place is no longer what it was resolved or read as.

    A component became a link, or other content than the expected one is there. The base class looks again and decides
    anew; it never reaches the caller.
    """
