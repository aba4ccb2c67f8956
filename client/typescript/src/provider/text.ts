/**
 * What counts as text, and what a pass over a file learns: UTF-8 without NUL, the whole file through. Reading and
 * editing share this one judgement.
 */
import { isUtf8 } from "node:buffer";
import { validPrefix } from "./display.js";
import { FsError, type TextEncoding } from "./fs-error.js";
import type { LineEndings } from "./report.js";

/** The bytes of a UTF-8 byte order mark. */
export const BOM: Uint8Array = Uint8Array.of(0xef, 0xbb, 0xbf);

const LF = 0x0a;
const CR = 0x0d;

/** One of the two line ends. */
export type LineEnd = "lf" | "crlf";

/** What a whole pass over a text says about it. */
export interface TextSummary {
  /** Its size in bytes, a byte order mark included. */
  readonly size: number;
  /** How many lines it has. A last line without line end counts; an empty file, or a byte order mark alone, has none. */
  readonly totalLines: number;
  /** How many LF have no CR before them. */
  readonly lfCount: number;
  /** How many CR LF there are. */
  readonly crlfCount: number;
  /** The first line end. */
  readonly firstLineEnd: LineEnd | undefined;
  /** Whether the last byte is LF. */
  readonly endsWithNewline: boolean;
  /** Whether it starts with a byte order mark. */
  readonly bom: boolean;
}

/** The same bytes as a `Buffer`, without a copy. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Whether the bytes start with a byte order mark. */
export function hasBom(content: Uint8Array): boolean {
  return BOM.every((byte, at) => content[at] === byte);
}

/** Whether the bytes are text. */
export function isText(content: Uint8Array): boolean {
  return isUtf8(content) && !content.includes(0);
}

/**
 * The summary of a text.
 *
 * @throws FsError `FS_NOT_TEXT`, without a path
 */
export function summarize(content: Uint8Array): TextSummary {
  if (!isText(content)) throw notText(content);
  const bytes = bufferOf(content);
  let newlines = 0;
  let crlfCount = 0;
  let firstLineEnd: LineEnd | undefined;
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    const isCrlf = at > 0 && bytes[at - 1] === CR;
    newlines += 1;
    if (isCrlf) crlfCount += 1;
    firstLineEnd ??= isCrlf ? "crlf" : "lf";
  }
  const size = bytes.length;
  const bom = hasBom(bytes);
  const endsWithNewline = bytes[size - 1] === LF;
  const hasOpenLine = size > (bom ? BOM.length : 0) && !endsWithNewline;
  const totalLines = newlines + (hasOpenLine ? 1 : 0);
  return { size, totalLines, lfCount: newlines - crlfCount, crlfCount, firstLineEnd, endsWithNewline, bom };
}

/** Which line ends occur. */
export function lineEndingsOf({ lfCount, crlfCount }: TextSummary): LineEndings {
  if (lfCount > 0) return crlfCount > 0 ? "mixed" : "lf";
  return crlfCount > 0 ? "crlf" : "none";
}

/** The line end that occurs more often; the first one of the file when both occur equally often. */
export function dominantLineEnd({ lfCount, crlfCount, firstLineEnd }: TextSummary): LineEnd | undefined {
  if (lfCount === crlfCount) return firstLineEnd;
  return lfCount > crlfCount ? "lf" : "crlf";
}

function notText(content: Uint8Array): FsError {
  const invalid = isUtf8(content) ? content.length : validPrefix(content);
  const nul = content.indexOf(0);
  const isNul = nul >= 0 && nul < invalid;
  const byteOffset = isNul ? nul : invalid;
  const found = `${isNul ? "a NUL byte" : "a byte that is not UTF-8"} at offset ${byteOffset}`;
  const encoding = encodingOf(content.subarray(0, HEAD_BYTES));
  if (encoding === undefined) {
    return new FsError({ code: "FS_NOT_TEXT", byteOffset }, `the file is no UTF-8 text: it has ${found}`);
  }
  const message = `the file is no UTF-8 text: it seems to be ${encoding} (${found})`;
  return new FsError({ code: "FS_NOT_TEXT", byteOffset, encoding }, message);
}

/** How many bytes at the start of a file name its encoding. */
const HEAD_BYTES = 64;

/** UTF-32 comes before UTF-16: the mark of UTF-32LE starts with that of UTF-16LE. */
const ENCODINGS: readonly { name: TextEncoding; mark: readonly number[]; read: (at: DataView) => number[] }[] = [
  { name: "UTF-32LE", mark: [0xff, 0xfe, 0, 0], read: (view) => units(view, 4, true) },
  { name: "UTF-32BE", mark: [0, 0, 0xfe, 0xff], read: (view) => units(view, 4, false) },
  { name: "UTF-16LE", mark: [0xff, 0xfe], read: (view) => units(view, 2, true) },
  { name: "UTF-16BE", mark: [0xfe, 0xff], read: (view) => units(view, 2, false) },
];

/** The encoding that a byte order mark or a clear pattern of NULs names. */
function encodingOf(head: Uint8Array): TextEncoding | undefined {
  const view = new DataView(head.buffer, head.byteOffset, head.byteLength);
  const marked = ENCODINGS.find(({ mark }) => mark.every((byte, at) => head[at] === byte));
  return (marked ?? ENCODINGS.find(({ read }) => readsAsText(read(view))))?.name;
}

function units(view: DataView, bytes: 2 | 4, littleEndian: boolean): number[] {
  const read = (at: number) => (bytes === 2 ? view.getUint16(at, littleEndian) : view.getUint32(at, littleEndian));
  return Array.from({ length: Math.floor(view.byteLength / bytes) }, (_, index) => read(index * bytes));
}

/** What mostly Latin text looks like, and small binary numbers do not. */
function readsAsText(units: readonly number[]): boolean {
  const isBlank = (unit: number) => [0x09, 0x0a, 0x0c, 0x0d].includes(unit);
  const isControl = (unit: number) => (unit < 0x20 && !isBlank(unit)) || (unit >= 0x7f && unit < 0xa0);
  const latin = units.filter((unit) => unit < 0x100).length;
  const inRange = units.every((unit) => unit <= 0x10ffff && !isControl(unit));
  return units.length >= 2 && inRange && latin * 4 >= units.length * 3;
}
