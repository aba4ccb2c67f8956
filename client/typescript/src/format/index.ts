/** The model's door: tools and answers in the forms of the SDKs. Pure, and without any SDK. */
export type { AnthropicContent, AnthropicImageType, AnthropicTool, AnthropicToolResult } from "./anthropic.js";
export type { Answer } from "./content.js";
export {
  type GeminiFunction,
  type GeminiProperty,
  type GeminiTool,
  type GeminiToolResult,
  GeminiType,
} from "./gemini.js";
export type { JsonTool } from "./json.js";
export type { McpContent, McpTool, McpToolResult, McpTools } from "./mcp.js";
export type {
  OpenAiChatTool,
  OpenAiChatToolResult,
  OpenAiContent,
  OpenAiFunction,
  OpenAiTool,
  OpenAiToolResult,
} from "./openai.js";
export { type CallName, type ResultFormat, type ResultForms, type ResultOptions, toolResult } from "./result.js";
export { DefinitionError, type InputSchema, type PropertySchema, type ScalarType } from "./schema.js";
export { promptOf, type ToolFormat, type ToolForms, type ToolsOptions, toolDefinitions } from "./tools.js";
