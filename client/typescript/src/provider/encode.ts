/** What a provider answers, as messages of the contract. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import * as v1 from "../v1.js";
import type { Capabilities, Durability, Limits } from "./capability.js";
import { toUnified } from "./diff.js";
import { displayForm } from "./display.js";
import { LIMIT_KINDS } from "./limit-name.js";
import type {
  ChangedRange,
  Diff,
  DiffLine,
  EditReport,
  FirstOf,
  LineEndings,
  LineRange,
  LinesReport,
  NoticeKind,
  StopReason,
  WriteReport,
} from "./report.js";
import type { Entry, FileKind, FileStat, Target } from "./target.js";

const KINDS: Record<FileKind, v1.FileKind> = {
  regular: v1.FileKind.REGULAR,
  directory: v1.FileKind.DIRECTORY,
  symlink: v1.FileKind.SYMLINK,
  fifo: v1.FileKind.FIFO,
  socket: v1.FileKind.SOCKET,
  "block-device": v1.FileKind.BLOCK_DEVICE,
  "char-device": v1.FileKind.CHAR_DEVICE,
  other: v1.FileKind.OTHER,
};

/** The kind of what is at a path; unspecified when there is none to tell. */
export function kindOnWire(kind: FileKind | undefined): v1.FileKind {
  return kind === undefined ? v1.FileKind.UNSPECIFIED : KINDS[kind];
}

const DURABILITIES: Record<Durability, v1.Durability> = {
  full: v1.Durability.FULL,
  data: v1.Durability.DATA,
  none: v1.Durability.NONE,
};

/** What a provider can do, and its limits. */
export function capabilitiesResponse(
  told: Capabilities,
): MessageInitShape<typeof v1.GetProviderCapabilitiesResponseSchema> {
  return {
    provider: { name: told.name, verifiedReplacement: told.verifiedReplacement, operationIds: told.operationIds },
    durability: DURABILITIES[told.durability],
    roots: told.roots.map(({ rawPath, name }) => {
      const displayPath = displayForm(rawPath);
      return { name: name ?? displayPath, displayPath, rawPath };
    }),
    protectedPatterns: [...told.protectedPatterns],
    limits: limits(told.limits),
  };
}

function limits(limits: Limits): MessageInitShape<typeof v1.LimitSchema>[] {
  const values: [string, number | undefined][] = [
    ["max_window_bytes", limits.maxWindowBytes],
    ["max_line_chars", limits.maxLineChars],
    ["max_content_bytes", limits.maxContentBytes],
    ["max_file_bytes", limits.maxFileBytes],
    ["max_read_bytes", limits.maxReadBytes],
    ["max_diff_bytes", limits.maxDiffBytes],
    ["max_message_bytes", limits.maxMessageBytes],
    ["max_path_bytes", limits.maxPathBytes],
    ["near_miss_bytes", limits.nearMissBytes],
    ["near_miss_ms", limits.nearMissMs],
  ];
  return values.map(([name, value]) => ({
    name,
    kind: LIMIT_KINDS[name]!,
    ...(value === undefined ? {} : { value: BigInt(value) }),
  }));
}

/** A resolved path. */
export function targetOnWire(target: Target): MessageInitShape<typeof v1.TargetSchema> {
  return {
    targetKey: target.key,
    rawPath: target.rawPath,
    processPath: target.processPath ?? new Uint8Array(),
    displayPath: target.displayPath,
    fileUrl: target.fileUrl ?? "",
    protectedRule: target.protectedRule ?? "",
  };
}

/** What is at a path. A size is told of regular files only: of others it means nothing. */
export function statOnWire(stat: FileStat): MessageInitShape<typeof v1.FileStatSchema> {
  const { kind, size, mode, modified, version } = stat;
  return {
    kind: KINDS[kind],
    version: version ?? "",
    ...(kind === "regular" ? { size: BigInt(size) } : {}),
    ...(mode === undefined ? {} : { mode: mode & 0o7777 }),
    ...(modified === undefined ? {} : { modified: timestampFromDate(modified) }),
  };
}

/** One name of a directory. */
export function entryOnWire({ rawName, kind }: Entry): v1.DirectoryEntry {
  return create(v1.DirectoryEntrySchema, { rawName, displayName: displayForm(rawName), kind: KINDS[kind] });
}

const LINE_ENDINGS: Record<LineEndings, v1.LineEndings> = {
  lf: v1.LineEndings.LF,
  crlf: v1.LineEndings.CRLF,
  mixed: v1.LineEndings.MIXED,
  none: v1.LineEndings.NONE,
};

const STOP_REASONS: Record<StopReason, v1.ReadStopReason> = {
  "end-of-file": v1.ReadStopReason.END_OF_FILE,
  "line-limit": v1.ReadStopReason.LINE_LIMIT,
  "byte-cap": v1.ReadStopReason.BYTE_CAP,
};

/** A window of lines. `firstLine` is echoed as it was asked for, however large. */
export function linesResponse(
  report: LinesReport,
  firstLine: bigint,
): MessageInitShape<typeof v1.ReadLinesResponseSchema> {
  return {
    lines: report.lines.map(({ text, crlf, fullLength }) => ({
      text,
      crlf,
      truncated: fullLength !== undefined,
      ...(fullLength === undefined ? {} : { fullLength: BigInt(fullLength) }),
    })),
    firstLine,
    totalLines: BigInt(report.totalLines),
    size: BigInt(report.size),
    version: report.version,
    lineEndings: LINE_ENDINGS[report.lineEndings],
    endsWithNewline: report.endsWithNewline,
    bom: report.bom,
    stopReason: STOP_REASONS[report.stop],
  };
}

const NOTICES: Record<NoticeKind, v1.NoticeKind> = {
  "line-endings-changed": v1.NoticeKind.LINE_ENDINGS_CHANGED,
  "bom-changed": v1.NoticeKind.BOM_CHANGED,
  "final-newline-changed": v1.NoticeKind.FINAL_NEWLINE_CHANGED,
  "hard-links-keep-old-content": v1.NoticeKind.HARD_LINKS_KEEP_OLD_CONTENT,
  "ownership-not-kept": v1.NoticeKind.OWNERSHIP_NOT_KEPT,
  "privilege-bits-dropped": v1.NoticeKind.PRIVILEGE_BITS_DROPPED,
  "attributes-not-kept": v1.NoticeKind.ATTRIBUTES_NOT_KEPT,
  "not-atomic": v1.NoticeKind.NOT_ATOMIC,
  "diff-left-out": v1.NoticeKind.DIFF_LEFT_OUT,
};

/** What a write did, or would do. */
export function writeReport(report: WriteReport): MessageInitShape<typeof v1.WriteReportSchema> {
  const { operation, size, previousSize, version, notices, diff } = report;
  return {
    operation: operation === "create" ? v1.WriteOperation.CREATE : v1.WriteOperation.UPDATE,
    size: BigInt(size),
    version,
    notices: notices.map(({ kind, text }) => ({ kind: NOTICES[kind], text })),
    ...(previousSize === undefined ? {} : { previousSize: BigInt(previousSize) }),
    ...(diff === undefined ? {} : { diff: diffOnWire(diff) }),
  };
}

/** What an edit did, or would do. */
export function editReport(report: EditReport): MessageInitShape<typeof v1.EditReportSchema> {
  const { matches, changedRanges, size, version, notices, diff } = report;
  return {
    replacements: BigInt(matches.total),
    matches: firstOf(matches, ({ startLine, endLine }: LineRange) => ({
      startLine: BigInt(startLine),
      endLine: BigInt(endLine),
    })),
    changedRanges: firstOf(changedRanges, place),
    size: BigInt(size),
    version,
    notices: notices.map(({ kind, text }) => ({ kind: NOTICES[kind], text })),
    ...(diff === undefined ? {} : { diff: diffOnWire(diff) }),
  };
}

function firstOf<T, W>(told: FirstOf<T>, convert: (range: T) => W): { ranges: W[]; total: bigint } {
  return { ranges: told.ranges.map(convert), total: BigInt(told.total) };
}

function place({ oldStart, oldCount, newStart, newCount }: ChangedRange) {
  return {
    oldStart: BigInt(oldStart),
    oldCount: BigInt(oldCount),
    newStart: BigInt(newStart),
    newCount: BigInt(newCount),
  };
}

const LINE_KINDS: Record<DiffLine["kind"], v1.DiffLineKind> = {
  context: v1.DiffLineKind.CONTEXT,
  removed: v1.DiffLineKind.REMOVED,
  added: v1.DiffLineKind.ADDED,
};

function diffOnWire(diff: Diff): MessageInitShape<typeof v1.DiffSchema> {
  if ("omitted" in diff) return { omitted: true, omissionReason: diff.omitted };
  return {
    omitted: false,
    text: toUnified(diff.hunks),
    hunks: diff.hunks.map((hunk) => ({
      ...place(hunk),
      lines: hunk.lines.map(({ kind, text, hasNewline }) => ({
        kind: LINE_KINDS[kind],
        text,
        newlineMissing: !hasNewline,
      })),
    })),
  };
}
