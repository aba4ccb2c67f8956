"""The programs of tests that go through a real server: an example that serves the seam or the gate, and `toolfs`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from format_server import binary, environment

PACKAGE = Path(__file__).parent.parent


@contextmanager
def ready(command: list[str], environment: dict[str, str], directory: Path | None = None) -> Iterator[None]:
    """A program that prints a line with `ready` when it answers, and ends with the block."""
    process = subprocess.Popen(
        command, cwd=directory, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        line = process.stdout.readline()
        assert "ready" in line, line
        yield
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
        process.stdin.close()


@contextmanager
def example_at(name: str, *arguments: str) -> Iterator[None]:
    """An example that serves until the end of the block."""
    path = str(PACKAGE / "examples" / f"{name}.py")
    with ready([sys.executable, path, *arguments], {**os.environ, "PYTHONPATH": str(PACKAGE)}):
        yield


@contextmanager
def toolfs_at(address: str, *arguments: str) -> Iterator[None]:
    """The real server, until the end of the block."""
    with ready([binary(), "serve", "--listen", address, "--state", "memory", *arguments], environment()):
        yield
