/**
 * When to try again: pure decisions, and the loop that follows them.
 *
 * Deliberately absent: which calls may be sent again. Whoever starts the loop says so.
 */
import { CallError, ToolfsError } from "./error.js";

/** How often and how fast to try again. */
export interface RetryPolicy {
  /** How many tries a call has at most, the first one included. */
  attempts: number;
  /** The longest wait before the second try, in milliseconds. */
  baseMs: number;
  /** By what the longest wait grows with each try. */
  factor: number;
  /** What the longest wait never exceeds, in milliseconds. */
  capMs: number;
}

/** 4 tries, up to 50 ms before the second, doubled each time, never more than 2 s. */
export const DEFAULT_RETRY: RetryPolicy = { attempts: 4, baseMs: 50, factor: 2, capMs: 2_000 };

/** What bounds the retries of one client as a whole: a server in trouble is not helped by more calls. */
export class RetryBudget {
  static readonly #FULL = 10;
  static readonly #GAIN = 0.1;
  #tokens = RetryBudget.#FULL;

  /** Takes what a retry costs, if it is there. */
  spend(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  /** Gives back a part for a call that succeeded. */
  succeeded(): void {
    this.#tokens = Math.min(RetryBudget.#FULL, this.#tokens + RetryBudget.#GAIN);
  }
}

/** Time and chance, so that tests have their own. */
export interface Timing {
  /** Milliseconds on a clock that only goes on. */
  now(): number;
  /** From 0 up to, but not including, 1. */
  random(): number;
  /** Waits so many milliseconds, or until the signal is aborted. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void>;
}

/** The clock and the chance of this process. */
export const SYSTEM_TIMING: Timing = {
  now: () => performance.now(),
  random: Math.random,
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal?.addEventListener("abort", end);
    }),
};

/**
 * How long to wait before the next try, in milliseconds: anything up to a limit that grows (full jitter), but never less
 * than what the server asked for.
 *
 * @param tries how many tries there were, at least 1
 */
export function backoffMs(policy: RetryPolicy, tries: number, random: number, askedMs = 0): number {
  const limit = Math.min(policy.capMs, policy.baseMs * policy.factor ** (tries - 1));
  return Math.max(askedMs, random * limit);
}

/** A call that may be tried several times. */
export interface Trial<T> {
  /** Makes a try that ends within so many milliseconds. */
  send(timeoutMs: number): Promise<T>;
  /** Whether an answer says that the same call may succeed later. */
  isTransient(value: T): boolean;
  /** Whether the call may be sent again after this failure, or after a transient answer. */
  isRepeatable(failure: ToolfsError | undefined, remainingMs: number): boolean | Promise<boolean>;
}

/** What bounds the tries of a call. */
export interface Bounds {
  policy: RetryPolicy;
  budget: RetryBudget;
  timing: Timing;
  /** How long all tries together may take, in milliseconds. */
  deadlineMs: number;
  /** Ends the wait between tries. */
  signal?: AbortSignal | undefined;
}

/**
 * Tries until there is an answer that is not transient, or no reason or time is left to try again: then the last answer
 * or failure is the result.
 */
export async function retrying<T>(trial: Trial<T>, bounds: Bounds): Promise<T> {
  const { budget, timing, deadlineMs, signal } = bounds;
  const end = timing.now() + deadlineMs;
  let remainingMs = deadlineMs;
  for (let tries = 1; ; tries += 1) {
    const last = await attempt(trial, remainingMs);
    if (!("failure" in last) && !trial.isTransient(last.value)) {
      budget.succeeded();
      return last.value;
    }
    const failure = "failure" in last ? last.failure : undefined;
    const waitMs = await nextWaitMs(trial, bounds, tries, end, failure);
    if (waitMs !== undefined) {
      await timing.sleep(waitMs, signal);
      remainingMs = end - timing.now();
    }
    if (waitMs === undefined || remainingMs <= 0) {
      if ("failure" in last) throw last.failure;
      return last.value;
    }
  }
}

type Attempt<T> = { value: T } | { failure: unknown };

async function attempt<T>(trial: Trial<T>, timeoutMs: number): Promise<Attempt<T>> {
  try {
    return { value: await trial.send(timeoutMs) };
  } catch (failure) {
    return { failure };
  }
}

async function nextWaitMs<T>(
  trial: Trial<T>,
  { policy, budget, timing, signal }: Bounds,
  tries: number,
  end: number,
  failure: unknown,
): Promise<number | undefined> {
  if (tries >= policy.attempts || signal?.aborted) return undefined;
  if (failure !== undefined && !(failure instanceof ToolfsError)) return undefined;
  if (!(await trial.isRepeatable(failure, end - timing.now()))) return undefined;
  const askedMs = failure instanceof CallError ? failure.retryDelayMs : undefined;
  const waitMs = backoffMs(policy, tries, timing.random(), askedMs);
  if (timing.now() + waitMs >= end || !budget.spend()) return undefined;
  return waitMs;
}
