/** What the SDKs really send, and what their own checks say of our forms. Without network: `fetch` is replaced. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import { transformJSONSchema } from "@anthropic-ai/sdk/lib/transform-json-schema";
import { GoogleGenAI } from "@google/genai";
import * as core from "@modelcontextprotocol/core";
import * as first from "@modelcontextprotocol/sdk/types.js";
import { tool } from "@openai/agents";
import OpenAI from "openai";
import { toStrictJsonSchema } from "openai/lib/transform";
import { ScriptedService } from "../../examples/offline/service.js";
import { type Answer, type InputSchema, toolDefinitions, toolResult } from "../../src/index.js";
import { definitions } from "./printed.js";

const tools = definitions();
const picture = { type: "image" as const, mimeType: "image/png", data: new Uint8Array([1, 2, 3]) };
const answers: Answer[] = [
  { content: [{ type: "text", text: "1: a" }], isError: false, toolCallId: "call_1" },
  { content: [{ type: "text", text: "FS_NOT_FOUND: no" }], isError: true, toolCallId: "call_2" },
  { content: [{ type: "text", text: "a picture" }, picture], isError: false, toolCallId: "call_3" },
];

/** Sends one request with an SDK and returns what it sent. */
async function sent(send: (service: ScriptedService) => Promise<unknown>): Promise<{ [key: string]: unknown }> {
  const service = new ScriptedService([{}]);
  await send(service);
  assert.equal(service.requests.length, 1);
  return service.requests[0] as { [key: string]: unknown };
}

describe("an SDK changes the form on its way", () => {
  for (const strict of [false, true]) {
    test(`Anthropic's${strict ? ", strict" : ""}`, async () => {
      const form = toolDefinitions(tools, "anthropic", { strict });
      const content = answers.map((answer) => toolResult(answer, "anthropic"));
      const body = await sent(({ fetch }) =>
        new Anthropic({ apiKey: "none", fetch }).messages.create({
          model: "claude",
          max_tokens: 1,
          tools: form,
          messages: [{ role: "user", content }],
        }),
      );
      assert.deepEqual(body.tools, form);
      assert.deepEqual(body.messages, [{ role: "user", content }]);
    });

    test(`OpenAI's Responses API${strict ? ", strict" : ""}`, async () => {
      const form = toolDefinitions(tools, "openai", { strict });
      const input = answers.map((answer) => toolResult(answer, "openai"));
      const body = await sent(({ fetch }) =>
        new OpenAI({ apiKey: "none", fetch }).responses.create({ model: "gpt", tools: form, input }),
      );
      assert.deepEqual(body.tools, form);
      assert.deepEqual(body.input, input);
    });

    test(`OpenAI's Chat Completions API${strict ? ", strict" : ""}`, async () => {
      const form = toolDefinitions(tools, "openai-chat", { strict });
      const messages = answers.map((answer) => toolResult(answer, "openai-chat"));
      const body = await sent(({ fetch }) =>
        new OpenAI({ apiKey: "none", fetch }).chat.completions.create({ model: "gpt", tools: form, messages }),
      );
      assert.deepEqual(body.tools, form);
      assert.deepEqual(body.messages, messages);
    });

    test(`Google's${strict ? ", strict" : ""}`, async () => {
      const form = toolDefinitions(tools, "gemini", { strict });
      const parts = answers.map((answer) => toolResult(answer, "gemini", { name: "read" }));
      const body = await sent(({ fetch }) =>
        new GoogleGenAI({ apiKey: "none", httpOptions: { fetch } }).models.generateContent({
          model: "gemini",
          config: { tools: form },
          contents: [{ role: "user", parts }],
        }),
      );
      assert.deepEqual(body.tools, JSON.parse(JSON.stringify(form)));
      assert.deepEqual(body.contents, [{ role: "user", parts }]);
    });
  }
});

describe("an SDK's own check of strict schemas finds something to change", () => {
  for (const { name, description, parameters } of toolDefinitions(tools, "openai", { strict: true })) {
    test(`OpenAI's, for ${name}`, () => {
      assert.deepEqual(toStrictJsonSchema(structuredClone(parameters)), parameters);
    });

    test(`that of OpenAI's agents, for ${name}`, () => {
      const made = tool({ name, description, parameters, strict: true, execute: async () => "" });
      assert.equal(made.strict, true);
      assert.deepEqual(made.parameters, parameters);
    });

    test(`Anthropic's, for ${name}`, () => {
      assert.deepEqual(transformJSONSchema(structuredClone(parameters) as object), parameters);
    });
  }

  test("a loose schema passes, so the checks check nothing", () => {
    const edit = toolDefinitions(tools, "openai").find(({ name }) => name === "edit");
    assert.ok(edit);
    const loose: InputSchema = edit.parameters;
    assert.throws(() => assert.deepEqual(tool({ ...edit, strict: true, execute: async () => "" }).parameters, loose));
    assert.throws(() => assert.deepEqual(toStrictJsonSchema({ ...loose }), loose));
  });
});

describe("the schemas of MCP refuse a form, or drop a part of it", () => {
  for (const [generation, schemas] of [
    ["first", first],
    ["second", core],
  ] as const) {
    for (const strict of [false, true]) {
      test(`tools, ${generation} generation${strict ? ", strict" : ""}`, () => {
        const list = toolDefinitions(tools, "mcp", { strict });
        assert.deepEqual(schemas.ListToolsResultSchema.parse(list), list);
        for (const tool of list.tools) {
          assert.deepEqual(schemas.ToolSchema.parse(tool), tool);
        }
      });
    }

    test(`results, ${generation} generation`, () => {
      for (const answer of answers) {
        const result = toolResult(answer, "mcp");
        assert.deepEqual(schemas.CallToolResultSchema.parse(result), result);
      }
    });

    test(`the ${generation} generation passes what is none, so the checks check nothing`, () => {
      assert.throws(() => schemas.ToolSchema.parse({ name: "read" }));
      assert.throws(() => schemas.CallToolResultSchema.parse({ content: [{ type: "text" }] }));
    });
  }
});
