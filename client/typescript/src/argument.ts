/** What an argument must be before it is sent. Deliberately absent: what an argument means, which the server judges. */
import { ArgumentError } from "./error.js";

/**
 * The text itself, if it can be sent: half of a surrogate pair would arrive as another character.
 *
 * @throws ArgumentError that names the field
 */
export function wellFormed<Text extends string | undefined>(text: Text, field: string): Text {
  // Callers in JavaScript give anything.
  if (typeof text !== "string" && text !== undefined) throw new ArgumentError(field, "is no text: give a string");
  if (text === undefined || text.isWellFormed()) return text;
  throw new ArgumentError(field, "holds half of a surrogate pair, which is no character: send whole characters");
}

/**
 * The texts of a list, as `wellFormed`.
 *
 * @throws ArgumentError that names the field and the place in it
 */
export function allWellFormed(texts: Iterable<string>, field: string): string[] {
  // A text is an iterable of its characters: no caller means those.
  if (typeof texts !== "object" || texts === null || !(Symbol.iterator in texts)) {
    throw new ArgumentError(field, "is no list of texts: give one, also for a single text");
  }
  return Array.from(texts, (text, place) => wellFormed(text, `${field}[${place}]`));
}

/**
 * The switch itself: `"false"` would be taken for true.
 *
 * @throws ArgumentError that names the field
 */
export function flag(value: boolean | undefined, field: string): boolean | undefined {
  if (value === undefined || typeof value === "boolean") return value;
  throw new ArgumentError(field, "is no boolean: give `true` or `false`");
}

/**
 * The integer itself, if it arrives as the one that it is.
 *
 * @throws ArgumentError that names the field, for a number that is no safe integer, and for what 64 bits do not hold
 */
export function integer(value: number | bigint | undefined, field: string): bigint | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value)) return BigInt(value);
  if (typeof value !== "bigint") {
    throw new ArgumentError(field, `is ${value}: send an integer that a number holds exactly, or a bigint`);
  }
  if (BigInt.asIntN(64, value) === value) return value;
  throw new ArgumentError(field, `is ${value}, which 64 bits do not hold: send a smaller one`);
}

/**
 * The arguments of a call as the text of a JSON object.
 *
 * @throws ArgumentError for what is no object, and for what JSON cannot hold
 */
export function jsonObject(args: object): string {
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    throw new ArgumentError("arguments", "are neither an object nor JSON text: give one of them");
  }
  const json = serialize(args);
  // A map, a set or a promise has its content where JSON does not look; a boxed text, or what a `toJSON` gives, is none.
  if (!json.startsWith("{") || (json === "{}" && !isPlain(args))) {
    throw new ArgumentError("arguments", "are no plain object: give one whose own properties are the arguments");
  }
  // What JSON cannot hold is written as an escape or as null: the search is for the few texts that may have one.
  if (json.includes("\\ud") || json.includes("null")) refuseUnwritable(args, "");
  return json;
}

function isPlain(args: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(args);
  // The prototype of all prototypes, also of another realm.
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function serialize(args: object): string {
  let json: string | undefined;
  let cause: unknown;
  try {
    json = JSON.stringify(args);
  } catch (error) {
    cause = error;
  }
  if (json !== undefined) return json;
  const why = cause instanceof Error ? `: ${cause.message}` : "";
  throw new ArgumentError("arguments", `cannot be written as a JSON object${why}`, { cause });
}

/** Refuses half characters, which JSON would escape, and numbers that it would write as null. */
function refuseUnwritable(value: unknown, path: string): void {
  if (typeof value === "string") {
    wellFormed(value, path);
  } else if (typeof value === "number" && !Number.isFinite(value)) {
    throw new ArgumentError(path, `is ${value}, which JSON cannot hold: send a finite number`);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      if (!key.isWellFormed()) {
        const message = "has a key that holds half of a surrogate pair, which is no character: send whole characters";
        throw new ArgumentError(path || "arguments", message);
      }
      refuseUnwritable(member, path === "" ? key : `${path}.${key}`);
    }
  }
}
