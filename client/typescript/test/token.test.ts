/** Bearer tokens that do not come, come late, or cannot be shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ArgumentError, CallError, type Token, Toolfs, ToolfsError } from "../src/index.js";
import { until } from "./support/condition.js";
import { answer, serveScript } from "./support/scripted.js";

const never = () => new Promise<string>(() => {});

/** A server that must not be asked for anything but to open a session. */
async function withClient(token: Token, body: (client: Toolfs) => Promise<void>): Promise<void> {
  await using server = await serveScript({ execute: () => answer() });
  await using client = Toolfs.connect(server.address, { token });
  await body(client);
  assert.equal(server.calls.get("getCapabilities"), undefined);
}

test("a token that never comes outlives the deadline", async () => {
  await withClient(never, async (client) => {
    const told = { status: "DEADLINE_EXCEEDED", attempts: 0, message: /before there was a `token`$/ };
    await assert.rejects(client.capabilities({ deadlineMs: 30 }), told);
  });
});

test("a token that never comes outlives the caller's signal", async () => {
  await withClient(never, async (client) => {
    const controller = new AbortController();
    const call = client.capabilities({ signal: controller.signal });
    controller.abort(new Error("enough"));
    await assert.rejects(call, { status: "CANCELLED", attempts: 0 });
    await assert.rejects(client.capabilities({ signal: AbortSignal.abort() }), { status: "CANCELLED", attempts: 0 });
  });
});

test("a watch whose token never comes cannot be ended", async () => {
  let isAsked = false;
  let token: () => string | Promise<string> = () => "t";
  await withClient(
    () => {
      isAsked = true;
      return token();
    },
    async (client) => {
      const session = await client.openSession();
      token = never;
      const asked = () => until("the token is asked for", () => isAsked);
      for (const end of ["signal", "return"] as const) {
        isAsked = false;
        const controller = new AbortController();
        const events = session.watch({ signal: controller.signal });
        const next = events.next();
        await asked();
        if (end === "return") await events.return();
        else controller.abort();
        if (end === "return") assert.deepEqual(await next, { value: undefined, done: true });
        else await assert.rejects(next, { status: "CANCELLED" });
      }
    },
  );
});

test("the time that a token took is given to the server once more", async () => {
  let timeoutMs: number | undefined;
  const execute = (_: unknown, context: { timeoutMs(): number | undefined }) => {
    timeoutMs = context.timeoutMs();
    return answer({ outcome: { case: "read", value: {} } });
  };
  await using server = await serveScript({ execute });
  const token = async () => {
    const began = performance.now();
    await until("some time is over", () => performance.now() - began > 100);
    return "t";
  };
  await using client = Toolfs.connect(server.address, { token });
  const session = await client.openSession();
  await session.read({ file_path: "a" }, { deadlineMs: 20_000 });
  assert.ok(timeoutMs !== undefined && timeoutMs <= 19_901, `${timeoutMs}`);
});

test("a failing token function is told as something else", async () => {
  const failures: Token[] = [
    () => {
      throw new Error("no such file");
    },
    () => Promise.reject(new Error("no such file")),
    () => Promise.reject("no such file"),
  ];
  for (const token of failures) {
    await withClient(token, async (client) => {
      await assert.rejects(client.capabilities(), (error: ToolfsError) => {
        assert.ok(error instanceof ToolfsError && !(error instanceof CallError));
        assert.match(error.message, /^the function `token` failed: .*no such file$/);
        return error.cause !== undefined && !error.retryable;
      });
    });
  }
});

for (const [name, token] of Object.entries({
  "with a newline within": "secret\nsecret",
  "with a newline at its end": "secret\n",
  "with spaces at its ends": " secret ",
  "with a NUL": "\0secret",
  "with letters beyond ASCII": "secretå",
  "of half a character": "secret\ud800",
  empty: "",
  "of one space": " ",
  "that is a number": 5 as unknown as string,
  "that is nothing": null as unknown as string,
  "that is a list": ["secret"] as unknown as string,
})) {
  test(`a token ${name} is sent, or told`, async () => {
    for (const given of [token, () => token, async () => token]) {
      // A string is looked at when it is shown, what is none when the client is made.
      const showing = withClient(given, async (client) => void (await client.capabilities()));
      await assert.rejects(showing, (error: Error) => {
        assert.ok(error instanceof ArgumentError && error.field === "token", `${error}`);
        assert.doesNotMatch(`${error} ${error.stack} ${error.cause}`, /secret/);
        return true;
      });
    }
  });
}
