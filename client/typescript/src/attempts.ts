/**
 * What became of the attempts of one call: whether the call that failed may have taken effect all the same.
 *
 * An attempt is open once it may have been sent, and until something comes back that says that it did nothing.
 */
import { Code } from "@connectrpc/connect";
import { CallReason, statusName } from "./code.js";
import { CallError, ConnectError, type ToolfsError } from "./error.js";
import { Published } from "./gen/toolfs/v1/types_pb.js";
import { NotSent } from "./transport.js";

/** With these the server may end a call whose work goes on, or has gone on. */
const ENDS_WORK: ReadonlySet<string> = new Set([
  CallReason.DEADLINE_EXCEEDED,
  CallReason.CANCELLED,
  CallReason.SHUTTING_DOWN,
  CallReason.INTERNAL,
]);

/** With these a call is refused before it is worked on, whoever refuses it. */
const REFUSES: ReadonlySet<string> = new Set(
  [
    Code.InvalidArgument,
    Code.NotFound,
    Code.AlreadyExists,
    Code.PermissionDenied,
    Code.FailedPrecondition,
    Code.OutOfRange,
    Code.Unimplemented,
    Code.Unauthenticated,
  ].map(statusName),
);

/** The attempts of one call, in turn. */
export class Attempts {
  readonly #hasEffect: boolean;
  readonly #requestId: string;
  #sent = 0;
  #earlierIsOpen = false;
  #last: "unsent" | "open" | "answered" = "unsent";

  /**
   * @param hasEffect whether it matters if the call took effect: not for one that may be repeated without harm
   * @param requestId the id of a tool call; empty for another
   */
  constructor(hasEffect: boolean, requestId = "") {
    this.#hasEffect = hasEffect;
    this.#requestId = requestId;
  }

  /** Another attempt begins; nothing of it is sent yet. */
  begin(): void {
    this.#earlierIsOpen ||= this.#last === "open";
    this.#last = "unsent";
  }

  /** From now on it may have been sent. */
  handOver(): void {
    this.#sent += 1;
    this.#last = "open";
  }

  /** It was answered with a result, which says what was done. */
  answered(): void {
    this.#last = "answered";
  }

  /** It failed. */
  failed(failure: ToolfsError): void {
    if (this.#last !== "open") return;
    if (failure instanceof ConnectError || failure.cause instanceof NotSent) {
      this.#sent -= 1;
      this.#last = "unsent";
    } else if (failure instanceof CallError && saysNothingWasDone(failure)) {
      this.#last = "answered";
    }
  }

  /** The error that ends the call, after that of the last attempt: it says what the earlier ones may have done. */
  conclude(last: ToolfsError): ToolfsError {
    const attempts = this.#sent;
    const requestId = this.#requestId;
    const maybePublished = this.#hasEffect && (this.#earlierIsOpen || this.#last === "open");
    const message = this.#hasEffect && this.#earlierIsOpen ? `${last.message}; ${LOOK_FIRST}` : last.message;
    if (last instanceof CallError) {
      return new CallError({ ...last, message, cause: last.cause, attempts, maybePublished, requestId });
    }
    // Callers know of these errors that nothing was sent.
    if (this.#last !== "unsent") return last;
    const told = { reason: "", message, cause: last, attempts, maybePublished, requestId } as const;
    if (last instanceof ConnectError && attempts > 0) return new CallError({ ...told, ...named(Code.Unavailable) });
    // The client was closed, or its token failed, before the call could be repeated.
    return maybePublished ? new CallError({ ...told, ...named(Code.Unknown) }) : last;
  }
}

const LOOK_FIRST = "an earlier attempt of this call may have taken effect: read what it changes before you call again";

function named(code: number): { code: number; status: string } {
  return { code, status: statusName(code) };
}

function saysNothingWasDone({ fsError, reason, status }: CallError): boolean {
  if (fsError !== undefined) return fsError.published === Published.NO;
  if (Object.hasOwn(CallReason, reason)) return !ENDS_WORK.has(reason);
  return REFUSES.has(status);
}
