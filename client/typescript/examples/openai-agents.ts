/**
 * An agent of the OpenAI Agents SDK, which runs the loop itself.
 *
 * Usage, after `npm ci`: npx tsx examples/openai-agents.ts [DIRECTORY TASK --live]
 * Without `--live` a script stands in for the model. Without a directory it works in a fresh one.
 */
import { Agent, run, setDefaultOpenAIClient, setTracingDisabled, tool } from "@openai/agents";
import { Toolfs } from "toolfs";
import { readArguments } from "./offline/arguments.js";
import { scriptedResponses } from "./offline/openai.js";

const { directory, task, live } = readArguments();
if (!live) {
  setDefaultOpenAIClient(scriptedResponses());
  setTracingDisabled(true);
}

await using client = await Toolfs.local({ root: directory });
await using session = await client.openSession();

const tools = (await client.tools("openai", { strict: true })).map(({ name, description, parameters }) =>
  tool({
    name,
    description,
    parameters,
    async execute(args, _context, details) {
      // A refusal is an output like any other: it says what to do next.
      const reply = await session.call(name, args as object, { toolCallId: details?.toolCall?.callId });
      return reply.text;
    },
  }),
);
const agent = new Agent({
  name: "Editor",
  instructions: await client.prompt(),
  model: process.env.MODEL ?? "gpt-5.5",
  tools,
});
const result = await run(agent, task);
console.log(result.finalOutput);
