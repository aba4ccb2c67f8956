/** Calls that are given up. */
import { Code, ConnectError } from "@connectrpc/connect";
import { type AbortCause, FsError } from "./fs-error.js";
import type { Call } from "./request.js";

/**
 * Throws when the call is given up. To be asked before each step that takes long, and last before publication.
 *
 * @throws FsError `FS_ABORTED`: nothing was published
 */
export function throwIfGivenUp(call: Call): void {
  if (call.signal.aborted) throw givenUp(call.signal);
}

/** The error of a call whose signal has fired before anything was published. */
export function givenUp(signal: AbortSignal): FsError {
  const cause = causeOf(signal.reason);
  return new FsError({ code: "FS_ABORTED", cause }, MESSAGES[cause]);
}

const MESSAGES: Record<AbortCause, string> = {
  cancelled: "the call was cancelled, nothing changed",
  "deadline-exceeded": "the call ran out of time, nothing changed",
  draining: "the provider is shutting down, nothing changed",
};

function causeOf(reason: unknown): AbortCause {
  if (reason instanceof ConnectError) {
    if (reason.code === Code.DeadlineExceeded) return "deadline-exceeded";
    if (reason.code === Code.Unavailable) return "draining";
  }
  if (reason instanceof DOMException && reason.name === "TimeoutError") return "deadline-exceeded";
  return "cancelled";
}
