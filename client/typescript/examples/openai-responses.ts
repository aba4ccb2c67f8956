/**
 * An agent on OpenAI's Responses API.
 *
 * Usage, after `npm ci`: npx tsx examples/openai-responses.ts [DIRECTORY TASK --live]
 * Without `--live` a script stands in for the model. Without a directory it works in a fresh one.
 */
import OpenAI from "openai";
import { Toolfs } from "toolfs";
import { readArguments } from "./offline/arguments.js";
import { scriptedResponses } from "./offline/openai.js";

const { directory, task, live } = readArguments();
const openai = live ? new OpenAI() : scriptedResponses();

await using client = await Toolfs.local({ root: directory });
await using session = await client.openSession();

const tools = await client.tools("openai", { strict: true });
const instructions = await client.prompt();
let input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: task }];
// The service keeps what was said before; only what is new is sent.
let previous_response_id: string | null = null;

for (;;) {
  const response: OpenAI.Responses.Response = await openai.responses.create({
    model: process.env.MODEL ?? "gpt-5.5",
    instructions,
    tools,
    input,
    previous_response_id,
  });
  if (response.output_text) console.log(response.output_text);

  const results: OpenAI.Responses.ResponseInputItem[] = [];
  // One after the other: the model may count on their order.
  for (const item of response.output) {
    if (item.type !== "function_call") continue;
    // The arguments go on as the model wrote them: whatever is wrong with them, it is told.
    const reply = await session.call(item.name, item.arguments, { toolCallId: item.call_id });
    results.push(reply.asResult("openai"));
  }
  if (results.length === 0) break;
  input = results;
  previous_response_id = response.id;
}
