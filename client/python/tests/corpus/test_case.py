"""A file that is no case must not pass as one: what it meant to show would go unseen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from . import case

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


def test_the_corpus_holds_what_is_no_case() -> None:
    cases: list[Any] = case.load_all()
    assert len({one.title for one in cases}) == len(cases), "two cases have one title"
