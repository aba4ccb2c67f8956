/** Objects of options and arguments that JavaScript lets through. Nothing is sent, and no server is there. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { editCall, executeRequest, readCall, writeCall } from "../src/call.js";
import { Caller } from "../src/caller.js";
import { ArgumentError, CallError, Session, Toolfs } from "../src/index.js";
import { openTransports } from "../src/transport.js";
import { SessionSchema } from "../src/v1.js";
import { BINARY } from "./support/server.js";

const NOWHERE = "unix:/nowhere/toolfs.sock";

// biome-ignore lint/suspicious/noExplicitAny: callers in JavaScript give anything.
type Anything = any;

const client = Toolfs.connect(NOWHERE, { retry: false });
const session = new Session(new Caller(NOWHERE, { retry: false }), "secret", create(SessionSchema, { name: "s_1" }));
after(() => client.close());

const CALL = readCall({ file_path: "a" });
const edit = { file_path: "a", old_string: "a", new_string: "b" };

/** What is done, the key that is told, and what is said of it. */
type Case = [what: string, field: string, message: RegExp, act: () => unknown];

const given = (value: unknown) => value as Anything;

const UNKNOWN: Case[] = [
  [
    "a dry run",
    "dry_run",
    /not an option of a call: did you mean `dryRun`\?/,
    () => session.edit(edit, given({ dry_run: true })),
  ],
  ["a call of a model", "dry_run", /`dryRun`/, () => session.call("edit", edit, given({ dry_run: true }))],
  ["a call without a session", "requestID", /`requestId`/, () => client.call("edit", edit, given({ requestID: "" }))],
  ["a read-only session", "read_only", /`readOnly`/, () => client.openSession(given({ read_only: true }))],
  [
    "a view of a session",
    "view",
    /known are `deadlineMs`, `signal`, `cwd`, /,
    () => client.openSession(given({ view: "full" })),
  ],
  ["a deadline", "deadline", /`deadlineMs`/, () => Toolfs.connect(NOWHERE, given({ deadline: 5 }))],
  ["a client's name", "serverName", /known are/, () => Toolfs.connect(NOWHERE, given({ serverName: "a" }))],
  [
    "a name of TLS",
    "tls.servername",
    /option of `tls`: did you mean `serverName`/,
    () => Toolfs.connect(NOWHERE, given({ tls: { servername: "a" } })),
  ],
  [
    "a retry",
    "retry.atempts",
    /option of `retry`: did you mean `attempts`/,
    () => Toolfs.connect(NOWHERE, given({ retry: { atempts: 2 } })),
  ],
  ["a local root", "roots", /option of `local`: did you mean `root`/, () => Toolfs.local(given({ roots: ["."] }))],
  ["a local retry", "retry.base", /`baseMs`/, () => Toolfs.local(given({ retry: { base: 2 } }))],
  [
    "an argument of read",
    "filePath",
    /argument of `read`: did you mean `file_path`/,
    () => session.read(given({ filePath: "a" })),
  ],
  [
    "an argument of write",
    "contents",
    /argument of `write`: did you mean `content`/,
    () => session.write(given({ file_path: "a", contents: "" })),
  ],
  [
    "an argument of edit",
    "replaceAll",
    /argument of `edit`: did you mean `replace_all`/,
    () => session.edit(given({ ...edit, replaceAll: true })),
  ],
  [
    "an option among arguments",
    "dryRun",
    /argument of `edit`: known are/,
    () => session.edit(given({ ...edit, dryRun: true })),
  ],
  ["a strict form", "Strict", /`strict`/, () => client.tools("json", given({ Strict: true }))],
  ["a definition", "strict", /known are/, () => client.toolDefinitions(given({ strict: true }))],
  ["a prompt", "timeout", /known are/, () => client.prompt(given({ timeout: 1 }))],
  ["capabilities", "deadLineMs", /`deadlineMs`/, () => client.capabilities(given({ deadLineMs: 1 }))],
  ["a page", "page_size", /`pageSize`/, () => client.listSessions(given({ page_size: 1 })).next()],
  ["a resumed session", "signals", /`signal`/, () => client.resumeSession("a", given({ signals: 1 }))],
  ["a watch", "resume_token", /`resumeToken`/, () => session.watch(given({ resume_token: "a" })).next()],
  ["forgetting", "all", /known are/, () => session.forget(["a"], given({ all: true }))],
  ["closing", "force", /known are/, () => session.close(given({ force: true }))],
];

const OF_ANOTHER_KIND: Case[] = [
  [
    "a text for a switch",
    "replace_all",
    /`true` or `false`|boolean/,
    () => session.edit(given({ ...edit, replace_all: "false" })),
  ],
  [
    "a text for a dry run",
    "dryRun",
    /`true` or `false`|boolean/,
    () => session.write({ file_path: "a", content: "" }, given({ dryRun: "false" })),
  ],
  [
    "a number for a read-only session",
    "readOnly",
    /`true` or `false`|boolean/,
    () => client.openSession(given({ readOnly: 1 })),
  ],
  ["a text for roots", "roots", /must be a list, not a text/, () => client.openSession(given({ roots: "/tmp" }))],
  ["a list for labels", "labels", /must be an object, not a list/, () => client.openSession(given({ labels: ["a"] }))],
  [
    "a text for a deadline",
    "deadlineMs",
    /must be a number, not a text/,
    () => session.read({ file_path: "a" }, given({ deadlineMs: "5" })),
  ],
  [
    "no number for a deadline",
    "deadlineMs",
    /must be a number, not `NaN`/,
    () => Toolfs.connect(NOWHERE, { deadlineMs: Number.NaN }),
  ],
  [
    "a controller for its signal",
    "signal",
    /must be an `AbortSignal`/,
    () => client.prompt(given({ signal: new AbortController() })),
  ],
  [
    "a switch for TLS",
    "tls",
    /`{}` trusts what Node.js trusts, not `true`/,
    () => Toolfs.connect(NOWHERE, given({ tls: true })),
  ],
  ["a number for a certificate", "tls.ca", /must be PEM/, () => Toolfs.connect(NOWHERE, given({ tls: { ca: 5 } }))],
  [
    "a number for a token",
    "token",
    /must be a text, or a function/,
    () => Toolfs.connect(NOWHERE, given({ token: 5 })),
  ],
  [
    "a switch for retries",
    "retry",
    /must be `false`, or an object/,
    () => Toolfs.connect(NOWHERE, given({ retry: true })),
  ],
  [
    "nothing for a number of tries",
    "retry.attempts",
    /must be a number/,
    () => Toolfs.connect(NOWHERE, given({ retry: { attempts: undefined } })),
  ],
  [
    "a text for options",
    "options",
    /must be an object, whose keys are among `deadlineMs`/,
    () => session.read({ file_path: "a" }, given("full")),
  ],
  ["null for options", "options", /must be an object/, () => client.capabilities(given(null))],
  [
    "a path for arguments",
    "arguments",
    /must be an object, whose keys are among `file_path`/,
    () => session.read(given("a")),
  ],
  [
    "a path for local options",
    "options",
    /must be an object, whose keys are among .*`root`/,
    () => Toolfs.local(given(".")),
  ],
  ["a list for options", "options", /must be an object/, () => Toolfs.connect(NOWHERE, given([]))],
];

async function isRefused(field: string, message: RegExp, act: () => unknown): Promise<void> {
  await assert.rejects(
    async () => act(),
    (error) => {
      assert.ok(error instanceof ArgumentError, inspect(error));
      assert.equal(error.field, field);
      assert.match(error.message, message);
      return true;
    },
  );
}

describe("an unknown key is passed over", () => {
  for (const [what, field, message, act] of UNKNOWN) test(what, () => isRefused(field, message, act));
});

describe("a value of another kind is taken", () => {
  for (const [what, field, message, act] of OF_ANOTHER_KIND) test(what, () => isRefused(field, message, act));
});

test("a secret of the wrong kind is told", async () => {
  await assert.rejects(
    async () => Toolfs.connect(NOWHERE, given({ tls: "hush", token: ["hush"] })),
    (error) => error instanceof ArgumentError && !inspect(error).includes("hush"),
  );
});

test("what is refused leaves a connection behind", () => {
  const open = openTransports();
  assert.throws(() => Toolfs.connect("unix:/elsewhere/toolfs.sock", given({ retries: 1 })), ArgumentError);
  assert.equal(openTransports(), open);
});

test("a known key whose value is absent is refused", () => {
  const options = {
    dryRun: undefined,
    view: undefined,
    toolCallId: undefined,
    deadlineMs: undefined,
    signal: undefined,
  };
  assert.equal(executeRequest("", CALL, options).dryRun, false);
  assert.equal(readCall({ file_path: "a", offset: undefined, limit: undefined }).case, "read");
  assert.equal(writeCall({ file_path: "a", content: "" }).case, "write");
  assert.equal(editCall({ ...edit, replace_all: undefined }).case, "edit");
});

describe("a local server without a root", () => {
  const home = process.cwd();
  const environment = process.env;
  let directory = "";
  before(() => {
    directory = mkdtempSync(join(tmpdir(), "toolfs-option-"));
    writeFileSync(join(directory, "a.txt"), "here\n");
    process.chdir(directory);
    process.env = { ...environment, TOOLFS_BIN: BINARY };
  });
  after(() => {
    process.chdir(home);
    process.env = environment;
    rmSync(directory, { recursive: true });
  });
  for (const [what, options] of [
    ["no options", []],
    ["no root among them", [{}]],
  ] as const) {
    test(`does not serve the current directory: ${what}`, async () => {
      await using local = await Toolfs.local(...options);
      await using session = await local.openSession();
      const page = await session.read({ file_path: "a.txt" });
      assert.equal(page.text.split("\n")[0], "1: here");
      assert.equal(readFileSync("a.txt", "utf8"), "here\n");
    });
  }

  test("a session that was closed is told as one that never was, after a round trip", async () => {
    const local = await Toolfs.local();
    const session = await local.openSession();
    await session.close();
    // Whatever would be sent now could not be: the client is closed too.
    await local.close();
    const closed = (error: unknown) => {
      assert.ok(error instanceof CallError);
      assert.deepEqual([error.status, error.reason, error.attempts], ["NOT_FOUND", "SESSION_NOT_FOUND", 0]);
      assert.equal(error.message, `the session \`${session.name}\` was closed by this program: open another one`);
      return true;
    };
    await assert.rejects(session.read({ file_path: "a.txt" }), closed);
    await assert.rejects(session.write({ file_path: "a.txt", content: "" }), closed);
    await assert.rejects(session.edit(edit), closed);
    await assert.rejects(session.call("read", {}), closed);
    await assert.rejects(session.forget(["a.txt"]), closed);
    await assert.rejects(session.forgetAll(), closed);
    await assert.rejects(session.watch().next(), closed);
    await assert.rejects(session.close(), closed);
  });
});

test("what is printed of a client and a session says nothing, or the secret", () => {
  assert.equal(String(client), `Toolfs(${NOWHERE})`);
  assert.equal(inspect(client), `Toolfs(${NOWHERE})`);
  assert.equal(String(session), "Session(s_1)");
  assert.match(inspect(session), /name: 's_1'/);
  assert.ok(!inspect(session).includes("secret"));
});
