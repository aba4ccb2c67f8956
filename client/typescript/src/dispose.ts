/**
 * `Symbol.asyncDispose` where it is missing.
 *
 * Node.js before 20.5 has none; compilers that lower `await using` look for exactly this symbol.
 */
if (Symbol.asyncDispose === undefined) {
  Object.defineProperty(Symbol, "asyncDispose", { value: Symbol.for("Symbol.asyncDispose") });
}

export {};
