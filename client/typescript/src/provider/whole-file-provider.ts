/**
 * The seam over a place that keeps whole contents under names: an object store, a database, a directory.
 *
 * Extend `WholeFileProvider` and say where paths lead and how a content is read and replaced; lines, the rules of text,
 * versions, guards, literal edits, diffs and plans come with it. A content is held in memory as a whole.
 */
import { isUtf8 } from "node:buffer";
import { type Capabilities, DEFAULT_LIMITS, type Durability, type Limits, type Root } from "./capability.js";
import { CriticalSections } from "./critical-section.js";
import { diffOf } from "./diff.js";
import { displayForm } from "./display.js";
import { cutInPieces } from "./download.js";
import { applyEdit } from "./edit.js";
import { FsError } from "./fs-error.js";
import { throwIfGivenUp } from "./giving-up.js";
import type { WriteGuard } from "./guard.js";
import { lineEndChanges } from "./notice.js";
import { DEFAULT_PROTECTED, protectedRule } from "./protect.js";
import { type Awaitable, Provider } from "./provider.js";
import * as refusal from "./refusal.js";
import type { ContentStream, EditReport, LinesReport, Notice, WriteReport } from "./report.js";
import type { ByteRange, Call, EditTextRequest, LineWindow, ResolveRequest, WriteTextRequest } from "./request.js";
import { similarNames } from "./similar-name.js";
import type { Entry, FileStat, Target, TargetKey } from "./target.js";
import { isText, lineEndingsOf, summarize } from "./text.js";
import { versionOf } from "./version.js";
import { windowOf } from "./window.js";

/** What a `WholeFileProvider` is made of. */
export interface WholeFileProviderOptions {
  /** What it calls itself: one line, not empty. */
  readonly name: string;
  /** What it serves, at least one; the first is where relative paths start. */
  readonly roots: readonly Root[];
  /** What a success of `replace` survives. Default: a crash of the process only. */
  readonly durability?: Durability;
  /** Whether `replace` notices and keeps what a foreign writer put there in between. Default: false. */
  readonly verifiedReplacement?: boolean;
  /** The names that no mutation may touch. Default: `.git`. */
  readonly protectedPatterns?: readonly string[];
  /** Limits other than the defaults. */
  readonly limits?: Partial<Limits>;
}

/** What became of a replacement. */
export type Replacement =
  /** Something else than what was expected is there: nothing changed, and the caller decides anew. */
  | "moved"
  /** It is in place, with remarks, and with the reason where it could not be made durable. */
  | { readonly notices?: readonly Notice[]; readonly notDurable?: FsError };

/** How often a mutation decides anew when somebody else keeps getting ahead of it. */
const MAX_ATTEMPTS = 16;

/** The write bits of owner, group and others. */
const WRITE_BITS = 0o222;

/** Where a mutation lands, and what is there. */
interface Place {
  readonly key: TargetKey;
  /** What to call it in errors. */
  readonly shown: string;
  readonly content: Uint8Array | undefined;
}

/** What a mutation would do: what it reports, and what it puts there. */
interface Decision<R> {
  readonly report: R;
  readonly content: Uint8Array;
}

/** A provider of whole contents. */
export abstract class WholeFileProvider extends Provider {
  readonly #options: WholeFileProviderOptions;
  readonly #sections = new CriticalSections();
  /** The limits in force. */
  protected readonly limits: Limits;
  /** The names that mutations refuse. */
  protected readonly protectedPatterns: readonly string[];

  constructor(options: WholeFileProviderOptions) {
    super();
    this.#options = options;
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.protectedPatterns = options.protectedPatterns ?? DEFAULT_PROTECTED;
  }

  abstract override resolve(request: ResolveRequest, call: Call): Awaitable<Target>;
  abstract override lstat(request: ResolveRequest, call: Call): Awaitable<FileStat>;
  abstract override contains(ancestor: TargetKey, target: TargetKey, call: Call): Awaitable<boolean>;

  /**
   * The canonical absolute path of a key, beneath a root, as raw bytes.
   *
   * @throws FsError `FS_INVALID_ARGUMENT` for a key that this provider never made: see `foreignKey`
   */
  protected abstract rawPath(key: TargetKey): Uint8Array;

  /**
   * What is at a key, without a version; absent when nothing is.
   *
   * @throws FsError `FS_NOT_DIRECTORY` when a parent is a file, `FS_PERMISSION_DENIED`
   */
  protected abstract find(key: TargetKey, call: Call): Awaitable<FileStat | undefined>;

  /**
   * The whole content of the regular file at a key: always one that was there as a whole; absent when it is gone.
   *
   * @throws FsError `FS_PERMISSION_DENIED`, `FS_IO_ERROR`
   */
  protected abstract read(key: TargetKey, call: Call): Awaitable<Uint8Array | undefined>;

  /** The entries of the directory at a key, which `find` said is there. */
  protected abstract list(key: TargetKey, call: Call): AsyncIterable<Entry> | Iterable<Entry>;

  /**
   * Puts a content at a key in one atomic step, creating missing directories above it, when what is there is a content
   * of the version `expected`, or nothing when that is absent. No two calls for one key run at once in this process.
   *
   * Once the content is in place it must not throw: it returns `notDurable` instead.
   *
   * @throws FsError `FS_NO_SPACE`, `FS_PERMISSION_DENIED`, `FS_IO_ERROR`, with `published` maybe where it cannot tell
   */
  protected abstract replace(
    key: TargetKey,
    expected: string | undefined,
    content: Uint8Array,
    call: Call,
  ): Awaitable<Replacement>;

  /** Where a key leads now, when links can come to lie on its path after it was made. Default: itself. */
  protected locate(key: TargetKey, _call: Call): Awaitable<TargetKey> {
    return key;
  }

  /** Whether a key is of a path that asks for a directory (`new/`) where nothing is. Default: never. */
  protected asksForDirectory(_key: TargetKey): boolean {
    return false;
  }

  /** The names beside a missing one, of which similar ones are told. Default: none. */
  protected siblings(_key: TargetKey, _call: Call): Awaitable<Iterable<Uint8Array>> {
    return [];
  }

  /** The version of a content: 1 to 128 printable ASCII characters that name exactly these bytes. Default: its SHA-256. */
  protected versionOf(content: Uint8Array): string {
    return versionOf(content);
  }

  /** What to call a key in errors. */
  protected displayPath(key: TargetKey): string {
    return displayForm(this.rawPath(key));
  }

  /** The protected pattern that the place of a key matches, if any. */
  protected protectedRule(key: TargetKey): string | undefined {
    return protectedRule(this.rawPath(key).subarray(this.#rootLength(key)), this.protectedPatterns);
  }

  override capabilities(): Capabilities {
    const { name, roots, durability = "none", verifiedReplacement = false } = this.#options;
    const { limits, protectedPatterns } = this;
    return { name, roots, durability, verifiedReplacement, operationIds: false, protectedPatterns, limits };
  }

  override async stat(target: TargetKey, wantVersion: boolean, call: Call): Promise<FileStat> {
    if (wantVersion) {
      const { stat, content } = await this.#file(target, call);
      return { ...stat, size: content.length, version: this.versionOf(content) };
    }
    const key = await this.locate(target, call);
    const stat = await this.find(key, call);
    if (stat === undefined) throw await this.#notFound(target, key, call);
    return stat;
  }

  override async readLines(target: TargetKey, window: LineWindow, call: Call): Promise<LinesReport> {
    const { shown, content } = await this.#file(target, call);
    const summary = about(shown, () => summarize(content));
    const { totalLines, size, endsWithNewline, bom } = summary;
    const whole = { totalLines, size, endsWithNewline, bom, lineEndings: lineEndingsOf(summary) };
    return { ...windowOf(content, window), ...whole, version: this.versionOf(content) };
  }

  override async readText(target: TargetKey, call: Call): Promise<ContentStream> {
    const { shown, content } = await this.#file(target, call);
    about(shown, () => summarize(content));
    return { size: content.length, pieces: piecesOf(content, this.versionOf(content)) };
  }

  override async readBytes(target: TargetKey, range: ByteRange, call: Call): Promise<ContentStream> {
    const key = await this.locate(target, call);
    const { shown, stat } = await this.#regular(target, key, call);
    // What is too large by its stat is not even read.
    this.#selected(range, stat.size, shown);
    const content = await this.read(key, call);
    if (content === undefined) throw await this.#notFound(target, key, call);
    const [start, end] = this.#selected(range, content.length, shown);
    const isWhole = range.offset === 0 && end === content.length;
    const version = isWhole ? this.versionOf(content) : undefined;
    return { size: content.length, pieces: piecesOf(content.subarray(start, end), version) };
  }

  override async *listDir(target: TargetKey, call: Call): AsyncGenerator<Entry> {
    const key = await this.locate(target, call);
    const stat = await this.find(key, call);
    if (stat === undefined) throw await this.#notFound(target, key, call);
    if (stat.kind !== "directory") throw refusal.notDirectory(this.displayPath(target));
    yield* this.list(key, call);
  }

  override writeText(request: WriteTextRequest, call: Call): Promise<WriteReport> {
    return this.#publish(request, call, (place) => this.#decideWrite(request, place));
  }

  override editText(request: EditTextRequest, call: Call): Promise<EditReport> {
    return this.#publish(request, call, (place) => this.#decideEdit(request, place, call));
  }

  override async planWrite(request: WriteTextRequest, call: Call): Promise<WriteReport> {
    const place = await this.#place(request.target, await this.locate(request.target, call), call);
    return this.#decideWrite(request, place).report;
  }

  override async planEdit(request: EditTextRequest, call: Call): Promise<EditReport> {
    const place = await this.#place(request.target, await this.locate(request.target, call), call);
    return this.#decideEdit(request, place, call).report;
  }

  /** Decides and replaces within the critical section of the place. When that moved all the same, decides anew. */
  async #publish<R extends WriteReport | EditReport>(
    { target, operationId }: WriteTextRequest | EditTextRequest,
    call: Call,
    decide: (place: Place) => Decision<R>,
  ): Promise<R> {
    if (operationId !== undefined) throw refusal.noOperationIds(this.displayPath(target));
    const key = await this.locate(target, call);
    return this.#sections.run(key, async () => {
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        throwIfGivenUp(call);
        const place = await this.#place(target, key, call);
        const { report, content } = decide(place);
        throwIfGivenUp(call);
        const expected = place.content === undefined ? undefined : this.versionOf(place.content);
        const done = await this.replace(key, expected, content, call);
        if (done === "moved") continue;
        const notices = [...report.notices, ...(done.notices ?? [])];
        return { ...report, notices, ...(done.notDurable === undefined ? {} : { notDurable: done.notDurable }) };
      }
      throw refusal.keepsChanging(this.displayPath(target));
    });
  }

  /** What is there, after what does not depend on a guard: its kind, protection and permission, in this order. */
  async #place(target: TargetKey, key: TargetKey, call: Call): Promise<Place> {
    throwIfGivenUp(call);
    const shown = this.displayPath(target);
    const stat = await this.find(key, call);
    if (stat === undefined && this.asksForDirectory(key)) throw refusal.asksForDirectory(shown);
    if (stat !== undefined && stat.kind !== "regular") throw refusal.notRegular(shown, stat.kind);
    const rule = this.protectedRule(key);
    if (rule !== undefined) throw refusal.protectedByRule(shown, rule);
    if (stat?.mode !== undefined && (stat.mode & WRITE_BITS) === 0) throw refusal.notWritable(shown);
    return { key, shown, content: stat === undefined ? undefined : await this.read(key, call) };
  }

  #decideWrite({ guard, content, wantDiff }: WriteTextRequest, { shown, content: old }: Place): Decision<WriteReport> {
    if (!isUtf8(content)) throw refusal.contentNotUtf8(shown);
    this.#checkWriteGuard(guard, old, shown);
    const report: WriteReport = {
      operation: old === undefined ? "create" : "update",
      size: content.length,
      version: this.versionOf(content),
      notices: old === undefined ? [] : noticesOf(old, content),
      ...(old === undefined ? {} : { previousSize: old.length }),
      ...(wantDiff ? { diff: diffOf(old, content, this.limits.maxDiffBytes) } : {}),
    };
    return { report, content };
  }

  #checkWriteGuard(guard: WriteGuard, old: Uint8Array | undefined, shown: string): void {
    switch (guard.kind) {
      case "unconditional":
        return;
      case "create-if-absent":
        if (old === undefined) return;
        throw refusal.notObserved(shown, { kind: "regular", size: old.length, text: isText(old) });
      case "replace-if-version":
        this.#checkVersion(guard.version, old, shown);
    }
  }

  #checkVersion(expected: string, old: Uint8Array | undefined, shown: string): void {
    const actual = old === undefined ? undefined : this.versionOf(old);
    if (actual !== expected) throw refusal.stale(shown, expected, actual);
  }

  #decideEdit(request: EditTextRequest, { shown, content: old }: Place, call: Call): Decision<EditReport> {
    const { guard, wantDiff } = request;
    const expected = guard.kind === "replace-if-version" ? guard.version : undefined;
    if (old === undefined) throw refusal.stale(shown, expected, undefined);
    if (expected !== undefined) this.#checkVersion(expected, old, shown);
    const end = performance.now() + this.limits.nearMissMs;
    const isOver = () => call.signal.aborted || performance.now() > end;
    const edited = about(shown, () => applyEdit(old, request, { ...this.limits, isOver }));
    const { content, matches, changedRanges, diff } = edited;
    const report: EditReport = {
      matches,
      changedRanges,
      size: content.length,
      version: this.versionOf(content),
      notices: noticesOf(old, content),
      ...(wantDiff ? { diff } : {}),
    };
    return { report, content };
  }

  /** The regular file that a target leads to, with its content. */
  async #file(target: TargetKey, call: Call): Promise<{ shown: string; stat: FileStat; content: Uint8Array }> {
    const key = await this.locate(target, call);
    const regular = await this.#regular(target, key, call);
    const content = await this.read(key, call);
    if (content === undefined) throw await this.#notFound(target, key, call);
    return { ...regular, content };
  }

  async #regular(target: TargetKey, key: TargetKey, call: Call): Promise<{ shown: string; stat: FileStat }> {
    throwIfGivenUp(call);
    const shown = this.displayPath(target);
    const stat = await this.find(key, call);
    if (stat === undefined) throw await this.#notFound(target, key, call);
    if (stat.kind !== "regular") throw refusal.notRegular(shown, stat.kind);
    return { shown, stat };
  }

  /** The part of a range that lies in a file of a size. */
  #selected({ offset, length }: ByteRange, size: number, shown: string): [start: number, end: number] {
    const start = Math.min(offset, size);
    const count = Math.min(length ?? size, size - start);
    const { maxReadBytes } = this.limits;
    if (count > maxReadBytes) throw refusal.tooLarge(shown, "max_read_bytes", maxReadBytes, count);
    return [start, start + count];
  }

  async #notFound(target: TargetKey, key: TargetKey, call: Call): Promise<FsError> {
    const path = this.rawPath(key);
    const name = path.subarray(path.lastIndexOf(0x2f) + 1);
    return refusal.notFound(this.displayPath(target), similarNames(name, await this.siblings(key, call)));
  }

  /** How many bytes the longest root has that the path of a key starts with. */
  #rootLength(key: TargetKey): number {
    const path = Buffer.from(this.rawPath(key));
    const above = this.#options.roots.filter(({ rawPath }) => isAbove(rawPath, path));
    return Math.max(0, ...above.map(({ rawPath }) => rawPath.length));
  }
}

/** Whether a path is another one, or lies beneath it. */
function isAbove(root: Uint8Array, path: Buffer): boolean {
  const follows = root.at(-1) === 0x2f ? 0x2f : path[root.length];
  return path.subarray(0, root.length).equals(root) && (path.length === root.length || follows === 0x2f);
}

/** Names the path in an error that knows none. */
function about<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof FsError ? error.about(path) : error;
  }
}

function noticesOf(before: Uint8Array, after: Uint8Array): Notice[] {
  return isText(before) && isText(after) ? lineEndChanges(summarize(before), summarize(after)) : [];
}

async function* piecesOf(content: Uint8Array, version: string | undefined): ContentStream["pieces"] {
  yield* cutInPieces(content);
  return version;
}
