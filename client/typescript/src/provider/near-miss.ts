/**
 * Why `old_string` does not occur: the places that nearly match, and in what they differ. Nothing is ever replaced at
 * such a place; this is for the message only.
 *
 * A place is near when it is the same text under all folds; where there is none, when at least half of its lines are.
 * The search is linear but for few candidates, and ends with its budget. Deliberately absent: distances between words.
 */
import { ALL_FOLDS, BLANKS, type Folds, folded } from "./fold.js";
import type { NearMiss, NearMissReason } from "./fs-error.js";
import { viewOfText } from "./match.js";
import { BOM, bufferOf, hasBom } from "./text.js";

const MAX_COUNT = 3;
const MAX_LINES = 5;
const MAX_LINE_CHARS = 200;
/** Places that are looked at more closely; more would say no more. */
const MAX_PLACES = 64;
/** How often one line of the needle is followed up: a needle of equal lines must not cost lines times lines. */
const MAX_REPEATS = 4;
/** The budget is asked after so many lines. */
const LINES_A_LOOK = 512;

/** What a search found. */
export interface Search {
  /** At most 3 near misses, best first. */
  readonly nearMisses: NearMiss[];
  /** Why it ended before the whole content was looked at, if it did. */
  readonly stopped: "bytes" | "time" | undefined;
}

/** Searches the first `maxBytes` of a text for places that nearly match. */
export function searchNearMisses(
  content: Uint8Array,
  oldString: string,
  maxBytes: number,
  isOver: () => boolean,
): Search {
  const text = bufferOf(content).subarray(hasBom(content) ? BOM.length : 0);
  const needle = viewOfText(oldString);
  if (Buffer.byteLength(needle) > maxBytes) return { nearMisses: [], stopped: "bytes" };
  const searched = text.subarray(0, maxBytes);
  const lines = viewOfText(searched.toString("utf8")).split("\n");
  const foldedLines = foldedWithin(lines, isOver);

  const stripped = withoutLineNumbers(needle);
  let places = stripped === undefined ? [] : nearPlaces(lines, foldedLines, stripped, isOver);
  for (const place of places) place.reasons.add("line-number-prefix");
  if (places.length === 0) places = nearPlaces(lines, foldedLines, needle, isOver);

  const nearMisses = places.filter((place) => place.reasons.size > 0).slice(0, MAX_COUNT);
  const isCutOff = foldedLines.length < lines.length || isOver();
  const stopped = isCutOff ? "time" : searched.length < text.length ? "bytes" : undefined;
  return { nearMisses: nearMisses.map((place) => nearMissAt(place, lines)), stopped };
}

/** Lines, from 0, both inclusive, and why they are no match. */
interface Place {
  readonly first: number;
  readonly last: number;
  readonly reasons: Set<NearMissReason>;
}

function foldedWithin(lines: readonly string[], isOver: () => boolean): string[] {
  const result: string[] = [];
  for (const line of lines) {
    if (result.length % LINES_A_LOOK === 0 && isOver()) break;
    result.push(folded(line));
  }
  return result;
}

function nearPlaces(
  lines: readonly string[],
  foldedLines: readonly string[],
  needle: string,
  isOver: () => boolean,
): Place[] {
  const wanted = folded(needle);
  if (wanted === "") return [];
  const places = equalPlaces(lines, foldedLines, needle, wanted, isOver);
  if (places.length > 0) return places.sort((a, b) => a.reasons.size - b.reasons.size);
  return mostlyEqualPlaces(lines, foldedLines, needle, isOver);
}

/** The places that are the same under all folds. */
function equalPlaces(
  lines: readonly string[],
  foldedLines: readonly string[],
  needle: string,
  wanted: string,
  isOver: () => boolean,
): Place[] {
  const starts: number[] = [];
  let length = 0;
  for (const line of foldedLines) {
    starts.push(length);
    length += line.length;
  }
  const all = foldedLines.join("");
  const places: Place[] = [];
  for (let at = all.indexOf(wanted); at >= 0 && places.length < MAX_PLACES; at = all.indexOf(wanted, at + 1)) {
    if (isOver()) break;
    const [first, last] = [lineAt(starts, at), lineAt(starts, at + wanted.length - 1)];
    if (places.at(-1)?.first === first) continue;
    places.push({ first, last, reasons: reasonsAt(needle, lines.slice(first, last + 1)) });
  }
  return places;
}

/** The last line that starts at or before a place of the folded text. */
function lineAt(starts: readonly number[], at: number): number {
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (starts[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

const PARTS: readonly (readonly [keyof Folds, NearMissReason])[] = [
  ["escapes", "doubled-escapes"],
  ["lookAlikes", "look-alikes"],
  ["normalForm", "normal-form"],
  ["letterCase", "letter-case"],
];

/** Which folds it takes for the needle to be in these lines, and in which blanks they differ. */
function reasonsAt(needle: string, there: readonly string[]): Set<NearMissReason> {
  const reasons = new Set<NearMissReason>();
  const text = there.join("\n");
  let folds = ALL_FOLDS;
  for (const [part, reason] of PARTS) {
    const without = { ...folds, [part]: false };
    if (folded(text, without).includes(folded(needle, without))) folds = without;
    else reasons.add(reason);
  }
  const wanted = needle.split("\n");
  // Blank lines around the needle are in none of the lines where it was found.
  while (wanted.length > there.length && wanted.at(-1)?.trim() === "") wanted.pop();
  while (wanted.length > there.length && wanted[0]?.trim() === "") wanted.shift();
  if (wanted.length === there.length) {
    wanted.forEach((line, at) => {
      compareBlanks(line, there[at]!, at > 0, at < wanted.length - 1, reasons);
    });
  } else if (!reasons.has("doubled-escapes")) {
    reasons.add("white-space");
  }
  if (reasons.size === 0 && !text.includes(needle)) reasons.add("white-space");
  return reasons;
}

/** Adds in which blanks two lines differ that are the same under all folds. An open end of the needle is silent. */
function compareBlanks(
  wanted: string,
  there: string,
  fromStart: boolean,
  toEnd: boolean,
  reasons: Set<NearMissReason>,
): void {
  const isWhole = folded(wanted) === folded(there);
  const [wantedStart, thereStart] = [leading(wanted), leading(there)];
  if (isWhole && (fromStart ? wantedStart !== thereStart : !thereStart.endsWith(wantedStart))) {
    reasons.add(differInKind(wantedStart, thereStart) ? "tabs-or-spaces" : "indentation");
  }
  const [wantedEnd, thereEnd] = [trailing(wanted), trailing(there)];
  if (isWhole && (toEnd ? wantedEnd !== thereEnd : !thereEnd.startsWith(wantedEnd))) reasons.add("trailing-blanks");
  const [wantedInner, thereInner] = [innerBlanks(wanted), innerBlanks(there)];
  const isSame = isWhole ? wantedInner === thereInner : thereInner.includes(wantedInner);
  if (!isSame) {
    reasons.add(unusual(wantedInner) === unusual(thereInner) ? "white-space" : "look-alikes");
  }
}

function leading(line: string): string {
  return line.slice(0, line.length - line.trimStart().length);
}

function trailing(line: string): string {
  return line.slice(line.trimEnd().length);
}

/** The blanks between the words of a line, and nothing of the words. */
function innerBlanks(line: string): string {
  return (line.trim().match(BLANKS) ?? []).join("|");
}

function unusual(blanks: string): string {
  return blanks.replace(/[ \t|]/g, "");
}

/** Whether tabs stand where spaces are wanted, or the other way round: not merely more or fewer of the same. */
function differInKind(wanted: string, there: string): boolean {
  let common = 0;
  while (common < wanted.length && wanted[common] === there[common]) common += 1;
  return common < wanted.length && common < there.length;
}

/** The places where at least half of the needle's lines that are not blank are the same under all folds. */
function mostlyEqualPlaces(
  lines: readonly string[],
  foldedLines: readonly string[],
  needle: string,
  isOver: () => boolean,
): Place[] {
  const wanted = needle.replace(/\n$/, "").split("\n");
  const foldedWanted = wanted.map((line) => folded(line));
  const count = foldedWanted.filter((line) => line !== "").length;
  if (count < 2) return [];
  const numbers = new Map<string, number[]>();
  foldedWanted.forEach((line, number) => {
    const repeats = numbers.get(line) ?? [];
    if (line !== "" && repeats.length < MAX_REPEATS) numbers.set(line, [...repeats, number]);
  });
  // Each line votes for the places at which the needle would start; some of them lie before the text.
  const votes = new Map<number, number>();
  foldedLines.forEach((line, number) => {
    for (const place of numbers.get(line) ?? []) votes.set(number - place, (votes.get(number - place) ?? 0) + 1);
  });
  const best = [...votes].filter(([, score]) => 2 * score >= count).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  const places: Place[] = [];
  for (const [start] of best) {
    if (places.length === MAX_COUNT || isOver()) break;
    const [first, last] = [Math.max(start, 0), Math.min(start + wanted.length, foldedLines.length) - 1];
    if (places.some((place) => first <= place.last && place.first <= last)) continue;
    const reasons = new Set<NearMissReason>(["some-lines-differ"]);
    wanted.forEach((line, at) => {
      const there = lines[start + at];
      if (there === undefined || line === there || foldedLines[start + at] !== foldedWanted[at]) return;
      for (const reason of reasonsAt(line, [there])) reasons.add(reason);
    });
    places.push({ first, last, reasons });
  }
  return places;
}

/** The order in which reasons are told. */
const ORDER: readonly NearMissReason[] = [
  "line-number-prefix",
  "some-lines-differ",
  "doubled-escapes",
  "tabs-or-spaces",
  "indentation",
  "trailing-blanks",
  "white-space",
  "look-alikes",
  "normal-form",
  "letter-case",
];

function nearMissAt({ first, last, reasons }: Place, lines: readonly string[]): NearMiss {
  const shown = lines.slice(first, Math.min(last + 1, first + MAX_LINES));
  return {
    startLine: first + 1,
    endLine: last + 1,
    // A character is at most two units; the rest of a long line is not looked at.
    lines: shown.map((line) =>
      Array.from(line.slice(0, 2 * MAX_LINE_CHARS))
        .slice(0, MAX_LINE_CHARS)
        .join(""),
    ),
    reasons: ORDER.filter((reason) => reasons.has(reason)),
  };
}

/**
 * `old_string` without the numbers that a read puts before each line, if it has any: on every line that is not blank,
 * but for a first line that may have been copied from its middle.
 */
function withoutLineNumbers(needle: string): string | undefined {
  let numbered = 0;
  const lines = needle.split("\n").map((line, number) => {
    const text = /^[ \t]*[0-9]+(?:: |:(?=\s*$)|\t|→)(.*)$/su.exec(line)?.[1];
    if (text !== undefined) numbered += 1;
    else if (number > 0 && line.trim() !== "") return undefined;
    return text ?? line;
  });
  return numbered > 0 && !lines.includes(undefined) ? lines.join("\n") : undefined;
}
