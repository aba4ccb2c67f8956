/** What the model of the scripts does, whatever its service: it forgets to read, is told, and recovers. */
import assert from "node:assert/strict";

/** A call as a model makes it. */
export interface ScriptedCall {
  id: string;
  name: string;
  args: { [name: string]: string };
}

/** What the model is asked to do. */
export const TASK = "In notes.txt and todo.txt, write `the` where it says `teh`.";

/** What the model says at the end. */
export const LAST_WORDS = "Both files say `the` now.";

const correct = (file_path: string) => ({ file_path, old_string: "teh", new_string: "the" });

/** The calls of each turn. Those of one turn are made at once. */
export const TURNS: readonly ScriptedCall[][] = [
  [
    // Refused: the model has not read the file.
    { id: "call_1", name: "edit", args: correct("notes.txt") },
    { id: "call_2", name: "read", args: { file_path: "todo.txt" } },
  ],
  [
    { id: "call_3", name: "read", args: { file_path: "notes.txt" } },
    { id: "call_4", name: "edit", args: correct("todo.txt") },
  ],
  [{ id: "call_5", name: "edit", args: correct("notes.txt") }],
];

/** What came back for a call. */
export interface ScriptedResult {
  id: string;
  text: string;
  /** Whether it was marked as a failure; absent where the service has no such mark. */
  isError?: boolean | undefined;
}

/** Throws unless the request of a turn tells the model what became of the calls of the turn before. */
export function checkResults(results: readonly ScriptedResult[], turn: number): void {
  const calls = TURNS[turn - 1] ?? [];
  assert.deepEqual(
    results.map(({ id }) => id),
    calls.map(({ id }) => id),
    "each call of a turn is answered, in one request",
  );
  for (const { id, text, isError } of results) {
    const refused = id === "call_1";
    assert.equal(text.startsWith("FS_NOT_OBSERVED: "), refused, `the text for ${id}: ${text}`);
    assert.equal(isError ?? refused, refused, `the mark of a failure for ${id}`);
    // Where the service has no mark for a failure, the text alone tells of it.
    assert.equal(/^FS_[A-Z_]+: /.test(text), refused, `the text for ${id}: ${text}`);
  }
}
