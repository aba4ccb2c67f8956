"""Generates `toolfs/_sync` from `toolfs/_async`: the client that blocks is the asyncio one without `async` and `await`.

Run by `make generate` with the pinned `unasync` of `requirements-dev.txt`; its output is committed and never edited.
`--check` writes nothing and fails when the committed files are not what would be written.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
import tokenize
from pathlib import Path

import unasync

PACKAGE = Path(__file__).resolve().parent.parent / "toolfs"
SOURCE, TARGET = PACKAGE / "_async", PACKAGE / "_sync"
HEADER = "# Generated from toolfs/_async by tools/generate_sync.py. Never edited.\n"

NAMES = {
    "AsyncToolfs": "Toolfs",
    "AsyncSession": "Session",
    "AsyncIterator": "Iterator",
    "_async": "_sync",
    "aclosing": "closing",
    # The module with what differs: `from toolfs._backend import aio as backend`.
    "aio": "blocking",
}
"""Names of the asyncio client, and what they are in the other one. `unasync` knows those of the language."""

WORDS = [
    (re.compile(r"\basync (with|for|def)\b"), r"\1"),
    (re.compile(r"\bawait "), ""),
    *[(re.compile(rf"\b{name}\b"), other) for name, other in NAMES.items()],
]
"""The same for what comments and documentation say."""


def generated() -> dict[str, str]:
    """The files by name."""
    sources = sorted(SOURCE.glob("*.py"))
    with tempfile.TemporaryDirectory() as place:
        # It writes beside what it reads, with the names of the directories replaced.
        rule = unasync.Rule(str(SOURCE), str(Path(place) / "out"), additional_replacements=NAMES)
        unasync.unasync_files([str(source) for source in sources], [rule])
        return {source.name: HEADER + reworded((Path(place) / "out" / source.name).read_text()) for source in sources}


def reworded(code: str) -> str:
    """The code with its comments and strings in the words of the client that blocks."""
    lines = code.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(code).readline))):
        if token.type not in (tokenize.COMMENT, tokenize.STRING):
            continue
        text = token.string
        for pattern, replacement in WORDS:
            text = pattern.sub(replacement, text)
        (first, begin), (last, end) = token.start, token.end
        replaced = lines[first - 1][:begin] + text + lines[last - 1][end:]
        lines[first - 1 : last] = replaced.splitlines(keepends=True)
    return "".join(lines)


def main() -> int:
    files = generated()
    if "--check" in sys.argv[1:]:
        there = {path.name: path.read_text() for path in TARGET.glob("*.py")}
        if there == files:
            return 0
        print("toolfs/_sync is not current: run `client/python/tools/generate_sync.py` and commit", file=sys.stderr)
        return 1
    TARGET.mkdir(exist_ok=True)
    for path in TARGET.glob("*.py"):
        path.unlink()
    for name, text in files.items():
        (TARGET / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
