"""Where a path leads: a walk name by name, as a kernel does it, that never leaves the roots.

A `Place` is canonical as far as something exists, and has one key for all of its spellings. What is there is asked of a
`look` function, so that the walk itself touches no storage.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolfs.enums import FileKind
from toolfs.provider import refusal
from toolfs.provider.error import FsError
from toolfs.provider.name import display_form
from toolfs.provider.refusal import MAX_LINKS, MAX_NAME_BYTES
from toolfs.provider.value import ResolveRequest, Root

Names = tuple[bytes, ...]
"""The names on the way from the top of the name space."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place beneath a root."""

    root: Root
    names: Names
    """The names beneath the root: none is empty, `.` or `..`, none has a slash or a NUL. None at all is the root."""
    wants_directory: bool = False
    """The path ended in a slash, and nothing is there: only a directory could be made of it."""

    @property
    def key(self) -> bytes:
        """The root's path, a NUL, the names between slashes, and a slash where a directory is wanted."""
        return self.root.raw_path + b"\0" + b"/".join(self.names) + (b"/" if self.wants_directory else b"")

    @property
    def raw_path(self) -> bytes:
        """The absolute path under which agents see it."""
        return b"/".join((self.root.raw_path.rstrip(b"/"), *self.names)) or b"/"

    @property
    def shown(self) -> str:
        """The same, made safe to show."""
        return display_form(self.raw_path)

    @property
    def relative_path(self) -> bytes:
        """The path beneath the root."""
        return b"/".join(self.names)


@dataclass(frozen=True, slots=True)
class Seen:
    """What is at a place, a link itself if it is one."""

    kind: FileKind
    points_to: bytes = b""
    """What a link points to, as it stands; of everything else empty."""


Look = Callable[[Place], "Seen | None"]
"""Tells what is at a place whose parents are directories; `None` when nothing is."""


def parse_key(roots: Sequence[Root], key: bytes) -> Place:
    """The place that a key stands for; `FS_INVALID_ARGUMENT` for one that was never made here."""
    for root in roots:
        prefix = root.raw_path + b"\0"
        if key.startswith(prefix):
            relative = key[len(prefix) :]
            names = components(relative)
            place = Place(root, names, relative.endswith(b"/"))
            # Only what comes out the same again is canonical, and a nested root has keys of its own.
            if place.key == key and b".." not in names and b"\0" not in relative and _holds(roots, place):
                return place
    raise refusal.invalid_argument("target_key", "bytes that are no key", "a key that this provider made")


def _holds(roots: Sequence[Root], place: Place) -> bool:
    return _split(roots, components(place.raw_path)) == (place.root, place.names)


def contains(roots: Sequence[Root], ancestor: bytes, target: bytes) -> bool:
    """Whether a target is another one, or lies beneath it, judged by their keys."""
    above, below = (components(parse_key(roots, key).raw_path) for key in (ancestor, target))
    return below[: len(above)] == above


def components(path: bytes) -> Names:
    """The components of a path, without empty ones and `.`."""
    return tuple(name for name in path.split(b"/") if name not in (b"", b"."))


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where a path leads, and its spelling beneath the root, for judging protected names."""

    place: Place
    spelling: bytes


def resolve(
    roots: Sequence[Root], max_path_bytes: int, request: ResolveRequest, look: Look, follow_last: bool = True
) -> Resolved:
    """Finds where a path leads: existing or not, through links, beneath the roots.

    Without `follow_last` a link at the end is the place itself, unless a slash follows it.

    Raises `FS_SANDBOX_DENIED`, `FS_NOT_DIRECTORY`, `FS_NOT_FOUND` (`missing/../x`), `FS_INVALID_ARGUMENT`.
    """
    path = _absolute(roots[0], max_path_bytes, request)
    shown = display_form(request.path)
    found = _split(roots, components(path))
    if found is None:
        raise refusal.leaves_roots(shown)
    wants_directory = _ends_as_directory(request.path)
    walk = _Walk(roots, look, shown, found[0], found[1], wants_directory, follow_last or wants_directory)
    return Resolved(walk.run(), b"/".join(found[1]))


def find_again(roots: Sequence[Root], place: Place, look: Look) -> Place:
    """Where a place that was found before leads now: some of its names may have become links since."""
    names = place.names + ((b".",) if place.wants_directory else ())
    return _Walk(roots, look, place.shown, place.root, names, place.wants_directory, True).run()


def _absolute(first_root: Root, max_path_bytes: int, request: ResolveRequest) -> bytes:
    """The absolute path that is asked for, as it is spelled."""
    path, cwd, shown = request.path, request.cwd, display_form(request.path)
    if not path:
        raise refusal.invalid_argument("path", "empty", "a path of at least 1 byte")
    if b"\0" in path:
        raise refusal.invalid_argument("path", "text with a NUL byte", "a path without one", shown)
    if len(path) > max_path_bytes:
        expected = f"at most {max_path_bytes} bytes"
        raise refusal.invalid_argument("path", f"a path of {len(path)} bytes", expected, shown)
    for name in path.split(b"/"):
        if len(name) > MAX_NAME_BYTES:
            raise _name_too_long(name, shown)
    if path.startswith(b"/"):
        return path
    if cwd is None:
        return first_root.raw_path + b"/" + path
    if not cwd.startswith(b"/") or b"\0" in cwd:
        raise refusal.invalid_argument("cwd", "a relative path", "an absolute path under a root", display_form(cwd))
    return cwd + b"/" + path


def _name_too_long(name: bytes, shown: str) -> FsError:
    actual = f"a path with a name of {len(name)} bytes"
    return refusal.invalid_argument("path", actual, f"a path of names of at most {MAX_NAME_BYTES} bytes", shown)


def _split(roots: Sequence[Root], names: Names) -> tuple[Root, Names] | None:
    """The longest root that names from the top start with, and what follows."""
    best: tuple[Root, Names] | None = None
    best_length = -1
    for root in roots:
        above = components(root.raw_path)
        if len(above) > best_length and names[: len(above)] == above:
            best, best_length = (root, names[len(above) :]), len(above)
    return best


def _ends_as_directory(path: bytes) -> bool:
    """Whether only a directory can be at the end of a path that is spelled like this."""
    return path.rsplit(b"/", 1)[-1] in (b"", b".", b"..")


class _Walk:
    """A walk from a directory along what is left of a path."""

    def __init__(
        self,
        roots: Sequence[Root],
        look: Look,
        shown: str,
        root: Root,
        pending: Names,
        wants_directory: bool,
        follow_last: bool,
    ) -> None:
        self._roots = roots
        self._look = look
        self._shown = shown
        self._root = root
        self._names: list[bytes] = []
        self._pending = deque(name for name in pending if name != b".")
        self._wants_directory = wants_directory
        self._follow_last = follow_last
        self._links = 0

    def run(self) -> Place:
        seen: Seen | None = Seen(FileKind.DIRECTORY)
        while self._pending:
            name = self._pending.popleft()
            if name == b"..":
                self._step_up()
                continue
            self._names.append(name)
            seen = self._look(self._here())
            if seen is None:
                return self._missing()
            if seen.kind is FileKind.SYMLINK:
                if not self._pending and not self._follow_last:
                    break
                self._follow(seen.points_to)
            elif seen.kind is not FileKind.DIRECTORY and (self._pending or self._wants_directory):
                raise refusal.not_directory(self._shown)
        return self._here()

    def _here(self) -> Place:
        # A name may be the start of a root that lies within this one.
        found = _split(self._roots, components(self._root.raw_path) + tuple(self._names))
        root, names = found if found is not None else (self._root, tuple(self._names))
        return Place(root, names)

    def _step_up(self) -> None:
        """Goes to the parent. Every step has to stay beneath a root, also when later ones would come back."""
        if self._names:
            self._names.pop()
            return
        above = components(self._root.raw_path)[:-1]
        found = _split(self._roots, above) if components(self._root.raw_path) else None
        if found is None:
            raise refusal.leaves_roots(self._shown)
        self._root, self._names = found[0], list(found[1])

    def _follow(self, points_to: bytes) -> None:
        """Goes on with what the link points to whose name is the last one of where the walk stands."""
        self._links += 1
        if self._links > MAX_LINKS:
            expected = f"a path that leads through at most {MAX_LINKS} of them"
            raise refusal.invalid_argument("path", "a path through too many symbolic links", expected, self._shown)
        self._names.pop()
        target = components(points_to)
        if points_to.startswith(b"/"):
            found = _split(self._roots, target)
            if found is None:
                raise refusal.leaves_roots(self._shown)
            self._root, target = found
            self._names = []
        if not self._pending and _ends_as_directory(points_to):
            self._wants_directory = True
        self._pending.extendleft(reversed(target))

    def _missing(self) -> Place:
        """Ends where the last name is not there: what is left becomes the missing rest."""
        if b".." in self._pending:
            raise refusal.not_found(self._shown)
        for name in self._pending:
            if len(name) > MAX_NAME_BYTES:
                raise _name_too_long(name, self._shown)
        self._names.extend(self._pending)
        here = self._here()
        return Place(here.root, here.names, self._wants_directory)
