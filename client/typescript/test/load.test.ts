/** Many sessions at once on one connection: what was acknowledged is there at the end. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Session, ToolError, Toolfs } from "../src/index.js";
import { startServer } from "./support/server.js";

const SESSIONS = 100;
const EDITS_EACH = 3;
const SHARED_FILES = 30;

test(`every acknowledged edit of ${SESSIONS} sessions at once is present`, async () => {
  await using server = await startServer({ args: ["--durability", "none"] });
  mkdirSync(join(server.directory, "own"));
  await using client = Toolfs.connect(server.address);
  await using first = await client.openSession();
  for (let file = 0; file < SHARED_FILES; file += 1) {
    await first.write({ file_path: `shared-${file}.txt`, content: "end\n" });
  }
  const refusals = { count: 0 };
  const acknowledged = await Promise.all(
    Array.from({ length: SESSIONS }, async (_, agent) => {
      await using session = await client.openSession();
      return await work(session, agent, refusals);
    }),
  );
  for (let file = 0; file < SHARED_FILES; file += 1) {
    const expected = acknowledged.flat().filter((edit) => edit.file === file);
    const lines = readFileSync(join(server.directory, `shared-${file}.txt`), "utf8").split("\n");
    assert.deepEqual(lines.toSorted(), [...expected.map((edit) => edit.line), "end", ""].toSorted());
  }
  assert.equal(acknowledged.flat().length, SESSIONS * EDITS_EACH);
  for (let agent = 0; agent < SESSIONS; agent += 1) {
    assert.equal(readFileSync(join(server.directory, "own", `${agent}.txt`), "utf8"), `agent ${agent}, done\n`);
  }
  assert.ok(refusals.count > 0, "the agents never met, so that nothing was shown");
});

interface Edit {
  file: number;
  line: string;
}

/** What an agent does: a file of its own, and lines in files that all share. Tells which lines were acknowledged. */
async function work(session: Session, agent: number, refusals: { count: number }): Promise<Edit[]> {
  const own = `own/${agent}.txt`;
  await session.write({ file_path: own, content: `agent ${agent}\n` });
  const edits: Edit[] = [];
  for (let number = 0; number < EDITS_EACH; number += 1) {
    const edit = { file: (agent + number) % SHARED_FILES, line: `agent ${agent}, edit ${number}` };
    await insert(session, edit, refusals);
    edits.push(edit);
    const page = await session.call("read", { file_path: own });
    assert.ok(!page.isError);
  }
  await session.edit({ file_path: own, old_string: "\n", new_string: ", done\n" });
  return edits;
}

/** Reads and edits until no other agent comes between. */
async function insert(session: Session, { file, line }: Edit, refusals: { count: number }): Promise<void> {
  const file_path = `shared-${file}.txt`;
  for (;;) {
    await session.read({ file_path, limit: 1 });
    try {
      await session.edit({ file_path, old_string: "end\n", new_string: `${line}\nend\n` });
      return;
    } catch (error) {
      if (!(error instanceof ToolError) || error.code !== "FS_STALE_VERSION") throw error;
      refusals.count += 1;
    }
  }
}
