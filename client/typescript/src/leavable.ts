/**
 * Iterations that can be left at any time.
 *
 * The `return` of an async generator waits for the `next` before it, which may wait for ever: here it ends that too.
 */
import "./dispose.js";

/**
 * An iteration whose `return` and `throw` end a `next` that still waits.
 *
 * @param start begins it; when the signal is aborted, it ends without an error
 */
export function leavable<T>(start: (leaving: AbortSignal) => AsyncGenerator<T, void>): AsyncGenerator<T, void> {
  const controller = new AbortController();
  const inner = start(controller.signal);
  return {
    next: () => inner.next(),
    return: (value) => {
      controller.abort();
      return inner.return(value);
    },
    throw: (error) => {
      controller.abort();
      return inner.throw(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
    async [Symbol.asyncDispose]() {
      await this.return();
    },
  };
}
