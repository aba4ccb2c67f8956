/** What a provider can do, and within which limits. */

/** What a published mutation survives: a power cut; one but for the directory entry; a crash of the process only. */
export type Durability = "full" | "data" | "none";

/** One directory that is served. */
export interface Root {
  /** The absolute path under which agents see it, as raw bytes. */
  readonly rawPath: Uint8Array;
  /** The stable name of the root. Default: its path in display form. */
  readonly name?: string;
}

/** The limits of a provider. Every value is at least 1. */
export interface Limits {
  /** Bytes of line text in one read that names no cap. Default 51,200. */
  readonly maxWindowBytes: number;
  /** Characters of a line before it is cut, in a read that names no cap. Default 2,000. */
  readonly maxLineChars: number;
  /** Bytes of the content of one write, which is held in memory until its trailer has come. Default 64 MiB. */
  readonly maxContentBytes: number;
  /** Bytes of a file after an edit. Default: no limit. */
  readonly maxFileBytes?: number;
  /** Bytes of one range of bytes. Default 64 MiB. */
  readonly maxReadBytes: number;
  /** Bytes of old and new content together, beyond which a diff is left out. Default 4 MiB. */
  readonly maxDiffBytes: number;
  /** Bytes of one gRPC message. Default 64 MiB. */
  readonly maxMessageBytes: number;
  /** Bytes of a path. Default 4,096. */
  readonly maxPathBytes: number;
  /** Bytes of a file that are searched for near misses. Default 4 MiB. */
  readonly nearMissBytes: number;
  /** Milliseconds that are spent on near misses. Default 100. */
  readonly nearMissMs: number;
}

/** The limits of a provider that names none. */
export const DEFAULT_LIMITS: Limits = {
  maxWindowBytes: 51_200,
  maxLineChars: 2_000,
  maxContentBytes: 64 << 20,
  maxReadBytes: 64 << 20,
  maxDiffBytes: 4 << 20,
  maxMessageBytes: 64 << 20,
  maxPathBytes: 4_096,
  nearMissBytes: 4 << 20,
  nearMissMs: 100,
};

/** A provider's description of itself. */
export interface Capabilities {
  /** What it calls itself: one line, not empty. */
  readonly name: string;
  /** What it serves, at least one; the first is where relative paths start. */
  readonly roots: readonly Root[];
  /** What a success survives. */
  readonly durability: Durability;
  /** Whether content that a foreign writer put there between check and replacement is noticed and kept. */
  readonly verifiedReplacement: boolean;
  /** Whether an `operationId` makes a repetition safe, across crashes too. */
  readonly operationIds: boolean;
  /** The names that no mutation may touch, at any depth. */
  readonly protectedPatterns: readonly string[];
  /** The limits that it enforces. */
  readonly limits: Limits;
}
