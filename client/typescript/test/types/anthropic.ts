/** Compiled, never run: our types are assignable to those of the SDK. */
import type Anthropic from "@anthropic-ai/sdk";
import type { ModelReply, ToolForms, ToolfsError } from "../../src/index.js";
import { toolResult } from "../../src/index.js";

declare const tools: ToolForms["anthropic"];
declare const reply: ModelReply;

export const params: Anthropic.MessageCreateParamsNonStreaming = {
  model: "claude",
  max_tokens: 1,
  tools,
  messages: [{ role: "user", content: [toolResult(reply, "anthropic", { id: "toolu_1" })] }],
};
export const tool: Anthropic.Tool[] = tools;
export const result: Anthropic.ToolResultBlockParam = toolResult(reply, "anthropic");
export const beta: Anthropic.Beta.BetaToolUnion[] = tools;
export const betaResult: Anthropic.Beta.BetaToolResultBlockParam = toolResult(reply, "anthropic");

// @ts-expect-error: an item for another service is no block.
export const wrong: Anthropic.ToolResultBlockParam = toolResult(reply, "openai");
// @ts-expect-error: there is no such format.
toolResult(reply, "json");
// @ts-expect-error: an error is no reply.
toolResult({} as ToolfsError, "anthropic");
