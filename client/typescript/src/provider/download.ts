/** Content and listings that leave in parts. */
import { type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import * as v1 from "../v1.js";
import { entryOnWire } from "./encode.js";
import { FsError } from "./fs-error.js";
import { throwIfGivenUp } from "./giving-up.js";
import type { ContentStream } from "./report.js";
import type { Call } from "./request.js";
import type { Entry } from "./target.js";

/** Bytes of one piece of content in an answer. */
export const PIECE_BYTES = 64 << 10;

/** Bytes of directory entries in one message, but for a single entry that is larger. */
const BATCH_BYTES = 64 << 10;

type ContentPart = MessageInitShape<typeof v1.ReadTextResponseSchema> &
  MessageInitShape<typeof v1.ReadBytesResponseSchema>;

/** Sends content: a header, pieces, and a trailer once the provider told the end. */
export async function* contentParts({ size, pieces }: ContentStream, call: Call): AsyncGenerator<ContentPart> {
  try {
    yield { part: { case: "header", value: { kind: v1.FileKind.REGULAR, size: BigInt(size) } } };
    for (;;) {
      throwIfGivenUp(call);
      const next = await pieces.next();
      if (next.done === true) {
        yield { part: { case: "trailer", value: { version: next.value ?? "" } } };
        return;
      }
      for (const chunk of cutInPieces(next.value)) yield { part: { case: "chunk", value: chunk } };
    }
  } finally {
    // A caller that went away must not leave an open file behind.
    await pieces.return(undefined);
  }
}

/** Content in pieces of at most `PIECE_BYTES`, which end between two characters where it is text. None is empty. */
export function* cutInPieces(content: Uint8Array): Generator<Uint8Array> {
  let from = 0;
  while (from < content.length) {
    const end = from + PIECE_BYTES < content.length ? characterEnd(content, from + PIECE_BYTES) : content.length;
    yield content.subarray(from, end);
    from = end;
  }
}

/** A character has at most 4 bytes: where more continuation bytes follow each other there is no text. */
function characterEnd(content: Uint8Array, wanted: number): number {
  for (let end = wanted; end >= wanted - 3; end--) {
    if ((content[end]! & 0xc0) !== 0x80) return end;
  }
  return wanted;
}

/** Sends the entries of a directory in messages of bounded size. None is empty. */
export async function* entryBatches(
  entries: AsyncIterable<Entry> | Iterable<Entry>,
  call: Call,
): AsyncGenerator<MessageInitShape<typeof v1.ListDirResponseSchema>> {
  let batch: v1.DirectoryEntry[] = [];
  let batchBytes = 0;
  for await (const entry of entries) {
    throwIfGivenUp(call);
    if (!isName(entry.rawName))
      throw new FsError({ code: "FS_IO_ERROR" }, "the listing has an entry without a proper name");
    const told = entryOnWire(entry);
    const bytes = toBinary(v1.DirectoryEntrySchema, told).length;
    if (batch.length > 0 && batchBytes + bytes > BATCH_BYTES) {
      yield { entries: batch };
      [batch, batchBytes] = [[], 0];
    }
    batch.push(told);
    batchBytes += bytes;
  }
  if (batch.length > 0) yield { entries: batch };
}

function isName(name: Uint8Array): boolean {
  const isDots = name.every((byte) => byte === 0x2e) && name.length <= 2;
  return !isDots && !name.includes(0x2f) && !name.includes(0);
}
