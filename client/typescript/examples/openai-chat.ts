/**
 * An agent on OpenAI's Chat Completions API, which other services speak too.
 *
 * Usage, after `npm ci`: npx tsx examples/openai-chat.ts [DIRECTORY TASK --live]
 * Without `--live` a script stands in for the model. Without a directory it works in a fresh one.
 */
import OpenAI from "openai";
import { Toolfs } from "toolfs";
import { readArguments } from "./offline/arguments.js";
import { scriptedChat } from "./offline/openai.js";

const { directory, task, live } = readArguments();
const openai = live ? new OpenAI() : scriptedChat();

await using client = await Toolfs.local({ root: directory });
await using session = await client.openSession();

const tools = await client.tools("openai-chat", { strict: true });
const messages: OpenAI.Chat.ChatCompletionMessageParam[] = [
  { role: "developer", content: await client.prompt() },
  { role: "user", content: task },
];

for (;;) {
  const completion = await openai.chat.completions.create({ model: process.env.MODEL ?? "gpt-5.5", tools, messages });
  const message = completion.choices[0]?.message;
  if (message === undefined) break;
  messages.push(message);
  if (message.content) console.log(message.content);
  if (!message.tool_calls?.length) break;

  // One after the other: the model may count on their order.
  for (const call of message.tool_calls) {
    if (call.type !== "function") continue;
    // The arguments go on as the model wrote them: whatever is wrong with them, it is told.
    const reply = await session.call(call.function.name, call.function.arguments, { toolCallId: call.id });
    messages.push(reply.asResult("openai-chat"));
  }
}
