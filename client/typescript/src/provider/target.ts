/** Places and what is at them. */

/** What is at the end of a path. Only regular files have content here. */
export type FileKind =
  | "regular"
  | "directory"
  | "symlink"
  | "fifo"
  | "socket"
  | "block-device"
  | "char-device"
  | "other";

/** The kind as a noun with its article, for messages. */
export function nounOf(kind: FileKind): string {
  return NOUNS[kind];
}

const NOUNS: Record<FileKind, string> = {
  regular: "a regular file",
  directory: "a directory",
  symlink: "a symbolic link",
  fifo: "a named pipe",
  socket: "a socket",
  "block-device": "a block device",
  "char-device": "a character device",
  other: "a special file",
};

/**
 * The provider's own name of a place: not empty, equal for every spelling of one file, and the same whether or not
 * something is there yet. Nobody else parses it.
 */
export type TargetKey = Uint8Array;

/** A resolved path: where a call lands, whether or not something is there yet. */
export interface Target {
  /** The identity that locks and observations use. */
  readonly key: TargetKey;
  /** The canonical absolute path under which agents see it, as raw bytes. */
  readonly rawPath: Uint8Array;
  /** `rawPath` made safe to show: see `displayForm`. */
  readonly displayPath: string;
  /** The path of the same file for other processes of this host; absent where there is none. */
  readonly processPath?: Uint8Array;
  /** A `file:` URL of it, or one of the provider's own; absent where there is none. */
  readonly fileUrl?: string;
  /** The protected pattern that its spelling or its place matches: mutations are refused then. */
  readonly protectedRule?: string;
}

/** What is at a place. */
export interface FileStat {
  /** What it is. */
  readonly kind: FileKind;
  /** Its size in bytes; without a meaning for other kinds than regular files. */
  readonly size: number;
  /** Its permission bits, 0 to 0o7777; absent where there are none. */
  readonly mode?: number;
  /** When its content last changed; absent where that is not known. */
  readonly modified?: Date;
  /** The version of its content, when it was wanted. */
  readonly version?: string;
}

/** One name of a directory. */
export interface Entry {
  /** The name as raw bytes: not empty, not `.` or `..`, without `/` and NUL. */
  readonly rawName: Uint8Array;
  /** What it names; links are not followed. */
  readonly kind: FileKind;
}
