/** Compiled, never run: our types are assignable to those of the SDKs. */
import { type FunctionTool, type ToolInputParameters, tool } from "@openai/agents";
import type OpenAI from "openai";
import type { ModelReply, ToolForms } from "../../src/index.js";
import { toolResult } from "../../src/index.js";

declare const forms: ToolForms;
declare const reply: ModelReply;

export const responses: OpenAI.Responses.ResponseCreateParamsNonStreaming = {
  model: "gpt",
  tools: forms.openai,
  input: [toolResult(reply, "openai", { id: "call_1" })],
};
export const responseTools: OpenAI.Responses.FunctionTool[] = forms.openai;
export const item: OpenAI.Responses.ResponseInputItem.FunctionCallOutput = toolResult(reply, "openai");

export const chat: OpenAI.Chat.ChatCompletionCreateParamsNonStreaming = {
  model: "gpt",
  tools: forms["openai-chat"],
  messages: [toolResult(reply, "openai-chat", { id: "call_1" })],
};
export const chatTools: OpenAI.Chat.ChatCompletionFunctionTool[] = forms["openai-chat"];
export const message: OpenAI.Chat.ChatCompletionToolMessageParam = toolResult(reply, "openai-chat");

export const agentTools: FunctionTool<unknown, ToolInputParameters, unknown>[] = forms.openai.map(
  ({ name, description, parameters }) =>
    tool({ name, description, parameters, strict: true, execute: async (_input: unknown) => reply.text }),
);

// @ts-expect-error: the two interfaces have forms of their own.
export const wrong: OpenAI.Chat.ChatCompletionFunctionTool[] = forms.openai;
