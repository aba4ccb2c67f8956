/**
 * What is asked of a provider, read from messages of the contract. A field that is missing, or that no value can be
 * made of, is refused here by its name; what a value means is the provider's to judge.
 */
import type { ConnectError } from "@connectrpc/connect";
import type * as v1 from "../v1.js";
import type { Limits } from "./capability.js";
import type { FsError } from "./fs-error.js";
import type { EditGuard, WriteGuard } from "./guard.js";
import { viewOfText } from "./match.js";
import { invalidArgument } from "./refusal.js";
import type { ByteRange, EditTextRequest, LineWindow, ResolveRequest, WriteTextRequest } from "./request.js";
import { refused } from "./status.js";
import type { TargetKey } from "./target.js";

/** The refusal of a field that is missing. */
export function absent(field: string, expected: string): FsError {
  return invalidArgument(field, "absent", expected);
}

/** The target of a request. */
export function targetKey(field: string, key: Uint8Array | undefined): TargetKey {
  if (key === undefined || key.length === 0) throw absent(field, "the key of a resolved target");
  return key;
}

/** A path that is to be resolved. */
export function resolveRequest(request: v1.ResolveRequest | v1.LstatRequest): ResolveRequest {
  const { directory, location } = request;
  const path = bytesOf(location.value);
  if (path === undefined) throw absent("path", "`path` or `raw_path`");
  const cwd = bytesOf(directory.value);
  return cwd === undefined ? { path } : { cwd, path };
}

function bytesOf(value: string | Uint8Array | undefined): Uint8Array | undefined {
  return typeof value === "string" ? Buffer.from(value) : value;
}

/** Of how many bytes of a message each line takes at most one share, beside its text. */
const LINE_OVERHEAD_BYTES = 32;

/** Which lines are asked for. A window is never wider than one message can carry. */
export function lineWindow(request: v1.ReadLinesRequest, limits: Limits): LineWindow {
  const widestBytes = Math.max(1, Math.floor(limits.maxMessageBytes / 4));
  const mostLines = Math.max(1, Math.floor(limits.maxMessageBytes / 2 / LINE_OVERHEAD_BYTES));
  return {
    firstLine: positive("first_line", request.firstLine, 1),
    maxLines: Math.min(positive("max_lines", request.maxLines, mostLines), mostLines),
    maxBytes: Math.min(positive("max_bytes", request.maxBytes, limits.maxWindowBytes), widestBytes),
    maxLineChars: positive("max_line_chars", request.maxLineChars, limits.maxLineChars),
  };
}

/** Which bytes are asked for. */
export function byteRange(request: v1.ReadBytesRequest): ByteRange {
  const offset = request.offset === undefined ? 0 : notNegative("offset", request.offset);
  return request.length === undefined ? { offset } : { offset, length: notNegative("length", request.length) };
}

function positive(field: string, value: bigint | undefined, whenAbsent: number): number {
  if (value === undefined) return whenAbsent;
  if (value < 1n) throw invalidArgument(field, value.toString(), "1 or more");
  return clamped(value);
}

/** A number that must be there and not negative. */
export function notNegative(field: string, value: bigint): number {
  if (value < 0n) throw invalidArgument(field, value.toString(), "0 or more");
  return clamped(value);
}

/** What is beyond every file stays beyond every file. */
function clamped(value: bigint): number {
  return value > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(value);
}

/** The guard of a write. One that is not known arrives without its condition, and is refused. */
export function writeGuard(guard: v1.WriteGuard | undefined): WriteGuard {
  const condition = guard?.condition;
  switch (condition?.case) {
    case "unconditional":
      return { kind: "unconditional" };
    case "createIfAbsent":
      return { kind: "create-if-absent" };
    case "replaceIfVersion":
      return { kind: "replace-if-version", version: version("replace_if_version", condition.value) };
    default:
      throw guardMissing("set `unconditional`, `create_if_absent` or `replace_if_version`");
  }
}

/** The guard of an edit, as `writeGuard`. */
export function editGuard(guard: v1.EditGuard | undefined): EditGuard {
  const condition = guard?.condition;
  switch (condition?.case) {
    case "unconditional":
      return { kind: "unconditional" };
    case "replaceIfVersion":
      return { kind: "replace-if-version", version: version("replace_if_version", condition.value) };
    default:
      throw guardMissing("set `unconditional` or `replace_if_version`");
  }
}

function guardMissing(whatToDo: string): ConnectError {
  return refused("GUARD_MISSING", `the request has no guard that this server knows: ${whatToDo}`);
}

/** A version: 1 to 128 printable ASCII characters without blanks. */
export function version(field: string, text: string): string {
  if (/^[!-~]{1,128}$/.test(text)) return text;
  const actual = text === "" ? "empty" : "text that is no version";
  throw invalidArgument(field, actual, "1 to 128 printable ASCII characters without blanks");
}

function operationId(text: string): string {
  if (/^[ -~]{1,128}$/.test(text)) return text;
  const actual = text === "" ? "an empty string" : "a string that is longer or has other characters";
  throw invalidArgument("operation_id", actual, "1 to 128 printable ASCII characters");
}

/** A write before its content has come. */
export interface WriteHeader extends Omit<WriteTextRequest, "content"> {
  /** How many bytes the content is to have. */
  readonly size: number;
}

/** The header of a write, or of a planned one. */
export function writeHeader(header: v1.WriteTextHeader | v1.PlanWriteHeader): WriteHeader {
  const target = targetKey("target_key", header.targetKey);
  const guard = writeGuard(header.guard);
  if (header.size === undefined) throw absent("size", "the size of the content in bytes");
  const size = notNegative("size", header.size);
  const id = "operationId" in header ? header.operationId : undefined;
  const named = id === undefined ? {} : { operationId: operationId(id) };
  return { target, guard, size, wantDiff: header.wantDiff ?? false, ...named };
}

/** An edit, or a planned one. */
export function editRequest(request: v1.EditTextRequest | v1.PlanEditRequest): EditTextRequest {
  const target = targetKey("target_key", request.targetKey);
  const guard = editGuard(request.guard);
  const { oldString, newString } = request;
  if (oldString === undefined) throw absent("old_string", "the text to replace");
  if (newString === undefined) throw absent("new_string", "the text to put in its place");
  if (oldString === "") {
    const expected = "the text to replace; `write` sets the whole content of a file";
    throw invalidArgument("old_string", "an empty string", expected);
  }
  if (viewOfText(oldString) === viewOfText(newString)) {
    const actual = "the same text as `old_string` (CRLF and LF are one line end)";
    throw invalidArgument("new_string", actual, "another text: this edit would change nothing");
  }
  const id = "operationId" in request ? request.operationId : undefined;
  const named = id === undefined ? {} : { operationId: operationId(id) };
  const { replaceAll = false, wantDiff = false } = request;
  return { target, guard, oldString, newString, replaceAll, wantDiff, ...named };
}
