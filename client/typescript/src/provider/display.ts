/** Raw names and paths made fit to be shown. */

const HIDING = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Raw bytes made safe to show on one line: control characters, line separators and bytes that are not UTF-8 appear as
 * `\u{N}` or `\xNN`. Never fails, and is never parsed back.
 */
export function displayForm(raw: Uint8Array): string {
  let shown = "";
  for (const piece of pieces(raw)) {
    shown +=
      typeof piece === "string"
        ? piece.replace(HIDING, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
        : `\\x${piece.toString(16).padStart(2, "0")}`;
  }
  return shown;
}

/** A `file:` URL of an absolute path of raw bytes, percent-encoded outside RFC 3986's unreserved characters. */
export function fileUrl(absolutePath: Uint8Array): string {
  let url = "file://";
  for (const byte of absolutePath) {
    const character = String.fromCharCode(byte);
    url += /[A-Za-z0-9/._~-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return url;
}

/** Runs of valid UTF-8 as text, and each byte of what is not as a number. */
function* pieces(raw: Uint8Array): Generator<string | number> {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  let from = 0;
  while (from < bytes.length) {
    const length = validPrefix(bytes.subarray(from));
    if (length > 0) yield bytes.toString("utf8", from, from + length);
    from += length;
    if (from < bytes.length) yield bytes[from++]!;
  }
}

/** How many bytes at the start are valid UTF-8. */
export function validPrefix(bytes: Uint8Array): number {
  let at = 0;
  while (at < bytes.length) {
    const length = characterLength(bytes, at);
    if (length === 0) return at;
    at += length;
  }
  return at;
}

/** How many bytes the valid character at `at` has; 0 where there is none. */
function characterLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > bytes.length) return 0;
  for (let index = 1; index < length; index++) {
    if ((bytes[at + index]! & 0xc0) !== 0x80) return 0;
  }
  const second = bytes[at + 1]!;
  const isOverlong = (first === 0xe0 && second < 0xa0) || (first === 0xf0 && second < 0x90);
  const isSurrogate = first === 0xed && second >= 0xa0;
  return isOverlong || isSurrogate || (first === 0xf4 && second >= 0x90) ? 0 : length;
}
