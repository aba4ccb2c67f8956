/**
 * An agent on Google's Gemini API.
 *
 * Usage, after `npm ci`: npx tsx examples/gemini.ts [DIRECTORY TASK --live]
 * Without `--live` a script stands in for the model. Without a directory it works in a fresh one.
 */
import { type Content, GoogleGenAI, type Part } from "@google/genai";
import { Toolfs } from "toolfs";
import { readArguments } from "./offline/arguments.js";
import { scriptedGemini } from "./offline/gemini.js";

const { directory, task, live } = readArguments();
const gemini = live ? new GoogleGenAI({}) : scriptedGemini();

await using client = await Toolfs.local({ root: directory });
await using session = await client.openSession();

const config = { systemInstruction: await client.prompt(), tools: await client.tools("gemini") };
const contents: Content[] = [{ role: "user", parts: [{ text: task }] }];

for (;;) {
  const answer = await gemini.models.generateContent({
    model: process.env.MODEL ?? "gemini-flash-latest",
    config,
    contents,
  });
  const content = answer.candidates?.[0]?.content;
  if (content === undefined) break;
  // As it came, with the signatures of its thoughts.
  contents.push(content);

  const results: Part[] = [];
  // One after the other: the model may count on their order.
  for (const { text, thought, functionCall } of content.parts ?? []) {
    if (text && !thought) console.log(text);
    if (!functionCall?.name) continue;
    const { id, name, args = {} } = functionCall;
    const reply = await session.call(name, args, { toolCallId: id });
    results.push(reply.asResult("gemini", { id, name }));
  }
  if (results.length === 0) break;
  // All results of a turn go into one content.
  contents.push({ role: "user", parts: results });
}
