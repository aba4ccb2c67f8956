"""Makes one table of what the runners of the corpus reported, and judges it.

    python3 client/corpus/table.py REPORT LANGUAGE...

REPORT holds a line of JSON per runner (README.md beside this file). Ends with 1 when a LANGUAGE did not report, lacks a
case that is there, reports one that is not, or failed one.
"""

import json
import pathlib
import sys
from typing import NamedTuple

CASES = pathlib.Path(__file__).parent / "cases"
MANY = 8


class Row(NamedTuple):
    """What one language reported."""

    passed: frozenset[str]
    failed: frozenset[str]


def cases() -> frozenset[str]:
    """The names of all cases: their paths below `cases/`, without the ending."""
    return frozenset(path.relative_to(CASES).with_suffix("").as_posix() for path in CASES.rglob("*.json"))


def rows(report: str) -> dict[str, Row]:
    """The last report of each language, by its name."""
    found = {}
    for line in report.splitlines():
        row = json.loads(line)
        found[row["language"]] = Row(frozenset(row["passed"]), frozenset(row["failed"]))
    return found


def complaints(language: str, row: Row | None, expected: frozenset[str]) -> list[str]:
    """What is wrong with a language, one line each."""
    if row is None:
        return [f"{language}: no report, its runner did not run"]
    ran = row.passed | row.failed
    wrong = {
        "failed": row.failed,
        "did not run": expected - ran,
        "ran, and are no cases": ran - expected,
    }
    return [f"{language}: {len(names)} {what}: {listed(names)}" for what, names in wrong.items() if names]


def listed(names: frozenset[str]) -> str:
    """The first few names."""
    shown = ", ".join(sorted(names)[:MANY])
    return shown if len(names) <= MANY else f"{shown}, … ({len(names) - MANY} more)"


def table(found: dict[str, Row], languages: list[str], expected: frozenset[str]) -> str:
    """Languages, cases, passes."""
    lines = ["| language | cases | passed |", "| --- | ---: | ---: |"]
    for language in languages:
        passed = len(found[language].passed & expected) if language in found else 0
        lines.append(f"| {language} | {len(expected)} | {passed} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Prints the table and what is wrong; returns the exit code."""
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    report, *languages = arguments
    try:
        found = rows(pathlib.Path(report).read_text(encoding="utf-8"))
    except FileNotFoundError:
        found = {}
    expected = cases()
    print(table(found, languages, expected))
    wrong = [line for language in languages for line in complaints(language, found.get(language), expected)]
    if not expected:
        wrong.append(f"there are no cases below {CASES.name}/")
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
