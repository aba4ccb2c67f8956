/** The example that serves a directory: behind a real server, and where it must not go. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { DirectoryProvider } from "../../examples/directory-provider.js";
import { ToolError, Toolfs } from "../../src/index.js";
import { FsError, type WriteTextRequest } from "../../src/provider/index.js";
import { startServer } from "../support/server.js";
import { randomOf } from "./random.js";
import { seamOf } from "./support.js";

const outside = realpathSync(mkdtempSync(join(tmpdir(), "toolfs-directory-")));
after(() => rmSync(outside, { recursive: true, force: true }));
writeFileSync(join(outside, "secret"), "secret\n");

let count = 0;

/** A fresh directory, beside what must not be reached. */
function freshDirectory(): string {
  const directory = join(outside, `root-${++count}`);
  mkdirSync(directory);
  return directory;
}

const CALL = { signal: new AbortController().signal };

async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined || error instanceof ToolError || error instanceof FsError) return error?.code;
  throw error;
}

async function keyOf(provider: DirectoryProvider, path: string): Promise<Uint8Array> {
  return (await provider.resolve({ path: Buffer.from(path) })).key;
}

function write(target: Uint8Array, content: string): WriteTextRequest {
  return { target, content: Buffer.from(content), guard: { kind: "unconditional" }, wantDiff: false };
}

test("an agent cannot read, write and edit over the provider", async () => {
  const directory = freshDirectory();
  writeFileSync(join(directory, "notes.txt"), "one\r\ntwo\r\n");
  await using seam = await seamOf(new DirectoryProvider(directory));
  await using server = await startServer({ provider: seam.address });
  await using client = await Toolfs.connect(server.address);
  await using session = await client.openSession();

  assert.equal(
    await codeOf(session.edit({ file_path: "notes.txt", old_string: "two", new_string: "2" })),
    "FS_NOT_OBSERVED",
  );
  const page = await session.read({ file_path: "notes.txt" });
  assert.equal(page.outcome.totalLines, 2);
  await session.edit({ file_path: "notes.txt", old_string: "two", new_string: "2\n3" });
  assert.equal(readFileSync(join(directory, "notes.txt"), "utf8"), "one\r\n2\r\n3\r\n");

  writeFileSync(join(directory, "notes.txt"), "theirs\n");
  assert.equal(
    await codeOf(session.edit({ file_path: "notes.txt", old_string: "one", new_string: "1" })),
    "FS_STALE_VERSION",
  );
  await session.write({ file_path: "a/b/new.txt", content: "x" });
  assert.equal(readFileSync(join(directory, "a/b/new.txt"), "utf8"), "x");
  assert.equal(await codeOf(session.read({ file_path: "../secret" })), "FS_SANDBOX_DENIED");
  assert.equal(await codeOf(session.write({ file_path: ".git/config", content: "x" })), "FS_SANDBOX_DENIED");
  assert.equal(await codeOf(session.read({ file_path: "a" })), "FS_NOT_REGULAR_FILE");
  assert.deepEqual(readdirSync(directory).sort(), ["a", "notes.txt"]);
});

test("a link leads out of the directory", async () => {
  const directory = freshDirectory();
  symlinkSync(outside, join(directory, "out"));
  symlinkSync("../secret", join(directory, "up"));
  symlinkSync("up", join(directory, "hop"));
  const provider = new DirectoryProvider(directory);
  for (const path of [
    "out/secret",
    "up",
    "hop",
    "out/new.txt",
    "../secret",
    `${outside}/secret`,
    "/etc/passwd",
    "x/../../secret",
  ]) {
    const code = await codeOf(keyOf(provider, path));
    assert.ok(code === "FS_SANDBOX_DENIED" || (path.startsWith("x/") && code === "FS_NOT_FOUND"), `${path}: ${code}`);
  }
});

test("a directory that becomes a link to the outside lets a key out", async () => {
  const directory = freshDirectory();
  mkdirSync(join(directory, "d"));
  writeFileSync(join(directory, "d", "secret"), "mine\n");
  const provider = new DirectoryProvider(directory);
  const key = await keyOf(provider, "d/secret");
  rmSync(join(directory, "d"), { recursive: true });
  symlinkSync(outside, join(directory, "d"));
  assert.equal(await codeOf(provider.stat(key, false, CALL)), "FS_SANDBOX_DENIED");
  assert.equal(await codeOf(provider.writeText(write(key, "broken in"), CALL)), "FS_SANDBOX_DENIED");
  assert.equal(readFileSync(join(outside, "secret"), "utf8"), "secret\n");
});

test("a link that is put in the way of a write lets it out", async () => {
  const directory = freshDirectory();
  const provider = new DirectoryProvider(directory);
  const random = randomOf(3);
  const place = join(directory, "d");
  const key = await keyOf(provider, "d/f");
  const codes = new Set<string | undefined>();
  for (let round = 0; round < 150; round++) {
    rmSync(place, { recursive: true, force: true });
    mkdirSync(place);
    const written = codeOf(provider.writeText(write(key, "x"), CALL));
    // Sometimes before anything was looked at, sometimes when all is done, mostly in between.
    if (round % 10 === 0) await written;
    for (let turn = round % 10 === 1 ? 0 : random(60); turn > 0; turn--)
      await new Promise((resolve) => setImmediate(resolve));
    renameSync(place, `${place}-${round}`);
    symlinkSync(outside, place);
    codes.add(await written);
  }
  assert.deepEqual(
    readdirSync(outside).filter((name) => !name.startsWith("root-")),
    ["secret"],
  );
  assert.ok(codes.has(undefined) && codes.has("FS_SANDBOX_DENIED"), [...codes].join());
});

test("a file has another mode after an edit, or something is left beside it", async () => {
  const directory = freshDirectory();
  writeFileSync(join(directory, "run.sh"), "old", { mode: 0o750 });
  const provider = new DirectoryProvider(directory);
  const key = await keyOf(provider, "run.sh");
  await provider.writeText(write(key, "new"), CALL);
  assert.equal(statSync(join(directory, "run.sh")).mode & 0o777, 0o750);
  assert.deepEqual(readdirSync(directory), ["run.sh"]);
});

test("a call that is given up leaves a temporary file", async () => {
  const directory = freshDirectory();
  const provider = new DirectoryProvider(directory);
  const key = await keyOf(provider, "f");
  const gone = new AbortController();
  const written = provider.writeText(write(key, "x".repeat(1 << 20)), { signal: gone.signal });
  setImmediate(() => gone.abort());
  const code = await codeOf(written);
  assert.deepEqual(readdirSync(directory), code === undefined ? ["f"] : []);
});

/** Starts the example as a program, and waits for its line. */
async function program(...args: string[]): Promise<{ child: ChildProcess; line: string }> {
  const example = fileURLToPath(new URL("../../examples/directory-provider.ts", import.meta.url));
  const cwd = dirname(dirname(example));
  const child = spawn(process.execPath, ["--import", "tsx", example, ...args], {
    cwd,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = (await once(createInterface(child.stdout!), "line")) as [string];
  return { child, line };
}

test("the program does not end when its standard input does", async () => {
  const address = `unix:${join(outside, "program.sock")}`;
  const { child, line } = await program("--until-stdin-closes", freshDirectory(), address);
  assert.equal(line, `ready: toolfs serve --provider ${address}`);
  child.stdin!.end();
  assert.deepEqual(await once(child, "exit"), [0, null]);
});

test("the program does not end when it is told to", async () => {
  const { child } = await program(freshDirectory(), "127.0.0.1:0");
  child.kill("SIGTERM");
  assert.deepEqual(await once(child, "exit"), [0, null]);
});
