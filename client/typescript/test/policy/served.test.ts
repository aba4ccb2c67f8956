/** The gate behind a real server: what an agent may change is decided here. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ObservationGate } from "../../examples/observation-gate.js";
import { ToolError, Toolfs } from "../../src/index.js";
import { serveGate } from "../../src/policy/index.js";
import * as v1 from "../../src/v1.js";
import { peerOf } from "../provider/support.js";
import { startServer } from "../support/server.js";

async function codeOf(call: Promise<unknown>): Promise<string | undefined> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error !== undefined && !(error instanceof ToolError)) throw error;
  return error?.code;
}

test("a server with a gate in TypeScript lets an agent change what it has not seen", async () => {
  await using gate = await peerOf(v1.PolicyService, (address) => serveGate(new ObservationGate(), address));
  await using server = await startServer({ args: ["--policy", gate.address] });
  const path = join(server.directory, "notes.txt");
  writeFileSync(path, "one\ntwo\n");
  await using client = await Toolfs.connect(server.address);
  await using session = await client.openSession();
  const change = { file_path: "notes.txt", old_string: "two", new_string: "2" };

  assert.equal(await codeOf(session.edit(change)), "FS_NOT_OBSERVED");
  assert.equal(await codeOf(session.write({ file_path: "notes.txt", content: "lost" })), "FS_NOT_OBSERVED");
  await session.read({ file_path: "notes.txt" });
  await session.edit(change);
  await session.edit({ ...change, old_string: "one", new_string: "1" });
  assert.equal(readFileSync(path, "utf8"), "1\n2\n");

  writeFileSync(path, "theirs\n");
  assert.equal(await codeOf(session.write({ file_path: "notes.txt", content: "lost" })), "FS_STALE_VERSION");
  await session.read({ file_path: "notes.txt" });
  await session.forget(["notes.txt"]);
  assert.equal(await codeOf(session.write({ file_path: "notes.txt", content: "lost" })), "FS_NOT_OBSERVED");
  await session.write({ file_path: "new.txt", content: "mine\n" });
  assert.equal(readFileSync(join(server.directory, "new.txt"), "utf8"), "mine\n");
  assert.equal(readFileSync(path, "utf8"), "theirs\n");
});

test("a gate that is gone lets a mutation happen", async () => {
  const gate = await peerOf(v1.PolicyService, (address) => serveGate(new ObservationGate(), address, { drainMs: 200 }));
  await using server = await startServer({ args: ["--policy", gate.address] });
  await using client = await Toolfs.connect(server.address, { retry: { attempts: 1 } });
  await using session = await client.openSession();
  await gate.close();
  assert.equal(await codeOf(session.write({ file_path: "new.txt", content: "x" })), "FS_UNAVAILABLE");
  assert.throws(() => readFileSync(join(server.directory, "new.txt")), { code: "ENOENT" });
});
