"""The simple base: a provider whose files are read and replaced whole.

Four methods say what is there and put something there; the base makes the seam of them: paths and links, lines, text
rules, versions, guards, edits, diffs, plans. What is weaker than in the server's own providers:

- every file is held in memory as a whole while it is read or changed
- mutations are serialized within this process only; what a foreign writer does between `read` and `replace` is noticed
  as far as `replace` notices it, which is what `verified_replacement` tells
- operation ids are not recorded, so that a retry after a crash is not told what happened
- near misses explain blanks and letter case only (see `toolfs.provider.near_miss`)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from toolfs.enums import FileKind, LimitKind, WriteOperation
from toolfs.outcome import Diff, Notice
from toolfs.provider import diff, edit, near_miss, refusal
from toolfs.provider import place as places
from toolfs.provider.error import FsError, TargetMoved
from toolfs.provider.guard import CreateIfAbsent, EditGuard, ReplaceIfVersion, WriteGuard
from toolfs.provider.lock import Turns
from toolfs.provider.name import file_url, rule_for, similar_names
from toolfs.provider.place import Place, Seen
from toolfs.provider.provider import Call, Provider
from toolfs.provider.stored import Entry, Replaced, StoredFile
from toolfs.provider.text import (
    NotText,
    TextSummary,
    line_end_changes,
    pieces_of,
    split_lines,
    summarize,
    version_of,
    window_of,
)
from toolfs.provider.value import (
    ByteRange,
    Capabilities,
    Content,
    DirectoryEntry,
    Durability,
    EditReport,
    EditText,
    FileStat,
    Limits,
    Lines,
    LineWindow,
    ResolveRequest,
    Root,
    Target,
    WriteReport,
    WriteText,
)

_MAX_ATTEMPTS = 16

_Answer = TypeVar("_Answer")
_Report = TypeVar("_Report", WriteReport, EditReport)


@dataclass(frozen=True, slots=True)
class _Decision:
    """What a mutation would put where, on the basis of what."""

    place: Place
    expected: str | None
    content: bytes = field(repr=False)


class WholeFileProvider(Provider):
    """The simple base: implement `look`, `read`, `entries` and `replace`, and describe the provider to `__init__`."""

    def __init__(
        self,
        name: str,
        roots: Sequence[Root],
        *,
        durability: Durability,
        verified_replacement: bool = False,
        protected_patterns: Sequence[str] = (".git",),
        limits: Limits | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.roots = tuple(roots)
        self._capabilities = Capabilities(
            name, self.roots, durability, verified_replacement, False, tuple(protected_patterns), self.limits
        )
        self._turns = Turns()

    # What a provider implements.

    @abstractmethod
    def look(self, place: Place) -> Entry | None:
        """What is at a place, without following a link there; `None` when nothing is, or a parent is missing.

        Raises `FS_NOT_DIRECTORY` when a parent is a file, `TargetMoved` when one is a link, `FS_PERMISSION_DENIED`.
        """

    @abstractmethod
    def read(self, place: Place) -> StoredFile | None:
        """The regular file at a place; `None` when nothing is, or a parent is missing. Follows no link at all.

        Raises `FS_NOT_REGULAR_FILE` without blocking, `TargetMoved` when the place or a parent is a link,
        `FS_NOT_DIRECTORY`, `FS_PERMISSION_DENIED`, `FS_IO_ERROR`.
        """

    @abstractmethod
    def entries(self, place: Place) -> Iterable[DirectoryEntry] | None:
        """The entries of the directory at a place; `None` when nothing is. Follows no link at all.

        Raises `FS_NOT_DIRECTORY` for anything else, `TargetMoved` when the place or a parent is a link.
        """

    @abstractmethod
    def replace(self, place: Place, expected: str | None, content: bytes) -> Replaced:
        """Puts content at a place in one atomic step, with missing parents.

        `expected` is the version of what is there; `None` means that nothing is. Raises `TargetMoved`, with nothing
        changed, when something else is there; `FS_NO_SPACE`, `FS_IO_ERROR`, `FS_PERMISSION_DENIED`,
        `FS_NOT_DIRECTORY`. An error after the content is in place is no error but `Replaced.not_durable`; an error that
        leaves that open has `published` maybe. Calls for one place come one after the other.
        """

    def version_of(self, content: bytes) -> str:
        """The version that names a content."""
        return version_of(content)

    # The seam.

    def capabilities(self, call: Call) -> Capabilities:
        return self._capabilities

    def resolve(self, call: Call, request: ResolveRequest) -> Target:
        def found() -> Target:
            resolved = places.resolve(self.roots, self.limits.max_path_bytes, request, self._seen)
            place = resolved.place
            rule = rule_for(resolved.spelling, self._patterns) or self._rule(place)
            return Target(place.key, place.raw_path, self.process_path(place), self.file_url(place), rule)

        return self._settled(call, found, request.path.decode("utf-8", "replace"))

    def process_path(self, place: Place) -> bytes:
        """The path of a place for other processes of this host; empty where there is none, which is the default."""
        return b""

    def file_url(self, place: Place) -> str:
        """A URL of a place: of its process path, where it has one."""
        path = self.process_path(place)
        return file_url(path) if path else ""

    def contains(self, call: Call, ancestor: bytes, target: bytes) -> bool:
        return places.contains(self.roots, ancestor, target)

    def stat(self, call: Call, target: bytes, want_version: bool) -> FileStat:
        def found(place: Place) -> FileStat:
            entry = self.look(place)
            if entry is None or place.wants_directory:
                raise refusal.not_found(place.shown)
            if entry.stat.kind is FileKind.SYMLINK:
                raise TargetMoved
            if not want_version:
                return entry.stat
            return replace(entry.stat, version=self.version_of(self._file(place).content))

        return self._at(call, target, found)

    def lstat(self, call: Call, request: ResolveRequest) -> FileStat:
        def found() -> FileStat:
            limit = self.limits.max_path_bytes
            place = places.resolve(self.roots, limit, request, self._seen, follow_last=False).place
            entry = self.look(place)
            if entry is None or place.wants_directory:
                raise refusal.not_found(place.shown)
            return entry.stat

        return self._settled(call, found, request.path.decode("utf-8", "replace"))

    def read_lines(self, call: Call, target: bytes, window: LineWindow) -> Lines:
        place, content = self._at(call, target, lambda place: (place, self._file(place).content))
        summary = self._text(place, content)
        lines, stop_reason = window_of(content, window)
        return Lines(
            lines,
            stop_reason,
            summary.total_lines,
            summary.size,
            self.version_of(content),
            summary.line_endings,
            summary.ends_with_newline,
            summary.bom,
        )

    def read_text(self, call: Call, target: bytes) -> Content:
        place, content = self._at(call, target, lambda place: (place, self._file(place).content))
        self._text(place, content)
        return Content(len(content), pieces_of(content), lambda: self.version_of(content))

    def read_bytes(self, call: Call, target: bytes, byte_range: ByteRange) -> Content:
        place, content = self._at(call, target, lambda place: (place, self._file(place).content))
        start = min(byte_range.offset, len(content))
        length = len(content) - start
        if byte_range.length is not None:
            length = min(length, byte_range.length)
        if length > self.limits.max_read_bytes:
            raise refusal.too_large(place.shown, LimitKind.MAX_READ_BYTES, self.limits.max_read_bytes, length)
        is_whole = byte_range.offset == 0 and length == len(content)
        version = self.version_of(content) if is_whole else None
        return Content(len(content), pieces_of(content[start : start + length]), lambda: version)

    def list_dir(self, call: Call, target: bytes) -> Iterable[DirectoryEntry]:
        def found(place: Place) -> Iterable[DirectoryEntry]:
            entries = None if place.wants_directory else self.entries(place)
            if entries is None:
                raise refusal.not_found(place.shown)
            return entries

        return self._at(call, target, found)

    def write_text(self, call: Call, write: WriteText) -> WriteReport:
        return self._publish(call, write.target, write.operation_id, lambda place: self._write(place, write))

    def edit_text(self, call: Call, edit: EditText) -> EditReport:
        return self._publish(call, edit.target, edit.operation_id, lambda place: self._edit(call, place, edit))

    def plan_write(self, call: Call, write: WriteText) -> WriteReport:
        return self._at(call, write.target, lambda place: self._write(place, write)[1])

    def plan_edit(self, call: Call, edit: EditText) -> EditReport:
        return self._at(call, edit.target, lambda place: self._edit(call, place, edit)[1])

    # Decisions: what a mutation would do.

    def _write(self, place: Place, write: WriteText) -> tuple[_Decision, WriteReport]:
        old = self._mutable(place)
        try:
            write.content.decode()
        except UnicodeDecodeError:
            raise refusal.invalid_argument("content", "bytes that are not UTF-8", "UTF-8 text", place.shown) from None
        actual = None if old is None else self.version_of(old.content)
        if old is not None and isinstance(write.guard, CreateIfAbsent):
            is_text = isinstance(summarize(old.content), TextSummary)
            raise refusal.not_observed(place.shown, FileKind.REGULAR, len(old.content), is_text)
        self._check_version(place, write.guard, actual)
        report = WriteReport(
            WriteOperation.CREATE if old is None else WriteOperation.UPDATE,
            len(write.content),
            None if old is None else len(old.content),
            self.version_of(write.content),
            self._notices(old, write.content),
            self._diff(old, write) if write.want_diff else None,
        )
        return _Decision(place, actual, write.content), report

    def _diff(self, old: StoredFile | None, write: WriteText) -> Diff:
        return diff.between(None if old is None else old.content, write.content, self.limits.max_diff_bytes)

    def _edit(self, call: Call, place: Place, asked: EditText) -> tuple[_Decision, EditReport]:
        old = self._mutable(place)
        if old is None:
            expected = asked.guard.version if isinstance(asked.guard, ReplaceIfVersion) else None
            raise refusal.stale(place.shown, expected, None)
        actual = self.version_of(old.content)
        self._check_version(place, asked.guard, actual)
        summary = self._text(place, old.content)
        result = edit.apply(old.content, summary, asked.old_string, asked.new_string, asked.replace_all, call.check)
        if isinstance(result, edit.NoMatch):
            raise refusal.edit_not_found(place.shown, *near_miss.search(old.content, asked.old_string))
        if isinstance(result, edit.Ambiguous):
            raise refusal.ambiguous_edit(place.shown, result.match_count, result.lines)
        limit, size = self.limits.max_file_bytes, len(result.content)
        if limit is not None and size > limit:
            raise refusal.too_large(place.shown, LimitKind.MAX_FILE_BYTES, limit, size)
        old_lines, new_lines = split_lines(old.content), split_lines(result.content)
        changes = [change.without_equal_ends(old_lines, new_lines) for change in result.changes]
        wanted = diff.around(old_lines, new_lines, changes, self.limits.max_diff_bytes) if asked.want_diff else None
        report = EditReport(
            result.matches,
            diff.changed_ranges(changes),
            size,
            self.version_of(result.content),
            self._notices(old, result.content),
            wanted,
        )
        return _Decision(place, actual, result.content), report

    def _mutable(self, place: Place) -> StoredFile | None:
        """What is at a place that a mutation may change: its kind, protection and permission, in this order."""
        old = self.read(place)
        if old is None and place.wants_directory:
            raise refusal.asks_for_directory(place.shown)
        rule = self._rule(place)
        if rule is not None:
            raise refusal.protected(place.shown, rule)
        if old is not None and not old.writable:
            raise refusal.not_writable(place.shown)
        return old

    def _check_version(self, place: Place, guard: WriteGuard | EditGuard, actual: str | None) -> None:
        if isinstance(guard, ReplaceIfVersion) and guard.version != actual:
            raise refusal.stale(place.shown, guard.version, actual)

    def _notices(self, old: StoredFile | None, content: bytes) -> tuple[Notice, ...]:
        if old is None:
            return ()
        before, after = summarize(old.content), summarize(content)
        if isinstance(before, NotText) or isinstance(after, NotText):
            return old.notices
        return line_end_changes(before, after) + old.notices

    # Carrying out.

    def _publish(
        self,
        call: Call,
        key: bytes,
        operation_id: str | None,
        decide: Callable[[Place], tuple[_Decision, _Report]],
    ) -> _Report:
        """Decides, and publishes onto exactly what the decision was based on; when that moved, decides anew."""
        if operation_id is not None:
            shown = places.parse_key(self.roots, key).shown
            raise refusal.unsupported("this provider records no operation ids", shown)

        def in_turn(place: Place) -> _Report:
            with self._turns.of(place.key):
                decision, report = decide(place)
                call.check()
                done = self.replace(decision.place, decision.expected, decision.content)
            return _with(report, done)

        return self._at(call, key, in_turn)

    def _at(self, call: Call, key: bytes, work: Callable[[Place], _Answer]) -> _Answer:
        """Does something at the place that a key stands for, and again elsewhere when a name became a link."""
        place = places.parse_key(self.roots, key)
        return self._settled(call, lambda: work(places.find_again(self.roots, place, self._seen)), place.shown)

    def _settled(self, call: Call, work: Callable[[], _Answer], shown: str) -> _Answer:
        for _ in range(_MAX_ATTEMPTS):
            call.check()
            try:
                return work()
            except TargetMoved:
                continue
        raise refusal.keeps_changing(shown)

    def _seen(self, place: Place) -> Seen | None:
        entry = self.look(place)
        return None if entry is None else Seen(entry.stat.kind, entry.points_to)

    def _file(self, place: Place) -> StoredFile:
        file = None if place.wants_directory else self.read(place)
        if file is None:
            raise refusal.not_found(place.shown, self._similar(place))
        return file

    def _similar(self, place: Place) -> tuple[str, ...]:
        """Names beside a missing one that look like it. It is a hint: none where the directory cannot be listed."""
        if not place.names or place.wants_directory:
            return ()
        parent = Place(place.root, place.names[:-1])
        try:
            entries = self.entries(parent)
            return similar_names(place.names[-1], (entry.raw_name for entry in entries or ()))
        except (FsError, TargetMoved):
            return ()

    def _text(self, place: Place, content: bytes) -> TextSummary:
        summary = summarize(content)
        if isinstance(summary, NotText):
            raise refusal.not_text(place.shown, summary.byte_offset, summary.is_nul, summary.encoding)
        return summary

    @property
    def _patterns(self) -> tuple[str, ...]:
        return self._capabilities.protected_patterns

    def _rule(self, place: Place) -> str | None:
        return rule_for(place.relative_path, self._patterns)


def _with(report: _Report, done: Replaced) -> _Report:
    return replace(report, notices=report.notices + done.notices, not_durable=done.not_durable)
