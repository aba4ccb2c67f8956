/** Windows of lines. */
import type { RawLine, StopReason } from "./report.js";
import type { LineWindow } from "./request.js";
import { BOM, bufferOf, hasBom } from "./text.js";

/** A window's lines and what ended it. */
export interface Window {
  /** The lines; none when the window starts past the end. */
  readonly lines: readonly RawLine[];
  /** What ended it. */
  readonly stop: StopReason;
}

const LF = 0x0a;
const CR = 0x0d;

/**
 * The window of a content that is text. The byte cap counts the text of lines after cutting; the first line is always
 * there, cut to the byte cap if need be, so that whoever pages makes progress.
 */
export function windowOf(content: Uint8Array, window: LineWindow): Window {
  const bytes = bufferOf(content);
  let at = startOfLine(bytes, window.firstLine);
  const lines: RawLine[] = [];
  let room = window.maxBytes;
  while (at < bytes.length) {
    if (lines.length >= window.maxLines) return { lines, stop: "line-limit" };
    const newline = bytes.indexOf(LF, at);
    const next = newline < 0 ? bytes.length : newline + 1;
    const crlf = newline > at && bytes[newline - 1] === CR;
    const whole = bytes.subarray(at, newline < 0 ? bytes.length : newline - (crlf ? 1 : 0));
    let kept = whole.subarray(0, endOfCharacters(whole, window.maxLineChars));
    if (kept.length > room) {
      if (lines.length > 0) return { lines, stop: "byte-cap" };
      kept = kept.subarray(0, characterStart(kept, room));
    }
    const isCut = kept.length < whole.length;
    lines.push(isCut ? { text: kept, crlf, fullLength: countCharacters(whole) } : { text: kept, crlf });
    room -= kept.length;
    at = next;
  }
  return { lines, stop: "end-of-file" };
}

/** Where a line starts, from 1; the end of the content when there is none of that number. */
function startOfLine(bytes: Buffer, firstLine: number): number {
  let at = hasBom(bytes) ? BOM.length : 0;
  for (let line = 1; line < firstLine; line++) {
    const newline = bytes.indexOf(LF, at);
    if (newline < 0) return bytes.length;
    at = newline + 1;
  }
  return at;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Where the first `count` characters end. */
function endOfCharacters(text: Uint8Array, count: number): number {
  if (text.length <= count) return text.length;
  let seen = 0;
  for (let at = 0; at < text.length; at++) {
    if (isContinuation(text[at])) continue;
    if (seen === count) return at;
    seen += 1;
  }
  return text.length;
}

/** The last place at or before `at` where a character starts. */
function characterStart(text: Uint8Array, at: number): number {
  let start = Math.min(at, text.length);
  while (start > 0 && isContinuation(text[start])) start -= 1;
  return start;
}

function countCharacters(text: Uint8Array): number {
  let count = 0;
  for (const byte of text) if (!isContinuation(byte)) count += 1;
  return count;
}
