/** Everything that there is to know of the tools, in names of our own. */
import type { Definition } from "./definition.js";
import type { InputSchema } from "./schema.js";

/** A tool with both forms of its schema. */
export type JsonTool = {
  /** The name by which models call it. */
  name: string;
  /** What it does and when to use it, addressed to the model. */
  description: string;
  /** The schema of its arguments. */
  input_schema: InputSchema;
  /** The same for strict modes: every argument is required, the optional ones may be null. */
  strict_input_schema: InputSchema;
  /** A section for the system prompt, in Markdown. */
  prompt_section: string;
  hints: {
    /** Whether it changes nothing. */
    read_only: boolean;
    /** Whether it may destroy content. */
    destructive: boolean;
    /** Whether a repetition with the same arguments changes nothing more. */
    idempotent: boolean;
    /** Whether a host may run several of its calls at once. */
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
