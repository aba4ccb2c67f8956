/**
 * The seam: what a place that keeps files has to do.
 *
 * Extend `Provider` for full control; extend `WholeFileProvider` when the place keeps whole contents under names, which is
 * much less work.
 */
import type { Capabilities } from "./capability.js";
import type { ContentStream, EditReport, LinesReport, WriteReport } from "./report.js";
import type { ByteRange, Call, EditTextRequest, LineWindow, ResolveRequest, WriteTextRequest } from "./request.js";
import type { Entry, FileStat, Target, TargetKey } from "./target.js";

/** A value, now or later. */
export type Awaitable<T> = T | PromiseLike<T>;

/**
 * A place that keeps files: a disk, an object store, a database, an editor's buffers.
 *
 * For every operation:
 * - a refusal or failure is thrown as an `FsError`; anything else that is thrown is told as a mistake of the provider
 * - errors name the target's display path and echo no content
 * - only regular files have content; anything else is `FS_NOT_REGULAR_FILE`, decided without blocking
 * - a mutation whose call is given up before publication throws `FS_ABORTED` and changes nothing; after that it goes on
 */
export abstract class Provider {
  /** What this provider can do, and what it serves. */
  abstract capabilities(call: Call): Awaitable<Capabilities>;

  /**
   * Finds where a path leads: existing or not, through links, beneath the roots. A path whose last components are
   * missing resolves to the nearest existing directory and the missing rest.
   *
   * @throws FsError `FS_SANDBOX_DENIED` (leaves the roots; names the path as asked, never where it led),
   * `FS_NOT_DIRECTORY` (a parent is a file, or a file has a trailing slash), `FS_NOT_FOUND` (`missing/../x`),
   * `FS_INVALID_ARGUMENT` (a name that is too long, too many links), `FS_PERMISSION_DENIED`
   */
  abstract resolve(request: ResolveRequest, call: Call): Awaitable<Target>;

  /**
   * Whether `target` is `ancestor` or lies beneath it, judged by keys alone.
   *
   * @throws FsError `FS_INVALID_ARGUMENT` for a key that this provider never made
   */
  abstract contains(ancestor: TargetKey, target: TargetKey, call: Call): Awaitable<boolean>;

  /**
   * What is at a target, with its version when that is wanted.
   *
   * @throws FsError `FS_NOT_FOUND`; `FS_NOT_REGULAR_FILE` when a version of something else is wanted
   */
  abstract stat(target: TargetKey, wantVersion: boolean, call: Call): Awaitable<FileStat>;

  /**
   * What is at a path, a link itself if it is one. It has no version.
   *
   * @throws FsError those of `resolve`, and `FS_NOT_FOUND`
   */
  abstract lstat(request: ResolveRequest, call: Call): Awaitable<FileStat>;

  /**
   * Reads a window of lines, and what a whole pass knows of the file. A window past the end is empty.
   *
   * @throws FsError `FS_NOT_FOUND` with similar names, `FS_NOT_REGULAR_FILE`, `FS_NOT_TEXT`, `FS_PERMISSION_DENIED`
   */
  abstract readLines(target: TargetKey, window: LineWindow, call: Call): Awaitable<LinesReport>;

  /**
   * Reads a whole text in pieces that end between characters, and its version. The pieces end in an error when the file
   * turns out not to be text.
   *
   * @throws FsError as `readLines`
   */
  abstract readText(target: TargetKey, call: Call): Awaitable<ContentStream>;

  /**
   * Reads bytes of any file; it has a version only when the whole file is sent.
   *
   * @throws FsError `FS_TOO_LARGE` when the range holds more than `maxReadBytes`
   */
  abstract readBytes(target: TargetKey, range: ByteRange, call: Call): Awaitable<ContentStream>;

  /**
   * Lists a directory in no order, without `.` and `..`.
   *
   * @throws FsError `FS_NOT_FOUND`, `FS_NOT_DIRECTORY`, `FS_PERMISSION_DENIED`; at the first entry at the latest
   */
  abstract listDir(target: TargetKey, call: Call): AsyncIterable<Entry> | Iterable<Entry>;

  /**
   * Creates or fully replaces a file under a guard, with missing parent directories, whole or not at all. What is there
   * is judged in this order: its kind, protection and permission, the guard.
   *
   * @throws FsError `FS_INVALID_ARGUMENT` (the content is not UTF-8), `FS_NOT_REGULAR_FILE`, `FS_NOT_DIRECTORY`,
   * `FS_SANDBOX_DENIED` (protected), `FS_PERMISSION_DENIED`, `FS_NOT_OBSERVED` (something is there, create-if-absent),
   * `FS_STALE_VERSION`, `FS_NO_SPACE`, `FS_IO_ERROR`, `FS_UNAVAILABLE`, `FS_ABORTED`
   */
  abstract writeText(request: WriteTextRequest, call: Call): Awaitable<WriteReport>;

  /**
   * Replaces text under a guard: version check, match, replacement and publication are one critical section.
   *
   * @throws FsError those of `writeText`, and in this order `FS_STALE_VERSION`, `FS_NOT_TEXT`, `FS_EDIT_NOT_FOUND` or
   * `FS_AMBIGUOUS_EDIT`, `FS_TOO_LARGE`. A missing target is `FS_STALE_VERSION`
   */
  abstract editText(request: EditTextRequest, call: Call): Awaitable<EditReport>;

  /** Decides and reports as `writeText` would, and publishes nothing. */
  abstract planWrite(request: WriteTextRequest, call: Call): Awaitable<WriteReport>;

  /** Decides and reports as `editText` would, and publishes nothing. */
  abstract planEdit(request: EditTextRequest, call: Call): Awaitable<EditReport>;
}
