/** OpenAI's Chat Completions and Responses APIs without OpenAI. */
import OpenAI from "openai";
import { checkResults, LAST_WORDS, type ScriptedCall, type ScriptedResult, TURNS } from "./script.js";
import { ScriptedService } from "./service.js";

/** A client of the SDK whose answers to chat completions are scripted. */
export function scriptedChat(): OpenAI {
  const turns = TURNS.map((calls) => completionOf("tool_calls", { content: null, tool_calls: calls.map(chatCall) }));
  return clientOf([...turns, completionOf("stop", { content: LAST_WORDS })], chatResults);
}

/** A client of the SDK whose responses are scripted. */
export function scriptedResponses(): OpenAI {
  const turns = TURNS.map((calls) => responseOf(calls.map(responseCall)));
  const content = [{ type: "output_text", text: LAST_WORDS, annotations: [] }];
  const message = { type: "message", id: "msg_1", status: "completed", role: "assistant", content };
  return clientOf([...turns, responseOf([message])], responseResults);
}

function clientOf(answers: object[], resultsOf: (request: unknown) => ScriptedResult[]): OpenAI {
  const service = new ScriptedService(answers, (request, turn) => checkResults(resultsOf(request), turn));
  return new OpenAI({ apiKey: "none", fetch: service.fetch, maxRetries: 0 });
}

function completionOf(finishReason: string, message: object): object {
  return {
    id: "chatcmpl_1",
    object: "chat.completion",
    created: 0,
    model: "scripted",
    choices: [{ index: 0, finish_reason: finishReason, message: { role: "assistant", refusal: null, ...message } }],
  };
}

function chatCall({ id, name, args }: ScriptedCall): object {
  return { id, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

function chatResults(request: unknown): ScriptedResult[] {
  const { messages } = request as OpenAI.Chat.ChatCompletionCreateParams;
  const last = messages.findLastIndex((message) => message.role !== "tool");
  return messages
    .slice(last + 1)
    .flatMap((message) =>
      message.role === "tool" ? [{ id: message.tool_call_id, text: String(message.content) }] : [],
    );
}

function responseOf(output: object[]): object {
  return {
    id: "resp_1",
    object: "response",
    created_at: 0,
    status: "completed",
    error: null,
    incomplete_details: null,
    model: "scripted",
    output,
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  };
}

function responseCall({ id, name, args }: ScriptedCall): object {
  const item = { type: "function_call", id: `fc_${id}`, status: "completed", call_id: id };
  return { ...item, name, arguments: JSON.stringify(args) };
}

function responseResults(request: unknown): ScriptedResult[] {
  const { input } = request as OpenAI.Responses.ResponseCreateParams;
  const items = typeof input === "string" ? [] : (input ?? []);
  const last = items.findLastIndex((item) => item.type !== "function_call_output");
  return items
    .slice(last + 1)
    .flatMap((item) =>
      item.type === "function_call_output" ? [{ id: item.call_id ?? "", text: outputText(item.output) }] : [],
    );
}

function outputText(output: string | { type: string; text?: string }[]): string {
  return typeof output === "string" ? output : output.map(({ text }) => text ?? "").join("");
}
