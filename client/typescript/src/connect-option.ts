/** The options of a client and of its requests, as they are checked before anything is done with them. */
import type { ConnectOptions, RequestOptions } from "./caller.js";
import { ArgumentError } from "./error.js";
import type { LocalOptions } from "./local.js";
import { check, JUDGED_ELSEWHERE, type Kind, known, LIST, NUMBER, OBJECT, SIGNAL, TEXT } from "./option.js";
import type { RetryPolicy } from "./retry.js";
import type { Tls } from "./transport.js";

/** The kinds of what goes with any request. */
export const REQUEST_KINDS = { deadlineMs: NUMBER, signal: SIGNAL } as const;

const REQUEST = known<RequestOptions>("an option of this request", "options", REQUEST_KINDS);

const PEM: Kind = {
  mustBe: "PEM, as a text or a `Buffer`",
  holds: (value) => typeof value === "string" || value instanceof Uint8Array,
};

const TOKEN: Kind = {
  mustBe: "a text, or a function that gives one",
  holds: (value) => typeof value === "string" || typeof value === "function",
};

const RETRY: Kind = {
  mustBe: "`false`, or an object as `{ attempts: 6 }`",
  holds: (value) => value === false || OBJECT.holds(value),
};

const TLS_OPTION: Kind = { mustBe: "an object: `{}` trusts what Node.js trusts", holds: OBJECT.holds };

/** The options that a client of any server has. */
const SHARED_KINDS = {
  connectTimeoutMs: NUMBER,
  keepaliveMs: NUMBER,
  keepaliveTimeoutMs: NUMBER,
  maxMessageBytes: NUMBER,
  deadlineMs: NUMBER,
  retry: RETRY,
} as const;

const CONNECT = known<ConnectOptions>("an option of `connect`", "options", {
  ...SHARED_KINDS,
  tls: TLS_OPTION,
  token: TOKEN,
});

const LOCAL = known<LocalOptions>("an option of `local`", "options", {
  ...SHARED_KINDS,
  root: JUDGED_ELSEWHERE,
  binary: TEXT,
  policy: TEXT,
  state: TEXT,
  args: LIST,
  startTimeoutMs: NUMBER,
});

const TLS = known<Tls>("an option of `tls`", "tls", { ca: PEM, cert: PEM, key: PEM, serverName: TEXT });

const RETRY_POLICY = known<RetryPolicy>("an option of `retry`", "retry", {
  attempts: NUMBER,
  baseMs: NUMBER,
  factor: NUMBER,
  capMs: NUMBER,
});

/**
 * Checks what `connect` is given.
 *
 * @throws ArgumentError
 */
export function checkConnectOptions(options: ConnectOptions): void {
  check(options, CONNECT);
  if (options.tls !== undefined) check(options.tls, TLS, "tls.");
  checkRetry(options.retry);
}

/**
 * Checks what `local` is given.
 *
 * @throws ArgumentError
 */
export function checkLocalOptions(options: LocalOptions): void {
  check(options, LOCAL);
  checkRetry(options.retry);
}

/**
 * Checks what goes with a request that is no tool's.
 *
 * @throws ArgumentError
 */
export function checkRequestOptions(options: RequestOptions): void {
  check(options, REQUEST);
}

function checkRetry(retry: ConnectOptions["retry"]): void {
  if (retry === undefined || retry === false) return;
  check(retry, RETRY_POLICY, "retry.");
  // It would take the place of the default, and no number of tries would ever be enough.
  for (const [key, value] of Object.entries(retry)) {
    if (value === undefined) throw new ArgumentError(`retry.${key}`, "must be a number: leave it out for the default");
  }
}
