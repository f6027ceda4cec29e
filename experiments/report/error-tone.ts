import type { Tone } from './page/page.ts';

/** Limit of an error without a target. */
export const USUAL_LIMIT = 0.25;

/** The tone of an error: within the limit, within twice the limit, or beyond. */
export function errorTone(error: number, limit: number = USUAL_LIMIT): Tone {
  const size = Math.abs(error);
  return size <= limit ? 'good' : size <= 2 * limit ? 'fair' : 'bad';
}

/** Tones of all cells of a row, given those of the coloured columns by index. */
export function tonesAt(columns: number, tones: Readonly<Record<number, Tone | undefined>>): (Tone | undefined)[] {
  return Array.from({ length: columns }, (_, index) => tones[index]);
}
