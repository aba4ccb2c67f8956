"""The report: the line that tells `table.py` what a language replayed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable


def append(language: str, *, passed: Iterable[str], failed: Iterable[str]) -> None:
    """Appends a line to the file that `TOOLFS_CORPUS_REPORT` names; does nothing when it names none.

    `language` is the row of the table (`Python (asyncio)`); cases are given by name.
    """
    path = os.environ.get("TOOLFS_CORPUS_REPORT", "")
    if not path:
        return
    line = json.dumps({"language": language, "passed": sorted(passed), "failed": sorted(failed)}) + "\n"
    # One write of a file opened to append: lines of runners that end at once do not mix.
    with open(path, "ab", buffering=0) as file:
        file.write(line.encode())
