/** File names that look like one that is not there: a hint for whoever typed a name from memory. */
import { isUtf8 } from "node:buffer";
import { displayForm } from "./display.js";
import { bufferOf } from "./text.js";

/** How many names a hint has at most. */
const MAX_NAMES = 3;

/** How many letters of a name may differ, be missing, be too many or be swapped. */
const MAX_TYPOS = 2;

/**
 * The names that look most like `wanted`, best first: equal up to Unicode normal form, kinds of space or letter case,
 * or with a typo or two. A name that cannot be typed as it is shown helps nobody and is left out.
 */
export function similarNames(wanted: Uint8Array, candidates: Iterable<Uint8Array>): string[] {
  if (!isUtf8(wanted)) return [];
  const text = bufferOf(wanted).toString("utf8");
  const near: [number, string][] = [];
  for (const candidate of candidates) {
    if (!isUtf8(candidate)) continue;
    const name = bufferOf(candidate).toString("utf8");
    if (name === text || displayForm(candidate) !== name) continue;
    const distance = distanceOf(text, name);
    if (distance !== undefined) near.push([distance, name]);
  }
  near.sort(([a, left], [b, right]) => a - b || (left < right ? -1 : 1));
  return near.slice(0, MAX_NAMES).map(([, name]) => name);
}

/** How far apart two names are, from 0; absent when they are not similar. */
function distanceOf(wanted: string, name: string): number | undefined {
  const [left, right] = [spaced(wanted), spaced(name)];
  if (left === right) return 0;
  const [leftLetters, rightLetters] = [Array.from(left.toLowerCase()), Array.from(right.toLowerCase())];
  if (leftLetters.join("") === rightLetters.join("")) return 1;
  const allowed = Math.min(MAX_TYPOS, Math.floor(leftLetters.length / 3));
  if (Math.abs(leftLetters.length - rightLetters.length) > allowed) return undefined;
  const typos = typosOf(leftLetters, rightLetters, allowed);
  return typos <= allowed ? 1 + typos : undefined;
}

/** One normal form and one kind of space. */
function spaced(name: string): string {
  return name.normalize("NFKC").replace(/[\s\u0085]/gu, " ");
}

/** How many letters differ, are missing, are too many or are swapped with their neighbour; more than allowed ends it. */
function typosOf(left: readonly string[], right: readonly string[], allowed: number): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = last[j - 1]! + (left[i - 1] === right[j - 1] ? 0 : 1);
      let typos = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1);
      const isSwap = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      if (isSwap) typos = Math.min(typos, beforeLast[j - 2]! + 1);
      row.push(typos);
    }
    if (Math.min(...row) > allowed && Math.min(...last) > allowed) return allowed + 1;
    [beforeLast, last] = [last, row];
  }
  return last[right.length]!;
}
