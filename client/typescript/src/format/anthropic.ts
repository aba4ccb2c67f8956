/** Anthropic's Messages API. */
import type { ContentBlock } from "../content.js";
import { type Answer, base64Of, blocksOf, noteOf } from "./content.js";
import { type Definition, schemaIn } from "./definition.js";
import type { InputSchema } from "./schema.js";

/** One of `tools` of a request. */
export type AnthropicTool = {
  name: string;
  description: string;
  input_schema: InputSchema;
  strict?: true;
};

/** The media types of the pictures that the interface takes. */
export type AnthropicImageType = "image/jpeg" | "image/png" | "image/gif" | "image/webp";

/** A block of what a tool answered. */
export type AnthropicContent =
  | { type: "text"; text: string }
  | { type: "image"; source: { type: "base64"; media_type: AnthropicImageType; data: string } };

/** A block of the user message that answers the model's calls. */
export type AnthropicToolResult = {
  type: "tool_result";
  tool_use_id: string;
  content: AnthropicContent[];
  is_error: boolean;
};

/** The definitions. `strict` is absent where it is not asked for: older models refuse the mark. */
export function anthropicTools(tools: readonly Definition[], strict: boolean): AnthropicTool[] {
  return tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    input_schema: schemaIn(tool, strict),
    ...(strict ? { strict: true as const } : {}),
  }));
}

/** The answer to the call that the model named `id`. */
export function anthropicResult(answer: Answer, id: string): AnthropicToolResult {
  // Where a result is an error, the service takes nothing but text.
  const contentOf = answer.isError ? toldOf : shownOf;
  return {
    type: "tool_result",
    tool_use_id: id,
    content: blocksOf(answer).map(contentOf),
    is_error: answer.isError,
  };
}

function toldOf(block: ContentBlock): AnthropicContent {
  return { type: "text", text: block.type === "text" ? block.text : noteOf(block) };
}

function shownOf(block: ContentBlock): AnthropicContent {
  if (block.type === "text" || !isImageType(block.mimeType)) {
    return toldOf(block);
  }
  return { type: "image", source: { type: "base64", media_type: block.mimeType, data: base64Of(block) } };
}

function isImageType(mimeType: string): mimeType is AnthropicImageType {
  return ["image/jpeg", "image/png", "image/gif", "image/webp"].includes(mimeType);
}
