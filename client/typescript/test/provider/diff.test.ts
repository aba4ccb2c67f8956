/** Diffs and the ranges that they change. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { diffOf, toUnified } from "../../src/provider/diff.js";
import { applyEdit } from "../../src/provider/edit.js";
import type { Diff, DiffHunk } from "../../src/provider/index.js";
import { randomOf, textOf } from "./random.js";

function hunksOf(diff: Diff): readonly DiffHunk[] {
  if ("omitted" in diff) throw new Error(`the diff is left out: ${diff.omitted}`);
  return diff.hunks;
}

function unified(before: string | undefined, after: string): string {
  const old = before === undefined ? undefined : Buffer.from(before);
  return toUnified(hunksOf(diffOf(old, Buffer.from(after), 1 << 20)));
}

const diffs: [name: string, before: string | undefined, after: string, expected: string][] = [
  ["nothing", "a\n", "a\n", ""],
  ["a creation", undefined, "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"],
  ["an emptied file", "a\nb\n", "", "@@ -1,2 +0,0 @@\n-a\n-b\n"],
  ["a line", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"],
  [
    "a missing newline",
    "a\nb",
    "a\nc",
    "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
  ],
  ["a line end", "a\r\n", "a\n", "@@ -1 +1 @@\n-a\r\n+a\n"],
  [
    "three lines of context",
    "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
    "1\n2\n3\n4\nx\n6\n7\n8\n9\n",
    "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n",
  ],
];

for (const [name, before, after, expected] of diffs) {
  test(`a diff shows ${name} wrongly`, () => {
    assert.equal(unified(before, after), expected);
  });
}

test("changes far apart are one hunk, or near ones two", () => {
  const lines = (changed: number[]) =>
    Array.from({ length: 30 }, (_, at) => (changed.includes(at) ? "x\n" : `${at}\n`)).join("");
  const count = (changed: number[]) =>
    hunksOf(diffOf(Buffer.from(lines([])), Buffer.from(lines(changed)), 1 << 20)).length;
  assert.deepEqual([count([3, 10]), count([3, 11])], [1, 2]);
});

test("a diff that is too large, or of no text, is made", () => {
  assert.deepEqual(diffOf(Buffer.from("abc"), Buffer.from("de"), 4), {
    omitted: "old and new content have 5 bytes, more than max_diff_bytes (4)",
  });
  assert.deepEqual(diffOf(Buffer.from([0xff]), Buffer.from("de"), 4), { omitted: "the old content is not text" });
});

test("contents that differ in every line take too long", () => {
  const [before, after] = ["a", "b"].map((name) =>
    Array.from({ length: 30_000 }, (_, at) => `${name}${at}\n`).join(""),
  );
  const [hunk, ...rest] = hunksOf(diffOf(Buffer.from(before!), Buffer.from(after!), 1 << 20));
  assert.deepEqual([hunk?.oldCount, hunk?.newCount, rest.length], [30_000, 30_000, 0]);
});

/** Applies hunks as `patch` does, and checks their context. */
function patched(before: string, hunks: readonly DiffHunk[]): string {
  const old = before.split(/(?<=\n)/).filter((line) => line !== "");
  const result: string[] = [];
  let at = 0;
  for (const { oldStart, oldCount, newStart, newCount, lines } of hunks) {
    const start = oldStart - (oldCount > 0 ? 1 : 0);
    result.push(...old.slice(at, start));
    assert.equal(result.length, newStart - (newCount > 0 ? 1 : 0), "the new side starts where it says");
    at = start;
    for (const { kind, text, hasNewline } of lines) {
      const line = text + (hasNewline ? "\n" : "");
      if (kind !== "added") assert.equal(old[at++], line);
      if (kind !== "removed") result.push(line);
    }
    assert.equal(lines.filter(({ kind }) => kind !== "added").length, oldCount);
    assert.equal(lines.filter(({ kind }) => kind !== "removed").length, newCount);
  }
  return [...result, ...old.slice(at)].join("");
}

test("a diff does not lead from the old content to the new one", () => {
  const random = randomOf(11);
  const pieces = ["a\n", "b\n", "c\r\n", "d\n", "\n", "e"];
  for (let round = 0; round < 3_000; round++) {
    const [before, after] = [textOf(random, pieces, 30), textOf(random, pieces, 30)];
    const hunks = hunksOf(diffOf(Buffer.from(before), Buffer.from(after), 1 << 20));
    assert.equal(patched(before, hunks), after, JSON.stringify({ before, after }));
  }
});

test("the diff of an edit does not lead to its content, or its ranges are not those of the diff", () => {
  const random = randomOf(13);
  const pieces = ["a", "b", "ab", "\n", "\r\n", "c\n", "d\n", "e\n"];
  const limits = { maxDiffBytes: 1 << 20, nearMissBytes: 1 << 20, isOver: () => false };
  let edits = 0;
  for (let round = 0; round < 10_000; round++) {
    const content = Buffer.from(textOf(random, pieces, 30));
    const [oldString, newString] = [textOf(random, pieces, 2), textOf(random, pieces, 3)];
    if (oldString === "" || oldString.replaceAll("\r\n", "\n") === newString.replaceAll("\r\n", "\n")) continue;
    if (!content.toString().replaceAll("\r\n", "\n").includes(oldString.replaceAll("\r\n", "\n"))) continue;
    const edited = applyEdit(content, { oldString, newString, replaceAll: true }, limits);
    const hunks = hunksOf(edited.diff);
    const told = JSON.stringify({ content: content.toString(), oldString, newString });
    assert.equal(patched(content.toString(), hunks), edited.content.toString(), told);
    const added = hunks.flatMap(({ lines }) => lines).filter(({ kind }) => kind === "added").length;
    const ranges = edited.changedRanges.ranges.reduce((sum, { newCount }) => sum + newCount, 0);
    assert.ok(ranges >= added, told);
    edits += 1;
  }
  assert.ok(edits > 2_000, `${edits}`);
});
