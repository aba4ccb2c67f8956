/** A provider in memory, and a client of the seam: what the tests of a served provider need. */
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  type Entry,
  type FileStat,
  type Limits,
  type Provider,
  type Replacement,
  type ResolveRequest,
  refusal,
  type ServeOptions,
  serveProvider,
  type Target,
  type TargetKey,
  WholeFileProvider,
} from "../../src/provider/index.js";
import * as v1 from "../../src/v1.js";

/** Files in memory under `/ws`. Their keys are their absolute paths; directories are there when something is beneath. */
export class MemoryProvider extends WholeFileProvider {
  readonly files = new Map<string, Buffer>();
  /** Is called before each replacement, as whoever changes files from outside. */
  beforeReplace: (key: string) => void = () => {};
  /** What each replacement answers beside that it is in place. */
  answer: Exclude<Replacement, "moved"> = {};
  /** Is waited for by each read, so that calls can be made to meet. */
  beforeRead: () => Promise<void> = async () => {};

  constructor(limits: Partial<Limits> = {}) {
    super({ name: "memory-test", roots: [{ rawPath: Buffer.from("/ws") }], limits });
  }

  /** Puts a file there, from outside. */
  put(path: string, content: string | Uint8Array): void {
    this.files.set(path, Buffer.from(content as string));
  }

  /** The content of a file as text. */
  text(path: string): string | undefined {
    return this.files.get(path)?.toString("utf8");
  }

  override resolve({ path }: ResolveRequest): Target {
    const text = Buffer.from(path).toString("utf8");
    const rawPath = Buffer.from(text.startsWith("/ws") ? text : `/ws/${text}`);
    const rule = this.protectedRule(rawPath);
    const named = rule === undefined ? {} : { protectedRule: rule };
    return { key: rawPath, rawPath, displayPath: rawPath.toString(), ...named };
  }

  override async lstat(request: ResolveRequest): Promise<FileStat> {
    const { key, displayPath } = this.resolve(request);
    const stat = this.find(key);
    if (stat === undefined) throw refusal.notFound(displayPath);
    return stat;
  }

  override contains(ancestor: TargetKey, target: TargetKey): boolean {
    const [above, below] = [pathOf(ancestor), pathOf(target)];
    return below === above || below.startsWith(`${above}/`);
  }

  protected override rawPath(key: TargetKey): Uint8Array {
    if (!pathOf(key).startsWith("/ws")) throw refusal.foreignKey();
    return key;
  }

  protected override find(key: TargetKey): FileStat | undefined {
    const path = pathOf(key);
    const file = this.files.get(path);
    if (file !== undefined) return { kind: "regular", size: file.length, mode: 0o644 };
    const isDirectory = path === "/ws" || [...this.files.keys()].some((other) => other.startsWith(`${path}/`));
    return isDirectory ? { kind: "directory", size: 0 } : undefined;
  }

  protected override async read(key: TargetKey): Promise<Uint8Array | undefined> {
    await this.beforeRead();
    return this.files.get(pathOf(key));
  }

  protected override *list(key: TargetKey): Generator<Entry> {
    const start = `${pathOf(key)}/`;
    for (const path of this.files.keys()) {
      const rest = path.slice(start.length);
      if (path.startsWith(start) && !rest.includes("/")) yield { rawName: Buffer.from(rest), kind: "regular" };
    }
  }

  protected override siblings(key: TargetKey): Iterable<Uint8Array> {
    const path = pathOf(key);
    return Array.from(this.list(Buffer.from(path.slice(0, path.lastIndexOf("/")))), ({ rawName }) => rawName);
  }

  protected override replace(key: TargetKey, expected: string | undefined, content: Uint8Array): Replacement {
    const path = pathOf(key);
    this.beforeReplace(path);
    const now = this.files.get(path);
    if ((now === undefined ? undefined : this.versionOf(now)) !== expected) return "moved";
    this.files.set(path, Buffer.from(content));
    return this.answer;
  }
}

function pathOf(key: TargetKey): string {
  return Buffer.from(key).toString("utf8");
}

/** A service at a private socket, and a client of it. */
export interface Peer<S extends DescService> extends AsyncDisposable {
  readonly client: Client<S>;
  /** Where it is, and the path of its socket. */
  readonly address: string;
  readonly path: string;
  close(): Promise<void>;
}

/** Serves something at a private socket, and connects to it. */
export async function peerOf<S extends DescService>(
  service: S,
  serve: (address: string) => Promise<{ address: string; close(): Promise<void> }>,
): Promise<Peer<S>> {
  const home = mkdtempSync(join(tmpdir(), "toolfs-seam-"));
  const path = join(home, "s.sock");
  const served = await serve(`unix:${path}`);
  const transport = createGrpcTransport({
    baseUrl: "http://localhost",
    nodeOptions: { createConnection: () => connect(path) },
  });
  const close = async () => {
    await served.close();
    rmSync(home, { recursive: true, force: true });
  };
  return {
    client: createClient(service, transport),
    address: served.address,
    path,
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A provider that is served, and a client of it. */
export function seamOf(provider: Provider, options: ServeOptions = {}): Promise<Peer<typeof v1.FileSystemService>> {
  return peerOf(v1.FileSystemService, (address) => serveProvider(provider, address, { drainMs: 500, ...options }));
}

/** What a status told. */
export interface Told {
  readonly grpc: number;
  readonly reason: string;
  readonly domain: string;
  readonly message: string;
  readonly fsError: v1.FsError | undefined;
}

/** The refusal of a call, which must not succeed. */
export async function refusalOf(call: Promise<unknown>): Promise<Told> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error === undefined) throw new Error("the call succeeded, and a refusal was due");
  const status = ConnectError.from(error);
  const { reason = "", domain = "" } = errorInfo(status);
  const fsError = status.findDetails(v1.FsErrorSchema)[0];
  return { grpc: status.code, reason, domain, message: status.rawMessage, fsError };
}

function errorInfo(status: ConnectError): { reason?: string; domain?: string } {
  for (const detail of status.details) {
    if (!("type" in detail) || detail.type !== "google.rpc.ErrorInfo") continue;
    const reader = new BinaryReader(detail.value);
    const fields = new Map<number, string>();
    while (reader.pos < reader.len) {
      const [field] = reader.tag();
      fields.set(field, reader.string());
    }
    return { reason: fields.get(1) ?? "", domain: fields.get(2) ?? "" };
  }
  return {};
}
