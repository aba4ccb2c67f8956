/** A server of the process's own: started, told apart when it fails, and ended with the process. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ArgumentError, type LocalOptions, LocalServerError, Toolfs } from "../src/index.js";
import { startLocalServer } from "../src/local.js";
import { until } from "./support/condition.js";
import { BINARY, cleanEnvironment } from "./support/server.js";

const PARENT = fileURLToPath(new URL("support/local-parent.ts", import.meta.url));
// Node.js looks up the directory for temporary files in the real one.
const realEnvironment = process.env;
const environment = { ...process.env };
let root = "";

before(() => {
  root = fs.mkdtempSync(join(tmpdir(), "toolfs-served-"));
});
after(() => fs.rmSync(root, { recursive: true, force: true }));
beforeEach(() => {
  process.env = { ...environment, TOOLFS_BIN: BINARY };
});
afterEach(() => {
  if (environment.TMPDIR === undefined) delete realEnvironment.TMPDIR;
  else realEnvironment.TMPDIR = environment.TMPDIR;
});

/** Makes a directory that is the one for temporary files until the test ends. */
function temporaryHome(name: string): string {
  const home = join(root, name);
  fs.mkdirSync(home);
  realEnvironment.TMPDIR = home;
  return home;
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // One that has ended and was not waited for is still there by its number.
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function startParent(ending: string): Promise<{ parent: ChildProcess; line: string }> {
  const parent = spawn(process.execPath, ["--import", "tsx", PARENT, ending, root], {
    env: { ...cleanEnvironment(), TOOLFS_BIN: BINARY },
    stdio: ["ignore", "pipe", "ignore"],
  });
  let said = "";
  parent.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  await until("the parent says something", () => said.includes("\n") || parent.exitCode !== null);
  return { parent, line: said.trim() };
}

async function failure(options: Partial<LocalOptions>): Promise<LocalServerError> {
  const error = await startLocalServer({ root, ...options }).then(
    async (server) => {
      await server.stop();
      return undefined;
    },
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof LocalServerError, `it must not start: ${error}`);
  return error;
}

function command(name: string, script: string): string {
  const path = join(root, name);
  fs.writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

test("a session works, and the server ends with the client", async () => {
  fs.writeFileSync(join(root, "notes.txt"), "draft\n");
  const server = await startLocalServer({ root });
  const socket = server.address.slice("unix:".length);
  assert.equal(fs.statSync(dirname(socket)).mode & 0o777, 0o700);
  await server.stop();
  assert.ok(!isRunning(server.pid));
  assert.ok(!fs.existsSync(dirname(socket)));

  await using client = await Toolfs.local({ root });
  await using session = await client.openSession();
  await session.read({ file_path: "notes.txt" });
  await session.edit({ file_path: "notes.txt", old_string: "draft", new_string: "final" });
  assert.equal(fs.readFileSync(join(root, "notes.txt"), "utf8"), "final\n");
});

test("several roots, names, a policy and more arguments reach the server", async () => {
  const other = fs.mkdtempSync(join(tmpdir(), "toolfs-other-"));
  await using client = await Toolfs.local({
    root: [`${root}=/work`, `${other}=/other`],
    policy: "none",
    args: ["--max-content-bytes", "10"],
  });
  const { roots, policy, limits } = await client.capabilities();
  assert.deepEqual(
    roots.map((each) => each.displayPath),
    ["/work", "/other"],
  );
  assert.equal(policy?.name, "none");
  assert.equal(limits.find((limit) => limit.name === "max_content_bytes")?.value, 10);
  fs.rmSync(other, { recursive: true });
});

test("settings of another server are not passed on", async () => {
  process.env.TOOLFS_LISTEN = "nonsense";
  process.env.TOOLFS_UNHEARD_OF = "1";
  await using client = await Toolfs.local({ root });
  await client.capabilities();
});

test("the server ends when the process is killed", async () => {
  const { parent, line } = await startParent("wait");
  const pid = Number(/^server ([0-9]+)$/.exec(line)?.[1]);
  assert.ok(isRunning(pid), line);
  parent.kill("SIGKILL");
  await once(parent, "exit");
  await until("the server has ended", () => !isRunning(pid));
});

for (const [ending, code] of [
  ["exit", 0],
  ["throw", 1],
  ["nothing more to do", 0],
] as const) {
  test(`the server ends when the process ends by: ${ending}`, async () => {
    const { parent, line } = await startParent(ending);
    const pid = Number(/^server ([0-9]+)$/.exec(line)?.[1]);
    assert.ok(pid > 0, line);
    await until("the parent has ended", () => parent.exitCode !== null);
    assert.equal(parent.exitCode, code);
    await until("the server has ended", () => !isRunning(pid));
  });
}

test("a client that nobody closes does not keep the process alive", async () => {
  const { parent, line } = await startParent("public");
  assert.equal(line, "done");
  await until("the parent has ended", () => parent.exitCode !== null);
  assert.equal(parent.exitCode, 0);
});

test("a missing command says where it is looked for and how to get it", async () => {
  const named = { binary: "/nowhere/toolfs" };
  process.env.TOOLFS_BIN = "/elsewhere/toolfs";
  const cases: [Partial<LocalOptions>, string][] = [
    [named, "/nowhere/toolfs"],
    [{}, "/elsewhere/toolfs"],
  ];
  for (const [options, path] of cases) {
    const { message } = await failure(options);
    assert.ok(message.startsWith(`\`${path}\` could not be run: `), message);
    for (const word of ["`binary`", "`TOOLFS_BIN`", "`PATH`", "cargo install --path server/daemon"]) {
      assert.ok(message.includes(word), message);
    }
  }
});

test("the command is found on PATH where nothing else names it", async () => {
  const bin = fs.mkdtempSync(join(tmpdir(), "toolfs-path-"));
  fs.symlinkSync(BINARY, join(bin, "toolfs"));
  delete process.env.TOOLFS_BIN;
  process.env.PATH = bin;
  const server = await startLocalServer({ root });
  await server.stop();
  fs.unlinkSync(join(bin, "toolfs"));
  assert.match((await failure({})).message, /^`toolfs` could not be run: /);
  fs.rmdirSync(bin);
});

test("a server that refuses to start says why in its own words", async () => {
  const error = await failure({ root: join(root, "missing") });
  assert.match(error.message, /^`.*toolfs serve` ended with [0-9]+ before it was ready: .*missing/s);
  assert.match(error.stderr, /missing/);
});

test("a file that is no command, and one that says nothing, are told apart", async () => {
  const notExecutable = join(root, "notes.txt");
  fs.writeFileSync(notExecutable, "text");
  assert.match((await failure({ binary: notExecutable })).message, /could not be run/);
  const silent = command("silent", "echo warming up >&2; exec sleep 1000");
  const error = await failure({ binary: silent, startTimeoutMs: 500 });
  assert.match(error.message, /was not ready within 500 ms: warming up/);
});

test("what is kept of a talkative server is bounded", async () => {
  const talkative = command("talkative", "yes xxxxxxxxx | head -c 300000 >&2; echo the end >&2; exit 3");
  const error = await failure({ binary: talkative });
  assert.ok(error.stderr.length <= 16 << 10);
  assert.match(error.message, /ended with 3 before it was ready: (x+\n)+the end$/);
});

test("no directory is left behind by a start that failed", async () => {
  const mine = command("mine", 'for word in "$@"; do case $word in unix:*) echo "$word" >&2;; esac; done; exit 1');
  const error = await failure({ binary: mine });
  const directory = dirname(/unix:(\S+)/.exec(error.stderr)?.[1] ?? "");
  assert.match(directory, /\/toolfs-local-[^/]+$/);
  assert.ok(!fs.existsSync(directory));
});

test("a command that cannot be run at all leaves a directory behind, or is told otherwise", async () => {
  const home = temporaryHome("unused");
  // Of the second Node.js tells by throwing.
  for (const binary of ["/nowhere/toolfs", join(BINARY, "toolfs"), "a\0b"]) {
    assert.match((await failure({ binary })).message, /could not be run: name the command/);
  }
  assert.deepEqual(fs.readdirSync(home), []);
});

test("what a killed process left behind stays for good", async () => {
  const home = temporaryHome("littered");
  const make = (name: string, minutes: number) => {
    fs.mkdirSync(join(home, name), { recursive: true });
    return () => fs.utimesSync(join(home, name), new Date(), Date.now() / 1000 - 60 * minutes);
  };
  const ages = [
    make("toolfs-local-dead", 11),
    make("toolfs-local-starting", 9),
    make("toolfs-local-running", 11),
    make("toolfs-other", 11),
  ];
  fs.writeFileSync(join(home, "toolfs-local-running", "toolfs.sock"), "");
  for (const age of ages) age();
  const server = await startLocalServer({ root });
  assert.equal(dirname(dirname(server.address.slice("unix:".length))), home);
  await server.stop();
  assert.deepEqual(fs.readdirSync(home), ["toolfs-local-running", "toolfs-local-starting", "toolfs-other"]);
});

test("a directory for temporary files with a long name is too long for a socket", async () => {
  const home = temporaryHome("x".repeat(120));
  const server = await startLocalServer({ root });
  assert.equal(dirname(dirname(server.address.slice("unix:".length))), "/tmp");
  await server.stop();
  assert.deepEqual(fs.readdirSync(home), []);
});

test("many servers of one process are warned of as a leak", async () => {
  const before = process.listenerCount("exit");
  const servers = await Promise.all(Array.from({ length: 3 }, () => startLocalServer({ root })));
  assert.equal(process.listenerCount("exit"), before + 1);
  for (const server of servers) await server.stop();
  assert.equal(process.listenerCount("exit"), before);
});

test("a directory for temporary files that takes none is told as a bare system error", async () => {
  for (const home of ["/proc", join(root, "nowhere")]) {
    realEnvironment.TMPDIR = home;
    const { message, cause } = await failure({});
    assert.equal(message, `no directory for the socket can be made in \`${home}\`: name another one by \`TMPDIR\``);
    assert.ok(cause instanceof Error);
  }
});

test("a text that no command can have leaves a directory behind, or is told as something else", async () => {
  const home = temporaryHome("refused");
  const cases: [keyof LocalOptions, Partial<LocalOptions>][] = [
    ["root", { root: "a\0b" }],
    ["root", { root: [root, "a\0b"] }],
    ["args", { args: ["\0"] }],
    ["state", { state: "\0" }],
    ["policy", { policy: "\0" }],
  ];
  for (const [field, options] of cases) {
    await assert.rejects(startLocalServer({ root, ...options }), (error) => {
      return error instanceof ArgumentError && error.field.startsWith(field);
    });
  }
  assert.match((await failure({ binary: "" })).message, /could not be run/);
  assert.deepEqual(fs.readdirSync(home), []);
});

test("a server that does not heed the end of its input is waited for as if it were ending", async () => {
  const deaf = command("deaf", "echo toolfs ready: not at all; exec sleep 1000");
  const server = await startLocalServer({ root, binary: deaf });
  const began = performance.now();
  await server.stop();
  assert.ok(performance.now() - began < 10_000);
  assert.ok(!isRunning(server.pid));
});
