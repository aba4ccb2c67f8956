/** Random choices that are the same in every run. */

/** Numbers from 0 on, below what is asked for. */
export type Random = (below: number) => number;

/** A generator (mulberry32) with a seed. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

/** A text of some pieces, each chosen at random. */
export function textOf(random: Random, pieces: readonly string[], most: number): string {
  return Array.from({ length: random(most + 1) }, () => pieces[random(pieces.length)]).join("");
}
