/**
 * The gate: decides under which guard a mutation may land.
 *
 * A gate does no file I/O and keeps no content. Losing an observation is always safe (the agent reads again); inventing
 * one never is, and a session that ended never comes back.
 */
import type { EditGuard, WriteGuard } from "../provider/guard.js";
import type { Awaitable } from "../provider/provider.js";
import type { TargetKey } from "../provider/target.js";

/** What a session last saw at a target. A target that it has not seen has none. */
export type Observation =
  /** Nothing was there. */
  | { readonly kind: "absent" }
  /** Content of this version was there. */
  | { readonly kind: "present"; readonly version: string };

/** What a session forgets: these targets, or everything. */
export type ForgetScope =
  | { readonly kind: "targets"; readonly targets: readonly TargetKey[] }
  | { readonly kind: "all" };

/** What a gate says about itself. */
export interface GateCapabilities {
  /** What it calls itself: one line, not empty. */
  readonly name: string;
  /** Whether observations survive a restart of the gate. */
  readonly persistent: boolean;
}

/**
 * Exactly one gate decides; there is no chain. A refusal is thrown as an `FsError`; anything else that is thrown, and an
 * answer that is no guard, is told as a mistake of the gate, and the mutation does not happen.
 */
export abstract class PolicyGate {
  /** What this gate is. */
  abstract capabilities(): Awaitable<GateCapabilities>;

  /**
   * The guard of a write.
   *
   * @param session an opaque name of the session, not its secret; absent for a call without one, which has seen nothing
   * @throws FsError `FS_UNAVAILABLE` when the observations cannot be reached
   */
  abstract decideWrite(session: string | undefined, target: TargetKey): Awaitable<WriteGuard>;

  /**
   * The guard of an edit.
   *
   * @param session as for `decideWrite`
   * @throws FsError `FS_NOT_OBSERVED` when the session has not seen the target, `FS_NOT_FOUND` when it saw that nothing
   * is there, `FS_UNAVAILABLE`
   */
  abstract decideEdit(session: string | undefined, target: TargetKey): Awaitable<EditGuard>;

  /**
   * Records what a session saw. Of two observations of one target the one with the higher order stays, so that
   * repetitions and late arrivals change nothing. For a session that has ended nothing is recorded, and that is no error.
   *
   * @param order the place of the observation in the history of all: of 64 bits
   * @throws FsError `FS_UNAVAILABLE`
   */
  abstract recordObservation(
    session: string,
    target: TargetKey,
    observation: Observation,
    order: bigint,
  ): Awaitable<void>;

  /**
   * Forgets observations of a session: their targets are unseen again. One that is recorded later and is not above
   * `order` changes nothing. Idempotent.
   *
   * @throws FsError `FS_UNAVAILABLE`
   */
  abstract forget(session: string, scope: ForgetScope, order: bigint): Awaitable<void>;

  /**
   * Drops everything of a session for good. Idempotent: also for one that was never seen.
   *
   * @throws FsError `FS_UNAVAILABLE`
   */
  abstract endSession(session: string): Awaitable<void>;
}
