/**
 * The one error of providers and gates.
 *
 * Deliberately absent: what a model should do next. Remedies are the tool layer's, on the other side of the wire.
 */
import type { FileKind } from "./target.js";

/** How the bytes of a file that is not UTF-8 seem to be encoded. */
export type TextEncoding = "UTF-16LE" | "UTF-16BE" | "UTF-32LE" | "UTF-32BE";

/** Why a near miss is no match. */
export type NearMissReason =
  | "white-space"
  | "indentation"
  | "tabs-or-spaces"
  | "trailing-blanks"
  | "look-alikes"
  | "normal-form"
  | "line-number-prefix"
  | "doubled-escapes"
  | "letter-case"
  | "some-lines-differ";

/** A place that nearly matches `old_string`. */
export interface NearMiss {
  /** Its first line, from 1. */
  readonly startLine: number;
  /** Its last line, inclusive. */
  readonly endLine: number;
  /** The text of its first lines: at most 5, each of at most 200 characters (Unicode scalar values). */
  readonly lines: readonly string[];
  /** Why it does not match, most telling first. Never empty. */
  readonly reasons: readonly NearMissReason[];
}

/** What stands where only a creation was allowed. */
export interface Existing {
  /** Its kind. */
  readonly kind: FileKind;
  /** Its size in bytes. */
  readonly size: number;
  /** Whether it is text that a read would show; absent when that was not looked at. */
  readonly text?: boolean;
}

/** Why a call has to wait. */
export type UnavailableCause = "open-for-writing" | "keeps-changing" | "provider-unreachable" | "overloaded";

/** Why a call was given up. */
export type AbortCause = "cancelled" | "deadline-exceeded" | "draining";

/** What went wrong: a stable code with the facts that belong to it. */
export type FsFailure =
  /** Nothing is at the path; up to 3 names of the same directory that look like the one asked for. */
  | { readonly code: "FS_NOT_FOUND"; readonly similarNames?: readonly string[] }
  /** A parent of the path is no directory. */
  | { readonly code: "FS_NOT_DIRECTORY" }
  /** What is there has no content; no kind when the path itself asks for a directory (`new/`). */
  | { readonly code: "FS_NOT_REGULAR_FILE"; readonly kind?: FileKind }
  /** The content is not UTF-8 text without NUL; the offset of the first offending byte, from 0. */
  | { readonly code: "FS_NOT_TEXT"; readonly byteOffset: number; readonly encoding?: TextEncoding }
  /** A limit would be exceeded: its name as announced (`max_content_bytes`), it and the size in bytes. */
  | {
      readonly code: "FS_TOO_LARGE";
      readonly limitName: string;
      readonly limitBytes: number;
      readonly sizeBytes: number;
    }
  /** The window starts after the end of the file. */
  | { readonly code: "FS_OUT_OF_RANGE"; readonly totalLines: number }
  /** The operating system or the file's own mode forbids it. */
  | { readonly code: "FS_PERMISSION_DENIED" }
  /** A rule forbids it: a protected pattern, `roots`, `read-only`. */
  | { readonly code: "FS_SANDBOX_DENIED"; readonly rule: string }
  /** The disk or a quota is full. */
  | { readonly code: "FS_NO_SPACE" }
  /** The storage failed. */
  | { readonly code: "FS_IO_ERROR" }
  /** Not `expected` (any content, when absent) is there but `actual` (nothing, when absent). */
  | { readonly code: "FS_STALE_VERSION"; readonly expected?: string; readonly actual?: string }
  /** Something is there that was not seen; absent `existing` when nothing was looked at. */
  | { readonly code: "FS_NOT_OBSERVED"; readonly existing?: Existing }
  /** `old_string` occurs several times; the lines on which the first 20 occurrences start, from 1. */
  | { readonly code: "FS_AMBIGUOUS_EDIT"; readonly matchCount: number; readonly lines: readonly number[] }
  /** `old_string` does not occur; up to 3 near misses, and why the search for them ended early if it did. */
  | {
      readonly code: "FS_EDIT_NOT_FOUND";
      readonly nearMisses?: readonly NearMiss[];
      readonly searchStopped?: "bytes" | "time";
    }
  /** An argument is wrong: its name, what it was (its type only, for text), what it must be. */
  | {
      readonly code: "FS_INVALID_ARGUMENT";
      readonly field: string;
      readonly actual: string;
      readonly expected: string;
    }
  /** It cannot be done here at all. */
  | { readonly code: "FS_UNSUPPORTED" }
  /** Not now; the same call may succeed later. */
  | { readonly code: "FS_UNAVAILABLE"; readonly cause?: UnavailableCause }
  /** Cancelled or out of time. */
  | { readonly code: "FS_ABORTED"; readonly cause?: AbortCause };

/** The stable codes, spelled as on the wire. */
export type FsFailureCode = FsFailure["code"];

/** Whether the effect of a call is there. */
export type Published = "no" | "yes" | "maybe";

/** What else there is to say of an error. */
export interface FsErrorOptions {
  /** The path that the error is about, in display form. */
  readonly path?: string;
  /** Whether the effect is there. Default: no. */
  readonly published?: Published;
  /** Where displaced content was kept, in display form. */
  readonly rescuePath?: string;
  /** What caused it; it stays in this process. */
  readonly cause?: unknown;
}

/**
 * A refusal or failure of a file operation. A provider or a gate throws it; it reaches the other side as a gRPC status
 * with `google.rpc.ErrorInfo` and `toolfs.v1.FsError` among its details.
 *
 * ```ts
 * throw new FsError({ code: "FS_NO_SPACE" }, "the disk is full", { path: "/workspace/notes.txt" });
 * ```
 */
export class FsError extends Error {
  override readonly name = "FsError";
  /** What went wrong, with its facts. */
  readonly failure: FsFailure;
  /** The path that it is about, in display form. */
  readonly path: string | undefined;
  /** Whether the effect of the call is there. */
  readonly published: Published;
  /** Where displaced content was kept, in display form. */
  readonly rescuePath: string | undefined;

  /** The message is one sentence in lower case without a full stop; it never holds content of files or of edits. */
  constructor(failure: FsFailure, message: string, options: FsErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.failure = failure;
    this.path = options.path;
    this.published = options.published ?? "no";
    this.rescuePath = options.rescuePath;
  }

  /** The stable code. */
  get code(): FsFailureCode {
    return this.failure.code;
  }

  /** Whether the same call, with nothing done in between by its caller, may succeed. */
  get retryable(): boolean {
    return this.code === "FS_UNAVAILABLE" || (this.code === "FS_ABORTED" && this.published !== "maybe");
  }

  /** The same error about a path, where it names none yet. */
  about(path: string): FsError {
    if (this.path !== undefined) return this;
    const { failure, message, published, rescuePath, cause } = this;
    const options = { path, published, ...(rescuePath === undefined ? {} : { rescuePath }), cause };
    return new FsError(failure, message, options);
  }
}
