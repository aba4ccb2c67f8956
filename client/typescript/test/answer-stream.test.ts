/** Answers that break the rules of the transport. */
import assert from "node:assert/strict";
import { once } from "node:events";
import http2, { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { CallError, Toolfs } from "../src/index.js";
import { errorInfo } from "./support/scripted.js";

/** The error of a call that a server answers so. */
async function failureOf(respond: (stream: ServerHttp2Stream) => void): Promise<CallError> {
  const server = http2.createServer({ maxSendHeaderBlockLength: 1 << 20 });
  const sessions: http2.ServerHttp2Session[] = [];
  server.on("session", (session) => sessions.push(session));
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    stream.resume().once("end", () => respond(stream));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = Toolfs.connect(`127.0.0.1:${(server.address() as AddressInfo).port}`, { retry: false });
  try {
    return await client.capabilities({ deadlineMs: 20_000 }).then(
      () => assert.fail("the call must fail"),
      (error: unknown) => {
        assert.ok(error instanceof CallError, `${error}`);
        return error;
      },
    );
  } finally {
    await client.close();
    const closed = once(server, "close");
    server.close();
    for (const session of sessions) session.destroy();
    await closed;
  }
}

const HEADERS = { ":status": 200, "content-type": "application/grpc" };

/** A status in the head of the answer, or behind it. */
const WAYS = {
  "in its head": (status: OutgoingHttpHeaders) => (stream: ServerHttp2Stream) =>
    stream.respond({ ...HEADERS, ...status }, { endStream: true }),
  "at its end": (status: OutgoingHttpHeaders) => (stream: ServerHttp2Stream) => {
    stream.respond(HEADERS, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers(status));
    stream.end();
  },
};

test("a stream that ends without an answer or an error is waited for", async () => {
  for (const code of [constants.NGHTTP2_NO_ERROR, constants.NGHTTP2_CANCEL, constants.NGHTTP2_ENHANCE_YOUR_CALM]) {
    const { status, message } = await failureOf((stream) => stream.close(code));
    assert.notEqual(status, "DEADLINE_EXCEEDED", `${code}: ${message}`);
  }
  const { status, message } = await failureOf((stream) => stream.close(constants.NGHTTP2_NO_ERROR));
  assert.equal(status, "UNAVAILABLE");
  assert.match(message, /the stream ended without an answer$/);
});

test("an answer whose head is too large is waited for", async () => {
  const huge = { ...HEADERS, "grpc-status": "5", "x-huge": "a".repeat(100_000) };
  const { status } = await failureOf((stream) => stream.respond(huge, { endStream: true }));
  assert.notEqual(status, "DEADLINE_EXCEEDED");
});

function statusBytes(write: (writer: BinaryWriter) => BinaryWriter): string {
  return Buffer.from(write(new BinaryWriter().tag(1, 0).int32(5).tag(2, 2).string("gone")).finish()).toString("base64");
}

function any(writer: BinaryWriter, type: string, value: Uint8Array): BinaryWriter {
  return writer.tag(3, 2).fork().tag(1, 2).string(`type.googleapis.com/${type}`).tag(2, 2).bytes(value).join();
}

const garbage = new Uint8Array([0x0a, 0x05, 0xff]);

for (const [name, details] of Object.entries({
  "of other bytes": Buffer.from([0xff, 0xfe, 0x00, 0x67]).toString("base64"),
  "that are cut off": Buffer.from([0x08, 0x05, 0x12, 0x7f, 0x67]).toString("base64"),
  "in the place of others": Buffer.from([0x1a, 0x02, 0x08, 0x05]).toString("base64"),
  "of fields of another type": Buffer.from([0x0a, 0x01, 0x67]).toString("base64"),
  "that are no base64": "\u0001%%%",
  "whose reason is other bytes": statusBytes((writer) => any(writer, "google.rpc.ErrorInfo", garbage)),
  "whose delay is other bytes": statusBytes((writer) => any(writer, "google.rpc.RetryInfo", garbage)),
  "whose delay holds other bytes": statusBytes((writer) =>
    any(writer, "google.rpc.RetryInfo", new Uint8Array([0x0a, 0x01, 0xff])),
  ),
  "whose error is other bytes": statusBytes((writer) => any(writer, "toolfs.v1.FsError", garbage)),
})) {
  for (const [place, respond] of Object.entries(WAYS)) {
    test(`details ${name}, ${place}, hide the status that came with them`, async () => {
      const told = { "grpc-status": "5", "grpc-message": "gone", "grpc-status-details-bin": details };
      const { status, message, reason, retryDelayMs } = await failureOf(respond(told));
      assert.deepEqual([status, message, reason, retryDelayMs], ["NOT_FOUND", "gone", "", undefined]);
    });
  }
}

for (const [place, respond] of Object.entries(WAYS)) {
  test(`details that can be read are left out, ${place}`, async () => {
    const { type, value } = errorInfo("SESSION_NOT_FOUND");
    // A field that is not known yet goes before.
    const details = statusBytes((writer) => any(writer.tag(9, 2).string("new"), type, value));
    const { reason } = await failureOf(respond({ "grpc-status": "5", "grpc-status-details-bin": details }));
    assert.equal(reason, "SESSION_NOT_FOUND");
  });
}
