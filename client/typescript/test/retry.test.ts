/** When to try again, with a clock and a chance of the test's own. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { CallError, type ToolfsError } from "../src/error.js";
import {
  backoffMs,
  DEFAULT_RETRY,
  RetryBudget,
  retrying,
  SYSTEM_TIMING,
  type Timing,
  type Trial,
} from "../src/retry.js";

function failure(retryDelayMs?: number): CallError {
  return new CallError({ code: 14, status: "UNAVAILABLE", reason: "", message: "gone", retryDelayMs });
}

/** A clock that moves by its sleeps and by what tries take. */
function fakeTiming(random: number): Timing & { slept: number[]; pass(ms: number): void } {
  let now = 0;
  const slept: number[] = [];
  return {
    slept,
    pass(ms) {
      now += ms;
    },
    now: () => now,
    random: () => random,
    async sleep(ms) {
      slept.push(ms);
      now += ms;
    },
  };
}

interface Case {
  /** What the tries bring, in turn; the last one for good. */
  tries: (ToolfsError | Error | string)[];
  random?: number;
  deadlineMs?: number;
  tryTakesMs?: number;
  repeatable?: boolean;
  budget?: RetryBudget;
}

async function run(given: Case): Promise<{ result: unknown; tries: number; slept: number[]; timeouts: number[] }> {
  const timing = fakeTiming(given.random ?? 0.5);
  const timeouts: number[] = [];
  const trial: Trial<string> = {
    async send(timeoutMs) {
      const next = given.tries[Math.min(timeouts.length, given.tries.length - 1)] as Error | string;
      timeouts.push(timeoutMs);
      timing.pass(given.tryTakesMs ?? 0);
      if (typeof next === "string") return next;
      throw next;
    },
    isTransient: (value) => value === "later",
    isRepeatable: () => given.repeatable ?? true,
  };
  const bounds = {
    policy: DEFAULT_RETRY,
    budget: given.budget ?? new RetryBudget(),
    timing,
    deadlineMs: given.deadlineMs ?? 60_000,
  };
  const result = await retrying(trial, bounds).catch((error: unknown) => error);
  return { result, tries: timeouts.length, slept: timing.slept, timeouts };
}

test("a call that succeeds at once waits for nothing", async () => {
  assert.deepEqual(await run({ tries: ["done"] }), { result: "done", tries: 1, slept: [], timeouts: [60_000] });
});

test("the wait grows by its factor, with jitter", async () => {
  const { result, slept } = await run({ tries: [failure(), failure(), failure(), "done"] });
  assert.equal(result, "done");
  assert.deepEqual(slept, [25, 50, 100]);
});

test("four tries are all there are, and the last failure is told", async () => {
  const last = failure();
  const { result, tries } = await run({ tries: [failure(), failure(), failure(), last] });
  assert.equal(result, last);
  assert.equal(tries, 4);
});

test("a transient answer is tried again, and in the end it is the answer", async () => {
  assert.equal((await run({ tries: ["later", "done"] })).result, "done");
  assert.deepEqual((await run({ tries: ["later"] })).result, "later");
});

test("what may not be sent again is not", async () => {
  const { tries } = await run({ tries: [failure(), "done"], repeatable: false });
  assert.equal(tries, 1);
});

test("an error of somebody else is passed on", async () => {
  const error = new TypeError("a bug");
  const { result, tries } = await run({ tries: [error, "done"] });
  assert.equal(result, error);
  assert.equal(tries, 1);
});

test("a wait that the deadline would not survive is not begun", async () => {
  const { result, tries, slept } = await run({ tries: [failure()], deadlineMs: 70, random: 1 - Number.EPSILON });
  assert.ok(result instanceof CallError);
  assert.equal(tries, 2);
  assert.equal(slept.length, 1);
});

test("each try gets what is left of the deadline", async () => {
  const { timeouts } = await run({ tries: [failure(), "done"], deadlineMs: 1_000, tryTakesMs: 100 });
  assert.deepEqual(timeouts, [1_000, 875]);
});

test("the server's wish is a lower bound", async () => {
  const { slept } = await run({ tries: [failure(700), failure(1), "done"] });
  assert.deepEqual(slept, [700, 50]);
});

test("a spent budget ends all retries, and successes fill it slowly", async () => {
  const budget = new RetryBudget();
  for (let taken = 0; taken < 10; taken += 1) assert.ok(budget.spend());
  assert.ok(!budget.spend());
  assert.equal((await run({ tries: [failure(), "done"], budget })).tries, 1);
  for (let call = 0; call < 11; call += 1) await run({ tries: ["done"], budget });
  assert.equal((await run({ tries: [failure(), "done"], budget })).tries, 2);
});

test("the wait is never above its cap", () => {
  assert.equal(backoffMs(DEFAULT_RETRY, 30, 1), 2_000);
  assert.equal(backoffMs(DEFAULT_RETRY, 1, 0), 0);
});

test("an abort ends the wait, also one that came before it", async () => {
  const began = performance.now();
  await SYSTEM_TIMING.sleep(60_000, AbortSignal.abort());
  const controller = new AbortController();
  const waiting = SYSTEM_TIMING.sleep(60_000, controller.signal);
  controller.abort();
  await waiting;
  assert.ok(performance.now() - began < 30_000);
});
