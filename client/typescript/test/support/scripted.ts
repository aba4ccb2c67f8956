/** A server whose answers a test writes. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { Code, type ConnectRouter, type HandlerContext, ConnectError as RpcError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  type ExecuteRequest,
  type ExecuteResponse,
  ExecuteResponseSchema,
  GetCapabilitiesResponseSchema,
  SessionService,
  ToolService,
} from "../../src/v1.js";

export interface Scripted extends AsyncDisposable {
  address: string;
}

/** Serves these routes over a Unix socket, or with TLS on a port of loopback. */
export async function serveRoutes(
  routes: (router: ConnectRouter) => void,
  tls?: http2.SecureServerOptions,
): Promise<Scripted> {
  const home = mkdtempSync(join(tmpdir(), "toolfs-scripted-"));
  const handler = connectNodeAdapter({ routes, connect: false, grpcWeb: false });
  const server = tls ? http2.createSecureServer(tls, handler) : http2.createServer(handler);
  const sessions = new Set<http2.Http2Session>();
  server.on("session", (session: http2.Http2Session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  const path = join(home, "scripted.sock");
  if (tls) server.listen(0, "127.0.0.1");
  else server.listen(path);
  await once(server, "listening");
  return {
    address: tls ? `127.0.0.1:${(server.address() as AddressInfo).port}` : `unix:${path}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      await closed;
      rmSync(home, { recursive: true, force: true });
    },
  };
}

/** What the tool service of a script does. */
export interface Script {
  execute(request: ExecuteRequest, context: HandlerContext): Promise<ExecuteResponse> | ExecuteResponse;
  /** How long results are remembered, in seconds; absent: not at all. */
  rememberedSeconds?: number;
  /** What the server does before it tells its capabilities. */
  beforeCapabilities?(): Promise<void>;
}

export interface ScriptedTools extends Scripted {
  /** Every request to `Execute`, in the order of arrival. */
  requests: ExecuteRequest[];
  /** How often each other method was called. */
  calls: Map<string, number>;
}

/** A server with sessions that all exist, and with the tool calls of a script. */
export async function serveScript(script: Script): Promise<ScriptedTools> {
  const requests: ExecuteRequest[] = [];
  const calls = new Map<string, number>();
  const count = (name: string) => calls.set(name, (calls.get(name) ?? 0) + 1);
  const scripted = await serveRoutes((router) => {
    router.service(ToolService, {
      execute(request, context) {
        requests.push(request);
        return script.execute(request, context);
      },
      async getCapabilities() {
        count("getCapabilities");
        await script.beforeCapabilities?.();
        const seconds = script.rememberedSeconds;
        const window = seconds === undefined ? {} : { requestIdWindow: { seconds: BigInt(seconds) } };
        return create(GetCapabilitiesResponseSchema, window);
      },
    });
    router.service(SessionService, {
      openSession() {
        count("openSession");
        return { sessionId: "secret-of-the-session", session: { name: "session-1" } };
      },
    });
  });
  return { ...scripted, requests, calls };
}

/** An answer with what is needed of it. */
export function answer(init: MessageInitShape<typeof ExecuteResponseSchema> = {}): ExecuteResponse {
  return create(ExecuteResponseSchema, init);
}

/** A status `UNAVAILABLE`, with what a server asks to wait. */
export function unavailable(retryDelayMs?: number): RpcError {
  const error = new RpcError("try later", Code.Unavailable);
  if (retryDelayMs !== undefined) error.details = [{ type: "google.rpc.RetryInfo", value: retryInfo(retryDelayMs) }];
  return error;
}

/** The details by which a status of toolfs tells its reason. */
export function errorInfo(reason: string, domain = "toolfs"): { type: string; value: Uint8Array } {
  const writer = new BinaryWriter();
  writer.tag(1, 2).string(reason).tag(2, 2).string(domain);
  return { type: "google.rpc.ErrorInfo", value: writer.finish() };
}

function retryInfo(delayMs: number): Uint8Array {
  const duration = new BinaryWriter();
  duration.tag(1, 0).int64(BigInt(Math.floor(delayMs / 1000)));
  duration.tag(2, 0).int32((delayMs % 1000) * 1_000_000);
  return new BinaryWriter().tag(1, 2).bytes(duration.finish()).finish();
}
