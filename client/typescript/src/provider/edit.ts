/** A literal edit of a content: a value in, a value out. */
import { constants } from "node:buffer";
import { FsError } from "./fs-error.js";
import { type Match, matches } from "./match.js";
import { searchNearMisses } from "./near-miss.js";
import { MAX_RANGES, Regions, type Rewritten } from "./region.js";
import type { ChangedRange, Diff, FirstOf, LineRange } from "./report.js";
import { Joiner, Replacement } from "./splice.js";
import { bufferOf, summarize, type TextSummary } from "./text.js";

/** What is replaced by what. */
export interface Edit {
  /** The text to replace: not empty. */
  readonly oldString: string;
  /** The text to put in its place. */
  readonly newString: string;
  /** Whether every occurrence is replaced; else there must be exactly one. */
  readonly replaceAll: boolean;
}

/** Within what an edit works. */
export interface EditLimits {
  /** Bytes of the result; absent means no limit. */
  readonly maxFileBytes?: number;
  /** Bytes of the lines of the diff, with context. */
  readonly maxDiffBytes: number;
  /** Bytes of the content that are searched for near misses. */
  readonly nearMissBytes: number;
  /** Whether the search for near misses has to end. Asked often. */
  readonly isOver: () => boolean;
}

/** What an edit makes of a content. */
export interface Edited {
  /** The new content. */
  readonly content: Buffer;
  /** What the old content was. */
  readonly before: TextSummary;
  /** Where it matched. */
  readonly matches: FirstOf<LineRange>;
  /** Which lines changed. */
  readonly changedRanges: FirstOf<ChangedRange>;
  /** The diff. */
  readonly diff: Diff;
}

/** How many line numbers an ambiguous edit tells. */
const MAX_TOLD_LINES = 20;

/**
 * Applies an edit to a whole content. Bytes outside of the matches stay as they are.
 *
 * @throws FsError without a path: `FS_NOT_TEXT`, `FS_EDIT_NOT_FOUND`, `FS_AMBIGUOUS_EDIT`, `FS_TOO_LARGE`
 */
export function applyEdit(content: Uint8Array, edit: Edit, limits: EditLimits): Edited {
  const old = bufferOf(content);
  const before = summarize(old);
  const replacement = new Replacement(edit.oldString, edit.newString, before);
  const only = edit.replaceAll ? undefined : findOne(old, edit.oldString);
  const found = (): Iterable<Match> =>
    edit.replaceAll ? matches(old, edit.oldString, false) : only === undefined ? [] : [only];

  const planned = rewrite(old, found(), replacement, () => {});
  if (planned.replaced === 0) throw editNotFound(old, edit.oldString, limits);
  checkSize(planned.written, limits.maxFileBytes);

  const edited = Buffer.allocUnsafe(planned.written);
  let at = 0;
  const ranges: LineRange[] = [];
  const regions = new Regions(old, limits.maxDiffBytes);
  const write = (bytes: Uint8Array) => {
    edited.set(bytes, at);
    at += bytes.length;
  };
  const { replaced } = rewrite(old, found(), replacement, write, (match, rewritten) => {
    if (ranges.length < MAX_RANGES) ranges.push(match.lines);
    regions.add(rewritten);
  });
  return { content: edited, before, matches: { ranges, total: replaced }, ...regions.finish(edited) };
}

/** The one match, if there is one. */
function findOne(content: Buffer, oldString: string): Match | undefined {
  let first: Match | undefined;
  let matchCount = 0;
  const lines: number[] = [];
  for (const match of matches(content, oldString, true)) {
    first ??= match;
    matchCount += 1;
    if (lines.length < MAX_TOLD_LINES) lines.push(match.lines.startLine);
  }
  if (matchCount <= 1) return first;
  const message = `\`old_string\` occurs ${matchCount} times: make it longer so that it occurs once, or set \`replace_all\``;
  throw new FsError({ code: "FS_AMBIGUOUS_EDIT", matchCount, lines }, message);
}

/** Passes over the content once: writes the edited content and tells each match. */
function rewrite(
  content: Buffer,
  found: Iterable<Match>,
  replacement: Replacement,
  write: (bytes: Uint8Array) => void,
  onMatch: (match: Match, rewritten: Rewritten) => void = () => {},
): { replaced: number; written: number } {
  const joiner = new Joiner(write);
  let done = 0;
  let replaced = 0;
  for (const match of found) {
    joiner.join(content.subarray(done, match.start));
    const matched = content.subarray(match.start, match.end);
    const { keptPrefix, middle, keptSuffix } = replacement.splice(matched);
    joiner.join(matched.subarray(0, keptPrefix));
    const newStart = joiner.written;
    joiner.join(middle);
    const [newEnd, endsLine] = [joiner.written, joiner.isAtLineStart];
    joiner.join(matched.subarray(matched.length - keptSuffix));
    const [oldStart, oldEnd] = [match.start + keptPrefix, match.end - keptSuffix];
    onMatch(match, { oldStart, oldEnd, newStart, newEnd, endsLine });
    done = match.end;
    replaced += 1;
  }
  joiner.join(content.subarray(done));
  return { replaced, written: joiner.written };
}

/** The largest buffer that can be there at all is the limit to name when memory ends before any configured one. */
function checkSize(sizeBytes: number, maxFileBytes: number | undefined): void {
  const limitBytes = Math.min(maxFileBytes ?? constants.MAX_LENGTH, constants.MAX_LENGTH);
  if (sizeBytes <= limitBytes) return;
  const limitName = "max_file_bytes";
  const message = `the edited file would have ${sizeBytes} bytes, \`${limitName}\` allows ${limitBytes}`;
  throw new FsError({ code: "FS_TOO_LARGE", limitName, limitBytes, sizeBytes }, message);
}

function editNotFound(content: Buffer, oldString: string, { nearMissBytes, isOver }: EditLimits): FsError {
  const { nearMisses, stopped } = searchNearMisses(content, oldString, nearMissBytes, isOver);
  const count = nearMisses.length;
  const near = count === 0 ? "" : count === 1 ? "; 1 place nearly matches" : `; ${count} places nearly match`;
  const message = `\`old_string\` does not occur in the file${near}`;
  const failure = { code: "FS_EDIT_NOT_FOUND" as const, nearMisses };
  return new FsError(stopped === undefined ? failure : { ...failure, searchStopped: stopped }, message);
}
