/**
 * A provider in TypeScript: serves one directory of this Linux host to `toolfs serve --provider`.
 *
 *     npx tsx examples/directory-provider.ts /srv/project unix:/tmp/files.sock
 *     toolfs serve --provider unix:/tmp/files.sock
 *
 * It is confined to the directory, replaces files atomically and durably (temporary file, fsync, rename), and follows
 * links beneath the directory. What it leaves to the built-in provider: noticing a writer that changes the file between
 * its last look and the rename, extended attributes, and files larger than memory.
 */
import { randomBytes } from "node:crypto";
import { realpathSync, type Stats } from "node:fs";
import * as fs from "node:fs/promises";
import { pathToFileURL } from "node:url";
import {
  type Call,
  displayForm,
  type Entry,
  type FileStat,
  FsError,
  fileUrl,
  type Limits,
  type Notice,
  protectedRule,
  type Replacement,
  type ResolveRequest,
  refusal,
  serveProvider,
  type Target,
  type TargetKey,
  WholeFileProvider,
} from "toolfs/provider";
import { ConfinedTree, endsAsDirectory, kindOf, type Names, namesOf } from "./confined-tree.js";

/** Set-user-id and set-group-id: a write of an unprivileged process drops them. */
const PRIVILEGE_BITS = 0o6000;

/** Serves one directory. Its keys are `/` and the names beneath it; one more `/` asks for a directory. */
export class DirectoryProvider extends WholeFileProvider {
  readonly #tree: ConfinedTree;

  /** `directory` is what is served, under its real path. */
  constructor(directory: string, limits: Partial<Limits> = {}) {
    const root = realpathSync.native(Buffer.from(directory), { encoding: "buffer" });
    super({ name: "directory", roots: [{ rawPath: root }], durability: "full", limits });
    this.#tree = new ConfinedTree(root);
  }

  override async resolve(request: ResolveRequest): Promise<Target> {
    const { names, shown } = this.#asked(request);
    const wantsDirectory = endsAsDirectory(Buffer.from(request.path));
    const found = await this.#tree.walk(names, shown, wantsDirectory, true);
    const rawPath = this.#tree.absolute(found.names);
    const key = keyOf(found.names, wantsDirectory && found.stats === undefined);
    // The spelling counts too: what a protected name is a link to may lie anywhere.
    const rule = protectedRule(Buffer.concat(names.flatMap((name) => [name, SLASH])), this.protectedPatterns);
    const protectedBy = rule ?? this.protectedRule(key);
    return {
      key,
      rawPath,
      displayPath: displayForm(rawPath),
      processPath: rawPath,
      fileUrl: fileUrl(rawPath),
      ...(protectedBy === undefined ? {} : { protectedRule: protectedBy }),
    };
  }

  override async lstat(request: ResolveRequest): Promise<FileStat> {
    const { names, shown } = this.#asked(request);
    const { stats } = await this.#tree.walk(names, shown, endsAsDirectory(Buffer.from(request.path)), false);
    if (stats === undefined) throw refusal.notFound(shown);
    return statOf(stats);
  }

  override contains(ancestor: TargetKey, target: TargetKey): boolean {
    const [above, below] = [this.#names(ancestor), this.#names(target)];
    return above.every((name, index) => below[index]?.equals(name) === true);
  }

  protected override rawPath(key: TargetKey): Uint8Array {
    return this.#tree.absolute(this.#names(key));
  }

  protected override asksForDirectory(key: TargetKey): boolean {
    return key.length > 1 && key.at(-1) === 0x2f;
  }

  /** Walked anew each time: a name above may have become a link, which is followed beneath the root and never out. */
  protected override async locate(key: TargetKey): Promise<TargetKey> {
    const found = await this.#tree.walk(this.#names(key), this.displayPath(key), false, true);
    return keyOf(found.names, this.asksForDirectory(key) && found.stats === undefined);
  }

  protected override async find(key: TargetKey): Promise<FileStat | undefined> {
    const stats = await this.#tree.stat(this.#names(key), this.displayPath(key));
    return stats === undefined ? undefined : statOf(stats);
  }

  protected override async read(key: TargetKey): Promise<Uint8Array | undefined> {
    const shown = this.displayPath(key);
    try {
      const file = await this.#tree.open(this.#names(key), shown);
      try {
        return await file.readFile();
      } finally {
        await file.close();
      }
    } catch (error) {
      const failure = refusal.ofSystemError(error, shown);
      if (failure.code === "FS_NOT_FOUND") return undefined;
      throw failure;
    }
  }

  protected override async *list(key: TargetKey): AsyncGenerator<Entry> {
    for (const entry of await this.#tree.list(this.#names(key), this.displayPath(key))) {
      yield { rawName: entry.name, kind: kindOf(entry) };
    }
  }

  protected override async siblings(key: TargetKey): Promise<Iterable<Uint8Array>> {
    try {
      const entries = await this.#tree.list(this.#names(key).slice(0, -1), this.displayPath(key));
      return entries.map((entry) => entry.name);
    } catch {
      // No hint can be given then, which is no reason to fail.
      return [];
    }
  }

  protected override async replace(
    key: TargetKey,
    expected: string | undefined,
    content: Uint8Array,
    call: Call,
  ): Promise<Replacement> {
    const [names, shown] = [this.#names(key), this.displayPath(key)];
    const made = expected === undefined ? await this.#tree.makeParents(names, shown) : [];
    return this.#tree.inParent(names, shown, async (path, parent): Promise<Replacement> => {
      const old = expected === undefined ? undefined : await fs.lstat(path).catch(() => undefined);
      if (expected !== undefined && old?.isFile() !== true) return "moved";
      const temporary = Buffer.concat([path.subarray(0, path.lastIndexOf(0x2f) + 1), temporaryName()]);
      try {
        const notices = await writeWhole(temporary, content, old);
        if (call.signal.aborted) throw new FsError({ code: "FS_ABORTED" }, "the call was cancelled, nothing changed");
        if (!(await this.#place(key, path, temporary, expected))) return "moved";
        return { notices, ...(await this.#durable(parent, made, shown)) };
      } finally {
        await fs.rm(temporary, { force: true });
      }
    });
  }

  /** Publishes in one step. Creating is a link, which never replaces anything. */
  async #place(key: TargetKey, path: Buffer, temporary: Buffer, expected: string | undefined): Promise<boolean> {
    if (expected === undefined) {
      return fs.link(temporary, path).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code === "EEXIST") return false;
          throw error;
        },
      );
    }
    const now = await this.read(key);
    if (now === undefined || this.versionOf(now) !== expected) return false;
    await fs.rename(temporary, path);
    return true;
  }

  /** Makes the entries of directories durable. A failure is told, not thrown: the content is in place. */
  async #durable(directory: fs.FileHandle, made: Names[], shown: string): Promise<{ notDurable?: FsError }> {
    try {
      await directory.sync();
      for (const parent of made) await this.#tree.inParent(parent, shown, (_, above) => above.sync());
      return {};
    } catch (cause) {
      const message = "the new content is in place, but could not be made durable";
      return { notDurable: new FsError({ code: "FS_IO_ERROR" }, message, { path: shown, published: "yes", cause }) };
    }
  }

  /** The path that is asked for as names from the root down, and what to call it in errors. */
  #asked({ cwd, path }: ResolveRequest): { names: Buffer[]; shown: string } {
    const [bytes, shown] = [Buffer.from(path), displayForm(path)];
    const { maxPathBytes } = this.limits;
    if (bytes.length === 0) throw refusal.invalidArgument("path", "empty", "a path of at least 1 byte");
    if (bytes.includes(0)) throw refusal.invalidArgument("path", "text with a NUL byte", "a path without one", shown);
    if (bytes.length > maxPathBytes) {
      throw refusal.invalidArgument("path", `a path of ${bytes.length} bytes`, `at most ${maxPathBytes} bytes`, shown);
    }
    const start = cwd === undefined ? this.#tree.root : Buffer.from(cwd);
    if (start[0] !== 0x2f || start.includes(0)) {
      throw refusal.invalidArgument("cwd", "a relative path", "an absolute path under a root", displayForm(start));
    }
    const absolute = bytes[0] === 0x2f ? bytes : Buffer.concat([start, SLASH, bytes]);
    const names = this.#tree.beneathRoot(absolute);
    if (names === undefined) throw refusal.sandboxEscape(shown);
    return { names, shown };
  }

  /** The names of a key. Only what comes out the same again was made here. */
  #names(key: TargetKey): Buffer[] {
    const bytes = Buffer.from(key);
    const names = namesOf(bytes);
    const isOurs = keyOf(names, bytes.length > 1 && bytes.at(-1) === 0x2f).equals(bytes);
    const isPlain = !bytes.includes(0) && !names.some((name) => name.equals(DOTS));
    if (!isOurs || !isPlain) throw refusal.foreignKey();
    return names;
  }
}

const SLASH = Buffer.from("/");
const DOTS = Buffer.from("..");

function keyOf(names: Names, wantsDirectory: boolean): Buffer {
  if (names.length === 0) return SLASH;
  const path = names.flatMap((name) => [SLASH, name]);
  return Buffer.concat(wantsDirectory ? [...path, SLASH] : path);
}

function statOf(stats: Stats): FileStat {
  return { kind: kindOf(stats), size: stats.size, mode: stats.mode & 0o7777, modified: stats.mtime };
}

function temporaryName(): Buffer {
  return Buffer.from(`.toolfs-${randomBytes(12).toString("hex")}.tmp`);
}

/** Writes a new file whole and down to the disk, with the mode and owner of the one that it is to replace. */
async function writeWhole(path: Buffer, content: Uint8Array, old: Stats | undefined): Promise<Notice[]> {
  const notices: Notice[] = [];
  const file = await fs.open(path, "wx", old === undefined ? 0o666 : 0o600);
  try {
    await file.writeFile(content);
    if (old !== undefined) {
      if (old.nlink > 1)
        notices.push({ kind: "hard-links-keep-old-content", text: "other hard links keep the old content" });
      await file.chown(old.uid, old.gid).catch(() => {
        notices.push({ kind: "ownership-not-kept", text: "owner or group could not be kept" });
      });
      if ((old.mode & PRIVILEGE_BITS) !== 0) {
        const text = "the set-user-id and set-group-id bits were dropped";
        notices.push({ kind: "privilege-bits-dropped", text });
      }
      await file.chmod(old.mode & 0o7777 & ~PRIVILEGE_BITS);
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return notices;
}

/** Flags of the command line, and the limits that they set. */
const LIMIT_FLAGS: Readonly<Record<string, keyof Limits>> = {
  "--max-file-bytes": "maxFileBytes",
  "--max-read-bytes": "maxReadBytes",
  "--max-diff-bytes": "maxDiffBytes",
};

async function main(args: readonly string[]): Promise<void> {
  const limits: Partial<Record<keyof Limits, number>> = {};
  const places: string[] = [];
  for (const arg of args) {
    const [flag = "", value] = arg.split("=", 2);
    const limit = LIMIT_FLAGS[flag];
    if (limit !== undefined) limits[limit] = Number(value);
    else if (arg !== "--until-stdin-closes") places.push(arg);
  }
  const [directory, address] = places;
  if (directory === undefined || address === undefined) {
    throw new Error("usage: directory-provider DIRECTORY unix:PATH|HOST:PORT [--max-file-bytes=N ...]");
  }
  const served = await serveProvider(new DirectoryProvider(directory, limits), address);
  const close = () => {
    process.stdin.destroy();
    void served.close();
  };
  process.once("SIGTERM", close).once("SIGINT", close);
  if (args.includes("--until-stdin-closes")) process.stdin.on("end", close).resume();
  console.log(`ready: toolfs serve --provider ${served.address}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(process.argv.slice(2));
