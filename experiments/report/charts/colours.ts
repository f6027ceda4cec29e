/** Okabe and Ito's colours without yellow, which is too light for lines on white; then others. */
export const PALETTE = [
  '#0072B2',
  '#D55E00',
  '#009E73',
  '#CC79A7',
  '#E69F00',
  '#56B4E9',
  '#5B4B8A',
  '#7F7F7F',
] as const;

/** Text and marks, the page behind them, grid lines, and axes. */
export const INK = '#1f2933';
export const SURFACE = '#ffffff';
export const GRID = '#e4e7eb';
export const RULE = '#9aa5b1';

/** Colour number `index` of the palette; it repeats after eight. */
export function colour(index: number): string {
  return PALETTE[index % PALETTE.length] as string;
}
