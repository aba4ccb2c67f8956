/** What the error of a call says when an attempt of it may have taken effect. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError as RpcError } from "@connectrpc/connect";
import { CallError, ConnectError, type Session, Toolfs, type ToolfsError } from "../src/index.js";
import { FsErrorCode, FsErrorSchema, Published } from "../src/v1.js";
import { until } from "./support/condition.js";
import { startProxy } from "./support/proxy.js";
import { answer, errorInfo, type Script, serveScript, unavailable } from "./support/scripted.js";
import { startServer } from "./support/server.js";

const DONE = answer({ outcome: { case: "write", value: {} } });
const OPTIONS = { retry: { baseMs: 1 } };

async function failureOf(call: Promise<unknown>): Promise<ToolfsError> {
  return (await call.then(
    () => assert.fail("the call must fail"),
    (error: unknown) => error,
  )) as ToolfsError;
}

/** A session of a client that knows that the server remembers: a retry was due before. */
async function informed(session: Session, lose: () => void): Promise<void> {
  lose();
  await session.write({ file_path: "first.txt", content: "" });
}

test("an edit that took effect is told as one that was never sent", async () => {
  await using server = await startServer();
  await using proxy = await startProxy(server.address);
  await using client = Toolfs.connect(proxy.address, OPTIONS);
  const session = await client.openSession();
  await informed(session, () => {
    proxy.hold();
    void until("the write is on disk", () => existsSync(join(server.directory, "first.txt"))).then(proxy.cut);
  });
  await session.write({ file_path: "a.txt", content: "one\n" });
  proxy.hold();
  const edit = failureOf(session.edit({ file_path: "a.txt", old_string: "one", new_string: "two" }));
  await until("the edit is on disk", () => readFileSync(join(server.directory, "a.txt"), "utf8") === "two\n");
  proxy.vanish();
  const error = await edit;
  assert.ok(error instanceof CallError, `${error}`);
  assert.deepEqual([error.status, error.attempts, error.maybePublished], ["UNAVAILABLE", 1, true]);
  assert.match(error.message, /^cannot connect to .*; an earlier attempt of this call may have taken effect: read/);
  assert.ok(error.cause instanceof ConnectError);
});

test("an edit that took effect is told as one in a session that never was", async () => {
  await using server = await startServer();
  await using forgetful = await startServer({ root: server.directory });
  await using proxy = await startProxy(server.address);
  await using client = Toolfs.connect(proxy.address, OPTIONS);
  const session = await client.openSession();
  await session.write({ file_path: "a.txt", content: "one\n" });
  proxy.hold();
  const edit = failureOf(session.edit({ file_path: "a.txt", old_string: "one", new_string: "two" }));
  await until("the edit is on disk", () => readFileSync(join(server.directory, "a.txt"), "utf8") === "two\n");
  proxy.redirect(forgetful.address);
  proxy.cut();
  const error = await edit;
  assert.ok(error instanceof CallError, `${error}`);
  assert.deepEqual([error.reason, error.attempts, error.maybePublished], ["SESSION_NOT_FOUND", 2, true]);
  assert.match(error.message, /; an earlier attempt of this call may have taken effect: read/);
});

test("an edit that may have taken effect cannot be repeated under its own id", async () => {
  await using server = await startServer();
  await using proxy = await startProxy(server.address);
  await using client = Toolfs.connect(proxy.address, { retry: false });
  const session = await client.openSession();
  await session.write({ file_path: "a.txt", content: "x\n" });
  proxy.hold();
  const edit = { file_path: "a.txt", old_string: "x", new_string: "xx" };
  const failing = failureOf(session.edit(edit));
  const path = join(server.directory, "a.txt");
  await until("the edit is on disk", () => readFileSync(path, "utf8") === "xx\n");
  proxy.cut();
  const error = await failing;
  assert.ok(error instanceof CallError && error.maybePublished && !error.retryable, `${error}`);
  await session.edit(edit, { requestId: error.requestId });
  assert.equal(readFileSync(path, "utf8"), "xx\n");
});

test("a read whose answers were lost is told as one that was never sent", async () => {
  await using server = await startServer();
  await using proxy = await startProxy(server.address);
  await using client = Toolfs.connect(proxy.address, OPTIONS);
  const session = await client.openSession();
  proxy.hold();
  const read = failureOf(session.read({ file_path: "a.txt" }));
  await until("the read was sent", () => proxy.held() > 0);
  proxy.vanish();
  const error = await read;
  assert.ok(error instanceof CallError, `${error}`);
  assert.deepEqual([error.status, error.attempts, error.maybePublished], ["UNAVAILABLE", 1, false]);
  assert.doesNotMatch(error.message, /earlier/);
});

test("a call of which nothing was sent is told as one that may have been", async () => {
  await using nowhere = Toolfs.connect("unix:/nowhere/toolfs.sock", { retry: { attempts: 2, baseMs: 1 } });
  assert.ok((await failureOf(nowhere.openSession())) instanceof ConnectError);
  await using server = await serveScript({ execute: () => DONE });
  await using client = Toolfs.connect(server.address, { maxMessageBytes: 1 << 20 });
  const session = await client.openSession();
  const content = "x".repeat(1 << 20);
  for (const call of [
    session.write({ file_path: "a", content }),
    session.write({ file_path: "a", content: "" }, { signal: AbortSignal.abort() }),
    session.write({ file_path: "a", content: "" }, { deadlineMs: 0 }),
  ]) {
    const error = await failureOf(call);
    assert.ok(error instanceof CallError, `${error}`);
    assert.deepEqual([error.attempts, error.maybePublished], [0, false], String(error));
  }
  assert.equal(server.requests.length, 0);
});

interface Case {
  /** What the attempts bring, in turn. */
  attempts: (() => RpcError | Promise<never>)[];
  call?: (session: Session) => Promise<unknown>;
  /** Whether the server remembers results. */
  remembers?: boolean;
  told: [status: string, attempts: number, maybePublished: boolean];
}

const write = (session: Session) => session.write({ file_path: "a", content: "" });
const lost = () => unavailable();
const refused = (code: Code, reason?: string) => () => {
  const error = new RpcError("no", code);
  if (reason !== undefined) error.details = [errorInfo(reason)];
  return error;
};
const failed = (published: Published) => () => {
  const error = new RpcError("no", Code.Unavailable);
  const raw = create(FsErrorSchema, {
    code: FsErrorCode.FS_UNAVAILABLE,
    reason: "FS_UNAVAILABLE",
    retryable: true,
    published,
  });
  error.details = [{ type: "toolfs.v1.FsError", value: toBinary(FsErrorSchema, raw) }];
  return error;
};

const CASES: Record<string, Case> = {
  "one attempt that was lost": { attempts: [lost], told: ["UNAVAILABLE", 1, true] },
  "a server that stops": {
    attempts: [refused(Code.Unavailable, "SHUTTING_DOWN")],
    told: ["UNAVAILABLE", 1, true],
  },
  "a mistake of the server": { attempts: [refused(Code.Internal, "INTERNAL")], told: ["INTERNAL", 1, true] },
  "a status of something on the way": { attempts: [refused(Code.Unknown)], told: ["UNKNOWN", 1, true] },
  "a deadline that the server tells": {
    attempts: [refused(Code.DeadlineExceeded, "DEADLINE_EXCEEDED")],
    told: ["DEADLINE_EXCEEDED", 1, true],
  },
  "a server that says nothing": {
    attempts: [() => new Promise<never>(() => {})],
    call: (session) => session.write({ file_path: "a", content: "" }, { deadlineMs: 100 }),
    told: ["DEADLINE_EXCEEDED", 1, true],
  },
  "a failure that may have changed something": {
    attempts: [failed(Published.MAYBE)],
    told: ["UNAVAILABLE", 1, true],
  },
  "a failure that changed nothing": { attempts: [failed(Published.NO)], told: ["UNAVAILABLE", 1, false] },
  "a server with too much to do": {
    attempts: [refused(Code.Unavailable, "OVERLOADED")],
    told: ["UNAVAILABLE", 1, false],
  },
  "a refusal by the server": {
    attempts: [refused(Code.ResourceExhausted, "QUOTA_EXCEEDED")],
    told: ["RESOURCE_EXHAUSTED", 1, false],
  },
  "a refusal by something on the way": {
    attempts: [refused(Code.PermissionDenied)],
    told: ["PERMISSION_DENIED", 1, false],
  },
  "a reason that is the name of something else": {
    attempts: [refused(Code.Unavailable, "toString")],
    told: ["UNAVAILABLE", 1, true],
  },
  "a refusal after an attempt that was lost": {
    attempts: [lost, refused(Code.Unauthenticated, "UNAUTHENTICATED")],
    remembers: true,
    told: ["UNAUTHENTICATED", 2, true],
  },
  "an attempt that was lost between two refusals": {
    attempts: [refused(Code.Unavailable, "OVERLOADED"), lost, refused(Code.NotFound, "SESSION_NOT_FOUND")],
    remembers: true,
    told: ["NOT_FOUND", 3, true],
  },
  "refusals only": {
    attempts: [refused(Code.Unavailable, "OVERLOADED"), refused(Code.NotFound, "SESSION_NOT_FOUND")],
    remembers: true,
    told: ["NOT_FOUND", 2, false],
  },
  "a read": {
    attempts: [lost, lost, lost, lost],
    call: (session) => session.read({ file_path: "a" }),
    told: ["UNAVAILABLE", 4, false],
  },
  "a dry run": {
    attempts: [lost, lost, lost, lost],
    call: (session) => session.write({ file_path: "a", content: "" }, { dryRun: true }),
    told: ["UNAVAILABLE", 4, false],
  },
};

for (const [name, { attempts, call = write, remembers = false, told }] of Object.entries(CASES)) {
  test(`a failed call says ${told[2] ? "nothing of an effect that may be there" : "that it may have one"}: ${name}`, async () => {
    const left = [...attempts];
    const execute: Script["execute"] = async () => {
      throw await left.shift()?.();
    };
    await using server = await serveScript({ execute, ...(remembers && { rememberedSeconds: 60 }) });
    await using client = Toolfs.connect(server.address, OPTIONS);
    const error = await failureOf(call(await client.openSession()));
    assert.ok(error instanceof CallError, `${error}`);
    assert.deepEqual([error.status, error.attempts, error.maybePublished], told);
    assert.equal(/earlier attempt/.test(error.message), told[2] && told[1] > 1, error.message);
    assert.equal(error.retryable, error.status === "UNAVAILABLE" && !error.maybePublished);
    assert.deepEqual(new Set(server.requests.map((request) => request.requestId)), new Set([error.requestId]));
    assert.equal(server.requests.length, attempts.length);
  });
}

for (const [name, stop, told] of [
  ["the client is closed", (client: Toolfs) => client.close(), /^the client was closed while the call was on its way$/],
  ["its token cannot be had", () => "no token", /vault is shut; an earlier attempt of this call may/],
] as const) {
  test(`a lost attempt is forgotten when ${name} before the next`, async () => {
    let lose = true;
    let broken = false;
    let client: Toolfs | undefined;
    const execute: Script["execute"] = async () => {
      if (!lose) return DONE;
      lose = false;
      if (knows) broken = (await stop(client as Toolfs)) === "no token";
      throw unavailable();
    };
    let knows = false;
    await using server = await serveScript({ execute, rememberedSeconds: 60 });
    // It holds the connection, which is shared.
    await using _ = Toolfs.connect(server.address);
    client = Toolfs.connect(server.address, {
      ...OPTIONS,
      token: () => {
        if (broken) throw new Error("the vault is shut");
        return "t";
      },
    });
    const session = await client.openSession();
    await write(session);
    knows = true;
    lose = true;
    const error = await failureOf(write(session));
    await client.close();
    assert.ok(error instanceof CallError, `${error}`);
    assert.deepEqual([error.attempts, error.maybePublished, error.retryable], [1, true, false]);
    assert.match(error.message, told);
  });
}
