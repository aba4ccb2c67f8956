/**
 * The stable spellings of codes and reasons.
 *
 * Each is a constant object and a type of the same name, open at its end: a spelling of a newer server is kept as it is.
 */

/** Any text beside the known ones, without hiding those from an editor. */
type Unknown = string & Record<never, never>;

/** The codes of an `FsError`: what became of the work on a file. */
export const FsErrorCode = {
  /** Nothing is at the path. */
  FS_NOT_FOUND: "FS_NOT_FOUND",
  /** A parent of the path is no directory. */
  FS_NOT_DIRECTORY: "FS_NOT_DIRECTORY",
  /** What is there has no content: a directory or a special file. */
  FS_NOT_REGULAR_FILE: "FS_NOT_REGULAR_FILE",
  /** The content is not UTF-8 text without NUL. */
  FS_NOT_TEXT: "FS_NOT_TEXT",
  /** A limit on sizes would be exceeded. */
  FS_TOO_LARGE: "FS_TOO_LARGE",
  /** The window starts after the end of the file. */
  FS_OUT_OF_RANGE: "FS_OUT_OF_RANGE",
  /** The operating system or the file's own mode forbids it. */
  FS_PERMISSION_DENIED: "FS_PERMISSION_DENIED",
  /** The server's own rules forbid it: roots, protected patterns, read-only sessions. */
  FS_SANDBOX_DENIED: "FS_SANDBOX_DENIED",
  /** The disk or a quota is full. */
  FS_NO_SPACE: "FS_NO_SPACE",
  /** The storage failed. */
  FS_IO_ERROR: "FS_IO_ERROR",
  /** The content is not what the session last saw. */
  FS_STALE_VERSION: "FS_STALE_VERSION",
  /** The session has not seen what is there. */
  FS_NOT_OBSERVED: "FS_NOT_OBSERVED",
  /** `old_string` occurs several times, and `replace_all` is not set. */
  FS_AMBIGUOUS_EDIT: "FS_AMBIGUOUS_EDIT",
  /** `old_string` does not occur. */
  FS_EDIT_NOT_FOUND: "FS_EDIT_NOT_FOUND",
  /** An argument is missing or wrong. */
  FS_INVALID_ARGUMENT: "FS_INVALID_ARGUMENT",
  /** The provider cannot do this. */
  FS_UNSUPPORTED: "FS_UNSUPPORTED",
  /** Not now; the same call may succeed later. */
  FS_UNAVAILABLE: "FS_UNAVAILABLE",
  /** Cancelled or out of time; not gRPC's ABORTED. */
  FS_ABORTED: "FS_ABORTED",
} as const;
/** A code of an `FsError`; one that this client does not know is its plain spelling. */
export type FsErrorCode = keyof typeof FsErrorCode | Unknown;

/** What was wrong with a call itself: the reason of a gRPC status. */
export const CallReason = {
  /** The request holds no call, or one of a kind that the server does not know. */
  CALL_MISSING: "CALL_MISSING",
  /** A mutation has no guard, or one that the server does not know. */
  GUARD_MISSING: "GUARD_MISSING",
  /** The request names no session where it must. */
  KEY_MISSING: "KEY_MISSING",
  /** The request does not say what it is about. */
  SCOPE_MISSING: "SCOPE_MISSING",
  /** The request id is no UUID. */
  REQUEST_ID_INVALID: "REQUEST_ID_INVALID",
  /** The request id was used for another call. */
  REQUEST_ID_REUSED: "REQUEST_ID_REUSED",
  /** The page size is negative. */
  PAGE_SIZE_INVALID: "PAGE_SIZE_INVALID",
  /** The page token is not one of this list. */
  PAGE_TOKEN_INVALID: "PAGE_TOKEN_INVALID",
  /** The resume token is not one of this stream. */
  RESUME_TOKEN_INVALID: "RESUME_TOKEN_INVALID",
  /** The caller has no open session of that key. */
  SESSION_NOT_FOUND: "SESSION_NOT_FOUND",
  /** As many sessions are open as may be. */
  SESSION_LIMIT: "SESSION_LIMIT",
  /** The request is for operators, and the caller is none. */
  OPERATOR_ONLY: "OPERATOR_ONLY",
  /** The caller has used up what it may. */
  QUOTA_EXCEEDED: "QUOTA_EXCEEDED",
  /** The caller showed no valid credentials. */
  UNAUTHENTICATED: "UNAUTHENTICATED",
  /** The caller may not do this. */
  FORBIDDEN: "FORBIDDEN",
  /** The server has too much to do. */
  OVERLOADED: "OVERLOADED",
  /** The server is shutting down. */
  SHUTTING_DOWN: "SHUTTING_DOWN",
  /** The caller's time is over. */
  DEADLINE_EXCEEDED: "DEADLINE_EXCEEDED",
  /** The caller cancelled. */
  CANCELLED: "CANCELLED",
  /** The server made a mistake. */
  INTERNAL: "INTERNAL",
} as const;
/** The reason of a refused call: one of `CallReason`, a code of an `FsError`, or a spelling of a newer server. */
export type CallReason = keyof typeof CallReason | FsErrorCode;

/** The names of gRPC's status codes, by number. */
const STATUS_NAMES = [
  "OK",
  "CANCELLED",
  "UNKNOWN",
  "INVALID_ARGUMENT",
  "DEADLINE_EXCEEDED",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED",
  "FAILED_PRECONDITION",
  "ABORTED",
  "OUT_OF_RANGE",
  "UNIMPLEMENTED",
  "INTERNAL",
  "UNAVAILABLE",
  "DATA_LOSS",
  "UNAUTHENTICATED",
] as const;

/** The name of a gRPC status code; one that gRPC does not have is `CODE_` and its number. */
export type StatusName = (typeof STATUS_NAMES)[number] | Unknown;

/** The name of a gRPC status code. */
export function statusName(code: number): StatusName {
  return STATUS_NAMES[code] ?? `CODE_${code}`;
}
