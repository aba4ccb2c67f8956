/** Bearer tokens: had in time, and of characters that a header can hold. */
import { ArgumentError, ToolfsError } from "./error.js";
import { cancelled, outOfTime } from "./status.js";

/** A bearer token, or what gives one for each try. */
export type Token = string | (() => string | Promise<string>);

/**
 * The header that shows a token.
 *
 * @param timeoutMs how long a function may take to give it, in milliseconds
 * @param signal ends the wait for it
 * @throws ArgumentError for a token that a header cannot hold as it is; the error does not tell it
 * @throws CallError when the time is over, or the signal is aborted, before there is one
 * @throws ToolfsError when the function fails
 */
export async function authorization(
  token: Token,
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
): Promise<Record<string, string>> {
  const given = typeof token === "function" ? await wait(token, timeoutMs, signal) : token;
  // What a header cannot hold would be told by the transport, together with the secret; what it trims is another one.
  if (typeof given !== "string") throw new ArgumentError("token", "is no text: give a string");
  if (given === "") throw new ArgumentError("token", "is empty: give one, or connect without it");
  if (!/^[!-~](?:[ -~]*[!-~])?$/.test(given)) {
    throw new ArgumentError("token", "must be printable ASCII text, without spaces at its ends");
  }
  return { authorization: `Bearer ${given}` };
}

function wait(give: () => unknown, timeoutMs: number | undefined, signal: AbortSignal | undefined): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(cancelled(signal));
    const abort = () => end(() => reject(cancelled(signal as AbortSignal)));
    const expire = () => end(() => reject(outOfTime(undefined, "the deadline was over before there was a `token`")));
    const timer = timeoutMs === undefined ? undefined : setTimeout(expire, timeoutMs);
    const end = (settle: () => void) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
      settle();
    };
    signal?.addEventListener("abort", abort);
    // What it throws at once is told in the same way as what it rejects with.
    new Promise((begin) => begin(give())).then(
      (token) => end(() => resolve(token)),
      (error: unknown) => end(() => reject(failed(error))),
    );
  });
}

function failed(error: unknown): ToolfsError {
  if (error instanceof ToolfsError) return error;
  return new ToolfsError(`the function \`token\` failed: ${String(error)}`, { cause: error });
}
