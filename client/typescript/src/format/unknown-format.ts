/** The names of formats. */
import { ArgumentError } from "../error.js";

/** The error for a format that is none of the known ones. */
export function unknownFormat(format: string, known: readonly string[]): ArgumentError {
  const names = known.map((name) => `\`${name}\``).join(", ");
  return new ArgumentError("format", `must be one of ${names}, not \`${format}\``);
}
