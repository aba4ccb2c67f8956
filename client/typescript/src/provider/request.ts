/** What is asked of a provider. */
import type { EditGuard, WriteGuard } from "./guard.js";
import type { TargetKey } from "./target.js";

/** How one call stands. */
export interface Call {
  /**
   * Fires when the caller goes away or its time is over. Look at it before each step that takes long, and last before
   * publication; after that, go on to the end. `throwIfGivenUp` throws the right error.
   */
  readonly signal: AbortSignal;
}

/** A path to resolve, as raw bytes. */
export interface ResolveRequest {
  /** Where a relative path starts: absolute beneath a root. Absent means the first root. */
  readonly cwd?: Uint8Array;
  /** The path as asked for: absolute beneath a root, or relative. */
  readonly path: Uint8Array;
}

/** Which lines are asked for. All four are at least 1. */
export interface LineWindow {
  /** The first line, from 1. */
  readonly firstLine: number;
  /** How many lines at most. */
  readonly maxLines: number;
  /** How many bytes of line text at most, after cutting, without line ends. */
  readonly maxBytes: number;
  /** After how many characters (Unicode scalar values) a line is cut. */
  readonly maxLineChars: number;
}

/** Which bytes are asked for. */
export interface ByteRange {
  /** The first byte, from 0. At or past the end the range is empty. */
  readonly offset: number;
  /** How many bytes at most; absent means to the end. */
  readonly length?: number;
}

/** A write of a whole file. */
export interface WriteTextRequest {
  /** Where. */
  readonly target: TargetKey;
  /** The exact bytes of the new content. */
  readonly content: Uint8Array;
  /** Under which condition. */
  readonly guard: WriteGuard;
  /** Whether the report is to carry the diff. */
  readonly wantDiff: boolean;
  /**
   * A name of the operation, 1 to 128 printable ASCII characters: a repetition answers what the first one did. A
   * provider that records none throws `FS_UNSUPPORTED`. Never set for a plan.
   */
  readonly operationId?: string;
}

/** A literal replacement. `oldString` is not empty, and differs from `newString` when CR LF and LF are one line end. */
export interface EditTextRequest {
  /** Where. */
  readonly target: TargetKey;
  /** The text to replace, as the tool has it. */
  readonly oldString: string;
  /** The text to put in its place; empty deletes. */
  readonly newString: string;
  /** Whether every occurrence is replaced; else there must be exactly one. */
  readonly replaceAll: boolean;
  /** Under which condition; judged before anything is matched. */
  readonly guard: EditGuard;
  /** Whether the report is to carry the diff. */
  readonly wantDiff: boolean;
  /** As in `WriteTextRequest`. */
  readonly operationId?: string;
}
