/** Answers to calls as models' programming interfaces want to be given them. */

import { ArgumentError } from "../error.js";
import { type AnthropicToolResult, anthropicResult } from "./anthropic.js";
import type { Answer } from "./content.js";
import { type GeminiToolResult, geminiResult } from "./gemini.js";
import { type McpToolResult, mcpResult } from "./mcp.js";
import { type OpenAiChatToolResult, type OpenAiToolResult, openAiChatResult, openAiResult } from "./openai.js";
import { unknownFormat } from "./unknown-format.js";

/** What an answer is in each format. */
export interface ResultForms {
  /** A block of the user message that answers the calls of Anthropic's Messages API. */
  anthropic: AnthropicToolResult;
  /** An input item of OpenAI's Responses API. */
  openai: OpenAiToolResult;
  /** A message of OpenAI's Chat Completions API. */
  "openai-chat": OpenAiChatToolResult;
  /** A part of the content that answers the calls of Google's Gemini API. */
  gemini: GeminiToolResult;
  /** The result of `tools/call` of the Model Context Protocol. */
  mcp: McpToolResult;
}

/** The name of a format that has results. */
export type ResultFormat = keyof ResultForms;

/** Which call an answer belongs to. */
export interface CallName {
  /** The model's own identifier of the call. Default: the `toolCallId` that the call was made with. */
  id?: string | undefined;
  /** The tool's name: Gemini wants it. */
  name?: string | undefined;
}

/** The options of a format: Gemini cannot do without the tool's name. */
export type ResultOptions<Format extends ResultFormat> = Format extends "gemini"
  ? [options: CallName & { name: string }]
  : [options?: CallName];

/**
 * Puts an answer into a format. A block of a kind that this client does not know is skipped; a picture that a model's
 * side does not take becomes a line of text that says so.
 *
 * @throws ArgumentError when the format wants a name of the call and there is none, and for an unknown format
 */
export function toolResult<Format extends ResultFormat>(
  answer: Answer,
  format: Format,
  ...[options]: ResultOptions<Format>
): ResultForms[Format] {
  const given = options?.id || answer.toolCallId;
  const id = (): string =>
    given || missing(format, "id", "the model's own of the call: give it here, or `toolCallId` to the call");
  const name = (): string => options?.name || missing(format, "name", "that of the tool which was called");
  const render: { [format in ResultFormat]: () => ResultForms[format] } = {
    anthropic: () => anthropicResult(answer, id()),
    openai: () => openAiResult(answer, id()),
    "openai-chat": () => openAiChatResult(answer, id()),
    gemini: () => geminiResult(answer, name(), given || undefined),
    mcp: () => mcpResult(answer),
  };
  if (!Object.hasOwn(render, format)) throw unknownFormat(format, Object.keys(render));
  return render[format]();
}

function missing(format: string, option: string, hint: string): never {
  throw new ArgumentError(option, `is needed for \`${format}\`, ${hint}`);
}
