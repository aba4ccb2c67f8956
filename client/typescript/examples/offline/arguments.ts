/** The command line that the examples share. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TASK } from "./script.js";

/**
 * Reads it. Without a directory, a fresh one is made with the files that the task is about, and
 * removed at the end.
 */
export function readArguments(): { directory: string; task: string; live: boolean } {
  const words = process.argv.slice(2);
  const live = words.includes("--live");
  const [directory = freshDirectory(), task = TASK] = words.filter((word) => word !== "--live");
  return { directory, task, live };
}

function freshDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "toolfs-example-"));
  process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, "notes.txt"), "teh cat\n");
  writeFileSync(join(directory, "todo.txt"), "- find teh cat\n");
  return directory;
}
