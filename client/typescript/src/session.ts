/** A session: what an agent calls tools in. */
import "./dispose.js";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { allWellFormed, wellFormed } from "./argument.js";
import {
  type Call,
  type CallOptions,
  type EditArguments,
  editCall,
  executeRequest,
  isHarmless,
  jsonCall,
  type ReadArguments,
  readCall,
  type WriteArguments,
  writeCall,
} from "./call.js";
import type { Caller, RequestOptions } from "./caller.js";
import { CallReason } from "./code.js";
import { checkRequestOptions } from "./connect-option.js";
import { CallError } from "./error.js";
import { EventService, WatchRequestSchema, type WatchResponse } from "./gen/toolfs/v1/event_pb.js";
import {
  CloseSessionRequestSchema,
  type ForgetObservationsRequest,
  ForgetObservationsRequestSchema,
  type Session as SessionMessage,
  SessionService,
} from "./gen/toolfs/v1/session_pb.js";
import { type ExecuteResponse, ToolService } from "./gen/toolfs/v1/tool_pb.js";
import { AllPathsSchema, PathListSchema } from "./gen/toolfs/v1/types_pb.js";
import { leavable } from "./leavable.js";
import { check, JUDGED_ELSEWHERE, known, SIGNAL } from "./option.js";
import { type Plain, toPlain } from "./plain.js";
import { decode, type EditResult, ModelReply, type ReadResult, type WriteResult } from "./reply.js";

/** What a server tells of a session: name, cwd, roots, mode, labels, times. Without its secret. */
export type SessionInfo = Plain<SessionMessage>;

/** Something that happened in a session. `happening` is `{case, value}`; a `case` of `undefined` is of a newer server. */
export type SessionEvent = Plain<WatchResponse>;

interface WatchOptions {
  resumeToken?: string;
  signal?: AbortSignal;
}

const WATCH = known<WatchOptions>("an option of `watch`", "options", { resumeToken: JUDGED_ELSEWHERE, signal: SIGNAL });

/**
 * An open session. Calls in it may run at the same time.
 *
 * `await using` closes it at the end of the block, unless it was detached. Its id is a secret, and shows neither in
 * `console.log` nor in JSON.
 */
export class Session implements AsyncDisposable {
  /** What was public about the session when it was opened or resumed. */
  readonly info: SessionInfo;
  readonly #caller: Caller;
  readonly #id: string;
  #leftOpen = false;
  #closed = false;

  /** Use `client.openSession` or `client.resumeSession`. */
  constructor(caller: Caller, id: string, info: SessionMessage) {
    this.#caller = caller;
    this.#id = id;
    this.info = toPlain(info);
  }

  /** The secret handle. Whoever knows it may call in this session, also from another process. */
  get id(): string {
    return this.#id;
  }

  /** The public name: unique, never reused, no key to the session. */
  get name(): string {
    return this.info.name;
  }

  /**
   * Reads a window of a file. Success lets this session write and edit the file as it is now.
   *
   * @throws ToolError with `FS_NOT_FOUND`, `FS_NOT_REGULAR_FILE`, `FS_NOT_TEXT`, `FS_OUT_OF_RANGE` and others
   * @throws CallError when the call did not reach a tool
   */
  async read(args: ReadArguments, options: CallOptions = {}): Promise<ReadResult> {
    return decode(await execute(this.#caller, this.#use(), readCall(args), options), "read");
  }

  /**
   * Creates a file or replaces its content.
   *
   * @throws ToolError with `FS_NOT_OBSERVED`, `FS_STALE_VERSION` and others; nothing changed unless its `published` says
   *   otherwise
   * @throws CallError when the call did not reach a tool
   */
  async write(args: WriteArguments, options: CallOptions = {}): Promise<WriteResult> {
    return decode(await execute(this.#caller, this.#use(), writeCall(args), options), "write");
  }

  /**
   * Replaces text in a file.
   *
   * @throws ToolError with `FS_NOT_OBSERVED`, `FS_STALE_VERSION`, `FS_EDIT_NOT_FOUND`, `FS_AMBIGUOUS_EDIT` and others;
   *   nothing changed unless its `published` says otherwise
   * @throws CallError when the call did not reach a tool
   */
  async edit(args: EditArguments, options: CallOptions = {}): Promise<EditResult> {
    return decode(await execute(this.#caller, this.#use(), editCall(args), options), "edit");
  }

  /**
   * Runs a call exactly as a model produced it. What the tool refuses is content for the model, and is not thrown.
   *
   * @param name the tool's name as the model spelled it
   * @param args the arguments: an object, or JSON text, which is sent as it is
   * @throws CallError when the call did not reach a tool
   * @throws ArgumentError for what cannot be sent: half of a surrogate pair, an object that is no JSON
   */
  async call(name: string, args: object | string, options: CallOptions = {}): Promise<ModelReply> {
    return new ModelReply(await execute(this.#caller, this.#use(), jsonCall(name, args), options));
  }

  /**
   * Forgets what the session saw of these paths: it must read them again before it changes them. For hosts that drop
   * file contents from a model's context.
   *
   * @param paths a list, also for a single one
   * @throws CallError
   */
  async forget(paths: Iterable<string> & object, options: RequestOptions = {}): Promise<void> {
    const value = create(PathListSchema, { paths: allWellFormed(paths, "paths") });
    await this.#forget({ case: "paths", value }, options);
  }

  /**
   * Forgets everything that the session saw.
   *
   * @throws CallError
   */
  async forgetAll(options: RequestOptions = {}): Promise<void> {
    await this.#forget({ case: "all", value: create(AllPathsSchema) }, options);
  }

  /**
   * Follows what the calls of this session do, whoever makes them. The watch begins when its first event is asked for,
   * which is `watchBegan`; it ends with the session, when the loop over it is left, and by its `return`, also while a
   * `next` waits. It is no use of the session, which expires all the same.
   *
   * @param options `resumeToken` goes on after the event that it came with; without it, from now on
   * @throws CallError also when the server goes away: watch again with the last `resumeToken`
   */
  watch(options: WatchOptions = {}): AsyncGenerator<SessionEvent, void> {
    return leavable((leaving) => this.#events(options, leaving));
  }

  /** Keeps the session open at the end of an `await using` block: another process may go on with its id. */
  detach(): void {
    this.#leftOpen = true;
  }

  /**
   * Closes the session for good.
   *
   * @throws CallError also when it was closed before, or has expired
   */
  async close(options: RequestOptions = {}): Promise<void> {
    const key = { case: "sessionId" as const, value: this.#use() };
    const message = create(CloseSessionRequestSchema, { key });
    checkRequestOptions(options);
    try {
      await this.#caller.unary(SessionService.method.closeSession, message, "always", options);
    } catch (error) {
      // The answer to an earlier attempt was lost: that attempt closed it.
      if (!isGone(error) || error.attempts === 1) throw error;
    }
    this.#closed = true;
    this.#leftOpen = true;
  }

  /** What a text of it is; the id is not in it. */
  toString(): string {
    return `Session(${this.name})`;
  }

  /** Closes the session, unless it was closed, detached, or has ended already. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#leftOpen) return;
    try {
      await this.close();
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  /**
   * The id for a message. Of a session that was closed here, the server could say only that there is none.
   *
   * @throws CallError
   */
  #use(): string {
    if (!this.#closed) return this.#id;
    throw new CallError({
      code: Code.NotFound,
      status: "NOT_FOUND",
      reason: CallReason.SESSION_NOT_FOUND,
      message: `the session \`${this.name}\` was closed by this program: open another one`,
    });
  }

  async *#events(options: WatchOptions, leaving: AbortSignal): AsyncGenerator<SessionEvent, void> {
    check(options, WATCH);
    const scope = { case: "sessionId" as const, value: this.#use() };
    const resumeToken = wellFormed(options.resumeToken, "resumeToken") ?? "";
    const message = create(WatchRequestSchema, { scope, resumeToken });
    for await (const event of this.#caller.stream(EventService.method.watch, message, options.signal, leaving)) {
      yield toPlain(event);
    }
  }

  async #forget(scope: ForgetObservationsRequest["scope"], options: RequestOptions): Promise<void> {
    const key = { case: "sessionId" as const, value: this.#use() };
    const message = create(ForgetObservationsRequestSchema, { key });
    checkRequestOptions(options);
    message.scope = scope;
    await this.#caller.unary(SessionService.method.forgetObservations, message, "always", options);
  }
}

/** Runs a tool call, in a session or, with an empty id, in none. */
export function execute(caller: Caller, sessionId: string, call: Call, options: CallOptions): Promise<ExecuteResponse> {
  const request = executeRequest(sessionId, call, options);
  const repeat = isHarmless(request) ? "always" : sessionId === "" ? "unsent" : "remembered";
  return caller.unary(ToolService.method.execute, request, repeat, options);
}

function isGone(error: unknown): error is CallError {
  return error instanceof CallError && error.reason === CallReason.SESSION_NOT_FOUND;
}
