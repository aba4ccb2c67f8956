/**
 * Calls as values: the tools' own argument names, what goes with any call, and the message that is made of both.
 */
import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { flag, integer, jsonObject, wellFormed } from "./argument.js";
import { REQUEST_KINDS } from "./connect-option.js";
import { ArgumentError } from "./error.js";
import {
  EditCallSchema,
  type ExecuteRequest,
  ExecuteRequestSchema,
  JsonCallSchema,
  ReadCallSchema,
  ResultView,
  WriteCallSchema,
} from "./gen/toolfs/v1/tool_pb.js";
import { check, JUDGED_ELSEWHERE, known, SWITCH } from "./option.js";

/** Arguments of `read`. */
export interface ReadArguments {
  /** The file: absolute beneath a root, or relative to the session's working directory. */
  file_path: string;
  /** The first line, from 1. */
  offset?: number | bigint | undefined;
  /** How many lines, at least 1. */
  limit?: number | bigint | undefined;
}

/** Arguments of `write`. */
export interface WriteArguments {
  /** The file. Missing parent directories are created. */
  file_path: string;
  /** The whole new content; the file holds exactly its UTF-8 bytes. */
  content: string;
}

/** Arguments of `edit`. */
export interface EditArguments {
  /** The file. */
  file_path: string;
  /** The text to replace, literally; it must occur exactly once unless `replace_all` is set. */
  old_string: string;
  /** The text to put in its place; empty deletes. */
  new_string: string;
  /** Replace every occurrence. */
  replace_all?: boolean | undefined;
}

/** What goes with any call, whatever the tool. */
export interface CallOptions {
  /** Decide and report everything, change and record nothing. */
  dryRun?: boolean | undefined;
  /** `full` returns the lines of a read and the diff of a mutation too. Default `basic`. */
  view?: "basic" | "full" | undefined;
  /** The model's own id of the call; echoed, never interpreted. */
  toolCallId?: string | undefined;
  /** The name of the logical call, a UUID: set it to repeat a call. A fresh one otherwise. */
  requestId?: string | undefined;
  /** How long to wait at most, with all tries, in milliseconds; the client's `deadlineMs` otherwise. */
  deadlineMs?: number | undefined;
  /** Gives the call up when it is aborted: the call then fails with a `CallError` of status `CANCELLED`. */
  signal?: AbortSignal | undefined;
}

const READ = known<ReadArguments>("an argument of `read`", "arguments", {
  file_path: JUDGED_ELSEWHERE,
  offset: JUDGED_ELSEWHERE,
  limit: JUDGED_ELSEWHERE,
});

const WRITE = known<WriteArguments>("an argument of `write`", "arguments", {
  file_path: JUDGED_ELSEWHERE,
  content: JUDGED_ELSEWHERE,
});

const EDIT = known<EditArguments>("an argument of `edit`", "arguments", {
  file_path: JUDGED_ELSEWHERE,
  old_string: JUDGED_ELSEWHERE,
  new_string: JUDGED_ELSEWHERE,
  replace_all: SWITCH,
});

const OPTIONS = known<CallOptions>("an option of a call", "options", {
  ...REQUEST_KINDS,
  dryRun: SWITCH,
  view: JUDGED_ELSEWHERE,
  toolCallId: JUDGED_ELSEWHERE,
  requestId: JUDGED_ELSEWHERE,
});

/** A call in the form of the contract. */
export type Call = Exclude<ExecuteRequest["call"], { case: undefined }>;

/**
 * A call of `read`.
 *
 * @throws ArgumentError
 */
export function readCall(args: ReadArguments): Call {
  check(args, READ);
  const value = create(ReadCallSchema, {
    filePath: wellFormed(args.file_path, "file_path"),
    offset: integer(args.offset, "offset"),
    limit: integer(args.limit, "limit"),
  });
  return { case: "read", value };
}

/**
 * A call of `write`.
 *
 * @throws ArgumentError
 */
export function writeCall(args: WriteArguments): Call {
  check(args, WRITE);
  const value = create(WriteCallSchema, {
    filePath: wellFormed(args.file_path, "file_path"),
    content: wellFormed(args.content, "content"),
  });
  return { case: "write", value };
}

/**
 * A call of `edit`.
 *
 * @throws ArgumentError
 */
export function editCall(args: EditArguments): Call {
  check(args, EDIT);
  const value = create(EditCallSchema, {
    filePath: wellFormed(args.file_path, "file_path"),
    oldString: wellFormed(args.old_string, "old_string"),
    newString: wellFormed(args.new_string, "new_string"),
    replaceAll: flag(args.replace_all, "replace_all"),
  });
  return { case: "edit", value };
}

/**
 * A call as a model produced it: an object becomes JSON, a text is sent as it is.
 *
 * @throws ArgumentError
 */
export function jsonCall(name: string, args: object | string): Call {
  const argumentsJson = typeof args === "string" ? wellFormed(args, "arguments") : jsonObject(args);
  return { case: "json", value: create(JsonCallSchema, { name: wellFormed(name, "name"), argumentsJson }) };
}

/**
 * The message of a call. The same message is sent in each try.
 *
 * @throws ArgumentError
 */
export function executeRequest(sessionId: string, call: Call, options: CallOptions): ExecuteRequest {
  check(options, OPTIONS);
  return create(ExecuteRequestSchema, {
    sessionId,
    requestId: wellFormed(options.requestId, "requestId") ?? randomUUID(),
    toolCallId: wellFormed(options.toolCallId, "toolCallId") ?? "",
    dryRun: flag(options.dryRun, "dryRun") ?? false,
    view: resultView(options.view ?? "basic"),
    call,
  });
}

/** Whether a call changes nothing, whatever happens to it: it may be sent again. */
export function isHarmless(request: ExecuteRequest): boolean {
  const { call } = request;
  return request.dryRun || call.case === "read" || (call.case === "json" && call.value.name === "read");
}

function resultView(view: string): ResultView {
  if (view === "basic") return ResultView.BASIC;
  if (view === "full") return ResultView.FULL;
  throw new ArgumentError("view", `must be \`basic\` or \`full\`, not \`${view}\``);
}
