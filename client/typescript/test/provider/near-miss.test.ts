/** Near misses: where they are and why they are none. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { searchNearMisses } from "../../src/provider/near-miss.js";

function search(content: string, oldString: string, maxBytes = 1 << 20, isOver = () => false) {
  return searchNearMisses(Buffer.from(content), oldString, maxBytes, isOver);
}

const found: [name: string, content: string, oldString: string, lines: [number, number], reasons: string[]][] = [
  ["tabs", "\tif x {\n\t\ty()\n\t}\n", "    if x {\n        y()", [1, 2], ["tabs-or-spaces"]],
  ["more indentation", "a\n    b\n    c\n", "  b\n  c", [2, 3], ["indentation"]],
  ["blanks at the end of a line", "a  \nb\n", "a\nb", [1, 2], ["trailing-blanks"]],
  ["blanks within a line", "a  = 1\n", "a = 1", [1, 1], ["white-space"]],
  ["curly quotes", "it’s\n", "it's", [1, 1], ["look-alikes"]],
  ["a dash", "a – b\n", "a - b", [1, 1], ["look-alikes"]],
  ["decomposed letters", "cafe\u0301\n", "caf\u00e9", [1, 1], ["normal-form"]],
  ["letter case", "Hello World\n", "hello world", [1, 1], ["letter-case"]],
  ["doubled escapes", 'say("x")\n', 'say(\\"x\\")', [1, 1], ["doubled-escapes"]],
  ["an escaped newline", "a\nb\n", "a\\nb", [1, 2], ["doubled-escapes"]],
  ["line numbers", "one\ntwo\n", "1: one\n2: two", [1, 2], ["line-number-prefix"]],
  ["a different line", "begin\n k1\n k2\n k3\nend\n", "begin\n k1\n k7\n k3\nend", [1, 5], ["some-lines-differ"]],
  ["blank lines", "a\n\nb\n", "a\nb", [1, 3], ["white-space"]],
  ["CR LF", "x\r\n  b\r\nc\r\n", "b\n c", [2, 3], ["indentation"]],
];

for (const [name, content, oldString, [startLine, endLine], reasons] of found) {
  test(`a place that differs in ${name} is not told so`, () => {
    const { nearMisses, stopped } = search(content, oldString);
    const [first] = nearMisses;
    const expected = name === "line numbers" ? ["line-number-prefix"] : reasons;
    assert.deepEqual([first?.startLine, first?.endLine, first?.reasons], [startLine, endLine, expected]);
    assert.equal(stopped, undefined);
  });
}

test("text that is nowhere has near misses", () => {
  assert.deepEqual(search("one\ntwo\n", "something else"), { nearMisses: [], stopped: undefined });
});

test("more is shown of a place than it may", () => {
  const content = `${"\tx".repeat(600)}\n`.repeat(9);
  const { nearMisses } = search(content, content.replaceAll("\t", " "));
  assert.deepEqual(
    nearMisses[0]?.lines.map((line) => line.length),
    [200, 200, 200, 200, 200],
  );
  assert.deepEqual([nearMisses[0]?.startLine, nearMisses[0]?.endLine], [1, 9]);
});

test("more than three places are told, or not the best first", () => {
  const { nearMisses } = search("  A b\n  a b\n  a  B\nA  B\n  a b\n", " a  b");
  assert.equal(nearMisses.length, 3);
  assert.ok(nearMisses.every(({ reasons }) => reasons.length <= (nearMisses.at(-1)?.reasons.length ?? 0)));
});

test("a search without budget goes on", () => {
  assert.equal(search("a\n".repeat(10), "missing", 5).stopped, "bytes");
  assert.equal(search("short", "longer than allowed", 5).stopped, "bytes");
  assert.equal(search("a\n".repeat(10), "missing", 1 << 20, () => true).stopped, "time");
});

test("the search takes the square of the time", () => {
  const lines = "same line\n".repeat(100_000);
  assert.equal(search(lines, `${"same line\n".repeat(2_000)}other`, 4 << 20).stopped, undefined);
});
