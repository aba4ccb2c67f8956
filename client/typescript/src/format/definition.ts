/** A tool's definition with its schemas taken apart: what every form is made from. */
import type { ToolDefinition } from "../gen/toolfs/v1/tool_pb.js";
import { type InputSchema, parseSchema } from "./schema.js";

/** Everything that there is to know of a tool. */
export interface Definition {
  name: string;
  description: string;
  inputSchema: InputSchema;
  strictInputSchema: InputSchema;
  promptSection: string;
  readOnly: boolean;
  destructive: boolean;
  idempotent: boolean;
  concurrencySafe: boolean;
}

/**
 * Takes a message apart.
 *
 * @throws DefinitionError when a schema in it is not flat
 */
export function definitionOf(tool: ToolDefinition): Definition {
  return {
    name: tool.name,
    description: tool.description,
    inputSchema: parseSchema(tool.name, tool.inputSchemaJson),
    strictInputSchema: parseSchema(tool.name, tool.strictInputSchemaJson),
    promptSection: tool.promptSection,
    // What a server does not tell is the most careful answer.
    readOnly: tool.hints?.readOnly ?? false,
    destructive: tool.hints?.destructive ?? true,
    idempotent: tool.hints?.idempotent ?? false,
    concurrencySafe: tool.hints?.concurrencySafe ?? false,
  };
}

/** The schema in one of its two forms. */
export function schemaIn(tool: Definition, strict: boolean): InputSchema {
  return strict ? tool.strictInputSchema : tool.inputSchema;
}
