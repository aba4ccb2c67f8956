/**
 * The refusals that providers word alike. `path` is always a display form: of the path as asked while one is resolved,
 * of the target afterwards.
 */
import { type Existing, FsError } from "./fs-error.js";
import { type FileKind, nounOf } from "./target.js";

/** The rule that is named when a path leaves the roots. */
export const ROOTS_RULE = "roots";

/** The longest name of one component of a path, in bytes. */
export const MAX_NAME_BYTES = 255;

/** How many symbolic links one path may lead through. */
export const MAX_LINKS = 40;

/** `FS_NOT_FOUND`: nothing is at the path. */
export function notFound(path: string, similarNames: readonly string[] = []): FsError {
  return new FsError({ code: "FS_NOT_FOUND", similarNames }, `nothing is at \`${path}\``, { path });
}

/** `FS_NOT_DIRECTORY`: a parent of the path, or what has a trailing slash, is no directory. */
export function notDirectory(path: string): FsError {
  const message = `\`${path}\` treats something as a directory that is none`;
  return new FsError({ code: "FS_NOT_DIRECTORY" }, message, { path });
}

/** `FS_NOT_REGULAR_FILE`: what is there has no content. */
export function notRegular(path: string, kind: FileKind): FsError {
  const message = `\`${path}\` is ${nounOf(kind)}, only regular files have content`;
  return new FsError({ code: "FS_NOT_REGULAR_FILE", kind }, message, { path });
}

/** `FS_NOT_REGULAR_FILE`: nothing is there, and the path ends in a slash, so that only a directory could be made. */
export function asksForDirectory(path: string): FsError {
  const message = `\`${path}/\` asks for a directory, only regular files have content`;
  return new FsError({ code: "FS_NOT_REGULAR_FILE" }, message, { path });
}

/** `FS_SANDBOX_DENIED`: the path leaves the roots. It names the path as asked, never where it led. */
export function sandboxEscape(path: string): FsError {
  const message = `\`${path}\` leads out of the roots, only paths beneath a root are served`;
  return new FsError({ code: "FS_SANDBOX_DENIED", rule: ROOTS_RULE }, message, { path });
}

/** `FS_SANDBOX_DENIED`: a protected pattern forbids the change. */
export function protectedByRule(path: string, rule: string): FsError {
  const message = `\`${path}\` is protected by the rule \`${rule}\`, it can be read and not changed`;
  return new FsError({ code: "FS_SANDBOX_DENIED", rule }, message, { path });
}

/** `FS_PERMISSION_DENIED`: the file has no write bit, or the provider may not write it. */
export function notWritable(path: string): FsError {
  return new FsError({ code: "FS_PERMISSION_DENIED" }, `\`${path}\` is not writable`, { path });
}

/** `FS_PERMISSION_DENIED`: the file, or a directory on the way, may not be read. */
export function notReadable(path: string): FsError {
  return new FsError({ code: "FS_PERMISSION_DENIED" }, `\`${path}\` is not readable`, { path });
}

/** `FS_NOT_OBSERVED`: something stands where only a creation was allowed. */
export function notObserved(path: string, existing: Existing): FsError {
  const message = `\`${path}\` is there already, and it was not seen before`;
  return new FsError({ code: "FS_NOT_OBSERVED", existing }, message, { path });
}

/** `FS_STALE_VERSION`: not `expected` (any content, when absent) is there but `actual` (nothing, when absent). */
export function stale(path: string, expected: string | undefined, actual: string | undefined): FsError {
  const failure = {
    code: "FS_STALE_VERSION" as const,
    ...(expected === undefined ? {} : { expected }),
    ...(actual === undefined ? {} : { actual }),
  };
  return new FsError(failure, staleMessage(path, expected, actual), { path });
}

function staleMessage(path: string, expected: string | undefined, actual: string | undefined): string {
  if (expected === undefined) {
    return actual === undefined
      ? `\`${path}\` is not there, only an existing file can be edited`
      : `\`${path}\` changed while it was edited`;
  }
  return `\`${path}\` is not what was seen last, ${actual === undefined ? "it is gone" : "its content changed"}`;
}

/** `FS_TOO_LARGE`: `sizeBytes` exceed a limit, which is named as it is announced (`max_read_bytes`). */
export function tooLarge(path: string, limitName: string, limitBytes: number, sizeBytes: number): FsError {
  const message = `${sizeBytes} bytes of \`${path}\` exceed the limit \`${limitName}\` of ${limitBytes} bytes`;
  return new FsError({ code: "FS_TOO_LARGE", limitName, limitBytes, sizeBytes }, message, { path });
}

/** `FS_INVALID_ARGUMENT`: `field` was `actual` (its type only, for text) and must be `expected`. */
export function invalidArgument(field: string, actual: string, expected: string, path?: string): FsError {
  const message = `\`${field}\` was ${actual}, it must be ${expected}`;
  const failure = { code: "FS_INVALID_ARGUMENT" as const, field, actual, expected };
  return new FsError(failure, message, path === undefined ? {} : { path });
}

/** `FS_INVALID_ARGUMENT`: the key is none that this provider made. */
export function foreignKey(): FsError {
  return invalidArgument("target_key", "bytes that are no key", "a key that this provider made");
}

/** `FS_INVALID_ARGUMENT`: the path leads through too many symbolic links, or in circles. */
export function tooManyLinks(path: string): FsError {
  const expected = `a path that leads through at most ${MAX_LINKS} of them`;
  return invalidArgument("path", "a path through too many symbolic links", expected, path);
}

/** `FS_INVALID_ARGUMENT`: the content of a write is not UTF-8, so that no read could show it. */
export function contentNotUtf8(path: string): FsError {
  return invalidArgument("content", "bytes that are not UTF-8", "UTF-8 text", path);
}

/** `FS_UNSUPPORTED`: operation ids are not recorded here. */
export function noOperationIds(path: string): FsError {
  return new FsError({ code: "FS_UNSUPPORTED" }, "this provider records no operation ids", { path });
}

/** `FS_UNAVAILABLE`: somebody else kept changing the path while the call tried. */
export function keepsChanging(path: string): FsError {
  const message = `\`${path}\` kept changing while the call tried`;
  return new FsError({ code: "FS_UNAVAILABLE", cause: "keeps-changing" }, message, { path });
}

/**
 * The error of a system call on a path, as Node reports it (`ENOENT`, `EACCES`, ...). An `FsError` stays as it is; what
 * is not known is `FS_IO_ERROR`.
 */
export function ofSystemError(error: unknown, path: string): FsError {
  if (error instanceof FsError) return error;
  const code = (error as { code?: unknown } | null)?.code;
  switch (code) {
    case "ENOENT":
      return notFound(path);
    case "ENOTDIR":
      return notDirectory(path);
    case "EISDIR":
      return notRegular(path, "directory");
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return new FsError({ code: "FS_PERMISSION_DENIED" }, `access to \`${path}\` is denied`, { path, cause: error });
    case "ENOSPC":
    case "EDQUOT":
      return new FsError({ code: "FS_NO_SPACE" }, `no space is left for \`${path}\``, { path, cause: error });
    case "ENAMETOOLONG":
      return invalidArgument("path", "a path that is too long", "a shorter one", path);
    default: {
      const told = typeof code === "string" ? ` (${code})` : "";
      return new FsError({ code: "FS_IO_ERROR" }, `the storage failed at \`${path}\`${told}`, { path, cause: error });
    }
  }
}
