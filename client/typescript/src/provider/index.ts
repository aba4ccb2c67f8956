/**
 * Files from a place of your own: implement the seam in TypeScript and serve it to `toolfs serve --provider`.
 *
 * Extend `WholeFileProvider` where whole contents are kept under names, `Provider` for full control.
 */

export { type Capabilities, DEFAULT_LIMITS, type Durability, type Limits, type Root } from "./capability.js";
export { displayForm, fileUrl } from "./display.js";
export {
  type AbortCause,
  type Existing,
  FsError,
  type FsErrorOptions,
  type FsFailure,
  type FsFailureCode,
  type NearMiss,
  type NearMissReason,
  type Published,
  type TextEncoding,
  type UnavailableCause,
} from "./fs-error.js";
export { givenUp, throwIfGivenUp } from "./giving-up.js";
export type { EditGuard, WriteGuard } from "./guard.js";
export type { Served, ServeOptions } from "./listener.js";
export { DEFAULT_PROTECTED, protectedRule } from "./protect.js";
export { type Awaitable, Provider } from "./provider.js";
export * as refusal from "./refusal.js";
export type {
  ChangedRange,
  ContentStream,
  Diff,
  DiffHunk,
  DiffLine,
  EditReport,
  FirstOf,
  LineEndings,
  LineRange,
  LinesReport,
  Notice,
  NoticeKind,
  RawLine,
  StopReason,
  WriteReport,
} from "./report.js";
export type { ByteRange, Call, EditTextRequest, LineWindow, ResolveRequest, WriteTextRequest } from "./request.js";
export { serveProvider } from "./serve.js";
export type { Entry, FileKind, FileStat, Target, TargetKey } from "./target.js";
export { versionOf } from "./version.js";
export { type Replacement, WholeFileProvider, type WholeFileProviderOptions } from "./whole-file-provider.js";
