/**
 * The conditions under which a mutation may land. A provider judges them on the bytes that it replaces, inside the
 * critical section in which it replaces them; a gate only chooses them.
 */

/** The condition of a write. */
export type WriteGuard =
  /** Creates or replaces, whatever is there. */
  | { readonly kind: "unconditional" }
  /** Creates. An existing target is `FS_NOT_OBSERVED`. */
  | { readonly kind: "create-if-absent" }
  /** Replaces exactly this version. Anything else that is there, and a missing target, is `FS_STALE_VERSION`. */
  | { readonly kind: "replace-if-version"; readonly version: string };

/** The condition of an edit. A missing target is `FS_STALE_VERSION` under both. */
export type EditGuard =
  /** Edits what is there. */
  | { readonly kind: "unconditional" }
  /** Edits exactly this version. Anything else that is there is `FS_STALE_VERSION`. */
  | { readonly kind: "replace-if-version"; readonly version: string };
