"""Serves a directory of this host over the seam, for `toolfs serve --provider unix:PATH`.

    python examples/directory_provider.py ./workspace unix:/run/user/1000/seam.sock

The directory is held open, and everything beneath it is reached from there name by name without following a link, so
that nobody who swaps a directory for a link leads out. Links are followed by the base class, which looks at where each
one leads. A file is replaced by a temporary one beside it that is written, synced and renamed; a creation links it,
which never replaces. What another process writes between the last look and the rename is lost: this example does not
exchange and verify as `toolfs serve` itself does, and says so in its capabilities. Extended attributes are not kept.
After a kill, a file `.toolfs-*.tmp` may be left.
"""

from __future__ import annotations

import argparse
import errno
import os
import secrets
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from toolfs.enums import FileKind, NoticeKind
from toolfs.error import FsErrorCode
from toolfs.outcome import Notice
from toolfs.provider import (
    DirectoryEntry,
    Durability,
    Entry,
    FileStat,
    FsError,
    Limits,
    Place,
    Published,
    Replaced,
    Root,
    StoredFile,
    TargetMoved,
    WholeFileProvider,
    refusal,
    serve,
)

_PRIVILEGE_BITS = stat.S_ISUID | stat.S_ISGID
_WRITE_BITS = 0o222
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_KINDS = {
    stat.S_IFREG: FileKind.REGULAR,
    stat.S_IFDIR: FileKind.DIRECTORY,
    stat.S_IFLNK: FileKind.SYMLINK,
    stat.S_IFIFO: FileKind.FIFO,
    stat.S_IFSOCK: FileKind.SOCKET,
    stat.S_IFBLK: FileKind.BLOCK_DEVICE,
    stat.S_IFCHR: FileKind.CHAR_DEVICE,
}


class DirectoryProvider(WholeFileProvider):
    """One directory, under its real path."""

    def __init__(self, directory: str, limits: Limits | None = None) -> None:
        real_path = os.path.realpath(os.fsencode(directory))
        super().__init__("python-directory", [Root(real_path)], durability=Durability.FULL, limits=limits)
        self._root = os.open(real_path, _DIRECTORY)

    def close(self) -> None:
        """Lets go of the directory."""
        os.close(self._root)

    def process_path(self, place: Place) -> bytes:
        return place.raw_path

    def look(self, place: Place) -> Entry | None:
        with self._parent(place) as (parent, name):
            if parent is None:
                return None
            try:
                found = os.stat(name, dir_fd=parent, follow_symlinks=False)
                points_to = os.readlink(name, dir_fd=parent) if stat.S_ISLNK(found.st_mode) else b""
            except FileNotFoundError:
                return None
        return Entry(_stat_of(found), points_to)

    def read(self, place: Place) -> StoredFile | None:
        with self._parent(place) as (parent, name):
            return None if parent is None else _read(place, parent, name)

    def entries(self, place: Place) -> list[DirectoryEntry] | None:
        with self._parent(place) as (parent, name):
            if parent is None:
                return None
            kind = _kind_at(parent, name)
            if kind is None:
                return None
            if kind is FileKind.SYMLINK:
                raise TargetMoved
            if kind is not FileKind.DIRECTORY:
                raise refusal.not_directory(place.shown)
            directory = os.open(name, _DIRECTORY, dir_fd=parent)
        try:
            with os.scandir(directory) as found:
                # Of a descriptor the names come as text, whatever their bytes are.
                return [DirectoryEntry(os.fsencode(entry.name), _entry_kind(entry)) for entry in found]
        finally:
            os.close(directory)

    def replace(self, place: Place, expected: str | None, content: bytes) -> Replaced:
        with self._parent(place, make=expected is None) as (parent, name):
            if parent is None:
                raise TargetMoved
            temporary = b".toolfs-" + secrets.token_hex(16).encode() + b".tmp"
            try:
                notices = self._write_temporary(place, parent, temporary, name, expected, content)
                if expected is None:
                    try:
                        # A link of a name that is there fails: a creation never replaces.
                        os.link(temporary, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
                    except FileExistsError:
                        raise TargetMoved from None
                else:
                    # The last look before the step. What comes after it is not noticed.
                    now = _read(place, parent, name)
                    if now is None or self.version_of(now.content) != expected:
                        raise TargetMoved
                    os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
            finally:
                _remove(temporary, parent)
            return Replaced(notices, _synced(parent, place))

    def _write_temporary(
        self, place: Place, parent: int, temporary: bytes, name: bytes, expected: str | None, content: bytes
    ) -> tuple[Notice, ...]:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        # A new file has the mode that the umask leaves; that of an old one is kept.
        file = os.open(temporary, flags, 0o666 if expected is None else 0o600, dir_fd=parent)
        with open(file, "wb", buffering=0) as stream:
            rest = memoryview(content)
            while rest:
                rest = rest[stream.write(rest) or 0 :]
            notices: tuple[Notice, ...] = ()
            if expected is not None:
                try:
                    old = os.stat(name, dir_fd=parent, follow_symlinks=False)
                except FileNotFoundError:
                    raise TargetMoved from None
                notices = _keep_attributes(file, old)
            os.fsync(file)
        return notices

    @contextmanager
    def _parent(self, place: Place, make: bool = False) -> Iterator[tuple[int | None, bytes]]:
        """The directory that a place is in, opened name by name, and the last name; `None` when a parent is missing.

        The parent of the root is the root, and its name there `.`.
        """
        held = [os.dup(self._root)]
        try:
            for name in place.names[:-1]:
                try:
                    if make:
                        _make_directory(name, held[-1])
                    held.append(os.open(name, _DIRECTORY, dir_fd=held[-1]))
                except FileNotFoundError:
                    yield None, b""
                    return
                except NotADirectoryError:
                    if _kind_at(held[-1], name) is FileKind.SYMLINK:
                        raise TargetMoved from None
                    raise refusal.not_directory(place.shown) from None
            yield held[-1], place.names[-1] if place.names else b"."
        except OSError as error:
            raise _fs_error(error, place.shown) from error
        finally:
            for directory in held:
                os.close(directory)


def _read(place: Place, parent: int, name: bytes) -> StoredFile | None:
    """The regular file of this name, from one open file."""
    # Looked at first: opening some special files has effects.
    before = _kind_at(parent, name)
    if before is None:
        return None
    if before is FileKind.SYMLINK:
        raise TargetMoved
    if before is not FileKind.REGULAR:
        raise refusal.not_regular(place.shown, before)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        file = os.open(name, flags, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _moved_if_link(error) from None
    with open(file, "rb", buffering=0) as stream:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise refusal.not_regular(place.shown, _kind_of(found.st_mode))
        content = stream.readall()
    return StoredFile(content, _is_writable(parent, name, found.st_mode), _notices_on_replacing(found))


def _kind_of(mode: int) -> FileKind:
    return _KINDS.get(stat.S_IFMT(mode), FileKind.OTHER)


def _kind_at(parent: int, name: bytes) -> FileKind | None:
    try:
        return _kind_of(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return None


def _entry_kind(entry: os.DirEntry[str]) -> FileKind:
    try:
        return _kind_of(entry.stat(follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return FileKind.OTHER


def _stat_of(found: os.stat_result) -> FileStat:
    return FileStat(_kind_of(found.st_mode), found.st_size, stat.S_IMODE(found.st_mode), found.st_mtime_ns)


def _is_writable(parent: int, name: bytes, mode: int) -> bool:
    """A replacement asks for what a write would: a write bit, also of the superuser, and the right to open it so."""
    if not mode & _WRITE_BITS:
        return False
    try:
        os.close(os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=parent))
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS)
    return True


def _notices_on_replacing(old: os.stat_result) -> tuple[Notice, ...]:
    notices = []
    if old.st_nlink > 1:
        text = "other hard links of the file keep the old content"
        notices.append(Notice(NoticeKind.HARD_LINKS_KEEP_OLD_CONTENT, text))
    if old.st_mode & _PRIVILEGE_BITS:
        text = "the set-user-id and set-group-id bits were dropped"
        notices.append(Notice(NoticeKind.PRIVILEGE_BITS_DROPPED, text))
    return tuple(notices)


def _keep_attributes(file: int, old: os.stat_result) -> tuple[Notice, ...]:
    """Gives the new file the owner and the mode of the old one. Its extended attributes are not kept."""
    notices: tuple[Notice, ...] = ()
    new = os.fstat(file)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(file, old.st_uid, old.st_gid)
        except PermissionError:
            notices = (Notice(NoticeKind.OWNERSHIP_NOT_KEPT, "owner and group could not be kept"),)
    os.fchmod(file, stat.S_IMODE(old.st_mode) & ~_PRIVILEGE_BITS)
    return notices


def _make_directory(name: bytes, parent: int) -> None:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return
    os.fsync(parent)


def _remove(name: bytes, parent: int) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        pass


def _synced(directory: int, place: Place) -> FsError | None:
    """Makes the directory entry durable. Tried once: a second sync after a failed one says nothing."""
    try:
        os.fsync(directory)
    except OSError as error:
        return _fs_error(error, place.shown, Published.YES)
    return None


def _moved_if_link(error: OSError) -> Exception:
    return TargetMoved() if error.errno == errno.ELOOP else error


def _fs_error(error: OSError, shown: str, published: Published = Published.NO) -> FsError:
    """What a failure of the operating system means. Its own words stay in the log."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        message = f"the operating system forbids it for `{shown}`"
        return FsError(FsErrorCode.FS_PERMISSION_DENIED, message, shown, published=published)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return FsError(FsErrorCode.FS_NO_SPACE, "the disk or a quota is full", shown, published=published)
    return FsError(FsErrorCode.FS_IO_ERROR, f"the storage of `{shown}` failed", shown, published=published)


def _end_with_input(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def main() -> None:
    """Serves until SIGTERM or SIGINT, or, if told so, until standard input ends."""
    parser = argparse.ArgumentParser(description="Serve a directory over the seam of toolfs.")
    parser.add_argument("directory", metavar="DIRECTORY", help="what is served, under its real path")
    parser.add_argument("address", metavar="ADDRESS", help="unix:PATH or HOST:PORT on this host")
    parser.add_argument("--max-file-bytes", type=int, default=None, metavar="BYTES")
    parser.add_argument("--max-read-bytes", type=int, default=Limits().max_read_bytes, metavar="BYTES")
    parser.add_argument("--max-diff-bytes", type=int, default=Limits().max_diff_bytes, metavar="BYTES")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end when standard input ends")
    options = parser.parse_args()
    limits = Limits(
        max_file_bytes=options.max_file_bytes,
        max_read_bytes=options.max_read_bytes,
        max_diff_bytes=options.max_diff_bytes,
    )
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    if options.until_stdin_closes:
        threading.Thread(target=_end_with_input, args=(ended,), daemon=True).start()
    with serve(DirectoryProvider(options.directory, limits), options.address) as serving:
        print(f"ready at {serving.address}", flush=True)
        ended.wait()


if __name__ == "__main__":
    main()
