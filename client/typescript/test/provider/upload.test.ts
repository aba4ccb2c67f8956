/** Hostile streams of content: what does not hold together publishes nothing. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type * as v1 from "../../src/v1.js";
import { MemoryProvider, refusalOf, seamOf } from "./support.js";

type Message = MessageInitShape<typeof v1.WriteTextRequestSchema>;
type Guard = MessageInitShape<typeof v1.WriteGuardSchema>;

const KEY = Buffer.from("/ws/f");
const UNCONDITIONAL: Guard = { condition: { case: "unconditional", value: {} } };

function header(size: number, rest: { targetKey?: Uint8Array; guard?: Guard } = {}): Message {
  const { targetKey = KEY, guard = UNCONDITIONAL } = rest;
  return { part: { case: "header", value: { targetKey, guard, size: BigInt(size) } } };
}

function chunk(text: string): Message {
  return { part: { case: "chunk", value: Buffer.from(text) } };
}

function sha256(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function trailer(sha: Uint8Array | undefined): Message {
  return { part: { case: "trailer", value: sha === undefined ? {} : { sha256: sha } } };
}

async function* sent(messages: readonly Message[]): AsyncGenerator<Message> {
  yield* messages;
}

/** Sends both a write and a plan of it; neither changes anything, and both are refused alike. */
async function refused(messages: readonly Message[], reason: string, field?: string): Promise<void> {
  const provider = new MemoryProvider({ maxContentBytes: 100 });
  provider.put("/ws/f", "old");
  await using seam = await seamOf(provider);
  const write = await refusalOf(seam.client.writeText(sent(messages)));
  const plan = await refusalOf(seam.client.planWrite(sent(messages) as AsyncIterable<object>));
  for (const told of [write, plan]) {
    assert.equal(told.reason, reason);
    assert.equal(told.domain, "toolfs");
    const { detail } = told.fsError ?? {};
    assert.equal(detail?.case === "invalidArgument" ? detail.value.field : undefined, field);
  }
  assert.equal(provider.text("/ws/f"), "old");
  assert.deepEqual([...provider.files.keys()], ["/ws/f"]);
}

const INVALID = "FS_INVALID_ARGUMENT";
const whole = [header(3), chunk("new"), trailer(sha256("new"))];

const hostile: [name: string, messages: Message[], reason: string, field?: string][] = [
  ["no part at all", [], INVALID, "header"],
  ["a header alone", [header(3)], INVALID, "trailer"],
  ["no trailer", [header(3), chunk("new")], INVALID, "trailer"],
  ["no trailer after nothing", [header(0)], INVALID, "trailer"],
  ["the digest of other content", [header(3), chunk("new"), trailer(sha256("old"))], INVALID, "sha256"],
  ["a digest that is cut", [header(3), chunk("new"), trailer(sha256("new").subarray(1))], INVALID, "sha256"],
  ["no digest", [header(3), chunk("new"), trailer(undefined)], INVALID, "sha256"],
  ["too many bytes", [header(3), chunk("new "), trailer(sha256("new "))], INVALID, "size"],
  ["too many bytes in two chunks", [header(3), chunk("ne"), chunk("ws"), trailer(sha256("news"))], INVALID, "size"],
  ["too few bytes", [header(3), chunk("ne"), trailer(sha256("ne"))], INVALID, "size"],
  ["two headers", [header(3), header(3), chunk("new"), trailer(sha256("new"))], INVALID, "header"],
  [
    "a header in the middle",
    [header(3), chunk("n"), header(3), chunk("ew"), trailer(sha256("new"))],
    INVALID,
    "header",
  ],
  ["a chunk first", [chunk("new"), header(3), trailer(sha256("new"))], INVALID, "chunk"],
  ["a trailer first", [trailer(sha256("")), header(0)], INVALID, "trailer"],
  ["a chunk after the trailer", [...whole, chunk("er")], INVALID, "chunk"],
  ["a header after the trailer", [...whole, header(3)], INVALID, "header"],
  ["a second trailer", [...whole, trailer(sha256("new"))], INVALID, "trailer"],
  ["a part that is none", [header(3), {}, chunk("new"), trailer(sha256("new"))], INVALID, "part"],
  ["a part that is none after the trailer", [...whole, {}], INVALID, "part"],
  ["no target", [header(3, { targetKey: new Uint8Array() }), ...whole.slice(1)], INVALID, "target_key"],
  ["a negative size", [header(-1), ...whole.slice(1)], INVALID, "size"],
  [
    "a version that is none",
    [header(3, { guard: { condition: { case: "replaceIfVersion", value: "a b" } } })],
    INVALID,
    "replace_if_version",
  ],
  ["more than a write may hold", [header(101), ...whole.slice(1)], "FS_TOO_LARGE"],
  ["no guard", [{ part: { case: "header", value: { targetKey: KEY, size: 3n } } }, ...whole.slice(1)], "GUARD_MISSING"],
  ["a guard that is not known", [header(3, { guard: {} }), ...whole.slice(1)], "GUARD_MISSING"],
  [
    "no size",
    [{ part: { case: "header", value: { targetKey: KEY, guard: UNCONDITIONAL } } }, ...whole.slice(1)],
    INVALID,
    "size",
  ],
];

for (const [name, messages, reason, field] of hostile) {
  test(`a stream with ${name} publishes something`, () => refused(messages, reason, field));
}

test("a stream that holds together publishes nothing", async () => {
  const provider = new MemoryProvider();
  await using seam = await seamOf(provider);
  const { report } = await seam.client.writeText(sent(whole));
  assert.equal(provider.text("/ws/f"), "new");
  assert.equal(report?.size, 3n);
  assert.equal(report?.previousSize, undefined);
});

test("a caller that goes away in the middle publishes something", async () => {
  const provider = new MemoryProvider();
  await using seam = await seamOf(provider);
  const gone = new AbortController();
  async function* abandoned(): AsyncGenerator<Message> {
    yield header(3);
    yield chunk("new");
    gone.abort();
    // The stream never ends by itself.
    await new Promise(() => {});
  }
  await assert.rejects(seam.client.writeText(abandoned(), { signal: gone.signal }));
  await seam.client.getProviderCapabilities({});
  assert.deepEqual([...provider.files.keys()], []);
});

test("a caller that falls silent is waited for without end", async () => {
  const provider = new MemoryProvider();
  await using seam = await seamOf(provider, { patienceMs: 50 });
  async function* silent(): AsyncGenerator<Message> {
    yield header(3);
    await new Promise(() => {});
  }
  const told = await refusalOf(seam.client.writeText(silent()));
  assert.equal(told.reason, "FS_ABORTED");
  assert.match(told.message, /sent nothing for 0.05 s/);
  assert.deepEqual([...provider.files.keys()], []);
});

test("content of many megabytes does not arrive", async () => {
  const provider = new MemoryProvider();
  await using seam = await seamOf(provider);
  const piece = Buffer.alloc(1 << 20, "0123456789abcde\n");
  const content = Buffer.concat(Array.from({ length: 12 }, () => piece));
  const digest = createHash("sha256").update(content).digest();
  async function* large(): AsyncGenerator<Message> {
    yield header(content.length);
    for (let at = 0; at < content.length; at += piece.length) {
      yield { part: { case: "chunk", value: content.subarray(at, at + piece.length) } };
    }
    yield trailer(digest);
  }
  await seam.client.writeText(large());
  assert.ok(provider.files.get("/ws/f")?.equals(content));
  const read: Uint8Array[] = [];
  for await (const { part } of seam.client.readText({ targetKey: KEY })) {
    if (part.case === "chunk") read.push(part.value);
  }
  assert.ok(Buffer.concat(read).equals(content));
});
