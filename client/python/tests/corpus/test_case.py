"""A file that is no case must not pass as one: what it meant to show would go unseen."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from . import case, contract

STEP = '{"read": {"file_path": "a"}}'
TITLE = '"title": "what is right, as a sentence"'


def load(tmp_path: Path, text: str) -> case.Case:
    path = tmp_path / "read" / "one.json"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return case.load_all(tmp_path)[0]


def test_a_case_is_refused_or_lacks_a_part(tmp_path: Path) -> None:
    loaded = load(tmp_path, f'{{{TITLE}, "files": {{"b": "", "a": ""}}, "steps": [{STEP}, {{"restart": {{}}}}]}}')
    assert loaded.name == "read/one"
    assert list(loaded.files) == ["b", "a"]
    assert loaded.disk is None and loaded.restarts and len(loaded.steps) == 2


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{", id="broken JSON"),
        pytest.param(f'{{"steps": [{STEP}]}}', id="no title"),
        pytest.param(f'{{{TITLE}, "steps": []}}', id="no steps"),
        pytest.param(f'{{{TITLE}, "steps": [{STEP}], "setup": {{}}}}', id="an unknown member"),
        pytest.param(f'{{{TITLE}, "steps": [{{"reed": {{}}}}]}}', id="an unknown step"),
        pytest.param(f'{{{TITLE}, "steps": [{{"restart": {{}}, "close": {{}}}}]}}', id="two steps in one"),
        pytest.param(f'{{{TITLE}, "steps": [{STEP}], "files": {{"a": "", "a": "x"}}}}', id="a path twice"),
        pytest.param(f'{{{TITLE}, "steps": [{STEP}], "files": {{"a": "\\ud800"}}}}', id="a lone surrogate"),
        pytest.param(
            f'{{{TITLE}, "steps": [{{"read": {{"file_path": "a"}}, "expect": {{"outcome": {{"read": '
            f'{{"version": {{"$any": 1}}}}}}}}}}]}}',
            id="a misspelt expectation",
        ),
        pytest.param(f'{{{TITLE}, "steps": [{{"parallel": [{STEP}, {{"restart": {{}}}}]}}]}}', id="a parallel restart"),
    ],
)
def test_what_is_no_case_is_taken(tmp_path: Path, text: str) -> None:
    with pytest.raises(case.CaseError, match=r"one\.json"):
        load(tmp_path, text)


def test_a_file_that_is_no_case_is_overlooked(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("")
    with pytest.raises(case.CaseError, match=r"notes\.md"):
        case.load_all(tmp_path)


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param({"outcome": {"read": {"next_ofset": None}}}, id="a misspelt field that is expected to be absent"),
        pytest.param({"error": {"code": "FS_NOT_THERE"}}, id="an unknown code"),
        pytest.param({"outcome": {"edit": {"changed_ranges": {"ranges": [{"oldStart": 1}]}}}}, id="a camel-case name"),
        pytest.param({"outcome": {"read": {"line_endings": "LINE_ENDINGS_UNSPECIFIED"}}}, id="a zero that is left out"),
        pytest.param({"status": {"code": "X", "error": {"path": ""}}}, id="an empty text that is left out"),
        pytest.param({"outcome": {"write": {"size": "12"}}}, id="a text for a number"),
        pytest.param({"outcome": {"read": {"bom": 0}}}, id="a number for a boolean"),
        pytest.param({"outcome": {"read": {"notices": {}}}}, id="an object for an array"),
        pytest.param({"session": {"mode": "read-only"}}, id="a mode as steps spell it"),
    ],
)
def test_an_expectation_that_no_answer_can_have_is_taken(expected: Any) -> None:
    assert list(contract.expectation_faults(expected))


def test_the_corpus_holds_what_is_no_case() -> None:
    cases = case.load_all()
    titles = Counter(one.title for one in cases)
    assert [title for title, count in titles.items() if count > 1] == [], "two cases have one title"
    assert {one.name: faults for one in cases if (faults := contract.faults(one))} == {}
