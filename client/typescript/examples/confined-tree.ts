/**
 * A directory of a disk, confined: every name is opened from the directory above it, and no link is ever followed by
 * the system itself. Links are read and walked here, and only as long as each step stays beneath the root.
 *
 * Node has no `openat`; on Linux a name beneath `/proc/self/fd/N` is the same thing. Elsewhere this does not work.
 */
import { constants, type Dirent, type Stats } from "node:fs";
import * as fs from "node:fs/promises";
import { type FileKind, FsError, refusal } from "toolfs/provider";

const { O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = constants;

/** How often a path is walked anew that changes meanwhile. */
const MAX_ATTEMPTS = 8;

/** Names from the root down, each as raw bytes. */
export type Names = readonly Buffer[];

/** Where a path leads. */
export interface Found {
  /** The names of the place. */
  readonly names: Names;
  /** What is there, a link itself where it was not to be followed; absent when nothing is. */
  readonly stats: Stats | undefined;
}

/** A directory and all that is beneath it. */
export class ConfinedTree {
  /** The real path of the root. */
  readonly root: Buffer;

  /** `root` is an absolute real path: without links, `.` and `..`, and without a slash at its end. */
  constructor(root: Buffer) {
    this.root = root;
  }

  /** The absolute path of a place, for showing it and for other processes. Nothing is opened by it. */
  absolute(names: Names): Buffer {
    return Buffer.concat([this.root, ...names.flatMap((name) => [Buffer.from("/"), name])]);
  }

  /**
   * Walks a path as the kernel would. `shown` is the path as asked, for errors.
   *
   * @param path names from the root down, with `.` and empty ones taken out, `..` left in
   * @param wantsDirectory whether only a directory can be at the end
   * @param followLast whether a link at the end is followed
   */
  async walk(path: Names, shown: string, wantsDirectory: boolean, followLast: boolean): Promise<Found> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#walk(path, shown, wantsDirectory, followLast);
      } catch (error) {
        const isMoving = error instanceof FsError && error.code === "FS_UNAVAILABLE";
        if (!isMoving || attempt === MAX_ATTEMPTS) throw error;
      }
    }
  }

  async #walk(path: Names, shown: string, wantsDirectory: boolean, followLast: boolean): Promise<Found> {
    const pending = [...path];
    const at: Buffer[] = [];
    let links = 0;
    for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
      if (isDots(name)) {
        if (at.pop() === undefined) throw refusal.sandboxEscape(shown);
        continue;
      }
      if (name.length > refusal.MAX_NAME_BYTES) throw nameTooLong(shown);
      at.push(name);
      const stats = await this.#lstat(at, shown);
      const isLast = pending.length === 0;
      if (stats === undefined) {
        if (pending.some(isDots)) throw refusal.notFound(shown);
        if (pending.some((rest) => rest.length > refusal.MAX_NAME_BYTES)) throw nameTooLong(shown);
        return { names: [...at, ...pending], stats: undefined };
      }
      if (stats.isSymbolicLink()) {
        if (isLast && !followLast && !wantsDirectory) return { names: at, stats };
        links += 1;
        if (links > refusal.MAX_LINKS) throw refusal.tooManyLinks(shown);
        const pointsTo = await this.#readLink(at, shown);
        at.pop();
        const rest = this.#after(pointsTo, at, shown);
        wantsDirectory ||= isLast && endsAsDirectory(pointsTo);
        pending.unshift(...rest);
      } else if (!stats.isDirectory() && (!isLast || wantsDirectory)) {
        throw refusal.notDirectory(shown);
      }
    }
    const stats = await this.#lstat(at, shown);
    return { names: at, stats };
  }

  /** What is at a place, a link itself if it is one; absent when nothing is. */
  async stat(names: Names, shown: string): Promise<Stats | undefined> {
    return this.#lstat(names, shown);
  }

  /** Opens the regular file at a place, without blocking and without following a link. */
  async open(names: Names, shown: string): Promise<fs.FileHandle> {
    return this.inParent(names, shown, (path) => fs.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  }

  /** The entries of the directory at a place. */
  async list(names: Names, shown: string): Promise<Dirent<Buffer>[]> {
    return this.#within(names, shown, (path) => fs.readdir(path, { withFileTypes: true, encoding: "buffer" }));
  }

  /** Makes the directories above a place that are not there. Returns those that were made. */
  async makeParents(names: Names, shown: string): Promise<Names[]> {
    const made: Names[] = [];
    for (let depth = 1; depth < names.length; depth++) {
      const parent = names.slice(0, depth);
      const stats = await this.#lstat(parent, shown);
      if (stats !== undefined) continue;
      await this.inParent(parent, shown, async (path) => {
        try {
          await fs.mkdir(path);
          made.push(parent);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
        }
      });
    }
    return made;
  }

  /** Works with the name of a place from its open parent directory, whatever becomes of the path above meanwhile. */
  async inParent<T>(
    names: Names,
    shown: string,
    work: (path: Buffer, parent: fs.FileHandle) => Promise<T>,
  ): Promise<T> {
    const name = names.at(-1);
    return this.#opened(name === undefined ? names : names.slice(0, -1), shown, (parent) =>
      work(name === undefined ? beneath(parent, Buffer.from(".")) : beneath(parent, name), parent),
    );
  }

  async #within<T>(names: Names, shown: string, work: (path: Buffer) => Promise<T>): Promise<T> {
    return this.#opened(names, shown, (directory) => work(beneath(directory, Buffer.from("."))));
  }

  /** Opens a directory name by name, works with it, and closes it. */
  async #opened<T>(names: Names, shown: string, work: (directory: fs.FileHandle) => Promise<T>): Promise<T> {
    let directory: fs.FileHandle | undefined;
    try {
      directory = await fs.open(this.root, O_RDONLY | O_DIRECTORY);
      for (const name of names) {
        const above: fs.FileHandle = directory;
        directory = await openDirectory(beneath(above, name), shown).finally(() => above.close());
      }
      return await work(directory);
    } catch (error) {
      throw refusal.ofSystemError(error, shown);
    } finally {
      await directory?.close().catch(() => {});
    }
  }

  async #lstat(names: Names, shown: string): Promise<Stats | undefined> {
    try {
      return await this.inParent(names, shown, (path) => fs.lstat(path));
    } catch (error) {
      if ((error as { code?: string }).code === "FS_NOT_FOUND") return undefined;
      throw error;
    }
  }

  async #readLink(names: Names, shown: string): Promise<Buffer> {
    return this.inParent(names, shown, async (path) => {
      try {
        return await fs.readlink(path, { encoding: "buffer" });
      } catch (error) {
        // It was a link a moment ago.
        throw (error as NodeJS.ErrnoException).code === "EINVAL" ? refusal.keepsChanging(shown) : error;
      }
    });
  }

  /** The names that a link adds to the place where it stands; an absolute one starts anew beneath the root. */
  #after(pointsTo: Buffer, at: Buffer[], shown: string): Buffer[] {
    if (pointsTo[0] !== 0x2f) return namesOf(pointsTo);
    const beneathRoot = this.beneathRoot(pointsTo);
    if (beneathRoot === undefined) throw refusal.sandboxEscape(shown);
    at.length = 0;
    return beneathRoot;
  }

  /** The names of an absolute path from the root down; absent for one that is not beneath it. */
  beneathRoot(path: Buffer): Buffer[] | undefined {
    const [names, root] = [namesOf(path), namesOf(this.root)];
    const starts = root.every((name, index) => names[index]?.equals(name) === true);
    return starts ? names.slice(root.length) : undefined;
  }
}

/** The names of a path: what is between slashes, without empty ones and `.`. */
export function namesOf(path: Buffer): Buffer[] {
  const names: Buffer[] = [];
  for (let start = 0; start <= path.length; ) {
    const slash = path.indexOf(0x2f, start);
    const end = slash < 0 ? path.length : slash;
    const name = path.subarray(start, end);
    if (name.length > 0 && !(name.length === 1 && name[0] === 0x2e)) names.push(name);
    start = end + 1;
  }
  return names;
}

/** Whether only a directory can be at the end of a path that is spelled like this. */
export function endsAsDirectory(path: Buffer): boolean {
  const last = path.subarray(path.lastIndexOf(0x2f) + 1);
  return last.length === 0 || (last.length <= 2 && last.every((byte) => byte === 0x2e));
}

/** What is there. */
export function kindOf(file: Stats | Dirent<Buffer>): FileKind {
  if (file.isFile()) return "regular";
  if (file.isDirectory()) return "directory";
  if (file.isSymbolicLink()) return "symlink";
  if (file.isFIFO()) return "fifo";
  if (file.isSocket()) return "socket";
  if (file.isBlockDevice()) return "block-device";
  return file.isCharacterDevice() ? "char-device" : "other";
}

function isDots(name: Buffer): boolean {
  return name.length === 2 && name[0] === 0x2e && name[1] === 0x2e;
}

function nameTooLong(shown: string) {
  const expected = `a path of names of at most ${refusal.MAX_NAME_BYTES} bytes`;
  return refusal.invalidArgument("path", "a path with a longer name", expected, shown);
}

/** A name as seen from an open directory. */
function beneath(directory: fs.FileHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${directory.fd}/`), name]);
}

async function openDirectory(path: Buffer, shown: string): Promise<fs.FileHandle> {
  try {
    return await fs.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  } catch (error) {
    // What is a link or a directory now was something else a moment ago: whoever asks again is walked anew.
    const isMoving = await fs.lstat(path).then(
      (stats) => stats.isSymbolicLink() || stats.isDirectory(),
      () => false,
    );
    throw isMoving ? refusal.keepsChanging(shown) : error;
  }
}
