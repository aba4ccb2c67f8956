/**
 * Runs the README as one module, in the present directory, and compares what it prints with what the README says.
 *
 * Usage, in an empty project in which the package is installed:
 *   TOOLFS_BIN=… node PATH/tools/run-quickstart.mjs [README.md]
 *
 * It needs nothing but the installed package: the blocks marked `ts` are JavaScript as well. What they print is in the
 * blocks marked `text`, in order.
 */
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const readme = process.argv[2] ?? fileURLToPath(new URL("../README.md", import.meta.url));
const text = readFileSync(readme, "utf8");

/** The blocks of a language, joined. */
function blocks(language) {
  const fence = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "gms");
  return Array.from(text.matchAll(fence), ([, block]) => block).join("");
}

const code = blocks("ts");
const expected = blocks("text");
if (code === "" || expected === "") {
  console.error(`\`${readme}\` has no \`ts\` or no \`text\` block: there is nothing to run or to compare`);
  process.exit(2);
}

writeFileSync("quickstart.mjs", code);
const { status, stdout } = spawnSync(process.execPath, ["quickstart.mjs"], {
  encoding: "utf8",
  stdio: ["ignore", "pipe", "inherit"],
});
process.stdout.write(stdout);
if (status !== 0) {
  console.error(`the quickstart ended with ${status}`);
  process.exit(1);
}
if (stdout !== expected) {
  console.error(`the quickstart does not print what the README says, which is:\n${expected}`);
  process.exit(1);
}
