/** What a change of content still has to say. */
import type { LineEndings, Notice } from "./report.js";
import { lineEndingsOf, type TextSummary } from "./text.js";

const NAMES: Record<LineEndings, string> = { none: "none", lf: "LF", crlf: "CRLF", mixed: "mixed" };

/**
 * What a mutation changed that a model does not see: line endings, byte order mark, final newline. A side without text
 * has none of these, so that filling an empty file, or emptying one, is no change of them.
 */
export function lineEndChanges(before: TextSummary, after: TextSummary): Notice[] {
  const notices: Notice[] = [];
  const [old, now] = [lineEndingsOf(before), lineEndingsOf(after)];
  if (old !== now && old !== "none" && now !== "none") {
    const text = `line endings changed from ${NAMES[old]} to ${NAMES[now]}`;
    notices.push({ kind: "line-endings-changed", text });
  }
  if (before.totalLines === 0 || after.totalLines === 0) return notices;
  if (before.bom !== after.bom) {
    const text = after.bom ? "a byte order mark was added" : "the byte order mark was removed";
    notices.push({ kind: "bom-changed", text });
  }
  if (before.endsWithNewline !== after.endsWithNewline) {
    const text = after.endsWithNewline ? "the file now ends with a newline" : "the file no longer ends with a newline";
    notices.push({ kind: "final-newline-changed", text });
  }
  return notices;
}
