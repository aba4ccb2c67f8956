/** The README, in an empty project with nothing but the built package, against the real command. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PACKAGE, Project } from "./examples/project.js";

const RUN = join(PACKAGE, "tools", "run-quickstart.mjs");

let project: Project;

before(async () => {
  project = await Project.create("@types/node", "undici-types");
});

after(() => project?.remove());

test("the README does not run, or does not print what it says", async () => {
  const { code, stdout, stderr } = await project.node(RUN);
  assert.equal(stderr, "");
  assert.equal(code, 0);
  assert.match(stdout, /^1: buy milk\n/);
});

test("the README is not TypeScript, or the types of the package are wrong", async () => {
  // What was run, under another name.
  writeFileSync(join(project.directory, "quickstart.mts"), readFileSync(join(project.directory, "quickstart.mjs")));
  // The declarations of a dependency want those of a browser.
  await project.compile({ skipLibCheck: false, lib: ["es2023", "dom", "esnext.disposable"] });
});

test("the README names other versions of the SDKs than are tested", () => {
  const { devDependencies } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
  const [, versions = ""] = /are tested against (.*)\.$/m.exec(readFileSync(join(PACKAGE, "README.md"), "utf8")) ?? [];
  const named = versions.split(/, | and /);
  assert.ok(named.length > 1);
  for (const one of named) {
    const [name = "", version] = one.split(" ");
    assert.equal(version, devDependencies[name], name);
  }
});

test("a README that says something else passes", async () => {
  const other = join(project.directory, "OTHER.md");
  const blocks = (code: string, text: string) => writeFileSync(other, `\`\`\`ts\n${code}\n\`\`\`\n${text}`);

  blocks("console.log(1);", "```text\n2\n```\n");
  assert.match((await project.node(RUN, other)).stderr, /does not print what the README says, which is:\n2\n/);
  blocks("throw new Error();", "```text\n2\n```\n");
  assert.match((await project.node(RUN, other)).stderr, /the quickstart ended with 1/);
  blocks("console.log(1);", "");
  assert.match((await project.node(RUN, other)).stderr, /there is nothing to run or to compare/);
});
