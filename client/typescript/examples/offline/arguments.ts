/** The command line that the examples share. */
import { TASK } from "./script.js";

/** Reads it; ends the process with a line of usage when the directory is missing. */
export function readArguments(): { directory: string; task: string; live: boolean } {
  const words = process.argv.slice(2);
  const live = words.includes("--live");
  const [directory, task = TASK] = words.filter((word) => word !== "--live");
  if (directory === undefined) {
    console.error(`usage: tsx ${process.argv[1]} DIRECTORY [TASK --live]`);
    process.exit(2);
  }
  return { directory, task, live };
}
