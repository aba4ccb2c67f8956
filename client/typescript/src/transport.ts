/**
 * The connection: how it is made, and shared within the process.
 *
 * A connection is made when the first call needs it, and again when a call finds it lost. Clients of the same address
 * with the same options share one; it is closed with the last of them. An idle connection does not keep the process
 * alive.
 */
import { createHash } from "node:crypto";
import type { ClientHttp2Stream } from "node:http2";
import net from "node:net";
import tls from "node:tls";
import { Code, ConnectError as RpcError, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { type Address, isLocal, parseAddress } from "./address.js";
import { mendAnswer } from "./answer-stream.js";
import { ArgumentError } from "./error.js";

/** What TLS needs. All texts are PEM. `{}` is TLS with the certificate authorities that Node.js knows. */
export interface Tls {
  /** The certificate authorities that may have signed the server's certificate; those of Node.js otherwise. */
  ca?: string | Buffer | undefined;
  /** The client's own certificate, for mutual TLS. */
  cert?: string | Buffer | undefined;
  /** The key of `cert`. */
  key?: string | Buffer | undefined;
  /** The name that the server's certificate must have; the host of the address otherwise. */
  serverName?: string | undefined;
}

/** How to connect. */
export interface TransportOptions {
  /** Makes the connection a TLS one. */
  tls?: Tls | undefined;
  /** How long connecting may take, in milliseconds. Default 5,000. */
  connectTimeoutMs?: number | undefined;
  /** After how long without an answer the connection is asked for a sign of life, in milliseconds. Default 30,000. */
  keepaliveMs?: number | undefined;
  /** How long it may take to give it, in milliseconds. Default 10,000. */
  keepaliveTimeoutMs?: number | undefined;
  /** The largest message in either direction, in bytes. Default 64 MiB. The server announces its own. */
  maxMessageBytes?: number | undefined;
}

/** The largest message in either direction unless an option says otherwise, in bytes. */
export const DEFAULT_MAX_MESSAGE_BYTES = 64 << 20;

/** Why a request was not sent: no connection could be made, or it is too large. The cause of an error. */
export class NotSent extends Error {}

/** A connection that several clients share. */
export interface SharedTransport {
  /** Where to. */
  readonly address: Address;
  /** What calls go through. */
  readonly transport: Transport;
  /** Whether the connection is, or will be, one with TLS. */
  readonly secure: boolean;
  /** The largest message in either direction, in bytes. */
  readonly maxMessageBytes: number;
  /** Gives it back; the last one to do so closes it. Give it back once. */
  release(): void;
}

interface Entry {
  shared: SharedTransport;
  users: number;
}

const entries = new Map<string, Entry>();

/**
 * The transport of this process for an address and these options.
 *
 * @throws ArgumentError for an address that is none, and for a certificate without its key
 */
export function acquireTransport(addressText: string, options: TransportOptions): SharedTransport {
  const { cert, key: privateKey } = options.tls ?? {};
  if ((cert === undefined) !== (privateKey === undefined)) {
    throw new ArgumentError("tls", "needs `cert` and `key` together, or neither");
  }
  const key = keyOf(addressText, options);
  const entry = entries.get(key) ?? open(key, parseAddress(addressText), options);
  entry.users += 1;
  return entry.shared;
}

/** How many transports this process has open. */
export function openTransports(): number {
  return entries.size;
}

/**
 * Refuses to send a token where others can read it.
 *
 * @throws ArgumentError
 */
export function refuseExposedToken(shared: SharedTransport): void {
  if (shared.secure || isLocal(shared.address)) return;
  const { text } = shared.address;
  throw new ArgumentError("token", `would travel to \`${text}\` unencrypted: connect with \`tls\``);
}

function open(key: string, address: Address, options: TransportOptions): Entry {
  const secure = options.tls !== undefined;
  const maxMessageBytes = options.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES;
  const baseUrl = `${secure ? "https" : "http"}://${authorityOf(address)}`;
  const connection = new Http2SessionManager(
    baseUrl,
    { pingIntervalMs: options.keepaliveMs ?? 30_000, pingTimeoutMs: options.keepaliveTimeoutMs ?? 10_000 },
    { createConnection: () => openSocket(address, secure, options), settings: { enablePush: false } },
  );
  let guarded: ClientHttp2Stream["session"];
  const transport = createGrpcTransport({
    baseUrl,
    readMaxBytes: maxMessageBytes,
    writeMaxBytes: maxMessageBytes,
    // Answers are small or local: unpacking them would cost more than it saves.
    acceptCompression: [],
    sessionManager: {
      authority: connection.authority,
      async request(...request) {
        try {
          const stream = await connection.request(...request);
          if (stream.session !== guarded) guarded = guard(stream.session);
          mendAnswer(stream);
          return stream;
        } catch (cause) {
          const message = cause instanceof RpcError ? cause.rawMessage : String(cause);
          throw new RpcError(message, Code.Unavailable, undefined, undefined, new NotSent(message, { cause }));
        }
      },
      notifyResponseByteRead: (stream) => connection.notifyResponseByteRead(stream),
    },
  });
  const release = () => {
    entry.users -= 1;
    if (entry.users > 0) return;
    entries.delete(key);
    connection.abort();
  };
  const entry = { shared: { address, transport, secure, maxMessageBytes, release }, users: 0 };
  entries.set(key, entry);
  return entry;
}

/**
 * A connection that is given up while its end is being told would end the process: the manager no longer listens then.
 * Whoever has a call on it is told by the call.
 */
function guard(session: ClientHttp2Stream["session"]): ClientHttp2Stream["session"] {
  return session?.on("error", () => {});
}

function openSocket(address: Address, secure: boolean, options: TransportOptions): net.Socket {
  const to = address.kind === "unix" ? { path: address.path } : { host: address.host, port: address.port };
  const socket = secure ? tls.connect({ ...to, ...tlsOptions(address, options.tls ?? {}) }) : net.connect(to);
  const timeoutMs = options.connectTimeoutMs ?? 5_000;
  const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${timeoutMs} ms`)), timeoutMs);
  const stop = () => clearTimeout(timer);
  socket.once(secure ? "secureConnect" : "connect", stop).once("close", stop);
  return socket;
}

function tlsOptions(address: Address, options: Tls): tls.ConnectionOptions {
  const { ca, cert, key } = options;
  const host = address.kind === "unix" ? "localhost" : address.host;
  const serverName = options.serverName ?? host;
  return {
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ALPNProtocols: ["h2"],
    // An IP address is no server name in TLS, but the certificate is judged by it all the same.
    ...(net.isIP(serverName) === 0 && { servername: serverName }),
    checkServerIdentity: (_, certificate) => tls.checkServerIdentity(serverName, certificate),
  };
}

function authorityOf(address: Address): string {
  if (address.kind === "unix") return "localhost";
  return `${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`;
}

/** What two clients must have in common to share a connection. Key material is in it as a digest only. */
function keyOf(address: string, options: TransportOptions): string {
  const { tls: material, ...rest } = options;
  const hash = createHash("sha256");
  for (const part of material ? [material.ca, material.cert, material.key, material.serverName] : []) {
    hash.update(part === undefined ? "absent;" : `${Buffer.byteLength(part)};`).update(part ?? "");
  }
  const numbers = [rest.connectTimeoutMs, rest.keepaliveMs, rest.keepaliveTimeoutMs, rest.maxMessageBytes];
  return JSON.stringify([address, material ? hash.digest("hex") : null, ...numbers.map((number) => number ?? null)]);
}
