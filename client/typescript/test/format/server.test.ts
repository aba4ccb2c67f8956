/** The forms of what a server sends, through the client. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type ToolFormat, Toolfs } from "../../src/index.js";
import { ModelReply } from "../../src/reply.js";
import { ExecuteResponseSchema } from "../../src/v1.js";
import { type Server, startServer } from "../support/server.js";
import { definitions, printedTools } from "./printed.js";

let server: Server;
let client: Toolfs;

before(async () => {
  // With other limits the definitions say something else.
  server = await startServer({ args: ["--max-limit-lines", "77", "--default-limit-lines", "7"] });
  client = Toolfs.connect(server.address);
});

after(async () => {
  await client?.close();
  await server?.[Symbol.asyncDispose]();
});

describe("the client makes other forms than the command", () => {
  for (const format of ["json", "anthropic", "openai", "openai-chat", "gemini", "mcp"] satisfies ToolFormat[]) {
    for (const strict of [false, true]) {
      test(`${format}${strict ? ", strict" : ""}`, async () => {
        const made = JSON.stringify(await client.tools(format, { strict }), null, 2);
        const flags = strict ? ["--strict"] : [];
        assert.equal(`${made}\n`, printedTools(format, "--server", server.address, ...flags));
        assert.match(made, /\b77\b/);
      });
    }
  }
});

test("the prompt is that of other limits", async () => {
  const prompt = await client.prompt();
  assert.match(prompt, /the first 7 lines/);
  const sections = (await client.tools("json")).map((tool) => tool.prompt_section);
  assert.equal(prompt, sections.join("\n"));
  assert.notEqual(
    prompt,
    definitions()
      .map((tool) => tool.promptSection)
      .join("\n"),
  );
});

test("a refusal is lost on the way to the model", async () => {
  writeFileSync(join(server.directory, "notes.txt"), "teh cat\n");
  await using session = await client.openSession();
  const args = { file_path: "notes.txt", old_string: "teh", new_string: "the" };
  const reply = await session.call("edit", args, { toolCallId: "toolu_1" });
  assert.deepEqual(reply.asResult("anthropic"), {
    type: "tool_result",
    tool_use_id: "toolu_1",
    content: [{ type: "text", text: reply.text }],
    is_error: true,
  });
  assert.match(reply.text, /^FS_NOT_OBSERVED: /);
  assert.deepEqual(reply.asResult("gemini", { name: "edit" }).functionResponse.response, { error: reply.text });
});

test("a block of a kind that is not known yet is told as something", () => {
  const content = [
    { block: { case: "text" as const, value: "a" } },
    {},
    { block: { case: "text" as const, value: "b" } },
  ];
  const reply = new ModelReply(create(ExecuteResponseSchema, { toolCallId: "call_1", content }));
  assert.deepEqual(reply.asResult("mcp").content, [
    { type: "text", text: "a" },
    { type: "text", text: "b" },
  ]);
  assert.equal(reply.asResult("openai").output, "a\nb");
});

test("a picture that a server sends is lost", () => {
  const image = { mimeType: "image/png", data: new Uint8Array([1, 2, 3]) };
  const content = [{ block: { case: "image" as const, value: image } }];
  const reply = new ModelReply(create(ExecuteResponseSchema, { toolCallId: "call_1", content }));
  assert.deepEqual(reply.asResult("mcp").content, [{ type: "image", data: "AQID", mimeType: "image/png" }]);
});
