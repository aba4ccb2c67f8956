"""Where paths lead: spellings, links, and what no path may reach."""

from __future__ import annotations

import pytest

from toolfs.enums import FileKind
from toolfs.error import FsErrorCode
from toolfs.provider import FsError, Place, ResolveRequest, Root
from toolfs.provider.place import Seen, contains, find_again, parse_key, resolve

ROOT, INNER = Root(b"/ws"), Root(b"/ws/inner")
ROOTS = [ROOT, INNER]
TREE = {
    b"": FileKind.DIRECTORY,
    b"d": FileKind.DIRECTORY,
    b"d/f": FileKind.REGULAR,
    b"f": FileKind.REGULAR,
}
LINKS = {
    b"to-d": b"d",
    b"to-f": b"d/f",
    b"up": b"../..",
    b"out": b"/etc/passwd",
    b"in": b"/ws/d/",
    b"self": b"self",
    b"gone": b"new/file",
}


def look(place: Place) -> Seen | None:
    path = place.relative_path
    if path in LINKS and place.root is ROOT:
        return Seen(FileKind.SYMLINK, LINKS[path])
    kind = TREE.get(path)
    return None if kind is None else Seen(kind)


def lead(path: str, cwd: bytes | None = None, follow_last: bool = True) -> Place:
    request = ResolveRequest(path.encode(), cwd)
    return resolve(ROOTS, 4_096, request, look, follow_last).place


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("d/f", b"/ws\0d/f"),
        ("/ws//d/./../d/f", b"/ws\0d/f"),
        (".", b"/ws\0"),
        ("to-d/f", b"/ws\0d/f"),
        ("to-f", b"/ws\0d/f"),
        ("to-d/../f", b"/ws\0f"),
        ("in/f", b"/ws\0d/f"),
        ("gone", b"/ws\0new/file"),
        ("new/deep/x", b"/ws\0new/deep/x"),
        ("new/", b"/ws\0new/"),
        ("inner/d/f", b"/ws/inner\0d/f"),
        ("inner/../f", b"/ws\0f"),
    ],
)
def test_every_spelling_has_the_key_of_its_place(path: str, key: bytes) -> None:
    place = lead(path)
    assert place.key == key
    assert parse_key(ROOTS, key) == place
    assert find_again(ROOTS, place, look) == place


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("..", FsErrorCode.FS_SANDBOX_DENIED),
        ("../ws/f", FsErrorCode.FS_SANDBOX_DENIED),
        ("/etc/passwd", FsErrorCode.FS_SANDBOX_DENIED),
        ("/ws-evil/x", FsErrorCode.FS_SANDBOX_DENIED),
        ("up", FsErrorCode.FS_SANDBOX_DENIED),
        ("up/ws/f", FsErrorCode.FS_SANDBOX_DENIED),
        ("out", FsErrorCode.FS_SANDBOX_DENIED),
        ("f/x", FsErrorCode.FS_NOT_DIRECTORY),
        ("f/", FsErrorCode.FS_NOT_DIRECTORY),
        ("to-f/x", FsErrorCode.FS_NOT_DIRECTORY),
        ("new/../f", FsErrorCode.FS_NOT_FOUND),
        ("self", FsErrorCode.FS_INVALID_ARGUMENT),
        ("", FsErrorCode.FS_INVALID_ARGUMENT),
        ("a\0b", FsErrorCode.FS_INVALID_ARGUMENT),
        ("n" * 256, FsErrorCode.FS_INVALID_ARGUMENT),
        ("./" * 2_048 + "f", FsErrorCode.FS_INVALID_ARGUMENT),
    ],
)
def test_a_refused_path_is_named_as_it_was_asked_for(path: str, code: FsErrorCode) -> None:
    with pytest.raises(FsError) as refused:
        lead(path)
    assert refused.value.code is code
    assert refused.value.path in (path, "", path.replace("\0", r"\u{0}"))
    assert "passwd" not in refused.value.message or "passwd" in path


@pytest.mark.parametrize(
    ("cwd", "code"), [(b"d", FsErrorCode.FS_INVALID_ARGUMENT), (b"/", FsErrorCode.FS_SANDBOX_DENIED)]
)
def test_a_working_directory_is_absolute_and_beneath_a_root(cwd: bytes, code: FsErrorCode) -> None:
    with pytest.raises(FsError) as refused:
        lead("f", cwd)
    assert refused.value.code is code


def test_a_relative_path_starts_at_the_working_directory() -> None:
    assert lead("f", b"/ws/d").key == b"/ws\0d/f"
    assert lead("/ws/f", b"/ws/d").key == b"/ws\0f"


def test_a_link_at_the_end_is_the_place_itself_unless_a_slash_follows() -> None:
    assert lead("to-d", follow_last=False).key == b"/ws\0to-d"
    assert lead("to-d/", follow_last=False).key == b"/ws\0d"


@pytest.mark.parametrize(
    "key", [b"", b"\0", b"/ws", b"/other\0a", b"/ws\0inner/a", b"/ws\0a//b", b"/ws\0./a", b"/ws\0a/..", b"/ws\0a\0b"]
)
def test_what_was_never_made_is_no_key(key: bytes) -> None:
    with pytest.raises(FsError) as refused:
        parse_key(ROOTS, key)
    assert refused.value.code is FsErrorCode.FS_INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("ancestor", "target", "contained"),
    [
        (b"/ws\0", b"/ws\0d/f", True),
        (b"/ws\0d", b"/ws\0d", True),
        (b"/ws\0d", b"/ws\0de", False),
        (b"/ws\0d/f", b"/ws\0d", False),
        (b"/ws\0", b"/ws/inner\0x", True),
    ],
)
def test_a_place_contains_itself_and_what_is_beneath(ancestor: bytes, target: bytes, contained: bool) -> None:
    assert contains(ROOTS, ancestor, target) is contained
