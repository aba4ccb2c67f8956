/**
 * What stands in the place of a match.
 *
 * What old and new text share at both ends stays as it is in the file, line ends included; only the middle is new. Line
 * ends of the middle take the first style of the match, else the one that dominates in the file, else the given one.
 *
 * Bytes that were apart can meet: text that ends in a lone CR in front of an LF. As bytes that would be a CR LF, and the
 * CR would vanish from the text. So the line end is written CR LF there, and the added byte belongs to the replacement.
 */
import { viewOfText } from "./match.js";
import { dominantLineEnd, type LineEnd, type TextSummary } from "./text.js";

const LF = 0x0a;
const CR = 0x0d;

/** How one match is replaced. */
export interface Splice {
  /** How many of its first bytes stay. */
  readonly keptPrefix: number;
  /** What is new. */
  readonly middle: Buffer;
  /** How many of its last bytes stay. */
  readonly keptSuffix: number;
}

/** The replacement of an edit, prepared once for all matches in one file. */
export class Replacement {
  readonly #prefixBytes: number;
  readonly #prefixLineEnds: number;
  readonly #suffixBytes: number;
  readonly #suffixLineEnds: number;
  readonly #middles: Record<LineEnd, Buffer>;
  /** The middle for a match without line end. */
  readonly #plainMiddle: Buffer;

  constructor(oldString: string, newString: string, file: TextSummary) {
    const [oldView, newView] = [Buffer.from(viewOfText(oldString)), Buffer.from(viewOfText(newString))];
    const prefix = commonPrefix(oldView, newView);
    const [oldRest, newRest] = [oldView.subarray(prefix), newView.subarray(prefix)];
    const suffix = commonSuffix(oldRest, newRest);
    const middle = newRest.subarray(0, newRest.length - suffix);
    this.#prefixBytes = prefix;
    this.#prefixLineEnds = lineEndsOf(oldView.subarray(0, prefix)).length;
    this.#suffixBytes = suffix;
    this.#suffixLineEnds = lineEndsOf(oldRest.subarray(oldRest.length - suffix)).length;
    this.#middles = { lf: styled(middle, () => "lf"), crlf: styled(middle, () => "crlf") };
    const dominant = dominantLineEnd(file);
    const given = asGiven(newString, this.#prefixLineEnds, middle);
    this.#plainMiddle = dominant === undefined ? given : this.#middles[dominant];
  }

  /** What becomes of the bytes of one match. */
  splice(matched: Buffer): Splice {
    const lineEnds = lineEndsOf(matched);
    const crlfs = (some: number[]) => some.filter((at) => endsCrlf(matched, at)).length;
    const suffixEnds = this.#suffixLineEnds === 0 ? [] : lineEnds.slice(-this.#suffixLineEnds);
    const first = lineEnds[0];
    const middle = first === undefined ? this.#plainMiddle : this.#middles[endsCrlf(matched, first) ? "crlf" : "lf"];
    return {
      keptPrefix: this.#prefixBytes + crlfs(lineEnds.slice(0, this.#prefixLineEnds)),
      middle,
      keptSuffix: this.#suffixBytes + crlfs(suffixEnds),
    };
  }
}

/** How many first bytes two contents share. */
export function commonPrefix(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  let at = 0;
  while (at < most && a[at] === b[at]) at += 1;
  return at;
}

/** How many last bytes two contents share. */
export function commonSuffix(a: Uint8Array, b: Uint8Array): number {
  const most = Math.min(a.length, b.length);
  let count = 0;
  while (count < most && a[a.length - 1 - count] === b[b.length - 1 - count]) count += 1;
  return count;
}

function lineEndsOf(bytes: Buffer): number[] {
  const places: number[] = [];
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) places.push(at);
  return places;
}

/** Whether the LF at a place is half of a CR LF. */
function endsCrlf(bytes: Uint8Array, at: number): boolean {
  return at > 0 && bytes[at - 1] === CR;
}

/** The middle with line ends of the style that `style` gives for each, counted from 0. After a lone CR it is CR LF. */
function styled(middle: Buffer, style: (number: number) => LineEnd): Buffer {
  const written: Buffer[] = [];
  let from = 0;
  let last: number | undefined;
  lineEndsOf(middle).forEach((at, number) => {
    if (at > from) last = middle[at - 1];
    const lineEnd = last === CR || style(number) === "crlf" ? "\r\n" : "\n";
    written.push(middle.subarray(from, at), Buffer.from(lineEnd));
    last = LF;
    from = at + 1;
  });
  return Buffer.concat([...written, middle.subarray(from)]);
}

/** The middle with the line ends that the new text has there, after the first `skipped` ones. */
function asGiven(newString: string, skipped: number, middle: Buffer): Buffer {
  const given = Buffer.from(newString);
  const styles = lineEndsOf(given).map((at): LineEnd => (endsCrlf(given, at) ? "crlf" : "lf"));
  return styled(middle, (number) => styles[skipped + number] ?? "lf");
}

/** Joins what is kept and what is new, and sees to it that no CR LF arises where they meet. */
export class Joiner {
  #last: number | undefined;
  #written = 0;
  readonly #write: (bytes: Uint8Array) => void;

  /** `write` takes the bytes in order. */
  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  /** How many bytes were written. */
  get written(): number {
    return this.#written;
  }

  /** Whether what comes next starts a line. */
  get isAtLineStart(): boolean {
    return this.#last === undefined || this.#last === LF;
  }

  /** Writes bytes that meet those before them only by the edit. */
  join(bytes: Uint8Array): void {
    if (this.#last === CR && bytes[0] === LF) this.#copy(Uint8Array.of(CR));
    this.#copy(bytes);
  }

  #copy(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#last = bytes[bytes.length - 1];
    this.#written += bytes.length;
    this.#write(bytes);
  }
}
