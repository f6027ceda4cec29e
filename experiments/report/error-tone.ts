import type { Tone } from './page/page.ts';

/** The limit of an error where no target is set. */
export const USUAL_LIMIT = 0.25;

/** How good an error is: within the limit, within twice the limit, or beyond. */
export function errorTone(error: number, limit: number = USUAL_LIMIT): Tone {
  const size = Math.abs(error);
  return size <= limit ? 'good' : size <= 2 * limit ? 'fair' : 'bad';
}

/** Tones of a row of which some columns are coloured, by their index. */
export function tonesAt(columns: number, tones: Readonly<Record<number, Tone | undefined>>): (Tone | undefined)[] {
  return Array.from({ length: columns }, (_, index) => tones[index]);
}
