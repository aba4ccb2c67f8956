/**
 * Messages as plain objects.
 *
 * Deliberately absent: names of enums. Enums stay numbers, and a value of a newer server stays the number that it is.
 */

/**
 * A message as a plain object: integers are numbers, an absent member is `undefined`, and what only Protobuf needs
 * (`$typeName`, `$unknown`) is gone. A oneof is `{case, value}`; enums are numbers of the generated enum.
 */
export type Plain<T> = T extends bigint
  ? number
  : T extends Uint8Array
    ? Uint8Array
    : T extends readonly (infer Item)[]
      ? Plain<Item>[]
      : T extends object
        ? { [Name in keyof T as Exclude<Name, "$typeName" | "$unknown">]: Plain<T[Name]> }
        : T;

/**
 * Turns a message into a plain object.
 *
 * @throws RangeError for an integer that a number cannot hold exactly; the message itself has it.
 */
export function toPlain<T>(message: T): Plain<T> {
  return plain(message, "") as Plain<T>;
}

function plain(value: unknown, name: string): unknown {
  if (typeof value === "bigint") return toNumber(value, name);
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map((item) => plain(item, name));
  const result: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (key !== "$typeName" && key !== "$unknown") result[key] = plain((value as Record<string, unknown>)[key], key);
  }
  return result;
}

function toNumber(value: bigint, name: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) {
    throw new RangeError(
      `\`${name}\` is ${value}, which a number cannot hold exactly: read it from the message itself`,
    );
  }
  return number;
}
