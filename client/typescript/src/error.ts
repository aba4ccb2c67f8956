/**
 * One family of errors, whose codes survive a server that is newer than this client.
 *
 * Everything that this package throws about a call derives from `ToolfsError`.
 */
import type { CallReason, FsErrorCode, StatusName } from "./code.js";
import { type ContentBlock, textOf } from "./content.js";
import { type FsError, FsErrorCode as FsErrorNumber } from "./gen/toolfs/v1/error_pb.js";
import type { Published } from "./gen/toolfs/v1/types_pb.js";
import { type Plain, toPlain } from "./plain.js";
import type { Outcome } from "./reply.js";

/** The base of all errors of this package. On its own: a call of a client that is closed, or whose token cannot be had. */
export class ToolfsError extends Error {
  override name = "ToolfsError";

  /** Whether the same call, with nothing done in between by its caller, may succeed. */
  get retryable(): boolean {
    return false;
  }
}

/** The facts of an error for programs: `{case, value}`, one arm per code that has any. */
export type ErrorDetail = Exclude<Plain<FsError>["detail"], { case: undefined }>;

/** A refusal or failure of a tool: what a model reads as an error. `message` says what is wrong. */
export class ToolError extends ToolfsError {
  override name = "ToolError";
  /** The code. */
  readonly code: FsErrorCode;
  /** The path as it was asked for; empty when the error is about none. */
  readonly path: string;
  /** What to do next; empty where the server says nothing. */
  readonly remedy: string;
  /** Whether the effect of the call is there. */
  readonly published: Published;
  /** Where displaced content was kept; empty when none had to be. */
  readonly rescuePath: string;
  readonly #raw: FsError;
  readonly #content: ContentBlock[];
  readonly #outcome: (() => Outcome | undefined) | undefined;

  /** Reads an error of the contract, with the content and the outcome that came with it. */
  constructor(raw: FsError, content: ContentBlock[] = [], outcome?: () => Outcome | undefined) {
    super(raw.message);
    this.code = raw.reason || (FsErrorNumber[raw.code] ?? "FS_UNSPECIFIED");
    this.path = raw.path;
    this.remedy = raw.remedy;
    this.published = raw.published;
    this.rescuePath = raw.rescuePath;
    this.#raw = raw;
    this.#content = content;
    this.#outcome = outcome;
  }

  /** The code as the server spells it. */
  get reason(): string {
    return this.code;
  }

  override get retryable(): boolean {
    return this.#raw.retryable ?? false;
  }

  /** The facts for programs; `undefined` where the code has none, or none is known. */
  get detail(): ErrorDetail | undefined {
    const { detail } = this.#raw;
    return detail.case === undefined ? undefined : (toPlain(detail) as ErrorDetail);
  }

  /** What the model would read. Empty for an error that came with a status. */
  get content(): readonly ContentBlock[] {
    return this.#content;
  }

  /** What the model would read, as one text. */
  get text(): string {
    return textOf(this.#content);
  }

  /** What was published, in the one case that an effect is there and could not be made durable. */
  get outcome(): Outcome | undefined {
    return this.#outcome?.();
  }

  /** The message of the contract. */
  get raw(): FsError {
    return this.#raw;
  }

  override toString(): string {
    const remedy = this.remedy === "" ? "" : ` (${this.remedy})`;
    return `${this.name}: ${this.code}: ${this.message}${remedy}`;
  }
}

/** What a gRPC status tells. */
export interface CallStatus {
  /** gRPC's number of the status. */
  code: number;
  /** Its name: `NOT_FOUND`. */
  status: StatusName;
  /** Why, as the server told it; empty where nothing of toolfs told it: the transport, or something on the way. */
  reason: CallReason;
  /** What is wrong. */
  message: string;
  /** The `FsError` among the details, if there is one. */
  fsError?: ToolError | undefined;
  /** How long the server asks to wait before the next try, in milliseconds. */
  retryDelayMs?: number | undefined;
  /** How many attempts of the call were, or may have been, sent. Default 0. */
  attempts?: number | undefined;
  /** Whether the effect of the call may be there. Default false. */
  maybePublished?: boolean | undefined;
  /** The id under which the attempts were sent. Default empty. */
  requestId?: string | undefined;
  /** The error below. */
  cause?: unknown;
}

/** A call that ended in a gRPC status instead of a result. */
export class CallError extends ToolfsError {
  override name = "CallError";
  /** gRPC's number of the status, also where gRPC does not know it. */
  readonly code: number;
  /** The name of the status: `NOT_FOUND`. */
  readonly status: StatusName;
  /** Why: `SESSION_NOT_FOUND`, …; empty where the transport, or something on the way, ended the call. */
  readonly reason: CallReason;
  /** The `FsError` that the status carries: about a `cwd` that does not exist, for instance. */
  readonly fsError: ToolError | undefined;
  /** How long the server asks to wait before the next try, in milliseconds. */
  readonly retryDelayMs: number | undefined;
  /** How many attempts of the call were, or may have been, sent. */
  readonly attempts: number;
  /**
   * Whether the effect of the call may be there although it failed: an attempt was, or may have been, sent, and nothing
   * that came back says that it did nothing. Then look before the call is made again, or make it again in the same
   * session with this `requestId`. Never for a call that may be repeated without harm, as a read or a dry run.
   */
  readonly maybePublished: boolean;
  /** The id under which the attempts of a tool call were sent; empty for other calls. */
  readonly requestId: string;

  constructor(told: CallStatus) {
    super(told.message, told.cause === undefined ? undefined : { cause: told.cause });
    this.code = told.code;
    this.status = told.status;
    this.reason = told.reason;
    this.fsError = told.fsError;
    this.retryDelayMs = told.retryDelayMs;
    this.attempts = told.attempts ?? 0;
    this.maybePublished = told.maybePublished ?? false;
    this.requestId = told.requestId ?? "";
  }

  /** Not where `maybePublished`: under another `requestId` the same call could take effect twice. */
  override get retryable(): boolean {
    if (this.maybePublished) return false;
    return this.fsError?.retryable ?? this.status === "UNAVAILABLE";
  }

  override toString(): string {
    return `${this.name}: ${this.status}${this.reason === "" ? "" : ` (${this.reason})`}: ${this.message}`;
  }
}

/** The server could not be reached: no attempt of the call was sent. */
export class ConnectError extends ToolfsError {
  override name = "ConnectError";
  /** The address as given. */
  readonly address: string;

  constructor(address: string, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.address = address;
  }

  /** Always: nothing was sent. */
  override get retryable(): boolean {
    return true;
  }
}

/** An argument that cannot be sent or used. No attempt of the call was sent. */
export class ArgumentError extends ToolfsError {
  override name = "ArgumentError";
  /** The argument's name. */
  readonly field: string;

  /** `message` goes on after the name of the field. */
  constructor(field: string, message: string, options: { cause?: unknown } = {}) {
    super(`\`${field}\` ${message}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.field = field;
  }
}

/** The server answered something that the contract does not allow. */
export class ProtocolError extends ToolfsError {
  override name = "ProtocolError";
}

/** The server of local mode is not there, or failed to start. */
export class LocalServerError extends ToolfsError {
  override name = "LocalServerError";
  /** What the server wrote to its standard error, the last 16 KiB of it; empty when it did not run. */
  readonly stderr: string;

  constructor(message: string, options: { cause?: unknown; stderr?: string } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.stderr = options.stderr ?? "";
  }
}
