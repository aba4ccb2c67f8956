"""Literal replacement: what it changes, what it leaves, and what it says of both."""

from __future__ import annotations

import random
import time

import pytest

from toolfs.enums import DiffLineKind, NearMissReason, SearchStopReason
from toolfs.outcome import ChangedRange, Diff
from toolfs.provider import diff, edit, near_miss
from toolfs.provider.edit import Ambiguous, Edited, NoMatch, occurrences, same_text
from toolfs.provider.text import BOM, TextSummary, split_lines, summarize


def apply(content: bytes, old: str, new: str, replace_all: bool = False) -> Edited | NoMatch | Ambiguous:
    summary = summarize(content)
    assert isinstance(summary, TextSummary)
    return edit.apply(content, summary, old, new, replace_all)


def edited(content: bytes, old: str, new: str, replace_all: bool = False) -> Edited:
    result = apply(content, old, new, replace_all)
    assert isinstance(result, Edited), result
    return result


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        (b"a\r\nb\nc\r\n", "b", "B", b"a\r\nB\nc\r\n"),
        (b"x=1\r\ny=2\r\n", "x=1\ny=2", "x=1\ny=3", b"x=1\r\ny=3\r\n"),
        (b"x=1\ny=2\n", "x=1\r\ny=2", "x=1\r\ny=3", b"x=1\ny=3\n"),
        (b"one\r\ntwo\r\n", "one", "1a\n1b", b"1a\r\n1b\r\ntwo\r\n"),
        (b"one", "one", "1a\r\n1b", b"1a\r\n1b"),
        (b"a\nb\r\nc\r\n", "a\nb", "x\ny\nz", b"x\ny\nz\r\nc\r\n"),
        (b"\xef\xbb\xbfconst s;\n", "const", "let", b"\xef\xbb\xbflet s;\n"),
        (b"u\nv\n", "v\n", "w", b"u\nw"),
        (b"u\nv", "v", "w", b"u\nw"),
        (b"}", "}", "}\n", b"}\n"),
        (b"one two three", " two", "", b"one three"),
        (b"all", "all", "", b""),
        (b"one\n", "one", r"<$&|\1|\n|&amp;>", b"one\n".replace(b"one", rb"<$&|\1|\n|&amp;>")),
        # A lone CR that comes to stand in front of a LF stays text.
        (b"a|b\n", "b", "b\r", b"a|b\r\r\n"),
        (b"a\rX\nb\n", "X", "", b"a\r\r\nb\n"),
    ],
)
def test_bytes_outside_a_match_stay(content: bytes, old: str, new: str, expected: bytes) -> None:
    assert edited(content, old, new).content == expected


@pytest.mark.parametrize(
    ("content", "old"),
    [
        (b"it\xe2\x80\x99s", "it's"),
        (b"\xef\xbb\xbfa", "\ufeffa"),
        (b"a\r\nb", "a\r"),
        (b"A", "a"),
        (b"a\nb", "a\n\nb"),
        (b"", "a"),
    ],
)
def test_what_is_not_there_literally_does_not_match(content: bytes, old: str) -> None:
    assert apply(content, old, "new") == NoMatch()
    assert apply(content, old, "new", replace_all=True) == NoMatch()


@pytest.mark.parametrize(
    ("content", "old", "count", "lines"),
    [
        (b"a\nx\nb\nx\n", "x", 2, (2, 4)),
        (b"aaa\n", "aa", 2, (1, 1)),
        (b"x\r\n" * 30, "x", 30, tuple(range(1, 21))),
        (b"abababab", "abab", 3, (1, 1, 1)),
        (b"\n\n\n", "\n", 3, (1, 2, 3)),
    ],
)
def test_several_matches_are_counted_with_those_that_overlap(
    content: bytes, old: str, count: int, lines: tuple[int, ...]
) -> None:
    assert apply(content, old, "") == Ambiguous(count, lines)


def test_replace_all_goes_from_the_left_and_never_rescans() -> None:
    result = edited(b"aaaaa", "aa", "aaa", replace_all=True)
    assert (result.content, result.matches.total) == (b"aaaaaaa", 2)


def test_places_are_told_in_lines() -> None:
    result = edited(b"one\r\ntwo\r\nthree\r\nfour\r\n", "two\nthree", "2\n3\n3b")
    assert [(place.start_line, place.end_line) for place in result.matches.ranges] == [(2, 3)]
    assert diff.changed_ranges(result.changes).ranges == (ChangedRange(2, 2, 2, 3),)
    result = edited(b"a\nb\na\nb\na\n", "a", "A", replace_all=True)
    assert [place.start_line for place in result.matches.ranges] == [1, 3, 5]
    ranges = diff.changed_ranges(result.changes)
    assert (ranges.total, ranges.ranges[1]) == (3, ChangedRange(3, 1, 3, 1))


def test_whole_lines_leave_the_next_line_alone() -> None:
    result = edited(b"a\nb\nc\n", "b\n", "")
    assert diff.changed_ranges(result.changes).ranges == (ChangedRange(2, 1, 1, 0),)


def test_only_the_first_hundred_places_are_told() -> None:
    result = edited(b"x\n-\n" * 150, "x", "y", replace_all=True)
    assert (len(result.matches.ranges), result.matches.total) == (100, 150)
    ranges = diff.changed_ranges(result.changes)
    assert (len(ranges.ranges), ranges.total) == (100, 150)
    assert diff.changed_ranges(edited(b"x\n" * 9, "x", "y", replace_all=True).changes).total == 1, "ranges that touch"


def test_random_edits_are_replacements_in_the_text_that_a_model_sees() -> None:
    dice = random.Random(7)
    pieces = ["a", "b", "\n", "\r\n", "\r", "é", "aa", "\ufeff"]
    for _ in range(5_000):
        content = "".join(dice.choice(pieces) for _ in range(dice.randrange(12))).encode()
        old = "".join(dice.choice(pieces) for _ in range(1 + dice.randrange(3)))
        new = "".join(dice.choice(pieces) for _ in range(dice.randrange(4)))
        if same_text(old, new):
            continue
        result = apply(content, old, new, replace_all=True)
        seen = content.decode().removeprefix("\ufeff").replace("\r\n", "\n")
        wanted = seen.replace(old.replace("\r\n", "\n"), new.replace("\r\n", "\n"))
        if isinstance(result, NoMatch):
            assert seen == wanted
            continue
        assert isinstance(result, Edited)
        kept = result.content.decode().removeprefix("\ufeff") if content.startswith(BOM) else result.content.decode()
        assert kept.replace("\r\n", "\n") == wanted, (content, old, new)
        old_lines, new_lines = split_lines(content), split_lines(result.content)
        assert patched(content, diff.around(old_lines, new_lines, result.changes, 1 << 20)) == result.content


def test_occurrences_are_those_of_a_plain_search() -> None:
    dice = random.Random(11)
    for _ in range(5_000):
        hay = bytes(dice.choice(b"ab") for _ in range(dice.randrange(40)))
        needle = bytes(dice.choice(b"ab") for _ in range(1 + dice.randrange(8)))
        plain = [at for at in range(len(hay)) if hay.startswith(needle, at)]
        assert list(occurrences(hay, needle)) == plain, (hay, needle)


def test_a_needle_that_repeats_itself_does_not_hold_up_the_search() -> None:
    began = time.process_time()
    assert sum(1 for _ in occurrences(b"a" * 400_000, b"a" * 200_000)) == 200_001
    assert time.process_time() - began < 20


def patched(old: bytes, told: Diff) -> bytes:
    """The old content with the hunks applied."""
    assert not told.omitted, told.omission_reason
    lines, new = split_lines(old), b""
    at = 0
    for hunk in told.hunks:
        start = hunk.old_start - (1 if hunk.old_count else 0)
        new += b"".join(lines[at:start])
        at = start + hunk.old_count
        for line in hunk.lines:
            if line.kind is not DiffLineKind.REMOVED:
                new += line.text.encode() + (b"" if line.newline_missing else b"\n")
    return new + b"".join(lines[at:])


def test_a_diff_makes_the_new_content_of_the_old_one() -> None:
    dice = random.Random(3)
    for _ in range(2_000):
        old, new = ("".join(dice.choice("ab\n\n\r") for _ in range(dice.randrange(60))).encode() for _ in range(2))
        told = diff.between(old, new, 1 << 20)
        assert patched(old, told) == new
        assert bool(told.hunks) == (old != new)
        assert bool(told.text) == (old != new)


def test_a_diff_has_the_form_of_unified_hunks() -> None:
    told = diff.between(b"1\n2\n3\n4\n5\n6", b"1\n2\n3\n4\nfive\n6\n", 1 << 20)
    assert told.text == ("@@ -2,5 +2,5 @@\n 2\n 3\n 4\n-5\n-6\n\\ No newline at end of file\n+five\n+6\n")
    assert diff.between(None, b"a\n", 100).text == "@@ -0,0 +1 @@\n+a\n"
    assert diff.between(b"a\n", b"", 100).text == "@@ -1 +0,0 @@\n-a\n"


@pytest.mark.parametrize(("old", "new"), [(b"\xff", b"x"), (b"x" * 60, b"y" * 60)])
def test_a_diff_that_is_left_out_says_why(old: bytes, new: bytes) -> None:
    told = diff.between(old, new, 100)
    assert (told.omitted, told.hunks, told.text) == (True, (), "") and told.omission_reason


@pytest.mark.parametrize(
    ("content", "old", "lines", "reasons"),
    [
        (b"\tif x {\n\t\ty()\n", "    if x {\n        y()", (1, 2), (NearMissReason.TABS_OR_SPACES,)),
        (b"x\n  a = 1\n", "    a = 1", (2, 2), (NearMissReason.INDENTATION,)),
        (b"a = 1  \r\nb\r\n", "a = 1\nb", (1, 2), (NearMissReason.TRAILING_BLANKS,)),
        (b"a  =  1\n", "a = 1", (1, 1), (NearMissReason.WHITE_SPACE,)),
        (b"Hello\n", "hello", (1, 1), (NearMissReason.LETTER_CASE,)),
    ],
)
def test_a_near_miss_says_why_it_does_not_match(
    content: bytes, old: str, lines: tuple[int, int], reasons: tuple[NearMissReason, ...]
) -> None:
    (found,), stopped = near_miss.search(content, old)
    assert ((found.start_line, found.end_line), found.reasons) == (lines, reasons)
    assert found.reason_text and stopped is SearchStopReason.UNSPECIFIED


def test_the_search_for_near_misses_is_bounded_and_says_so() -> None:
    content = b"line\n" * (near_miss.MAX_SEARCHED_BYTES // 5) + b" wanted\n"
    assert near_miss.search(content, "wanted") == ((), SearchStopReason.BYTE_BUDGET)
    found, stopped = near_miss.search(b" a\n" * 10, "a")
    assert (len(found), stopped) == (3, SearchStopReason.UNSPECIFIED)
    assert near_miss.search(b"\n\n\n", "\n ")[0] == ()
