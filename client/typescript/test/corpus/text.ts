/** Texts of a case: strings, or recipes of long ones. */
import { isObject, type Json } from "./json.js";

/** The string that a text of a case stands for; `undefined` for what is no text. */
export function buildText(text: Json | undefined): string | undefined {
  if (typeof text === "string") return text;
  if (!isObject(text)) return undefined;
  const { repeat, count, lines, concat } = text;
  if (repeat !== undefined) return mustBuild(repeat).repeat(Number(count));
  if (lines !== undefined) return Array.from({ length: Number(lines) }, (_, at) => `line ${at + 1}\n`).join("");
  if (Array.isArray(concat)) return concat.map(mustBuild).join("");
  return undefined;
}

/** The same for what must be a text. */
export function mustBuild(text: Json | undefined): string {
  const built = buildText(text);
  if (built === undefined) throw new Error(`\`${JSON.stringify(text)}\` is no text`);
  return built;
}
