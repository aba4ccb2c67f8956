/** Which calls are sent again, over real connections. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { Code, ConnectError as RpcError } from "@connectrpc/connect";
import { CallError, type CallOptions, ConnectError, type Session, ToolError, Toolfs } from "../src/index.js";
import { FsErrorCode, Published, SessionService } from "../src/v1.js";
import { until } from "./support/condition.js";
import { startProxy } from "./support/proxy.js";
import { answer, errorInfo, type Script, serveRoutes, serveScript, unavailable } from "./support/scripted.js";
import { startServer } from "./support/server.js";

const READ = { case: "read" as const, value: {} };
const WRITE = { case: "write" as const, value: {} };

/** Fails as often as said, then answers. */
function failing(times: number, error: () => RpcError = unavailable): Script["execute"] {
  let left = times;
  return (request) => {
    if (left > 0) {
      left -= 1;
      throw error();
    }
    return answer({ outcome: request.call.case === "read" ? READ : WRITE });
  };
}

async function withSession(script: Script, body: (session: Session, client: Toolfs) => Promise<void>) {
  await using server = await serveScript(script);
  await using client = Toolfs.connect(server.address, { retry: { baseMs: 1 } });
  const session = await client.openSession();
  await body(session, client);
  return server;
}

const writing = (session: Session, options?: CallOptions) => session.write({ file_path: "a", content: "" }, options);

test("a read is sent again until the server can, with the same request id", async () => {
  const server = await withSession({ execute: failing(3) }, async (session) => {
    await session.read({ file_path: "a" });
  });
  assert.equal(server.requests.length, 4);
  assert.equal(new Set(server.requests.map((request) => request.requestId)).size, 1);
  assert.match(server.requests[0]?.requestId ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
});

test("two calls have two request ids", async () => {
  const server = await withSession({ execute: failing(0) }, async (session) => {
    await session.read({ file_path: "a" });
    await session.read({ file_path: "a" });
  });
  assert.equal(new Set(server.requests.map((request) => request.requestId)).size, 2);
});

test("four tries are all", async () => {
  const server = await withSession({ execute: failing(9) }, async (session) => {
    await assert.rejects(session.read({ file_path: "a" }), { name: "CallError", status: "UNAVAILABLE" });
  });
  assert.equal(server.requests.length, 4);
});

test("a mutation in a session is sent again where results are remembered, which is asked once", async () => {
  const server = await withSession({ execute: failing(2), rememberedSeconds: 60 }, async (session) => {
    await writing(session);
  });
  assert.equal(server.requests.length, 3);
  assert.equal(new Set(server.requests.map((request) => request.requestId)).size, 1);
  assert.equal(server.calls.get("getCapabilities"), 1);
});

test("nobody asks what is remembered unless a retry is due", async () => {
  const server = await withSession({ execute: failing(0), rememberedSeconds: 60 }, async (session) => {
    await writing(session);
  });
  assert.equal(server.calls.get("getCapabilities"), undefined);
});

test("a mutation is not sent again where results are not remembered", async () => {
  for (const rememberedSeconds of [undefined, 0]) {
    const script = { execute: failing(1), ...(rememberedSeconds === undefined ? {} : { rememberedSeconds }) };
    const server = await withSession(script, async (session) => {
      await assert.rejects(writing(session), { status: "UNAVAILABLE" });
    });
    assert.equal(server.requests.length, 1);
  }
});

test("a dry run is sent again all the same", async () => {
  const server = await withSession({ execute: failing(1) }, async (session) => {
    await writing(session, { dryRun: true });
  });
  assert.equal(server.requests.length, 2);
});

test("a mutation without a session is not sent again, and a read is", async () => {
  const server = await withSession({ execute: failing(1), rememberedSeconds: 60 }, async (_, client) => {
    await assert.rejects(client.call("write", { file_path: "a", content: "" }), { status: "UNAVAILABLE" });
  });
  assert.equal(server.requests.length, 1);
  const reads = await withSession({ execute: failing(1), rememberedSeconds: 60 }, async (_, client) => {
    await client.call("read", { file_path: "a" });
  });
  assert.equal(reads.requests.length, 2);
});

test("a result that says to try later is tried later, unless something may have happened", async () => {
  const later = (published: Published) => {
    let first = true;
    return () => {
      const error = { code: FsErrorCode.FS_UNAVAILABLE, reason: "FS_UNAVAILABLE", retryable: true, published };
      const response = first ? answer({ error }) : answer({ outcome: READ });
      first = false;
      return response;
    };
  };
  const server = await withSession({ execute: later(Published.NO) }, async (session) => {
    await session.read({ file_path: "a" });
  });
  assert.equal(server.requests.length, 2);
  const maybe = await withSession({ execute: later(Published.MAYBE) }, async (session) => {
    await assert.rejects(session.read({ file_path: "a" }), { name: "ToolError", code: "FS_UNAVAILABLE" });
  });
  assert.equal(maybe.requests.length, 1);
});

test("other statuses are final", async () => {
  const error = () => {
    const status = new RpcError("too much", Code.ResourceExhausted);
    status.details = [errorInfo("QUOTA_EXCEEDED")];
    return status;
  };
  const server = await withSession({ execute: failing(1, error) }, async (session) => {
    const told = { status: "RESOURCE_EXHAUSTED", code: 8, reason: "QUOTA_EXCEEDED", message: "too much" };
    await assert.rejects(session.read({ file_path: "a" }), told);
  });
  assert.equal(server.requests.length, 1);
});

test("the server's wish to wait is respected", async () => {
  const began = performance.now();
  await withSession({ execute: failing(1, () => unavailable(300)) }, async (session) => {
    await session.read({ file_path: "a" });
  });
  assert.ok(performance.now() - began >= 295);
});

test("a wish to wait beyond the deadline ends the call at once, with its reason", async () => {
  const began = performance.now();
  const server = await withSession({ execute: failing(1, () => unavailable(30_000)) }, async (session) => {
    const options = { deadlineMs: 20_000 };
    await assert.rejects(session.read({ file_path: "a" }, options), (error: CallError) => {
      assert.equal(error.retryDelayMs, 30_000);
      return error.retryable;
    });
  });
  assert.ok(performance.now() - began < 10_000);
  assert.equal(server.requests.length, 1);
});

test("a spent budget ends the retries of a client", async () => {
  const server = await withSession({ execute: failing(99) }, async (session) => {
    for (let call = 0; call < 5; call += 1) {
      await assert.rejects(session.read({ file_path: "a" }), { status: "UNAVAILABLE" });
    }
  });
  // Five first tries, and ten retries from the budget.
  assert.equal(server.requests.length, 15);
});

test("the deadline ends a call whose server says nothing", async () => {
  const silence = new Promise<never>(() => {});
  await withSession({ execute: () => silence }, async (session) => {
    const told = { status: "DEADLINE_EXCEEDED", reason: "DEADLINE_EXCEEDED", retryable: false };
    await assert.rejects(session.read({ file_path: "a" }, { deadlineMs: 50 }), told);
  });
});

test("the time in which a server is asked what it remembers is given to the call once more", async () => {
  const timeouts: number[] = [];
  let began = 0;
  const script: Script = {
    rememberedSeconds: 60,
    async beforeCapabilities() {
      const asked = performance.now();
      await until("some time is over", () => performance.now() - asked > 200);
    },
    execute(_, context) {
      timeouts.push(context.timeoutMs() ?? 0);
      if (timeouts.length === 1) throw unavailable();
      return answer({ outcome: WRITE });
    },
  };
  await withSession(script, async (session) => {
    began = performance.now();
    await writing(session, { deadlineMs: 20_000 });
  });
  assert.ok(performance.now() - began > 200);
  assert.ok((timeouts[1] ?? 0) > 0 && (timeouts[1] ?? 0) <= 19_801, String(timeouts));
});

test("a server that never says what it remembers holds the call beyond its deadline", async () => {
  const script = { execute: failing(1), rememberedSeconds: 60, beforeCapabilities: () => new Promise<never>(() => {}) };
  await withSession(script, async (session) => {
    const told = { status: "UNAVAILABLE", attempts: 1, maybePublished: true };
    await assert.rejects(writing(session, { deadlineMs: 100 }), told);
  });
});

test("an aborted call ends at once, and the server hears of it", async () => {
  const [arrival, arrived] = signalled();
  const [leaving, left] = signalled();
  const execute: Script["execute"] = (_, context) => {
    arrived();
    return new Promise<never>((_, reject) => {
      context.signal.addEventListener("abort", () => {
        left();
        reject(context.signal.reason);
      });
    });
  };
  await withSession({ execute }, async (session) => {
    const controller = new AbortController();
    const call = session.read({ file_path: "a" }, { signal: controller.signal });
    await arrival;
    controller.abort(new Error("enough"));
    await assert.rejects(call, (error: CallError) => {
      assert.equal(error.status, "CANCELLED");
      assert.equal((error.cause as Error).message, "enough");
      return true;
    });
    await leaving;
  });
});

test("a client that is closed under a call takes that for a lost connection, and calls again", async () => {
  const [arrival, arrived] = signalled();
  const execute: Script["execute"] = () => {
    arrived();
    return new Promise<never>(() => {});
  };
  await using server = await serveScript({ execute, rememberedSeconds: 60 });
  const client = Toolfs.connect(server.address);
  const session = await client.openSession();
  const calls = [session.read({ file_path: "a" }), writing(session)];
  const told = { name: "CallError", status: "CANCELLED", message: /^the client was closed/, retryable: false };
  const refusals = calls.map((call) => assert.rejects(call, told));
  await arrival;
  await client.close();
  await Promise.all(refusals);
  await assert.rejects(session.read({ file_path: "a" }), /the client is closed/);
});

test("an abort before the call, or between two tries, ends it too", async () => {
  const server = await withSession({ execute: failing(1, () => unavailable(20_000)) }, async (session) => {
    await assert.rejects(session.read({ file_path: "a" }, { signal: AbortSignal.abort() }), { status: "CANCELLED" });
    const controller = new AbortController();
    const call = session.read({ file_path: "a" }, { signal: controller.signal });
    setTimeout(() => controller.abort(), 100);
    await assert.rejects(call, { status: "CANCELLED" });
  });
  assert.equal(server.requests.length, 1);
});

test("opening a session is not repeated once it was sent", async () => {
  let opened = 0;
  await using server = await serveRoutes((router) => {
    router.rpc(SessionService.method.openSession, () => {
      opened += 1;
      throw unavailable();
    });
  });
  await using client = Toolfs.connect(server.address);
  await assert.rejects(client.openSession(), { status: "UNAVAILABLE" });
  assert.equal(opened, 1);
});

test("a server that comes up late is reached by any call", async () => {
  await using server = await startServer();
  const { address } = server;
  await server.stop();
  await using client = Toolfs.connect(address, { retry: { attempts: 100, baseMs: 20, factor: 1 } });
  const opening = client.openSession();
  const again = startServer({ listen: address });
  const session = await opening;
  await session.close();
  await using _ = await again;
});

test("closing twice because of a lost answer is a success", async () => {
  let closed = 0;
  await using server = await serveRoutes((router) => {
    router.rpc(SessionService.method.openSession, () => ({ sessionId: "s", session: { name: "session-1" } }));
    router.rpc(SessionService.method.closeSession, () => {
      closed += 1;
      if (closed === 1) throw unavailable();
      const gone = new RpcError("no such session", Code.NotFound);
      gone.details = [errorInfo("SESSION_NOT_FOUND")];
      throw gone;
    });
  });
  await using client = Toolfs.connect(server.address);
  const session = await client.openSession();
  await session.close();
  assert.equal(closed, 2);
  await assert.rejects(session.close(), { reason: "SESSION_NOT_FOUND" });
});

test("an edit whose answer is lost takes effect once", async () => {
  await using server = await startServer();
  await using proxy = await startProxy(server.address);
  await using client = Toolfs.connect(proxy.address);
  await using session = await client.openSession();
  await session.write({ file_path: "a.txt", content: "one\n" });
  proxy.hold();
  // Twice done, this would add two lines.
  const edit = session.edit({ file_path: "a.txt", old_string: "one\n", new_string: "one\ntwo\n" }, { view: "full" });
  const path = join(server.directory, "a.txt");
  await until("the edit is on disk", () => readFileSync(path, "utf8") !== "one\n");
  proxy.cut();
  const { outcome } = await edit;
  assert.equal(outcome.replacements, 1);
  assert.equal(readFileSync(path, "utf8"), "one\ntwo\n");
  // The session knows the version that the first try made.
  await session.edit({ file_path: "a.txt", old_string: "two", new_string: "three" });
});

test("a connection that ends under a call is a lost connection, and not a cancellation", async () => {
  await using server = await startServer();
  await using proxy = await startProxy(server.address);
  await using client = Toolfs.connect(proxy.address, { retry: false });
  await using session = await client.openSession();
  await session.write({ file_path: "a.txt", content: "one\n" });
  proxy.hold();
  const write = session.write({ file_path: "a.txt", content: "two\n" });
  await until("the write is on disk", () => readFileSync(join(server.directory, "a.txt"), "utf8") === "two\n");
  proxy.cut();
  await assert.rejects(
    write,
    (error) => error instanceof CallError && error.status === "UNAVAILABLE" && error.maybePublished,
  );
});

test("a server that is not there is named", async () => {
  await using client = Toolfs.connect("unix:/nowhere/toolfs.sock", { retry: { attempts: 2, baseMs: 1 } });
  await assert.rejects(client.capabilities(), (error) => {
    assert.ok(error instanceof ConnectError);
    assert.match(error.message, /^cannot connect to `unix:\/nowhere\/toolfs.sock`: .*ENOENT/);
    return error.retryable;
  });
});

test("values and codes of a newer server survive", async () => {
  const error = { code: 99 as FsErrorCode, reason: "FS_NEWER", message: "new", published: 9 as Published };
  await withSession({ execute: () => answer({ error }) }, async (session) => {
    await assert.rejects(session.read({ file_path: "a" }), (thrown) => {
      assert.ok(thrown instanceof ToolError);
      assert.equal(thrown.code, "FS_NEWER");
      assert.equal(thrown.published, 9);
      return true;
    });
  });
  const outcome = { case: "read" as const, value: { stopReason: 42, lineEndings: 43 } };
  await withSession({ execute: () => answer({ outcome }) }, async (session) => {
    const page = await session.read({ file_path: "a" });
    assert.equal(page.outcome.stopReason, 42);
    assert.equal(page.outcome.lineEndings, 43);
  });
  const reason = () => {
    const status = new RpcError("new", Code.FailedPrecondition);
    status.details = [errorInfo("NEWER_REASON")];
    return status;
  };
  await withSession({ execute: failing(1, reason) }, async (session) => {
    await assert.rejects(session.read({ file_path: "a" }), { reason: "NEWER_REASON", status: "FAILED_PRECONDITION" });
  });
});

test("a status of a code that gRPC does not have keeps its number", async () => {
  await withSession({ execute: failing(1, () => new RpcError("odd", 77 as Code)) }, async (session) => {
    await assert.rejects(session.read({ file_path: "a" }), { code: 77, status: "CODE_77" });
  });
});

test("reasons of others are not taken for ours", async () => {
  const foreign = () => {
    const status = new RpcError("who knows", Code.NotFound);
    status.details = [errorInfo("SESSION_NOT_FOUND", "googleapis.com")];
    return status;
  };
  await withSession({ execute: failing(1, foreign) }, async (session) => {
    await assert.rejects(session.read({ file_path: "a" }), { reason: "", status: "NOT_FOUND" });
  });
});

function signalled(): [promise: Promise<void>, resolve: () => void] {
  let resolve = () => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return [promise, resolve];
}
