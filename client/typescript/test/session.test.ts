/** Sessions over the real binary. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { CallError, type Session, type SessionEvent, ToolError, Toolfs } from "../src/index.js";
import { Published, SessionMode, WriteOperation } from "../src/v1.js";
import { type Server, startServer } from "./support/server.js";

let server: Server;
let client: Toolfs;
before(async () => {
  server = await startServer();
  client = Toolfs.connect(server.address);
});
after(async () => {
  await client.close();
  await server[Symbol.asyncDispose]();
});

const gone = { name: "CallError", status: "NOT_FOUND", reason: "SESSION_NOT_FOUND" };

/** A file of the test's own that nobody has seen. */
function given(content: string): string {
  const name = `${randomUUID()}.txt`;
  writeFileSync(join(server.directory, name), content);
  return name;
}

const onDisk = (name: string) => readFileSync(join(server.directory, name), "utf8");

test("the end of a block closes the session", async () => {
  let left: Session;
  {
    await using session = await client.openSession();
    left = session;
    await session.write({ file_path: `${randomUUID()}.txt`, content: "" });
  }
  await assert.rejects(left.read({ file_path: "a" }), gone);
  await assert.rejects(client.resumeSession(left.id), gone);
});

test("a session that was detached is resumed by another client", async () => {
  const file_path = given("one\n");
  let id: string;
  let name: string;
  {
    await using session = await client.openSession({ labels: { purpose: "test" } });
    await session.read({ file_path });
    session.detach();
    ({ id, name } = session);
  }
  await using other = Toolfs.connect(server.address, { deadlineMs: 5_000 });
  await using resumed = await other.resumeSession(id);
  assert.equal(resumed.name, name);
  assert.deepEqual(resumed.info.labels, { purpose: "test" });
  // What was observed goes with the session.
  await resumed.edit({ file_path, old_string: "one", new_string: "two" });
});

test("a block whose session has ended already ends without a fuss", async () => {
  await using session = await client.openSession();
  const other = await client.resumeSession(session.id);
  await other.close();
  await assert.rejects(other.close(), gone);
});

test("a session starts where it is told to, within its roots, and only reads if so", async () => {
  mkdirSync(join(server.directory, "sub"), { recursive: true });
  writeFileSync(join(server.directory, "sub", "a.txt"), "here\n");
  await using session = await client.openSession({ cwd: ".", roots: ["sub"], readOnly: true });
  assert.equal(session.info.mode, SessionMode.READ_ONLY);
  assert.deepEqual(session.info.roots, [join(server.directory, "sub")]);
  assert.equal((await session.read({ file_path: "a.txt" })).outcome.totalLines, 1);
  await assert.rejects(session.write({ file_path: "b.txt", content: "" }), { code: "FS_SANDBOX_DENIED" });
  const refused = client.openSession({ cwd: "missing" });
  await assert.rejects(refused, (error: CallError) => {
    assert.equal(error.fsError?.code, "FS_NOT_FOUND");
    return error.reason === "FS_NOT_FOUND" && error.status === "NOT_FOUND";
  });
});

test("a typed refusal tells what a program and a model need", async () => {
  const file_path = given("a\nb\na\n");
  await using session = await client.openSession();
  await assert.rejects(session.edit({ file_path, old_string: "a", new_string: "c" }), (error: ToolError) => {
    assert.equal(error.code, "FS_NOT_OBSERVED");
    assert.equal(error.published, Published.NO);
    assert.match(error.remedy, /read/);
    assert.match(String(error), /^ToolError: FS_NOT_OBSERVED: .+ \(.+\)$/);
    return error instanceof ToolError && !error.retryable;
  });
  await session.read({ file_path });
  await assert.rejects(session.edit({ file_path, old_string: "a", new_string: "c" }), (error: ToolError) => {
    assert.deepEqual(error.detail, { case: "ambiguousEdit", value: { matchCount: 2, lines: [1, 3] } });
    assert.match(error.content[0]?.type === "text" ? error.content[0].text : "", /^FS_AMBIGUOUS_EDIT/);
    return error.path === file_path;
  });
  const { outcome } = await session.edit({ file_path, old_string: "a", new_string: "c", replace_all: true });
  assert.equal(outcome.replacements, 2);
  assert.equal(onDisk(file_path), "c\nb\nc\n");
});

test("what is forgotten must be read again", async () => {
  const first = given("one\n");
  const second = given("two\n");
  await using session = await client.openSession();
  const seen = () => Promise.all([first, second].map((file_path) => session.read({ file_path })));
  const edited = (file_path: string) => session.edit({ file_path, old_string: "o", new_string: "0" });
  await seen();
  await session.forget([first]);
  await assert.rejects(edited(first), { code: "FS_NOT_OBSERVED" });
  await edited(second);
  await session.read({ file_path: first });
  await session.forgetAll();
  await assert.rejects(edited(first), { code: "FS_NOT_OBSERVED" });
  await assert.rejects(session.forget(["/elsewhere"]), { reason: "FS_SANDBOX_DENIED" });
});

test("a single path is forgotten letter by letter", async () => {
  const file_path = given("one\n");
  await using session = await client.openSession();
  for (const none of [file_path, undefined, null, 5, {}]) {
    const told = { name: "ArgumentError", field: "paths" };
    await assert.rejects(session.forget(none as unknown as string[]), told);
  }
  const roots = file_path as unknown as string[];
  await assert.rejects(client.openSession({ roots }), { name: "ArgumentError", field: "roots" });
  await session.read({ file_path });
  await session.forget(new Set([file_path]));
  const edit = session.edit({ file_path, old_string: "one", new_string: "two" });
  await assert.rejects(edit, { code: "FS_NOT_OBSERVED" });
});

test('a session that may write is opened for "false"', async () => {
  const readOnly = "false" as unknown as boolean;
  await assert.rejects(client.openSession({ readOnly }), { name: "ArgumentError", field: "readOnly" });
});

test("a dry run changes nothing, and the full view has lines and a diff", async () => {
  const file_path = given("one\n");
  await using session = await client.openSession();
  const page = await session.read({ file_path }, { view: "full" });
  assert.deepEqual(page.outcome.lines, [{ number: 1, text: "one", truncated: false, fullLength: 3 }]);
  const edit = { file_path, old_string: "one", new_string: "two" };
  const planned = await session.edit(edit, { dryRun: true });
  assert.ok(planned.dryRun);
  assert.equal(planned.outcome.guard?.condition.case, "replaceIfVersion");
  assert.equal(planned.outcome.diff?.text, "@@ -1 +1 @@\n-one\n+two\n");
  assert.equal(onDisk(file_path), "one\n");
  assert.equal((await session.edit(edit)).outcome.diff, undefined);
});

test("a call that is named twice is made once", async () => {
  await using session = await client.openSession();
  const requestId = randomUUID();
  const file_path = `${randomUUID()}.txt`;
  const first = await session.write({ file_path, content: "x" }, { requestId, toolCallId: "call-1" });
  const again = await session.write({ file_path, content: "x" }, { requestId, toolCallId: "call-2" });
  assert.equal(again.outcome.operation, WriteOperation.CREATE);
  assert.deepEqual(again.outcome, first.outcome);
  assert.deepEqual([first.requestId, again.requestId], [requestId, requestId]);
  assert.deepEqual([first.toolCallId, again.toolCallId], ["call-1", "call-2"]);
  const other = session.write({ file_path, content: "y" }, { requestId });
  await assert.rejects(other, { status: "INVALID_ARGUMENT", reason: "REQUEST_ID_REUSED" });
  const noUuid = session.write({ file_path, content: "y" }, { requestId: "mine" });
  await assert.rejects(noUuid, { status: "INVALID_ARGUMENT", reason: "REQUEST_ID_INVALID" });
});

test("what a model calls is answered for the model, also when it is wrong", async () => {
  const file_path = given("one\n");
  await using session = await client.openSession();
  const page = await session.call("read", { file_path });
  assert.equal(page.text, "1: one\n\n(line 1 of 1)");
  assert.ok(page.outcome?.case === "read" && page.outcome.value.totalLines === 1);
  for (const [name, args, code] of [
    ["read", "{", "FS_INVALID_ARGUMENT"],
    ["read", { file_path, colour: 1 }, "FS_INVALID_ARGUMENT"],
    ["delete", { file_path }, "FS_INVALID_ARGUMENT"],
    ["read", { file_path: "missing" }, "FS_NOT_FOUND"],
  ] as const) {
    const reply = await session.call(name, args, { toolCallId: "call-1" });
    assert.ok(reply.isError);
    assert.equal(reply.error?.code, code);
    assert.ok(reply.text.startsWith(code), reply.text);
    const block = reply.asResult("anthropic");
    assert.equal(block.tool_use_id, "call-1");
    assert.equal(block.is_error, true);
  }
});

test("a call without a session reads and creates", async () => {
  const file_path = given("one\n");
  assert.ok(!(await client.call("read", { file_path })).isError);
  assert.ok(!(await client.call("write", { file_path: `${randomUUID()}.txt`, content: "" })).isError);
  const edit = await client.call("edit", { file_path, old_string: "one", new_string: "two" });
  assert.equal(edit.error?.code, "FS_NOT_OBSERVED");
});

test("all pages of the list are walked", async () => {
  const opened = await Promise.all(Array.from({ length: 5 }, () => client.openSession({ labels: { list: "yes" } })));
  const names: string[] = [];
  for await (const { name, labels } of client.listSessions({ pageSize: 2 })) {
    if (labels.list === "yes") names.push(name);
  }
  assert.deepEqual(names.toSorted(), opened.map((session) => session.name).toSorted());
  for (const session of opened) await session.close();
});

test("a watch tells what calls do, until the session ends", async () => {
  const file_path = given("one\n");
  const session = await client.openSession();
  const events: SessionEvent[] = [];
  let tokenAfterRead = "";
  for await (const event of session.watch()) {
    events.push(event);
    if (event.happening.case === "watchBegan") await session.read({ file_path });
    if (event.happening.case === "callEnded") {
      tokenAfterRead = event.resumeToken;
      await session.close();
    }
  }
  const cases = events.map((event) => event.happening.case);
  assert.deepEqual(cases.slice(0, 2), ["watchBegan", "callBegan"]);
  const ended = events.find((event) => event.happening.case === "callEnded")?.happening;
  assert.equal(ended?.case === "callEnded" && ended.value.contentBytes, 3);
  assert.notEqual(tokenAfterRead, "");
  await assert.rejects(session.watch().next(), gone);
});

test("a watch goes on after a token, and ends when it is left or aborted", async () => {
  const file_path = given("one\n");
  await using session = await client.openSession();
  let resumeToken = "";
  for await (const event of session.watch()) {
    resumeToken = event.resumeToken;
    break;
  }
  await session.read({ file_path });
  const controller = new AbortController();
  const cases: (string | undefined)[] = [];
  const watching = (async () => {
    for await (const event of session.watch({ resumeToken, signal: controller.signal })) {
      cases.push(event.happening.case);
      if (event.happening.case === "callEnded") controller.abort();
    }
  })();
  await assert.rejects(watching, (error) => error instanceof CallError && error.status === "CANCELLED");
  assert.ok(cases.includes("callBegan") && cases.includes("callEnded"), String(cases));
  await assert.rejects(session.watch({ resumeToken: "nonsense" }).next(), { reason: "RESUME_TOKEN_INVALID" });
});

test("a watch that waits for an event cannot be left", async () => {
  await using session = await client.openSession();
  for (const leave of ["return", "throw", "dispose"] as const) {
    const events = session.watch();
    await events.next();
    const waiting = events.next();
    if (leave === "return") assert.deepEqual(await events.return(), { value: undefined, done: true });
    if (leave === "throw") await assert.rejects(events.throw(new Error("enough")), /enough/);
    if (leave === "dispose") await events[Symbol.asyncDispose]();
    assert.deepEqual(await waiting, { value: undefined, done: true });
    assert.deepEqual(await events.next(), { value: undefined, done: true });
  }
  const unbegun = session.watch();
  await unbegun.return();
  assert.deepEqual(await unbegun.next(), { value: undefined, done: true });
});

test("a watch whose server goes away says so", async () => {
  await using own = await startServer();
  await using other = Toolfs.connect(own.address);
  const session = await other.openSession();
  const watching = (async () => {
    for await (const _ of session.watch()) void own.stop("SIGKILL");
  })();
  await assert.rejects(watching, { status: "UNAVAILABLE", retryable: true });
});

test("capabilities, tools and prompt are the server's", async () => {
  const { limits, roots, requestIdWindow } = await client.capabilities();
  assert.equal(limits.find((limit) => limit.name === "max_content_bytes")?.value, 16 << 20);
  assert.equal(roots[0]?.displayPath, server.directory);
  assert.ok((requestIdWindow?.seconds ?? 0) > 0);
  const tools = await client.tools("anthropic");
  assert.deepEqual(
    tools.map((tool) => tool.name),
    ["read", "write", "edit"],
  );
  assert.match(await client.prompt(), /read/);
});
