/** Errors of the transport as errors of this package. */
import { fromBinary } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError as RpcError } from "@connectrpc/connect";
import { CallReason, statusName } from "./code.js";
import { CallError, ConnectError, ToolError, ToolfsError } from "./error.js";
import { FsErrorSchema } from "./gen/toolfs/v1/error_pb.js";
import { NotSent, type SharedTransport } from "./transport.js";

/** The domain of this contract's reasons in `google.rpc.ErrorInfo`. */
const ERROR_DOMAIN = "toolfs";

/** What was known of a call that failed. */
export interface Failed {
  /** What it went through. */
  shared: SharedTransport;
  /** The caller's signal. */
  signal: AbortSignal | undefined;
}

/** Turns whatever a transport threw into an error of this package. */
export function toToolfsError(error: unknown, failed: Failed): ToolfsError {
  if (error instanceof ToolfsError) return error;
  if (!(error instanceof RpcError)) return new ToolfsError(String(error), { cause: error });
  if (error.metadata.has("grpc-status")) return fromServer(error);
  if (failed.signal?.aborted) return cancelled(failed.signal);
  if (error.cause instanceof NotSent) return notConnected(error, failed.shared);
  return fromTransport(error, failed.shared);
}

/** A call that its caller gave up. */
export function cancelled(signal: AbortSignal): CallError {
  return new CallError({
    ...named(Code.Canceled),
    reason: CallReason.CANCELLED,
    message: "the caller gave the call up",
    cause: signal.reason,
  });
}

/** A call whose client was closed under it. */
export function clientClosed(cause: unknown): CallError {
  const message = "the client was closed while the call was on its way";
  return new CallError({ ...named(Code.Canceled), reason: "", message, cause });
}

/** A call whose time was over. */
export function outOfTime(cause?: unknown, message = "the deadline was over before the server answered"): CallError {
  return new CallError({ ...named(Code.DeadlineExceeded), reason: CallReason.DEADLINE_EXCEEDED, message, cause });
}

function named(code: number): { code: number; status: string } {
  return { code, status: statusName(code) };
}

/** Reads a status that a server sent. */
function fromServer(error: RpcError): CallError {
  // The number itself: the transport makes another one of a code that it does not know.
  const code = Number.parseInt(error.metadata.get("grpc-status") ?? "", 10);
  const known = Number.isNaN(code) ? error.code : code;
  const fsError = error.findDetails(FsErrorSchema)[0];
  return new CallError({
    ...named(known),
    reason: reasonOf(error),
    message: error.rawMessage,
    fsError: fsError && new ToolError(fsError),
    retryDelayMs: retryDelayOf(error),
  });
}

function notConnected(error: RpcError, shared: SharedTransport): ConnectError {
  const { text } = shared.address;
  const message = `cannot connect to \`${text}\`: ${error.rawMessage || "the connection was refused"}`;
  return new ConnectError(text, message, { cause: (error.cause as NotSent).cause });
}

/** Judges what ended a call on its way. */
function fromTransport(error: RpcError, shared: SharedTransport): CallError {
  const { code } = error;
  if (code === Code.DeadlineExceeded) return outOfTime(error);
  if (code === Code.ResourceExhausted && error.rawMessage.startsWith("message size")) {
    const isRequest = error.rawMessage.includes("writeMaxBytes");
    const [what, side] = isRequest ? ["request", "not sent"] : ["answer", "not read"];
    const size = /^message size ([0-9]+)/.exec(error.rawMessage)?.[1];
    const message =
      `the ${what} of ${size ?? "too many"} bytes was ${side}: \`maxMessageBytes\` is ${shared.maxMessageBytes}; ` +
      "connect with a larger one";
    const cause = isRequest ? new NotSent(message, { cause: error }) : error;
    return new CallError({ ...named(code), reason: "", message, cause });
  }
  if (isConnectionLoss(error)) {
    const message = `the connection was lost before the server answered: ${error.rawMessage}`;
    return new CallError({ ...named(Code.Unavailable), reason: "", message, cause: error });
  }
  return new CallError({ ...named(code), reason: "", message: error.rawMessage, cause: error });
}

/** Whether the connection ended under the call. The transport has several codes for that, after where it noticed. */
function isConnectionLoss(error: RpcError): boolean {
  if (error.code === Code.Unavailable || error.code === Code.Canceled || error.code === Code.Aborted) return true;
  if (error.rawMessage === "protocol error: missing status") return true;
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause) {
    if ("code" in cause && typeof cause.code === "string") return true;
  }
  return false;
}

function reasonOf(error: RpcError): CallReason {
  for (const info of detailsOf(error, "google.rpc.ErrorInfo", textFields)) {
    if (info.get(2) === ERROR_DOMAIN) return info.get(1) ?? "";
  }
  return "";
}

function retryDelayOf(error: RpcError): number | undefined {
  const delays = detailsOf(error, "google.rpc.RetryInfo", (info) => {
    const { seconds, nanos } = fromBinary(DurationSchema, bytesFields(info).get(1) ?? new Uint8Array());
    return Number(seconds) * 1000 + nanos / 1e6;
  });
  return delays[0];
}

/** The details of a type. One that cannot be read is left out: the status says enough. */
function detailsOf<T>(error: RpcError, type: string, read: (message: Uint8Array) => T): T[] {
  const found: T[] = [];
  for (const detail of error.details) {
    if (!("type" in detail) || detail.type !== type) continue;
    try {
      found.push(read(detail.value));
    } catch {
      // Of a server that breaks the contract, or whose bytes were changed on the way.
    }
  }
  return found;
}

/** The length-delimited fields of a message of google.rpc, whose generated code no package of ours has. */
function bytesFields(message: Uint8Array): Map<number, Uint8Array> {
  const fields = new Map<number, Uint8Array>();
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (wireType === 2) fields.set(field, reader.bytes());
    else reader.skip(wireType, field);
  }
  return fields;
}

function textFields(message: Uint8Array): Map<number, string> {
  const decoder = new TextDecoder();
  return new Map([...bytesFields(message)].map(([field, bytes]) => [field, decoder.decode(bytes)]));
}
