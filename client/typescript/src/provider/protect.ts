/** Protected names: what no mutation may touch, whatever path leads there. */

/** The names that are protected unless told otherwise. */
export const DEFAULT_PROTECTED: readonly string[] = [".git"];

/**
 * The pattern that a path beneath a root matches: the one of its first component that matches any. A pattern is one
 * name; it protects itself and all below it, at any depth.
 */
export function protectedRule(path: Uint8Array, patterns: readonly string[]): string | undefined {
  const components = Buffer.from(path).toString("latin1").split("/");
  const names = patterns.map((pattern) => Buffer.from(pattern).toString("latin1"));
  for (const component of components) {
    const at = names.indexOf(component);
    if (at >= 0) return patterns[at];
  }
  return undefined;
}
