/**
 * OpenAI: the Responses API has a function's parts beside its type, the Chat Completions API has them in an object of
 * their own. Neither has a mark for a failure: the text says that it is one.
 */
import type { ContentBlock } from "../content.js";
import { type Answer, base64Of, blocksOf, textOf } from "./content.js";
import { type Definition, schemaIn } from "./definition.js";
import type { InputSchema } from "./schema.js";

/** A function as both interfaces describe it. */
export type OpenAiFunction = {
  name: string;
  description: string;
  parameters: InputSchema;
  strict: boolean;
};

/** One of `tools` of a request to the Responses API. */
export type OpenAiTool = { type: "function" } & OpenAiFunction;

/** One of `tools` of a request to the Chat Completions API. */
export type OpenAiChatTool = { type: "function"; function: OpenAiFunction };

/** A part of what a tool answered. */
export type OpenAiContent =
  | { type: "input_text"; text: string }
  | { type: "input_image"; image_url: string; detail: "auto" };

/** An input item of the Responses API that answers a call. `output` is a list only where there is a picture. */
export type OpenAiToolResult = {
  type: "function_call_output";
  call_id: string;
  output: string | OpenAiContent[];
};

/** A message of the Chat Completions API that answers a call. */
export type OpenAiChatToolResult = { role: "tool"; tool_call_id: string; content: string };

/** The definitions for the Responses API. */
export function openAiTools(tools: readonly Definition[], strict: boolean): OpenAiTool[] {
  return tools.map((tool) => ({ type: "function", ...functionOf(tool, strict) }));
}

/** The definitions for the Chat Completions API. */
export function openAiChatTools(tools: readonly Definition[], strict: boolean): OpenAiChatTool[] {
  return tools.map((tool) => ({ type: "function", function: functionOf(tool, strict) }));
}

/** The answer to the call whose `call_id` is `id`. */
export function openAiResult(answer: Answer, id: string): OpenAiToolResult {
  const blocks = blocksOf(answer);
  const isText = blocks.every((block) => block.type === "text");
  return {
    type: "function_call_output",
    call_id: id,
    output: isText ? textOf(blocks) : blocks.map(contentOf),
  };
}

/** The answer to the call whose `id` this is. A tool message holds text only: a picture becomes a note. */
export function openAiChatResult(answer: Answer, id: string): OpenAiChatToolResult {
  return { role: "tool", tool_call_id: id, content: textOf(blocksOf(answer)) };
}

function functionOf(tool: Definition, strict: boolean): OpenAiFunction {
  return {
    name: tool.name,
    description: tool.description,
    parameters: schemaIn(tool, strict),
    // Always said: without it the Responses API makes every schema strict in its own way.
    strict,
  };
}

function contentOf(block: ContentBlock): OpenAiContent {
  return block.type === "text"
    ? { type: "input_text", text: block.text }
    : { type: "input_image", image_url: `data:${block.mimeType};base64,${base64Of(block)}`, detail: "auto" };
}
