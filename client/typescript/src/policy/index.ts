/** A policy of your own: implement the gate in TypeScript and serve it to `toolfs serve --policy`. */
export { FsError, type FsErrorOptions, type FsFailure, type FsFailureCode } from "../provider/fs-error.js";
export type { EditGuard, WriteGuard } from "../provider/guard.js";
export type { Served, ServeOptions } from "../provider/listener.js";
export type { Awaitable } from "../provider/provider.js";
export type { TargetKey } from "../provider/target.js";
export { type ForgetScope, type GateCapabilities, type Observation, PolicyGate } from "./gate.js";
export { serveGate } from "./serve.js";
