/** Everything that there is to know of the tools, in names of our own. */
import type { Definition } from "./definition.js";
import type { InputSchema } from "./schema.js";

/** A tool with both forms of its schema. */
export type JsonTool = {
  name: string;
  description: string;
  input_schema: InputSchema;
  strict_input_schema: InputSchema;
  prompt_section: string;
  hints: {
    read_only: boolean;
    destructive: boolean;
    idempotent: boolean;
    concurrency_safe: boolean;
  };
};

/** The definitions, in the order in which models should see them. */
export function jsonTools(tools: readonly Definition[]): JsonTool[] {
  return tools.map((tool) => ({
    name: tool.name,
    description: tool.description,
    input_schema: tool.inputSchema,
    strict_input_schema: tool.strictInputSchema,
    prompt_section: tool.promptSection,
    hints: {
      read_only: tool.readOnly,
      destructive: tool.destructive,
      idempotent: tool.idempotent,
      concurrency_safe: tool.concurrencySafe,
    },
  }));
}
