/** Each example, in a project of somebody who has copied it, against the real command. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { environment, PACKAGE, Project } from "./project.js";

let project: Project;

before(async () => {
  const sdks = ["@anthropic-ai/sdk", "openai", "@openai/agents", "@google/genai", "@modelcontextprotocol/server"];
  project = await Project.create("@types/node", ...sdks);
  cpSync(join(PACKAGE, "examples"), join(project.directory, "examples"), { recursive: true });
  await project.compile();
});

after(() => project?.remove());

/** Runs an example to its end. It must end well and say nothing on standard error. */
async function run(example: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await project.run(`examples/${example}.js`, ...args);
  assert.equal(stderr, "");
  assert.equal(code, 0);
  return stdout;
}

/** A directory with the files that the scripted model is asked to correct. */
async function withFiles(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "toolfs-examples-"));
  try {
    writeFileSync(join(directory, "notes.txt"), "teh cat\r\n");
    writeFileSync(join(directory, "todo.txt"), "- find teh cat\n");
    await use(directory);
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function assertCorrected(directory: string): void {
  assert.equal(readFileSync(join(directory, "notes.txt"), "utf8"), "the cat\r\n");
  assert.equal(readFileSync(join(directory, "todo.txt"), "utf8"), "- find the cat\n");
}

describe("an example does not do what it says", () => {
  for (const example of ["anthropic", "openai-chat", "openai-responses", "openai-agents", "gemini"]) {
    test(example, () =>
      withFiles(async (directory) => {
        const said = await run(example, directory);
        assertCorrected(directory);
        assert.equal(said, "Both files say `the` now.\n");
      }),
    );
  }

  test("scripted-agent", async () => {
    const said = await run("scripted-agent");
    assert.match(said, /edit: FS_STALE_VERSION: /);
    assert.match(said, /Oat milk it is\.\n$/);
  });

  test("mcp-server", () =>
    withFiles(async (directory) => {
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [join(project.directory, "examples/mcp-server.js"), directory],
        env: environment(),
      });
      const client = new Client({ name: "test", version: "0.0.0" });
      await client.connect(transport);
      try {
        await correctOverMcp(client);
        assertCorrected(directory);
      } finally {
        await client.close();
      }
    }));
});

async function correctOverMcp(client: Client): Promise<void> {
  const { tools } = await client.listTools();
  assert.deepEqual(
    tools.map(({ name }) => name),
    ["read", "write", "edit"],
  );
  assert.match(client.getInstructions() ?? "", /^## read\n/);

  const edit = (file_path: string) =>
    client.callTool({ name: "edit", arguments: { file_path, old_string: "teh", new_string: "the" } });
  const refusal = await edit("notes.txt");
  assert.equal(refusal.isError, true);
  assert.match(JSON.stringify(refusal.content), /^\[{"type":"text","text":"FS_NOT_OBSERVED: /);

  for (const file_path of ["notes.txt", "todo.txt"]) {
    const page = await client.callTool({ name: "read", arguments: { file_path } });
    assert.equal(page.isError, false);
  }
  const edits = await Promise.all([edit("notes.txt"), edit("todo.txt")]);
  assert.deepEqual(
    edits.map(({ isError }) => isError),
    [false, false],
  );
}

test("an example without a directory has no files to work on", async () => {
  assert.equal(await run("anthropic"), "Both files say `the` now.\n");
});

describe("in a directory without the files, an example says that it corrected them", () => {
  for (const example of ["anthropic", "openai-chat", "openai-responses", "gemini"]) {
    test(example, () =>
      withFiles(async (directory) => {
        for (const name of ["notes.txt", "todo.txt"]) rmSync(join(directory, name));
        const { code, stdout } = await project.run(`examples/${example}.js`, directory);
        assert.notEqual(code, 0);
        assert.doesNotMatch(stdout, /Both files/);
      }),
    );
  }
});

test("a model that is told less than what happened passes the script", () =>
  withFiles(async (directory) => {
    // Reading it fails then, which is not what the script expects.
    rmSync(join(directory, "notes.txt"));
    const { code, stderr } = await project.run("examples/anthropic.js", directory);
    assert.equal(code, 1);
    assert.match(stderr, /AssertionError.*: the mark of a failure for call_3/);
  }));
