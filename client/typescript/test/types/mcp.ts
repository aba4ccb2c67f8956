/** Compiled, never run: our types are assignable to those of both generations of the SDK. */

import type * as first from "@modelcontextprotocol/sdk/types.js";
import type { CallToolResult, ListToolsResult, Tool } from "@modelcontextprotocol/server";
import type { ModelReply, ToolForms } from "../../src/index.js";
import { toolResult } from "../../src/index.js";

declare const list: ToolForms["mcp"];
declare const reply: ModelReply;

export const tools: ListToolsResult = list;
export const tool: Tool[] = list.tools;
export const result: CallToolResult = toolResult(reply, "mcp");

export const firstTools: first.ListToolsResult = list;
export const firstTool: first.Tool[] = list.tools;
export const firstResult: first.CallToolResult = toolResult(reply, "mcp");
