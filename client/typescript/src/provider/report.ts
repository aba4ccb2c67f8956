/** What a provider answers. */
import type { FsError } from "./fs-error.js";

/** How the lines of a text end. A lone CR is text and ends no line. */
export type LineEndings = "lf" | "crlf" | "mixed" | "none";

/** Why a window of lines ended where it did. */
export type StopReason = "end-of-file" | "line-limit" | "byte-cap";

/** One line as it is in the file. */
export interface RawLine {
  /** Its bytes without LF, the CR of a CR LF or a byte order mark: UTF-8, perhaps cut. */
  readonly text: Uint8Array;
  /** Whether it ended in CR LF. */
  readonly crlf: boolean;
  /** Its full length in characters, when the text is cut. */
  readonly fullLength?: number;
}

/** A window of lines, and what is known of the whole file, all of one content. */
export interface LinesReport {
  /** The lines; none when the window starts past the end. */
  readonly lines: readonly RawLine[];
  /** Why the window ended. */
  readonly stop: StopReason;
  /** How many lines the file has. */
  readonly totalLines: number;
  /** Its size in bytes. */
  readonly size: number;
  /** The version of exactly the bytes that were read. */
  readonly version: string;
  /** How its lines end. */
  readonly lineEndings: LineEndings;
  /** Whether its last byte is LF. */
  readonly endsWithNewline: boolean;
  /** Whether it starts with a UTF-8 byte order mark. */
  readonly bom: boolean;
}

/** The content of a regular file, in pieces. */
export interface ContentStream {
  /** The size of the whole file in bytes when it was opened. */
  readonly size: number;
  /**
   * Yields the pieces and returns the version of the whole file, when all of it was yielded; else `undefined`. Pieces
   * of a text end between characters.
   */
  readonly pieces: AsyncGenerator<Uint8Array, string | undefined, undefined>;
}

/** The kind of a notice. */
export type NoticeKind =
  | "line-endings-changed"
  | "bom-changed"
  | "final-newline-changed"
  | "hard-links-keep-old-content"
  | "ownership-not-kept"
  | "privilege-bits-dropped"
  | "attributes-not-kept"
  | "not-atomic"
  | "diff-left-out";

/** A remark that goes with a success. It never holds content. */
export interface Notice {
  /** What it is about. */
  readonly kind: NoticeKind;
  /** One line in lower case, without a full stop. */
  readonly text: string;
}

/** Consecutive lines, both inclusive, from 1. */
export interface LineRange {
  /** The first line. */
  readonly startLine: number;
  /** The last line. */
  readonly endLine: number;
}

/** Consecutive lines that differ. Where a count is 0, the start is the line before (0 at the start of the file). */
export interface ChangedRange {
  /** The first old line, from 1. */
  readonly oldStart: number;
  /** How many old lines there are. */
  readonly oldCount: number;
  /** The first new line, from 1. */
  readonly newStart: number;
  /** How many new lines there are. */
  readonly newCount: number;
}

/** Some of many, and how many there are in all. */
export interface FirstOf<T> {
  /** The first 100, in the order of the file. */
  readonly ranges: readonly T[];
  /** How many there are. */
  readonly total: number;
}

/** One line of a hunk. */
export interface DiffLine {
  /** On which side it is. */
  readonly kind: "context" | "removed" | "added";
  /** Its text without LF; the CR of a CR LF is kept. */
  readonly text: string;
  /** Whether an LF follows; only the last line of a file can lack it. */
  readonly hasNewline: boolean;
}

/** A run of changes with up to 3 lines of context; starts and counts as in `ChangedRange`, context included. */
export interface DiffHunk extends ChangedRange {
  /** Its lines in order, old before new where they differ. */
  readonly lines: readonly DiffLine[];
}

/** A diff, or why it is left out: one line. */
export type Diff = { readonly hunks: readonly DiffHunk[] } | { readonly omitted: string };

/** What a write did, or would do. */
export interface WriteReport {
  /** Whether the file was created or its content replaced. */
  readonly operation: "create" | "update";
  /** The new size in bytes: that of the content. */
  readonly size: number;
  /** The old size in bytes; set exactly for an update. */
  readonly previousSize?: number;
  /** The version of the new content. */
  readonly version: string;
  /** What else there is to say. */
  readonly notices: readonly Notice[];
  /** What changed, when it was wanted. */
  readonly diff?: Diff;
  /** Why the effect, which is there, could not be made durable. */
  readonly notDurable?: FsError;
}

/** What an edit did, or would do. */
export interface EditReport {
  /** Where `oldString` matches in the old content; the total is the number of replacements. */
  readonly matches: FirstOf<LineRange>;
  /** Which lines changed. */
  readonly changedRanges: FirstOf<ChangedRange>;
  /** The new size in bytes. */
  readonly size: number;
  /** The version of the new content. */
  readonly version: string;
  /** What else there is to say. */
  readonly notices: readonly Notice[];
  /** What changed, when it was wanted. */
  readonly diff?: Diff;
  /** As in `WriteReport`. */
  readonly notDurable?: FsError;
}
