/** The disk of a case: made at the start, changed by somebody else on the way, compared at the end. */
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { isObject, type Json, type JsonObject } from "./json.js";
import { buildText, mustBuild } from "./text.js";

const FILE_MODE = 0o644;
const DIRECTORY_MODE = 0o755;

/** Makes a directory, and the entries beneath it in their order. */
export function makeTree(root: string, files: JsonObject): void {
  makeDirectory(root);
  for (const [name, entry] of Object.entries(files)) makeEntry(root, name, entry);
}

/** What somebody else does to the disk: the changes of an `outside` step, in their order. */
export function changeTree(root: string, changes: JsonObject): void {
  for (const [name, change] of Object.entries(changes)) {
    const path = placeOf(root, name);
    if (change === null) {
      fs.rmSync(path, { recursive: true });
    } else if (isObject(change) && change.touch !== undefined) {
      fs.utimesSync(path, fs.statSync(path).atime, Number(change.touch));
    } else if (isObject(change) && change.chmod !== undefined) {
      fs.chmodSync(path, modeOf(change.chmod));
    } else if (isObject(change) && change.moved_from !== undefined) {
      makeDirectory(dirname(path));
      fs.renameSync(placeOf(root, String(change.moved_from)), path);
    } else if (isObject(change) && change.keep_mtime !== undefined) {
      overwriteKeepingTime(path, Buffer.from(mustBuild(change.text)));
    } else {
      replaceEntry(root, name, change);
    }
  }
}

/** How the tree beneath a directory differs from the one that a case expects; empty when it does not. */
export function treeDifferences(root: string, files: JsonObject, disk: JsonObject | undefined): string[] {
  const expected = disk ?? files;
  const problems: string[] = [];
  const listed = new Set<string>();
  for (const [name, entry] of Object.entries(expected)) {
    const path = placeOf(root, name);
    listed.add(relative(root, path));
    const isGiven = isObject(entry) && entry.given !== undefined;
    const wanted = isGiven ? files[name] : entry;
    const problem = wanted === undefined ? "is expected as given, but is not" : entryDifference(root, path, wanted);
    if (problem !== undefined) problems.push(`disk: \`${name}\` ${problem}`);
  }
  for (const name of leavesOf(root)) {
    if (!listed.has(name)) problems.push(`disk: \`${name}\` is there, but not expected`);
  }
  return problems;
}

/** The paths beneath a directory of everything that holds nothing itself: files, links, pipes, empty directories. */
export function leavesOf(root: string, beneath = ""): string[] {
  const entries = fs.readdirSync(join(root, beneath), { withFileTypes: true });
  if (entries.length === 0 && beneath !== "") return [beneath];
  return entries.flatMap((entry) => {
    const path = join(beneath, entry.name);
    return entry.isDirectory() ? leavesOf(root, path) : [path];
  });
}

function placeOf(root: string, name: string): string {
  const inside = normalize(name);
  if (inside.startsWith("..") || inside.startsWith("/")) throw new Error(`\`${name}\` is no path beneath the root`);
  return join(root, inside);
}

function makeEntry(root: string, name: string, entry: Json): void {
  const path = placeOf(root, name);
  makeDirectory(dirname(path));
  const content = contentOf(entry);
  if (content !== undefined) {
    fs.writeFileSync(path, content, { flag: "wx" });
    fs.chmodSync(path, givenMode(entry) ?? FILE_MODE);
  } else if (isObject(entry) && entry.directory !== undefined) {
    makeDirectory(path);
  } else if (isObject(entry) && entry.link !== undefined) {
    fs.symlinkSync(String(entry.link), path);
  } else if (isObject(entry) && entry.hard_link !== undefined) {
    fs.linkSync(placeOf(root, String(entry.hard_link)), path);
  } else if (isObject(entry) && entry.fifo !== undefined) {
    execFileSync("mkfifo", ["-m", "0644", path]);
  } else {
    throw new Error(`\`${JSON.stringify(entry)}\` is no entry`);
  }
}

/** Makes what is missing of a directory's path, each with the mode that directories have here. */
function makeDirectory(path: string): void {
  const first = fs.mkdirSync(path, { recursive: true });
  if (first === undefined) return;
  for (let made = path; made.startsWith(first); made = dirname(made)) fs.chmodSync(made, DIRECTORY_MODE);
}

function replaceEntry(root: string, name: string, entry: Json): void {
  const path = placeOf(root, name);
  const content = contentOf(entry);
  const there = fs.lstatSync(path, { throwIfNoEntry: false });
  if (content !== undefined && there?.isFile()) {
    overwrite(path, content);
    const mode = givenMode(entry);
    if (mode !== undefined) fs.chmodSync(path, mode);
    return;
  }
  if (there !== undefined) fs.rmSync(path, { recursive: true });
  makeEntry(root, name, entry);
}

/** Into the file itself: the same inode, as an editor that saves in place does. */
function overwrite(path: string, content: Buffer): void {
  const file = fs.openSync(path, "r+");
  try {
    fs.ftruncateSync(file, 0);
    fs.writeSync(file, content, 0, content.length, 0);
  } finally {
    fs.closeSync(file);
  }
}

function overwriteKeepingTime(path: string, content: Buffer): void {
  // Node's own stat loses nanoseconds, and with them the very time that must be kept: another file carries it.
  const keeper = `${path}.mtime-keeper`;
  execFileSync("touch", ["--reference", path, keeper]);
  overwrite(path, content);
  execFileSync("touch", ["--reference", keeper, path]);
  fs.unlinkSync(keeper);
}

function contentOf(entry: Json): Buffer | undefined {
  if (isObject(entry) && entry.base64 !== undefined) return Buffer.from(String(entry.base64), "base64");
  const text = isObject(entry) && entry.text !== undefined ? mustBuild(entry.text) : buildText(entry);
  return text === undefined ? undefined : Buffer.from(text);
}

function givenMode(entry: Json): number | undefined {
  return isObject(entry) && entry.mode !== undefined ? modeOf(entry.mode) : undefined;
}

function modeOf(mode: Json): number {
  return Number.parseInt(String(mode), 8);
}

function entryDifference(root: string, path: string, entry: Json): string | undefined {
  const there = fs.lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return "is missing";
  const content = contentOf(entry);
  if (content !== undefined) {
    if (!there.isFile()) return `must be a file, but is ${kindOf(there)}`;
    const actual = fs.readFileSync(path);
    if (!actual.equals(content)) return bytesDiffer(content, actual);
    const mode = givenMode(entry);
    const actualMode = there.mode & 0o7777;
    if (mode === undefined || mode === actualMode) return undefined;
    return `must have the mode ${mode.toString(8)}, but has ${actualMode.toString(8)}`;
  }
  if (!isObject(entry)) throw new Error(`\`${JSON.stringify(entry)}\` is no entry`);
  if (entry.directory !== undefined)
    return there.isDirectory() ? undefined : `must be a directory, is ${kindOf(there)}`;
  if (entry.fifo !== undefined) return there.isFIFO() ? undefined : `must be a pipe, but is ${kindOf(there)}`;
  if (entry.link !== undefined) {
    if (!there.isSymbolicLink()) return `must be a link, but is ${kindOf(there)}`;
    const led = fs.readlinkSync(path);
    return led === entry.link ? undefined : `must link to \`${entry.link}\`, but links to \`${led}\``;
  }
  const other = fs.lstatSync(placeOf(root, String(entry.hard_link)), { throwIfNoEntry: false });
  return other?.ino === there.ino ? undefined : `must be the same file as \`${entry.hard_link}\`, but is another`;
}

function kindOf(stats: fs.Stats): string {
  if (stats.isFile()) return "a file";
  if (stats.isDirectory()) return "a directory";
  if (stats.isSymbolicLink()) return "a link";
  return stats.isFIFO() ? "a pipe" : "something else";
}

function bytesDiffer(expected: Buffer, actual: Buffer): string {
  let at = 0;
  while (at < expected.length && at < actual.length && expected[at] === actual[at]) at += 1;
  const near = (bytes: Buffer) => JSON.stringify(bytes.subarray(Math.max(0, at - 20), at + 40).toString());
  const sizes = `expected ${expected.length} bytes, got ${actual.length}`;
  return `has other bytes from offset ${at} on (${sizes}): expected …${near(expected)}…, got …${near(actual)}…`;
}
