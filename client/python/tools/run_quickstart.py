"""Runs the Python blocks of a README in order, as one program, in an empty directory.

    python tools/run_quickstart.py [--all] [README.md]

It needs nothing but the installed package and the binary (`TOOLFS_BIN`, or `toolfs` on `PATH`).
Without `--all` it runs the blocks between the lines `<!-- quickstart -->` and `<!-- /quickstart -->`.
A block of the kind `text` right after a Python block is what that block prints: another output is a failure.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

BEGIN, END = "<!-- quickstart -->", "<!-- /quickstart -->"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of code, and what it prints."""

    line: int
    """The line of its first line in the file, from 1."""
    code: str
    output: str | None
    """What it prints. `None` where the file does not say."""


def blocks(text: str, *, everything: bool) -> list[Block]:
    """The Python blocks of a README."""
    fenced = list(FENCED.finditer(text))
    begin, end = (0, len(text)) if everything else (text.index(BEGIN), text.index(END))
    found = []
    for position, match in enumerate(fenced):
        if match[1] != "python" or not begin <= match.start() < end:
            continue
        after = fenced[position + 1] if position + 1 < len(fenced) else None
        told = after is not None and after[1] == "text" and not text[match.end() : after.start()].strip()
        line = text.count("\n", 0, match.start()) + 2
        found.append(Block(line, match[2], after[2] if after is not None and told else None))
    return found


def run(readme: Path, *, everything: bool) -> int:
    """Runs the blocks in an empty directory. Returns how many there were; raises what a block raises."""
    found = blocks(readme.read_text(encoding="utf-8"), everything=everything)
    names: dict[str, object] = {"__name__": "__main__"}
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        try:
            for block in found:
                _run(readme, block, names)
        finally:
            os.chdir(before)
    return len(found)


def _run(readme: Path, block: Block, names: dict[str, object]) -> None:
    # As many lines before the code as there are in the file: a traceback names the right one.
    code = compile("\n" * (block.line - 1) + block.code, str(readme), "exec")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    if block.output is not None and printed.getvalue() != block.output:
        raise AssertionError(
            f"{readme}:{block.line}: the block prints\n{printed.getvalue()}\nand the page says\n{block.output}"
        )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("readme", nargs="?", type=Path, default=Path(__file__).parent.parent / "README.md")
    parser.add_argument("--all", action="store_true", help="run every Python block, not only the quickstart")
    options = parser.parse_args()
    count = run(options.readme.resolve(), everything=options.all)
    if count == 0:
        print(f"{options.readme} has no block to run", file=sys.stderr)
        return 1
    print(f"{options.readme.name}: {count} blocks ran")
    return 0


if __name__ == "__main__":
    sys.exit(main())
