/** The line that tells the table of the corpus what this language replayed. */
import { appendFileSync } from "node:fs";

/** Appends a line to the file that `TOOLFS_CORPUS_REPORT` names; does nothing where it names none. */
export function appendReport(passed: string[], failed: string[]): void {
  const path = process.env.TOOLFS_CORPUS_REPORT ?? "";
  if (path === "") return;
  // One write of a file opened to append: lines of runners that end at once do not mix.
  const line = { language: "TypeScript", passed: passed.toSorted(), failed: failed.toSorted() };
  appendFileSync(path, `${JSON.stringify(line)}\n`);
}
