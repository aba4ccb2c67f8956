/** Anthropic's Messages API without Anthropic. */
import Anthropic from "@anthropic-ai/sdk";
import { checkResults, LAST_WORDS, TURNS } from "./script.js";
import { ScriptedService } from "./service.js";

/** A client of the SDK whose answers are scripted. */
export function scriptedAnthropic(): Anthropic {
  const turns = TURNS.map((calls) =>
    messageOf(
      "tool_use",
      calls.map(({ id, name, args }) => ({ type: "tool_use", id, name, input: args, caller: { type: "direct" } })),
    ),
  );
  const last = messageOf("end_turn", [{ type: "text", text: LAST_WORDS, citations: null }]);
  const service = new ScriptedService([...turns, last], check);
  return new Anthropic({ apiKey: "none", fetch: service.fetch, maxRetries: 0 });
}

function messageOf(stopReason: string, content: object[]): object {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "scripted",
    content,
    stop_reason: stopReason,
    stop_sequence: null,
    usage: { input_tokens: 1, output_tokens: 1 },
  };
}

function check(request: unknown, turn: number): void {
  const { messages } = request as Anthropic.MessageCreateParams;
  const content = messages.at(-1)?.content;
  const blocks = typeof content === "string" ? [] : (content ?? []);
  const results = blocks.filter((block) => block.type === "tool_result");
  const texts = results.map(({ tool_use_id, content, is_error }) => {
    const [block] = typeof content === "string" ? [] : (content ?? []);
    return { id: tool_use_id, text: block?.type === "text" ? block.text : "", isError: is_error ?? false };
  });
  checkResults(texts, turn);
}
