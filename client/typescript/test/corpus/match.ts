/** Whether an answer is what a case expects. */
import { isDeepStrictEqual } from "node:util";
import { isObject, type Json, type JsonObject } from "./json.js";

const SPECIALS = ["$any", "$contains", "$bind"];

/** What the names of `$bind` stand for in one case. */
export class Bindings {
  readonly #values = new Map<string, Json>();

  /** Binds a name the first time; says what is wrong when it stands for something else now, or for what another does. */
  problem(name: string, value: Json): string | undefined {
    const bound = this.#values.get(name);
    if (bound !== undefined) {
      return isDeepStrictEqual(bound, value) ? undefined : `\`${name}\` was ${show(bound)}, but now is ${show(value)}`;
    }
    for (const [other, taken] of this.#values) {
      if (isDeepStrictEqual(taken, value))
        return `\`${name}\` must differ from \`${other}\`, but both are ${show(value)}`;
    }
    this.#values.set(name, value);
    return undefined;
  }
}

/** Every difference between an expected value and an actual one; empty when it matches. */
export function mismatches(expected: Json, actual: Json | undefined, bindings: Bindings, where = "$"): string[] {
  if (isObject(expected)) {
    const special = Object.keys(expected).find((key) => key.startsWith("$"));
    if (special !== undefined) return told(where, specialProblem(special, expected[special], actual, bindings));
    if (!isObject(actual)) return [`${where}: expected an object, but got ${show(actual)}`];
    return Object.entries(expected).flatMap(([key, value]) =>
      mismatches(value, memberOf(actual, key), bindings, `${where}.${key}`),
    );
  }
  if (Array.isArray(expected)) {
    // A repeated field without elements is left out of the JSON form.
    const elements = actual ?? [];
    if (!Array.isArray(elements)) return [`${where}: expected an array, but got ${show(actual)}`];
    if (elements.length !== expected.length) {
      return [`${where}: expected ${expected.length} elements, but got ${elements.length}: ${show(elements)}`];
    }
    return expected.flatMap((value, at) => mismatches(value, elements[at], bindings, `${where}[${at}]`));
  }
  return isEqual(expected, actual) ? [] : [`${where}: expected ${show(expected)}, but got ${show(actual)}`];
}

/** The same for the text that the model reads: a whole text, or the pieces that it must have. */
export function contentMismatches(expected: string | { contains: string[] }, actual: string | undefined): string[] {
  if (actual === undefined) return ["content: a text is expected, but this call gives none"];
  if (typeof expected === "string") {
    return actual === expected ? [] : [`content: expected ${show(expected)}, but got ${show(actual)}`];
  }
  const lacking = expected.contains.filter((piece) => !actual.includes(piece));
  return lacking.map((piece) => `content: ${show(piece)} is not in ${show(actual)}`);
}

/** What is wrong with an expected value itself: a special member that is unknown, or that does not stand alone. */
export function faultOf(expected: Json): string | undefined {
  if (Array.isArray(expected)) return expected.map(faultOf).find((fault) => fault !== undefined);
  if (!isObject(expected)) return undefined;
  const special = Object.keys(expected).find((key) => key.startsWith("$"));
  if (special === undefined) return faultOf(Object.values(expected));
  if (Object.keys(expected).length > 1) return `\`${special}\` must stand alone in its object`;
  return SPECIALS.includes(special) ? undefined : `\`${special}\` is unknown`;
}

function specialProblem(
  special: string,
  value: Json | undefined,
  actual: Json | undefined,
  bindings: Bindings,
): string | undefined {
  if (actual === undefined || actual === null) return "something is expected, but it is absent";
  if (special === "$any") return undefined;
  if (special === "$bind") return bindings.problem(String(value), actual);
  if (special !== "$contains") return `\`${special}\` is unknown`;
  const isThere = typeof actual === "string" && actual.includes(String(value));
  return isThere ? undefined : `${show(value)} is not in ${show(actual)}`;
}

function isEqual(expected: Json, actual: Json | undefined): boolean {
  if (expected === null) return actual === undefined || actual === null;
  if (typeof expected === "number" || typeof expected === "bigint") {
    if (typeof actual === "string" && /^-?[0-9]+$/.test(actual)) {
      return Number.isInteger(Number(expected)) && BigInt(actual) === BigInt(expected);
    }
    // One of them may be a bigint: then they are the same when they are equal as such.
    return (typeof actual === "number" || typeof actual === "bigint") && String(actual) === String(expected);
  }
  return isDeepStrictEqual(expected, actual);
}

function memberOf(value: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

function told(where: string, problem: string | undefined): string[] {
  return problem === undefined ? [] : [`${where}: ${problem}`];
}

function show(value: Json | undefined): string {
  if (value === undefined || value === null) return "nothing";
  const shown = JSON.stringify(value, (_, member) => (typeof member === "bigint" ? String(member) : member));
  return shown.length <= 2000 ? shown : `${shown.slice(0, 1000)}…${shown.slice(-200)} (${shown.length} characters)`;
}
