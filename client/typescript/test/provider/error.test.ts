/** Errors over the wire: each kind with its code, its reason and its facts, and nothing that was not meant to leave. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@connectrpc/connect";
import { FsError, type FsErrorOptions, type FsFailure, type NearMiss, refusal } from "../../src/provider/index.js";
import * as v1 from "../../src/v1.js";
import { MemoryProvider, refusalOf, seamOf, type Told } from "./support.js";

/** Throws what it is told to. */
class Failing extends MemoryProvider {
  constructor(readonly thrown: unknown) {
    super();
  }

  override resolve(): never {
    throw this.thrown;
  }
}

async function told(thrown: unknown, mistakes: unknown[] = []): Promise<Told> {
  await using seam = await seamOf(new Failing(thrown), { onMistake: (mistake) => mistakes.push(mistake) });
  return await refusalOf(seam.client.resolve({ location: { case: "path", value: "f" } }));
}

type Detail = NonNullable<v1.FsError["detail"]["case"]>;

const kinds: [failure: FsFailure, grpc: Code, detail: Detail | undefined][] = [
  [{ code: "FS_NOT_FOUND", similarNames: ["a", "b"] }, Code.NotFound, "notFound"],
  [{ code: "FS_NOT_DIRECTORY" }, Code.FailedPrecondition, undefined],
  [{ code: "FS_NOT_REGULAR_FILE", kind: "fifo" }, Code.FailedPrecondition, "notRegularFile"],
  [{ code: "FS_NOT_TEXT", byteOffset: 7, encoding: "UTF-16LE" }, Code.FailedPrecondition, "notText"],
  [
    { code: "FS_TOO_LARGE", limitName: "max_read_bytes", limitBytes: 1, sizeBytes: 2 },
    Code.FailedPrecondition,
    "tooLarge",
  ],
  [{ code: "FS_OUT_OF_RANGE", totalLines: 3 }, Code.OutOfRange, "outOfRange"],
  [{ code: "FS_PERMISSION_DENIED" }, Code.PermissionDenied, undefined],
  [{ code: "FS_SANDBOX_DENIED", rule: ".git" }, Code.PermissionDenied, "sandbox"],
  [{ code: "FS_NO_SPACE" }, Code.ResourceExhausted, undefined],
  [{ code: "FS_IO_ERROR" }, Code.Internal, undefined],
  [{ code: "FS_STALE_VERSION", expected: "v1", actual: "v2" }, Code.Aborted, "staleVersion"],
  [{ code: "FS_NOT_OBSERVED" }, Code.FailedPrecondition, undefined],
  [
    { code: "FS_NOT_OBSERVED", existing: { kind: "regular", size: 4, text: false } },
    Code.FailedPrecondition,
    "notObserved",
  ],
  [{ code: "FS_AMBIGUOUS_EDIT", matchCount: 2, lines: [1, 5] }, Code.FailedPrecondition, "ambiguousEdit"],
  [
    { code: "FS_EDIT_NOT_FOUND", nearMisses: [nearMiss("x")], searchStopped: "time" },
    Code.FailedPrecondition,
    "editNotFound",
  ],
  [{ code: "FS_INVALID_ARGUMENT", field: "f", actual: "a", expected: "e" }, Code.InvalidArgument, "invalidArgument"],
  [{ code: "FS_UNSUPPORTED" }, Code.Unimplemented, undefined],
  [{ code: "FS_UNAVAILABLE", cause: "open-for-writing" }, Code.Unavailable, "unavailable"],
  [{ code: "FS_ABORTED", cause: "cancelled" }, Code.Canceled, "aborted"],
  [{ code: "FS_ABORTED", cause: "draining" }, Code.Canceled, "aborted"],
  [{ code: "FS_ABORTED", cause: "deadline-exceeded" }, Code.DeadlineExceeded, "aborted"],
];

function nearMiss(line: string): NearMiss {
  return {
    startLine: 1,
    endLine: 5,
    lines: [line, line, line, line, line],
    reasons: ["tabs-or-spaces", "letter-case"],
  };
}

for (const [failure, grpc, detail] of kinds) {
  test(`${failure.code} with ${detail ?? "no detail"} loses something on its way (${Code[grpc]})`, async () => {
    const status = await told(new FsError(failure, "it went wrong", { path: "/ws/f" }));
    assert.equal(status.grpc, grpc);
    assert.equal(status.reason, failure.code);
    assert.equal(status.domain, "toolfs");
    assert.equal(status.message, `${failure.code}: it went wrong`);
    const { fsError } = status;
    assert.equal(fsError?.code, v1.FsErrorCode[failure.code]);
    assert.equal(fsError?.reason, failure.code);
    assert.equal(fsError?.message, "it went wrong");
    assert.equal(fsError?.path, "/ws/f");
    assert.equal(fsError?.remedy, "");
    assert.equal(fsError?.published, v1.Published.NO);
    assert.equal(fsError?.detailTruncated, false);
    assert.equal(fsError?.retryable, failure.code === "FS_UNAVAILABLE" || failure.code === "FS_ABORTED");
    assert.equal(fsError?.detail.case, detail);
  });
}

test("facts of details change on their way", async () => {
  const detailOf = async (failure: FsFailure) => (await told(new FsError(failure, "m"))).fsError?.detail.value;
  const stale = (await detailOf({ code: "FS_STALE_VERSION", expected: "v1" })) as v1.StaleVersionDetail;
  assert.deepEqual([stale.expectedVersion, stale.actualVersion], ["v1", undefined]);
  const large = (await detailOf({
    code: "FS_TOO_LARGE",
    limitName: "max_file_bytes",
    limitBytes: 1,
    sizeBytes: 2,
  })) as v1.TooLargeDetail;
  assert.deepEqual([large.limitKind, large.limitBytes, large.sizeBytes], [v1.LimitKind.MAX_FILE_BYTES, 1n, 2n]);
  const near = (await detailOf({ code: "FS_EDIT_NOT_FOUND", nearMisses: [nearMiss("x")] })) as v1.EditNotFoundDetail;
  assert.equal(near.nearMisses[0]?.reasonText, "tabs or spaces, letter case");
  assert.deepEqual([near.nearMisses[0]?.endLine, near.searchStoppedEarly], [5n, false]);
});

const published: [options: FsErrorOptions, published: v1.Published, retryable: boolean][] = [
  [{}, v1.Published.NO, true],
  [{ published: "yes", rescuePath: "/ws/rescue" }, v1.Published.YES, true],
  [{ published: "maybe" }, v1.Published.MAYBE, false],
];

for (const [options, expected, retryable] of published) {
  test(`an aborted call tells another fate than ${options.published ?? "no"}`, async () => {
    const { fsError } = await told(new FsError({ code: "FS_ABORTED" }, "m", options));
    assert.deepEqual([fsError?.published, fsError?.retryable], [expected, retryable]);
    assert.equal(fsError?.rescuePath, options.rescuePath ?? "");
  });
}

test("an error that is too large for trailers does not arrive", async () => {
  const line = "\u{1F600}".repeat(200);
  const failure: FsFailure = {
    code: "FS_EDIT_NOT_FOUND",
    nearMisses: [nearMiss(line), nearMiss(line), nearMiss(line)],
  };
  const status = await told(new FsError(failure, "é".repeat(5_000), { path: "/".repeat(4_096) }));
  assert.equal(status.reason, "FS_EDIT_NOT_FOUND");
  assert.ok(Buffer.byteLength(status.message) <= 400);
  assert.equal(status.fsError?.detailTruncated, true);
  assert.equal(status.fsError?.detail.case, "editNotFound");
  assert.ok(status.fsError?.message.endsWith("é…"));
});

test("half a character in a message ends the call without a reason", async () => {
  const status = await told(new FsError({ code: "FS_IO_ERROR" }, "half \ud83d of it"));
  assert.equal(status.reason, "FS_IO_ERROR");
  assert.equal(status.message, "FS_IO_ERROR: half \ufffd of it");
});

test("a mistake of the provider is told to its caller", async () => {
  const mistakes: unknown[] = [];
  const mistake = new TypeError("secret of the provider");
  const status = await told(mistake, mistakes);
  assert.deepEqual([status.grpc, status.reason], [Code.Internal, "INTERNAL"]);
  assert.doesNotMatch(status.message, /secret/);
  assert.equal(status.fsError, undefined);
  assert.deepEqual(mistakes, [mistake]);
});

const system: [code: string, expected: string][] = [
  ["ENOENT", "FS_NOT_FOUND"],
  ["ENOTDIR", "FS_NOT_DIRECTORY"],
  ["EISDIR", "FS_NOT_REGULAR_FILE"],
  ["EACCES", "FS_PERMISSION_DENIED"],
  ["EROFS", "FS_PERMISSION_DENIED"],
  ["ENOSPC", "FS_NO_SPACE"],
  ["EDQUOT", "FS_NO_SPACE"],
  ["ENAMETOOLONG", "FS_INVALID_ARGUMENT"],
  ["EIO", "FS_IO_ERROR"],
];

for (const [code, expected] of system) {
  test(`the system's ${code} is not ${expected}`, () => {
    const cause = Object.assign(new Error("from the system"), { code });
    const error = refusal.ofSystemError(cause, "/ws/f");
    assert.deepEqual([error.code, error.path], [expected, "/ws/f"]);
    assert.doesNotMatch(error.message, /from the system/);
  });
}

const callers: [
  name: string,
  call: (client: Awaited<ReturnType<typeof seamOf>>["client"]) => Promise<unknown>,
  reason: string,
  field?: string,
][] = [
  ["resolves no path", (client) => client.resolve({}), "FS_INVALID_ARGUMENT", "path"],
  ["asks about no target", (client) => client.stat({}), "FS_INVALID_ARGUMENT", "target_key"],
  [
    "asks whether nothing contains something",
    (client) => client.contains({ targetKey: KEY() }),
    "FS_INVALID_ARGUMENT",
    "ancestor_key",
  ],
  [
    "asks about a foreign key",
    (client) => client.stat({ targetKey: Buffer.from("foreign") }),
    "FS_INVALID_ARGUMENT",
    "target_key",
  ],
  [
    "reads from line 0",
    (client) => client.readLines({ targetKey: KEY(), firstLine: 0n }),
    "FS_INVALID_ARGUMENT",
    "first_line",
  ],
  [
    "reads no lines",
    (client) => client.readLines({ targetKey: KEY(), maxLines: -1n }),
    "FS_INVALID_ARGUMENT",
    "max_lines",
  ],
  [
    "reads from before the start",
    (client) => drained(client.readBytes({ targetKey: KEY(), offset: -1n })),
    "FS_INVALID_ARGUMENT",
    "offset",
  ],
  [
    "edits without a guard",
    (client) => client.editText({ targetKey: KEY(), oldString: "a", newString: "b" }),
    "GUARD_MISSING",
  ],
  [
    "edits under a guard that is not known",
    (client) => client.editText({ targetKey: KEY(), guard: {}, oldString: "a", newString: "b" }),
    "GUARD_MISSING",
  ],
  [
    "plans an edit without a guard",
    (client) => client.planEdit({ targetKey: KEY(), oldString: "a", newString: "b" }),
    "GUARD_MISSING",
  ],
  [
    "edits nothing",
    (client) => client.editText({ targetKey: KEY(), guard: ANY, newString: "b" }),
    "FS_INVALID_ARGUMENT",
    "old_string",
  ],
  [
    "edits an empty text",
    (client) => client.editText({ targetKey: KEY(), guard: ANY, oldString: "", newString: "b" }),
    "FS_INVALID_ARGUMENT",
    "old_string",
  ],
  [
    "does not say by what",
    (client) => client.editText({ targetKey: KEY(), guard: ANY, oldString: "a" }),
    "FS_INVALID_ARGUMENT",
    "new_string",
  ],
  [
    "changes only line ends",
    (client) => client.editText({ targetKey: KEY(), guard: ANY, oldString: "a\r\n", newString: "a\n" }),
    "FS_INVALID_ARGUMENT",
    "new_string",
  ],
  [
    "names an operation",
    (client) => client.editText({ targetKey: KEY(), guard: ANY, oldString: "a", newString: "b", operationId: "once" }),
    "FS_UNSUPPORTED",
  ],
  [
    "names an operation badly",
    (client) => client.editText({ targetKey: KEY(), guard: ANY, oldString: "a", newString: "b", operationId: "ä" }),
    "FS_INVALID_ARGUMENT",
    "operation_id",
  ],
  ["lists a file", (client) => drained(client.listDir({ targetKey: KEY() })), "FS_NOT_DIRECTORY"],
  ["lists nothing", (client) => drained(client.listDir({ targetKey: Buffer.from("/ws/gone") })), "FS_NOT_FOUND"],
];

function KEY(): Uint8Array {
  return Buffer.from("/ws/f");
}

const ANY = { condition: { case: "unconditional", value: {} } } as const;

async function drained(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

for (const [name, call, reason, field] of callers) {
  test(`a caller that ${name} is not refused with ${reason}`, async () => {
    const provider = new MemoryProvider();
    provider.put("/ws/f", "a\r\n");
    await using seam = await seamOf(provider);
    const status = await refusalOf(call(seam.client));
    assert.equal(status.reason, reason);
    const { detail } = status.fsError ?? {};
    assert.equal(detail?.case === "invalidArgument" ? detail.value.field : undefined, field);
    assert.equal(provider.text("/ws/f"), "a\r\n");
  });
}
