/** Text without what often differs by mistake: blanks, look-alikes, normal form, escapes, letter case. */

/** What is folded besides blanks, which always are. */
export interface Folds {
  /** Quotes and dashes become the plain ones that they look like. */
  readonly lookAlikes: boolean;
  /** Characters are decomposed. */
  readonly normalForm: boolean;
  /** Letters become lower case. */
  readonly letterCase: boolean;
  /** Backslashes, and the letters that make blanks of them, are left out. */
  readonly escapes: boolean;
}

/** Every fold. */
export const ALL_FOLDS: Folds = { lookAlikes: true, normalForm: true, letterCase: true, escapes: true };

/** A blank: white space, and characters without width that stand between words unseen. */
export const BLANKS = /[\s\u0085\u200b\u2060\ufeff]+/gu;

const QUOTES = /[\u2018-\u201b\u2032\u02bc\u00b4\uff07]/gu;
const DOUBLE_QUOTES = /[\u201c-\u201f\u2033\uff02]/gu;
const DASHES = /[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]/gu;
const ESCAPES = /\\+[ntr]?/gu;

/** A text under some folds. */
export function folded(text: string, folds: Folds = ALL_FOLDS): string {
  let result = text;
  if (folds.escapes) result = result.replace(ESCAPES, "");
  result = result.replace(BLANKS, "");
  if (folds.lookAlikes) result = result.replace(QUOTES, "'").replace(DOUBLE_QUOTES, '"').replace(DASHES, "-");
  if (folds.normalForm) result = result.normalize("NFD");
  return folds.letterCase ? result.toLowerCase() : result;
}
