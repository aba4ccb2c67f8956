"""The disk of a case: made at the start, changed by somebody else on the way, compared at the end."""

from __future__ import annotations

import base64
import os
import shutil
import stat
from pathlib import Path
from typing import Any

from . import text

FILE_MODE = 0o644
"""The mode of a file whose entry gives none."""


def make(root: Path, files: dict[str, Any]) -> None:
    """Makes a directory and the entries beneath it, in their order."""
    root.mkdir()
    root.chmod(0o755)
    for name, entry in files.items():
        _make_entry(root, name, entry)


def change(root: Path, changes: dict[str, Any]) -> None:
    """What somebody else does to the disk: the changes of an `outside` step, in their order."""
    for name, entry in changes.items():
        path = _place(root, name)
        if entry is None:
            _remove(path)
        elif isinstance(entry, dict) and "touch" in entry:
            os.utime(path, ns=(path.stat().st_atime_ns, entry["touch"] * 1_000_000_000))
        elif isinstance(entry, dict) and "chmod" in entry:
            path.chmod(int(entry["chmod"], 8))
        elif isinstance(entry, dict) and "moved_from" in entry:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.rename(_place(root, entry["moved_from"]), path)
        elif isinstance(entry, dict) and "keep_mtime" in entry:
            before = path.stat()
            _write(path, text.build(entry["text"]).encode())
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        else:
            _replace(root, name, entry)


def differences(root: Path, files: dict[str, Any], disk: dict[str, Any] | None) -> list[str]:
    """How the tree beneath a directory differs from the one that a case expects; empty when it does not."""
    expected = files if disk is None else disk
    problems: list[str] = []
    listed: set[str] = set()
    for name, entry in expected.items():
        path = _place(root, name)
        listed.add(os.path.relpath(path, root))
        if isinstance(entry, dict) and "given" in entry:
            if name not in files:
                problems.append(f"disk: `{name}` is expected as given, but `files` gives none")
                continue
            entry = files[name]
        problems.extend(f"disk: `{name}`: {problem}" for problem in _entry_differences(root, path, entry))
    problems.extend(f"disk: `{name}` is there, but not expected" for name in leaves(root) if name not in listed)
    return problems


def leaves(root: Path) -> list[str]:
    """The paths of everything beneath a directory that holds nothing itself: files, links, pipes, empty directories."""
    found: list[str] = []
    for place, directories, names in os.walk(root):
        here = Path(place)
        # `os.walk` counts links to directories among the directories, and does not follow them.
        links = [name for name in directories if (here / name).is_symlink()]
        found.extend(os.path.relpath(here / name, root) for name in [*names, *links])
        if not names and not directories and here != root:
            found.append(os.path.relpath(here, root))
    return sorted(found)


def _place(root: Path, name: str) -> Path:
    path = root / name
    if os.path.isabs(name) or ".." in Path(name).parts:
        raise ValueError(f"`{name}` is no path beneath the root")
    return path


def _make_entry(root: Path, name: str, entry: Any) -> None:
    path = _place(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    content = _content(entry)
    if content is not None:
        with path.open("xb") as file:
            file.write(content)
        path.chmod(_mode(entry, FILE_MODE))
    elif "directory" in entry:
        path.mkdir(exist_ok=True)
        path.chmod(0o755)
    elif "link" in entry:
        path.symlink_to(entry["link"])
    elif "hard_link" in entry:
        os.link(_place(root, entry["hard_link"]), path, follow_symlinks=False)
    elif "fifo" in entry:
        os.mkfifo(path)
        path.chmod(FILE_MODE)
    else:
        raise ValueError(f"`{entry!r}` is no entry")


def _replace(root: Path, name: str, entry: Any) -> None:
    path = _place(root, name)
    content = _content(entry)
    if content is not None and _is_file(path):
        _write(path, content)
        if isinstance(entry, dict) and "mode" in entry:
            path.chmod(_mode(entry, FILE_MODE))
        return
    if os.path.lexists(path):
        _remove(path)
    _make_entry(root, name, entry)


def _write(path: Path, content: bytes) -> None:
    # Into the file itself: the same inode, as an editor that saves in place does.
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(content)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _content(entry: Any) -> bytes | None:
    """The bytes of a file's entry; `None` for what is no file."""
    if isinstance(entry, dict) and "base64" in entry:
        return base64.b64decode(entry["base64"], validate=True)
    if isinstance(entry, dict) and "text" in entry:
        return text.build(entry["text"]).encode()
    if isinstance(entry, str) or any(recipe in entry for recipe in ("repeat", "lines", "concat")):
        return text.build(entry).encode()
    return None


def _mode(entry: Any, default: int) -> int:
    return int(entry["mode"], 8) if isinstance(entry, dict) and "mode" in entry else default


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _entry_differences(root: Path, path: Path, entry: Any) -> list[str]:
    if not os.path.lexists(path):
        return ["is missing"]
    status = path.lstat()
    content = _content(entry)
    if content is not None:
        if not stat.S_ISREG(status.st_mode):
            return [f"must be a file, but is {_kind(status.st_mode)}"]
        problems = []
        actual = path.read_bytes()
        if actual != content:
            problems.append(_bytes_differ(content, actual))
        if isinstance(entry, dict) and "mode" in entry and stat.S_IMODE(status.st_mode) != _mode(entry, 0):
            problems.append(f"must have the mode {entry['mode']}, but has {stat.S_IMODE(status.st_mode):04o}")
        return problems
    if "directory" in entry:
        return [] if stat.S_ISDIR(status.st_mode) else [f"must be a directory, but is {_kind(status.st_mode)}"]
    if "link" in entry:
        if not stat.S_ISLNK(status.st_mode):
            return [f"must be a link, but is {_kind(status.st_mode)}"]
        led = os.readlink(path)
        return [] if led == entry["link"] else [f"must link to `{entry['link']}`, but links to `{led}`"]
    if "hard_link" in entry:
        other = _place(root, entry["hard_link"])
        same = os.path.lexists(other) and os.path.samestat(status, other.lstat())
        return [] if same else [f"must be the same file as `{entry['hard_link']}`, but is another"]
    if "fifo" in entry:
        return [] if stat.S_ISFIFO(status.st_mode) else [f"must be a pipe, but is {_kind(status.st_mode)}"]
    raise ValueError(f"`{entry!r}` is no entry")


def _kind(mode: int) -> str:
    kinds = {stat.S_IFREG: "a file", stat.S_IFDIR: "a directory", stat.S_IFLNK: "a link", stat.S_IFIFO: "a pipe"}
    return kinds.get(stat.S_IFMT(mode), "something else")


def _bytes_differ(expected: bytes, actual: bytes) -> str:
    at = next((at for at, (one, other) in enumerate(zip(expected, actual, strict=False)) if one != other), None)
    at = min(len(expected), len(actual)) if at is None else at
    start = max(0, at - 20)
    return (
        f"other bytes from offset {at}: expected {len(expected)} bytes, …{expected[start : at + 40]!r}…, "
        f"but got {len(actual)}, …{actual[start : at + 40]!r}…"
    )
