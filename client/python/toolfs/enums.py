"""The enums of the contract, as Python enums that survive values of a newer server.

`LineEndings(99)` is no error: it is a member-like value named `UNKNOWN_99`, equal to 99. So an answer of a server that
knows more than this package can always be read.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeVar

_NUMERIC = frozenset("bcdoxXneEfFgG%")
"""How the format of a number ends."""

_Member = TypeVar("_Member", bound="WireEnum")


class WireEnum(IntEnum):
    """An enum of the wire. Its zero is `UNSPECIFIED`: not told, or a kind that the server's contract lacked."""

    @classmethod
    def _missing_(cls: type[_Member], value: object) -> _Member | None:
        if not isinstance(value, int):
            return None
        unknown = int.__new__(cls, value)
        unknown._name_ = f"UNKNOWN_{value}"
        unknown._value_ = value
        return unknown

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        # As its name, unless a number is asked for.
        return format(int(self) if spec[-1:] in _NUMERIC else str(self), spec)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        # By value: an unknown one has no name to be found by.
        return (self.__class__, (int(self),))

    def __deepcopy__(self: _Member, memo: Any) -> _Member:
        return self

    def __copy__(self: _Member) -> _Member:
        return self

    @property
    def is_known(self) -> bool:
        """Whether this package has a name for the value."""
        return self._value_ in self.__class__._value2member_map_


class FileKind(WireEnum):
    """What is at the end of a path."""

    UNSPECIFIED = 0
    REGULAR = 1
    DIRECTORY = 2
    SYMLINK = 3
    FIFO = 4
    SOCKET = 5
    BLOCK_DEVICE = 6
    CHAR_DEVICE = 7
    OTHER = 8


class LineEndings(WireEnum):
    """How the lines of a text end. A lone CR is text and ends no line."""

    UNSPECIFIED = 0
    LF = 1
    CRLF = 2
    MIXED = 3
    NONE = 4


class ReadStopReason(WireEnum):
    """Why a read ended where it did."""

    UNSPECIFIED = 0
    END_OF_FILE = 1
    LINE_LIMIT = 2
    BYTE_CAP = 3


class WriteOperation(WireEnum):
    """What a write did to its target."""

    UNSPECIFIED = 0
    CREATE = 1
    UPDATE = 2


class Published(WireEnum):
    """Whether the effect of a call is there. After `MAYBE`, reading the file tells."""

    UNSPECIFIED = 0
    NO = 1
    YES = 2
    MAYBE = 3


class NoticeKind(WireEnum):
    """What a notice is about."""

    UNSPECIFIED = 0
    LINE_ENDINGS_CHANGED = 1
    BOM_CHANGED = 2
    FINAL_NEWLINE_CHANGED = 3
    HARD_LINKS_KEEP_OLD_CONTENT = 4
    OWNERSHIP_NOT_KEPT = 5
    PRIVILEGE_BITS_DROPPED = 6
    ATTRIBUTES_NOT_KEPT = 7
    NOT_ATOMIC = 8
    OBSERVATION_NOT_RECORDED = 9
    DIFF_LEFT_OUT = 10


class DiffLineKind(WireEnum):
    """What one line of a hunk is."""

    UNSPECIFIED = 0
    CONTEXT = 1
    REMOVED = 2
    ADDED = 3


class TextEncoding(WireEnum):
    """How the bytes of a file that is not UTF-8 seem to be encoded."""

    UNSPECIFIED = 0
    UTF16_LE = 1
    UTF16_BE = 2
    UTF32_LE = 3
    UTF32_BE = 4


class NearMissReason(WireEnum):
    """Why a place that nearly matches does not."""

    UNSPECIFIED = 0
    WHITE_SPACE = 1
    INDENTATION = 2
    TABS_OR_SPACES = 3
    TRAILING_BLANKS = 4
    LOOK_ALIKES = 5
    NORMAL_FORM = 6
    LINE_NUMBER_PREFIX = 7
    DOUBLED_ESCAPES = 8
    LETTER_CASE = 9
    SOME_LINES_DIFFER = 10


class SearchStopReason(WireEnum):
    """Why a search for near misses ended early."""

    UNSPECIFIED = 0
    BYTE_BUDGET = 1
    TIME_BUDGET = 2


class UnavailableCause(WireEnum):
    """Why a call has to wait."""

    UNSPECIFIED = 0
    OPEN_FOR_WRITING = 1
    KEEPS_CHANGING = 2
    PROVIDER_UNREACHABLE = 3
    OVERLOADED = 4


class AbortCause(WireEnum):
    """Why a call was given up."""

    UNSPECIFIED = 0
    CANCELLED = 1
    DEADLINE_EXCEEDED = 2
    DRAINING = 3


class LimitKind(WireEnum):
    """The limits that can refuse or shorten something."""

    UNSPECIFIED = 0
    DEFAULT_LIMIT_LINES = 1
    MAX_LIMIT_LINES = 2
    MAX_WINDOW_BYTES = 3
    MAX_LINE_CHARS = 4
    MAX_CONTENT_BYTES = 5
    MAX_FILE_BYTES = 6
    MAX_READ_BYTES = 7
    MAX_DIFF_BYTES = 8
    MAX_MESSAGE_BYTES = 9
    MAX_PATH_BYTES = 10
    NEAR_MISS_BYTES = 11
    NEAR_MISS_MS = 12
    MAX_SESSIONS = 13
    WRITE_BEHIND_MS = 14
    MAX_REMEMBERED_BYTES = 15
