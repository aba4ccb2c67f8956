/** Compiled, never run: the neutral form is enough for the AI SDK, which takes a JSON Schema as it is. */
import { jsonSchema, type ToolSet, tool } from "ai";
import type { ModelReply, ToolForms } from "../../src/index.js";

declare const tools: ToolForms["json"];
declare function call(name: string, input: unknown, id: string): Promise<ModelReply>;

export const set: ToolSet = Object.fromEntries(
  tools.map(({ name, description, input_schema }) => [
    name,
    tool({
      description,
      inputSchema: jsonSchema(input_schema),
      execute: async (input, { toolCallId }) => (await call(name, input, toolCallId)).text,
    }),
  ]),
);
