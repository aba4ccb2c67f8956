/**
 * An agent's loop in small, with a script in place of the model: it reads, somebody else changes the file, its edit is
 * refused, and it recovers. Nobody's work is lost.
 *
 * Usage, after `npm ci`: npx tsx examples/scripted-agent.ts
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ModelReply, Toolfs } from "toolfs";

/** A call as a model makes it. */
interface ToolCall {
  id: string;
  name: string;
  args: object;
}

/** The model: it makes a call, gets the reply, and at the end it says something. */
function* model(): Generator<ToolCall, string, ModelReply> {
  const args = { file_path: "notes.txt" };
  const edit = { ...args, old_string: "buy milk", new_string: "buy oat milk" };

  const page = yield { id: "call_1", name: "read", args };
  assert.equal(page.text, "1: buy milk\n\n(line 1 of 1)");

  const refusal = yield { id: "call_2", name: "edit", args: edit };
  assert.equal(refusal.isError, true);
  // The model reads the text. Programs have the code, and the facts.
  assert.match(refusal.text, /^FS_STALE_VERSION: .*\nremedy: read it again/s);
  assert.equal(refusal.error?.code, "FS_STALE_VERSION");

  const again = yield { id: "call_3", name: "read", args };
  assert.match(again.text, /2: call mum/);

  const done = yield { id: "call_4", name: "edit", args: edit };
  assert.equal(done.isError, false);
  assert.equal(done.outcome?.case, "edit");
  return "Oat milk it is.";
}

const directory = await mkdtemp(join(tmpdir(), "toolfs-example-"));
const notes = join(directory, "notes.txt");
await writeFile(notes, "buy milk\n");
try {
  await using client = await Toolfs.local({ root: directory });
  await using session = await client.openSession();

  const agent = model();
  let turn = agent.next();
  while (!turn.done) {
    const { id, name, args } = turn.value;
    const reply = await session.call(name, args, { toolCallId: id });
    console.log(`${name}: ${reply.text}\n`);
    // Somebody else, at the worst moment.
    if (id === "call_1") await writeFile(notes, "buy milk\ncall mum\n");
    turn = agent.next(reply);
  }
  console.log(turn.value);

  assert.equal(await readFile(notes, "utf8"), "buy oat milk\ncall mum\n");
} finally {
  await rm(directory, { recursive: true });
}
