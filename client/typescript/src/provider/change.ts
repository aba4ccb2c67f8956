/** Changes as ranges of whole lines: what they have in common taken out, and told as line numbers. */
import { diffArrays } from "diff";
import { countLineEnds } from "./match.js";
import type { ChangedRange } from "./report.js";
import { commonPrefix, commonSuffix } from "./splice.js";

const LF = 0x0a;

/** Lines of the old content that became lines of the new one, as byte ranges of whole lines; one may be empty. */
export interface Change {
  readonly oldStart: number;
  readonly oldEnd: number;
  readonly newStart: number;
  readonly newEnd: number;
  /** How many lines are before the old ones. */
  readonly oldLine: number;
  /** How many lines are before the new ones. */
  readonly newLine: number;
}

/** How many lines may differ within one change before it is shown as one: the search costs the square of it. */
const MAX_SEARCHED_DIFFERENCES = 1_000;

/** The lines of a text from `start` to `end`, each with its line end. */
export function* linesOf(text: Buffer, start: number, end: number): Generator<Buffer> {
  let at = start;
  while (at < end) {
    const newline = text.subarray(at, end).indexOf(LF);
    const next = newline < 0 ? end : at + newline + 1;
    yield text.subarray(at, next);
    at = next;
  }
}

/** The change without the whole lines that both sides have in common at their start and at their end. */
export function withoutEqualEnds(change: Change, before: Buffer, after: Buffer): Change {
  const [oldBytes, newBytes] = [
    sideOf(before, change.oldStart, change.oldEnd),
    sideOf(after, change.newStart, change.newEnd),
  ];
  let prefix = commonPrefix(oldBytes, newBytes);
  if (prefix < oldBytes.length || prefix < newBytes.length) {
    prefix = oldBytes.subarray(0, prefix).lastIndexOf(LF) + 1;
  }
  const [oldRest, newRest] = [oldBytes.subarray(prefix), newBytes.subarray(prefix)];
  let suffix = commonSuffix(oldRest, newRest);
  const startsLine = (rest: Buffer) => rest.length === suffix || rest[rest.length - suffix - 1] === LF;
  if (!(startsLine(oldRest) && startsLine(newRest))) {
    const newline = oldRest.subarray(oldRest.length - suffix).indexOf(LF);
    suffix = newline < 0 ? 0 : suffix - newline - 1;
  }
  const common = countLineEnds(oldBytes, 0, prefix);
  return {
    oldStart: change.oldStart + prefix,
    oldEnd: change.oldEnd - suffix,
    newStart: change.newStart + prefix,
    newEnd: change.newEnd - suffix,
    oldLine: change.oldLine + common,
    newLine: change.newLine + common,
  };
}

function sideOf(text: Buffer, start: number, end: number): Buffer {
  return text.subarray(start, end);
}

/** The changes within one: what is left when lines that both sides have in common are taken out. */
export function refined(change: Change, before: Buffer, after: Buffer): Change[] {
  const whole = withoutEqualEnds(change, before, after);
  const [oldIsEmpty, newIsEmpty] = [whole.oldStart === whole.oldEnd, whole.newStart === whole.newEnd];
  if (oldIsEmpty && newIsEmpty) return [];
  if (oldIsEmpty || newIsEmpty) return [whole];
  // Lines are compared as bytes; Latin-1 gives each byte a character.
  const oldLines = Array.from(linesOf(before, whole.oldStart, whole.oldEnd), (line) => line.toString("latin1"));
  const newLines = Array.from(linesOf(after, whole.newStart, whole.newEnd), (line) => line.toString("latin1"));
  const steps = diffArrays(oldLines, newLines, { maxEditLength: MAX_SEARCHED_DIFFERENCES });
  if (steps === undefined) return [whole];

  const changes: Change[] = [];
  let here: Change = { ...whole, oldEnd: whole.oldStart, newEnd: whole.newStart };
  const close = () => {
    if (here.oldEnd > here.oldStart || here.newEnd > here.newStart) changes.push(here);
  };
  let { oldLine, newLine } = whole;
  for (const { value, added, removed } of steps) {
    const bytes = value.reduce((sum, line) => sum + line.length, 0);
    if (added) {
      here = { ...here, newEnd: here.newEnd + bytes };
      newLine += value.length;
    } else if (removed) {
      here = { ...here, oldEnd: here.oldEnd + bytes };
      oldLine += value.length;
    } else {
      close();
      const [oldAt, newAt] = [here.oldEnd + bytes, here.newEnd + bytes];
      oldLine += value.length;
      newLine += value.length;
      here = { oldStart: oldAt, oldEnd: oldAt, newStart: newAt, newEnd: newAt, oldLine, newLine };
    }
  }
  close();
  return changes;
}

/** The lines of a change as they are told: from 1, an empty side at the line before. */
export function rangeOf(change: Change, before: Buffer, after: Buffer): ChangedRange {
  const oldCount = lineCount(before, change.oldStart, change.oldEnd);
  const newCount = lineCount(after, change.newStart, change.newEnd);
  return {
    oldStart: change.oldLine + (oldCount > 0 ? 1 : 0),
    oldCount,
    newStart: change.newLine + (newCount > 0 ? 1 : 0),
    newCount,
  };
}

/** How many lines there are in a range of whole lines; a last one without line end counts. */
export function lineCount(text: Buffer, start: number, end: number): number {
  if (start >= end) return 0;
  return countLineEnds(text, start, end) + (text[end - 1] === LF ? 0 : 1);
}
