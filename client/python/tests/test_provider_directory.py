"""The directory of the example: through the real server, and next to the server's own provider.

What the whole seam promises is tried by the server's conformance suite, which runs over this example too.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from provider_memory import Client, client_at, example, refused
from provider_program import PACKAGE, example_at, toolfs_at

from toolfs import FsErrorCode, ToolError, Toolfs
from toolfs.provider import Call, FsError, ReplaceIfVersion, Unconditional, WriteText

DICE = 300


@pytest.fixture
def root(tmp_path: Path) -> Path:
    directory = tmp_path / "root"
    directory.mkdir()
    return directory


@pytest.fixture
def client(root: Path, tmp_path: Path) -> Iterator[Toolfs]:
    """A client of a real server whose files are those of the example."""
    seam, address = f"unix:{tmp_path}/seam.sock", f"unix:{tmp_path}/toolfs.sock"
    with example_at("directory_provider", str(root), seam), toolfs_at(address, "--provider", seam):
        with Toolfs.connect(address) as connected:
            yield connected


def test_the_tools_work_over_files_that_python_serves(client: Toolfs, root: Path) -> None:
    (root / "notes.txt").write_bytes(b"one\r\ntwo\r\n")
    with client.open_session() as session:
        page = session.read("notes.txt")
        assert page.text.startswith("1: one\n2: two\n")
        assert (page.outcome.total_lines, page.outcome.version[:7]) == (2, "sha256-")
        session.edit("notes.txt", old_string="one\ntwo", new_string="one\n2")
        session.write("sub/new.txt", "new\n")
        session.edit("sub/new.txt", old_string="new", new_string="newer")
    assert (root / "notes.txt").read_bytes() == b"one\r\n2\r\n"
    assert (root / "sub/new.txt").read_bytes() == b"newer\n"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("missing.txt", FsErrorCode.FS_NOT_FOUND),
        (".", FsErrorCode.FS_NOT_REGULAR_FILE),
        ("binary", FsErrorCode.FS_NOT_TEXT),
        ("../outside", FsErrorCode.FS_SANDBOX_DENIED),
        ("out", FsErrorCode.FS_SANDBOX_DENIED),
    ],
)
def test_a_refusal_reaches_the_agent(client: Toolfs, root: Path, path: str, code: FsErrorCode) -> None:
    (root / "binary").write_bytes(b"\0")
    (root.parent / "outside").write_bytes(b"secret")
    (root / "out").symlink_to("../outside")
    with client.open_session() as session, pytest.raises(ToolError) as ended:
        session.read(path)
    assert ended.value.code is code and ended.value.remedy


def test_a_file_that_changed_behind_the_agents_back_is_not_overwritten(client: Toolfs, root: Path) -> None:
    (root / "f").write_bytes(b"seen\n")
    with client.open_session() as session:
        session.read("f")
        (root / "f").write_bytes(b"theirs\n")
        for change in (lambda: session.write("f", "ours\n"), lambda: session.edit("f", "theirs", "ours")):
            with pytest.raises(ToolError) as ended:
                change()
            assert ended.value.code is FsErrorCode.FS_STALE_VERSION
    assert (root / "f").read_bytes() == b"theirs\n"


def test_two_sessions_at_once_lose_no_acknowledged_edit(client: Toolfs, root: Path) -> None:
    lines = [f"line {number:02}" for number in range(12)]
    (root / "f").write_text("\n".join(lines))

    def work(start: int) -> None:
        with client.open_session() as session:
            for line in lines[start::2]:
                while True:
                    session.read("f")
                    try:
                        session.edit("f", old_string=line, new_string=f"done {line[5:]}")
                        break
                    except ToolError as error:
                        assert error.code is FsErrorCode.FS_STALE_VERSION, error

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(work, [0, 1]))
    assert (root / "f").read_text() == "\n".join(f"done {line[5:]}" for line in lines)


def test_edits_end_as_those_of_the_servers_own_provider(tmp_path: Path) -> None:
    """The same random edits over both: the same content, places and refusals."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    ours.mkdir()
    theirs.mkdir()
    seams = {ours: f"unix:{tmp_path}/ours.sock", theirs: f"unix:{tmp_path}/theirs.sock"}
    dice = random.Random(5)
    pieces = ["a", "b", "ab", "\n", "\n", "\r\n", "\r", "é", " ", "\ufeff"]

    def text(most: int) -> str:
        return "".join(dice.choice(pieces) for _ in range(dice.randrange(most)))

    with (
        example_at("directory_provider", str(ours), seams[ours]),
        toolfs_at(f"unix:{tmp_path}/x.sock", "--root", str(theirs), "--serve-seam", seams[theirs]),
        client_at(seams[ours]) as our_client,
        client_at(seams[theirs]) as their_client,
    ):
        for _ in range(DICE):
            content, old, new, replace_all = text(16).encode(), text(4), text(4), dice.random() < 0.5
            ends = []
            for directory, client in ((ours, our_client), (theirs, their_client)):
                (directory / "f").write_bytes(content)
                end = _edit(client, old, new, replace_all)
                ends.append((end, (directory / "f").read_bytes()))
            assert ends[0] == ends[1], (content, old, new, replace_all)


def _edit(client: Client, old: str, new: str, replace_all: bool) -> Any:
    """What an edit says, without what providers may choose: versions, paths, near misses and the search for a diff."""
    try:
        report = client.edit("f", old, new, replace_all=replace_all).report
    except grpc.RpcError as error:
        told = refused(error).fs_error
        assert told is not None
        detail = told.detail if told.code is FsErrorCode.FS_AMBIGUOUS_EDIT else None
        return (told.code, detail, told.published)
    places = [(place.start_line, place.end_line) for place in report.matches.ranges]
    changes = [(c.old_start, c.old_count, c.new_start, c.new_count) for c in report.changed_ranges.ranges]
    notices = [(notice.kind, notice.text) for notice in report.notices]
    return (report.replacements, places, changes, report.changed_ranges.total, report.size, notices)


def test_nothing_else_is_left_in_the_directory(root: Path) -> None:
    provider = example("directory_provider").DirectoryProvider(str(root))
    key = os.fsencode(root) + b"\0f"
    report = provider.write_text(Call(), WriteText(key, b"one", Unconditional()))
    provider.write_text(Call(), WriteText(key, b"two", ReplaceIfVersion(report.version)))
    with pytest.raises(FsError):
        provider.write_text(Call(), WriteText(key, b"lost", ReplaceIfVersion(report.version)))
    assert {path.name: path.read_bytes() for path in root.iterdir()} == {"f": b"two"}
    provider.close()


def test_a_directory_that_is_swapped_for_a_link_never_leads_out(root: Path) -> None:
    """The swap happens after the base has looked: the last chance of a race."""
    outside = root.parent / "outside"
    outside.mkdir()
    (outside / "f").write_bytes(b"secret")
    (root / "d").mkdir()
    (root / "d/f").write_bytes(b"mine")

    class Swapped(example("directory_provider").DirectoryProvider):  # type: ignore[misc]
        def read(self, place: Any) -> Any:
            if (root / "d").is_symlink():
                return super().read(place)
            (root / "d/f").unlink()
            (root / "d").rmdir()
            (root / "d").symlink_to(outside)
            return super().read(place)

    provider = Swapped(str(root))
    key = os.fsencode(root) + b"\0d/f"
    with pytest.raises(FsError) as ended:
        provider.write_text(Call(), WriteText(key, b"broken in", Unconditional()))
    assert ended.value.code is FsErrorCode.FS_SANDBOX_DENIED
    assert (outside / "f").read_bytes() == b"secret"
    provider.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_program_ends_when_it_is_asked_to(root: Path, tmp_path: Path, number: int) -> None:
    assert _run(root, tmp_path, [], lambda process: process.send_signal(number)) == 0


def test_the_program_ends_with_its_input_when_told_so(root: Path, tmp_path: Path) -> None:
    def close(process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        process.stdin.close()

    assert _run(root, tmp_path, ["--until-stdin-closes"], close) == 0


def _run(root: Path, tmp_path: Path, arguments: list[str], end: Any) -> int:
    path = str(PACKAGE / "examples/directory_provider.py")
    command = [sys.executable, path, *arguments, str(root), f"unix:{tmp_path}/seam.sock"]
    variables = {**os.environ, "PYTHONPATH": str(PACKAGE)}
    process = subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().startswith("ready")
    end(process)
    process.stdout.close()
    return process.wait(timeout=30)
