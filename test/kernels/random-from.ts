/** A small generator (mulberry32) of numbers from 0 to 1; its seed identifies a counterexample of a property. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** `count` numbers from −range to range. */
export function randomValues(random: () => number, count: number, range = 1): number[] {
  return Array.from({ length: count }, () => range * (2 * random() - 1));
}
