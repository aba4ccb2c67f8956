/**
 * Content that arrives in parts: one header, chunks, one trailer, and nothing after it. Nothing of it reaches the
 * provider until the whole has come and matches what was announced.
 */
import { createHash, type Hash } from "node:crypto";
import type * as v1 from "../v1.js";
import { absent, type WriteHeader, writeHeader } from "./decode.js";
import { FsError } from "./fs-error.js";
import { givenUp } from "./giving-up.js";
import { invalidArgument } from "./refusal.js";
import type { Call, WriteTextRequest } from "./request.js";

type Part = v1.WriteTextRequest["part"] | v1.PlanWriteRequest["part"];
type PartMessage = v1.WriteTextRequest | v1.PlanWriteRequest;

/** Within what content may arrive. */
export interface UploadLimits {
  /** Bytes of the content. */
  readonly maxBytes: number;
  /** Milliseconds for which nothing may come. */
  readonly patienceMs: number;
}

/**
 * Receives a whole write.
 *
 * @throws FsError `FS_INVALID_ARGUMENT` that names the part or the field, `FS_TOO_LARGE`; `FS_ABORTED` when the call is
 * given up, or when nothing comes for too long. ConnectError `GUARD_MISSING`
 */
export async function receiveWrite(
  messages: AsyncIterable<PartMessage>,
  limits: UploadLimits,
  call: Call,
): Promise<WriteTextRequest> {
  const upload = new Upload(limits.maxBytes);
  const parts = messages[Symbol.asyncIterator]();
  for (;;) {
    const next = await within(parts.next(), limits.patienceMs, call);
    if (next.done === true) return upload.finish();
    upload.add(next.value.part);
  }
}

/** Waits for the next part as long as the call goes on and something comes. */
async function within<T>(next: Promise<T>, patienceMs: number, call: Call): Promise<T> {
  const { signal } = call;
  if (signal.aborted) throw givenUp(signal);
  let stop = () => {};
  const givingUp = new Promise<never>((_, reject) => {
    const message = `the call was given up: its caller sent nothing for ${patienceMs / 1_000} s`;
    const silent = () => reject(new FsError({ code: "FS_ABORTED", cause: "cancelled" }, message));
    const timer = setTimeout(silent, patienceMs);
    const gone = () => reject(givenUp(signal));
    signal.addEventListener("abort", gone, { once: true });
    stop = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", gone);
    };
  });
  try {
    return await Promise.race([next, givingUp]);
  } finally {
    stop();
  }
}

/** What has come so far. */
class Upload {
  readonly #maxBytes: number;
  #header: WriteHeader | undefined;
  #chunks: Uint8Array[] = [];
  #received = 0;
  #digest: Hash = createHash("sha256");
  #isWhole = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Takes the next part. */
  add(part: Part): void {
    if (this.#isWhole) {
      throw invalidArgument(part.case ?? "part", "a part after the trailer", "absent: the trailer comes last");
    }
    switch (part.case) {
      case "header":
        if (this.#header !== undefined) throw invalidArgument("header", "a second header", "one, which comes first");
        this.#header = this.#bounded(writeHeader(part.value));
        break;
      case "chunk":
        this.#addChunk(part.value);
        break;
      case "trailer":
        this.#close(part.value);
        break;
      default:
        throw absent("part", "`header`, `chunk` or `trailer`");
    }
  }

  /** The write, when all of it has come. */
  finish(): WriteTextRequest {
    if (this.#header === undefined) throw absent("header", "the first part");
    if (!this.#isWhole) throw absent("trailer", "the last part, with the SHA-256 of the content");
    const { size, ...request } = this.#header;
    return { ...request, content: Buffer.concat(this.#chunks, size) };
  }

  #bounded(header: WriteHeader): WriteHeader {
    const [limitBytes, sizeBytes] = [this.#maxBytes, header.size];
    if (sizeBytes <= limitBytes) return header;
    const limitName = "max_content_bytes";
    const message = `${sizeBytes} bytes of content exceed the limit \`${limitName}\` of ${limitBytes} bytes`;
    throw new FsError({ code: "FS_TOO_LARGE", limitName, limitBytes, sizeBytes }, message);
  }

  #opened(part: string): WriteHeader {
    if (this.#header !== undefined) return this.#header;
    throw invalidArgument(part, "the first part", "a part after the header, which comes first");
  }

  #addChunk(chunk: Uint8Array): void {
    const { size } = this.#opened("chunk");
    this.#received += chunk.length;
    if (this.#received > size) throw anotherSize(size, "more");
    this.#digest.update(chunk);
    this.#chunks.push(chunk);
  }

  #close({ sha256 }: v1.WriteTrailer): void {
    const { size } = this.#opened("trailer");
    if (this.#received !== size) throw anotherSize(size, "fewer");
    if (sha256 === undefined) throw absent("sha256", "the SHA-256 of the content");
    if (sha256.length !== 32) throw invalidArgument("sha256", `${sha256.length} bytes`, "32 bytes");
    if (!this.#digest.digest().equals(sha256)) {
      throw invalidArgument("sha256", "that of other content", "the SHA-256 of the content as it came");
    }
    this.#isWhole = true;
  }
}

function anotherSize(announced: number, came: "more" | "fewer"): FsError {
  return invalidArgument("size", announced.toString(), `the size of the content: ${came} bytes came`);
}
