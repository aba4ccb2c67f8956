/** The page on providers and gates: each of its modules, in a project with the built package, against the real command. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { PACKAGE, Project } from "./examples/project.js";

/** A module of the page, and what it is said to print. */
interface Module {
  code: string;
  printed: string;
}

const PAGE = readFileSync(join(PACKAGE, "PROVIDERS.md"), "utf8");
const MODULES: Module[] = Array.from(
  PAGE.matchAll(/^```ts\n(.*?)^```\n\n```text\n(.*?)^```$/gms),
  ([, code = "", printed = ""]) => ({ code, printed }),
);

let project: Project;

before(async () => {
  project = await Project.create("@types/node", "undici-types");
  cpSync(join(PACKAGE, "examples", "observation-gate.ts"), join(project.directory, "observation-gate.ts"));
  for (const [at, { code }] of MODULES.entries()) writeFileSync(join(project.directory, `module-${at}.ts`), code);
  await project.compile();
});

after(() => project?.remove());

test("a block of the page is not run", () => {
  assert.equal(MODULES.length, 2);
  assert.equal(PAGE.split("```ts\n").length - 1, MODULES.length);
});

test("the page is left out of the package", () => {
  const args = ["pack", "--dry-run", "--ignore-scripts", "--json"];
  const [{ files }] = JSON.parse(
    execFileSync("npm", args, { cwd: PACKAGE, stdio: ["ignore", "pipe", "ignore"] }).toString(),
  );
  assert.ok(files.some(({ path }: { path: string }) => path === "PROVIDERS.md"));
});

describe("a module of the page does not run, or does not print what the page says", () => {
  for (const [at, { code, printed }] of MODULES.entries()) {
    test(/^class (\w+)/m.exec(code)?.[1] ?? `module ${at}`, async () => {
      const ended = await project.run(`module-${at}.js`);
      assert.equal(ended.stderr, "");
      assert.equal(ended.code, 0);
      assert.equal(ended.stdout, printed);
    });
  }
});
