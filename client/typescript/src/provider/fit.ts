/**
 * Cutting what a status carries to what trailers may hold. Peers accept headers of 8 KiB; the message travels
 * percent-encoded, and the details as base64 with a second copy of it.
 */
import { toBinary } from "@bufbuild/protobuf";
import * as v1 from "../v1.js";

/** Bytes of a status's encoded details, its second copy of the message included. */
export const MAX_DETAILS_BYTES = 4_500;

const MAX_MESSAGE_BYTES = 400;
/** What stands for the text that was cut. */
const CUT = "…";

/** How long the texts of an error may be, step after step, until it fits. The detail gives way before the path does. */
const STEPS = [
  { path: 1_024, message: 400, detail: 200 },
  { path: 1_024, message: 400, detail: 100 },
  { path: 512, message: 400, detail: 60 },
  { path: 256, message: 200, detail: 60 },
  { path: 256, message: 200, detail: 30 },
  { path: 128, message: 128, detail: 15 },
];

/** A message within its bound, well-formed: a half character would make the encoding of the status fail. */
export function boundedMessage(text: string): string {
  return cut(text.toWellFormed(), MAX_MESSAGE_BYTES);
}

/** The error within a bound in bytes; `detailTruncated` says whether something was lost. The message given is changed. */
export function boundedError(error: v1.FsError, maxBytes: number): v1.FsError {
  const fits = () => toBinary(v1.FsErrorSchema, error).length <= maxBytes;
  if (fits()) return error;
  error.detailTruncated = true;
  for (const bounds of STEPS) {
    error.path = cut(error.path, bounds.path);
    error.rescuePath = cut(error.rescuePath, bounds.path);
    error.message = cut(error.message, bounds.message);
    boundDetail(error.detail, bounds.detail);
    if (fits()) return error;
  }
  error.detail = { case: undefined };
  return error;
}

/** Versions are not cut: a cut version would be another one. */
function boundDetail(detail: v1.FsError["detail"], maxBytes: number): void {
  const short = (text: string) => cut(text, maxBytes);
  switch (detail.case) {
    case "notFound":
      detail.value.similarNames = detail.value.similarNames.slice(0, 3).map(short);
      break;
    case "notText":
      detail.value.encodingName = short(detail.value.encodingName);
      break;
    case "tooLarge":
      detail.value.limitName = short(detail.value.limitName);
      break;
    case "sandbox":
      detail.value.rule = short(detail.value.rule);
      break;
    case "ambiguousEdit":
      detail.value.lines = detail.value.lines.slice(0, 20);
      break;
    case "editNotFound":
      detail.value.nearMisses = detail.value.nearMisses.slice(0, 3);
      for (const nearMiss of detail.value.nearMisses) {
        nearMiss.lines = nearMiss.lines.slice(0, 5).map(short);
        nearMiss.reasonText = short(nearMiss.reasonText);
      }
      break;
    case "invalidArgument":
      detail.value.field = short(detail.value.field);
      detail.value.actual = short(detail.value.actual);
      detail.value.expected = short(detail.value.expected);
      break;
    default:
      break;
  }
}

/** The text in at most so many bytes of UTF-8, cut between characters, the mark of the cut included. */
export function cut(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  let room = maxBytes - Buffer.byteLength(CUT);
  let kept = "";
  for (const character of text) {
    room -= Buffer.byteLength(character);
    if (room < 0) break;
    kept += character;
  }
  return kept + CUT;
}
