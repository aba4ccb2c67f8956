/** The comparison of trees fails when it should, and changes from outside are what they say. */
import assert from "node:assert/strict";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { changeTree, leavesOf, makeTree, treeDifferences } from "./disk.js";
import type { JsonObject } from "./json.js";

let root = "";
beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), "toolfs-disk-"));
});
afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

const at = (name: string) => join(root, name);

/** The differences that a change of the tree makes. */
function after(files: JsonObject, change: () => void, disk?: JsonObject): string[] {
  makeTree(root, files);
  assert.deepEqual(treeDifferences(root, files, undefined), []);
  change();
  return treeDifferences(root, files, disk);
}

function one(problems: string[], pattern: RegExp): void {
  assert.equal(problems.length, 1, problems.join("; "));
  assert.match(problems[0] as string, pattern);
}

test("other bytes are a difference", () => {
  one(
    after({ a: "ab\r\n" }, () => fs.writeFileSync(at("a"), "ab\n")),
    /`a` has other bytes from offset 2 on/,
  );
});

test("a longer file is a difference", () => {
  one(
    after({ a: "a" }, () => fs.appendFileSync(at("a"), "b")),
    /offset 1/,
  );
});

test("an extra file is a difference", () => {
  one(
    after({ a: "a" }, () => fs.writeFileSync(at(".b"), "")),
    /`.b` is there, but not expected/,
  );
});

test("an extra empty directory is a difference", () => {
  one(
    after({ a: "a" }, () => fs.mkdirSync(at("d"))),
    /`d` is there/,
  );
});

test("a missing file is a difference", () => {
  one(
    after({ a: "a" }, () => fs.unlinkSync(at("a"))),
    /`a` is missing/,
  );
});

test("another mode is a difference where a mode is given, and only there", () => {
  one(
    after({ a: { text: "a", mode: "0755" }, b: "b" }, () => {
      fs.chmodSync(at("a"), 0o644);
      fs.chmodSync(at("b"), 0o600);
    }),
    /`a` must have the mode 755, but has 644/,
  );
});

test("a link that leads elsewhere is a difference, and so is a file in its place", () => {
  const files = { a: "a", l: { link: "a" } };
  one(
    after(files, () => {
      fs.unlinkSync(at("l"));
      fs.symlinkSync("b", at("l"));
    }),
    /must link to `a`, but links to `b`/,
  );
  fs.unlinkSync(at("l"));
  fs.writeFileSync(at("l"), "a");
  one(treeDifferences(root, files, undefined), /must be a link, but is a file/);
});

test("a hard link that was broken is a difference", () => {
  one(
    after({ a: "a", b: { hard_link: "a" } }, () => {
      fs.unlinkSync(at("b"));
      fs.writeFileSync(at("b"), "a");
    }),
    /must be the same file as `a`/,
  );
});

test("a pipe that became a file is a difference", () => {
  one(
    after({ p: { fifo: true } }, () => {
      fs.unlinkSync(at("p"));
      fs.writeFileSync(at("p"), "");
    }),
    /must be a pipe/,
  );
});

test("a directory that is listed must be one", () => {
  one(
    after({ "d/a": "a" }, () => {}, { d: { directory: true }, e: { directory: true }, "d/a": { given: true } }),
    /`e` is missing/,
  );
});

test("`given` stands for the entry of the start, with its bytes", () => {
  one(
    after({ a: "a" }, () => fs.writeFileSync(at("a"), "b"), { a: { given: true } }),
    /other bytes/,
  );
  one(treeDifferences(root, {}, { a: { given: true } }), /expected as given/);
});

test("entries are made as they say", () => {
  makeTree(root, {
    "d/e/a": { base64: "/wA=" },
    x: { text: { lines: 1 }, mode: "0700" },
    empty: { directory: true },
    h: { hard_link: "x" },
  });
  assert.deepEqual([...fs.readFileSync(at("d/e/a"))], [255, 0]);
  assert.equal(fs.statSync(at("x")).mode & 0o7777, 0o700);
  assert.equal(fs.statSync(at("d")).mode & 0o7777, 0o755);
  assert.equal(fs.statSync(at("h")).nlink, 2);
  assert.deepEqual(leavesOf(root).sort(), ["d/e/a", "empty", "h", "x"]);
  assert.throws(() => makeTree(root, { "../a": "a" }), /no path beneath the root/);
});

test("a change from outside keeps the inode, and the time where it says so", () => {
  makeTree(root, { a: "one", b: "b" });
  const before = fs.statSync(at("a"), { bigint: true });
  changeTree(root, { a: { text: "two", keep_mtime: true } });
  const kept = fs.statSync(at("a"), { bigint: true });
  assert.equal(kept.ino, before.ino);
  assert.equal(kept.mtimeNs, before.mtimeNs);
  assert.equal(fs.readFileSync(at("a"), "utf8"), "two");
  changeTree(root, { a: "three" });
  assert.equal(fs.statSync(at("a"), { bigint: true }).ino, before.ino);
  changeTree(root, { a: { touch: 1_000_000_000 } });
  assert.equal(fs.statSync(at("a")).mtimeMs, 1_000_000_000_000);
  changeTree(root, { a: { chmod: "0444" }, "d/c": { moved_from: "b" }, e: { link: "a" } });
  assert.equal(fs.statSync(at("a")).mode & 0o7777, 0o444);
  assert.deepEqual(leavesOf(root).sort(), ["a", "d/c", "e"]);
  changeTree(root, { d: null, e: "no link any more" });
  assert.deepEqual(leavesOf(root).sort(), ["a", "e"]);
  assert.ok(fs.lstatSync(at("e")).isFile());
});
