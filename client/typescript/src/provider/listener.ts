/** Serving gRPC services over HTTP/2 without TLS, at a Unix socket or a TCP port. */
import { lstatSync, unlinkSync } from "node:fs";
import * as http2 from "node:http2";
import { type AddressInfo, connect } from "node:net";
import { isMainThread } from "node:worker_threads";
import { Code, ConnectError, type ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { type Address, parseAddress } from "./address.js";

/** How to serve. */
export interface ServeOptions {
  /** Allow TCP addresses that other hosts can reach. Nothing authenticates callers there. Default: false. */
  readonly allowRemote?: boolean;
  /** Milliseconds that calls in flight have to end once `close` is called. Default: 10,000. */
  readonly drainMs?: number;
  /** Milliseconds for which the caller of a write may send nothing. Default: 30,000. */
  readonly patienceMs?: number;
  /**
   * Is told whatever was thrown that is no `FsError`; the caller hears only that a mistake was made. Default: prints it
   * to standard error.
   */
  readonly onMistake?: (mistake: unknown) => void;
}

/** The options with their defaults. */
export function withDefaults(options: ServeOptions): Required<ServeOptions> {
  const onMistake = (mistake: unknown) => console.error("toolfs: a mistake of the provider or gate:", mistake);
  return { allowRemote: false, drainMs: 10_000, patienceMs: 30_000, onMistake, ...options };
}

/** Something that is served. */
export interface Served {
  /** Where: as `toolfs serve --provider` and `--policy` take it, the port filled in. */
  readonly address: string;
  /** Takes no more calls, lets those in flight end within the drain limit, and frees the address. */
  close(): Promise<void>;
}

/**
 * Serves some services, and resolves once they can be called.
 *
 * @throws ArgumentError for an address that is none, or beyond loopback unasked; the error of the system when it cannot be taken
 */
export async function listen(
  address: string,
  options: Required<ServeOptions>,
  maxMessageBytes: number,
  routes: (router: ConnectRouter) => void,
): Promise<Served> {
  const place = parseAddress(address, options.allowRemote);
  if ("path" in place) await removeDeadSocket(place.path);
  const adapter = connectNodeAdapter({
    routes,
    // The seam is gRPC alone: what a browser could send is not even looked at.
    grpc: true,
    grpcWeb: false,
    connect: false,
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
  });
  // A message is held by the session until it is whole; Node's own bound of 10 MB would end it.
  const maxSessionMemory = Math.max(64, Math.ceil((4 * maxMessageBytes) / 1e6));
  const server = http2.createServer(
    { maxSessionMemory, settings: { initialWindowSize: 1 << 20 } },
    (request, response) => {
      endWithCaller(response);
      adapter(request, response);
    },
  );
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    // A window of one stream for all of them would let one slow call stop the others.
    session.setLocalWindowSize(16 << 20);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => session.destroy());
  });
  await bound(server, place);
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= closed(server, sessions, options.drainMs);
    return closing;
  };
  return { address: shown(server, place), close };
}

/**
 * The adapter waits without end to go on writing to a caller that is gone, and keeps what it writes from, and the timer
 * of the call, which would hold the process until the deadline. Nothing else listens for errors of a response.
 */
function endWithCaller(response: http2.Http2ServerResponse): void {
  response.once("close", () => {
    if (response.listenerCount("error") === 0) return;
    response.emit("error", new ConnectError("the caller is gone", Code.Aborted));
  });
}

function bound(server: http2.Http2Server, place: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    const ready = () => {
      server.off("error", reject);
      resolve();
    };
    if ("path" in place) withOwnersMask(() => server.listen({ path: place.path }, ready));
    else server.listen({ host: place.host, port: place.port }, ready);
  });
}

/** A socket is made for its owner only: it is bound while this runs. Only the main thread can set the mask. */
function withOwnersMask(bind: () => void): void {
  if (!isMainThread)
    throw new Error("a Unix socket can be served from the main thread only: its mask is the process's");
  const before = process.umask(0o177);
  try {
    bind();
  } finally {
    process.umask(before);
  }
}

/** Removes the socket that a process left behind that is no more; a living one, and anything else, stays. */
async function removeDeadSocket(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return;
  const isDead = await new Promise<boolean>((resolve) => {
    const socket = connect(path);
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
  });
  if (isDead) unlinkSync(path);
}

function shown(server: http2.Http2Server, place: Address): string {
  if ("path" in place) return `unix:${place.path}`;
  const { port } = server.address() as AddressInfo;
  return place.host.includes(":") ? `grpc://[${place.host}]:${port}` : `grpc://${place.host}:${port}`;
}

async function closed(
  server: http2.Http2Server,
  sessions: Set<http2.ServerHttp2Session>,
  drainMs: number,
): Promise<void> {
  const end = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  for (const session of sessions) session.close();
  const limit = setTimeout(() => {
    for (const session of sessions) session.destroy();
  }, drainMs);
  await end;
  clearTimeout(limit);
}
