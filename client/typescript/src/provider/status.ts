/** The gRPC statuses of the seam and the gate. Each carries `google.rpc.ErrorInfo`; nothing that was thrown inside leaves. */
import { Code, ConnectError } from "@connectrpc/connect";
import * as v1 from "../v1.js";
import { errorInfo } from "./error-info.js";
import { boundedError, boundedMessage, MAX_DETAILS_BYTES } from "./fit.js";
import { FsError, type FsFailureCode } from "./fs-error.js";
import { wireError } from "./wire-error.js";

const GRPC_CODES: Record<FsFailureCode, Code> = {
  FS_NOT_FOUND: Code.NotFound,
  FS_NOT_DIRECTORY: Code.FailedPrecondition,
  FS_NOT_REGULAR_FILE: Code.FailedPrecondition,
  FS_NOT_TEXT: Code.FailedPrecondition,
  FS_TOO_LARGE: Code.FailedPrecondition,
  FS_OUT_OF_RANGE: Code.OutOfRange,
  FS_PERMISSION_DENIED: Code.PermissionDenied,
  FS_SANDBOX_DENIED: Code.PermissionDenied,
  FS_NO_SPACE: Code.ResourceExhausted,
  FS_IO_ERROR: Code.Internal,
  FS_STALE_VERSION: Code.Aborted,
  FS_NOT_OBSERVED: Code.FailedPrecondition,
  FS_AMBIGUOUS_EDIT: Code.FailedPrecondition,
  FS_EDIT_NOT_FOUND: Code.FailedPrecondition,
  FS_INVALID_ARGUMENT: Code.InvalidArgument,
  FS_UNSUPPORTED: Code.Unimplemented,
  FS_UNAVAILABLE: Code.Unavailable,
  FS_ABORTED: Code.Canceled,
};

/** What was wrong with a call itself, as `ErrorInfo.reason` spells it. */
export type CallReason = "GUARD_MISSING" | "KEY_MISSING" | "SCOPE_MISSING" | "INTERNAL";

const CALL_CODES: Record<CallReason, Code> = {
  GUARD_MISSING: Code.InvalidArgument,
  KEY_MISSING: Code.InvalidArgument,
  SCOPE_MISSING: Code.InvalidArgument,
  INTERNAL: Code.Internal,
};

/** The status of an `FsError`: its code and message, and the whole of it among the details, cut to fit trailers. */
export function statusOf(error: FsError): ConnectError {
  const { failure } = error;
  const isDeadline = failure.code === "FS_ABORTED" && failure.cause === "deadline-exceeded";
  const code = isDeadline ? Code.DeadlineExceeded : GRPC_CODES[failure.code];
  const message = boundedMessage(`${error.code}: ${error.message}`);
  const info = errorInfo(error.code);
  const used = Buffer.byteLength(message) + info.value.length + 128;
  const told = boundedError(wireError(error), MAX_DETAILS_BYTES - used);
  return detailed(message, code, [info, { desc: v1.FsErrorSchema, value: told }]);
}

/** The status of a mistake of the caller, or of the provider itself, that is no `FsError`. */
export function refused(reason: CallReason, message: string): ConnectError {
  return detailed(boundedMessage(message), CALL_CODES[reason], [errorInfo(reason)]);
}

/** The constructor takes no details that are encoded already. */
function detailed(message: string, code: Code, details: ConnectError["details"]): ConnectError {
  const error = new ConnectError(message, code);
  error.details.push(...details);
  return error;
}

/** A mistake that was thrown, and is neither an `FsError` nor a status: told to whoever runs the provider. */
export type MistakeHandler = (mistake: unknown) => void;

/** The status of whatever was thrown. A mistake is handed over, and only that it happened is told to the caller. */
export function statusOfThrown(thrown: unknown, onMistake: MistakeHandler): ConnectError {
  if (thrown instanceof FsError) return statusOf(thrown);
  if (thrown instanceof ConnectError) return thrown;
  onMistake(thrown);
  return refused("INTERNAL", "the service made a mistake: its log tells more");
}
