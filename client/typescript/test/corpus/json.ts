/** JSON as the corpus has it: integers that a number cannot hold are `bigint`. */

/** A JSON value. */
export type Json = null | boolean | number | bigint | string | Json[] | JsonObject;
/** A JSON object. */
export type JsonObject = { [name: string]: Json };

const TOKEN = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;
const MARK = "\u0001integer:";

/** Parses a text. */
export function parseJson(text: string): Json {
  const marked = text.replace(TOKEN, (token) => {
    const isUnsafe = /^-?[0-9]{16,}$/.test(token) && !Number.isSafeInteger(Number(token));
    return isUnsafe ? JSON.stringify(MARK + token) : token;
  });
  return JSON.parse(marked, (_, value) => {
    return typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value;
  });
}

/** Whether a value is an object, and no array. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
