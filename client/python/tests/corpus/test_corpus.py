"""Every case of the corpus through both clients. Cases run several at a time, each against a server of its own."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from . import report
from .case import Case, load_all
from .client import asyncio_door, blocking_door
from .replay import Connect, replay

CASES = {case.name: case for case in load_all()}
DOORS: dict[str, Connect] = {"Python": blocking_door, "Python (asyncio)": asyncio_door}

AT_ONCE = 2 * (os.cpu_count() or 1)
"""How many cases run at a time: a case waits as much as it computes."""
THREADS = 8 * AT_ONCE
"""Threads for the client that blocks: those of a case whose steps run in parallel must not have to wait."""


@pytest.fixture(scope="module", params=list(DOORS))
def problems(request: pytest.FixtureRequest) -> dict[str, list[str]]:
    """What was not as expected, by the name of the case: of those that this run selected."""
    language: str = request.param
    found = asyncio.run(_replay_all(selected(request.session.items, language), DOORS[language]))
    passed = [name for name, problems in found.items() if not problems]
    report.append(language, passed=passed, failed=found.keys() - passed)
    return found


def selected(items: Sequence[pytest.Item], language: str) -> list[Case]:
    """The cases that a run has tests of, for one client. No other is replayed, or reported."""
    calls = [getattr(item, "callspec", None) for item in items if getattr(item, "function", None) is test_case]
    names = {call.params["name"] for call in calls if call is not None and call.params["problems"] == language}
    return [case for case in CASES.values() if case.name in names]


async def _replay_all(cases: list[Case], connect: Connect) -> dict[str, list[str]]:
    with ThreadPoolExecutor(THREADS) as threads:
        asyncio.get_running_loop().set_default_executor(threads)
        places = asyncio.Semaphore(AT_ONCE)

        async def one(case: Case) -> list[str]:
            async with places:
                try:
                    return await replay(case, connect)
                except Exception as error:
                    # One broken case must not hide what became of the others.
                    return [f"{type(error).__name__}: {error}"]

        return dict(zip((case.name for case in cases), await asyncio.gather(*map(one, cases))))


def test_the_corpus_is_not_empty() -> None:
    assert CASES


@pytest.mark.parametrize("name", CASES)
def test_case(problems: dict[str, list[str]], name: str) -> None:
    assert not problems[name], f"{CASES[name].title}:\n" + "\n".join(problems[name])


def test_a_run_of_one_case_that_replays_and_reports_others(tmp_path: Path) -> None:
    name, report = next(iter(CASES)), tmp_path / "report"
    command = [sys.executable, "-m", "pytest", "-q", f"{__file__}::test_case[Python-{name}]"]
    done = subprocess.run(
        command, env={**os.environ, "TOOLFS_CORPUS_REPORT": str(report)}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (line,) = report.read_text().splitlines()
    assert json.loads(line) == {"language": "Python", "passed": [name], "failed": []}
