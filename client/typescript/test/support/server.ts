/** The real binary, on a private Unix socket or a port of its own choice, over a fresh directory. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What `TOOLFS_BIN` names; tests of behaviour are nothing without it. */
export const BINARY = process.env.TOOLFS_BIN ?? "";
if (BINARY === "") throw new Error("set `TOOLFS_BIN` to the command `toolfs`: `cargo build -p toolfs-server` makes it");

export interface ServerOptions {
  /** What `--root` gets; a fresh directory otherwise. */
  root?: string;
  /** Where files are instead: the address of a process that serves the seam. */
  provider?: string;
  /** Where to listen; a private Unix socket otherwise. */
  listen?: string;
  /** `memory` otherwise. */
  state?: string;
  args?: string[];
}

export interface Server extends AsyncDisposable {
  address: string;
  /** The directory that is served, unless `root` was given. */
  directory: string;
  process: ChildProcess;
  /** Ends it, and waits for that. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a server and waits until it is ready. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const home = mkdtempSync(join(tmpdir(), "toolfs-test-"));
  const directory = mkdtempSync(join(tmpdir(), "toolfs-root-"));
  const listen = options.listen ?? `unix:${join(home, "toolfs.sock")}`;
  const files =
    options.provider === undefined ? ["--root", options.root ?? directory] : ["--provider", options.provider];
  const args = ["serve", ...files, "--listen", listen];
  args.push("--state", options.state ?? "memory", ...(options.args ?? []));
  const child = spawn(BINARY, args, {
    // What the user of this machine configured is not for tests.
    env: { ...cleanEnvironment(), XDG_CONFIG_HOME: home, XDG_STATE_HOME: home },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const address = await readyAddress(child);
  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  };
  return {
    address,
    directory,
    process: child,
    stop,
    async [Symbol.asyncDispose]() {
      await stop();
      for (const path of [home, directory]) rmSync(path, { recursive: true, force: true });
    },
  };
}

/** The environment without what is meant for servers and telemetry of others. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const foreign = /^(TOOLFS_|OTEL_|RUST_LOG$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !foreign.test(name)));
}

function readyAddress(child: ChildProcess): Promise<string> {
  let said = "";
  let complained = "";
  return new Promise((resolve, reject) => {
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      complained += text;
    });
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      const address = /^toolfs ready: listening on (\S+),/m.exec(said)?.[1];
      if (address !== undefined) resolve(address);
    });
    child.once("error", reject);
    child.once("close", () => reject(new Error(`the server ended before it was ready: ${complained}`)));
  });
}
