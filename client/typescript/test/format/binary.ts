/** What the command prints, for comparison. */
import { execFileSync } from "node:child_process";
import { create } from "@bufbuild/protobuf";
import { type ToolDefinition, ToolDefinitionSchema } from "../../src/gen/toolfs/v1/tool_pb.js";
import type { JsonTool } from "../../src/index.js";

/** The path of the command. The tests need it: without it they fail and say so. */
export function binary(): string {
  const path = process.env.TOOLFS_BIN;
  if (!path) {
    throw new Error("set `TOOLFS_BIN` to the path of the `toolfs` command: `cargo build -p toolfs-server` makes it");
  }
  return path;
}

/** The environment without what would set the command up in another way. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(TOOLFS_|OTEL_|RUST_LOG$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

/** What `toolfs tools` prints. */
export function printedTools(format: string, ...more: string[]): string {
  const args = ["tools", "--format", format, ...more];
  return execFileSync(binary(), args, { encoding: "utf8", env: cleanEnvironment() });
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
