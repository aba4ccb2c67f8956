/** What every provider of whole contents gets: guards, critical sections, reports. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FsError, versionOf } from "../../src/provider/index.js";
import type { EditTextRequest, WriteTextRequest } from "../../src/provider/request.js";
import { MemoryProvider, refusalOf, seamOf } from "./support.js";

const KEY = Buffer.from("/ws/f");
const UNCONDITIONAL = { kind: "unconditional" } as const;

function call(signal: AbortSignal = new AbortController().signal) {
  return { signal };
}

function edit(oldString: string, newString: string, rest: Partial<EditTextRequest> = {}): EditTextRequest {
  return { target: KEY, oldString, newString, replaceAll: false, guard: UNCONDITIONAL, wantDiff: true, ...rest };
}

function write(content: string, rest: Partial<WriteTextRequest> = {}): WriteTextRequest {
  return { target: KEY, content: Buffer.from(content), guard: UNCONDITIONAL, wantDiff: true, ...rest };
}

function provider(content?: string): MemoryProvider {
  const memory = new MemoryProvider();
  if (content !== undefined) memory.put("/ws/f", content);
  return memory;
}

async function code(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof FsError, `a refusal was due: ${error}`);
  return error.code;
}

/** Lets reads go on only when so many wait: calls that do not exclude each other all meet there. */
function meetingOf(count: number): { wait: () => Promise<void>; met: () => number } {
  let waiting = 0;
  let most = 0;
  return {
    async wait() {
      waiting += 1;
      most = Math.max(most, waiting);
      // Whoever else can come here does so before these turns are over.
      for (let turn = 0; turn < 20 * count; turn++) await Promise.resolve();
      waiting -= 1;
    },
    met: () => most,
  };
}

test("two edits at once lose one of them", async () => {
  const memory = provider("one\ntwo\n");
  await using seam = await seamOf(memory);
  const guard = { condition: { case: "unconditional", value: {} } } as const;
  const edits = [
    ["one", "1"],
    ["two", "2"],
  ] as const;
  const send = ([oldString, newString]: readonly [string, string]) =>
    seam.client.editText({ targetKey: KEY, guard, oldString, newString });
  await Promise.all(edits.map(send));
  assert.equal(memory.text("/ws/f"), "1\n2\n");
});

test("edits of one file meet between check and replacement", async () => {
  const memory = provider("0 1 2 3 4 5 6 7 8 9");
  const meeting = meetingOf(10);
  memory.beforeRead = meeting.wait;
  await Promise.all(Array.from("0123456789", (digit) => memory.editText(edit(digit, `<${digit}>`), call())));
  assert.equal(memory.text("/ws/f"), "<0> <1> <2> <3> <4> <5> <6> <7> <8> <9>");
  assert.equal(meeting.met(), 1);
});

test("edits of different files wait for each other", async () => {
  const memory = provider();
  const meeting = meetingOf(4);
  memory.beforeRead = meeting.wait;
  const keys = Array.from("abcd", (name) => Buffer.from(`/ws/${name}`));
  for (const key of keys) memory.put(key.toString(), "old");
  await Promise.all(keys.map((target) => memory.editText(edit("old", "new", { target }), call())));
  assert.equal(meeting.met(), 4);
});

test("of guarded edits of one version two win", async () => {
  const memory = provider("a b c");
  const guard = { kind: "replace-if-version", version: versionOf(Buffer.from("a b c")) } as const;
  const edits = ["a", "b", "c"].map((old) => memory.editText(edit(old, "!", { guard }), call()));
  const ends = await Promise.allSettled(edits);
  assert.equal(ends.filter(({ status }) => status === "fulfilled").length, 1);
  for (const end of ends) {
    if (end.status === "rejected") assert.equal(end.reason.code, "FS_STALE_VERSION");
  }
});

test("a failed mutation keeps its file to itself", async () => {
  const memory = provider("a");
  assert.equal(await code(memory.editText(edit("missing", "x"), call())), "FS_EDIT_NOT_FOUND");
  await memory.editText(edit("a", "b"), call());
  assert.equal(memory.text("/ws/f"), "b");
});

test("an unguarded edit overwrites what somebody else put there meanwhile", async () => {
  const memory = provider("one two");
  let isFirst = true;
  memory.beforeReplace = () => {
    if (isFirst) memory.put("/ws/f", "zero one two");
    isFirst = false;
  };
  await memory.editText(edit("two", "2"), call());
  assert.equal(memory.text("/ws/f"), "zero one 2");
});

test("a guarded write overwrites what somebody else put there meanwhile", async () => {
  const memory = provider("seen");
  memory.beforeReplace = () => memory.put("/ws/f", "theirs");
  const guard = { kind: "replace-if-version", version: versionOf(Buffer.from("seen")) } as const;
  assert.equal(await code(memory.writeText(write("ours", { guard }), call())), "FS_STALE_VERSION");
  assert.equal(memory.text("/ws/f"), "theirs");
});

test("a creation overwrites what somebody else created meanwhile", async () => {
  const memory = provider();
  memory.beforeReplace = () => memory.put("/ws/f", "theirs");
  assert.equal(
    await code(memory.writeText(write("ours", { guard: { kind: "create-if-absent" } }), call())),
    "FS_NOT_OBSERVED",
  );
  assert.equal(memory.text("/ws/f"), "theirs");
});

test("a file that never stops changing is waited for without end", async () => {
  const memory = provider("0 x");
  let count = 0;
  memory.beforeReplace = () => memory.put("/ws/f", `${++count} x`);
  assert.equal(await code(memory.editText(edit("x", "y"), call())), "FS_UNAVAILABLE");
});

test("a call that is given up after its decision publishes all the same", async () => {
  const memory = provider("old");
  const gone = new AbortController();
  memory.beforeRead = async () => gone.abort();
  assert.equal(await code(memory.editText(edit("old", "new"), call(gone.signal))), "FS_ABORTED");
  assert.equal(memory.text("/ws/f"), "old");
});

test("a call that is given up while it waits for its turn publishes all the same", async () => {
  const memory = provider("old");
  const gone = new AbortController();
  const first = memory.editText(edit("old", "first"), call());
  const second = memory.editText(edit("first", "second"), call(gone.signal));
  gone.abort();
  await first;
  assert.equal(await code(second), "FS_ABORTED");
  assert.equal(memory.text("/ws/f"), "first");
});

test("a plan publishes, or reports something else than its mutation", async () => {
  for (const content of [undefined, "a\r\nb\r\n", "other\n"]) {
    const memory = provider(content);
    const planned = await memory.planWrite(write("new\nlines"), call());
    assert.equal(memory.text("/ws/f"), content);
    assert.deepEqual(await memory.writeText(write("new\nlines"), call()), planned);
  }
  const memory = provider("one\ntwo\n");
  const planned = await memory.planEdit(edit("two", "2\n3"), call());
  assert.equal(memory.text("/ws/f"), "one\ntwo\n");
  assert.deepEqual(await memory.editText(edit("two", "2\n3"), call()), planned);
});

test("what could not be made durable is told as if nothing had happened", async () => {
  const memory = provider("old");
  const notDurable = new FsError({ code: "FS_IO_ERROR" }, "the disk said no", { published: "yes" });
  memory.answer = { notDurable, notices: [{ kind: "not-atomic", text: "readers may have seen it half" }] };
  await using seam = await seamOf(memory);
  const guard = { condition: { case: "unconditional", value: {} } } as const;
  const answer = await seam.client.editText({ targetKey: KEY, guard, oldString: "old", newString: "new" });
  assert.equal(answer.notDurable?.reason, "FS_IO_ERROR");
  assert.equal(answer.report?.notices[0]?.text, "readers may have seen it half");
  assert.equal(memory.text("/ws/f"), "new");
});

test("a protected name is changed", async () => {
  const memory = provider();
  memory.put("/ws/.git/config", "a");
  for (const path of ["/ws/.git/config", "/ws/.git/new", "/ws/sub/.git/hooks/x", "/ws/.git"]) {
    const target = Buffer.from(path);
    const expected = path === "/ws/.git" ? "FS_NOT_REGULAR_FILE" : "FS_SANDBOX_DENIED";
    assert.equal(await code(memory.writeText(write("x", { target }), call())), expected, path);
  }
  assert.equal(memory.text("/ws/.git/config"), "a");
});

test("an answer of the seam has another shape over the wire", async () => {
  const memory = provider("\ufeffone\r\ntwo\nthree");
  memory.put("/ws/sub/g", "x");
  await using seam = await seamOf(memory);
  const lines = await seam.client.readLines({ targetKey: KEY, firstLine: 2n, maxLines: 1n });
  assert.deepEqual(
    lines.lines.map(({ text }) => Buffer.from(text).toString()),
    ["two"],
  );
  assert.deepEqual([lines.firstLine, lines.totalLines, lines.size, lines.bom], [2n, 3n, 17n, true]);
  const past = await seam.client.readLines({ targetKey: KEY, firstLine: 2n ** 63n - 1n });
  assert.deepEqual([past.lines.length, past.firstLine], [0, 2n ** 63n - 1n]);
  const capabilities = await seam.client.getProviderCapabilities({});
  assert.equal(capabilities.roots[0]?.displayPath, "/ws");
  assert.equal(capabilities.provider?.operationIds, false);
  assert.equal(capabilities.limits.find(({ name }) => name === "max_file_bytes")?.value, undefined);
  const names: string[] = [];
  for await (const { entries } of seam.client.listDir({ targetKey: Buffer.from("/ws") })) {
    names.push(...entries.map(({ displayName }) => displayName));
  }
  assert.deepEqual(names, ["f"]);
});

test("a missing file comes without the names that look like it", async () => {
  const memory = provider();
  memory.put("/ws/README.md", "x");
  await using seam = await seamOf(memory);
  const { fsError } = await refusalOf(seam.client.readLines({ targetKey: Buffer.from("/ws/readme.md") }));
  assert.deepEqual(fsError?.detail.value, { ...fsError?.detail.value, similarNames: ["README.md"] });
});
