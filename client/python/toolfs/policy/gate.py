"""The base class of the gate, and what it is told and says, as values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from toolfs.detail import NotFoundDetail
from toolfs.error import FsErrorCode
from toolfs.provider.error import FsError
from toolfs.provider.guard import EditGuard, WriteGuard


@dataclass(frozen=True, slots=True)
class GateCapabilities:
    """What a gate says of itself."""

    name: str
    """What it calls itself: one line."""
    persistent: bool
    """Whether observations survive a restart of the gate."""


@dataclass(frozen=True, slots=True)
class Absent:
    """Nothing was there."""


@dataclass(frozen=True, slots=True)
class Present:
    """Content of this version was there."""

    version: str
    """1 to 128 printable ASCII characters, never parsed."""


Observation = Absent | Present
"""What a session last saw at a target. A target that it has not seen has none."""


class PolicyGate(ABC):
    """Decides under which guard a mutation may land. Exactly one gate decides; it does no file I/O.

    A session is named by an opaque key that is not its secret; `None` is a call without one, which has seen nothing. A
    target is named by the provider's `target_key`, which is never parsed. Methods are called from several threads at
    once. Errors are raised as `FsError`: `FS_UNAVAILABLE` when observations cannot be reached, so that nothing is
    changed on a guess. An answer that is no guard is a mistake of the gate, and changes nothing either. To lose an
    observation is always safe, since the agent reads again; to invent one never is.
    """

    @abstractmethod
    def capabilities(self) -> GateCapabilities:
        """What this gate is."""

    @abstractmethod
    def decide_write(self, session: str | None, target: bytes) -> WriteGuard:
        """The guard of a write."""

    @abstractmethod
    def decide_edit(self, session: str | None, target: bytes) -> EditGuard:
        """The guard of an edit.

        Raises `not_observed` when the session has not seen the target, `observed_absent` when it saw that nothing is
        there.
        """

    @abstractmethod
    def record_observation(self, session: str, target: bytes, observation: Observation, order: int) -> None:
        """Records what a session saw.

        The highest order of a session and a target stays, of one order the first, so that repetitions and late
        arrivals change nothing. For a session that has ended nothing is recorded, and that is no error.
        """

    @abstractmethod
    def forget(self, session: str, targets: Sequence[bytes] | None, order: int) -> None:
        """Forgets what a session saw at these targets, everything for `None`. Idempotent.

        An observation that is recorded later and whose order is not above `order` changes nothing.
        """

    @abstractmethod
    def end_session(self, session: str) -> None:
        """Forgets a session for good. Idempotent, also for one that was never seen."""


def not_observed(session: str | None) -> FsError:
    """`FS_NOT_OBSERVED` of the gate, which has looked at no file."""
    message = "this session has not read the file"
    if session is None:
        message = "a call without a session has seen nothing, so it cannot edit"
    return FsError(FsErrorCode.FS_NOT_OBSERVED, message)


def observed_absent() -> FsError:
    """`FS_NOT_FOUND` of the gate: the session saw that nothing was there."""
    message = "when this session last looked, no file was there"
    return FsError(FsErrorCode.FS_NOT_FOUND, message, detail=NotFoundDetail(()))
