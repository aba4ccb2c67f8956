/** The TypeScript client of toolfs: file tools for language-model agents, over gRPC. */
export type { CallOptions, EditArguments, ReadArguments, WriteArguments } from "./call.js";
export type { ConnectOptions, RequestOptions } from "./caller.js";
export { type Capabilities, type OpenSessionOptions, Toolfs } from "./client.js";
export { CallReason, FsErrorCode, type StatusName } from "./code.js";
export type { ContentBlock } from "./content.js";
export {
  ArgumentError,
  CallError,
  type CallStatus,
  ConnectError,
  type ErrorDetail,
  LocalServerError,
  ProtocolError,
  ToolError,
  ToolfsError,
} from "./error.js";
export {
  type Answer,
  type AnthropicContent,
  type AnthropicImageType,
  type AnthropicTool,
  type AnthropicToolResult,
  type CallName,
  DefinitionError,
  type GeminiFunction,
  type GeminiProperty,
  type GeminiTool,
  type GeminiToolResult,
  GeminiType,
  type InputSchema,
  type JsonTool,
  type McpContent,
  type McpTool,
  type McpToolResult,
  type McpTools,
  type OpenAiChatTool,
  type OpenAiChatToolResult,
  type OpenAiContent,
  type OpenAiFunction,
  type OpenAiTool,
  type OpenAiToolResult,
  type PropertySchema,
  promptOf,
  type ResultFormat,
  type ResultForms,
  type ResultOptions,
  type ScalarType,
  type ToolFormat,
  type ToolForms,
  type ToolsOptions,
  toolDefinitions,
  toolResult,
} from "./format/index.js";
export type { LocalOptions } from "./local.js";
export { type Plain, toPlain } from "./plain.js";
export type {
  EditResult,
  ModelReply,
  Outcome,
  Outcomes,
  ReadResult,
  ToolResult,
  WriteResult,
} from "./reply.js";
export { DEFAULT_RETRY, type RetryPolicy } from "./retry.js";
export { Session, type SessionEvent, type SessionInfo } from "./session.js";
export type { Token } from "./token.js";
export { DEFAULT_MAX_MESSAGE_BYTES, type Tls, type TransportOptions } from "./transport.js";
