// A process that edits files which other processes edit too, for the test of two languages on one directory:
//
//     editor.ts ADDRESS NAME SESSIONS EDITS
//
// Adds lines `NAME-SESSION-EDIT` before the line `END` of the files `shared-0` and `shared-1`, in turn, and prints each
// line that the server acknowledged.

import { type Session, ToolError, Toolfs } from "../src/index.js";

const REFUSED_FOR_NOW = new Set(["FS_STALE_VERSION", "FS_NOT_OBSERVED"]);

/** Adds a line, following the remedy of each refusal: read again, then retry. */
async function add(session: Session, path: string, line: string): Promise<void> {
  for (;;) {
    try {
      await session.edit({ file_path: path, old_string: "END\n", new_string: `${line}\nEND\n` });
      process.stdout.write(`${line}\n`);
      return;
    } catch (error) {
      if (!(error instanceof ToolError) || !REFUSED_FOR_NOW.has(error.code)) throw error;
      await session.read({ file_path: path });
    }
  }
}

/** One session's edits, one after the other. */
async function work(client: Toolfs, name: string, number: number, edits: number): Promise<void> {
  const session = await client.openSession();
  for (let edit = 0; edit < edits; edit++) {
    await add(session, `shared-${(number + edit) % 2}`, `${name}-${number}-${edit}`);
  }
  await session.close();
}

const [address = "", name = "", sessions = "0", edits = "0"] = process.argv.slice(2);
const client = Toolfs.connect(address);
await Promise.all(Array.from({ length: Number(sessions) }, (_, number) => work(client, name, number, Number(edits))));
await client.close();
