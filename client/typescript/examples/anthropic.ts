/**
 * An agent on Anthropic's Messages API.
 *
 * Usage, after `npm ci`: npx tsx examples/anthropic.ts [DIRECTORY TASK --live]
 * Without `--live` a script stands in for the model. Without a directory it works in a fresh one.
 */
import Anthropic from "@anthropic-ai/sdk";
import { Toolfs } from "toolfs";
import { scriptedAnthropic } from "./offline/anthropic.js";
import { readArguments } from "./offline/arguments.js";

const { directory, task, live } = readArguments();
const anthropic = live ? new Anthropic() : scriptedAnthropic();

await using client = await Toolfs.local({ root: directory });
await using session = await client.openSession();

const tools = await client.tools("anthropic");
const system = await client.prompt();
const messages: Anthropic.MessageParam[] = [{ role: "user", content: task }];

for (;;) {
  const message = await anthropic.messages.create({
    model: process.env.MODEL ?? "claude-sonnet-4-6",
    max_tokens: 16_000,
    system,
    tools,
    messages,
  });
  messages.push({ role: "assistant", content: message.content });

  const results: Anthropic.ToolResultBlockParam[] = [];
  // One after the other: the model may count on their order.
  for (const block of message.content) {
    if (block.type === "text") console.log(block.text);
    if (block.type !== "tool_use") continue;
    const reply = await session.call(block.name, block.input as object, { toolCallId: block.id });
    // A refusal goes back as well: it says what to do next.
    results.push(reply.asResult("anthropic"));
  }
  if (results.length === 0) break;
  // All results of a turn go into one message.
  messages.push({ role: "user", content: results });
}
