/**
 * Objects of options and arguments: which keys they may have, and of which kind the values are.
 *
 * The compiler sees literals alone, and callers in JavaScript have none: a misspelt `dryRun` that is passed over would
 * change a file. Deliberately absent: what an option means.
 */
import { ArgumentError } from "./error.js";

/** What a value must be: said to whoever gives another one, and asked of each value that is not `undefined`. */
export interface Kind {
  /** Goes on after "must be". */
  readonly mustBe: string;
  /** Whether a value is of this kind. */
  readonly holds: (value: unknown) => boolean;
}

/** The keys that an object may have, each with the kind of its value. */
export interface Known {
  /** What the object is, for messages: "an option of a call". */
  readonly what: string;
  /** The name by which the object itself is told. */
  readonly field: string;
  /** The kinds by key. */
  readonly kinds: ReadonlyMap<string, Kind>;
}

/** A kind that is judged where the value is used. */
export const JUDGED_ELSEWHERE: Kind = { mustBe: "anything", holds: () => true };

/** `"false"` would be taken for true. */
export const SWITCH: Kind = { mustBe: "`true` or `false`", holds: (value) => typeof value === "boolean" };

/** A number that is one, `Infinity` included. */
export const NUMBER: Kind = {
  mustBe: "a number",
  holds: (value) => typeof value === "number" && !Number.isNaN(value),
};

/** A text. */
export const TEXT: Kind = { mustBe: "a text", holds: (value) => typeof value === "string" };

/** What an `AbortController` has, also that of another realm. */
export const SIGNAL: Kind = {
  mustBe: "an `AbortSignal`",
  holds: (value) => isObject(value) && typeof (value as { addEventListener?: unknown }).addEventListener === "function",
};

/** A list, also for a single one: the letters of a text are none. */
export const LIST: Kind = { mustBe: "a list", holds: Array.isArray };

/** An object of keys and values. */
export const OBJECT: Kind = { mustBe: "an object", holds: isObject };

/**
 * Describes an object. The compiler sees to it that no key of `Shape` is missing.
 *
 * @param what what a key of it is: "an option of a call"
 * @param field the name of the object itself
 */
export function known<Shape extends object>(
  what: string,
  field: string,
  kinds: { readonly [Name in keyof Shape]-?: Kind },
): Known {
  return { what, field, kinds: new Map(Object.entries<Kind>(kinds)) };
}

/**
 * Refuses what is no such object: another value, an unknown key, a value of another kind.
 *
 * @param prefix what stands before the names of its keys: "tls."
 * @throws ArgumentError that names the key, and the known ones that are meant
 */
export function check(given: object, { what, field, kinds }: Known, prefix = ""): void {
  if (!isObject(given)) {
    throw new ArgumentError(field, `must be an object, whose keys are among ${listed(kinds.keys())}`);
  }
  for (const key in given) {
    const kind = kinds.get(key);
    if (kind === undefined) throw unknown(key, what, kinds, prefix);
    const value = (given as Record<string, unknown>)[key];
    if (value !== undefined && !kind.holds(value)) {
      throw new ArgumentError(prefix + key, `must be ${kind.mustBe}, not ${shown(value)}`);
    }
  }
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unknown(key: string, what: string, kinds: ReadonlyMap<string, Kind>, prefix: string): ArgumentError {
  const nearest = nearestOf(key, [...kinds.keys()]);
  const hint = nearest === undefined ? `known are ${listed(kinds.keys())}` : `did you mean \`${nearest}\`?`;
  return new ArgumentError(prefix + key, `is not ${what}: ${hint}`);
}

/** The kind of a value, which itself may be a secret. */
function shown(value: unknown): string {
  if (value === null) return "`null`";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "number" || typeof value === "boolean") return `\`${value}\``;
  return typeof value === "string" ? "a text" : `a value of the type \`${typeof value}\``;
}

function listed(keys: Iterable<string>): string {
  return Array.from(keys, (key) => `\`${key}\``).join(", ");
}

/** The name that was meant: one that differs in its spelling, goes on, or has a few other letters. */
function nearestOf(key: string, names: readonly string[]): string | undefined {
  const plain = (name: string) => name.replaceAll(/[_-]/g, "").toLowerCase();
  const asked = plain(key);
  if (asked === "") return undefined;
  const goesOn = names.find((name) => plain(name).startsWith(asked) || asked.startsWith(plain(name)));
  if (goesOn !== undefined) return goesOn;
  const ranked = names.map((name) => ({ name, distance: distanceOf(asked, plain(name)) }));
  const [nearest] = ranked.sort((one, other) => one.distance - other.distance);
  return nearest !== undefined && nearest.distance <= Math.max(1, asked.length / 3) ? nearest.name : undefined;
}

/** How many letters must be put in, taken out or replaced. */
function distanceOf(one: string, other: string): number {
  // Nothing that long is a misspelling, and the work grows with the product of the lengths.
  if (Math.abs(one.length - other.length) > 8) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: other.length + 1 }, (_, place) => place);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const replaced = (row[j - 1] as number) + (one[i - 1] === other[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
