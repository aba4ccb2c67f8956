/** Content and listings that leave in parts, from a provider that makes them itself. */
import assert from "node:assert/strict";
import { once } from "node:events";
import * as http2 from "node:http2";
import { connect } from "node:net";
import { test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type Call,
  type ContentStream,
  type Entry,
  FsError,
  givenUp,
  type ResolveRequest,
  type TargetKey,
} from "../../src/provider/index.js";
import * as v1 from "../../src/v1.js";
import { until } from "../support/condition.js";
import { MemoryProvider, refusalOf, seamOf } from "./support.js";

type Pieces = ContentStream["pieces"];

/** Streams what it is told to. */
class Streaming extends MemoryProvider {
  constructor(
    readonly size: number,
    readonly pieces: () => Pieces,
    readonly entries: Entry[] = [],
  ) {
    super();
  }

  override async readText(): Promise<ContentStream> {
    return { size: this.size, pieces: this.pieces() };
  }

  override readBytes(): Promise<ContentStream> {
    return this.readText();
  }

  override async *listDir(): AsyncGenerator<Entry> {
    yield* this.entries;
  }
}

const KEY: TargetKey = Buffer.from("/ws/f");

async function collect(stream: AsyncIterable<v1.ReadTextResponse>): Promise<v1.ReadTextResponse["part"][]> {
  const parts: v1.ReadTextResponse["part"][] = [];
  for await (const { part } of stream) parts.push(part);
  return parts;
}

async function* of(version: string | undefined, ...texts: string[]): Pieces {
  for (const text of texts) yield Buffer.from(text);
  return version;
}

test("parts come in another order, or are lost", async () => {
  await using seam = await seamOf(new Streaming(5, () => of("v1", "ab", "", "cde")));
  const parts = await collect(seam.client.readText({ targetKey: KEY }));
  assert.deepEqual(
    parts.map((part) => part.case),
    ["header", "chunk", "chunk", "trailer"],
  );
  const [header, first, second, trailer] = parts;
  assert.ok(header?.case === "header" && header.value.size === 5n);
  assert.deepEqual(
    [first, second].map((part) => Buffer.from(part?.value as Uint8Array).toString()),
    ["ab", "cde"],
  );
  assert.ok(trailer?.case === "trailer" && trailer.value.version === "v1");
});

test("a part of a file comes with a version", async () => {
  await using seam = await seamOf(new Streaming(5, () => of(undefined, "ab")));
  const parts: unknown[] = [];
  for await (const { part } of seam.client.readBytes({ targetKey: KEY })) {
    if (part.case === "trailer") parts.push(part.value.version);
  }
  assert.deepEqual(parts, [""]);
});

test("a large piece is cut within a character, or leaves in one message", async () => {
  const text = `x${"\u{1F600}".repeat(50_000)}`;
  await using seam = await seamOf(new Streaming(text.length, () => of("v1", text)));
  const chunks: Uint8Array[] = [];
  for (const part of await collect(seam.client.readText({ targetKey: KEY }))) {
    if (part.case === "chunk") chunks.push(part.value);
  }
  assert.ok(chunks.length >= 4);
  for (const chunk of chunks) {
    assert.ok(chunk.length <= 64 << 10);
    new TextDecoder("utf-8", { fatal: true }).decode(chunk);
  }
  assert.equal(Buffer.concat(chunks).toString("utf8"), text);
});

test("an error behind some pieces is told as an end", async () => {
  async function* failing(): Pieces {
    yield Buffer.from("text");
    throw new FsError({ code: "FS_NOT_TEXT", byteOffset: 4 }, "it has a NUL byte");
  }
  await using seam = await seamOf(new Streaming(9, failing));
  const told = await refusalOf(collect(seam.client.readText({ targetKey: KEY })));
  assert.equal(told.reason, "FS_NOT_TEXT");
});

test("a caller that goes away leaves the provider's file open", async () => {
  let closed = () => {};
  const isClosed = new Promise<void>((resolve) => {
    closed = resolve;
  });
  async function* endless(): Pieces {
    try {
      for (;;) yield Buffer.alloc(1 << 16);
    } finally {
      closed();
    }
  }
  const mistakes: unknown[] = [];
  await using seam = await seamOf(new Streaming(0, endless), { onMistake: (mistake) => mistakes.push(mistake) });
  const gone = new AbortController();
  const reading = (async () => {
    for await (const { part } of seam.client.readBytes({ targetKey: KEY }, { signal: gone.signal })) {
      if (part.case === "chunk") gone.abort();
    }
  })();
  await assert.rejects(reading);
  await isClosed;
  assert.deepEqual(mistakes, []);
});

test("a caller that stops reading and goes away leaves the provider's file open, and a timer running", async () => {
  let isClosed = false;
  async function* endless(): Pieces {
    try {
      for (;;) yield Buffer.alloc(1 << 16);
    } finally {
      isClosed = true;
    }
  }
  await using seam = await seamOf(new Streaming(0, endless));
  const session = http2.connect("http://localhost", { createConnection: () => connect(seam.path) });
  await once(session, "connect");
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  // Nobody reads: once its window is full, the server waits in the middle of a message.
  const stream = session.request({
    ":method": "POST",
    ":path": "/toolfs.v1.FileSystemService/ReadBytes",
    "content-type": "application/grpc",
    "grpc-timeout": "1H",
    te: "trailers",
  });
  stream.on("error", () => {});
  const message = toBinary(v1.ReadBytesRequestSchema, create(v1.ReadBytesRequestSchema, { targetKey: KEY }));
  stream.end(Buffer.concat([Buffer.of(0, 0, 0, 0, message.length), message]));
  await until("the window is full", () => stream.readableLength >= 1 << 14);
  assert.ok(timers() > before, "there is a timer for the deadline");
  stream.close(http2.constants.NGHTTP2_CANCEL);
  await until("the file is closed", () => isClosed);
  await until("the timer is gone", () => timers() <= before);
  session.destroy();
});

test("a large directory leaves in one message, or loses a name", async () => {
  const entries = Array.from(
    { length: 3_000 },
    (_, at): Entry => ({ rawName: Buffer.from(`${at}-${"n".repeat(90)}`), kind: "regular" }),
  );
  await using seam = await seamOf(new Streaming(0, () => of(undefined), entries));
  const batches: number[] = [];
  for await (const batch of seam.client.listDir({ targetKey: KEY })) batches.push(batch.entries.length);
  assert.ok(batches.length > 2 && batches.every((count) => count > 0), `${batches}`);
  assert.equal(
    batches.reduce((sum, count) => sum + count),
    3_000,
  );
});

for (const name of ["", ".", "..", "a/b", "a\0"]) {
  test(`${JSON.stringify(name)} is listed as a name`, async () => {
    await using seam = await seamOf(
      new Streaming(0, () => of(undefined), [{ rawName: Buffer.from(name), kind: "regular" }]),
    );
    const listing = async () => {
      for await (const _ of seam.client.listDir({ targetKey: KEY }));
    };
    assert.equal((await refusalOf(listing())).reason, "FS_IO_ERROR");
  });
}

const causes: [name: string, reason: unknown, cause: string][] = [
  ["a caller that cancels", new ConnectError("", Code.Canceled), "cancelled"],
  ["a deadline", new ConnectError("", Code.DeadlineExceeded), "deadline-exceeded"],
  ["a timer", new DOMException("", "TimeoutError"), "deadline-exceeded"],
  ["anything else", new Error("x"), "cancelled"],
];

for (const [name, reason, cause] of causes) {
  test(`a call that is ended by ${name} has another cause than ${cause}`, () => {
    assert.deepEqual(givenUp(AbortSignal.abort(reason)).failure, { code: "FS_ABORTED", cause });
  });
}

test("a caller's deadline does not reach the provider", async () => {
  class Slow extends MemoryProvider {
    override resolve(_: ResolveRequest, call?: Call): never {
      return new Promise((_resolve, reject) => {
        call?.signal.addEventListener("abort", () => reject(givenUp(call.signal)));
      }) as never;
    }
  }
  await using seam = await seamOf(new Slow());
  // Told to the provider alone: the caller itself waits on.
  const headers = { "grpc-timeout": "50m" };
  const told = await refusalOf(seam.client.resolve({ location: { case: "path", value: "f" } }, { headers }));
  assert.deepEqual([told.grpc, told.reason], [Code.DeadlineExceeded, "FS_ABORTED"]);
});
