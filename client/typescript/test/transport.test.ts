/** Connections: shared, secured, bounded, and lost. */
import assert from "node:assert/strict";
import { once } from "node:events";
import http2 from "node:http2";
import net from "node:net";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { inspect } from "node:util";
import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { ArgumentError, ConnectError, Toolfs, type ToolfsError } from "../src/index.js";
import { openTransports } from "../src/transport.js";
import { GetCapabilitiesResponseSchema, ToolService } from "../src/v1.js";
import { makeCertificates } from "./support/certificate.js";
import { answer, serveRoutes, serveScript } from "./support/scripted.js";
import { startServer } from "./support/server.js";

const MIB = 1 << 20;

/** Answers with what it was shown: the bearer token, and the name in the client's certificate. */
function mirror(seen: (string | null)[]) {
  return (router: ConnectRouter) => {
    router.rpc(ToolService.method.getCapabilities, (_, context) => {
      seen.push(context.requestHeader.get("authorization"));
      return create(GetCapabilitiesResponseSchema, { serverVersion: "1.2.3" });
    });
  };
}

test("clients of one address share a connection, which ends with the last of them", async () => {
  let connections = 0;
  await using server = await startServer();
  const before = openTransports();
  const counting = net.createServer((near) => {
    connections += 1;
    const far = net.connect(server.address.slice("unix:".length));
    for (const socket of [near, far]) socket.on("error", () => {});
    near.pipe(far).pipe(near);
  });
  counting.listen(0, "127.0.0.1");
  await once(counting, "listening");
  const address = `127.0.0.1:${(counting.address() as net.AddressInfo).port}`;
  const first = Toolfs.connect(address);
  const second = Toolfs.connect(address);
  const apart = Toolfs.connect(address, { maxMessageBytes: MIB });
  assert.equal(openTransports() - before, 2);
  for (const client of [first, second, apart]) await client.capabilities();
  assert.equal(connections, 2);
  await first.close();
  await first.close();
  await second.capabilities();
  assert.equal(connections, 2);
  await assert.rejects(first.capabilities(), /the client is closed/);
  await second.close();
  await apart.close();
  assert.equal(openTransports(), before);
  const closed = once(counting, "close");
  counting.close();
  await closed;
});

test("a deadline, a token or a retry policy of its own makes no other connection", async () => {
  const before = openTransports();
  const address = "127.0.0.1:9";
  const clients = [{}, { deadlineMs: 5 }, { token: "t" }, { retry: false as const }].map((options) =>
    Toolfs.connect(address, options),
  );
  assert.equal(openTransports() - before, 1);
  for (const client of clients) await client.close();
  assert.equal(openTransports(), before);
});

test("a server is known by its authority, and only by that", async () => {
  const certificates = makeCertificates();
  const seen: (string | null)[] = [];
  await using server = await serveRoutes(mirror(seen), { ...certificates.server });
  const port = server.address.split(":")[1];
  const { ca } = certificates;
  const reached = async (address: string, options: Parameters<typeof Toolfs.connect>[1]) => {
    await using client = Toolfs.connect(address, { retry: false, ...options });
    return (await client.capabilities()).serverVersion;
  };
  assert.equal(await reached(server.address, { tls: { ca } }), "1.2.3");
  assert.equal(await reached(`localhost:${port}`, { tls: { ca: Buffer.from(ca) } }), "1.2.3");
  assert.equal(await reached(server.address, { tls: { ca, serverName: "files.example" } }), "1.2.3");
  const refused = (pattern: RegExp) => (error: ToolfsError) =>
    error instanceof ConnectError && pattern.test(error.message);
  await assert.rejects(reached(server.address, { tls: {} }), refused(/certificate/));
  await assert.rejects(
    reached(server.address, { tls: { ca, serverName: "other.example" } }),
    refused(/other\.example/),
  );
  await assert.rejects(reached(server.address, {}), { retryable: true });
});

test("a client shows its own certificate and its token, fresh for each call", async () => {
  const certificates = makeCertificates();
  const { ca } = certificates;
  const seen: (string | null)[] = [];
  const tls = { ...certificates.server, ca, requestCert: true, rejectUnauthorized: true };
  await using server = await serveRoutes(mirror(seen), tls);
  let asked = 0;
  const token = async () => {
    asked += 1;
    return `token-${asked}`;
  };
  await using client = Toolfs.connect(server.address, { tls: { ca, ...certificates.client }, token });
  await client.capabilities();
  await client.capabilities();
  assert.deepEqual(seen, ["Bearer token-1", "Bearer token-2"]);
  await using anonymous = Toolfs.connect(server.address, { tls: { ca }, token: "t", retry: false });
  await assert.rejects(anonymous.capabilities());
  assert.equal(seen.length, 2);
});

test("the server sees the certificate of the client", async () => {
  const certificates = makeCertificates();
  const { ca } = certificates;
  const names: unknown[] = [];
  const routes = mirror([]);
  const handler = connectNodeAdapter({ routes, connect: false, grpcWeb: false });
  const tls = { ...certificates.server, ca, requestCert: true };
  const server = http2.createSecureServer(tls, (request, response) => {
    names.push((request.socket as TLSSocket).getPeerCertificate().subject.CN);
    handler(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = `127.0.0.1:${(server.address() as net.AddressInfo).port}`;
  const client = Toolfs.connect(address, { tls: { ca, ...certificates.client } });
  await client.capabilities();
  assert.deepEqual(names, ["client"]);
  const closed = once(server, "close");
  server.close();
  await client.close();
  await closed;
});

test("a token is not sent where others can read it", () => {
  const before = openTransports();
  for (const address of ["10.0.0.1:1", "files.example:1"]) {
    assert.throws(
      () => Toolfs.connect(address, { token: "t" }),
      (error) => {
        assert.ok(error instanceof ArgumentError && error.field === "token" && !error.retryable);
        assert.match(error.message, /unencrypted: connect with `tls`$/);
        return true;
      },
    );
  }
  assert.equal(openTransports(), before);
});

test("a certificate without its key is found out by a server", () => {
  const { cert, key } = { cert: "PEM", key: "PEM" };
  const before = openTransports();
  for (const tls of [{ cert }, { key }]) {
    assert.throws(() => Toolfs.connect("127.0.0.1:1", { tls }), { name: "ArgumentError", field: "tls" });
  }
  assert.equal(openTransports(), before);
});

test("a token reaches a server on this machine without encryption", async () => {
  const seen: (string | null)[] = [];
  await using server = await serveRoutes(mirror(seen));
  await using client = Toolfs.connect(server.address, { token: "t" });
  await client.capabilities();
  assert.deepEqual(seen, ["Bearer t"]);
});

test("secrets show neither in logs nor in JSON", async () => {
  await using server = await serveScript({ execute: () => answer() });
  await using client = Toolfs.connect(server.address, { token: "secret-of-the-token" });
  const session = await client.openSession();
  assert.equal(session.id, "secret-of-the-session");
  const options = { depth: null, showHidden: true };
  for (const shown of [
    inspect(session, options),
    JSON.stringify(session),
    inspect(client, options),
    JSON.stringify(client),
  ]) {
    assert.doesNotMatch(shown, /secret-of/);
  }
});

test("contents of 5 and of 32 MiB travel both ways", async () => {
  await using server = await startServer({
    args: [
      "--max-content-bytes",
      String(40 * MIB),
      "--max-window-bytes",
      String(40 * MIB),
      "--max-limit-lines",
      "2000000",
    ],
  });
  await using client = Toolfs.connect(server.address);
  await using session = await client.openSession();
  for (const mebibytes of [5, 32]) {
    const content = `${"0123456789abcde".repeat(64)}\n`.repeat((mebibytes * MIB) / 961);
    const file_path = `${mebibytes}.txt`;
    await session.write({ file_path, content });
    const { text } = await session.read({ file_path, limit: 2_000_000 });
    const lines = text.slice(0, text.lastIndexOf("\n\n(") + 1).replace(/^[0-9]+: /gm, "");
    assert.ok(lines === content, `${file_path} came back as it is`);
  }
});

test("a request above the limit is not sent, and says what to do", async () => {
  await using server = await startServer();
  await using client = Toolfs.connect(server.address, { maxMessageBytes: MIB });
  await using session = await client.openSession();
  const write = session.write({ file_path: "a.txt", content: "x".repeat(MIB + 1) });
  await assert.rejects(write, (error: ToolfsError) => {
    assert.match(
      error.message,
      /^the request of 10486\d\d bytes was not sent: `maxMessageBytes` is 1048576; connect with/,
    );
    return !error.retryable;
  });
  await session.write({ file_path: "a.txt", content: "x" });
});

test("an answer above the limit is not read, and says what to do", async () => {
  const content = [{ block: { case: "text" as const, value: "x".repeat(MIB + 1) } }];
  await using server = await serveScript({ execute: () => answer({ content }) });
  await using client = Toolfs.connect(server.address, { maxMessageBytes: MIB });
  // The adapter of the server keeps its timer for the deadline of a call that was given up.
  await assert.rejects(
    client.call("read", {}, { deadlineMs: 2_000 }),
    /RESOURCE_EXHAUSTED: the answer of 10485\d\d bytes was not read/,
  );
});

test("connecting takes no longer than it may", async () => {
  await using silent = await serveSilence();
  await using client = Toolfs.connect(silent.address, { tls: {}, connectTimeoutMs: 50, retry: false });
  await assert.rejects(client.capabilities(), /no connection within 50 ms/);
});

test("a silent connection is found out by keepalive", async () => {
  await using silent = await serveSilence();
  await using client = Toolfs.connect(silent.address, { keepaliveMs: 50, keepaliveTimeoutMs: 50, retry: false });
  await assert.rejects(client.capabilities(), { status: "UNAVAILABLE", retryable: true });
});

test("a client that is closed while its server goes away does not end the process", async () => {
  const uncaught: unknown[] = [];
  const note = (error: unknown) => uncaught.push(error);
  process.on("uncaughtException", note);
  // The moment between the two is short: each round waits for another number of turns of the loop.
  for (let turns = 0; turns < 24; turns += 1) {
    const sessions: http2.ServerHttp2Session[] = [];
    const server = http2.createServer(connectNodeAdapter({ routes: mirror([]), connect: false, grpcWeb: false }));
    server.on("session", (session) => sessions.push(session));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = Toolfs.connect(`127.0.0.1:${(server.address() as net.AddressInfo).port}`);
    await client.capabilities();
    const closed = once(server, "close");
    server.close();
    for (const session of sessions) session.close();
    for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    await client.close();
    await closed;
  }
  await new Promise((resolve) => setImmediate(resolve));
  process.off("uncaughtException", note);
  assert.deepEqual(uncaught, []);
});

/** Takes connections, and says nothing. */
async function serveSilence(): Promise<AsyncDisposable & { address: string }> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    address: `127.0.0.1:${(server.address() as net.AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
