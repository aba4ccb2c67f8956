"""The comparison of trees must fail where the disk is not what a case expects: else no case proves a byte."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from . import disk

FILES: dict[str, Any] = {
    "a.txt": "a\r\nb\n",
    "bin/tool": {"text": "#!\n", "mode": "0755"},
    "raw": {"base64": "/wA="},
    "long": {"concat": ["x\n", {"repeat": "ab", "count": 3}, {"lines": 2}]},
    "empty": {"directory": True},
    "link": {"link": "a.txt"},
    "dangling": {"link": "../outside/none"},
    "twin": {"hard_link": "raw"},
    "pipe": {"fifo": True},
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    disk.make(made, FILES)
    return made


def test_the_tree_as_made_is_refused(root: Path) -> None:
    assert disk.differences(root, FILES, None) == []
    assert disk.differences(root, FILES, FILES) == []
    assert disk.differences(root, FILES, {name: {"given": True} for name in FILES}) == []


def test_entries_are_made_otherwise_than_described(root: Path) -> None:
    assert (root / "a.txt").read_bytes() == b"a\r\nb\n"
    assert (root / "raw").read_bytes() == b"\xff\x00"
    assert (root / "long").read_bytes() == b"x\nabababline 1\nline 2\n"
    assert os.readlink(root / "link") == "a.txt"
    assert (root / "twin").samefile(root / "raw")
    assert (root / "bin/tool").stat().st_mode & 0o7777 == 0o755
    assert (root / "a.txt").stat().st_mode & 0o7777 == 0o644


def _write(name: str, content: bytes) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        (root / name).write_bytes(content)

    return change


def _replace(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(root: Path) -> None:
        path = root / name
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        elif os.path.lexists(path):
            path.unlink()
        make(path)

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(_write("a.txt", b"a\nb\n"), id="other bytes"),
        pytest.param(_write("a.txt", b"a\r\nb\nc"), id="more bytes"),
        pytest.param(_write("a.txt", b"a\r\n"), id="fewer bytes"),
        pytest.param(_write("other", b""), id="an extra file"),
        pytest.param(_write("bin/.other", b""), id="an extra file further in"),
        pytest.param(_write("empty/file", b""), id="an extra file in an empty directory"),
        pytest.param(lambda root: (root / "extra").mkdir(), id="an extra directory"),
        pytest.param(lambda root: (root / "extra").symlink_to("bin"), id="an extra link to a directory"),
        pytest.param(lambda root: (root / "bin/tool").chmod(0o744), id="another mode"),
        pytest.param(lambda root: (root / "bin/tool").chmod(0o4755), id="a set-user-id bit"),
        pytest.param(lambda root: (root / "a.txt").unlink(), id="a missing file"),
        pytest.param(lambda root: (root / "empty").rmdir(), id="a missing directory"),
        pytest.param(_replace("link", lambda path: path.write_bytes(b"a\r\nb\n")), id="a file for a link"),
        pytest.param(_replace("link", lambda path: path.symlink_to("./a.txt")), id="another link"),
        pytest.param(_replace("a.txt", lambda path: path.symlink_to("raw")), id="a link for a file"),
        pytest.param(_replace("empty", lambda path: path.write_bytes(b"")), id="a file for a directory"),
        pytest.param(_replace("pipe", lambda path: path.write_bytes(b"")), id="a file for a pipe"),
        pytest.param(_replace("a.txt", lambda path: os.mkfifo(path)), id="a pipe for a file"),
        pytest.param(_replace("twin", lambda path: path.write_bytes(b"\xff\x00")), id="a copy for a hard link"),
    ],
)
def test_another_tree_passes(root: Path, change: Callable[[Path], None]) -> None:
    change(root)
    assert disk.differences(root, FILES, None)
    assert disk.differences(root, FILES, {name: {"given": True} for name in FILES})


def test_a_mode_that_is_not_given_is_compared(root: Path) -> None:
    (root / "a.txt").chmod(0o600)
    assert disk.differences(root, FILES, None) == []


def test_given_without_a_file_passes(root: Path) -> None:
    assert disk.differences(root, FILES, {**FILES, "none": {"given": True}})


def test_a_change_from_outside_replaces_the_inode(root: Path) -> None:
    before = (root / "bin/tool").stat()
    disk.change(root, {"bin/tool": "other"})
    after = (root / "bin/tool").stat()
    assert (before.st_ino, before.st_mode) == (after.st_ino, after.st_mode)
    assert (root / "bin/tool").read_bytes() == b"other"


def test_a_restored_time_is_another(root: Path) -> None:
    disk.change(root, {"a.txt": {"touch": 1000}})
    assert (root / "a.txt").stat().st_mtime_ns == 1000 * 10**9
    disk.change(root, {"a.txt": {"text": "x\r\ny\n", "keep_mtime": True}})
    assert (root / "a.txt").stat().st_mtime_ns == 1000 * 10**9
    assert (root / "a.txt").read_bytes() == b"x\r\ny\n"


def test_changes_from_outside_miss_their_target(root: Path) -> None:
    disk.change(
        root,
        {
            "raw": None,
            "bin": None,
            "moved/here": {"moved_from": "a.txt"},
            "twin": {"chmod": "0444"},
            "link": "no link any more",
            "long": {"directory": True},
        },
    )
    assert disk.leaves(root) == ["dangling", "empty", "link", "long", "moved/here", "pipe", "twin"]
    assert (root / "link").read_text() == "no link any more"
    assert (root / "twin").stat().st_mode & 0o7777 == 0o444


def test_a_path_out_of_the_root_is_made(tmp_path: Path) -> None:
    for name in ("../x", "a/../../x", "/x"):
        with pytest.raises(ValueError, match="no path beneath the root"):
            disk.make(tmp_path / name.replace("/", "-"), {name: ""})
