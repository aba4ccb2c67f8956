"""What counts as text, and the windows of its lines."""

from __future__ import annotations

import pytest

from toolfs.enums import LineEndings, ReadStopReason, TextEncoding
from toolfs.provider import LineWindow
from toolfs.provider.name import display_form, rule_for, similar_names
from toolfs.provider.text import (
    NotText,
    TextSummary,
    line_end_changes,
    pieces_of,
    split_lines,
    summarize,
    version_of,
    window_of,
)

DEFAULT = LineWindow(1, 2_000, 51_200, 2_000)


def summary(content: bytes) -> TextSummary:
    found = summarize(content)
    assert isinstance(found, TextSummary)
    return found


@pytest.mark.parametrize(
    ("content", "total", "endings", "ends", "bom"),
    [
        (b"", 0, LineEndings.NONE, False, False),
        (b"\xef\xbb\xbf", 0, LineEndings.NONE, False, True),
        (b"\n", 1, LineEndings.LF, True, False),
        (b"a", 1, LineEndings.NONE, False, False),
        (b"a\nb", 2, LineEndings.LF, False, False),
        (b"a\r\nb\r\n", 2, LineEndings.CRLF, True, False),
        (b"a\r\nb\n", 2, LineEndings.MIXED, True, False),
        (b"a\rb\r", 1, LineEndings.NONE, False, False),
        (b"\xef\xbb\xbfa\n", 1, LineEndings.LF, True, True),
        (b"\r\r\n", 1, LineEndings.CRLF, True, False),
    ],
)
def test_a_pass_over_a_text_counts_what_is_in_it(
    content: bytes, total: int, endings: LineEndings, ends: bool, bom: bool
) -> None:
    found = summary(content)
    assert (found.total_lines, found.line_endings, found.ends_with_newline, found.bom) == (total, endings, ends, bom)
    assert found.size == len(content)


@pytest.mark.parametrize(
    ("content", "offset", "is_nul", "encoding"),
    [
        (b'key="u\0v"\n', 6, True, TextEncoding.UNSPECIFIED),
        (b"n = 7\n# na\xefve\n", 10, False, TextEncoding.UNSPECIFIED),
        (b"caf\xc3", 3, False, TextEncoding.UNSPECIFIED),
        (b"\xff\0", 0, False, TextEncoding.UNSPECIFIED),
        (b"\xff\xfeh\0i\0", 0, False, TextEncoding.UTF16_LE),
        (b"\xfe\xff\0h\0i", 0, False, TextEncoding.UTF16_BE),
        (b"h\0i\0\r\0\n\0", 1, True, TextEncoding.UTF16_LE),
        (b"\0\0\0h\0\0\0i", 0, True, TextEncoding.UTF32_BE),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0", 7, True, TextEncoding.UNSPECIFIED),
    ],
)
def test_what_is_no_text_is_named_with_its_first_offending_byte(
    content: bytes, offset: int, is_nul: bool, encoding: TextEncoding
) -> None:
    assert summarize(content) == NotText(offset, is_nul, encoding)


@pytest.mark.parametrize(
    ("window", "texts", "stop"),
    [
        (DEFAULT, [b"one", b"two", b"", b"four"], ReadStopReason.END_OF_FILE),
        (LineWindow(2, 1, 100, 100), [b"two"], ReadStopReason.LINE_LIMIT),
        (LineWindow(4, 1, 100, 100), [b"four"], ReadStopReason.END_OF_FILE),
        (LineWindow(5, 9, 100, 100), [], ReadStopReason.END_OF_FILE),
        (LineWindow(1, 9, 6, 100), [b"one", b"two", b""], ReadStopReason.BYTE_CAP),
        (LineWindow(1, 9, 2, 100), [b"on"], ReadStopReason.BYTE_CAP),
        (LineWindow(4, 9, 100, 2), [b"fo"], ReadStopReason.END_OF_FILE),
    ],
)
def test_a_window_has_the_lines_that_it_asks_for(window: LineWindow, texts: list[bytes], stop: ReadStopReason) -> None:
    lines, reason = window_of(b"\xef\xbb\xbfone\r\ntwo\n\nfour", window)
    assert ([line.text for line in lines], reason) == (texts, stop)


def test_windows_end_to_end_are_the_file() -> None:
    content = "".join(f"{number}{'é' * (number % 90)}\n" for number in range(700)).encode()
    rebuilt, first = b"", 1
    while True:
        lines, stop = window_of(content, LineWindow(first, 37, 1_024, 2_000))
        rebuilt += b"".join(line.text + b"\n" for line in lines)
        first += len(lines)
        if stop is ReadStopReason.END_OF_FILE:
            break
    assert rebuilt == content


@pytest.mark.parametrize("first", [1, 2, 5_041, 5_042, 5_043, 99_999, 100_000, 100_001, 10**15])
def test_a_window_far_into_a_file_starts_at_its_line(first: int) -> None:
    # Lines of 13 bytes, which do not end where the pieces of a count do.
    content = b"".join(b"line %07d\n" % number for number in range(1, 100_001))
    lines, stop = window_of(content, LineWindow(first, 1, 1_024, 2_000))
    assert [line.text for line in lines] == ([b"line %07d" % first] if first <= 100_000 else [])
    assert (stop is ReadStopReason.LINE_LIMIT) is (first < 100_000)


def test_a_cut_line_tells_its_full_length_in_characters() -> None:
    (line,), _ = window_of(("é" * 30).encode(), LineWindow(1, 9, 100, 20))
    assert (line.text, line.full_length) == (("é" * 20).encode(), 30)
    (line,), _ = window_of(("é" * 30).encode(), LineWindow(1, 9, 5, 20))
    assert (line.text, line.full_length) == ("éé".encode(), 30)


@pytest.mark.parametrize("content", ["aé€😀".encode() * 999, b"\x80" * 5_000, b"", b"a" * 4_096])
def test_pieces_are_the_content_and_end_between_characters(content: bytes) -> None:
    pieces = list(pieces_of(content, 64))
    assert b"".join(pieces) == content
    assert all(0 < len(piece) <= 64 for piece in pieces)
    if b"\x80\x80\x80\x80" not in content:
        assert all(piece.decode() for piece in pieces)


@pytest.mark.parametrize(
    ("before", "after", "texts"),
    [
        (b"a\r\n", b"a\n", ["line endings changed from CRLF to LF"]),
        (b"a\n", b"a\r\nb\n", ["line endings changed from LF to mixed"]),
        (b"\xef\xbb\xbfa\n", b"a\n", ["the byte order mark was removed"]),
        (b"a", b"a\n", ["the file now ends with a newline"]),
        (b"", b"a\r\n", []),
        (b"a\n", b"b\n", []),
    ],
)
def test_what_a_model_does_not_see_is_noticed(before: bytes, after: bytes, texts: list[str]) -> None:
    assert [notice.text for notice in line_end_changes(summary(before), summary(after))] == texts


def test_lines_are_split_at_lf_alone() -> None:
    assert split_lines("a\r\nb\u2028\rc\n\nd".encode()) == [b"a\r\n", "b\u2028\rc\n".encode(), b"\n", b"d"]
    assert split_lines(b"") == []


def test_a_version_names_content() -> None:
    assert version_of(b"x") == version_of(b"x") != version_of(b"y")
    assert version_of(b"").startswith("sha256-e3b0c442")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"notes.txt", "notes.txt"),
        (b"\xff\n", r"\xff\u{a}"),
        ("a\u202eb\u2028".encode(), r"a\u{202e}b\u{2028}"),
        (b"tab\there", r"tab\u{9}here"),
        (b"\xed\xa0\x80", r"\xed\xa0\x80"),
    ],
)
def test_names_that_would_break_a_line_or_hide_text_are_escaped(raw: bytes, shown: str) -> None:
    assert display_form(raw) == shown


@pytest.mark.parametrize(
    ("wanted", "candidates", "expected"),
    [
        ("Shot 1 PM.txt", ["Shot 1\u202fPM.txt", "x"], ("Shot 1\u202fPM.txt",)),
        ("café.md", ["cafe\u0301.md", "Café.md"], ("cafe\u0301.md", "Café.md")),
        ("main.rs", ["mian.rs", "lib.rs", "main.rs"], ("mian.rs",)),
        ("ab", ["cd", "b"], ()),
        ("a.txt", ["a.txt\n"], ()),
    ],
)
def test_similar_names_are_hints_that_can_be_typed(
    wanted: str, candidates: list[str], expected: tuple[str, ...]
) -> None:
    raw = [name.encode() for name in candidates]
    assert similar_names(wanted.encode(), raw) == similar_names(wanted.encode(), raw[::-1]) == expected


def test_a_protected_name_protects_itself_and_all_below() -> None:
    assert rule_for(b"a/.git/config", [".git"]) == ".git"
    assert rule_for(b"a/.github/x", [".git"]) is None
