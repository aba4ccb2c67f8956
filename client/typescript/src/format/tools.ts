/** The tools as models' programming interfaces want to be told of them. */
import type { ToolDefinition } from "../gen/toolfs/v1/tool_pb.js";
import { type AnthropicTool, anthropicTools } from "./anthropic.js";
import { definitionOf } from "./definition.js";
import { type GeminiTool, geminiTools } from "./gemini.js";
import { type JsonTool, jsonTools } from "./json.js";
import { type McpTools, mcpTools } from "./mcp.js";
import { type OpenAiChatTool, type OpenAiTool, openAiChatTools, openAiTools } from "./openai.js";
import { unknownFormat } from "./unknown-format.js";

/** What the definitions are in each format. Each equals what `toolfs tools --format FORMAT` prints. */
export interface ToolForms {
  /** Everything that there is to know of them, both schemas included. */
  json: JsonTool[];
  /** `tools` of Anthropic's Messages API. */
  anthropic: AnthropicTool[];
  /** `tools` of OpenAI's Responses API. */
  openai: OpenAiTool[];
  /** `tools` of OpenAI's Chat Completions API. */
  "openai-chat": OpenAiChatTool[];
  /** `config.tools` of Google's Gemini API. */
  gemini: GeminiTool[];
  /** The result of `tools/list` of the Model Context Protocol. */
  mcp: McpTools;
}

/** The name of a format. */
export type ToolFormat = keyof ToolForms;

/** How definitions are made. */
export interface ToolsOptions {
  /**
   * The strict form of the schemas: all arguments are required, optional ones may be null. The mark that asks the
   * model's side to keep to it is set where the format has one. Default: false.
   */
  strict?: boolean;
}

/**
 * Makes the definitions in a format. The value is the caller's own: it may be changed.
 *
 * @throws ArgumentError for an unknown format
 * @throws DefinitionError for a schema that cannot be put into another form
 */
export function toolDefinitions<Format extends ToolFormat>(
  tools: readonly ToolDefinition[],
  format: Format,
  options: ToolsOptions = {},
): ToolForms[Format] {
  const strict = options.strict ?? false;
  const definitions = tools.map(definitionOf);
  const render: { [format in ToolFormat]: () => ToolForms[format] } = {
    json: () => jsonTools(definitions),
    anthropic: () => anthropicTools(definitions, strict),
    openai: () => openAiTools(definitions, strict),
    "openai-chat": () => openAiChatTools(definitions, strict),
    gemini: () => geminiTools(definitions, strict),
    mcp: () => mcpTools(definitions, strict),
  };
  if (!Object.hasOwn(render, format)) throw unknownFormat(format, Object.keys(render));
  return render[format]();
}

/** What the schemas cannot teach: the tools' sections for the system prompt, as one text in Markdown. */
export function promptOf(tools: readonly ToolDefinition[]): string {
  // A section ends with a newline: the one between makes a blank line.
  return tools.map((tool) => tool.promptSection).join("\n");
}
