/** What the command prints, for comparison. */
import { execFileSync } from "node:child_process";
import { create } from "@bufbuild/protobuf";
import { type ToolDefinition, ToolDefinitionSchema } from "../../src/gen/toolfs/v1/tool_pb.js";
import type { JsonTool } from "../../src/index.js";
import { BINARY, cleanEnvironment } from "../support/server.js";

/** What `toolfs tools` prints. */
export function printedTools(format: string, ...more: string[]): string {
  const args = ["tools", "--format", format, ...more];
  return execFileSync(BINARY, args, { encoding: "utf8", env: cleanEnvironment() });
}

/** The definitions as a server would send them. */
export function definitions(): ToolDefinition[] {
  const tools = JSON.parse(printedTools("json")) as JsonTool[];
  return tools.map((tool) =>
    create(ToolDefinitionSchema, {
      name: tool.name,
      description: tool.description,
      inputSchemaJson: JSON.stringify(tool.input_schema),
      strictInputSchemaJson: JSON.stringify(tool.strict_input_schema),
      promptSection: tool.prompt_section,
      hints: {
        readOnly: tool.hints.read_only,
        destructive: tool.hints.destructive,
        idempotent: tool.hints.idempotent,
        concurrencySafe: tool.hints.concurrency_safe,
      },
    }),
  );
}
