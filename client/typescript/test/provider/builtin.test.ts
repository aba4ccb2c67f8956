/** What the classes here answer, beside what the server's own provider answers to the same questions. */
import assert from "node:assert/strict";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { toJson } from "@bufbuild/protobuf";
import { ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { DirectoryProvider } from "../../examples/directory-provider.js";
import * as v1 from "../../src/v1.js";
import { startServer } from "../support/server.js";
import { randomOf, textOf } from "./random.js";
import { seamOf } from "./support.js";

const directory = realpathSync(mkdtempSync(join(tmpdir(), "toolfs-beside-")));
const socket = join(mkdtempSync(join(tmpdir(), "toolfs-beside-")), "seam.sock");
const server = await startServer({ root: directory, args: ["--serve-seam", `unix:${socket}`] });
const ours = await seamOf(new DirectoryProvider(directory));
after(async () => {
  await ours.close();
  await server[Symbol.asyncDispose]();
  for (const path of [directory, dirname(socket)]) rmSync(path, { recursive: true });
});

const transport = createGrpcTransport({
  baseUrl: "http://localhost",
  nodeOptions: { createConnection: () => connect(socket) },
});
const clients = [ours.client, createClient(v1.FileSystemService, transport)] as const;
type Client = (typeof clients)[number];

/** What both answer: a report without its version and the lines of its diff, or an error without versions. */
async function answers<T>(
  ask: (client: Client) => Promise<T>,
  tell: (answer: T) => unknown,
): Promise<[unknown, unknown]> {
  const [first, second] = await Promise.all(
    clients.map(async (client) => {
      try {
        return tell(await ask(client));
      } catch (thrown) {
        const { code, rawMessage } = ConnectError.from(thrown);
        const [error] = ConnectError.from(thrown).findDetails(v1.FsErrorSchema);
        if (error === undefined) throw thrown;
        return { code, rawMessage, error: toJson(v1.FsErrorSchema, error) };
      }
    }),
  );
  return [first, second];
}

async function keyOf(client: Client): Promise<Uint8Array> {
  const { target } = await client.resolve({ location: { case: "path", value: "f" } });
  return target!.targetKey;
}

const keys = new Map(await Promise.all(clients.map(async (client) => [client, await keyOf(client)] as const)));
const UNCONDITIONAL = { condition: { case: "unconditional", value: {} } } as const;

test("an edit is planned otherwise than by the server's own provider", async () => {
  const random = randomOf(17);
  const pieces = ["a", "b", "B", "\n", "\r\n", "\r", " ", "\t", "é", "ab\n", "\ufeff"];
  let edits = 0;
  for (let round = 0; round < 150; round++) {
    const content = textOf(random, pieces, 25);
    const characters = Array.from(content);
    const start = random(characters.length + 1);
    const somewhere = characters.slice(start, start + 1 + random(4)).join("");
    const [oldString, newString] = [random(4) === 0 ? textOf(random, pieces, 3) : somewhere, textOf(random, pieces, 3)];
    writeFileSync(join(directory, "f"), content);
    const replaceAll = random(2) === 0;
    const [got, expected] = await answers(
      (client) => {
        const asked = { oldString, newString, replaceAll, guard: UNCONDITIONAL, wantDiff: true };
        return client.planEdit({ targetKey: keys.get(client)!, ...asked });
      },
      ({ report }) => {
        const { replacements, matches, changedRanges, size, notices } = toJson(v1.EditReportSchema, report!) as Record<
          string,
          unknown
        >;
        return { replacements, matches, changedRanges, size, notices };
      },
    );
    assert.deepEqual(
      withoutNearMisses(got),
      withoutNearMisses(expected),
      JSON.stringify({ content, oldString, newString, replaceAll }),
    );
    if ("replacements" in (expected as object)) edits += 1;
  }
  assert.ok(edits > 50, `${edits}`);
});

/** Which places nearly match is a matter of judgement; how many there are is part of the message. */
function withoutNearMisses(answer: unknown): unknown {
  const told = answer as { rawMessage?: string; error?: { reason?: string } };
  return told.error?.reason === "FS_EDIT_NOT_FOUND" ? "FS_EDIT_NOT_FOUND" : answer;
}

test("lines are read otherwise than by the server's own provider", async () => {
  const random = randomOf(19);
  const pieces = ["a", "é", "😀", "\n", "\r\n", "\r", "\ufeff", "line\n", "\0", "\ud800"];
  let reads = 0;
  for (let round = 0; round < 150; round++) {
    const content = textOf(random, pieces, 12);
    writeFileSync(
      join(directory, "f"),
      round % 7 === 0 ? Buffer.from(content, "latin1") : content.replaceAll("\0", round % 5 === 0 ? "\0" : ""),
    );
    const window = {
      firstLine: BigInt(1 + random(4)),
      maxLines: BigInt(1 + random(4)),
      maxBytes: BigInt(1 + random(12)),
      maxLineChars: BigInt(1 + random(5)),
    };
    const [got, expected] = await answers(
      (client) => client.readLines({ targetKey: keys.get(client)!, ...window }),
      (answer) => ({ ...(toJson(v1.ReadLinesResponseSchema, answer) as object), version: "" }),
    );
    assert.deepEqual(
      got,
      expected,
      JSON.stringify({ content, ...window }, (_, value) => (typeof value === "bigint" ? Number(value) : value)),
    );
    if ("lines" in (expected as object)) reads += 1;
  }
  assert.ok(reads > 50, `${reads}`);
});
