"""The matcher must fail where an answer is not what a case expects: else every case passes."""

from __future__ import annotations

from typing import Any

import pytest

from . import match


def differ(expected: Any, actual: Any) -> bool:
    return bool(match.mismatches(expected, actual, match.Bindings()))


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({}, {"size": "1"}),
        ({"size": 12}, {"size": "12", "bom": False}),
        ({"size": 12}, {"size": 12}),
        ({"size": -1}, {"size": "-1"}),
        ({"bom": False}, {"bom": False}),
        ({"next_offset": None}, {}),
        ({"version": {"$any": True}}, {"version": "v"}),
        ({"bom": {"$any": True}}, {"bom": False}),
        ({"message": {"$contains": "2 bytes"}}, {"message": "it has 2 bytes"}),
        ({"lines": ["1", 2]}, {"lines": ["1", "2"]}),
        ({"notices": []}, {}),
        ([{"a": 1}, {"b": None}], [{"a": "1", "c": 3}, {}]),
        ("12", "12"),
    ],
)
def test_what_matches_is_refused(expected: Any, actual: Any) -> None:
    assert match.mismatches(expected, actual, match.Bindings()) == []


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        pytest.param({"size": 12}, {}, id="a missing member"),
        pytest.param({"detail": {"size": 12}}, {"detail": {}}, id="a missing member further in"),
        pytest.param({"size": 12}, {"size": "13"}, id="another number"),
        pytest.param({"size": 1}, {"size": True}, id="a boolean for a number"),
        pytest.param({"bom": True}, {"bom": 1}, id="a number for a boolean"),
        pytest.param({"bom": False}, {}, id="an absent false"),
        pytest.param({"bom": False}, {"bom": "false"}, id="a text for a boolean"),
        pytest.param({"size": 0}, {}, id="an absent zero"),
        pytest.param({"size": 0}, {"size": False}, id="false for zero"),
        pytest.param({"size": 12}, {"size": "12.0"}, id="a fraction for a number"),
        pytest.param({"size": "12"}, {"size": 12}, id="a number for a text"),
        pytest.param({"text": "ab"}, {"text": "abc"}, id="a longer text"),
        pytest.param({"text": "é"}, {"text": "e\u0301"}, id="another normal form"),
        pytest.param({"next_offset": None}, {"next_offset": "3"}, id="something where nothing is due"),
        pytest.param({"text": None}, {"text": ""}, id="an empty text where nothing is due"),
        pytest.param([1, 2], ["1"], id="a shorter array"),
        pytest.param([1], ["1", "2"], id="a longer array"),
        pytest.param([], [{}], id="an element where none is due"),
        pytest.param([{"a": 1}], None, id="an absent array"),
        pytest.param([1, 2], ["2", "1"], id="another order"),
        pytest.param([1], {"0": 1}, id="an object for an array"),
        pytest.param({"a": {}}, {"a": "text"}, id="a text for an object"),
        pytest.param({"a": {}}, {}, id="an absent object"),
        pytest.param({"a": {"$any": True}}, {}, id="nothing where anything is due"),
        pytest.param({"a": {"$contains": "x"}}, {"a": "y"}, id="a text without the piece"),
        pytest.param({"a": {"$contains": "1"}}, {"a": 1}, id="a number for a piece of text"),
        pytest.param({"a": {"$bind": "v"}}, {}, id="nothing to bind"),
    ],
)
def test_what_differs_passes(expected: Any, actual: Any) -> None:
    assert differ(expected, actual)


def test_a_bound_name_may_change() -> None:
    bindings = match.Bindings()
    assert match.mismatches({"version": {"$bind": "v1"}}, {"version": "a"}, bindings) == []
    assert match.mismatches({"version": {"$bind": "v1"}}, {"version": "a"}, bindings) == []
    assert match.mismatches({"version": {"$bind": "v1"}}, {"version": "b"}, bindings) != []


def test_two_names_may_stand_for_the_same() -> None:
    bindings = match.Bindings()
    assert match.mismatches({"$bind": "v1"}, "a", bindings) == []
    assert match.mismatches({"$bind": "v2"}, "a", bindings) != []
    assert match.mismatches({"$bind": "v2"}, "b", bindings) == []


def test_a_difference_does_not_tell_where_it_is() -> None:
    problems = match.mismatches({"a": [{"b": 1}]}, {"a": [{"b": "2"}]}, match.Bindings(), "outcome")
    assert problems == ["outcome.a[0].b: expected 1, but got '2'"]


@pytest.mark.parametrize(
    ("expected", "actual"),
    [("1: a", "1: a\n"), ("1: a", None), ("", None), ({"contains": ["1: a", "2: b"]}, "1: a"), ("", "x")],
)
def test_other_content_passes(expected: Any, actual: str | None) -> None:
    assert match.content_mismatches(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [("1: a", "1: a"), ("", ""), ({"contains": ["a", "b"]}, "b and a")],
)
def test_the_same_content_is_refused(expected: Any, actual: str) -> None:
    assert match.content_mismatches(expected, actual) == []


@pytest.mark.parametrize(
    "expected",
    [
        {"$ny": True},
        {"$any": False},
        {"$contains": ""},
        {"$bind": 1},
        {"a": [{"$any": True, "b": 1}]},
    ],
)
def test_a_misspelt_expectation_is_taken(expected: Any) -> None:
    assert list(match.faults(expected))
