/** How a call is made: token, deadline and retries around the transport. */
import type { DescMessage, DescMethodServerStreaming, DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import { create } from "@bufbuild/protobuf";
import { Attempts } from "./attempts.js";
import { CallError, ConnectError, ToolfsError } from "./error.js";
import {
  type ExecuteRequest,
  type ExecuteResponse,
  GetCapabilitiesRequestSchema,
  ToolService,
} from "./gen/toolfs/v1/tool_pb.js";
import { Published } from "./gen/toolfs/v1/types_pb.js";
import { DEFAULT_RETRY, RetryBudget, type RetryPolicy, retrying, SYSTEM_TIMING, type Timing } from "./retry.js";
import { cancelled, clientClosed, outOfTime, toToolfsError } from "./status.js";
import { authorization, type Token } from "./token.js";
import { acquireTransport, refuseExposedToken, type SharedTransport, type TransportOptions } from "./transport.js";

/** How to connect, and what holds for every call. */
export interface ConnectOptions extends TransportOptions {
  /** Sent as `authorization: Bearer …`. Refused where it would travel unencrypted beyond this machine. */
  token?: Token | undefined;
  /** How long a call may take, with all its tries, that names no deadline of its own, in milliseconds. Default 60,000. */
  deadlineMs?: number | undefined;
  /** How often and how fast to try again; `false` never does. */
  retry?: Partial<RetryPolicy> | false | undefined;
}

/** What goes with a call that is no tool's. */
export interface RequestOptions {
  /** How long to wait at most, with all tries, in milliseconds; the client's `deadlineMs` otherwise. */
  deadlineMs?: number | undefined;
  /** Gives the call up when it is aborted. */
  signal?: AbortSignal | undefined;
}

/**
 * When a call may be sent again: always; where the server remembers its result under its `request_id`; or only when it
 * was not sent at all.
 */
export type Repeat = "always" | "remembered" | "unsent";

/** What gRPC can say: eight digits. */
const MAX_TIMEOUT_MS = 99_999_999;

/** Makes calls on a shared transport. */
export class Caller {
  readonly #shared: SharedTransport;
  readonly #token: Token | undefined;
  readonly #deadlineMs: number;
  readonly #policy: RetryPolicy;
  readonly #timing: Timing;
  readonly #budget = new RetryBudget();
  #remembers: boolean | undefined;
  #closed = false;

  /** @throws ArgumentError for an address that is none, or that a token must not be sent to */
  constructor(address: string, options: ConnectOptions, timing: Timing = SYSTEM_TIMING) {
    this.#shared = acquireTransport(address, options);
    this.#token = options.token;
    this.#deadlineMs = options.deadlineMs ?? 60_000;
    this.#policy = options.retry === false ? { ...DEFAULT_RETRY, attempts: 1 } : { ...DEFAULT_RETRY, ...options.retry };
    this.#timing = timing;
    if (this.#token === undefined) return;
    try {
      refuseExposedToken(this.#shared);
    } catch (error) {
      this.#shared.release();
      throw error;
    }
  }

  /** Where calls go. */
  get address(): string {
    return this.#shared.address.text;
  }

  /** Gives the connection back. Calls in flight end when this was its last user. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#shared.release();
  }

  /**
   * Makes a call with one answer.
   *
   * @throws ToolfsError
   */
  async unary<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    message: MessageShape<I>,
    repeat: Repeat,
    options: RequestOptions = {},
  ): Promise<MessageShape<O>> {
    const { signal } = options;
    const requestId = isExecute(method) ? (message as ExecuteRequest).requestId : "";
    const attempts = new Attempts(repeat !== "always", requestId);
    const trial = {
      send: (timeoutMs: number) => this.#send(method, message, timeoutMs, signal, attempts),
      isTransient: isExecute(method) ? isTransientAnswer : never,
      isRepeatable: (failure: ToolfsError | undefined, remainingMs: number) =>
        this.#isRepeatable(repeat, failure, remainingMs, signal),
    };
    const { deadlineMs = this.#deadlineMs } = options;
    const bounds = { policy: this.#policy, budget: this.#budget, timing: this.#timing, deadlineMs, signal };
    try {
      return await retrying<MessageShape<O>>(trial, bounds);
    } catch (error) {
      throw error instanceof ToolfsError ? attempts.conclude(error) : error;
    }
  }

  /**
   * Makes a call whose answers go on, without a deadline and without retries. Whoever stops reading ends it.
   *
   * @param leaving ends it as well, without an error
   * @throws ToolfsError
   */
  async *stream<I extends DescMessage, O extends DescMessage>(
    method: DescMethodServerStreaming<I, O>,
    message: MessageShape<I>,
    signal: AbortSignal | undefined,
    leaving: AbortSignal,
  ): AsyncGenerator<MessageShape<O>, void, undefined> {
    const attempts = new Attempts(false);
    const controller = new AbortController();
    const abort = () => controller.abort(signal?.reason);
    if (signal?.aborted || leaving.aborted) abort();
    for (const each of [signal, leaving]) each?.addEventListener("abort", abort);
    try {
      this.#refuseClosed();
      const header = await this.#header(undefined, controller.signal);
      const input = (async function* () {
        yield message;
      })();
      attempts.handOver();
      const response = await this.#shared.transport.stream(method, controller.signal, 0, header, input);
      yield* response.message;
    } catch (error) {
      if (leaving.aborted) return;
      const failure = this.#failure(error, signal);
      attempts.failed(failure);
      throw attempts.conclude(failure);
    } finally {
      for (const each of [signal, leaving]) each?.removeEventListener("abort", abort);
      controller.abort();
    }
  }

  async #send<I extends DescMessage, O extends DescMessage>(
    method: DescMethodUnary<I, O>,
    message: MessageShape<I>,
    timeoutMs: number,
    signal: AbortSignal | undefined,
    attempts: Attempts,
  ): Promise<MessageShape<O>> {
    attempts.begin();
    try {
      this.#refuseClosed();
      const end = this.#timing.now() + timeoutMs;
      const header = await this.#header(limit(timeoutMs), signal);
      if (signal?.aborted) throw cancelled(signal);
      const limitMs = limit(end - this.#timing.now());
      attempts.handOver();
      const response = await this.#shared.transport.unary(method, signal, limitMs, header, message as never);
      attempts.answered();
      return response.message;
    } catch (error) {
      const failure = this.#failure(error, signal);
      attempts.failed(failure);
      throw failure;
    }
  }

  /** What became of a call. A connection that this client itself gave up is no lost one, and no reason to try again. */
  #failure(error: unknown, signal: AbortSignal | undefined): ToolfsError {
    const failure = toToolfsError(error, { shared: this.#shared, signal });
    const isLost = failure instanceof CallError && failure.status === "UNAVAILABLE" && failure.reason === "";
    return this.#closed && isLost ? clientClosed(failure) : failure;
  }

  #refuseClosed(): void {
    if (this.#closed) throw new ToolfsError("the client is closed: connect again");
  }

  async #header(timeoutMs: number | undefined, signal: AbortSignal | undefined) {
    return this.#token === undefined ? undefined : await authorization(this.#token, timeoutMs, signal);
  }

  #isRepeatable(
    repeat: Repeat,
    failure: ToolfsError | undefined,
    remainingMs: number,
    signal: AbortSignal | undefined,
  ): boolean | Promise<boolean> {
    if (failure instanceof ConnectError) return true;
    const isWorthIt = failure === undefined || (failure instanceof CallError && failure.status === "UNAVAILABLE");
    if (!isWorthIt || repeat === "unsent") return false;
    return repeat === "always" || this.#serverRemembers(remainingMs, signal);
  }

  /** Whether the server announces that it remembers results. Asked once, when the first retry is due. */
  async #serverRemembers(remainingMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    if (this.#remembers !== undefined) return this.#remembers;
    try {
      const message = create(GetCapabilitiesRequestSchema);
      const { getCapabilities } = ToolService.method;
      const { requestIdWindow } = await this.#send(getCapabilities, message, remainingMs, signal, new Attempts(false));
      this.#remembers = requestIdWindow !== undefined && (requestIdWindow.seconds > 0n || requestIdWindow.nanos > 0);
      return this.#remembers;
    } catch {
      // Unknown is no: the caller gets the failure that it is about.
      return false;
    }
  }
}

/** What is left, as the transport takes it: whole milliseconds, of which it reads 0 as no limit. */
function limit(remainingMs: number): number {
  if (!(remainingMs > 0)) throw outOfTime();
  return Math.min(Math.ceil(remainingMs), MAX_TIMEOUT_MS);
}

function isExecute(method: object): boolean {
  return method === ToolService.method.execute;
}

function never(): boolean {
  return false;
}

/** Whether a tool says that nothing happened and that the same call may succeed later. */
function isTransientAnswer(message: object): boolean {
  const { error } = message as ExecuteResponse;
  return error !== undefined && error.retryable === true && error.published === Published.NO;
}
