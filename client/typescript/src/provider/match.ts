/**
 * Where a text occurs in a content, seen as a model sees it: CR LF is one line end, and a byte order mark is not there.
 * So a CR LF is never split. A lone CR is a character like any other.
 */
import type { LineRange } from "./report.js";
import { BOM, bufferOf, hasBom } from "./text.js";

const LF = 0x0a;
const CR = 0x0d;

/** Text with every CR LF written as LF. */
export function viewOfText(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/** One occurrence. */
export interface Match {
  /** Where it starts, in bytes of the content. */
  readonly start: number;
  /** Where it ends: every CR LF in it is whole, a byte order mark never in it. */
  readonly end: number;
  /** The lines that it covers; a line end belongs to the line that it ends. */
  readonly lines: LineRange;
}

/** A content as a model sees it, with the way back. */
class View {
  readonly bytes: Buffer;
  readonly #hidden: number;
  /** The places in the view of the line ends that are CR LF in the content, in order. */
  readonly #crlfs: readonly number[];

  constructor(content: Uint8Array) {
    this.#hidden = hasBom(content) ? BOM.length : 0;
    const text = bufferOf(content).subarray(this.#hidden);
    [this.bytes, this.#crlfs] = withoutCr(text);
  }

  /** Where in the content a place of the view is. In front of a CR LF it is in front of its CR. */
  offset(at: number): number {
    let [low, high] = [0, this.#crlfs.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#crlfs[middle]! < at) low = middle + 1;
      else high = middle;
    }
    return at + this.#hidden + low;
  }
}

function withoutCr(text: Buffer): [Buffer, readonly number[]] {
  if (!text.includes("\r\n")) return [text, []];
  const view = Buffer.allocUnsafe(text.length);
  const crlfs: number[] = [];
  let written = 0;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at]!;
    if (byte === CR && text[at + 1] === LF) crlfs.push(written);
    else view[written++] = byte;
  }
  return [view.subarray(0, written), crlfs];
}

/**
 * The occurrences of a text that is not empty, in the order of the content: with `overlapping` all of them, else from
 * the left, each starting where the one before ended or later. Time is linear in both, whatever they hold.
 */
export function* matches(content: Uint8Array, text: string, overlapping: boolean): Generator<Match> {
  const needle = Buffer.from(viewOfText(text));
  const view = new View(content);
  const borders = bordersOf(needle);
  const innerLineEnds = countLineEnds(needle, 0, needle.length - 1);
  const hay = view.bytes;
  let line = 1;
  let counted = 0;
  let matched = 0;
  for (let at = 0; at < hay.length; at++) {
    if (matched === 0) {
      at = hay.indexOf(needle[0]!, at);
      if (at < 0) return;
    }
    while (matched > 0 && hay[at] !== needle[matched]) matched = borders[matched - 1]!;
    if (hay[at] === needle[matched]) matched += 1;
    if (matched < needle.length) continue;
    const start = at + 1 - needle.length;
    line += countLineEnds(hay, counted, start);
    counted = start;
    const lines = { startLine: line, endLine: line + innerLineEnds };
    yield { start: view.offset(start), end: view.offset(at + 1), lines };
    matched = overlapping ? borders[matched - 1]! : 0;
  }
}

/** For each start of the needle the length of its longest proper start that is its end too (Knuth, Morris, Pratt). */
function bordersOf(needle: Uint8Array): Int32Array {
  const borders = new Int32Array(needle.length);
  let length = 0;
  for (let at = 1; at < needle.length; at++) {
    while (length > 0 && needle[at] !== needle[length]) length = borders[length - 1]!;
    if (needle[at] === needle[length]) length += 1;
    borders[at] = length;
  }
  return borders;
}

/** How many line ends there are from `start` on, before `end`. */
export function countLineEnds(bytes: Buffer, start: number, end: number): number {
  const range = bytes.subarray(start, end);
  let count = 0;
  for (let at = range.indexOf(LF); at >= 0; at = range.indexOf(LF, at + 1)) count += 1;
  return count;
}
