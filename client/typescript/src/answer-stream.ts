/**
 * Answers that the transport would take wrongly, put right before it sees them.
 *
 * It waits for ever for the answer of a stream that the server ends without one and without an error, and it tells
 * status details that cannot be read instead of the status.
 */
import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { Code, decodeBinaryHeader, ConnectError as RpcError } from "@connectrpc/connect";

const DETAILS = "grpc-status-details-bin";

/** Puts right what comes on a stream. To be called before the transport listens to it. */
export function mendAnswer(stream: ClientHttp2Stream): void {
  let isAnswered = false;
  stream.once("response", (headers) => {
    isAnswered = true;
    dropUnreadableDetails(headers);
  });
  stream.on("trailers", dropUnreadableDetails);
  stream.once("close", () => {
    if (!isAnswered) stream.emit("error", new RpcError("the stream ended without an answer", Code.Unavailable));
  });
}

function dropUnreadableDetails(headers: IncomingHttpHeaders): void {
  const details = headers[DETAILS];
  if (details !== undefined && !(typeof details === "string" && isStatus(details))) delete headers[DETAILS];
}

/** Whether a header holds a `google.rpc.Status`: what it is made of, and nothing in the place of something else. */
function isStatus(header: string): boolean {
  try {
    const details = fieldsOf(decodeBinaryHeader(header), [WireType.Varint, WireType.LengthDelimited, DETAIL_FIELD]);
    for (const detail of details) fieldsOf(detail, [WireType.LengthDelimited, WireType.LengthDelimited]);
    return true;
  } catch {
    return false;
  }
}

const DETAIL_FIELD = WireType.LengthDelimited;

/**
 * The last of the known fields, each time that it occurs.
 *
 * @param types of the fields from 1 on
 * @throws Error for bytes that are no such message
 */
function fieldsOf(message: Uint8Array, types: WireType[]): Uint8Array[] {
  const found: Uint8Array[] = [];
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    const expected = types[field - 1];
    if (expected !== undefined && type !== expected) throw new Error(`field ${field} is of another type`);
    if (type === WireType.LengthDelimited && field === types.length) found.push(reader.bytes());
    else reader.skip(type, field);
  }
  return found;
}
