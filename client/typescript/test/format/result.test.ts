import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Answer, type CallName, type ResultFormat, toolResult } from "../../src/index.js";

const PNG = { type: "image" as const, mimeType: "image/png", data: new Uint8Array([0x89, 0x50, 0x4e, 0x47]) };
const SVG = { type: "image" as const, mimeType: "image/svg+xml", data: new Uint8Array([0x3c]) };
const text = (text: string) => ({ type: "text" as const, text });

function answer(content: Answer["content"], more: Partial<Answer> = {}): Answer {
  return { content, isError: false, toolCallId: "call_1", ...more };
}

/** Converts, with the tool's name for those that want one. */
function convert(answer: Answer, format: ResultFormat, call: CallName = {}): unknown {
  return toolResult(answer, format as "gemini", { ...call, name: "read" });
}

/** One answer, and what each format makes of it. */
function check(name: string, answer: Answer, expected: { [format in ResultFormat]: unknown }): void {
  describe(name, () => {
    for (const format of Object.keys(expected) as ResultFormat[]) {
      test(format, () => assert.deepEqual(convert(answer, format), expected[format]));
    }
  });
}

check("a text is changed on its way", answer([text("1: a\r\n\u{1F600}\u0000")]), {
  anthropic: {
    type: "tool_result",
    tool_use_id: "call_1",
    content: [{ type: "text", text: "1: a\r\n\u{1F600}\u0000" }],
    is_error: false,
  },
  openai: { type: "function_call_output", call_id: "call_1", output: "1: a\r\n\u{1F600}\u0000" },
  "openai-chat": { role: "tool", tool_call_id: "call_1", content: "1: a\r\n\u{1F600}\u0000" },
  gemini: { functionResponse: { id: "call_1", name: "read", response: { output: "1: a\r\n\u{1F600}\u0000" } } },
  mcp: { content: [{ type: "text", text: "1: a\r\n\u{1F600}\u0000" }], isError: false },
});

check("a refusal is told as a success", answer([text("FS_NOT_OBSERVED: no")], { isError: true }), {
  anthropic: {
    type: "tool_result",
    tool_use_id: "call_1",
    content: [{ type: "text", text: "FS_NOT_OBSERVED: no" }],
    is_error: true,
  },
  openai: { type: "function_call_output", call_id: "call_1", output: "FS_NOT_OBSERVED: no" },
  "openai-chat": { role: "tool", tool_call_id: "call_1", content: "FS_NOT_OBSERVED: no" },
  gemini: { functionResponse: { id: "call_1", name: "read", response: { error: "FS_NOT_OBSERVED: no" } } },
  mcp: { content: [{ type: "text", text: "FS_NOT_OBSERVED: no" }], isError: true },
});

check("a picture is lost, or its place", answer([text("before"), PNG, text("after")]), {
  anthropic: {
    type: "tool_result",
    tool_use_id: "call_1",
    content: [
      { type: "text", text: "before" },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "iVBORw==" } },
      { type: "text", text: "after" },
    ],
    is_error: false,
  },
  openai: {
    type: "function_call_output",
    call_id: "call_1",
    output: [
      { type: "input_text", text: "before" },
      { type: "input_image", image_url: "data:image/png;base64,iVBORw==", detail: "auto" },
      { type: "input_text", text: "after" },
    ],
  },
  "openai-chat": {
    role: "tool",
    tool_call_id: "call_1",
    content: "before\n(a picture that cannot be shown here: image/png, 4 bytes)\nafter",
  },
  gemini: {
    functionResponse: {
      id: "call_1",
      name: "read",
      response: { output: "before\nafter" },
      parts: [{ inlineData: { mimeType: "image/png", data: "iVBORw==" } }],
    },
  },
  mcp: {
    content: [
      { type: "text", text: "before" },
      { type: "image", data: "iVBORw==", mimeType: "image/png" },
      { type: "text", text: "after" },
    ],
    isError: false,
  },
});

test("anthropic is sent a kind of picture that it refuses", () => {
  assert.deepEqual(toolResult(answer([SVG]), "anthropic").content, [
    { type: "text", text: "(a picture that cannot be shown here: image/svg+xml, 1 bytes)" },
  ]);
});

test("anthropic is sent a picture with an error, which it refuses", () => {
  assert.deepEqual(toolResult(answer([text("no"), PNG], { isError: true }), "anthropic").content, [
    { type: "text", text: "no" },
    { type: "text", text: "(a picture that cannot be shown here: image/png, 4 bytes)" },
  ]);
});

test("a failure without words is told as nothing", () => {
  const error = { reason: "FS_NOT_FOUND", message: "nothing is there" };
  const failed = answer([text("")], { isError: true, error });
  for (const format of ["anthropic", "openai", "openai-chat", "gemini", "mcp"] as const) {
    assert.match(JSON.stringify(convert(failed, format)), /"FS_NOT_FOUND: nothing is there"/);
    const remedied = { ...failed, error: { ...error, remedy: "look again" } };
    assert.match(JSON.stringify(convert(remedied, format)), /"FS_NOT_FOUND: nothing is there \(look again\)"/);
  }
});

check("a blank text makes a block that services refuse", answer([text(""), text(" \n")]), {
  anthropic: { type: "tool_result", tool_use_id: "call_1", content: [], is_error: false },
  openai: { type: "function_call_output", call_id: "call_1", output: "" },
  "openai-chat": { role: "tool", tool_call_id: "call_1", content: "" },
  gemini: { functionResponse: { id: "call_1", name: "read", response: { output: "" } } },
  mcp: { content: [], isError: false },
});

test("the bytes around a view of a picture go along", () => {
  const data = new Uint8Array([9, 0x89, 0x50, 0x4e, 0x47, 9]).subarray(1, 5);
  assert.deepEqual(toolResult(answer([{ ...PNG, data }]), "mcp").content, [
    { type: "image", data: "iVBORw==", mimeType: "image/png" },
  ]);
});

test("the id of the option loses against that of the call", () => {
  for (const format of ["anthropic", "openai", "openai-chat", "gemini"] as const) {
    const named = JSON.stringify(convert(answer([]), format, { id: "other" }));
    assert.match(named, /"other"/);
    assert.doesNotMatch(named, /call_1/);
  }
});

test("an empty id hides that of the call", () => {
  for (const format of ["anthropic", "openai", "openai-chat", "gemini"] as const) {
    assert.match(JSON.stringify(convert(answer([]), format, { id: "" })), /call_1/);
  }
});

test("an answer to no call is made where the format needs one", () => {
  for (const format of ["anthropic", "openai", "openai-chat"] as const) {
    assert.throws(() => convert(answer([], { toolCallId: "" }), format), {
      name: "ArgumentError",
      field: "id",
      message: /`toolCallId`/,
    });
  }
});

test("gemini, which may not name its calls, is told an empty name", () => {
  assert.deepEqual(convert(answer([text("x")], { toolCallId: "" }), "gemini"), {
    functionResponse: { name: "read", response: { output: "x" } },
  });
});

test("gemini is answered without the tool's name", () => {
  assert.throws(() => toolResult(answer([]), "gemini", { name: "" }), { name: "ArgumentError", field: "name" });
});

test("an unknown format is taken for another", () => {
  for (const format of ["json", "toString"]) {
    const refusal = { name: "ArgumentError", field: "format", message: /`openai-chat`/ };
    assert.throws(() => convert(answer([]), format as ResultFormat), refusal);
  }
});
