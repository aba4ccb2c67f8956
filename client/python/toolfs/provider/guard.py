"""The conditions under which a mutation may land."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unconditional:
    """Puts no condition."""


@dataclass(frozen=True, slots=True)
class CreateIfAbsent:
    """Lets a write create, and never replace: an existing target is `FS_NOT_OBSERVED`."""


@dataclass(frozen=True, slots=True)
class ReplaceIfVersion:
    """Replaces exactly the content of this version. Anything else, and a missing target, is `FS_STALE_VERSION`."""

    version: str
    """1 to 128 printable ASCII characters, never parsed."""


WriteGuard = Unconditional | CreateIfAbsent | ReplaceIfVersion
"""The condition of a write."""

EditGuard = Unconditional | ReplaceIfVersion
"""The condition of an edit. Without one, a missing target is `FS_STALE_VERSION` all the same."""
