/** The lines around the bytes that an edit changes, gathered match by match. */
import { type Change, rangeOf, withoutEqualEnds } from "./change.js";
import { diffAround, tooLarge } from "./diff.js";
import { countLineEnds } from "./match.js";
import type { ChangedRange, Diff, FirstOf } from "./report.js";

const LF = 0x0a;

/** How many ranges are told. */
export const MAX_RANGES = 100;

/** The bytes that one match changes: old ones of the content, new ones of the edited content. */
export interface Rewritten {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
  /** Whether what follows the new bytes starts a line. */
  readonly endsLine: boolean;
}

/** Whole lines of the old content, and what became of them. */
interface Region {
  oldStart: number;
  oldEnd: number;
  newStart: number;
  /** Where the last new bytes end. */
  newEnd: number;
  /** How many bytes of their line follow, when the rest of it belongs to the region. */
  restOfLine: number | undefined;
}

/** Memory is bounded: once the regions hold more than a diff may, all but the first of them are only counted. */
export class Regions {
  readonly #content: Buffer;
  readonly #maxBytes: number;
  readonly #kept: Region[] = [];
  #open: Region | undefined;
  #total = 0;
  #bytes = 0;
  /** The end of the line that was looked for last: places come in order, so that each byte is looked at once. */
  #lineEnd = 0;

  /** The regions of edits of a content, whose diff may have so many bytes. */
  constructor(content: Buffer, maxBytes: number) {
    this.#content = content;
    this.#maxBytes = maxBytes;
  }

  /** Adds the next change. */
  add({ oldStart, oldEnd, newStart, newEnd, endsLine }: Rewritten): void {
    // Whole lines that are replaced by whole lines leave the next line alone.
    const areWholeLines = endsLine && (oldEnd === 0 || this.#content[oldEnd - 1] === LF);
    const restOfLine = areWholeLines ? undefined : this.#lineEndAfter(oldEnd) - oldEnd;
    const regionEnd = oldEnd + (restOfLine ?? 0);
    const open = this.#open;
    const settled = open?.oldEnd ?? 0;
    // A change in a line that is in the region already starts before the region's end.
    const newline = oldStart < settled ? -1 : this.#content.subarray(settled, oldStart).lastIndexOf(LF);
    if (open !== undefined && newline < 0) {
      open.oldEnd = Math.max(open.oldEnd, regionEnd);
      open.newEnd = newEnd;
      open.restOfLine = restOfLine;
      return;
    }
    this.#close();
    const lineStart = newline < 0 ? 0 : settled + newline + 1;
    this.#open = {
      oldStart: lineStart,
      oldEnd: regionEnd,
      newStart: newStart - (oldStart - lineStart),
      newEnd,
      restOfLine,
    };
  }

  /** The changed ranges and the diff, once the edited content is complete. */
  finish(edited: Buffer): { changedRanges: FirstOf<ChangedRange>; diff: Diff } {
    this.#close();
    const oldLines = lineCounter(this.#content);
    const newLines = lineCounter(edited);
    const changes: Change[] = this.#kept.map(({ oldStart, oldEnd, newStart, newEnd, restOfLine }) => {
      const end = restOfLine === undefined ? newEnd : lineEndAfter(edited, newEnd);
      const whole = {
        oldStart,
        oldEnd,
        newStart,
        newEnd: end,
        oldLine: oldLines(oldStart),
        newLine: newLines(newStart),
      };
      return withoutEqualEnds(whole, this.#content, edited);
    });
    const ranges = changes.slice(0, MAX_RANGES).map((change) => rangeOf(change, this.#content, edited));
    const diff =
      this.#bytes > this.#maxBytes
        ? { omitted: tooLarge(this.#bytes, this.#maxBytes) }
        : diffAround(this.#content, edited, changes, this.#maxBytes);
    return { changedRanges: { ranges, total: this.#total }, diff };
  }

  #lineEndAfter(at: number): number {
    if (at >= this.#lineEnd) this.#lineEnd = lineEndAfter(this.#content, at);
    return this.#lineEnd;
  }

  #close(): void {
    const region = this.#open;
    if (region === undefined) return;
    this.#open = undefined;
    this.#total += 1;
    this.#bytes += region.oldEnd - region.oldStart + region.newEnd - region.newStart + (region.restOfLine ?? 0);
    if (this.#kept.length < MAX_RANGES || this.#bytes <= this.#maxBytes) this.#kept.push(region);
  }
}

function lineEndAfter(bytes: Buffer, at: number): number {
  const newline = at >= bytes.length ? -1 : bytes.indexOf(LF, at);
  return newline < 0 ? bytes.length : newline + 1;
}

/** Counts line ends up to places that come in order. */
function lineCounter(bytes: Buffer): (end: number) => number {
  let [at, lines] = [0, 0];
  return (end) => {
    lines += countLineEnds(bytes, at, end);
    at = end;
    return lines;
  };
}
