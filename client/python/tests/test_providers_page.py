"""The programs of PROVIDERS.md, served as they stand there and used through the real server."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from provider_program import PACKAGE, ready, toolfs_at

from toolfs import FsErrorCode, Session, ToolError, Toolfs

PAGE = PACKAGE / "PROVIDERS.md"


def programs() -> list[str]:
    """The Python blocks of the page."""
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@contextmanager
def program_in(directory: Path, code: str) -> Iterator[None]:
    """A program that serves from `directory` until the end of the block, beside the examples."""
    path = directory / "program.py"
    path.write_text(code)
    beside = os.pathsep.join([str(PACKAGE), str(PACKAGE / "examples")])
    with ready([sys.executable, str(path)], {**os.environ, "PYTHONPATH": beside}, directory):
        yield


@contextmanager
def session_at(directory: Path, *arguments: str) -> Iterator[Session]:
    """A session of a real server that is started with these arguments."""
    address = f"unix:{directory}/toolfs.sock"
    with toolfs_at(address, *arguments), Toolfs.connect(address) as client, client.open_session() as session:
        yield session


def test_the_provider_of_the_page_serves_the_tools(tmp_path: Path) -> None:
    provider, _gate = programs()
    with program_in(tmp_path, provider), session_at(tmp_path, "--provider", f"unix:{tmp_path}/seam.sock") as session:
        assert session.info.cwd == "/scratch"
        session.write("notes.txt", "alpha\nbeta\n")
        session.edit("notes.txt", old_string="beta", new_string="gamma")
        assert session.read("notes.txt").text.startswith("1: alpha\n2: gamma\n")
        session.write("notes.txt", "delta\n")
        for path, code in (
            ("note.txt", "FS_NOT_FOUND"),
            (".", "FS_NOT_REGULAR_FILE"),
            ("notes.txt/x", "FS_NOT_DIRECTORY"),
        ):
            with pytest.raises(ToolError) as refused:
                session.read(path)
            assert refused.value.code == code
            # The names of a directory are there for this.
            assert ("notes.txt" in refused.value.text) == path.startswith("note")
        with pytest.raises(ToolError) as refused:
            session.write("sub/notes.txt", "")
        assert refused.value.code is FsErrorCode.FS_UNSUPPORTED


def test_the_gate_of_the_page_lets_agents_create_and_edit_and_not_replace(tmp_path: Path) -> None:
    _provider, gate = programs()
    root = tmp_path / "root"
    root.mkdir()
    (root / "old.txt").write_text("one\n")
    arguments = ["--root", str(root), "--policy", f"unix:{tmp_path}/gate.sock"]
    with program_in(tmp_path, gate), session_at(tmp_path, *arguments) as session:
        session.write("new.txt", "new\n")
        session.read("old.txt")
        session.edit("old.txt", old_string="one", new_string="two")
        with pytest.raises(ToolError) as refused:
            session.write("old.txt", "three\n")
        assert refused.value.code is FsErrorCode.FS_NOT_OBSERVED
    assert ((root / "new.txt").read_text(), (root / "old.txt").read_text()) == ("new\n", "two\n")


def test_a_link_of_the_page_to_nothing() -> None:
    links = re.findall(r"\]\((?!https://)([^)#]+)\)", PAGE.read_text())

    assert links
    assert [link for link in links if not (PACKAGE / link).exists()] == []
