/**
 * Directories for sockets that only this user can enter.
 *
 * They go with the process. What a killed process leaves behind is an empty one, once its server has ended: whoever
 * makes the next one removes it, also when that is a client of another language.
 */
import { rmSync } from "node:fs";
import { lstat, mkdtemp, readdir, rm, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalServerError } from "./error.js";

const PREFIX = "toolfs-local-";

/** After how long an empty directory is nobody's, in milliseconds: no server takes as long to start. */
const ABANDONED_MS = 10 * 60_000;

/** How long the path of a socket may be on every system, in bytes. */
const MAX_SOCKET_PATH_BYTES = 100;

const made = new Set<string>();

/**
 * Makes one, with room for a socket of this name: in `/tmp` where the path would be too long elsewhere.
 *
 * @throws LocalServerError when none can be made
 */
export async function makePrivateDirectory(socketName: string): Promise<string> {
  const parent = tmpdir();
  await removeAbandoned(parent);
  let directory = await makeIn(parent);
  if (Buffer.byteLength(join(directory, socketName)) > MAX_SOCKET_PATH_BYTES) {
    await rmdir(directory);
    directory = await makeIn("/tmp");
  }
  if (made.size === 0) process.on("exit", removeAll);
  made.add(directory);
  return directory;
}

async function makeIn(parent: string): Promise<string> {
  try {
    return await mkdtemp(join(parent, PREFIX));
  } catch (cause) {
    const message = `no directory for the socket can be made in \`${parent}\`: name another one by \`TMPDIR\``;
    throw new LocalServerError(message, { cause });
  }
}

/** Removes one with all that is in it. A second time does nothing. */
export async function removePrivateDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  made.delete(directory);
  if (made.size === 0) process.off("exit", removeAll);
}

function removeAll(): void {
  for (const directory of made) rmSync(directory, { recursive: true, force: true });
}

async function removeAbandoned(parent: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    if (name.startsWith(PREFIX)) await removeIfAbandoned(join(parent, name));
  }
}

/** What is not empty is a running server's, and stays: the system refuses to remove it. */
async function removeIfAbandoned(path: string): Promise<void> {
  try {
    const { mtimeMs } = await lstat(path);
    if (Date.now() - mtimeMs > ABANDONED_MS) await rmdir(path);
  } catch {
    // Of somebody else, or in use: it is not this process that has to tell.
  }
}
