/** Compiled, never run: our types are assignable to those of the SDK. */
import type { FunctionDeclaration, GenerateContentParameters, Part, Schema, Tool } from "@google/genai";
import type { ModelReply, ToolForms } from "../../src/index.js";
import { toolResult } from "../../src/index.js";

declare const tools: ToolForms["gemini"];
declare const reply: ModelReply;

export const params: GenerateContentParameters = {
  model: "gemini",
  config: { tools },
  contents: [{ role: "user", parts: [toolResult(reply, "gemini", { id: "1", name: "read" })] }],
};
export const tool: Tool[] = tools;
export const declaration: FunctionDeclaration | undefined = tools[0]?.functionDeclarations[0];
export const schema: Schema | undefined = tools[0]?.functionDeclarations[0]?.parameters;
export const part: Part = toolResult(reply, "gemini", { name: "read" });

// @ts-expect-error: Gemini wants the name of the tool.
toolResult(reply, "gemini");
// @ts-expect-error: Gemini wants the name of the tool.
toolResult(reply, "gemini", { id: "1" });
