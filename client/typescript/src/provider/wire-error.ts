/** An `FsError` as the message that carries it. */
import { create } from "@bufbuild/protobuf";
import * as v1 from "../v1.js";
import { kindOnWire } from "./encode.js";
import type {
  AbortCause,
  Existing,
  FsError,
  FsFailure,
  NearMiss,
  NearMissReason,
  Published,
  UnavailableCause,
} from "./fs-error.js";
import { LIMIT_KINDS } from "./limit-name.js";

/** The message. It has no remedy: what to do next is told by the tools alone. */
export function wireError(error: FsError): v1.FsError {
  return create(v1.FsErrorSchema, {
    code: v1.FsErrorCode[error.code],
    reason: error.code,
    message: error.message,
    path: error.path ?? "",
    retryable: error.retryable,
    published: PUBLISHED[error.published],
    rescuePath: error.rescuePath ?? "",
    detailTruncated: false,
    detail: detail(error.failure),
  });
}

const PUBLISHED: Record<Published, v1.Published> = {
  no: v1.Published.NO,
  yes: v1.Published.YES,
  maybe: v1.Published.MAYBE,
};

type Detail = v1.FsError["detail"];

function detail(failure: FsFailure): Detail {
  switch (failure.code) {
    case "FS_NOT_FOUND":
      return {
        case: "notFound",
        value: create(v1.NotFoundDetailSchema, { similarNames: [...(failure.similarNames ?? [])] }),
      };
    case "FS_NOT_REGULAR_FILE":
      return {
        case: "notRegularFile",
        value: create(v1.NotRegularFileDetailSchema, { kind: kindOnWire(failure.kind) }),
      };
    case "FS_NOT_TEXT": {
      const { byteOffset, encoding } = failure;
      const value = {
        byteOffset: BigInt(byteOffset),
        encoding: ENCODINGS[encoding ?? "none"],
        encodingName: encoding ?? "",
      };
      return { case: "notText", value: create(v1.NotTextDetailSchema, value) };
    }
    case "FS_TOO_LARGE": {
      const { limitName, limitBytes, sizeBytes } = failure;
      const limitKind = LIMIT_KINDS[limitName] ?? v1.LimitKind.UNSPECIFIED;
      const value = { limitName, limitKind, limitBytes: BigInt(limitBytes), sizeBytes: BigInt(sizeBytes) };
      return { case: "tooLarge", value: create(v1.TooLargeDetailSchema, value) };
    }
    case "FS_OUT_OF_RANGE":
      return {
        case: "outOfRange",
        value: create(v1.OutOfRangeDetailSchema, { totalLines: BigInt(failure.totalLines) }),
      };
    case "FS_SANDBOX_DENIED":
      return { case: "sandbox", value: create(v1.SandboxDetailSchema, { rule: failure.rule }) };
    case "FS_STALE_VERSION": {
      const { expected, actual } = failure;
      const value = { expectedVersion: expected ?? "", ...(actual === undefined ? {} : { actualVersion: actual }) };
      return { case: "staleVersion", value: create(v1.StaleVersionDetailSchema, value) };
    }
    case "FS_NOT_OBSERVED":
      return failure.existing === undefined ? { case: undefined } : notObserved(failure.existing);
    case "FS_AMBIGUOUS_EDIT": {
      const value = { matchCount: BigInt(failure.matchCount), lines: failure.lines.map(BigInt) };
      return { case: "ambiguousEdit", value: create(v1.AmbiguousEditDetailSchema, value) };
    }
    case "FS_EDIT_NOT_FOUND":
      return editNotFound(failure.nearMisses ?? [], failure.searchStopped);
    case "FS_INVALID_ARGUMENT": {
      const { field, actual, expected } = failure;
      return { case: "invalidArgument", value: create(v1.InvalidArgumentDetailSchema, { field, actual, expected }) };
    }
    case "FS_UNAVAILABLE": {
      const [cause, text] = UNAVAILABLE[failure.cause ?? "overloaded"];
      return { case: "unavailable", value: create(v1.UnavailableDetailSchema, { cause, text }) };
    }
    case "FS_ABORTED":
      return {
        case: "aborted",
        value: create(v1.AbortedDetailSchema, { cause: ABORTED[failure.cause ?? "cancelled"] }),
      };
    case "FS_NOT_DIRECTORY":
    case "FS_PERMISSION_DENIED":
    case "FS_NO_SPACE":
    case "FS_IO_ERROR":
    case "FS_UNSUPPORTED":
      return { case: undefined };
  }
}

function notObserved({ kind, size, text }: Existing): Detail {
  const value = { kind: kindOnWire(kind), sizeBytes: BigInt(size), ...(text === undefined ? {} : { text }) };
  return { case: "notObserved", value: create(v1.NotObservedDetailSchema, value) };
}

function editNotFound(nearMisses: readonly NearMiss[], stopped: "bytes" | "time" | undefined): Detail {
  const value = create(v1.EditNotFoundDetailSchema, {
    nearMisses: nearMisses.map((nearMiss) => ({
      startLine: BigInt(nearMiss.startLine),
      endLine: BigInt(nearMiss.endLine),
      lines: [...nearMiss.lines],
      reasons: nearMiss.reasons.map((reason) => REASONS[reason][0]),
      reasonText: nearMiss.reasons.map((reason) => REASONS[reason][1]).join(", "),
    })),
    searchStoppedEarly: stopped !== undefined,
    searchStopReason: STOPPED[stopped ?? "not"],
  });
  return { case: "editNotFound", value };
}

const STOPPED = {
  not: v1.SearchStopReason.UNSPECIFIED,
  bytes: v1.SearchStopReason.BYTE_BUDGET,
  time: v1.SearchStopReason.TIME_BUDGET,
};

const ENCODINGS = {
  none: v1.TextEncoding.UNSPECIFIED,
  "UTF-16LE": v1.TextEncoding.UTF16_LE,
  "UTF-16BE": v1.TextEncoding.UTF16_BE,
  "UTF-32LE": v1.TextEncoding.UTF32_LE,
  "UTF-32BE": v1.TextEncoding.UTF32_BE,
};

const REASONS: Record<NearMissReason, [v1.NearMissReason, string]> = {
  "white-space": [v1.NearMissReason.WHITE_SPACE, "white space"],
  indentation: [v1.NearMissReason.INDENTATION, "indentation"],
  "tabs-or-spaces": [v1.NearMissReason.TABS_OR_SPACES, "tabs or spaces"],
  "trailing-blanks": [v1.NearMissReason.TRAILING_BLANKS, "blanks at line ends"],
  "look-alikes": [v1.NearMissReason.LOOK_ALIKES, "quotes or dashes that look alike"],
  "normal-form": [v1.NearMissReason.NORMAL_FORM, "Unicode normal form"],
  "line-number-prefix": [v1.NearMissReason.LINE_NUMBER_PREFIX, "a line-number prefix in old_string"],
  "doubled-escapes": [v1.NearMissReason.DOUBLED_ESCAPES, "doubled backslash escapes"],
  "letter-case": [v1.NearMissReason.LETTER_CASE, "letter case"],
  "some-lines-differ": [v1.NearMissReason.SOME_LINES_DIFFER, "some of its lines"],
};

const UNAVAILABLE: Record<UnavailableCause, [v1.UnavailableCause, string]> = {
  "open-for-writing": [v1.UnavailableCause.OPEN_FOR_WRITING, "another process holds the file open for writing"],
  "keeps-changing": [v1.UnavailableCause.KEEPS_CHANGING, "somebody else keeps changing the path"],
  "provider-unreachable": [v1.UnavailableCause.PROVIDER_UNREACHABLE, "the provider or the gate cannot be reached"],
  overloaded: [v1.UnavailableCause.OVERLOADED, "too much is going on"],
};

const ABORTED: Record<AbortCause, v1.AbortCause> = {
  cancelled: v1.AbortCause.CANCELLED,
  "deadline-exceeded": v1.AbortCause.DEADLINE_EXCEEDED,
  draining: v1.AbortCause.DRAINING,
};
