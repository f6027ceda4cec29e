/** Random tokens of a vocabulary of 250. */
export const prompt = (seed: number, length: number): number[] =>
  Array.from({ length }, (_, i) => (37 * i * seed + 61 * seed + 5) % 250);

/** Eight requests: seed and length of the prompt, and tokens to generate. */
export const REQUESTS = [
  [1, 20, 30],
  [2, 9, 40],
  [3, 23, 3],
  [1, 17, 24],
  [5, 51, 8],
  [6, 12, 26],
  [1, 30, 1],
  [8, 40, 9],
] as const;
