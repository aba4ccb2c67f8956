/** The Model Context Protocol. */
import type { ContentBlock } from "../content.js";
import { type Answer, base64Of, blocksOf } from "./content.js";
import { type Definition, schemaIn } from "./definition.js";
import type { InputSchema } from "./schema.js";

/** A tool of `tools/list`. */
export type McpTool = {
  name: string;
  description: string;
  inputSchema: InputSchema;
  annotations: {
    readOnlyHint: boolean;
    destructiveHint: boolean;
    idempotentHint: boolean;
    openWorldHint: boolean;
  };
};

/** The result of `tools/list`. */
export type McpTools = { tools: McpTool[] };

/** A block of what a tool answered. */
export type McpContent = { type: "text"; text: string } | { type: "image"; data: string; mimeType: string };

/**
 * The result of `tools/call`. It has no `structuredContent`: the tools announce no schema for one, and there are hosts
 * that show it to the model in place of the text.
 */
export type McpToolResult = { content: McpContent[]; isError: boolean };

/** The definitions. The roots are the tools' whole world, so it is a closed one. */
export function mcpTools(tools: readonly Definition[], strict: boolean): McpTools {
  return {
    tools: tools.map((tool) => ({
      name: tool.name,
      description: tool.description,
      inputSchema: schemaIn(tool, strict),
      annotations: {
        readOnlyHint: tool.readOnly,
        destructiveHint: tool.destructive,
        idempotentHint: tool.idempotent,
        openWorldHint: false,
      },
    })),
  };
}

/** The answer to a call. The protocol's own envelope says which one. */
export function mcpResult(answer: Answer): McpToolResult {
  return { content: blocksOf(answer).map(contentOf), isError: answer.isError };
}

function contentOf(block: ContentBlock): McpContent {
  return block.type === "text"
    ? { type: "text", text: block.text }
    : { type: "image", data: base64Of(block), mimeType: block.mimeType };
}
