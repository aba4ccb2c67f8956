/** Unified diffs as values and as text, bounded by size and never by a clock. Lines are compared as bytes. */
import { type Change, lineCount, linesOf, refined } from "./change.js";
import type { Diff, DiffHunk, DiffLine } from "./report.js";
import { bufferOf, isText } from "./text.js";

/** Lines of context around a change. */
const CONTEXT_LINES = 3;

const LF = 0x0a;

/**
 * The diff of two whole contents, of which the new one is text; the old one is absent when nothing was there.
 * `maxBytes` bounds both together.
 */
export function diffOf(before: Uint8Array | undefined, after: Uint8Array, maxBytes: number): Diff {
  const [old, now] = [bufferOf(before ?? new Uint8Array()), bufferOf(after)];
  const size = old.length + now.length;
  if (size > maxBytes) return { omitted: tooLarge(size, maxBytes) };
  if (!isText(old)) return { omitted: "the old content is not text" };
  const whole = { oldStart: 0, oldEnd: old.length, newStart: 0, newEnd: now.length, oldLine: 0, newLine: 0 };
  return diffAround(old, now, [whole], maxBytes);
}

/** Why a diff of so many bytes is left out. */
export function tooLarge(bytes: number, maxBytes: number): string {
  return `old and new content have ${bytes} bytes, more than max_diff_bytes (${maxBytes})`;
}

/**
 * The diff of two texts that are equal outside of `changes`, which come in order. `maxBytes` bounds the lines of the
 * diff, context included, on both sides together.
 */
export function diffAround(before: Buffer, after: Buffer, changes: readonly Change[], maxBytes: number): Diff {
  const fine = changes.flatMap((change) => refined(change, before, after));
  const groups = groupsOf(before, fine);
  const size = groups.reduce((sum, group) => sum + bytesOf(group), 0);
  if (size > maxBytes) return { omitted: tooLarge(size, maxBytes) };
  return { hunks: groups.map((group) => hunkOf(group, before, after)) };
}

/** Changes whose contexts touch, and where the context of all of them starts and ends in the old text. */
interface Group {
  readonly changes: Change[];
  readonly start: number;
  readonly end: number;
}

function groupsOf(before: Buffer, changes: readonly Change[]): Group[] {
  const runs: Change[][] = [];
  for (const change of changes) {
    const run = runs.at(-1);
    const last = run?.at(-1);
    if (run !== undefined && last !== undefined && isNear(before, last.oldEnd, change.oldStart)) run.push(change);
    else runs.push([change]);
  }
  return runs.map((run) => ({
    changes: run,
    start: linesBefore(before, run[0]!.oldStart),
    end: linesAfter(before, run.at(-1)!.oldEnd),
  }));
}

function isNear(before: Buffer, from: number, to: number): boolean {
  let [lines, at] = [0, from];
  while (at < to && lines <= 2 * CONTEXT_LINES) {
    const newline = before.subarray(at, to).indexOf(LF);
    at = newline < 0 ? to : at + newline + 1;
    lines += 1;
  }
  return lines <= 2 * CONTEXT_LINES;
}

function linesBefore(text: Buffer, end: number): number {
  let start = end;
  for (let line = 0; line < CONTEXT_LINES && start > 0; line++) {
    start = start === 1 ? 0 : text.lastIndexOf(LF, start - 2) + 1;
  }
  return start;
}

function linesAfter(text: Buffer, start: number): number {
  let end = start;
  for (let line = 0; line < CONTEXT_LINES && end < text.length; line++) {
    const newline = text.indexOf(LF, end);
    end = newline < 0 ? text.length : newline + 1;
  }
  return end;
}

function bytesOf({ changes, start, end }: Group): number {
  const added = changes.reduce((sum, change) => sum + change.newEnd - change.newStart, 0);
  return end - start + added;
}

function hunkOf({ changes, start, end }: Group, before: Buffer, after: Buffer): DiffHunk {
  const lines: DiffLine[] = [];
  const add = (kind: DiffLine["kind"], text: Buffer, from: number, to: number) => {
    for (const line of linesOf(text, from, to)) lines.push(diffLine(kind, line));
  };
  let at = start;
  for (const change of changes) {
    add("context", before, at, change.oldStart);
    add("removed", before, change.oldStart, change.oldEnd);
    add("added", after, change.newStart, change.newEnd);
    at = change.oldEnd;
  }
  add("context", before, at, end);

  const first = changes[0]!;
  const context = lineCount(before, start, first.oldStart);
  const oldCount = lines.filter((line) => line.kind !== "added").length;
  const newCount = lines.filter((line) => line.kind !== "removed").length;
  return {
    oldStart: first.oldLine - context + (oldCount > 0 ? 1 : 0),
    oldCount,
    newStart: first.newLine - context + (newCount > 0 ? 1 : 0),
    newCount,
    lines,
  };
}

function diffLine(kind: DiffLine["kind"], line: Buffer): DiffLine {
  const hasNewline = line[line.length - 1] === LF;
  return { kind, text: line.toString("utf8", 0, line.length - (hasNewline ? 1 : 0)), hasNewline };
}

const MARKS: Record<DiffLine["kind"], string> = { context: " ", removed: "-", added: "+" };

/** Hunks as a unified diff without file headers. */
export function toUnified(hunks: readonly DiffHunk[]): string {
  let text = "";
  for (const { oldStart, oldCount, newStart, newCount, lines } of hunks) {
    text += `@@ -${unifiedRange(oldStart, oldCount)} +${unifiedRange(newStart, newCount)} @@\n`;
    for (const line of lines) {
      text += `${MARKS[line.kind]}${line.text}\n`;
      if (!line.hasNewline) text += "\\ No newline at end of file\n";
    }
  }
  return text;
}

/** A count of 1 is left out, as patch and diff do. */
function unifiedRange(start: number, count: number): string {
  return count === 1 ? `${start}` : `${start},${count}`;
}
