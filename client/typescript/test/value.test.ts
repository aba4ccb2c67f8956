/** The pure values: arguments, plain objects, codes, addresses. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import { isLocal, parseAddress } from "../src/address.js";
import { editCall, executeRequest, isHarmless, jsonCall, readCall, writeCall } from "../src/call.js";
import { CallReason, FsErrorCode, statusName } from "../src/code.js";
import { ArgumentError, ProtocolError, ToolError, ToolfsError, toPlain } from "../src/index.js";
import { decode, ModelReply } from "../src/reply.js";
import {
  ExecuteResponseSchema,
  FsErrorSchema,
  FsErrorCode as Numbers,
  Published,
  ReadOutcomeSchema,
  TooLargeDetailSchema,
} from "../src/v1.js";

const HALF = "\ud83d";

function refused(field: string, build: () => unknown): void {
  assert.throws(build, (error) => {
    assert.ok(error instanceof ArgumentError && error instanceof ToolfsError, String(error));
    assert.equal(error.field, field);
    return error.message.startsWith(`\`${field}\` `);
  });
}

test("half a surrogate pair is refused by the name of its field", () => {
  refused("file_path", () => readCall({ file_path: HALF }));
  refused("content", () => writeCall({ file_path: "a", content: `a${HALF}` }));
  refused("old_string", () => editCall({ file_path: "a", old_string: HALF, new_string: "" }));
  refused("new_string", () => editCall({ file_path: "a", old_string: "a", new_string: HALF }));
  refused("name", () => jsonCall(HALF, {}));
  refused("arguments", () => jsonCall("read", `{"file_path":"${HALF}"}`));
  refused("content", () => jsonCall("write", { file_path: "a", content: HALF }));
  refused("content.0.deep", () => jsonCall("write", { content: [{ deep: HALF }] }));
  refused("arguments", () => jsonCall("write", { [HALF]: 1 }));
  refused("content", () => jsonCall("write", { content: { [HALF]: 1 } }));
  refused("toolCallId", () => executeRequest("", readCall({ file_path: "a" }), { toolCallId: HALF }));
});

test("whole characters pass, and what only looks like an escape", () => {
  const call = jsonCall("write", { content: "\u{1f600} \\ud83d" });
  assert.equal(call.value && "argumentsJson" in call.value && call.value.argumentsJson, '{"content":"😀 \\\\ud83d"}');
});

test("JSON text is sent byte for byte", () => {
  const text = ' {"file_path" : "a",\n"file_path": 1e400, "x": "\\ud83d"} trailing';
  const call = jsonCall("read", text);
  assert.equal(call.case === "json" && call.value.argumentsJson, text);
});

test("arguments that are neither an object nor text are refused", () => {
  for (const none of [[], null, undefined, 5]) refused("arguments", () => jsonCall("read", none as object));
  const call = jsonCall("read", {});
  assert.equal(call.case === "json" && call.value.argumentsJson, "{}");
});

test("arguments that JSON would change or cannot hold are refused", () => {
  refused("limit", () => jsonCall("read", { limit: Number.NaN }));
  refused("deep.0", () => jsonCall("read", { deep: [Number.POSITIVE_INFINITY] }));
  refused("arguments", () => jsonCall("read", { limit: 1n }));
  refused("arguments", () => jsonCall("read", { toJSON: () => undefined }));
  const circle: { self?: object } = {};
  circle.self = circle;
  refused("arguments", () => jsonCall("read", circle));
  const call = jsonCall("read", { limit: null, file_path: "null" });
  assert.equal(call.case === "json" && call.value.argumentsJson, '{"limit":null,"file_path":"null"}');
});

test("what is no text where a text is due is refused", () => {
  refused("file_path", () => readCall({ file_path: 5 as unknown as string }));
  refused("content", () => writeCall({ file_path: "a", content: null as unknown as string }));
});

test("a switch that is no boolean is taken for true", () => {
  const no = "false" as unknown as boolean;
  const read = readCall({ file_path: "a" });
  refused("replace_all", () => editCall({ file_path: "a", old_string: "b", new_string: "", replace_all: no }));
  refused("dryRun", () => executeRequest("", read, { dryRun: no }));
  refused("dryRun", () => executeRequest("", read, { dryRun: null as unknown as boolean }));
});

test("what JSON cannot see into is sent as if it were empty", () => {
  const map = new Map([["file_path", "a"]]);
  for (const none of [map, new Set(["a"]), Promise.resolve({}), /a/, new Date(0), Object("a"), { toJSON: () => "a" }]) {
    refused("arguments", () => jsonCall("read", none));
  }
  class Arguments {
    file_path = "a";
  }
  for (const some of [new Arguments(), Object.assign(Object.create(null), { file_path: "a" })]) {
    const call = jsonCall("read", some);
    assert.equal(call.case === "json" && call.value.argumentsJson, '{"file_path":"a"}');
  }
  const empty = jsonCall("read", Object.create(null));
  assert.equal(empty.case === "json" && empty.value.argumentsJson, "{}");
});

test("a view that there is not is refused", () => {
  const options = { view: "Full" as "full" };
  refused("view", () => executeRequest("", readCall({ file_path: "a" }), options));
});

test("an integer that would arrive as another one is refused", () => {
  refused("offset", () => readCall({ file_path: "a", offset: 1.5 }));
  refused("limit", () => readCall({ file_path: "a", limit: 2 ** 53 }));
  refused("offset", () => readCall({ file_path: "a", offset: Number.NaN }));
  refused("offset", () => readCall({ file_path: "a", offset: 2n ** 63n }));
  refused("limit", () => readCall({ file_path: "a", limit: "5" as unknown as number }));
  const call = readCall({ file_path: "a", offset: 2n ** 60n });
  assert.equal(call.case === "read" && call.value.offset, 2n ** 60n);
});

test("an argument that is not given is absent, and an empty one is not", () => {
  const call = editCall({ file_path: "a", old_string: "b", new_string: "" });
  assert.ok(call.case === "edit");
  assert.equal(call.value.newString, "");
  assert.equal(call.value.replaceAll, undefined);
});

test("only reads and dry runs are harmless", () => {
  const harmless = (call: Parameters<typeof executeRequest>[1], dryRun = false) =>
    isHarmless(executeRequest("s", call, { dryRun }));
  assert.ok(harmless(readCall({ file_path: "a" })));
  assert.ok(harmless(jsonCall("read", "{}")));
  assert.ok(harmless(writeCall({ file_path: "a", content: "" }), true));
  assert.ok(!harmless(writeCall({ file_path: "a", content: "" })));
  assert.ok(!harmless(jsonCall("write", "{}")));
  assert.ok(!harmless(jsonCall("unheard-of", "{}")));
});

test("a message becomes a plain object with numbers", () => {
  const outcome = create(ReadOutcomeSchema, { path: "/a", totalLines: 3n, lines: [{ number: 1n, text: "x" }] });
  const plain = toPlain(outcome);
  assert.equal(plain.totalLines, 3);
  assert.equal(plain.nextOffset, undefined);
  assert.deepEqual(plain.lines, [{ number: 1, text: "x" }]);
  assert.ok(!("$typeName" in plain));
  assert.equal(JSON.parse(JSON.stringify(plain)).path, "/a");
});

test("an integer that a number cannot hold is not rounded", () => {
  const detail = create(TooLargeDetailSchema, { limitBytes: 2n ** 53n });
  assert.throws(() => toPlain(detail), /`limitBytes` is 9007199254740992/);
});

test("a success whose integers are too large is a success all the same", () => {
  const response = create(ExecuteResponseSchema, {
    outcome: { case: "write", value: { path: "/a", size: 2n ** 60n } },
  });
  const result = decode(response, "write");
  assert.throws(() => result.outcome, RangeError);
  assert.ok(result.response.outcome.case === "write" && result.response.outcome.value.size === 2n ** 60n);
});

test("every code and reason of the contract is named", () => {
  const codes = Object.values(Numbers).filter((name) => typeof name === "string" && name !== "FS_UNSPECIFIED");
  assert.deepEqual(Object.keys(FsErrorCode), codes);
  const table = readFileSync(new URL("../../../proto/code.rs", import.meta.url), "utf8");
  const reasons = [...table.matchAll(/^ {4}[A-Z][A-Za-z]+ "([A-Z_]+)" [A-Z][A-Za-z]+;/gm)].map((match) => match[1]);
  assert.ok(reasons.length > 10);
  assert.deepEqual(Object.keys(CallReason), reasons);
  for (const [key, value] of Object.entries({ ...FsErrorCode, ...CallReason })) assert.equal(key, value);
});

test("a code of a newer server keeps its spelling, and an enum its number", () => {
  const raw = create(FsErrorSchema, { code: 99 as Numbers, reason: "FS_NEWER", published: 7 as Published });
  const error = new ToolError(raw);
  assert.equal(error.code, "FS_NEWER");
  assert.equal(error.published, 7);
  assert.equal(error.retryable, false);
  assert.equal(new ToolError(create(FsErrorSchema, { code: 99 as Numbers })).code, "FS_UNSPECIFIED");
  assert.equal(new ToolError(create(FsErrorSchema, { code: Numbers.FS_NO_SPACE })).code, "FS_NO_SPACE");
  assert.equal(statusName(5), "NOT_FOUND");
  assert.equal(statusName(77), "CODE_77");
});

test("an effect that could not be made durable is told beside the error", () => {
  const response = create(ExecuteResponseSchema, {
    content: [{ block: { case: "text", value: "careful" } }],
    error: { reason: "FS_IO_ERROR", message: "no fsync", published: Published.YES },
    outcome: { case: "write", value: { path: "/a", size: 1n } },
  });
  const reply = new ModelReply(response);
  assert.ok(reply.isError);
  for (const error of [reply.error, catching(() => decode(response, "write"))]) {
    assert.ok(error instanceof ToolError);
    assert.equal(error.published, Published.YES);
    assert.ok(error.outcome?.case === "write" && error.outcome.value.size === 1);
    assert.deepEqual(error.content, [{ type: "text", text: "careful" }]);
    assert.equal(error.text, "careful");
  }
});

test("a block of a kind that is not known is left out of what a model reads", () => {
  const content = [
    { block: { case: "text" as const, value: "a" } },
    {},
    { block: { case: "text" as const, value: "b" } },
  ];
  const reply = new ModelReply(create(ExecuteResponseSchema, { content }));
  assert.equal(reply.text, "a\nb");
});

test("an answer can be logged and made JSON of", () => {
  const reply = new ModelReply(create(ExecuteResponseSchema, { outcome: { case: "write", value: { size: 1n } } }));
  assert.match(JSON.stringify(reply), /"size":1/);
  assert.match(inspect(reply), /isError: false/);
});

test("an answer that is marked as an error and has none is told to a model as a success", () => {
  const text = { block: { case: "text" as const, value: "no" } };
  const response = create(ExecuteResponseSchema, { isError: true, content: [text] });
  const reply = new ModelReply(response);
  assert.ok(reply.isError);
  assert.equal(reply.error, undefined);
  assert.equal(reply.asResult("anthropic", { id: "c" }).is_error, true);
  assert.equal(reply.asResult("mcp").isError, true);
  const outcome = { case: "write" as const, value: {} };
  for (const marked of [response, create(ExecuteResponseSchema, { isError: true, outcome })]) {
    assert.throws(() => decode(marked, "write"), ProtocolError);
  }
});

test("an answer with another tool's outcome is no success", () => {
  const response = create(ExecuteResponseSchema, { outcome: { case: "write", value: {} } });
  assert.throws(() => decode(response, "read"), ProtocolError);
});

test("numbers that are no address are told by another error", () => {
  for (const text of ["127.999.1.1:1", "1.2.3.4.5:1", "[1:2]:1", "[::g]:1", "unix:/a\0b"]) {
    refused("address", () => parseAddress(text));
  }
});

test("addresses are read, and what is none is refused", () => {
  const tcp = { kind: "tcp", host: "127.0.0.1", port: 50051 };
  assert.deepEqual(parseAddress("127.0.0.1:50051"), { ...tcp, text: "127.0.0.1:50051" });
  assert.deepEqual(parseAddress("[::1]:7"), { ...tcp, host: "::1", port: 7, text: "[::1]:7" });
  assert.deepEqual(parseAddress("unix:/run/t.sock"), { kind: "unix", path: "/run/t.sock", text: "unix:/run/t.sock" });
  assert.deepEqual(parseAddress("unix:///run/t.sock").kind === "unix" && parseAddress("unix:///run/t.sock"), {
    kind: "unix",
    path: "/run/t.sock",
    text: "unix:///run/t.sock",
  });
  for (const none of ["", "unix:", "localhost", "localhost:0", "localhost:70000", "ftp://a:1", "a b:1", "::1:1"]) {
    refused("address", () => parseAddress(none));
  }
});

test("an address with a scheme is taken, as if the scheme alone made it safe", () => {
  for (const url of ["http://127.0.0.1:50051", "https://a.example:1", "HTTPS://a.example:1/"]) {
    refused("address", () => parseAddress(url));
    assert.match(String(catching(() => parseAddress(url))), /without a scheme, .*the option `tls`/);
  }
});

test("an address that is no text fails with an error of the language", () => {
  for (const none of [5, null, undefined, new URL("unix:/run/t.sock"), { path: "/run/t.sock" }]) {
    refused("address", () => parseAddress(none as unknown as string));
  }
});

test("only what stays on this machine is local", () => {
  for (const local of ["unix:/a", "127.0.0.1:1", "127.9.9.9:1", "localhost:1", "[::1]:1"]) {
    assert.ok(isLocal(parseAddress(local)), local);
  }
  for (const remote of ["10.0.0.1:1", "127.0.0.1.example:1", "localhost.example:1", "0.0.0.0:1", "[::]:1"]) {
    assert.ok(!isLocal(parseAddress(remote)), remote);
  }
});

function catching(build: () => unknown): unknown {
  try {
    return build();
  } catch (error) {
    return error;
  }
}
