/** Versions of content. */
import { createHash } from "node:crypto";

/**
 * The version of a content: a name for exactly these bytes, whatever happened to the file's time stamps, mode or place
 * in between.
 */
export function versionOf(content: Uint8Array): string {
  return `sha256-${createHash("sha256").update(content).digest("hex")}`;
}
