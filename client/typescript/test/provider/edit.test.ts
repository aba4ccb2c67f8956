/** Literal edits of a content. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { applyEdit, type Edited } from "../../src/provider/edit.js";
import { FsError } from "../../src/provider/index.js";
import { viewOfText } from "../../src/provider/match.js";
import { randomOf, textOf } from "./random.js";

const LIMITS = { maxDiffBytes: 1 << 20, nearMissBytes: 1 << 20, isOver: () => false };

function apply(content: string | Uint8Array, oldString: string, newString: string, replaceAll = false): Edited {
  return applyEdit(Buffer.from(content as string), { oldString, newString, replaceAll }, LIMITS);
}

function refusalOf(content: string | Uint8Array, oldString: string, newString: string, replaceAll = false): FsError {
  try {
    apply(content, oldString, newString, replaceAll);
  } catch (error) {
    if (error instanceof FsError) return error;
    throw error;
  }
  throw new Error("a refusal was due");
}

const edits: [name: string, content: string, edit: [string, string], expected: string][] = [
  ["a word", "one two three", ["two", "2"], "one 2 three"],
  ["line ends outside of the match", "a\r\nb\nc\r\n", ["b", "B"], "a\r\nB\nc\r\n"],
  ["CR LF seen as LF", "x=1\r\ny=2\r\n", ["x=1\ny=2", "x=1\ny=3"], "x=1\r\ny=3\r\n"],
  ["LF seen as CR LF", "x=1\ny=2\n", ["x=1\r\ny=2", "x=1\r\ny=3"], "x=1\ny=3\n"],
  ["new lines in a file of CR LF", "one\r\ntwo\r\n", ["one", "1a\n1b"], "1a\r\n1b\r\ntwo\r\n"],
  [
    "new lines in a match of LF in a file of CR LF",
    "a\r\nb\r\nc\r\nd\ne",
    ["d\ne", "d\nx\ny"],
    "a\r\nb\r\nc\r\nd\nx\ny",
  ],
  ["new lines in a mixed file of two kinds", "a\r\nb\nc", ["c", "c\nd"], "a\r\nb\nc\r\nd"],
  ["new lines in a file without any", "one", ["one", "1\r\n2\n3"], "1\r\n2\n3"],
  ["a byte order mark", "\ufeffconst a\n", ["const", "let"], "\ufefflet a\n"],
  ["a final newline that is taken away", "u\nv\n", ["v\n", "w"], "u\nw"],
  ["a final newline that is added", "}", ["}", "}\n"], "}\n"],
  ["a deletion", "one two three", [" two", ""], "one three"],
  ["everything deleted", "all", ["all", ""], ""],
  ["text that is special elsewhere", "one\ntwo\n", ["two", "$& $$ $1 \\1 \\n &amp;"], "one\n$& $$ $1 \\1 \\n &amp;\n"],
  ["a lone CR as text", "a\rb\n", ["\rb", "c"], "ac\n"],
  ["a lone CR that meets a line end", "a\nb", ["a", "a\r"], "a\r\r\nb"],
  ["a deletion between CR and LF", "a\rx\nb", ["x", ""], "a\r\r\nb"],
  ["a match at the line end of CR LF", "a\r\nb", ["\nb", "\nc"], "a\r\nc"],
  ["characters of several bytes", "é€😀é", ["😀", "x"], "é€xé"],
];

for (const [name, content, [oldString, newString], expected] of edits) {
  test(`an edit spoils ${name}`, () => {
    const edited = apply(content, oldString, newString);
    assert.equal(edited.content.toString("utf8"), expected);
    assert.equal(edited.matches.total, 1);
  });
}

test("replace_all rescans what it wrote, or goes from the right", () => {
  assert.equal(apply("aaaaa", "aa", "aaa", true).content.toString(), "aaaaaaa");
  assert.equal(apply("ababa", "aba", "x", true).content.toString(), "xba");
});

test("an edit of several places is not ambiguous", () => {
  const { failure } = refusalOf("a\nx\nb\nx\n", "x", "y");
  assert.deepEqual(failure, { code: "FS_AMBIGUOUS_EDIT", matchCount: 2, lines: [2, 4] });
});

test("occurrences that overlap are not counted", () => {
  assert.deepEqual(refusalOf("aaa\n", "aa", "b").failure, { code: "FS_AMBIGUOUS_EDIT", matchCount: 2, lines: [1, 1] });
});

test("more than 20 lines are told", () => {
  const { failure } = refusalOf("x\n".repeat(50), "x", "y");
  assert.ok(failure.code === "FS_AMBIGUOUS_EDIT" && failure.matchCount === 50 && failure.lines.length === 20);
});

test("the two halves of a CR LF are matched apart", () => {
  assert.equal(refusalOf("a\r\nb", "a\r", "x").code, "FS_EDIT_NOT_FOUND");
});

test("a byte order mark at the start is matched", () => {
  assert.equal(refusalOf("\ufeffa", "\ufeffa", "x").code, "FS_EDIT_NOT_FOUND");
  assert.equal(apply("b\ufeffa", "\ufeffa", "x").content.toString(), "bx");
});

test("what is no text is edited", () => {
  const { failure } = refusalOf(Buffer.from("n\xefve", "latin1"), "n", "x");
  assert.deepEqual(failure, { code: "FS_NOT_TEXT", byteOffset: 1 });
});

test("a refusal repeats what was asked for", () => {
  const { message } = refusalOf("content", "secret-old", "secret-new");
  assert.doesNotMatch(message, /secret/);
});

test("a result above the limit is made", () => {
  const edit = { oldString: "a", newString: "bb", replaceAll: true };
  const limits = { ...LIMITS, maxFileBytes: 7 };
  assert.throws(
    () => applyEdit(Buffer.from("aaaa"), edit, limits),
    (error: FsError) => {
      assert.deepEqual(error.failure, {
        code: "FS_TOO_LARGE",
        limitName: "max_file_bytes",
        limitBytes: 7,
        sizeBytes: 8,
      });
      return true;
    },
  );
  assert.equal(applyEdit(Buffer.from("aaa"), edit, limits).content.toString(), "bbbbbb");
});

test("matches and changed lines are told wrongly", () => {
  const { matches, changedRanges } = apply("one\ntwo\nthree\n", "two", "2a\n2b");
  assert.deepEqual(matches, { ranges: [{ startLine: 2, endLine: 2 }], total: 1 });
  assert.deepEqual(changedRanges, { ranges: [{ oldStart: 2, oldCount: 1, newStart: 2, newCount: 2 }], total: 1 });
});

test("lines that are only taken away or only added are told wrongly", () => {
  const removed = apply("a\nb\nc\n", "b\n", "").changedRanges.ranges;
  assert.deepEqual(removed, [{ oldStart: 2, oldCount: 1, newStart: 1, newCount: 0 }]);
  const added = apply("a\nc\n", "a\n", "a\nb\n").changedRanges.ranges;
  assert.deepEqual(added, [{ oldStart: 1, oldCount: 0, newStart: 2, newCount: 1 }]);
});

test("more than 100 ranges are told", () => {
  const { matches, changedRanges } = apply("x\n\n".repeat(150), "x", "y", true);
  assert.deepEqual([matches.ranges.length, matches.total], [100, 150]);
  assert.deepEqual([changedRanges.ranges.length, changedRanges.total], [100, 150]);
});

test("a needle of one letter takes the square of the time", () => {
  const content = "a".repeat(200_000);
  const { failure } = refusalOf(content, "a".repeat(50_000), "b");
  assert.ok(failure.code === "FS_AMBIGUOUS_EDIT" && failure.matchCount === 150_001);
});

/** What a reader sees of a file: no byte order mark, LF for CR LF. */
function view(content: string): string {
  return viewOfText(content.replace(/^\ufeff/, ""));
}

test("the text of an edited file is another than the file's text edited", () => {
  const random = randomOf(7);
  const pieces = ["a", "b", "\n", "\r\n", "\r", "é", "ab"];
  let edited = 0;
  for (let round = 0; round < 20_000; round++) {
    const content = textOf(random, pieces, 10);
    const [oldString, newString] = [textOf(random, pieces, 3), textOf(random, pieces, 3)];
    if (oldString === "" || viewOfText(oldString) === viewOfText(newString)) continue;
    if (!view(content).includes(viewOfText(oldString))) continue;
    const done = apply(content, oldString, newString, true).content.toString("utf8");
    const expected = view(content).split(viewOfText(oldString)).join(viewOfText(newString));
    assert.equal(viewOfText(done), expected, JSON.stringify({ content, oldString, newString }));
    edited += 1;
  }
  assert.ok(edited > 3_000, `${edited}`);
});
