/** What counts as text, windows of lines, and names made fit to be shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { displayForm, type FsError, fileUrl, protectedRule } from "../../src/provider/index.js";
import { similarNames } from "../../src/provider/similar-name.js";
import { dominantLineEnd, lineEndingsOf, summarize } from "../../src/provider/text.js";
import { windowOf } from "../../src/provider/window.js";

function bytes(latin1: string): Buffer {
  return Buffer.from(latin1, "latin1");
}

const texts: [content: string, lines: number, endings: string, newline: boolean, bom: boolean][] = [
  ["", 0, "none", false, false],
  ["\ufeff", 0, "none", false, true],
  ["\n", 1, "lf", true, false],
  ["a", 1, "none", false, false],
  ["a\nb", 2, "lf", false, false],
  ["a\r\nb\r\n", 2, "crlf", true, false],
  ["a\r\nb\nc\r", 3, "mixed", false, false],
  ["a\rb", 1, "none", false, false],
  ["\ufeffa\n", 1, "lf", true, true],
];

for (const [content, lines, endings, newline, bom] of texts) {
  test(`${JSON.stringify(content)} is not ${lines} lines of ${endings}`, () => {
    const summary = summarize(Buffer.from(content));
    assert.deepEqual(
      [summary.totalLines, lineEndingsOf(summary), summary.endsWithNewline, summary.bom],
      [lines, endings, newline, bom],
    );
  });
}

test("the line end that dominates is another one", () => {
  const dominant = (content: string) => dominantLineEnd(summarize(Buffer.from(content)));
  assert.deepEqual(["", "a\nb\r\nc\r\n", "a\nb\r\n", "a\r\nb\n"].map(dominant), [undefined, "crlf", "lf", "crlf"]);
});

const nonTexts: [content: Buffer, offset: number, encoding?: string][] = [
  [bytes('key="u\0v"'), 6],
  [bytes("n = 7\n# na\xefve\n"), 10],
  [bytes("caf\xc3"), 3],
  [bytes("caf\xc3\0"), 3],
  [bytes("\0\xff"), 0],
  [Buffer.concat([Buffer.alloc(200_000, "text\n"), bytes("\xff")]), 200_000],
  [bytes("\xff\xfeh\0i\0\n\0"), 0, "UTF-16LE"],
  [bytes("\xfe\xff\0h\0i\0\n"), 0, "UTF-16BE"],
  [bytes("\xff\xfe\0\0h\0\0\0"), 0, "UTF-32LE"],
  [bytes("\0\0\xfe\xff\0\0\0h"), 0, "UTF-32BE"],
  [bytes("h\0i\0 \0t\0"), 1, "UTF-16LE"],
  [bytes("\xed\xa0\x80"), 0],
  [bytes("a\xc0\x80"), 1],
  [bytes("\xf4\x90\x80\x80"), 0],
];

for (const [content, byteOffset, encoding] of nonTexts) {
  test(`${content.subarray(0, 12).toString("hex")} is text, or wrong elsewhere than at ${byteOffset}`, () => {
    assert.throws(
      () => summarize(content),
      (error: FsError) => {
        const expected = encoding === undefined ? { byteOffset } : { byteOffset, encoding };
        assert.deepEqual(error.failure, { code: "FS_NOT_TEXT", ...expected });
        return true;
      },
    );
  });
}

const WINDOW = { firstLine: 1, maxLines: 1_000, maxBytes: 1_000, maxLineChars: 100 };

const windows: [name: string, content: string, window: Partial<typeof WINDOW>, lines: string[], stop: string][] = [
  ["a whole file", "a\nb\n", {}, ["a", "b"], "end-of-file"],
  ["lines in the middle", "a\nb\nc\n", { firstLine: 2, maxLines: 1 }, ["b"], "line-limit"],
  ["lines up to the last", "a\nb\n", { maxLines: 2 }, ["a", "b"], "end-of-file"],
  ["lines past the end", "a\nb\n", { firstLine: 3 }, [], "end-of-file"],
  ["a last line without newline", "a\nb", { firstLine: 2 }, ["b"], "end-of-file"],
  ["CR LF", "a\r\nb\r\n", {}, ["a", "b"], "end-of-file"],
  ["a lone CR", "a\rb\r", {}, ["a\rb\r"], "end-of-file"],
  ["a byte order mark", "\ufeffa\n", {}, ["a"], "end-of-file"],
  ["the byte cap between lines", "12345\n12345\n12345\n", { maxBytes: 10 }, ["12345", "12345"], "byte-cap"],
  ["the byte cap within the first line", "ééé\n", { maxBytes: 5 }, ["éé"], "end-of-file"],
  ["long lines", `${"é".repeat(30)}\nx\n`, { maxLineChars: 20 }, ["é".repeat(20), "x"], "end-of-file"],
  ["empty lines", "\n\n", {}, ["", ""], "end-of-file"],
  ["nothing", "", {}, [], "end-of-file"],
];

for (const [name, content, window, lines, stop] of windows) {
  test(`a window of ${name} has other lines or another end`, () => {
    const found = windowOf(Buffer.from(content), { ...WINDOW, ...window });
    assert.deepEqual(
      found.lines.map(({ text }) => Buffer.from(text).toString("utf8")),
      lines,
    );
    assert.equal(found.stop, stop);
  });
}

test("a cut line does not tell its length, or another one tells one", () => {
  const { lines } = windowOf(Buffer.from(`${"😀".repeat(30)}\r\nx\n`), { ...WINDOW, maxLineChars: 20 });
  assert.deepEqual(
    lines.map(({ fullLength, crlf }) => [fullLength, crlf]),
    [
      [30, true],
      [undefined, false],
    ],
  );
});

const shown: [raw: Buffer, shown: string][] = [
  [Buffer.from("notes.txt"), "notes.txt"],
  [bytes("\xff\n"), "\\xff\\u{a}"],
  [Buffer.from("a\u202eb\u2028"), "a\\u{202e}b\\u{2028}"],
  [bytes("caf\xc3"), "caf\\xc3"],
  [Buffer.from("tab\there é😀"), "tab\\u{9}here é😀"],
  [bytes("\xe2\x82x"), "\\xe2\\x82x"],
];

for (const [raw, expected] of shown) {
  test(`the bytes ${raw.toString("hex")} are not shown as ${expected}`, () => {
    assert.equal(displayForm(raw), expected);
  });
}

test("a file URL has bytes that it must not have", () => {
  assert.equal(fileUrl(bytes("/a b/\xff")), "file:///a%20b/%FF");
});

const similar: [wanted: string, names: string[], expected: string[]][] = [
  ["readme.md", ["README.md", "Makefile"], ["README.md"]],
  ["Shot 1 PM.txt", ["Shot 1\u202fPM.txt"], ["Shot 1\u202fPM.txt"]],
  ["caf\u00e9.md", ["cafe\u0301.md"], ["cafe\u0301.md"]],
  ["notes.txt", ["ntoes.txt", "notes.tx", "other.txt"], ["notes.tx", "ntoes.txt"]],
  ["a", ["b", "c"], []],
  ["notes.txt", ["NOTES.txt", "Notes.txt", "notes.TXT", "nOtes.txt"], ["NOTES.txt", "Notes.txt", "nOtes.txt"]],
  ["x\ny.txt", ["x\nz.txt"], []],
];

for (const [wanted, names, expected] of similar) {
  test(`names like ${JSON.stringify(wanted)} are not ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(
      similarNames(
        Buffer.from(wanted),
        names.map((name) => Buffer.from(name)),
      ),
      expected,
    );
  });
}

test("a protected name is free, or one that looks alike is not", () => {
  const rule = (path: string) => protectedRule(Buffer.from(path), [".git", "secret"]);
  assert.deepEqual(["a/.git/config", ".git", "x/secret/.git", "/.git/"].map(rule), [".git", ".git", "secret", ".git"]);
  assert.deepEqual([".gitignore", "a.git", ".GIT", ""].map(rule), [undefined, undefined, undefined, undefined]);
});
