/** Where a provider is served, and how that ends. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { serveProvider } from "../../src/provider/index.js";
import { MemoryProvider, refusalOf, seamOf } from "./support.js";

const home = mkdtempSync(join(tmpdir(), "toolfs-listener-"));
after(() => rmSync(home, { recursive: true, force: true }));

for (const address of [
  "",
  "unix:",
  "host",
  "host:",
  ":1",
  "127.0.0.1:70000",
  "127.0.0.1:x",
  "a:b:1",
  "http://127.0.0.1:1",
]) {
  test(`\`${address}\` is taken for an address`, async () => {
    await assert.rejects(serveProvider(new MemoryProvider(), address), { name: "ArgumentError", field: "address" });
  });
}

for (const address of ["0.0.0.0:0", "[::]:0", "192.0.2.1:1", "files.example:1"]) {
  test(`\`${address}\` is served to other hosts unasked`, async () => {
    await assert.rejects(serveProvider(new MemoryProvider(), address), /`allowRemote`/);
  });
}

test("a socket is open to others than its owner", async () => {
  await using seam = await seamOf(new MemoryProvider());
  assert.equal(statSync(seam.path).mode & 0o777, 0o600);
});

test("a port of the system's choice is not told", async () => {
  const served = await serveProvider(new MemoryProvider(), "127.0.0.1:0", { drainMs: 100 });
  assert.match(served.address, /^grpc:\/\/127\.0\.0\.1:[1-9][0-9]*$/);
  await served.close();
});

test("a socket that nobody listens at is in the way", async () => {
  const path = join(home, "dead.sock");
  const dead = createServer().listen(path);
  await new Promise((resolve) => dead.once("listening", resolve));
  // What a killed process leaves behind: the name, and nobody who listens.
  const kept = join(home, "kept.sock");
  const { linkSync } = await import("node:fs");
  linkSync(path, kept);
  await new Promise((resolve) => dead.close(resolve));
  assert.ok(existsSync(kept));
  const served = await serveProvider(new MemoryProvider(), `unix:${kept}`);
  await served.close();
  assert.ok(!existsSync(kept));
});

test("a living socket is taken over", async () => {
  await using seam = await seamOf(new MemoryProvider());
  await assert.rejects(serveProvider(new MemoryProvider(), seam.address), { code: "EADDRINUSE" });
  await seam.client.getProviderCapabilities({});
});

test("a file that is no socket is removed", async () => {
  const path = join(home, "file");
  writeFileSync(path, "precious");
  await assert.rejects(serveProvider(new MemoryProvider(), `unix:${path}`), { code: "EADDRINUSE" });
  assert.ok(existsSync(path));
});

test("an open connection keeps a provider from closing", async () => {
  const seam = await seamOf(new MemoryProvider());
  await seam.client.getProviderCapabilities({});
  await seam.close();
  assert.ok(!existsSync(seam.path));
  await seam.close();
});

test("closing cuts off a call in flight", async () => {
  const memory = new MemoryProvider();
  memory.put("/ws/f", "old");
  let goOn = () => {};
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let begun = () => {};
  const isHeld = new Promise<void>((resolve) => {
    begun = resolve;
  });
  memory.beforeRead = () => {
    begun();
    return held;
  };
  const seam = await seamOf(memory, { drainMs: 60_000 });
  const guard = { condition: { case: "unconditional", value: {} } } as const;
  const call = seam.client.editText({ targetKey: Buffer.from("/ws/f"), guard, oldString: "old", newString: "new" });
  await isHeld;
  const closed = seam.close();
  goOn();
  await call;
  await closed;
  assert.equal(memory.text("/ws/f"), "new");
});

test("a message above the limit is taken", async () => {
  const memory = new MemoryProvider({ maxMessageBytes: 1_000 });
  await using seam = await seamOf(memory);
  const location = { case: "path", value: "x".repeat(2_000) } as const;
  const told = await refusalOf(seam.client.resolve({ location }));
  assert.deepEqual([told.reason, told.grpc], ["", 8]);
});
