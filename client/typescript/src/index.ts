/** The TypeScript client of toolfs: file tools for language-model agents, over gRPC. */
export type { CallOptions, EditArguments, ReadArguments, WriteArguments } from "./call.js";
export { CallReason, FsErrorCode, type StatusName } from "./code.js";
export {
  CallError,
  type CallStatus,
  ConnectError,
  type ErrorDetail,
  LocalServerError,
  ToolError,
  ToolfsError,
} from "./error.js";
export { type Plain, toPlain } from "./plain.js";
export type {
  ContentBlock,
  EditResult,
  ModelReply,
  Outcome,
  Outcomes,
  ReadResult,
  ToolResult,
  WriteResult,
} from "./reply.js";
