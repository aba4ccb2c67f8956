/**
 * A server of this process's own.
 *
 * The server reads its standard input, a pipe that only this process holds, and ends when that ends: by `stop`, or with
 * the process, even one that is killed.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { allWellFormed, wellFormed } from "./argument.js";
import type { ConnectOptions } from "./caller.js";
import { ArgumentError, LocalServerError } from "./error.js";
import { makePrivateDirectory, removePrivateDirectory } from "./private-directory.js";

/** How to start a server of one's own, and how to connect to it. */
export interface LocalOptions extends Omit<ConnectOptions, "tls" | "token"> {
  /** What is served: a directory or several, each `DIR` or `DIR=NAME` where agents see it under another name. Default `.`. */
  root?: string | readonly string[] | undefined;
  /** The command `toolfs`; otherwise what the environment variable `TOOLFS_BIN` names, otherwise `toolfs` on `PATH`. */
  binary?: string | undefined;
  /** `observation` (the server's default), `none`, or the address of a gate in another process. */
  policy?: string | undefined;
  /** Where sessions and observations are kept: `memory`, or a directory. Default `memory`. */
  state?: string | undefined;
  /** More arguments of `toolfs serve`. */
  args?: readonly string[] | undefined;
  /** How long the server may take to start, in milliseconds. Default 10,000. */
  startTimeoutMs?: number | undefined;
}

/** A server that runs. */
export interface LocalServer {
  /** Where it listens. */
  readonly address: string;
  /** Its process. */
  readonly pid: number;
  /** Lets it finish the calls in flight, and waits until it has ended. */
  stop(): Promise<void>;
}

const SOCKET_NAME = "toolfs.sock";

/** How much of the server's standard error is kept, in characters. */
const STDERR_KEPT = 16 << 10;

/** How long a server may take to end, in milliseconds: longer than the 10 s that it gives calls in flight. */
const STOP_TIMEOUT_MS = 15_000;

/** How long it may take to begin to end, in milliseconds: it takes no more connections then. */
const HEED_TIMEOUT_MS = 3_000;

const HOW_TO_GET =
  "name the command with the option `binary`, with the environment variable `TOOLFS_BIN`, or have `toolfs` on `PATH`; " +
  "get it from a release of toolfs, or with `cargo install --path server/daemon` in its repository";

/**
 * Starts a server, and waits until it is ready.
 *
 * @throws LocalServerError when the command is not found, or ends or stays silent instead of being ready
 * @throws ArgumentError for a text that cannot be an argument of a command
 */
export async function startLocalServer(options: LocalOptions): Promise<LocalServer> {
  const args = argumentsOf(options);
  const directory = await makePrivateDirectory(SOCKET_NAME);
  try {
    return await startIn(directory, args, options);
  } catch (error) {
    await removePrivateDirectory(directory);
    throw error;
  }
}

async function startIn(directory: string, args: string[], options: LocalOptions): Promise<LocalServer> {
  const socket = join(directory, SOCKET_NAME);
  const address = `unix:${socket}`;
  const binary = options.binary ?? (process.env.TOOLFS_BIN || "toolfs");
  const child = run(binary, ["serve", "--listen", address, ...args]);
  try {
    await ready(child, binary, options.startTimeoutMs ?? 10_000);
  } catch (error) {
    child.kill("SIGKILL");
    await end(child, async () => false);
    throw error;
  }
  const hasListened = existsSync(socket);
  // Neither the server nor what it says keeps this process alive.
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as unknown as Socket).unref();
  const stop = async () => {
    await end(child, async () => hasListened && !(await isListening(socket)));
    await removePrivateDirectory(directory);
  };
  return { address, pid: child.pid as number, stop };
}

function run(binary: string, args: string[]): ChildProcessWithoutNullStreams {
  try {
    // A group of its own: an interrupt at the terminal is for this process, which may still have calls to make.
    const child = spawn(binary, args, { env: environment(), stdio: ["pipe", "pipe", "pipe"], detached: true });
    // Writing to it is no use, and its end is seen elsewhere.
    child.stdin.on("error", () => {});
    return child;
  } catch (error) {
    // Of some commands Node.js tells at once that they cannot be run, of others by an event.
    throw notRun(binary, error);
  }
}

function notRun(binary: string, cause: unknown): LocalServerError {
  return new LocalServerError(`\`${binary}\` could not be run: ${HOW_TO_GET}`, { cause });
}

function argumentsOf({ root = ".", state, policy, args }: LocalOptions): string[] {
  const roots = allPossible(typeof root === "string" ? [root] : root, "root");
  return [
    ...roots.flatMap((each) => ["--root", each]),
    ...["--state", possible(state ?? "memory", "state"), "--until-stdin-closes"],
    ...(policy === undefined ? [] : ["--policy", possible(policy, "policy")]),
    ...allPossible(args ?? [], "args"),
  ];
}

function allPossible(texts: readonly string[], field: string): string[] {
  return allWellFormed(texts, field).map((text) => possible(text, field));
}

function possible(text: string, field: string): string {
  if (!wellFormed(text, field).includes("\0")) return text;
  throw new ArgumentError(field, "holds a NUL, which no argument of a command can: leave it out");
}

/** Settings of another server, which this process may have for its own ends, are not for this one. */
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("TOOLFS_")));
}

function ready(child: ChildProcessWithoutNullStreams, binary: string, timeoutMs: number): Promise<void> {
  let said = "";
  let complained = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    complained = (complained + text).slice(-STDERR_KEPT);
  });
  return new Promise((resolve, reject) => {
    const fail = (message: string) => {
      clearTimeout(timer);
      const words = complained.trim();
      reject(new LocalServerError(words === "" ? message : `${message}: ${words}`, { stderr: complained }));
    };
    const timer = setTimeout(() => fail(`\`${binary}\` was not ready within ${timeoutMs} ms`), timeoutMs);
    child.once("error", (error) => {
      clearTimeout(timer);
      reject(notRun(binary, error));
    });
    // Not `exit`: what it wrote last must have been read.
    child.once("close", (code, signal) => fail(`\`${binary} serve\` ended with ${code ?? signal} before it was ready`));
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      said = said.slice(0, STDERR_KEPT) + text;
      if (!/^toolfs ready:/m.test(said)) return;
      clearTimeout(timer);
      resolve();
    });
  });
}

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => resolve(true));
    socket.once("error", () => resolve(false)).once("connect", () => socket.destroy());
  });
}

/** Ends a server: by its standard input, and by force when it does not heed that, or takes too long. */
function end(child: ChildProcessWithoutNullStreams, isEnding: () => Promise<boolean>): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    const kill = () => child.kill("SIGKILL");
    const heeding = setTimeout(async () => (await isEnding()) || kill(), HEED_TIMEOUT_MS);
    const ending = setTimeout(kill, STOP_TIMEOUT_MS);
    child.once("exit", () => {
      clearTimeout(heeding);
      clearTimeout(ending);
      resolve();
    });
    child.ref();
    child.stdin.end();
  });
}
