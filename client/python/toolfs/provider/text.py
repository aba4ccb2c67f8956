"""What counts as text, its lines, and what a pass over it learns. Values in, values out.

Text is UTF-8 without NUL, the whole file through. A line ends at LF; the CR of a CR LF belongs to the line end, a lone
CR is text. A byte order mark is no part of the first line.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

from toolfs.enums import LineEndings, NoticeKind, ReadStopReason, TextEncoding
from toolfs.outcome import Notice
from toolfs.provider.value import LineWindow, RawLine

BOM = b"\xef\xbb\xbf"
"""The bytes of a UTF-8 byte order mark."""

LF, CRLF = b"\n", b"\r\n"

PIECE_BYTES = 64 << 10
"""Bytes of one piece of content on its way out."""

_HEAD_BYTES = 64

_MARKS = (
    (b"\xff\xfe\0\0", TextEncoding.UTF32_LE),
    (b"\0\0\xfe\xff", TextEncoding.UTF32_BE),
    (b"\xff\xfe", TextEncoding.UTF16_LE),
    (b"\xfe\xff", TextEncoding.UTF16_BE),
)
_UNMARKED = (
    (4, "little", TextEncoding.UTF32_LE),
    (4, "big", TextEncoding.UTF32_BE),
    (2, "little", TextEncoding.UTF16_LE),
    (2, "big", TextEncoding.UTF16_BE),
)


@dataclass(frozen=True, slots=True)
class TextSummary:
    """What a whole pass over a text says about it."""

    size: int
    total_lines: int
    """A last line without line end counts; an empty file, or a byte order mark alone, has none."""
    lf_count: int
    """How many LF have no CR before them."""
    crlf_count: int
    first_line_end: bytes | None
    """`LF` or `CRLF`; `None` where no line ends."""
    ends_with_newline: bool
    bom: bool

    @property
    def line_endings(self) -> LineEndings:
        """Which line ends occur."""
        if self.lf_count and self.crlf_count:
            return LineEndings.MIXED
        if self.lf_count:
            return LineEndings.LF
        return LineEndings.CRLF if self.crlf_count else LineEndings.NONE

    @property
    def dominant_line_end(self) -> bytes | None:
        """The line end that occurs more often; the first one of the file when both occur equally often."""
        if self.lf_count == self.crlf_count:
            return self.first_line_end
        return LF if self.lf_count > self.crlf_count else CRLF


@dataclass(frozen=True, slots=True)
class NotText:
    """Why bytes are not text: the offset of the first offending one, and the encoding where the first bytes name it."""

    byte_offset: int
    is_nul: bool
    encoding: TextEncoding


def version_of(content: bytes) -> str:
    """The version by which this package names content: `sha256-` and the SHA-256 in hex."""
    return f"sha256-{hashlib.sha256(content).hexdigest()}"


def summarize(content: bytes) -> TextSummary | NotText:
    """Judges content, and counts what is in it."""
    nul = content.find(b"\0")
    try:
        content.decode()
        invalid = -1
    except UnicodeDecodeError as error:
        invalid = error.start
    offending = [offset for offset in (nul, invalid) if offset >= 0]
    if offending:
        return NotText(min(offending), min(offending) == nul, _encoding_of(content[:_HEAD_BYTES]))
    body = without_bom(content)
    crlf_count = body.count(CRLF)
    newlines = body.count(LF)
    first = body.find(LF)
    first_line_end = None if first < 0 else CRLF if body[first - 1 : first] == b"\r" else LF
    ends_with_newline = body.endswith(LF)
    return TextSummary(
        size=len(content),
        total_lines=newlines + (1 if body and not ends_with_newline else 0),
        lf_count=newlines - crlf_count,
        crlf_count=crlf_count,
        first_line_end=first_line_end,
        ends_with_newline=ends_with_newline,
        bom=len(body) < len(content),
    )


def without_bom(content: bytes) -> bytes:
    """The content without its byte order mark."""
    return content[len(BOM) :] if content.startswith(BOM) else content


def split_lines(content: bytes) -> list[bytes]:
    """The lines with their line ends; a last one without LF counts."""
    lines = content.split(LF)
    last = lines.pop()
    return [line + LF for line in lines] + ([last] if last else [])


def window_of(content: bytes, window: LineWindow) -> tuple[tuple[RawLine, ...], ReadStopReason]:
    """The lines of a text that a window asks for, and why it ended where it did."""
    lines: list[RawLine] = []
    room = window.max_bytes
    body = without_bom(content)
    for text, crlf in _raw_lines(body, _start_of(body, window.first_line)):
        if len(lines) == window.max_lines:
            return tuple(lines), ReadStopReason.LINE_LIMIT
        line = _cut(text, crlf, window.max_line_chars)
        if len(line.text) > room:
            if lines:
                return tuple(lines), ReadStopReason.BYTE_CAP
            kept = line.text[:room].decode("utf-8", "ignore").encode()
            line = RawLine(kept, crlf, line.full_length or len(text.decode()))
        lines.append(line)
        room -= len(line.text)
    return tuple(lines), ReadStopReason.END_OF_FILE


def _start_of(body: bytes, line: int) -> int:
    """Where a line starts, counted from 1; the size of the body where it has fewer."""
    before = line - 1
    start = 0
    # By pieces: a step for each line would hold up every other call for seconds in a large file.
    while before > 0 and start < len(body):
        found = body.count(LF, start, start + PIECE_BYTES)
        if found >= before:
            for _ in range(before):
                start = body.find(LF, start) + 1
            return start
        before -= found
        start += PIECE_BYTES
    return min(start, len(body))


def _raw_lines(body: bytes, start: int) -> Iterator[tuple[bytes, bool]]:
    """Each line from an offset on without its line end, and whether that was CR LF."""
    while start < len(body):
        end = body.find(LF, start)
        if end < 0:
            yield body[start:], False
            return
        crlf = end > start and body[end - 1] == 0x0D
        yield body[start : end - 1 if crlf else end], crlf
        start = end + 1


def _cut(text: bytes, crlf: bool, max_chars: int) -> RawLine:
    # As many bytes as characters may be: only a longer line has to be counted.
    if len(text) <= max_chars:
        return RawLine(text, crlf, None)
    characters = text.decode()
    if len(characters) <= max_chars:
        return RawLine(text, crlf, None)
    return RawLine(characters[:max_chars].encode(), crlf, len(characters))


def pieces_of(content: bytes, piece_bytes: int = PIECE_BYTES) -> Iterator[bytes]:
    """The content in pieces that end between characters, where it is text; at least 4 bytes each but the last."""
    start = 0
    while start < len(content):
        end = min(start + piece_bytes, len(content))
        if end < len(content):
            # A character has at most 4 bytes: where more continuation bytes follow each other there is no text.
            borders = range(end, end - 4, -1)
            end = next((border for border in borders if content[border] & 0xC0 != 0x80), end)
        yield content[start:end]
        start = end


def line_end_changes(before: TextSummary, after: TextSummary) -> tuple[Notice, ...]:
    """What a write changed that a model does not see: line endings, byte order mark, final newline.

    A side without text has none of these, so that filling an empty file, or emptying one, changes none of them.
    """
    notices = []
    old, new = before.line_endings, after.line_endings
    if old is not new and LineEndings.NONE not in (old, new):
        text = f"line endings changed from {_endings_name(old)} to {_endings_name(new)}"
        notices.append(Notice(NoticeKind.LINE_ENDINGS_CHANGED, text))
    if before.total_lines == 0 or after.total_lines == 0:
        return tuple(notices)
    if before.bom != after.bom:
        text = "a byte order mark was added" if after.bom else "the byte order mark was removed"
        notices.append(Notice(NoticeKind.BOM_CHANGED, text))
    if before.ends_with_newline != after.ends_with_newline:
        ends = after.ends_with_newline
        text = "the file now ends with a newline" if ends else "the file no longer ends with a newline"
        notices.append(Notice(NoticeKind.FINAL_NEWLINE_CHANGED, text))
    return tuple(notices)


def _endings_name(endings: LineEndings) -> str:
    return "mixed" if endings is LineEndings.MIXED else endings.name


def _encoding_of(head: bytes) -> TextEncoding:
    """The encoding that the first bytes of a file name by a mark or by a clear pattern of NULs."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    for width, order, encoding in _UNMARKED:
        units = [
            int.from_bytes(head[at : at + width], "little" if order == "little" else "big")
            for at in range(0, len(head) - width + 1, width)
        ]
        if _reads_as_text(units):
            return encoding
    return TextEncoding.UNSPECIFIED


def _reads_as_text(units: list[int]) -> bool:
    """At least two units, no control characters, three in four below U+0100: what mostly Latin text looks like."""
    latin = sum(unit < 0x100 for unit in units)
    is_text = all(unit <= 0x10FFFF and not _is_control(unit) for unit in units)
    return len(units) >= 2 and is_text and latin * 4 >= len(units) * 3


def _is_control(unit: int) -> bool:
    return (unit < 0x20 and unit not in (0x09, 0x0A, 0x0C, 0x0D)) or 0x7F <= unit < 0xA0
